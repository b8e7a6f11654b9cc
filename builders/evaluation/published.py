"""Compare our scores with published ones: whether other rows, seed and version explain a difference."""

import csv
import functools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Literal

from builders.built import Built
from builders.evaluation.pipelines import MTEB
from builders.evaluation.results import Result, RetrievalResult, builder_of
from builders.lock.lock import Frozen

Verdict = Literal["agrees", "differs", "not comparable"]
Metric = Literal["ndcg_at_10", "mrr_at_10", "v_measure"]

_OTHER_ROWS = "other rows of the same sizes"
_OTHER_SUBREDDITS = "sets of other subreddits, as many"
_NO_REVISION = "theirs tells no revision of the model"


class Published(Frozen):
    """A score that others published.

    Attributes:
        task: Name in mteb; "RedditClusteringS2S(de)" is the paper's.
        model: Name of the model, "owner/name"; its revision is empty where none was published.
        source: File in embeddings-benchmark/results, or the paper's repository.
    """

    task: str
    model: str
    model_revision: str
    dataset_revision: str
    mteb_version: str
    pipeline: str
    metric: Metric
    value: float
    source: str


class Compared(Frozen):
    """One of our scores beside a published one; `split` is empty for clustering, `pipeline` for retrieval.

    Attributes:
        tolerance: Largest difference of scores that agree; None where it was not measured.
        verdict: "agrees" or "differs" where model, procedure and the drawing of rows are the same.
        why: Reason that forbids a comparison, or limits it; may be empty.
    """

    config: str
    split: str = ""
    encoder: str
    pipeline: str = ""
    metric: str
    ours: float
    published: float
    difference: float
    tolerance: float | None
    verdict: Verdict
    why: str = ""
    model: str
    source: str


@functools.cache
def published_scores() -> tuple[Published, ...]:
    """Return the published scores that the package holds."""
    return tuple(map(Published.model_validate, _facts("published.csv")))


@functools.cache
def _prompted_alike() -> frozenset[str]:
    """Return the published models, in lower case, to which mteb 2.26 gives the texts that we give them.

    It loads them by its plain wrapper of sentence-transformers, with the prompts of their own settings ("own"
    in the file) or E5's prefixes ("e5"), and searches by cosine.
    """
    return frozenset(row["model"].lower() for row in _facts("prompted.csv"))


def _facts(name: str) -> Iterator[dict[str, str]]:
    file = resources.files("builders.evaluation") / "facts" / name
    yield from csv.DictReader(file.read_text(encoding="utf-8").splitlines())


def compare(
    results: Iterable[Result], configs: Mapping[str, Built], published: tuple[Published, ...] | None = None
) -> list[Compared]:
    """Hold results against published scores of the same model, or of one that is near.

    A model in a folder has no published scores, whatever the folder is called. Where a published score has no
    revision of its model (in the paper's table), ours counts all the same if it was asked for by the model's
    name at a commit, and `why` names that: where such a model was scored again at a known revision, the
    scores lie within the tolerance. Where model or procedure differ, both stand there with the reason.
    """
    known = published_scores() if published is None else published
    return [line for result in results for line in _lines(result, configs, known)]


def summary_line(compared: Sequence[Compared]) -> str:
    """Return a line on how many scores were comparable and, where none was, why."""
    verdicts, why = Counter(one.verdict for one in compared), ""
    comparable = verdicts["agrees"] + verdicts["differs"]
    if not compared:
        why = " (none is published of these encoders on these configs)"
    elif not comparable:
        reasons = Counter(one.why for one in compared).most_common()
        why = f" ({'; '.join(f'{count:,}: {reason}' for reason, count in reasons)})"
    return (
        f"{len(compared):,} published scores beside ours, {comparable:,} comparable{why}, "
        f"{verdicts['differs']:,} outside the tolerance"
    )


def _lines(
    result: Result, configs: Mapping[str, Built], published: tuple[Published, ...]
) -> Iterator[Compared]:
    built, model = configs[builder_of(result)], _plain(result.encoder.model)
    scored = built.spec.scored
    if scored is None or "/" not in model:  # nobody scored these rows; a folder may be called like a model
        return
    task = scored.tasks.get(result.config.partition("-")[2])
    rows = _OTHER_SUBREDDITS if result.config.startswith("subreddit") else _OTHER_ROWS
    # How far two runs may lie apart was measured for searches and for mteb's k-means.
    allowed = scored.tolerance if result.pipeline in {"", MTEB} else None
    for one in published:
        ours = result.values.get(one.metric)
        if (one.task, one.model.lower(), one.pipeline) != (task, model, result.pipeline) or ours is None:
            continue
        limits = (result.pipeline and rows, "" if one.model_revision else _NO_REVISION)
        obstacle = _obstacle(result, one, built)
        if not obstacle and allowed is None:
            obstacle = "how far two runs lie apart was not measured for this pipeline"
        within = allowed is not None and abs(ours - one.value) <= allowed
        yield Compared(
            config=result.config,
            split=result.split,
            encoder=result.encoder.name,
            pipeline=result.pipeline,
            metric=one.metric,
            ours=ours,
            published=one.value,
            difference=round(ours - one.value, 6),
            tolerance=allowed,
            verdict="not comparable" if obstacle else "agrees" if within else "differs",
            why=obstacle or "; ".join(filter(None, limits)),
            model=f"{one.model}@{one.model_revision[:10]}" if one.model_revision else one.model,
            source=one.source,
        )


def _obstacle(result: Result, one: Published, built: Built) -> str:
    """Return the reason why two scores cannot be compared; empty for none."""
    encoder = result.encoder
    if built.not_comparable:
        return built.not_comparable
    if built.stand_in:
        return "not built from the whole real upstream"
    if encoder.kind != "dense" or _plain(encoder.model) != encoder.model.lower():
        return "near the model, and not the model itself"
    if one.model_revision and one.model_revision != encoder.revision:
        return "another revision of the model"
    if one.model.lower() not in _prompted_alike():
        return "mteb may prompt or load this model otherwise"
    if not isinstance(result, RetrievalResult):
        return ""
    if result.split != "all":
        return "theirs is of all questions: pass --split all"
    rows = built.spec.scored.rows if built.spec.scored else None
    if rows and (result.queries, result.passages) != rows:
        ours = f"{result.queries:,} questions and {result.passages:,} passages"
        return f"{ours}, theirs {rows[0]:,} and {rows[1]:,}"
    if built.lock and one.dataset_revision not in {source.resolved for source in built.lock.sources}:
        return "another revision of the dataset"
    return ""


def _plain(model: str) -> str:
    """Return a model's name in lower case, without what was done to it: "owner/name (4 bit)"."""
    return model.partition(" (")[0].lower()

"""Compare our scores with published ones: whether other rows, seed and version explain a difference."""

from __future__ import annotations

import csv
import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Literal

from builders.built import Built
from builders.evaluation.pipelines import MTEB
from builders.evaluation.results import Result, RetrievalResult, builder_of
from builders.lock.lock import Frozen
from builders.spec import Scored

Verdict = Literal["agrees", "differs", "not comparable"]
Metric = Literal["ndcg_at_10", "mrr_at_10", "v_measure"]

_STEP = 0.001
_OTHER_ROWS = "other rows of the same sizes"
_OTHER_SUBREDDITS = "sets of other subreddits, as many"
_NO_REVISION = "theirs tells no revision of the model"


class Published(Frozen):
    """A score that others published.

    Attributes:
        task: Name in mteb; "RedditClusteringS2S(de)" is the paper's.
        model: Name of the model, "owner/name"; its revision is empty where none was published.
        pipeline: Name in `pipelines.PIPELINES`; empty for retrieval.
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
    """One of our scores beside a published one.

    Attributes:
        split: Split of the queries; empty for clustering.
        pipeline: Name in `pipelines.PIPELINES`; empty for retrieval.
        difference: Our score minus the published one.
        tolerance: Largest difference of scores that agree; None where it was not measured.
        verdict: "agrees" or "differs" where model, procedure and the drawing of rows are the same.
        why: Reason that forbids a comparison, or limits it; may be empty.
        model: The published model, with its revision where it is known.
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
    """Return the published models, in lower case, to which mteb gives the texts that we give them.

    The file has each model that mteb 2.26 loads by its plain wrapper of sentence-transformers, with the
    prompts of the model's own settings ("own") or with E5's prefixes ("e5"), and searches by cosine. Left out
    is what it instructs, prompts otherwise, cuts elsewhere, runs in another precision, or does not list.
    """
    return frozenset(row["model"].lower() for row in _facts("prompted.csv"))


def _facts(name: str) -> Iterator[dict[str, str]]:
    file = resources.files("builders.evaluation") / "facts" / name
    yield from csv.DictReader(file.read_text(encoding="utf-8").splitlines())


def tolerance(scored: Scored, pipeline: str, published: Iterable[Published]) -> float | None:
    """Return how far two runs of one model on one config may lie apart; None where it was not measured.

    For clustering by mteb's k-means it is that of other rows, since our rows are not theirs; or, where wider,
    the largest difference, over both variants of a dataset, between the paper's run (mteb 1.0, no
    seed) and that of mteb's results repository (seeded, 1.18) of the same model, rounded up to three digits.
    """
    if scored.rows:
        return scored.tolerance
    if pipeline != MTEB:
        return None
    runs: dict[tuple[str, str], list[float]] = {}
    for one in published:
        if one.pipeline == MTEB and one.task in scored.tasks.values():
            runs.setdefault((one.task, one.model), []).append(one.value)
    widest = max((max(values) - min(values) for values in runs.values() if len(values) > 1), default=0.0)
    return max(scored.tolerance, math.ceil(round(widest / _STEP, 6)) * _STEP)


def compare(
    results: Iterable[Result], configs: Mapping[str, Built], published: tuple[Published, ...] | None = None
) -> list[Compared]:
    """Hold results against published scores of the same model, or of one that is near.

    A model in a folder has no published scores, whatever the folder is called. Where a published score tells
    no revision of its model (the paper's table does not), ours counts all the same if it was asked for by the
    model's name at a commit, and `why` says so: otherwise the paper's table would be no check at all, and
    where such a model was scored again at a told revision, the scores lie within the tolerance.
    Where the model or the procedure is not the same, both scores stand there, and `why` gives the reason.
    """
    known = published_scores() if published is None else published
    return [line for result in results for line in _lines(result, configs, known)]


def summary_line(compared: Sequence[Compared]) -> str:
    """Return a line on how many scores were comparable and, where none was, why."""
    comparable = [one for one in compared if one.verdict != "not comparable"]
    outside = sum(one.verdict == "differs" for one in comparable)
    why = ""
    if not compared:
        why = " (none is published of these encoders on these configs)"
    elif not comparable:
        reasons = Counter(one.why for one in compared).most_common()
        why = f" ({'; '.join(f'{count:,}: {reason}' for reason, count in reasons)})"
    return (
        f"{len(compared):,} published scores beside ours, {len(comparable):,} comparable{why}, "
        f"{outside:,} outside the tolerance"
    )


def _lines(
    result: Result, configs: Mapping[str, Built], published: tuple[Published, ...]
) -> Iterator[Compared]:
    scored, model = configs[builder_of(result)].spec.scored, _plain(result.encoder.model)
    if scored is None or "/" not in model:  # nobody scored these rows; a folder may be called like a model
        return
    task = scored.tasks.get(result.config.partition("-")[2])
    pipeline = "" if isinstance(result, RetrievalResult) else result.pipeline
    allowed = tolerance(scored, pipeline, published)
    for one in published:
        if (one.task, one.model.lower(), one.pipeline) != (task, model, pipeline):
            continue
        if isinstance(result, RetrievalResult):
            ours = result.scores[one.metric].value if one.metric in result.scores else None
        else:
            ours = result.v_measure
        if ours is None:
            continue
        obstacle = _obstacle(result, one, configs[builder_of(result)])
        if not obstacle and allowed is None:
            obstacle = "how far two runs lie apart was not measured for this pipeline"
        within = allowed is not None and abs(ours - one.value) <= allowed
        yield Compared(
            config=result.config,
            split=result.split if isinstance(result, RetrievalResult) else "",
            encoder=result.encoder.name,
            pipeline=pipeline,
            metric=one.metric,
            ours=ours,
            published=one.value,
            difference=round(ours - one.value, 6),
            tolerance=allowed,
            verdict="not comparable" if obstacle else "agrees" if within else "differs",
            why=obstacle or _reservations(result, one),
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


def _reservations(result: Result, one: Published) -> str:
    """Return what limits the comparison of two scores."""
    rows = _OTHER_SUBREDDITS if result.config.startswith("subreddit") else _OTHER_ROWS
    if isinstance(result, RetrievalResult):
        rows = ""
    return "; ".join(filter(None, (rows, "" if one.model_revision else _NO_REVISION)))


def _plain(model: str) -> str:
    """Return a model's name in lower case, without what was done to it: "owner/name (4 bit)"."""
    return model.partition(" (")[0].lower()

"""Evaluating candidates on built configs: what was scored before is taken, and what fails fails alone."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.encoders import Encoder
from builders.errors import EncoderError, MtebDeError, RemoteError, SourceError, UsageError
from builders.evaluation import clustered
from builders.evaluation import pipelines as ways
from builders.evaluation.candidates import BM25, RANDOM, RULES, Candidate, facts_of, naming, pinned_encoder
from builders.evaluation.lexical import BM25_FACTS, bm25_parts
from builders.evaluation.model import EncoderFacts, Result, RetrievalResult
from builders.evaluation.pairs import ALL, Judged
from builders.evaluation.places import find_place, is_hydrated
from builders.evaluation.retrieval import score_parts, searched
from builders.evaluation.rules import chance, rule_parts
from builders.evaluation.sanity import place_of
from builders.evaluation.store import SearchChance, read_chance, read_result
from builders.evaluation.work import SEARCHED, Options, Table
from builders.lock.beside import CitedScore
from builders.lock.lock import EncoderIdentity, Lock
from builders.printable import label
from builders.progress import Progress
from builders.spec import ConfigSpec, Retrieval
from builders.tables import CLUSTERING, SPLITS, kind_of

__all__ = ["Evaluation", "Failure", "Options", "builder_of", "cited_scores", "evaluate", "failed"]

_FAILS = (EncoderError, SourceError, RemoteError, UsageError)
"""What keeps one encoder or one config from being scored, and no other."""
_BASELINES = (*(Candidate(rule, "rule") for rule in RULES), Candidate(BM25, "lexical"))


@dataclass(frozen=True, slots=True)
class Failure:
    """What could not be scored.

    Attributes:
        encoder: The candidate's name; empty where the fault is the config's.
        error: Why.
    """

    encoder: str
    error: MtebDeError


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of it.

    Attributes:
        results: Of the candidates, by config in the order asked, then by candidate.
        baselines: Of what needs no model, on every config: the rules, and BM25 where there is a search.
        chances: Expected scores of a random encoder with their standard errors, by "jobs/test" or
            "blurbs-clustering-s2s"; see `rules.chance`; for clustering "v_measure" and "v_measure_error".
        locks: Of the configs, by name; of hydrated texts see `places.Place`.
        failures: What could not be scored; the rest is there all the same.
    """

    results: tuple[Result, ...]
    baselines: tuple[Result, ...]
    chances: Mapping[str, Mapping[str, float]]
    locks: Mapping[str, Lock]
    failures: tuple[Failure, ...] = ()


def evaluate(
    specs: Sequence[ConfigSpec], candidates: Sequence[Candidate], options: Options, progress: Progress
) -> Evaluation:
    """Evaluate candidates on configs, and what needs no model beside them.

    A result is kept at ``OUT/work/CONFIG/eval`` as soon as it is there: a run that was killed goes on, and a
    second one computes nothing. BM25 ranks and is left out of clustering.

    Raises:
        StorageError: A config was not built, its tables are not those that were built, or something cannot
            be read or written.
        UsageError: There is no such split or pipeline, or a library is missing.
        EncoderError: No encoder could be scored; as other errors that are the reason for it.
        Refused: Another build wrote over a config meanwhile.
    """
    names = tuple(pipeline.name for pipeline in ways.choose(options.pipelines))
    if options.split not in {*SPLITS, ALL}:
        raise UsageError(f"no split {options.split!r}", hint=f"Choose one of {', '.join(SPLITS)}, {ALL}.")
    tables = [
        Table(options, find_place(options.out, spec, options.texts.get(spec.name)), progress)
        for spec in specs
    ]
    to_search = [table for table in tables if isinstance(table.place.spec, Retrieval)]
    to_cluster = [table for table in tables if not isinstance(table.place.spec, Retrieval)]
    asked = _Gathered(progress)
    for one in candidates:
        _score(asked, one, to_search, to_cluster, names)
    if asked.failures and not asked.results:
        raise failed(asked.failures)
    beside = _Gathered(progress, asked.failures)
    chances = _score_baselines(beside, to_search, to_cluster)
    order = _order([table.name for table in tables], [one.name for one in candidates], names)
    return Evaluation(
        results=tuple(sorted(asked.results, key=order)),
        baselines=tuple(beside.results),
        chances=chances,
        locks={table.name: table.lock for table in tables},
        failures=tuple(beside.failures),
    )


def builder_of(result: Result) -> str:
    """Return the name of the config that a result belongs to, as the builder has it: "blurbs"."""
    return result.config.partition("-")[0]


def failed(failures: Sequence[Failure]) -> MtebDeError:
    """Return one error that tells all failures: itself where there is one."""
    if len(failures) == 1:
        return failures[0].error
    told = "\n".join(failure.error.message for failure in failures)
    hints = dict.fromkeys(failure.error.hint for failure in failures if failure.error.hint)
    return EncoderError(f"{len(failures)} things could not be scored:\n{told}", hint=" ".join(hints))


@dataclass
class _Gathered:
    """Results as they come; a fault ends the work that it belongs to and is told once."""

    progress: Progress
    failures: list[Failure] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    def take(self, one: Candidate | None, work: Callable[[], Iterable[Result]]) -> bool:
        """Take what a piece of work gives, up to its fault; say whether there was none."""
        try:
            with naming(one) if one else contextlib.nullcontext():
                for result in work():
                    self.results.append(result)
        except _FAILS as error:
            if all(error.message != told.error.message for told in self.failures):
                self.failures.append(Failure(one.name if one else "", error))
                self.progress.step("failed", error.message)
            return False
        return True


def _score(
    found: _Gathered,
    one: Candidate,
    to_search: Sequence[Table],
    to_cluster: Sequence[Table],
    pipelines: Sequence[str],
) -> None:
    for table in to_search:
        found.take(one, partial(_searched, table, one))
    if one.kind == "dense":
        by_table = partial(found.take, one)
        found.take(one, partial(clustered.by_encoder, to_cluster, one, pipelines, by_table))
    elif one.name == RANDOM:
        found.take(one, partial(clustered.by_random, to_cluster))
    elif to_cluster:
        found.progress.step(label(one.name), "gives no vectors: left out of clustering")


def _score_baselines(
    found: _Gathered, to_search: Sequence[Table], to_cluster: Sequence[Table]
) -> dict[str, dict[str, float]]:
    """Score what needs no model, and return what chance scores; a table that cannot be searched has none."""
    chances: dict[str, dict[str, float]] = {}
    for table in to_search:
        works: list[Callable[[], Iterable[Result]]] = [partial(_searched, table, one) for one in _BASELINES]
        works.append(partial(_chance, table, chances))
        for work in works:
            if not found.take(None, work):
                break
    found.take(None, partial(clustered.by_random, to_cluster))
    for table, variant in itertools.product(to_cluster, CLUSTERING):
        chances[table.config(variant)] = clustered.by_chance(table, variant)[1].model_dump()
    return chances


def _order(
    configs: Sequence[str], encoders: Sequence[str], pipelines: Sequence[str]
) -> Callable[[Result], tuple[int, ...]]:
    kinds = list(CLUSTERING.values())

    def place(result: Result) -> tuple[int, ...]:
        first = (configs.index(builder_of(result)), encoders.index(result.encoder.name))
        if isinstance(result, RetrievalResult):
            return first
        asked = result.pipeline in pipelines  # random vectors are clustered by mteb's own pipeline alone
        pipeline = pipelines.index(result.pipeline) if asked else -1
        return (*first, kinds.index(kind_of(result.config)), pipeline)

    return place


def _searched(table: Table, one: Candidate) -> Iterator[RetrievalResult]:
    options, progress = table.options, table.progress
    encoder = one.searching(pinned_encoder([table.place.spec])) if one.searching else None
    facts = (
        BM25_FACTS if one.name == BM25 else facts_of(one, encoder.identity if encoder else None, table.lock)
    )
    path = table.path(
        SEARCHED, split=options.split, resamples=options.resamples, encoder=_identity(encoder, facts)
    )
    kept = read_result(path)
    if isinstance(kept, RetrievalResult):
        progress.step(table.searched, f"{label(one.name)} kept")
        yield kept.model_copy(update={"encoder": facts})
        return
    parts = _parts(table, one, encoder)
    result = score_parts(table.judged, parts, facts, seed=options.seed, resamples=options.resamples)
    kept = table.keep(path, result)
    told = f"{label(one.name)} nDCG@10 {result.scores['ndcg_at_10'].value:.5f}"
    progress.step(table.searched, told)
    yield kept


def _parts(table: Table, one: Candidate, encoder: Encoder | None) -> Iterable[tuple[Judged, pl.DataFrame]]:
    judged = table.judged
    if encoder is None:
        lexical = one.name == BM25
        return bm25_parts(judged) if lexical else rule_parts(judged, one.name, seed=table.options.seed)
    queries = table.vectors(one, encoder, judged.query_texts(), "query")
    passages = table.vectors(one, encoder, judged.passage_texts(), "passage")

    def tick(done: int, total: int) -> None:
        table.progress.tick(f"search {table.searched}", done, total)

    return searched(judged, _unit(queries, encoder), _unit(passages, encoder), progress=tick)


def _chance(table: Table, chances: dict[str, dict[str, float]]) -> Iterator[Result]:
    path = table.path(SEARCHED, split=table.options.split, rule="chance")
    kept = read_chance(path, SearchChance)
    if kept is None:
        kept = table.keep_chance(path, SearchChance.model_validate(chance(table.judged)))
    chances[table.searched] = kept.model_dump()
    yield from ()


def _unit(vectors: NDArray[np.float32], encoder: Encoder) -> NDArray[np.float32]:
    """Return vectors of norm 1: search is by cosine, whatever the model's last module."""
    if getattr(encoder, "normalised", True):
        return vectors
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def _identity(encoder: Encoder | None, facts: EncoderFacts) -> dict[str, Any]:
    identity: EncoderIdentity | EncoderFacts = encoder.identity if encoder is not None else facts
    return identity.model_dump(mode="json")


def cited_scores(results: Iterable[Result], locks: Mapping[str, Lock]) -> dict[str, list[CitedScore]]:
    """Return the scores that cards cite, by the builder's name of a config.

    These are the nDCG@10 of encoders that search, and the V-measure of vectors that mteb's k-means clustered.
    Rules are left out, and so are hydrated texts, whose rows are not published.

    Args:
        results: What was scored.
        locks: Of the configs, which name the rows.
    """
    found: dict[str, list[CitedScore]] = {}
    for result in results:
        lock = locks[builder_of(result)]
        if not is_hydrated(lock) and (score := _cited_score(result, lock.rows_id)) is not None:
            found.setdefault(lock.config, []).append(score)
    return found


def _cited_score(result: Result, build: str) -> CitedScore | None:
    encoder = result.encoder
    if encoder.kind == "rule":
        return None
    if isinstance(result, RetrievalResult):
        score = result.scores["ndcg_at_10"]
        metric, value, low, high = "ndcg_at_10", score.value, score.low, score.high
    elif result.pipeline == "minibatch-kmeans":
        metric, value, low, high = "v_measure", result.v_measure, None, None
    else:
        return None
    return CitedScore(
        build=build,
        config=place_of(result),
        model=encoder.model,
        revision=encoder.revision,
        metric=metric,
        value=value,
        low=low,
        high=high,
    )

"""Score encoders on built configs: kept results are reused, and one failure does not stop the rest."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import FiniteFloat, TypeAdapter

from builders.built import Built, read_built
from builders.encoders import Encoder, Role, encode_cached
from builders.errors import EncoderError, MtebDeError, RemoteError, SourceError, StorageError, UsageError
from builders.evaluation import rankings, vmeasure
from builders.evaluation.candidates import BM25, RANDOM, Candidate, facts_of, naming, pinned_encoder
from builders.evaluation.kept import keep, kept_path, read_kept
from builders.evaluation.metrics import CHANCES, MEASURED, chance, score
from builders.evaluation.pipelines import MTEB, choose
from builders.evaluation.rankings import RULES, Judged, Rankings, read_judged
from builders.evaluation.results import Result, RetrievalResult, Score, SetScore, builder_of, place_of
from builders.lock.beside import CitedScore
from builders.printable import label
from builders.progress import Progress
from builders.spec import SEED, ConfigSpec, Ids, Retrieval
from builders.tables import CLUSTERING, Kind, config_name

_FAILURES = (EncoderError, SourceError, RemoteError, UsageError)
"""Errors that keep one encoder or one config from being scored, and no other."""
_RANDOM = Candidate(RANDOM, "rule")
_BASELINES = (*(Candidate(rule, "rule") for rule in RULES), Candidate(BM25, "lexical"))
_SEARCHED = (Kind.CORPUS, Kind.QUERIES, Kind.QRELS)
_retrieval = TypeAdapter(RetrievalResult)
_chance = TypeAdapter(dict[str, FiniteFloat])
_sets = TypeAdapter(tuple[SetScore, ...])
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """How to evaluate what was built into the folder `out`.

    Attributes:
        split: One of `SPLITS`, or "all" for their union.
        pipelines: Names in `pipelines.PIPELINES`.
        resamples: Number of means that a bootstrap draws.
        vectors: Folder of the cached vectors; None for the default.
        texts: Hydrated texts by config of ids.
    """

    out: Path
    split: str = "test"
    pipelines: tuple[str, ...] = (MTEB,)
    resamples: int = 1000
    vectors: Path | None = None
    texts: Mapping[str, Built] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error, and the name of the encoder that was not scored; empty where a config is at fault."""

    encoder: str
    error: MtebDeError


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Results of candidates, by config in the order asked, then by candidate, and of the rules and BM25.

    `chances` are what `metrics.chance` returns, by "jobs/test"; failures have no effect on the rest.
    """

    results: tuple[Result, ...]
    baselines: tuple[Result, ...]
    chances: Mapping[str, Mapping[str, float]]
    configs: Mapping[str, Built]
    failures: tuple[_Failure, ...] = ()


def evaluate(
    specs: Sequence[ConfigSpec], candidates: Sequence[Candidate], options: EvalOptions, progress: Progress
) -> Evaluation:
    """Evaluate candidates on configs, and beside them rules and BM25.

    A result is kept at ``OUT/work/CONFIG/eval`` as soon as it is computed, clusters set by set: a run that
    was killed goes on, and a second one computes nothing. BM25 ranks and is left out of clustering.
    """
    attempts = _Attempts([pipeline.name for pipeline in choose(options.pipelines)])
    configs = {spec.name: _read(options, spec) for spec in specs}
    tables = [
        [_Table(built, kind, options, progress) for kind in kinds]
        for built in configs.values()
        for kinds in [[Kind.CORPUS] if isinstance(built.spec, Retrieval) else CLUSTERING.values()]
    ]
    clustered = any(not table.searched for of in tables for table in of)
    for one in candidates:
        if clustered and not one.has_vectors:
            progress.step(label(one.name), "gives no vectors: left out of clustering")
    results = [
        result
        for of, one in itertools.product(tables, candidates)
        for table in of
        for result in attempts.results(table, one, named=True)
    ]
    if attempts.failures and not results:
        raise failed(attempts.failures)
    baselines, chances = list[Result](), {}
    for table in sorted(itertools.chain(*tables), key=lambda table: not table.searched):
        ones = _BASELINES if table.searched else (_RANDOM,)
        beside = [result for one in ones for result in attempts.results(table, one, named=False)]
        baselines += beside
        if table.searched and beside:
            chances[table.name] = _expected(table)
    return Evaluation(tuple(results), tuple(baselines), chances, configs, tuple(attempts.failures))


def _read(options: EvalOptions, spec: ConfigSpec) -> Built:
    """Read a config, and make sure that its tables are those that were built or hydrated."""
    if isinstance(spec, Ids) and spec.name not in options.texts:
        hint = f"Run mteb-de hydrate {spec.name}, or name its folder with --hydrated."
        raise StorageError(f"{spec.name} has no texts to evaluate", hint=hint)
    found = options.texts[spec.name] if isinstance(spec, Ids) else read_built(options.out, spec)
    found.verify()
    return found


def failed(failures: Sequence[_Failure]) -> MtebDeError:
    """Return one error that names all failures: itself where there is one."""
    if len(failures) == 1:
        return failures[0].error
    messages = "\n".join(failure.error.message for failure in failures)
    hints = dict.fromkeys(failure.error.hint for failure in failures if failure.error.hint)
    return EncoderError(f"{len(failures)} things could not be scored:\n{messages}", hint=" ".join(hints))


def cited_scores(results: Iterable[Result], configs: Mapping[str, Built]) -> dict[str, list[CitedScore]]:
    """Return the scores that cards cite, by config.

    These are the nDCG@10 of encoders that search, and the V-measure of vectors that mteb's k-means clustered.
    Rules are left out, and so are hydrated texts, whose rows are not published.
    """
    found: dict[str, list[CitedScore]] = {}
    for result in results:
        encoder, lock = result.encoder, configs[builder_of(result)].lock
        if lock is None or encoder.kind == "rule" or result.pipeline not in {"", MTEB}:
            continue
        if isinstance(result, RetrievalResult):
            metric, score = "ndcg_at_10", result.scores["ndcg_at_10"]
        else:
            metric, score = "v_measure", Score(value=result.v_measure)
        cited = CitedScore(
            build=lock.rows_id,
            config=place_of(result),
            model=encoder.model,
            revision=encoder.revision,
            metric=metric,
            **score.model_dump(),
        )
        found.setdefault(lock.config, []).append(cited)
    return found


@dataclass(frozen=True)
class _Attempts:
    """What could not be scored so far; equal errors are noted once."""

    pipelines: Sequence[str]
    failures: list[_Failure] = field(default_factory=list)

    def results(self, table: _Table, candidate: Candidate, *, named: bool) -> list[Result]:
        """Return the results of a candidate on a table, up to its first error, in the order of pipelines."""
        found: list[Result] = []
        try:
            with naming(candidate) if named else contextlib.nullcontext():
                if table.searched:
                    found.append(_search(table, candidate))
                elif candidate.has_vectors:
                    found.extend(_clusters(table, candidate, self.pipelines))
        except _FAILURES as error:
            if all(error.message != known.error.message for known in self.failures):
                self.failures.append(_Failure(candidate.name if named else "", error))
                table.progress.step("failed", error.message)
        return sorted(found, key=lambda one: (*self.pipelines, one.pipeline).index(one.pipeline))


@dataclass(frozen=True, eq=False)
class _Table:
    """The passages of a config, or its clustering sets of one kind; rows are read when they are needed."""

    built: Built
    kind: Kind
    options: EvalOptions
    progress: Progress

    @property
    def searched(self) -> bool:
        return self.kind is Kind.CORPUS

    @property
    def name(self) -> str:
        """As in results: "jobs/test", "blurbs-clustering-s2s"."""
        config = self.built.spec.name
        return f"{config}/{self.options.split}" if self.searched else config_name(config, self.kind)

    @functools.cached_property
    def judged(self) -> Judged:
        found = read_judged(self.built, self.options.split)
        self.built.verify(_SEARCHED)
        return found

    @functools.cached_property
    def sets(self) -> pl.DataFrame:
        found = vmeasure.read_sets(self.built.path(self.kind, "test"))
        self.built.verify([self.kind])
        return found

    def path(self, **asked: object) -> Path:
        kinds = _SEARCHED if self.searched else (self.kind,)
        return kept_path(self.options.out, self.built, kinds, asked | {"seed": SEED})

    def keep(self, path: Path, shape: TypeAdapter[_T], result: _T) -> _T:
        self.built.verify_unchanged()
        keep(path, shape, result)
        return result

    def encode(
        self, candidate: Candidate, encoder: Encoder, texts: pl.Series, role: Role
    ) -> NDArray[np.float32]:
        """Return the vectors of texts, row by row: float32 of shape (texts, dimensions)."""
        if not candidate.cached:
            return encoder.encode(encoder.truncate(texts.to_list(), role), role)
        tick = functools.partial(self.progress.tick, f"encode {role}")
        encoded = encode_cached(encoder, texts, role, root=self.options.vectors, progress=tick)
        cut = f", {encoded.truncated:,} cut to what it takes" if encoded.truncated else ""
        counts = f"{encoded.encoded:,} encoded, {encoded.cached:,} from the cache{cut}"
        self.progress.step(f"encode {role}", f"{label(candidate.name)} {counts}")
        return encoded.vectors


def _search(table: _Table, candidate: Candidate) -> RetrievalResult:
    options = table.options
    encoder = candidate.searching(pinned_encoder([table.built.spec])) if candidate.searching else None
    facts = facts_of(candidate, encoder.identity if encoder else None, table.built.lock)
    identity = (encoder.identity if encoder else facts).model_dump(mode="json")
    path = table.path(split=options.split, resamples=options.resamples, encoder=identity)
    found, said = read_kept(path, _retrieval, lambda found: found.scores.keys() >= {*MEASURED}), "kept"
    if found is None:
        ranked = _rankings(table, candidate, encoder)
        found = score(table.judged, ranked, facts, resamples=options.resamples)
        table.keep(path, _retrieval, found)
        said = f"nDCG@10 {found.scores['ndcg_at_10'].value:.5f}"
    table.progress.step(table.name, f"{label(candidate.name)} {said}")
    return found.model_copy(update={"encoder": facts})


def _expected(table: _Table) -> dict[str, float]:
    path = table.path(split=table.options.split, rule="chance")
    found = read_kept(path, _chance, lambda found: found.keys() >= CHANCES)
    return found or table.keep(path, _chance, chance(table.judged))


def _rankings(table: _Table, candidate: Candidate, encoder: Encoder | None) -> Rankings:
    judged = table.judged
    if candidate.name == BM25:
        return rankings.bm25(judged)
    if encoder is None:
        return rankings.rank_by_rule(judged, candidate.name)
    queries = table.encode(candidate, encoder, judged.query_texts(), "query")
    passages = table.encode(candidate, encoder, judged.passage_texts(), "passage")
    tick = functools.partial(table.progress.tick, f"search {table.name}")
    return rankings.search(judged, _unit(queries, encoder), _unit(passages, encoder), progress=tick)


def _unit(vectors: NDArray[np.float32], encoder: Encoder) -> NDArray[np.float32]:
    """Return vectors of norm 1: search is by cosine, whatever the model's last module."""
    if getattr(encoder, "normalised", True):
        return vectors
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def _clusters(table: _Table, candidate: Candidate, pipelines: Sequence[str]) -> Iterator[Result]:
    """Yield the results of a table by pipeline, first those of which all sets were scored before.

    Scores are kept set by set. Random vectors are clustered by mteb's own pipeline alone, for chance.
    """
    decides: dict[str, object]
    encode: Callable[[pl.Series], NDArray[np.float32]]
    if candidate.clustering is None:
        pipelines, facts, decides = (MTEB,), vmeasure.RANDOM_FACTS, {"rule": RANDOM}
        encode = vmeasure.random_vectors
    else:
        encoder, role = candidate.clustering(), candidate.role
        facts = facts_of(candidate, encoder.identity, table.built.lock)
        decides = {"role": role, "encoder": encoder.identity.model_dump(mode="json")}
        encode = functools.partial(table.encode, candidate, encoder, role=role)
    sets, named = table.sets, label(facts.name)
    paths = {name: table.path(pipeline=name, **decides) for name in pipelines}
    scored = {
        name: read_kept(path, _sets, lambda scores: len(scores) <= sets.height) or ()
        for name, path in paths.items()
    }
    lacking = [name for name in pipelines if len(scored[name]) < sets.height]
    for name in (name for name in pipelines if name not in lacking):
        table.progress.step(table.name, f"{named} {name} kept")
        yield vmeasure.summed_up(table.name, facts, name, scored[name])
    if not lacking:
        return
    texts = vmeasure.unique_texts([sets])
    for result in vmeasure.score_pipelines(
        sets,
        texts,
        encode(texts),
        facts,
        config=table.name,
        pipelines=lacking,
        scored=scored,
        keep=lambda name, scores: table.keep(paths[name], _sets, tuple(scores)),
        progress=table.progress,
    ):
        table.progress.step(table.name, f"{named} {result.pipeline} V {result.v_measure:.6f}")
        yield result

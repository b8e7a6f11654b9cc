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
from builders.evaluation.candidates import BM25, RANDOM, Candidate, facts_of, naming, pinned_encoder
from builders.evaluation.kept import keep, kept_path, read_kept
from builders.evaluation.metrics import CHANCES, chance, score
from builders.evaluation.pipelines import MTEB, choose
from builders.evaluation.rankings import (
    RULES,
    Judged,
    Rankings,
    bm25,
    rank_by_rule,
    read_judged,
    require_split,
    search,
)
from builders.evaluation.results import Result, RetrievalResult, Score, SetScore, builder_of, place_of
from builders.evaluation.vmeasure import (
    RANDOM_FACTS,
    random_vectors,
    read_sets,
    score_pipelines,
    summed_up,
    unique_texts,
)
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
_SCORES = {"ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100"}
_retrieval = TypeAdapter(RetrievalResult)
_chance = TypeAdapter(dict[str, FiniteFloat])
_sets = TypeAdapter(tuple[SetScore, ...])
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class EvalOptions:
    """How to evaluate.

    Attributes:
        out: The folder that was built into.
        split: One of `SPLITS`, or "all" for their union.
        pipelines: Names in `pipelines.PIPELINES`.
        seed: Seed of bootstraps, of rules and of clustering.
        resamples: Number of means that a bootstrap draws.
        vectors: Folder of the cached vectors; None for the default.
        texts: Hydrated texts by config of ids.
    """

    out: Path
    split: str = "test"
    pipelines: tuple[str, ...] = (MTEB,)
    seed: int = SEED
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
    """Results of an evaluation.

    Attributes:
        results: Results of the candidates, by config in the order asked, then by candidate.
        baselines: Results of the rules, and of BM25 where there is a search.
        chances: What `metrics.chance` returns, by "jobs/test".
        configs: The evaluated configs by name.
        failures: Errors of what could not be scored, without effect on the rest.
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
    pipelines = tuple(pipeline.name for pipeline in choose(options.pipelines))
    require_split(options.split)
    configs = {spec.name: _read(options, spec) for spec in specs}
    tables = [_tables(built, options, progress) for built in configs.values()]
    for one in candidates:
        if (
            one.clustering is None
            and one.name != RANDOM
            and not all(table.searched for (table, *_) in tables)
        ):
            progress.step(label(one.name), "gives no vectors: left out of clustering")
    attempts = _Attempts(progress)
    results = [
        result
        for of, one in itertools.product(tables, candidates)
        for table in of
        for result in attempts.results(table, one, pipelines, named=True)
    ]
    if attempts.failures and not results:
        raise failed(attempts.failures)
    baselines, chances = list[Result](), {}
    for table in itertools.chain(*tables):
        for one in _BASELINES if table.searched else (_RANDOM,):
            baselines += attempts.results(table, one, pipelines, named=False)
        if table.searched:
            with attempts.noted():
                chances[table.name] = _expected(table)
    return Evaluation(tuple(results), tuple(baselines), chances, configs, tuple(attempts.failures))


def _read(options: EvalOptions, spec: ConfigSpec) -> Built:
    """Read a config, and make sure that its tables are those that were built or hydrated."""
    if isinstance(spec, Ids):
        if spec.name not in options.texts:
            hint = f"Run mteb-de hydrate {spec.name}, or name its folder with --hydrated."
            raise StorageError(f"{spec.name} has no texts to evaluate", hint=hint)
        found = options.texts[spec.name]
    else:
        found = read_built(options.out, spec)
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
    """What could not be scored so far: an error ends the attempt that it belongs to, and is noted once."""

    progress: Progress
    failures: list[_Failure] = field(default_factory=list)

    def results(
        self, table: _Table, candidate: Candidate, pipelines: Sequence[str], *, named: bool
    ) -> list[Result]:
        """Return the results of a candidate on a table, up to its first error, in the order of pipelines."""
        found: list[Result] = []
        with self.noted(candidate if named else None):
            if table.searched:
                found.append(_search(table, candidate))
            elif candidate.clustering or candidate.name == RANDOM:
                found.extend(_clusters(table, candidate, pipelines))
        return sorted(found, key=lambda one: (*pipelines, one.pipeline).index(one.pipeline))

    @contextlib.contextmanager
    def noted(self, candidate: Candidate | None = None) -> Iterator[None]:
        """Note an error; that of a candidate has its name in front."""
        try:
            with naming(candidate) if candidate else contextlib.nullcontext():
                yield
        except _FAILURES as error:
            if all(error.message != known.error.message for known in self.failures):
                self.failures.append(_Failure(candidate.name if candidate else "", error))
                self.progress.step("failed", error.message)


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

    @property
    def _kinds(self) -> tuple[Kind, ...]:
        return _SEARCHED if self.searched else (self.kind,)

    @functools.cached_property
    def judged(self) -> Judged:
        found = read_judged(self.built, self.options.split)
        self.built.verify(self._kinds)
        return found

    @functools.cached_property
    def sets(self) -> pl.DataFrame:
        found = read_sets(self.built.path(self.kind, "test"))
        self.built.verify(self._kinds)
        return found

    def path(self, **asked: object) -> Path:
        return kept_path(self.options.out, self.built, self._kinds, asked | {"seed": self.options.seed})

    def keep(self, path: Path, shape: TypeAdapter[_T], result: _T) -> None:
        self.built.verify_unchanged()
        keep(path, shape, result)

    def kept(
        self,
        shape: TypeAdapter[_T],
        compute: Callable[[], _T],
        complete: Callable[[_T], bool],
        **asked: object,
    ) -> tuple[_T, bool]:
        """Return a result, and whether it was kept; else it is computed and kept."""
        path = self.path(split=self.options.split, **asked)
        found = read_kept(path, shape, complete)
        if found is not None:
            return found, True
        result = compute()
        self.keep(path, shape, result)
        return result, False

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


def _tables(built: Built, options: EvalOptions, progress: Progress) -> list[_Table]:
    kinds = [Kind.CORPUS] if isinstance(built.spec, Retrieval) else CLUSTERING.values()
    return [_Table(built, kind, options, progress) for kind in kinds]


def _search(table: _Table, candidate: Candidate) -> RetrievalResult:
    options = table.options
    encoder = candidate.searching(pinned_encoder([table.built.spec])) if candidate.searching else None
    facts = facts_of(candidate, encoder.identity if encoder else None, table.built.lock)
    result, kept = table.kept(
        _retrieval,
        lambda: score(
            table.judged,
            _rankings(table, candidate, encoder),
            facts,
            seed=options.seed,
            resamples=options.resamples,
        ),
        lambda found: found.scores.keys() >= _SCORES,
        resamples=options.resamples,
        encoder=(encoder.identity if encoder else facts).model_dump(mode="json"),
    )
    found = "kept" if kept else f"nDCG@10 {result.scores['ndcg_at_10'].value:.5f}"
    table.progress.step(table.name, f"{label(candidate.name)} {found}")
    return result.model_copy(update={"encoder": facts})


def _expected(table: _Table) -> dict[str, float]:
    found, _ = table.kept(
        _chance, lambda: chance(table.judged), lambda found: found.keys() >= CHANCES, rule="chance"
    )
    return found


def _rankings(table: _Table, candidate: Candidate, encoder: Encoder | None) -> Rankings:
    judged = table.judged
    if candidate.name == BM25:
        return bm25(judged)
    if encoder is None:
        return rank_by_rule(judged, candidate.name, seed=table.options.seed)
    queries = table.encode(candidate, encoder, judged.query_texts(), "query")
    passages = table.encode(candidate, encoder, judged.passage_texts(), "passage")
    tick = functools.partial(table.progress.tick, f"search {table.name}")
    return search(judged, _unit(queries, encoder), _unit(passages, encoder), progress=tick)


def _unit(vectors: NDArray[np.float32], encoder: Encoder) -> NDArray[np.float32]:
    """Return vectors of norm 1: search is by cosine, whatever the model's last module."""
    if getattr(encoder, "normalised", True):
        return vectors
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def _clusters(table: _Table, candidate: Candidate, pipelines: Sequence[str]) -> Iterator[Result]:
    """Yield the results of a table by pipeline, first those of which all sets were scored before.

    The scores of its sets are kept as they come. Random vectors are clustered by mteb's own pipeline alone,
    for chance.
    """
    decides: dict[str, object]
    encode: Callable[[pl.Series], NDArray[np.float32]]
    if candidate.clustering is None:
        pipelines, facts, decides = (MTEB,), RANDOM_FACTS, {"rule": RANDOM}
        encode = functools.partial(random_vectors, seed=table.options.seed)
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
        yield summed_up(table.name, facts, name, scored[name])
    if not lacking:
        return
    texts = unique_texts([sets])
    for result in score_pipelines(
        sets,
        texts,
        encode(texts),
        facts,
        config=table.name,
        pipelines=lacking,
        seed=table.options.seed,
        scored=scored,
        keep=lambda name, scores: table.keep(paths[name], _sets, tuple(scores)),
        progress=table.progress,
    ):
        table.progress.step(table.name, f"{named} {result.pipeline} V {result.v_measure:.6f}")
        yield result

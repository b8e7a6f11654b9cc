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
    BM25_FACTS,
    RULES,
    Judged,
    Rankings,
    bm25,
    rank_by_rule,
    read_judged,
    require_split,
    search,
)
from builders.evaluation.results import (
    EncoderFacts,
    Result,
    RetrievalResult,
    Score,
    SetScore,
    builder_of,
    place_of,
)
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
from builders.tables import CLUSTERING, Kind, config_name, kind_of

_FAILURES = (EncoderError, SourceError, RemoteError, UsageError)
"""Errors that keep one encoder or one config from being scored, and no other."""
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
    configs = [_Config(options, _read(options, spec), progress) for spec in specs]
    searched = [config for config in configs if isinstance(config.built.spec, Retrieval)]
    clustered = [config for config in configs if not isinstance(config.built.spec, Retrieval)]
    asked = _Results(progress)
    for candidate in candidates:
        for config in searched:
            with asked.attempt(candidate):
                asked.results.append(_search(config, candidate))
        if candidate.kind == "dense" or candidate.name == RANDOM:
            _cluster(asked, clustered, candidate, pipelines)
        elif clustered:
            progress.step(label(candidate.name), "gives no vectors: left out of clustering")
    if asked.failures and not asked.results:
        raise failed(asked.failures)
    beside, chances = _Results(progress, asked.failures), {}
    for config in searched:
        with beside.attempt():
            beside.results.extend(_search(config, baseline) for baseline in _BASELINES)
            chances[config.searched] = _expected(config)
    _cluster(beside, clustered, Candidate(RANDOM, "rule"), pipelines)
    names, encoders = [config.name for config in configs], [one.name for one in candidates]

    def place(result: Result) -> tuple[int, ...]:
        first = (names.index(builder_of(result)), encoders.index(result.encoder.name))
        if isinstance(result, RetrievalResult):
            return first
        asked = result.pipeline in pipelines  # random vectors are clustered by mteb's own pipeline alone
        pipeline = pipelines.index(result.pipeline) if asked else -1
        return (*first, list(CLUSTERING.values()).index(kind_of(result.config)), pipeline)

    return Evaluation(
        results=tuple(sorted(asked.results, key=place)),
        baselines=tuple(beside.results),
        chances=chances,
        configs={config.name: config.built for config in configs},
        failures=tuple(beside.failures),
    )


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
        if lock is None or encoder.kind == "rule":
            continue
        if isinstance(result, RetrievalResult):
            metric, score = "ndcg_at_10", result.scores["ndcg_at_10"]
        elif result.pipeline == MTEB:
            metric, score = "v_measure", Score(value=result.v_measure)
        else:
            continue
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


@dataclass
class _Results:
    """Results as they come; an error ends the attempt that it belongs to, and is noted once."""

    progress: Progress
    failures: list[_Failure] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @contextlib.contextmanager
    def attempt(self, candidate: Candidate | None = None) -> Iterator[None]:
        try:
            with naming(candidate) if candidate else contextlib.nullcontext():
                yield
        except _FAILURES as error:
            if all(error.message != known.error.message for known in self.failures):
                self.failures.append(_Failure(candidate.name if candidate else "", error))
                self.progress.step("failed", error.message)


@dataclass(frozen=True, eq=False)
class _Config:
    """A config under evaluation: its rows are read when something has to be computed."""

    options: EvalOptions
    built: Built
    progress: Progress
    _read: dict[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.built.spec.name

    @property
    def searched(self) -> str:
        """What is searched: "jobs/test"."""
        return f"{self.name}/{self.options.split}"

    @functools.cached_property
    def judged(self) -> Judged:
        found = read_judged(self.built, self.options.split)
        self.built.verify(_SEARCHED)
        return found

    def sets(self, variant: str) -> pl.DataFrame:
        if variant not in self._read:
            found = read_sets(self.built.path(CLUSTERING[variant], "test"))
            self.built.verify([CLUSTERING[variant]])
            self._read[variant] = found
        return self._read[variant]

    def path(self, kinds: Sequence[Kind], **asked: object) -> Path:
        return kept_path(self.options.out, self.built, kinds, asked | {"seed": self.options.seed})

    def keep(self, path: Path, shape: TypeAdapter[_T], result: _T) -> None:
        self.built.verify_unchanged()
        keep(path, shape, result)

    def kept(
        self,
        kinds: Sequence[Kind],
        shape: TypeAdapter[_T],
        compute: Callable[[], _T],
        complete: Callable[[_T], bool],
        **asked: object,
    ) -> tuple[_T, bool]:
        """Return a result, and whether it was kept; else it is computed and kept."""
        path = self.path(kinds, **asked)
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


def _search(config: _Config, candidate: Candidate) -> RetrievalResult:
    options = config.options
    encoder = candidate.searching(pinned_encoder([config.built.spec])) if candidate.searching else None
    identity = encoder.identity if encoder else None
    facts = BM25_FACTS if candidate.name == BM25 else facts_of(candidate, identity, config.built.lock)
    result, kept = config.kept(
        _SEARCHED,
        _retrieval,
        lambda: score(
            config.judged,
            _rankings(config, candidate, encoder),
            facts,
            seed=options.seed,
            resamples=options.resamples,
        ),
        lambda found: found.scores.keys() >= _SCORES,
        split=options.split,
        resamples=options.resamples,
        encoder=(identity or facts).model_dump(mode="json"),
    )
    found = "kept" if kept else f"nDCG@10 {result.scores['ndcg_at_10'].value:.5f}"
    config.progress.step(config.searched, f"{label(candidate.name)} {found}")
    return result.model_copy(update={"encoder": facts})


def _expected(config: _Config) -> dict[str, float]:
    expected, _ = config.kept(
        _SEARCHED,
        _chance,
        lambda: chance(config.judged),
        lambda found: found.keys() >= CHANCES,
        split=config.options.split,
        rule="chance",
    )
    return expected


def _rankings(config: _Config, candidate: Candidate, encoder: Encoder | None) -> Rankings:
    judged = config.judged
    if candidate.name == BM25:
        return bm25(judged)
    if encoder is None:
        return rank_by_rule(judged, candidate.name, seed=config.options.seed)
    queries = config.encode(candidate, encoder, judged.query_texts(), "query")
    passages = config.encode(candidate, encoder, judged.passage_texts(), "passage")
    tick = functools.partial(config.progress.tick, f"search {config.searched}")
    return search(judged, _unit(queries, encoder), _unit(passages, encoder), progress=tick)


def _unit(vectors: NDArray[np.float32], encoder: Encoder) -> NDArray[np.float32]:
    """Return vectors of norm 1: search is by cosine, whatever the model's last module."""
    if getattr(encoder, "normalised", True):
        return vectors
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def _cluster(
    found: _Results, configs: Sequence[_Config], candidate: Candidate, pipelines: Sequence[str]
) -> None:
    """Cluster the vectors of an encoder table by table; random ones by mteb's own pipeline, for chance."""
    for config, variant in itertools.product(configs, CLUSTERING):
        if candidate.clustering is None:
            random = functools.partial(random_vectors, seed=config.options.seed)
            with found.attempt():
                found.results.extend(_clusters(config, variant, RANDOM_FACTS, (MTEB,), random, rule=RANDOM))
            continue
        with found.attempt(candidate):
            encoder = candidate.clustering()
            facts = facts_of(candidate, encoder.identity, config.built.lock)
            encode = functools.partial(config.encode, candidate, encoder, role=candidate.role)
            identity = encoder.identity.model_dump(mode="json")
            results = _clusters(
                config, variant, facts, pipelines, encode, role=candidate.role, encoder=identity
            )
            found.results.extend(results)


def _clusters(
    config: _Config,
    variant: str,
    facts: EncoderFacts,
    pipelines: Sequence[str],
    encode: Callable[[pl.Series], NDArray[np.float32]],
    **asked: object,
) -> Iterator[Result]:
    """Yield the results of a table by pipeline, first those of which all sets were scored before.

    The scores of its sets are kept as they come; `asked` is what decides the vectors, as JSON values.
    """
    kind = CLUSTERING[variant]
    table, sets, named = config_name(config.name, kind), config.sets(variant), label(facts.name)
    paths = {name: config.path((kind,), pipeline=name, **asked) for name in pipelines}
    scored = {
        name: read_kept(path, _sets, lambda scores: len(scores) <= sets.height) or ()
        for name, path in paths.items()
    }
    whole = [name for name, scores in scored.items() if len(scores) == sets.height]
    for name in whole:
        config.progress.step(table, f"{named} {name} kept")
        yield summed_up(table, facts, name, scored[name])
    lacking = [name for name in pipelines if name not in whole]
    if not lacking:
        return
    texts = unique_texts([sets])
    for result in score_pipelines(
        sets,
        texts,
        encode(texts),
        facts,
        config=table,
        pipelines=lacking,
        seed=config.options.seed,
        scored=scored,
        keep=lambda name, scores: config.keep(paths[name], _sets, tuple(scores)),
        progress=config.progress,
    ):
        config.progress.step(table, f"{named} {result.pipeline} V {result.v_measure:.6f}")
        yield result

"""Evaluating candidates on built configs: what was scored before is taken, texts are encoded once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders import files
from builders.encoders import Encoder, Role, encode_cached
from builders.errors import Refused, StorageError
from builders.evaluation import pipelines as ways
from builders.evaluation.candidates import BM25, RULES, Candidate, facts_of, pinned_encoder
from builders.evaluation.chance import chance as chance_of_sets
from builders.evaluation.chance import rule_scores
from builders.evaluation.clustering import read_sets, score_pipelines, unique_texts
from builders.evaluation.lexical import BM25_FACTS, bm25
from builders.evaluation.model import ClusteringResult, EncoderFacts, Result, RetrievalResult
from builders.evaluation.pairs import Judged, read_judged
from builders.evaluation.retrieval import score_run, search
from builders.evaluation.rules import chance, rule_run
from builders.evaluation.store import keep_chance, keep_result, kept_path, read_chance, read_result
from builders.lock.manifest import work_folder
from builders.lock.model import EncoderLock, Lock, read_lock
from builders.spec import Clustering, ConfigSpec, Retrieval
from builders.steps import SEED, Progress
from builders.tables import CLUSTERING, Kind, config_name

_READ = (Kind.CORPUS, Kind.QUERIES, Kind.QRELS)


@dataclass(frozen=True, slots=True)
class Options:
    """How to evaluate.

    Attributes:
        out: The folder that was built into.
        split: Of the queries: one of `SPLITS`, or "all" for their union.
        pipelines: Names in `pipelines.PIPELINES`: how vectors are clustered.
        seed: Of bootstraps, of rules and of what clusters.
        resamples: Of a bootstrap.
        vectors: Folder of the cached vectors; None for the default.
    """

    out: Path
    split: str = "test"
    pipelines: tuple[str, ...] = ("minibatch-kmeans",)
    seed: int = SEED
    resamples: int = 1000
    vectors: Path | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What came of it.

    Attributes:
        results: Of the candidates, by config in the order asked.
        baselines: Of what needs no model, on every config: the rules, and BM25 where there is a search.
        chances: Expected scores of a random encoder with their standard errors, by "jobs/test" or
            "blurbs-clustering-s2s"; see `rules.chance`; for clustering "v_measure" and "v_measure_error".
        locks: Of the configs, by name.
    """

    results: tuple[Result, ...]
    baselines: tuple[Result, ...]
    chances: Mapping[str, Mapping[str, float]]
    locks: Mapping[str, Lock]


def evaluate(
    specs: Sequence[ConfigSpec], candidates: Sequence[Candidate], options: Options, progress: Progress
) -> Evaluation:
    """Evaluate candidates on configs, and what needs no model beside them.

    A result is kept at ``OUT/work/CONFIG/eval`` as soon as it is there: a run that was killed goes on, and a
    second one computes nothing. BM25 ranks and is left out of clustering.

    Raises:
        StorageError: A config was not built, or something cannot be read or written.
        UsageError: There is no such split or pipeline, or a library is missing.
        EncoderError: An encoder cannot be loaded, or gave vectors that are not usable.
        Refused: Another build wrote over a config meanwhile.
    """
    names = tuple(pipeline.name for pipeline in ways.choose(options.pipelines))
    tables = [_Table(options, spec, lock, progress) for spec, lock in _locked(options.out, specs)]
    searched = [table for table in tables if isinstance(table.spec, Retrieval)]
    clustered = [table for table in tables if isinstance(table.spec, Clustering)]
    results: list[Result] = []
    for one in candidates:
        results += [_searched(table, one) for table in searched]
        if one.kind == "dense":
            results += _clustered(clustered, one, names)
        elif one.kind == "rule":
            results += _clustered_by_rule(clustered, one.name)
        elif clustered:
            progress.step(one.name, "ranks and has no vectors: left out of clustering")
    baselines: list[Result] = []
    for name in (*RULES, BM25):
        one = Candidate(name, "rule" if name in RULES else "lexical")
        baselines += [_searched(table, one) for table in searched]
        baselines += _clustered_by_rule(clustered, name) if name in RULES else []
    places = {place: number for number, place in enumerate(table.spec.name for table in tables)}
    return Evaluation(
        results=tuple(sorted(results, key=lambda result: places[builder_of(result)])),
        baselines=tuple(baselines),
        chances=dict(itertools.chain(map(_chance, searched), *map(_set_chances, clustered))),
        locks={table.spec.name: table.lock for table in tables},
    )


def builder_of(result: Result) -> str:
    """Return the name of the config that a result belongs to, as the builder has it: "blurbs"."""
    return result.config.partition("-")[0]


@dataclass(frozen=True)
class _Table:
    """A config on the table: its rows are read when something has to be computed."""

    options: Options
    spec: ConfigSpec
    lock: Lock
    progress: Progress
    _sets: dict[str, pl.DataFrame] = field(default_factory=dict)

    @functools.cached_property
    def judged(self) -> Judged:
        assert isinstance(self.spec, Retrieval)
        _require_as_locked(self.options.out, self.lock, _READ)
        return read_judged(self.options.out, self.spec, self.options.split)

    def sets(self, variant: str) -> pl.DataFrame:
        assert isinstance(self.spec, Clustering)
        if variant not in self._sets:
            _require_as_locked(self.options.out, self.lock, (CLUSTERING[variant],))
            self._sets[variant] = read_sets(self.options.out, self.spec, variant)
        return self._sets[variant]

    def path(self, kinds: Sequence[Kind], **asked: Any) -> Path:  # noqa: ANN401  any JSON value
        return kept_path(self.options.out, self.lock, kinds, asked | {"seed": self.options.seed})

    def keep(self, path: Path, result: Result) -> None:
        _require_unchanged(self.options.out, self.lock)
        keep_result(path, result)


def _searched(table: _Table, one: Candidate) -> RetrievalResult:
    options, progress = table.options, table.progress
    encoder = one.searching(pinned_encoder([table.spec])) if one.searching else None
    facts = (
        BM25_FACTS if one.name == BM25 else facts_of(one, encoder.identity if encoder else None, table.lock)
    )
    path = table.path(
        _READ, split=options.split, resamples=options.resamples, encoder=_identity(encoder, facts)
    )
    where = f"{table.spec.name}/{options.split}"
    kept = read_result(path)
    if isinstance(kept, RetrievalResult):
        progress.step(where, f"{one.name} kept")
        return kept.model_copy(update={"encoder": facts})
    judged = table.judged
    if encoder is not None:
        queries = _vectors(one, encoder, judged.query_texts(), "query", table)
        passages = _vectors(one, encoder, judged.passage_texts(), "passage", table)
        run = search(judged, _unit(queries, encoder), _unit(passages, encoder))
    else:
        run = bm25(judged) if one.name == BM25 else rule_run(judged, one.name, seed=options.seed)
    result = score_run(judged, run, facts, seed=options.seed, resamples=options.resamples)
    table.keep(path, result)
    progress.step(where, f"{one.name} nDCG@10 {result.scores['ndcg_at_10'].value:.5f}")
    return result


def _clustered(tables: Sequence[_Table], one: Candidate, names: Sequence[str]) -> list[Result]:
    """Cluster all configs that were asked for: their texts are encoded together, each once."""
    if not tables or one.clustering is None:
        return []
    encoder = one.clustering()
    identity = encoder.identity
    asked = list(itertools.product(tables, CLUSTERING, names))
    paths = {
        (table.spec.name, variant, name): table.path(
            (CLUSTERING[variant],), pipeline=name, role=one.role, encoder=identity.model_dump(mode="json")
        )
        for table, variant, name in asked
    }
    found = {key: result for key, path in paths.items() if (result := read_result(path)) is not None}
    lacking = {key: path for key, path in paths.items() if key not in found}
    if lacking:
        pairs = [(table, variant) for table, variant in itertools.product(tables, CLUSTERING)]
        wanted = [(t, v) for t, v in pairs if any(key[:2] == (t.spec.name, v) for key in lacking)]
        texts = unique_texts([table.sets(variant) for table, variant in wanted])
        vectors = _vectors(one, encoder, texts, one.role, tables[0])
        for table, variant in wanted:
            left = [name for config, v, name in lacking if (config, v) == (table.spec.name, variant)]
            for result in _by_reduction(
                table, variant, left, texts, vectors, facts_of(one, identity, table.lock)
            ):
                key = (table.spec.name, variant, result.pipeline)
                table.keep(lacking[key], result)
                found[key] = result
                table.progress.step(result.config, f"{one.name} {result.pipeline} V {result.v_measure:.6f}")
    for table, variant, name in asked:
        if (table.spec.name, variant, name) not in lacking:
            table.progress.step(config_name(table.spec.name, CLUSTERING[variant]), f"{one.name} {name} kept")
    return [
        found[table.spec.name, variant, name].model_copy(
            update={"encoder": facts_of(one, identity, table.lock)}
        )
        for table, variant, name in asked
    ]


def _by_reduction(
    table: _Table,
    variant: str,
    names: Sequence[str],
    texts: pl.Series,
    vectors: NDArray[np.float32],
    facts: EncoderFacts,
) -> Iterable[ClusteringResult]:
    """Score pipelines that share a reduction together, so that each group is kept when it is there."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(ways.PIPELINES[name].reduction, []).append(name)
    for group in groups.values():
        yield from score_pipelines(
            table.sets(variant),
            texts,
            vectors,
            facts,
            config=config_name(table.spec.name, CLUSTERING[variant]),
            pipelines=group,
            seed=table.options.seed,
            progress=table.progress,
        )


def _clustered_by_rule(tables: Sequence[_Table], rule: str) -> list[Result]:
    results: list[Result] = []
    for table, variant in itertools.product(tables, CLUSTERING):
        path = table.path((CLUSTERING[variant],), rule=rule)
        result = read_result(path)
        if result is None:
            config = config_name(table.spec.name, CLUSTERING[variant])
            result = rule_scores(
                table.sets(variant), rule, config=config, seed=table.options.seed, progress=table.progress
            )
            table.keep(path, result)
        results.append(result)
    return results


def _chance(table: _Table) -> tuple[str, dict[str, float]]:
    path = table.path(_READ, split=table.options.split, chance=True)
    return f"{table.spec.name}/{table.options.split}", _kept_chance(path, lambda: chance(table.judged))


def _set_chances(table: _Table) -> Iterable[tuple[str, dict[str, float]]]:
    for variant, kind in CLUSTERING.items():

        def simulated(variant: str = variant) -> dict[str, float]:
            mean, error = chance_of_sets(table.sets(variant), seed=table.options.seed)
            return {"v_measure": mean, "v_measure_error": error}

        yield config_name(table.spec.name, kind), _kept_chance(table.path((kind,), chance=True), simulated)


def _kept_chance(path: Path, compute: Callable[[], dict[str, float]]) -> dict[str, float]:
    if (kept := read_chance(path)) is not None:
        return kept
    found = compute()
    keep_chance(path, found)
    return found


def _vectors(
    one: Candidate, encoder: Encoder, texts: pl.Series, role: Role, table: _Table
) -> NDArray[np.float32]:
    if not one.cached:
        return encoder.encode(encoder.truncate(texts.to_list(), role), role)

    def tick(done: int, total: int) -> None:
        table.progress.tick(f"encode {role}", done, total)

    encoded = encode_cached(encoder, texts, role, root=table.options.vectors, progress=tick)
    cut = f", {encoded.truncated:,} cut to what it takes" if encoded.truncated else ""
    table.progress.step(
        f"encode {role}", f"{one.name} {encoded.encoded:,} encoded, {encoded.cached:,} from the cache{cut}"
    )
    return encoded.vectors


def _unit(vectors: NDArray[np.float32], encoder: Encoder) -> NDArray[np.float32]:
    """Return vectors of norm 1: search is by cosine, whatever the model's last module."""
    if getattr(encoder, "normalised", True):
        return vectors
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def _identity(encoder: Encoder | None, facts: EncoderFacts) -> dict[str, Any]:
    identity: EncoderLock | EncoderFacts = encoder.identity if encoder is not None else facts
    return identity.model_dump(mode="json")


def _locked(out: Path, specs: Sequence[ConfigSpec]) -> list[tuple[ConfigSpec, Lock]]:
    for spec in specs:
        if not (work_folder(out, spec.name) / "lock.json").exists():
            hint = f"Run: mteb-de build {spec.name} --out {out}"
            raise StorageError(f"{out}: {spec.name} was not built there", hint=hint)
    return [(spec, read_lock(work_folder(out, spec.name) / "lock.json")) for spec in specs]


def _require_as_locked(out: Path, lock: Lock, kinds: Sequence[Kind]) -> None:
    """Make sure that the rows are those that the lock names, since results are kept under its name."""
    for file in lock.files:
        path = out / lock.release / file.path
        if (
            file.config in {config_name(lock.config, kind) for kind in kinds}
            and files.sha256(path) != file.sha256
        ):
            raise StorageError(
                f"{path}: not the file that was built", hint=f"Run: mteb-de build {lock.config}"
            )


def _require_unchanged(out: Path, lock: Lock) -> None:
    work = work_folder(out, lock.config)
    if not (work / "lock.json").exists() or read_lock(work / "lock.json").files != lock.files:
        raise Refused(f"{work}: another build has been there since", hint="Run the evaluation again.")

"""Clustering of built configs: texts are encoded once, what was kept is taken, slow sets are kept singly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.evaluation import pipelines as ways
from builders.evaluation.candidates import Candidate, facts_of
from builders.evaluation.chance import simulate
from builders.evaluation.clustering import score_pipelines, summed_up, unique_texts
from builders.evaluation.model import ClusteringResult, EncoderFacts, Result
from builders.evaluation.pipelines import check_rows
from builders.evaluation.store import SetChance, read_chance, read_result, read_sets
from builders.evaluation.work import Table
from builders.lock.lock import EncoderIdentity
from builders.printable import label
from builders.tables import CLUSTERING

Attempt = Callable[[Callable[[], Iterable[Result]]], object]
"""Takes the results of a piece of work, which may fail without keeping others from being done."""
_CHEAP = ("minibatch-kmeans",)
"""Pipelines that take seconds for all sets of a config: these are kept when all are scored."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """One result that is wanted, and where it is kept."""

    table: Table
    variant: str
    pipeline: str
    path: Path


def by_encoder(
    tables: Sequence[Table], one: Candidate, pipelines: Sequence[str], attempt: Attempt
) -> Iterator[ClusteringResult]:
    """Cluster the vectors of an encoder: the texts of all tables are encoded together, each once.

    Args:
        tables: The configs.
        one: The candidate.
        pipelines: Names in `pipelines.PIPELINES`.
        attempt: Takes what is computed, table by table.

    Yields:
        What was kept; the rest goes through `attempt`.

    Raises:
        EncoderError: The encoder cannot be loaded, or its vectors are not usable.
        StorageError: Something cannot be read or written.
    """
    if not tables or one.clustering is None:
        return
    encoder = one.clustering()
    identity = encoder.identity
    lacking = []
    for table, variant, name in itertools.product(tables, CLUSTERING, pipelines):
        path = table.path(
            (CLUSTERING[variant],), pipeline=name, role=one.role, encoder=identity.model_dump(mode="json")
        )
        kept = read_result(path)
        if isinstance(kept, ClusteringResult):
            table.progress.step(table.config(variant), f"{label(one.name)} {name} kept")
            yield kept.model_copy(update={"encoder": facts_of(one, identity, table.lock)})
        else:
            lacking.append(_Asked(table, variant, name, path))
    if not lacking:
        return
    wanted = [list(group) for _, group in itertools.groupby(lacking, lambda asked: _place(asked))]
    texts = unique_texts([group[0].table.sets(group[0].variant) for group in wanted])
    vectors = tables[0].vectors(one, encoder, texts, one.role)
    for group in wanted:
        attempt(partial(_of_table, group, one, identity, texts, vectors))


def by_random(tables: Sequence[Table]) -> Iterator[ClusteringResult]:
    """Cluster random vectors of every table; see `chance.simulate`.

    Raises:
        StorageError: Something cannot be read or written.
    """
    for table, variant in itertools.product(tables, CLUSTERING):
        yield by_chance(table, variant)[0]


def by_chance(table: Table, variant: str) -> tuple[ClusteringResult, SetChance]:
    """Return what random vectors score and what is expected of them, which come from the same fits.

    Raises:
        StorageError: Something cannot be read or written.
    """
    path, expected_path = _rule_path(table, variant, "random"), _rule_path(table, variant, "chance")
    kept, expected = read_result(path), read_chance(expected_path, SetChance)
    if isinstance(kept, ClusteringResult) and expected is not None:
        return kept, expected
    found, mean, error = simulate(
        table.sets(variant), config=table.config(variant), seed=table.options.seed, progress=table.progress
    )
    expected = SetChance(v_measure=mean, v_measure_error=error)
    return table.keep(path, found), table.keep_chance(expected_path, expected)


def _place(asked: _Asked) -> tuple[str, str]:
    return asked.table.name, asked.variant


def _rule_path(table: Table, variant: str, rule: str) -> Path:
    return table.path((CLUSTERING[variant],), rule=rule)


def _of_table(
    group: Sequence[_Asked],
    one: Candidate,
    identity: EncoderIdentity,
    texts: pl.Series,
    vectors: NDArray[np.float32],
) -> Iterator[ClusteringResult]:
    """Score the pipelines of a table; those that share a reduction together."""
    table, variant = group[0].table, group[0].variant
    facts = facts_of(one, identity, table.lock)
    by_reduction: dict[str, dict[str, Path]] = {}
    for asked in group:
        by_reduction.setdefault(ways.PIPELINES[asked.pipeline].reduction, {})[asked.pipeline] = asked.path
    for paths in by_reduction.values():
        scored = _at_once if set(paths) <= set(_CHEAP) else _set_by_set
        for result in scored(table, variant, paths, texts, vectors, facts):
            told = f"{label(one.name)} {result.pipeline} V {result.v_measure:.6f}"
            kept = table.keep(paths[result.pipeline], result)
            table.progress.step(result.config, told)
            yield kept


def _at_once(
    table: Table,
    variant: str,
    paths: dict[str, Path],
    texts: pl.Series,
    vectors: NDArray[np.float32],
    facts: EncoderFacts,
) -> Iterable[ClusteringResult]:
    return score_pipelines(
        table.sets(variant),
        texts,
        vectors,
        facts,
        config=table.config(variant),
        pipelines=list(paths),
        seed=table.options.seed,
        progress=table.progress,
    )


def _set_by_set(
    table: Table,
    variant: str,
    paths: dict[str, Path],
    texts: pl.Series,
    vectors: NDArray[np.float32],
    facts: EncoderFacts,
) -> Iterator[ClusteringResult]:
    """Score one set after another and keep each: some pipelines take minutes for one."""
    sets, config = table.sets(variant), table.config(variant)
    for number, rows in enumerate(sets["sentences"].list.len(), 1):
        check_rows(ways.choose(list(paths)), rows, f"{config}, set {number}")
    scores = {name: list(read_sets(path)) for name, path in paths.items()}
    for number in range(sets.height):
        left = [name for name in paths if len(scores[name]) <= number]
        if not left:
            continue
        for result in score_pipelines(
            sets.slice(number, 1),
            texts,
            vectors,
            facts,
            config=config,
            pipelines=left,
            seed=table.options.seed,
        ):
            scores[result.pipeline] += result.sets
            table.keep_sets(paths[result.pipeline], scores[result.pipeline])
        table.progress.tick(f"cluster {config}", number + 1, sets.height)
    for name, found in scores.items():
        yield summed_up(config, facts, name, found)

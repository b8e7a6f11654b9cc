"""How well an encoder's vectors cluster: V-measure set by set, as mteb computes it.

A text is encoded once, however many sets, configs and pipelines hold it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import EncoderError, StorageError, UsageError
from builders.evaluation import pipelines as ways
from builders.evaluation.model import ClusteringResult, EncoderFacts, LevelScore, SetScore
from builders.evaluation.pipelines import Pipeline
from builders.prepare.sets import WITHIN
from builders.progress import Progress
from builders.spec import SEED, Clustering
from builders.tables import CLUSTERING, published_path, read_frame

_COLUMNS = {"sentences": pl.List(pl.String), "labels": pl.List(pl.String), "level": pl.String}


@dataclass(frozen=True, slots=True)
class NumberedSet:
    """A clustering set in numbers.

    Attributes:
        level: As published.
        rows: Of the vectors, int64, in the order of the set.
        labels: Their codes, int64 from 0 without gaps, in the order of the labels.
        count: How many labels there are.
    """

    level: str
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]
    count: int


def read_sets(out: Path, spec: Clustering, variant: str) -> pl.DataFrame:
    """Read the published sets of a built config.

    Args:
        out: The folder of releases.
        spec: The config.
        variant: "s2s" or "p2p".

    Returns:
        ``sentences`` list of str, ``labels`` list of str, ``level`` str: one row per set.

    Raises:
        StorageError: It was not built, or the file is damaged.
    """
    return read_sets_at(out / spec.release / published_path(spec.name, CLUSTERING[variant], "test"))


def read_sets_at(path: Path) -> pl.DataFrame:
    """Read a table of clustering sets, as `read_sets` does.

    Raises:
        StorageError: It is not there, or holds something else.
    """
    frame = read_frame(path)
    missing = [name for name, dtype in _COLUMNS.items() if frame.schema.get(name) != dtype]
    if missing:
        raise StorageError(
            f"{path}: no clustering sets (see {', '.join(missing)})", hint="Build the config again."
        )
    sets = frame.select(_COLUMNS.keys())
    sizes = pl.col("sentences").list.len()
    uneven = sets.with_row_index("set", offset=1).filter(
        (sizes.ne_missing(pl.col("labels").list.len())) | (sizes == 0) | pl.any_horizontal(pl.all().is_null())
    )
    if uneven.height or not sets.height:
        where = ", ".join(map(str, uneven["set"].head(3))) or "none at all"
        raise StorageError(
            f"{path}: a set needs as many labels as sentences, and one at least (set {where})",
            hint="Build the config again.",
        )
    return sets


def unique_texts(frames: Sequence[pl.DataFrame]) -> pl.Series:
    """Return the distinct sentences of all tables, sorted: what is encoded, once."""
    columns = [frame["sentences"].explode() for frame in frames]
    return pl.concat(columns).unique().sort().alias("text")


def score_sets(
    sets: pl.DataFrame,
    texts: pl.Series,
    vectors: NDArray[np.float32],
    encoder: EncoderFacts,
    *,
    config: str,
    pipeline: str = "minibatch-kmeans",
    seed: int = SEED,
    progress: Progress | None = None,
) -> ClusteringResult:
    """Cluster each set of a config, and score it. See `score_pipelines`."""
    (result,) = score_pipelines(
        sets, texts, vectors, encoder, config=config, pipelines=[pipeline], seed=seed, progress=progress
    )
    return result


def score_pipelines(
    sets: pl.DataFrame,
    texts: pl.Series,
    vectors: NDArray[np.float32],
    encoder: EncoderFacts,
    *,
    config: str,
    pipelines: Sequence[str],
    seed: int = SEED,
    progress: Progress | None = None,
) -> list[ClusteringResult]:
    """Cluster each set of a config in several ways, and score each against the labels.

    A reduction is computed once per set, for all algorithms that follow it. A set with a single label scores
    1.0 without being clustered, as in mteb. Source of "minibatch-kmeans": AbsTaskClusteringLegacy and
    ClusteringEvaluator of mteb 2.26.24.

    Args:
        sets: As `read_sets` returns them.
        texts: n distinct texts, among them all sentences.
        vectors: float32 of shape (n, dimensions), row by row the vectors of `texts`, used as they are.
        encoder: What made them.
        config: As published: "blurbs-clustering-s2s".
        pipelines: Names in `pipelines.PIPELINES`.
        seed: Of all that draws; 42 is mteb's.
        progress: Told of each set that is scored.

    Returns:
        A result per pipeline, in their order, each named once.

    Raises:
        UsageError: A pipeline is not known, its library missing, or a set too large for it; a sentence has no
            vector.
        EncoderError: The vectors are not usable.
    """
    chosen = ways.choose(pipelines)
    found = numbered(sets, texts, vectors, config)
    for number, one in enumerate(found, 1):
        ways.check_rows(chosen, len(one.rows), f"{config}, set {number}")
    scores: dict[str, list[SetScore]] = {pipeline.name: [] for pipeline in chosen}
    # One piece of memory for all sets: fresh pages for each would cost as much as gathering itself.
    memory = np.empty((max(len(one.rows) for one in found), vectors.shape[1]), dtype=np.float32)
    done, total = 0, len(found) * len(chosen)
    for one in found:
        for pipeline, v_measure in _scored(one, vectors, chosen, seed, memory):
            score = SetScore(level=one.level, rows=len(one.rows), labels=one.count, v_measure=v_measure)
            scores[pipeline.name].append(score)
            done += 1
            if progress is not None:
                progress.tick(f"cluster {config}", done, total)
    return [summed_up(config, encoder, name, each) for name, each in scores.items()]


def v_measure(labels: NDArray[np.int64], clusters: NDArray[np.int64]) -> float:
    """Return the harmonic mean of homogeneity and completeness. Source: Rosenberg and Hirschberg 2007.

    It is scikit-learn's, which mteb uses, but for the order of sums (1e-12), without its checks and sparse
    matrices: for a set of thousands of rows these take a tenth of the time of a fit.

    Args:
        labels: int64 (rows,), at least one row, none negative.
        clusters: int64 (rows,); any numbers, -1 is a cluster like others.
    """
    rows = len(labels)
    moved = clusters - clusters.min()
    width = int(moved.max()) + 1
    cells, counts = np.unique(labels * width + moved, return_counts=True)
    of_label, of_cluster = np.bincount(labels), np.bincount(moved)
    by_label, by_cluster = _entropy(of_label, rows), _entropy(of_cluster, rows)
    if not by_label or not by_cluster:  # all of one kind: complete or homogeneous, whatever the other is
        return 0.0 if by_label or by_cluster else 1.0
    margins = np.log(of_label[cells // width]) + np.log(of_cluster[cells % width])
    terms = counts / rows * (np.log(counts) - margins + np.log(rows))
    shared = max(float(terms[np.abs(terms) >= np.finfo(np.float64).eps].sum()), 0.0)
    # With h = shared / by_label and c = shared / by_cluster, 2hc / (h + c) is this.
    return 2 * shared / (by_label + by_cluster)


def _entropy(counts: NDArray[np.int64], rows: int) -> float:
    share = counts[counts > 0] / rows
    return float(-(share * np.log(share)).sum())


def summed_up(
    config: str, encoder: EncoderFacts, pipeline: str, scores: Sequence[SetScore]
) -> ClusteringResult:
    """Return scores of sets with their means and population standard deviations, over all and by level."""
    levels: dict[str, list[float]] = {}
    for score in scores:
        level = WITHIN.rstrip(":") if score.level.startswith(WITHIN) else score.level
        levels.setdefault(level, []).append(score.v_measure)
    values = [score.v_measure for score in scores]
    return ClusteringResult(
        config=config,
        encoder=encoder,
        pipeline=pipeline,
        v_measure=float(np.mean(values)),
        spread=float(np.std(values)),
        levels={
            level: LevelScore(sets=len(found), mean=float(np.mean(found)), spread=float(np.std(found)))
            for level, found in levels.items()
        },
        sets=tuple(scores),
    )


def _scored(
    one: NumberedSet,
    vectors: NDArray[np.float32],
    chosen: Sequence[Pipeline],
    seed: int,
    memory: NDArray[np.float32],
) -> Iterator[tuple[Pipeline, float]]:
    """Yield V-measure by pipeline, grouped by reduction. The set's vectors are gathered in `memory`."""
    from sklearn import config_context

    if one.count == 1:
        yield from ((pipeline, 1.0) for pipeline in chosen)
        return
    members = np.take(vectors, one.rows, axis=0, out=memory[: len(one.rows)], mode="clip")
    for reduction, group in groupby(sorted(chosen, key=_reduction), key=_reduction):
        reduced = ways.reduce(members, reduction, seed=seed)
        if reduced is not members and not np.isfinite(reduced).all():
            raise EncoderError(f"{reduction} finds no place for some of {len(reduced):,} vectors")
        for pipeline in group:
            with config_context(assume_finite=True):  # known already: not looked at once more for each set
                clusters = ways.cluster(reduced, pipeline.algorithm, one.count, seed=seed)
            yield pipeline, v_measure(one.labels, clusters)


def _reduction(pipeline: Pipeline) -> ways.Reduction:
    return pipeline.reduction


def numbered(
    sets: pl.DataFrame, texts: pl.Series, vectors: NDArray[np.float32], config: str
) -> list[NumberedSet]:
    """Return the sets with rows of `vectors` for sentences, and codes for labels.

    Arguments and errors are those of `score_pipelines`.
    """
    if vectors.shape[:1] != (len(texts),) or vectors.ndim != 2 or vectors.dtype != np.float32:
        raise EncoderError(
            f"{config}: vectors of shape {vectors.shape} and type {vectors.dtype} for {len(texts):,} texts"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        length = vectors.ravel() @ vectors.ravel()  # needs no memory, unlike a test of each number
    if not np.isfinite(length):
        raise EncoderError(
            f"{config}: a vector holds NaN, infinity or a number too large to square",
            hint="Try another encoder.",
        )
    index = pl.DataFrame({"sentence": texts}).with_row_index("row")
    sentences = sets.select(pl.col("sentences").explode().alias("sentence"))
    rows = sentences.join(index, on="sentence", how="left", maintain_order="left")["row"]
    if len(rows) != sentences.height:
        raise UsageError(f"{config}: vectors are given twice for a text", hint="Encode unique_texts.")
    ends = np.cumsum(sets["sentences"].list.len().to_numpy())
    if lost := rows.null_count():
        where = int(np.searchsorted(ends, int(rows.is_null().arg_true()[0]), side="right")) + 1
        raise UsageError(
            f"{config}: {lost:,} sentences have no vector, the first of them in set {where}",
            hint="Encode all of unique_texts.",
        )
    labels = sets["labels"].explode()
    codes = labels.cast(pl.Enum(labels.unique().sort())).to_physical().to_numpy().astype(np.int64)
    parts = zip(
        sets["level"],
        np.split(rows.to_numpy().astype(np.int64), ends[:-1]),
        np.split(codes, ends[:-1]),
        strict=True,
    )
    return [NumberedSet(level, members, *_dense(labels_of)) for level, members, labels_of in parts]


def _dense(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return codes without gaps, in their order, and how many there are: no other set changes a bit then."""
    there = np.bincount(codes) > 0
    return (np.cumsum(there) - 1)[codes], int(there.sum())

"""Measure how well an encoder's vectors cluster: V-measure set by set, as mteb computes it, and chance."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import EncoderError, StorageError
from builders.evaluation import pipelines as ways
from builders.evaluation.pipelines import Vectors
from builders.evaluation.results import ClusteringResult, EncoderFacts, LevelScore, SetScore
from builders.progress import Progress
from builders.spec import SEED
from builders.tables import read_frame

RANDOM_FACTS = EncoderFacts(name="random", kind="rule", dimensions=16)
"""In more dimensions k-means makes more uneven clusters of random vectors: few are cheap."""
_COLUMNS = {"sentences": pl.List(pl.String), "labels": pl.List(pl.String), "level": pl.String}


class _NumberedSet(NamedTuple):
    """A clustering set: int64 rows of the vectors, and int64 codes of the labels, from 0 without gaps."""

    level: str
    rows: NDArray[np.int64]
    labels: NDArray[np.int64]


def read_sets(path: Path) -> pl.DataFrame:
    """Read a table of clustering sets: lists of ``sentences`` and ``labels``, and ``level``, a row per set.

    Raises:
        StorageError: The file is missing, or holds something else.
    """
    frame, again = read_frame(path), "Build the config again."
    missing = [name for name, dtype in _COLUMNS.items() if frame.schema.get(name) != dtype]
    if missing:
        raise StorageError(f"{path}: no clustering sets (see {', '.join(missing)})", hint=again)
    sets = frame.select(_COLUMNS.keys())
    sizes, labels = pl.col("sentences").list.len(), pl.col("labels").list.len()
    wrong = sizes.ne_missing(labels) | (sizes == 0) | pl.any_horizontal(pl.all().is_null())
    uneven = sets.select(number=pl.arg_where(wrong) + 1)["number"]
    if len(uneven) or not sets.height:
        where = ", ".join(map(str, uneven.head(3))) or "none at all"
        message = f"{path}: a set needs as many labels as sentences, and one at least (set {where})"
        raise StorageError(message, hint=again)
    return sets


def random_vectors(texts: pl.Series, seed: int = SEED) -> Vectors:
    """Return vectors that know nothing: each text has its own, drawn from a normal distribution."""
    shape = (len(texts), RANDOM_FACTS.dimensions)
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def unique_texts(frames: Sequence[pl.DataFrame]) -> pl.Series:
    """Return the distinct sentences of all tables, sorted: what is encoded, once."""
    columns = [frame["sentences"].explode() for frame in frames]
    return pl.concat(columns).unique().sort().alias("text")


def score_pipelines(
    sets: pl.DataFrame,
    texts: pl.Series,
    vectors: Vectors,
    encoder: EncoderFacts,
    *,
    config: str,
    pipelines: Sequence[str],
    seed: int = SEED,
    scored: Mapping[str, Sequence[SetScore]] | None = None,
    keep: Callable[[str, Sequence[SetScore]], object] | None = None,
    progress: Progress | None = None,
) -> Iterator[ClusteringResult]:
    """Cluster each set of a config in several ways, and score each against the labels.

    A reduction is computed once per set, for all algorithms that follow it. A set with a single label scores
    1.0 without being clustered, as in mteb. Source of "minibatch-kmeans": AbsTaskClusteringLegacy and
    ClusteringEvaluator of mteb 2.26.24; V-measure is scikit-learn's, which mteb uses.

    `sets` is a table that `read_sets` returns, `texts` are distinct and hold all its sentences, `vectors` are
    theirs as float32 of shape (texts, dimensions), used as they are. `scored` holds scores of the first sets
    by pipeline, which are not computed again; `keep` is called with a pipeline and all its scores so far, set
    by set. A result is yielded for each of `pipelines`, by reduction.
    """
    chosen = ways.choose(pipelines)
    _require_finite(vectors, config)
    found = _numbered(sets, texts)
    for number, one in enumerate(found, 1):
        ways.check_rows(chosen, len(one.rows), f"{config}, set {number}")
    scores = {pipeline.name: list((scored or {}).get(pipeline.name, ())) for pipeline in chosen}
    # One piece of memory for all sets: fresh pages for each would cost as much as gathering itself.
    memory = np.empty((max(len(one.rows) for one in found), vectors.shape[1]), dtype=np.float32)
    reduction_of = attrgetter("reduction")
    for reduction, group in groupby(sorted(chosen, key=reduction_of), key=reduction_of):
        members = tuple(group)
        for number, one in enumerate(found):
            left = [pipeline for pipeline in members if len(scores[pipeline.name]) <= number]
            for pipeline, score in _scored(one, vectors, reduction, left, seed, memory):
                scores[pipeline.name].append(score)
                if keep is not None:
                    keep(pipeline.name, scores[pipeline.name])
            if progress is not None:
                progress.tick(f"cluster {config}", number + 1, len(found))
        for pipeline in members:
            yield summed_up(config, encoder, pipeline.name, scores[pipeline.name])


def summed_up(
    config: str, encoder: EncoderFacts, pipeline: str, sets: Sequence[SetScore]
) -> ClusteringResult:
    """Return scores of sets with their means and population standard deviations, over all and by level."""
    levels: dict[str, list[float]] = {}
    for score in sets:
        levels.setdefault(score.level.partition(":")[0], []).append(score.v_measure)
    values = [score.v_measure for score in sets]
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
        sets=tuple(sets),
    )


def _scored(
    one: _NumberedSet,
    vectors: Vectors,
    reduction: ways.Reduction,
    pipelines: Sequence[ways.Pipeline],
    seed: int,
    memory: Vectors,
) -> Iterator[tuple[ways.Pipeline, SetScore]]:
    """Yield the scores of a set by pipeline. Its vectors are gathered in `memory`."""
    from sklearn import config_context
    from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

    if not pipelines:
        return
    count = int(one.labels.max()) + 1
    scored = partial(SetScore, level=one.level, rows=len(one.rows), labels=count)
    if count == 1:
        yield from ((pipeline, scored(v_measure=1.0, ami=0.0)) for pipeline in pipelines)
        return
    members = np.take(vectors, one.rows, axis=0, out=memory[: len(one.rows)], mode="clip")
    reduced = ways.reduce(members, reduction, seed=seed)
    if reduced is not members and not np.isfinite(reduced).all():
        raise EncoderError(f"{reduction} finds no place for some of {len(reduced):,} vectors")
    # A text that stands in a set several times has one vector: counted each time, it would beat chance.
    _, distinct = np.unique(one.rows, return_index=True)
    for pipeline in pipelines:
        with config_context(assume_finite=True):  # known already: not looked at once more for each set
            clusters = ways.cluster(reduced, pipeline.algorithm, count, seed=seed)
        v_measure = float(v_measure_score(one.labels, clusters))
        ami = float(adjusted_mutual_info_score(one.labels[distinct], clusters[distinct]))
        yield pipeline, scored(v_measure=v_measure, ami=ami)


def _require_finite(vectors: Vectors, config: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        length = vectors.ravel() @ vectors.ravel()  # needs no memory, unlike a test of each number
    if not np.isfinite(length):
        message = f"{config}: a vector holds NaN, infinity or a number too large to square"
        raise EncoderError(message, hint="Try another encoder.")


def _numbered(sets: pl.DataFrame, texts: pl.Series) -> list[_NumberedSet]:
    """Number sentences by their place in `texts`, and the labels of each set: no other set changes a bit."""
    index = pl.DataFrame({"sentences": texts}).with_row_index("row")
    flat = sets.with_row_index("set").explode("sentences", "labels")
    flat = flat.with_columns(code=pl.col("labels").rank("dense").over("set") - 1)
    found = flat.join(index, on="sentences", how="left", maintain_order="left")
    found = found.select("set", "level", pl.col("row", "code").cast(pl.Int64))
    return [
        _NumberedSet(of["level"][0], of["row"].to_numpy(), of["code"].to_numpy())
        for of in found.partition_by("set", maintain_order=True)
    ]

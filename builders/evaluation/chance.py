"""What encoders score that know nothing, or everything, of the labels: real scores lie between."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import UsageError
from builders.evaluation import pipelines as ways
from builders.evaluation.clustering import score_sets, summed_up, unique_texts, v_measure
from builders.evaluation.model import ClusteringResult, EncoderFacts, SetScore
from builders.steps import SEED, Progress

Rule = Literal["random", "constant", "oracle"]
RULES: tuple[Rule, ...] = ("random", "constant", "oracle")

DIMENSIONS = 64
"""Of the vectors of rules that know no label."""
EXACT = "k-means"
"""The pipeline of the oracle, see `rule_scores`."""
_FITS = 2
_DEALS = 10


def random_v_measure(
    labels: Sequence[str],
    *,
    seed: int = SEED,
    dimensions: int = DIMENSIONS,
    sentences: Sequence[str] | None = None,
) -> tuple[float, float]:
    """Return what clusters of random vectors score by chance, with mteb's k-means.

    That is not what clusters drawn evenly would score: k-means makes a few large clusters of random vectors
    and many small ones, the more so the more dimensions there are, and these score less. So random vectors
    are clustered, and the clusters then dealt to the texts at random.

    Args:
        labels: Of a set, one per row.
        seed: Of vectors and dealing.
        dimensions: Of the vectors.
        sentences: Of the set: rows of equal text have one vector, which scores a little more than chance does
            otherwise. None where no text repeats.

    Returns:
        Mean and standard deviation of V-measure over the deals. A set with one label has (1.0, 0.0).
    """
    codes, count = _coded(labels)
    if count == 1:
        return 1.0, 0.0
    rows, texts = (np.arange(len(codes)), len(codes)) if sentences is None else _coded(sentences)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(_FITS):
        vectors = rng.standard_normal((texts, dimensions), dtype=np.float32)
        of_text = np.empty(texts, dtype=np.int64)
        of_text[rows] = ways.cluster(vectors[rows], "minibatch-kmeans", count, seed=seed)
        found += [v_measure(codes, rng.permutation(of_text)[rows]) for _ in range(_DEALS)]
    return float(np.mean(found)), float(np.std(found))


def chance(sets: pl.DataFrame, *, seed: int = SEED, dimensions: int = DIMENSIONS) -> tuple[float, float]:
    """Return the mean V-measure over the sets of a config that chance gives, and its standard deviation.

    The sets are simulated one by one, see `random_v_measure`, and taken as independent.
    """
    found = [
        random_v_measure(labels, seed=seed + number, dimensions=dimensions, sentences=sentences)
        for number, (sentences, labels) in enumerate(sets.select("sentences", "labels").iter_rows())
    ]
    means, spreads = zip(*found, strict=True)
    return float(np.mean(means)), math.hypot(*spreads) / len(found)


def rule_scores(
    sets: pl.DataFrame, rule: str, *, config: str, seed: int = SEED, progress: Progress | None = None
) -> ClusteringResult:
    """Score an encoder that needs no model.

    "random" gives each text a vector of its own, drawn from a normal distribution: it must score near
    `chance`. "constant" gives all texts the same vector: all rows are one cluster, 0.0 in every set with
    several labels. "oracle" gives each row a vector that stands for its label: 1.0, up to rounding. It is
    clustered by k-means over all rows: mteb's takes its first centres from a sample of 1,500, which misses
    rare labels, and so keeps even an oracle a little below 1.0 (see `ceiling`).

    Args:
        sets: As `clustering.read_sets` returns them.
        rule: One of `RULES`.
        config: As published.
        seed: Of the random vectors and of k-means.
        progress: Told of each set that is scored.

    Returns:
        The result; its pipeline is mteb's, or `EXACT` for the oracle.

    Raises:
        UsageError: There is no such rule.
    """
    if rule == "oracle":
        return _oracle(sets, config, exact=True, seed=seed, progress=progress)
    texts = unique_texts([sets])
    match rule:
        case "random":
            rng = np.random.default_rng(seed)
            vectors = rng.standard_normal((len(texts), DIMENSIONS), dtype=np.float32)
        case "constant":
            vectors = np.full((len(texts), DIMENSIONS), DIMENSIONS**-0.5, dtype=np.float32)
        case _:
            raise UsageError(f"no rule {rule}", hint=f"There are {', '.join(RULES)}.")
    facts = EncoderFacts(name=rule, kind="rule", dimensions=DIMENSIONS)
    return score_sets(sets, texts, vectors, facts, config=config, seed=seed, progress=progress)


def ceiling(
    sets: pl.DataFrame, *, config: str, seed: int = SEED, progress: Progress | None = None
) -> ClusteringResult:
    """Return what the oracle scores with mteb's k-means: the most that an encoder can hope for.

    The arguments are those of `rule_scores`.
    """
    return _oracle(sets, config, exact=False, seed=seed, progress=progress)


def _oracle(
    sets: pl.DataFrame, config: str, *, exact: bool, seed: int, progress: Progress | None
) -> ClusteringResult:
    scores = []
    most = 0
    for number, (level, labels) in enumerate(sets.select("level", "labels").iter_rows(), 1):
        codes, count = _coded(labels)
        vectors = np.eye(count, dtype=np.float32)[codes]
        if exact:
            clusters = _kmeans(vectors, count, seed)
        else:
            clusters = ways.cluster(vectors, "minibatch-kmeans", count, seed=seed)
        scores.append(
            SetScore(level=level, rows=len(codes), labels=count, v_measure=v_measure(codes, clusters))
        )
        most = max(most, count)
        if progress is not None:
            progress.tick(f"cluster {config}", number, sets.height)
    facts = EncoderFacts(name="oracle", kind="rule", dimensions=most)
    return summed_up(config, facts, EXACT if exact else "minibatch-kmeans", scores)


def _kmeans(vectors: ways.Vectors, clusters: int, seed: int) -> ways.Assignment:
    from sklearn.cluster import KMeans

    model = KMeans(n_clusters=clusters, n_init=1, random_state=seed).fit(vectors)
    return np.asarray(model.labels_, dtype=np.int64)


def _coded(values: Sequence[str]) -> tuple[NDArray[np.int64], int]:
    """Return values as whole numbers from 0 in their sorted order, and how many there are."""
    codes = pl.Series(values, dtype=pl.String).rank("dense").cast(pl.Int64).to_numpy() - 1
    return codes, int(codes.max()) + 1

"""What encoders score that know nothing, or everything, of the labels: real scores lie between."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import polars as pl

from builders.evaluation import pipelines as ways
from builders.evaluation.clustering import NumberedSet, numbered, summed_up, unique_texts, v_measure
from builders.evaluation.model import ClusteringResult, EncoderFacts, SetScore
from builders.progress import Progress
from builders.spec import SEED

DIMENSIONS = 16
"""Of random vectors. In more dimensions k-means makes more uneven clusters of them, and chance is smaller:
few are cheap, and hold an encoder against the larger chance."""
_MTEB: Final = "minibatch-kmeans"
_DEALS = 10


def simulate(
    sets: pl.DataFrame,
    *,
    config: str,
    seed: int = SEED,
    dimensions: int = DIMENSIONS,
    progress: Progress | None = None,
) -> tuple[ClusteringResult, float, float]:
    """Score a random encoder, and say what it scores by chance, from one fit of mteb's k-means per set.

    The random encoder gives each text a vector of its own, drawn from a normal distribution. Chance is not
    what clusters drawn evenly would score: k-means makes a few large clusters of random vectors and many
    small ones, and these score less. So the clusters that it found are dealt anew to the texts of the set, at
    random and several times: a permutation test (Good 2005, Permutation, Parametric and Bootstrap Tests of
    Hypotheses), where the score of the random encoder is one more deal. Rows of equal text stay together, as
    they have one vector.

    Args:
        sets: As `clustering.read_sets` returns them.
        config: As published.
        seed: Of vectors, of k-means and of dealing.
        dimensions: Of the vectors.
        progress: Told of each set that is scored.

    Returns:
        The result of the rule "random"; the mean V-measure over the sets that chance gives; its standard
        error, where the sets are taken as independent. A set with one label scores 1.0 without error.
    """
    texts = unique_texts([sets])
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((len(texts), dimensions), dtype=np.float32)
    scores, means, errors = [], [], []
    for number, one in enumerate(numbered(sets, texts, vectors, config), 1):
        value, mean, error = _dealt(one, vectors, rng, seed)
        scores.append(SetScore(level=one.level, rows=len(one.rows), labels=one.count, v_measure=value))
        means.append(mean)
        errors.append(error)
        if progress is not None:
            progress.tick(f"cluster {config}", number, sets.height)
    facts = EncoderFacts(name="random", kind="rule", dimensions=dimensions)
    result = summed_up(config, facts, _MTEB, scores)
    return result, float(np.mean(means)), math.hypot(*errors) / len(errors)


def _dealt(
    one: NumberedSet, vectors: ways.Vectors, rng: np.random.Generator, seed: int
) -> tuple[float, float, float]:
    """Return V-measure of the clusters of a set; mean and standard deviation where they are dealt anew."""
    if one.count == 1:
        return 1.0, 1.0, 0.0
    clusters = ways.cluster(vectors[one.rows], _MTEB, one.count, seed=seed)
    _, first, text = np.unique(one.rows, return_index=True, return_inverse=True)
    of_text = clusters[first]
    deals = [v_measure(one.labels, rng.permutation(of_text)[text]) for _ in range(_DEALS)]
    return v_measure(one.labels, clusters), float(np.mean(deals)), float(np.std(deals, ddof=1))


def chance(sets: pl.DataFrame, *, seed: int = SEED, dimensions: int = DIMENSIONS) -> tuple[float, float]:
    """Return the mean V-measure over the sets of a config that chance gives, and its standard error.

    See `simulate`, which tells the score of the random encoder too, from the same fits.
    """
    _, mean, error = simulate(sets, config="chance", seed=seed, dimensions=dimensions)
    return mean, error

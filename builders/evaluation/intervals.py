"""Bootstrap intervals of means over queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float64s = NDArray[np.float64]

_CELLS = 1 << 22
"""Rows drawn at a time over all resamples of a block: 32 MB of indices, and as much of values."""


def bootstrap(values: Float64s, *, seed: int = 42, resamples: int = 1000, level: float = 0.95) -> Float64s:
    """Return percentile bootstrap intervals of the means of columns.

    Whole rows are drawn with replacement, so the columns share their resamples. Method: Efron and Tibshirani,
    An Introduction to the Bootstrap (1993), chapter 13. The mean of few or heavily skewed values is covered
    less often than `level` says.

    Args:
        values: float64 (q, m), at least one row: a row per query, a column per metric.
        seed: Of the drawing.
        resamples: How many means are drawn, at least 1.
        level: Of the interval, between 0 and 1.

    Returns:
        float64 (m, 2): low and high end per column.
    """
    rng = np.random.default_rng(seed)
    rows = len(values)
    columns = np.ascontiguousarray(values.T)
    means = np.empty((len(columns), resamples))
    block = max(1, _CELLS // rows)
    for start in range(0, resamples, block):
        drawn = rng.integers(rows, size=(min(block, resamples - start), rows))
        for column, found in zip(columns, means, strict=True):
            found[start : start + len(drawn)] = column[drawn].mean(axis=1)
    tail = (1 - level) / 2
    ends: Float64s = np.quantile(means, [tail, 1 - tail], axis=1).T
    return ends

"""Mean and deviation of each query's scores over all passages, to the same bits whatever multiplies matrices.

A recipe decides rows by these numbers, so that no BLAS kernel and no number of threads may touch their last
bit. Matrices are cut into slices of whole numbers so short that every product and every partial sum of them
is exact in float64, in any order (Ozaki, Ogita, Oishi and Rump, Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication, 2012); everything else is added in a fixed
order. The bits are the same everywhere, and not exact: the slices hold 40 bits of the largest number.
"""

from __future__ import annotations

import numpy as np

from builders.errors import UsageError
from builders.mining.scores import CELLS, Float32s, Float64s, sum_by_halving

_BLOCK = 2048  # fixed: another block would add in another order
_BITS = 20  # 2 · 20 bits of a product and 11 of the 2048 that are added stay below the 53 of float64


def score_moments(queries: Float32s, passages: Float32s) -> tuple[Float64s, Float64s]:
    """Return mean and standard deviation of each query's scores over all passages.

    The scores are never made: with the passages' mean m and covariance C, a query's mean is q·m and its
    variance qᵀCq. Needs 4·n·d² multiplications and a few d² numbers of memory.

    Args:
        queries: float32 (q, d).
        passages: float32 (n, d), at least one row.

    Returns:
        Two float64 (q,), whose bits depend on the vectors alone.

    Raises:
        UsageError: There is no passage.
    """
    count, dimensions = passages.shape
    if count == 0:
        raise UsageError("no passages: a mean over none is not defined", hint="Give at least one passage.")
    centre = np.zeros(dimensions)
    for start in range(0, count, _BLOCK):
        centre += np.ascontiguousarray(passages[start : start + _BLOCK], np.float64).sum(axis=0)
    centre /= count
    covariance = np.zeros((dimensions, dimensions))
    for start in range(0, count, _BLOCK):
        block = passages[start : start + _BLOCK] - centre
        covariance += ordered_product(block.T, block)
    covariance /= count
    mean, variance = np.empty(len(queries)), np.empty(len(queries))
    step = max(1, CELLS // dimensions)
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        wide = queries[part].astype(np.float64)
        mean[part] = sum_by_halving(wide * centre)
        variance[part] = sum_by_halving(ordered_product(wide, covariance) * wide)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def ordered_product(left: Float64s, right: Float64s) -> Float64s:
    """Multiply two matrices, to bits that depend on them alone.

    Args:
        left: float64 (m, k), finite.
        right: float64 (k, n), finite.

    Returns:
        float64 (m, n); off by no more than about k · 2⁻⁴⁰ times the largest numbers of both.
    """
    total = np.zeros((left.shape[0], right.shape[1]))
    for start in range(0, left.shape[1], _BLOCK):
        high, low, scale = _sliced(left[:, start : start + _BLOCK])
        other_high, other_low, other_scale = _sliced(right[start : start + _BLOCK])
        small = (low @ other_low) * 2.0**-_BITS + (high @ other_low + low @ other_high)
        total += np.ldexp(high @ other_high + small * 2.0**-_BITS, scale + other_scale)
    return total


def _sliced(matrix: Float64s) -> tuple[Float64s, Float64s, int]:
    """Write a matrix as ``(high + low · 2⁻²⁰) · 2^scale`` in whole numbers of at most 20 bits."""
    exponent = int(np.frexp(np.abs(matrix).max(initial=0.0))[1])
    scaled = np.ldexp(matrix, _BITS - exponent)
    high = np.rint(scaled)
    low = np.rint((scaled - high) * 2.0**_BITS)
    return high, low, exponent - _BITS

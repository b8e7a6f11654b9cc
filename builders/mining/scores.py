"""Scores in float64 whose bits depend on the vectors alone, their moments, and what float32 can miss of them.

A score is the dot product of two float32 vectors. The products are exact in float64 (24 + 24 bits fit into
53); they are added by halving, by additions of whole arrays alone, so that no library chooses the order.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.errors import EncoderError

Float32s = NDArray[np.float32]
Float64s = NDArray[np.float64]
Int64s = NDArray[np.int64]

_CELLS = 1 << 20  # float64 numbers in flight: 8 MB, about a core's cache
_BLOCK = 2048  # fixed: another block would add in another order
_BITS = 20  # 2 · 20 bits of a product and 11 of the 2048 that are added stay below the 53 of float64
_UNIT_32 = 2.0**-24
_UNIT_64 = 2.0**-53
_SMALLEST_32 = 2.0**-125
_LARGEST_PRODUCT = 1e37


def score_pairs(
    queries: Float32s, passages: Float32s, query_index: NDArray[Any], passage_index: NDArray[Any]
) -> Float64s:
    """Return the dot products of pairs of vectors, float64 (m,), added in a fixed order.

    `queries` are float32 (q, d), `passages` float32 (n, d); the indices, integers (m,), are rows of them.
    """
    scores = np.empty(len(query_index), np.float64)
    step = max(1, _CELLS // queries.shape[1])
    for start in range(0, len(scores), step):
        part = slice(start, start + step)
        products = queries[query_index[part]].astype(np.float64)
        products *= passages[passage_index[part]]
        scores[part] = _sum_by_halving(products)
    return scores


def _sum_by_halving(terms: Float64s) -> Float64s:
    """Add up the columns of float64 (m, d) in the order of this module, to float64 (m,); uses up `terms`."""
    width = terms.shape[1]
    while width > 1:
        half = width // 2
        terms[:, :half] += terms[:, half : 2 * half]
        if width % 2:
            terms[:, 0] += terms[:, width - 1]
        width = half
    return terms[:, 0]


def lengths(vectors: NDArray[Any], what: str) -> Float64s:
    """Return the length of each vector, float64 (n,); `what` names the vectors in messages.

    Raises:
        EncoderError: Another shape or dtype than float32 (n, d), or a number that is NaN or infinite.
    """
    if vectors.ndim != 2 or vectors.dtype != np.float32 or vectors.shape[1] == 0:
        raise EncoderError(
            f"vectors of the {what} are {vectors.dtype} {vectors.shape}, not float32 (rows, dimensions)",
            hint="Give one float32 vector per row.",
        )
    step = max(1, _CELLS // vectors.shape[1])
    squares = np.empty(len(vectors), np.float64)
    for start in range(0, len(vectors), step):
        block = vectors[start : start + step].astype(np.float64)
        squares[start : start + step] = _sum_by_halving(np.square(block, out=block))
    bad = np.flatnonzero(~np.isfinite(squares))
    if bad.size:
        raise EncoderError(
            f"vectors of the {what}: {bad.size} hold NaN or infinity, the first in row {int(bad[0])}",
            hint="Encode these texts again; a vector cache that holds them is damaged.",
        )
    return np.sqrt(squares)


def float32_error(dimensions: int, query_lengths: Float64s, longest_passage: float) -> Float64s:
    """Bound how far a float32 dot product can be from `score_pairs`.

    γ_d = d·u / (1 − d·u) times Σ|q_i·p_i|, which is at most |q|·|p|, holds for every order of additions,
    with or without fused multiply-add, hence for every BLAS and every number of threads (Higham, Accuracy and
    Stability of Numerical Algorithms, §3.1). Float64's own error and underflow are added.

    Raises:
        EncoderError: The vectors are so long that float32 could overflow.
    """
    if query_lengths.size and float(query_lengths.max()) * longest_passage > _LARGEST_PRODUCT:
        raise EncoderError("the vectors are too long for float32 scores", hint="Scale them to length 1.")
    gamma = sum(dimensions * unit / (1 - dimensions * unit) for unit in (_UNIT_32, _UNIT_64))
    rounding_of_lengths = 1 + 1e-9
    return gamma * rounding_of_lengths * longest_passage * query_lengths + dimensions * _SMALLEST_32


def score_moments(queries: Float32s, passages: Float32s) -> tuple[Float64s, Float64s]:
    """Return mean and standard deviation of each query's scores over all passages.

    The scores are never made: with the passages' mean m and covariance C, a query's mean is q·m and its
    variance qᵀCq. Needs 4·n·d² multiplications and a few d² numbers of memory. The bits depend on the vectors
    alone, of which there must be one passage at least.
    """
    count, dimensions = passages.shape
    centre = np.zeros(dimensions)
    for start in range(0, count, _BLOCK):
        centre += np.ascontiguousarray(passages[start : start + _BLOCK], np.float64).sum(axis=0)
    centre /= count
    covariance = np.zeros((dimensions, dimensions))
    for start in range(0, count, _BLOCK):
        block = passages[start : start + _BLOCK] - centre
        covariance += _ordered_product(block.T, block)
    covariance /= count
    mean, variance = np.empty(len(queries)), np.empty(len(queries))
    step = max(1, _CELLS // dimensions)
    for start in range(0, len(queries), step):
        part = slice(start, start + step)
        wide = queries[part].astype(np.float64)
        mean[part] = _sum_by_halving(wide * centre)
        variance[part] = _sum_by_halving(_ordered_product(wide, covariance) * wide)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def _ordered_product(left: Float64s, right: Float64s) -> Float64s:
    """Multiply (m, k) by (k, n), to bits that depend on them alone, whatever BLAS kernel and threads.

    The matrices are cut into slices of whole numbers so short that every product and every partial sum of
    them is exact in float64, in any order (Ozaki, Ogita, Oishi and Rump, Error-free transformations of matrix
    multiplication by using fast routines of matrix multiplication, 2012). The result is off by no more than
    about k · 2⁻⁴⁰ times the largest numbers of both.
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

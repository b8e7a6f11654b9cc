from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import EncoderError
from builders.mining.scores import float32_error, lengths, score_pairs
from tests.mining.samples import Float32s, random_units, vectors


def exact_dot(left: Float32s, right: Float32s) -> Fraction:
    return sum(
        (Fraction(float(a)) * Fraction(float(b)) for a, b in zip(left, right, strict=True)), Fraction()
    )


@settings(deadline=None)
@given(st.integers(1, 70), st.integers(0, 2**32 - 1))
def test_scores_are_dot_products_to_float64_accuracy(dimensions: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries, passages = random_units(rng, 3, dimensions), random_units(rng, 4, dimensions)
    rows, columns = np.array([2, 0, 1, 2]), np.array([3, 3, 0, 1])
    scores = score_pairs(queries, passages, rows, columns)
    expected = [exact_dot(queries[row], passages[column]) for row, column in zip(rows, columns, strict=True)]
    assert all(abs(Fraction(score) - value) < 1e-15 for score, value in zip(scores, expected, strict=True))


def test_terms_are_added_by_halving() -> None:
    large = 2.0**53
    query = vectors([[large, 1.0, 1.0, -large, 0.0]])
    passage = vectors([[1.0, 1.0, 1.0, 1.0, 1.0]])
    # (large + 1) rounds to large, (1 − large) is exact, so the sum is 1; from left to right it would be 0.
    assert score_pairs(query, passage, np.array([0]), np.array([0])).tolist() == [1.0]


def test_a_score_does_not_depend_on_the_pairs_around_it() -> None:
    rng = np.random.default_rng(5)
    queries, passages = random_units(rng, 40, 384), random_units(rng, 300, 384)
    rows, columns = rng.integers(40, size=9000), rng.integers(300, size=9000)
    together = score_pairs(queries, passages, rows, columns)
    alone = [score_pairs(queries, passages, rows[[i]], columns[[i]])[0] for i in range(0, 9000, 450)]
    assert together[::450].tolist() == alone


@pytest.mark.parametrize("dimensions", [1, 3, 64, 768])
def test_float32_products_stay_within_the_bound(dimensions: int) -> None:
    rng = np.random.default_rng(dimensions)
    queries, passages = random_units(rng, 50, dimensions), 3 * random_units(rng, 60, dimensions)
    exact = queries.astype(np.float64) @ passages.T.astype(np.float64)
    error = float32_error(dimensions, lengths(queries, "queries"), float(lengths(passages, "passages").max()))
    assert (np.abs(queries @ passages.T - exact) <= error[:, None]).all()
    # Adding from left to right in float32 is the worst order there is.
    one_by_one = np.cumsum(queries * passages[:50], axis=1, dtype=np.float32)[:, -1]
    assert (np.abs(one_by_one - np.einsum("ij,ij->i", queries, passages[:50], dtype=float)) <= error).all()


def test_the_bound_holds_where_every_rounding_goes_the_same_way() -> None:
    dimensions = 4096
    query = np.full((1, dimensions), 1 / 64, np.float32)
    passage = np.full((1, dimensions), np.float32(0.1), np.float32)
    one_by_one = np.cumsum(query * passage, axis=1, dtype=np.float32)[0, -1]
    exact = float(exact_dot(query[0], passage[0]))
    error = float32_error(dimensions, lengths(query, "queries"), float(lengths(passage, "passages")[0]))[0]
    assert error / 100 < abs(one_by_one - exact) <= error


def test_vectors_that_float32_would_overflow_are_refused() -> None:
    with pytest.raises(EncoderError, match="too long"):
        float32_error(8, np.array([1e20]), 1e20)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.array([[1.0, 0.0], [np.nan, 0.0]], np.float32), "the first in row 1"),
        (np.array([[np.inf, 0.0]], np.float32), "the first in row 0"),
        (np.eye(2), "float64"),
        (np.ones(3, np.float32), "not float32 \\(rows, dimensions\\)"),
        (np.ones((3, 0), np.float32), "not float32 \\(rows, dimensions\\)"),
    ],
)
def test_unusable_vectors_are_refused(bad: Float32s, message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        lengths(bad, "passages")

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from builders.mining.scores import score_moments
from tests.mining.samples import random_units


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 5000), st.integers(0, 2**32 - 1))
def test_moments_agree_with_all_scores(dimensions: int, passages_count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries, passages = random_units(rng, 5, dimensions), random_units(rng, passages_count, dimensions)
    scores = queries.astype(np.float64) @ passages.astype(np.float64).T
    mean, deviation = score_moments(queries, passages)
    np.testing.assert_allclose(mean, scores.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(deviation, scores.std(axis=1), atol=1e-7)


def test_moments_do_not_depend_on_threads() -> None:
    # A shape with which some kernels add in another order on two threads.
    rng = np.random.default_rng(1)
    queries, passages = random_units(rng, 2048, 130), random_units(rng, 2048, 130)
    bits = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            bits.add(b"".join(part.tobytes() for part in score_moments(queries, passages)))
    assert len(bits) == 1


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 2**32 - 1), st.integers(-30, 30))
def test_moments_are_those_of_fractions(dimensions: int, count: int, seed: int, scale: int) -> None:
    rng = np.random.default_rng(seed)
    queries = random_units(rng, 2, dimensions)
    passages = (rng.normal(size=(count, dimensions)) * 2.0**scale).astype(np.float32)
    mean, deviation = score_moments(queries, passages)
    bound = count * dimensions * 2.0**-36 * float(np.abs(passages).max()) ** 2
    for row, query in enumerate(queries.tolist()):
        scores = [
            sum((Fraction(a) * Fraction(b) for a, b in zip(query, passage, strict=True)), Fraction())
            for passage in passages.tolist()
        ]
        exact = sum(scores, Fraction()) / count
        variance = sum(((score - exact) ** 2 for score in scores), Fraction()) / count
        assert abs(Fraction(float(mean[row])) - exact) <= bound / float(np.abs(passages).max())
        assert abs(Fraction(float(deviation[row])) ** 2 - variance) <= bound


def test_the_order_of_the_passages_does_not_change_a_bit() -> None:
    rng = np.random.default_rng(4)
    # In whole numbers of 2⁻²⁴, whose sum is exact in any order, while a sum of their products is not.
    passages = (rng.integers(-(2**24), 2**24, size=(2048, 60)) / 2**24).astype(np.float32)
    shuffled, queries = passages[rng.permutation(2048)], random_units(rng, 50, 60)
    plain, other = (part.astype(np.float64) for part in (passages, shuffled))
    assert (plain.T @ plain).tobytes() != (other.T @ other).tobytes(), "BLAS itself does not care"
    moments = [b"".join(part.tobytes() for part in score_moments(queries, p)) for p in (passages, shuffled)]
    assert moments[0] == moments[1]


def test_equal_passages_have_no_deviation() -> None:
    passages = np.full((5, 3), 0.25, np.float32)
    assert score_moments(np.eye(3, dtype=np.float32), passages)[1].tolist() == [0, 0, 0]


def digest_of_moments() -> str:
    rng = np.random.default_rng(12)
    found = score_moments(random_units(rng, 300, 130), random_units(rng, 5000, 130))
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from builders.errors import UsageError
from builders.mining.scores import ordered_product, score_moments
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


def test_moments_of_no_passage_are_refused() -> None:
    with pytest.raises(UsageError, match="no passages"):
        score_moments(np.eye(3, dtype=np.float32), np.empty((0, 3), np.float32))


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 6), st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1), st.integers(-60, 60)
)
def test_products_are_those_of_fractions(rows: int, inner: int, columns: int, seed: int, scale: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.normal(size=(rows, inner)) * 2.0**scale, rng.normal(size=(inner, columns))
    found = ordered_product(left, right)
    bound = inner * 2.0**-38 * np.abs(left).max() * np.abs(right).max()
    for row in range(rows):
        for column in range(columns):
            terms = zip(left[row].tolist(), right[:, column].tolist(), strict=True)
            exact = sum((Fraction(a) * Fraction(b) for a, b in terms), Fraction())
            assert abs(Fraction(float(found[row, column])) - exact) <= bound


def test_longer_sums_than_a_block_are_added_too() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.normal(size=(3, 5000)), rng.normal(size=(5000, 4))
    np.testing.assert_allclose(ordered_product(left, right), left @ right, atol=1e-6)
    assert ordered_product(np.zeros((2, 3)), np.zeros((3, 2))).tolist() == [[0, 0], [0, 0]]


def test_the_order_of_the_terms_does_not_change_a_bit() -> None:
    rng = np.random.default_rng(4)
    left, right = rng.normal(size=(50, 2000)), rng.normal(size=(2000, 60))
    shuffled = rng.permutation(2000)
    plain, other = (left @ right), (left[:, shuffled] @ right[shuffled])
    assert plain.tobytes() != other.tobytes(), "BLAS itself does not care: this test proves nothing"
    again = ordered_product(left[:, shuffled], right[shuffled])
    assert ordered_product(left, right).tobytes() == again.tobytes()


def digest_of_moments() -> str:
    rng = np.random.default_rng(12)
    found = score_moments(random_units(rng, 300, 130), random_units(rng, 5000, 130))
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()


def test_blas_kernels_agree_on_moments() -> None:
    code = (
        "from tests.mining.blas import kernel; from tests.mining.test_moments import digest_of_moments;"
        "print(kernel(), digest_of_moments(), sep='\\n')"
    )
    kernels, digests = set(), {digest_of_moments()}
    for core in ("Prescott", "Haswell"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            check=True,
            text=True,
            env={**os.environ, "OPENBLAS_CORETYPE": core},
            cwd=Path(__file__).parents[2],
        )
        kernel, digest = done.stdout.split("\n")[:2]
        kernels.add(kernel)
        digests.add(digest)
    assert len(digests) == 1
    if platform.machine() == "x86_64":
        assert len(kernels) == 2, f"the kernel could not be chosen: {kernels}"

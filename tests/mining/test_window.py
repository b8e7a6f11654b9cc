from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from builders.mining.scan import Masked, exact_window
from tests.mining.samples import Float32s, by_query, random_units
from tests.mining.test_topk import near_ties

Whole = NDArray[np.int64]


def masked_pairs(rng: np.random.Generator, queries: int, passages: int, share: float) -> Masked:
    rows, index = np.nonzero(rng.random((queries, passages)) < share)
    return Masked(rows, index)


def plainly(
    scores: list[list[float]], floor: list[float], ceiling: list[float], masked: Masked, k: int
) -> tuple[list[list[int]], list[int], list[int]]:
    """Found, above and within by loops over exact scores."""
    never = set(zip(masked.row.tolist(), masked.index.tolist(), strict=True))
    found, above, within = [], [], []
    for row, values in enumerate(scores):
        free = [
            (-score, i) for i, score in enumerate(values) if (row, i) not in never and score >= floor[row]
        ]
        inside = sorted(pair for pair in free if -pair[0] <= ceiling[row])
        found.append([i for _, i in inside[:k]])
        above.append(len(free) - len(inside))
        within.append(len(inside))
    return found, above, within


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    queries_count=st.integers(1, 9),
    passages_count=st.integers(0, 160),
    dimensions=st.integers(1, 9),
    distinct=st.integers(1, 30),
    k=st.integers(1, 8),
    block=st.sampled_from([1, 7, 64, 2048]),
    tile=st.sampled_from([1, 3, 2048]),
    share=st.sampled_from([0.0, 0.1, 0.7]),
    has_floor=st.booleans(),
)
def test_agrees_with_loops_whatever_the_ties_masks_and_blocks(
    *,
    seed: int,
    queries_count: int,
    passages_count: int,
    dimensions: int,
    distinct: int,
    k: int,
    block: int,
    tile: int,
    share: float,
    has_floor: bool,
) -> None:
    rng = np.random.default_rng(seed)
    queries = rng.integers(-3, 4, size=(queries_count, dimensions))
    passages = rng.integers(-3, 4, size=(distinct, dimensions))[rng.integers(distinct, size=passages_count)]
    scores = queries @ passages.T
    # Limits lie on scores, so that what is equal to one is common; some ceilings lie below their floors.
    ceiling = rng.integers(-6, 15, size=queries_count).astype(np.float64)
    floor = (
        ceiling - rng.integers(-3, 15, size=queries_count) if has_floor else np.full(queries_count, -np.inf)
    )
    masked = masked_pairs(rng, queries_count, passages_count, share)
    window = exact_window(
        queries.astype(np.float32),
        passages.astype(np.float32),
        floor,
        ceiling,
        masked,
        k,
        block=block,
        tile=tile,
    )
    found, above, within = plainly(scores.tolist(), floor.tolist(), ceiling.tolist(), masked, k)
    assert by_query(window.found, queries_count) == found
    assert window.above.tolist() == above
    assert window.within.tolist() == within
    of_masked = scores[masked.row, masked.index]
    assert (
        window.masked_scores.tolist() == np.where(of_masked >= floor[masked.row], of_masked, -np.inf).tolist()
    )
    assert window.found.score.tolist() == scores[window.found.row, window.found.index].tolist()
    assert window.found.places().tolist() == [place for row in found for place in range(1, len(row) + 1)]


def by_fractions(query: Float32s, passages: Float32s) -> list[Fraction]:
    left = [Fraction(float(number)) for number in query]
    return [
        sum((Fraction(float(a)) * b for a, b in zip(passage, left, strict=True)), Fraction())
        for passage in passages
    ]


def test_a_ceiling_among_scores_that_float32_cannot_tell_apart() -> None:
    queries, crowd = near_ties(seed=5, passages=250)
    passages = np.concatenate([random_units(np.random.default_rng(6), 100, 256), crowd])
    nobody = Masked(np.empty(0, np.int64), np.empty(0, np.int64))
    exact = [by_fractions(query, passages) for query in queries]
    middle = np.array([float(sorted(scores)[-100]) for scores in exact])
    window = exact_window(queries, passages, np.full(2, -1.0), middle, nobody, 60, block=64)
    for row, scores in enumerate(exact):
        inside = sorted((-score, i) for i, score in enumerate(scores) if float(score) <= middle[row])
        assert window.above[row] == len(scores) - len(inside)
        assert by_query(window.found, 2)[row] == [i for _, i in inside[:60]]
    float32 = queries @ passages.T
    assert any((float32[row] > np.float32(middle[row])).sum() != window.above[row] for row in range(2)), (
        "float32 would do: this test proves nothing"
    )


def test_more_near_ties_below_the_ceiling_than_any_shortlist_holds() -> None:
    queries, crowd = near_ties(seed=8, passages=300)
    nobody = Masked(np.empty(0, np.int64), np.empty(0, np.int64))
    window = exact_window(queries, crowd, np.full(2, -1.0), np.full(2, 2.0), nobody, 5, block=100)
    shortlists = np.argsort(-(queries @ crowd.T), axis=1, kind="stable")[:, : 5 + 32]
    for row, query in enumerate(queries):
        exact = by_fractions(query, crowd)
        expected = sorted(range(len(crowd)), key=lambda i: (-exact[i], i))[:5]
        assert by_query(window.found, 2)[row] == expected
        assert set(expected) - set(shortlists[row].tolist()), "the shortlist holds them all"


def test_masked_pairs_stay_out_of_a_second_scan() -> None:
    queries, crowd = near_ties(seed=8, passages=300)
    first = [[i for _, i in sorted((-s, i) for i, s in enumerate(by_fractions(q, crowd)))] for q in queries]
    masked = Masked(np.repeat([0, 1], 3), np.array([sorted(row[:3]) for row in first]).ravel())
    window = exact_window(queries, crowd, np.full(2, -1.0), np.full(2, 2.0), masked, 4)
    assert by_query(window.found, 2) == [row[3:7] for row in first]
    assert window.within.tolist() == [297, 297]


def digest_of_a_window() -> str:
    queries, crowd = near_ties(seed=11, passages=400)
    rng = np.random.default_rng(12)
    passages = np.concatenate([crowd, random_units(rng, 1500, 256)])
    asked = np.concatenate([queries, random_units(rng, 70, 256)])
    masked = masked_pairs(rng, 72, 1900, 0.1)
    ceiling = np.concatenate([[0.9, 0.95], rng.uniform(0.0, 0.2, 70)])
    window = exact_window(asked, passages, ceiling - 0.15, ceiling, masked, 20)
    parts = (window.found.index, window.found.score, window.above, window.within, window.masked_scores)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_threads_agree() -> None:
    digests = set()
    for threads in (1, 2):
        with threadpool_limits(threads):
            digests.add(digest_of_a_window())
    assert len(digests) == 1

from __future__ import annotations

import hashlib
import itertools
import tracemalloc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from builders.errors import EncoderError
from builders.mining.hits import Hits, merge_topk
from builders.mining.scan import exact_topk
from tests.mining.samples import Float32s, by_query, random_units

Whole = NDArray[np.int64]


def by_integers(queries: Whole, passages: Whole, k: int) -> tuple[Whole, Whole]:
    """Top-k in exact integer arithmetic, by sorting everything."""
    scores = queries @ passages.T
    order = np.array([sorted(range(len(row)), key=lambda i: (-row[i], i))[:k] for row in scores.tolist()])
    order = order.reshape(len(queries), min(k, len(passages))).astype(np.int64)
    return order, np.take_along_axis(scores, order, axis=1)


def same(left: Hits, right: Hits) -> bool:
    return all(
        getattr(left, part).tobytes() == getattr(right, part).tobytes() for part in ("row", "index", "score")
    )


def near_ties(seed: int, passages: int, dimensions: int = 256) -> tuple[Float32s, Float32s]:
    """Two queries; passages that differ in the last bit of three coordinates, their scores by about 1e-9."""
    rng = np.random.default_rng(seed)
    base = random_units(rng, 1, dimensions)
    queries = (base + random_units(rng, 2, dimensions) / 4).astype(np.float32)
    crowd = np.repeat(base, passages, axis=0)
    for row in crowd:
        where = rng.choice(dimensions, 3, replace=False)
        row[where] = np.nextafter(row[where], rng.choice([-1, 1], 3).astype(np.float32))
    return queries, crowd


def by_fractions(query: Float32s, passages: Float32s) -> list[int]:
    left = [Fraction(float(number)) for number in query]
    scores = [sum(a * Fraction(float(b)) for a, b in zip(left, passage, strict=True)) for passage in passages]
    return sorted(range(len(scores)), key=lambda i: (-scores[i], i))


@settings(deadline=None)
@given(
    data=st.data(),
    queries_count=st.integers(1, 9),
    passages_count=st.integers(1, 160),
    dimensions=st.integers(1, 9),
    distinct=st.integers(1, 30),
    k=st.integers(1, 20),
    block=st.sampled_from([1, 7, 64, 2048]),
    tile=st.sampled_from([1, 3, 2048]),
    threads=st.sampled_from([1, 2]),
)
def test_agrees_with_integers_whatever_the_ties_blocks_and_threads(
    data: st.DataObject,
    queries_count: int,
    passages_count: int,
    dimensions: int,
    distinct: int,
    k: int,
    block: int,
    tile: int,
    threads: int,
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), "seed"))
    queries = rng.integers(-3, 4, size=(queries_count, dimensions))
    pool = rng.integers(-3, 4, size=(distinct, dimensions))
    passages = pool[rng.integers(distinct, size=passages_count)]
    with threadpool_limits(threads):
        found = exact_topk(queries.astype(np.float32), passages.astype(np.float32), k, block=block, tile=tile)
    indices, scores = by_integers(queries, passages, k)
    assert by_query(found, queries_count) == indices.tolist()
    assert found.score.tolist() == scores.ravel().tolist()


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1), block=st.integers(1, 350), tile=st.integers(1, 16), k=st.integers(1, 90)
)
def test_blocks_tiles_and_threads_leave_the_bytes_alone(seed: int, block: int, tile: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    queries, distinct = random_units(rng, 12, 48), random_units(rng, 100, 48)
    passages = distinct[rng.integers(100, size=250)]
    with threadpool_limits(1):
        plain = exact_topk(queries, passages, k)
    with threadpool_limits(2):
        assert same(plain, exact_topk(queries, passages, k, block=block, tile=tile))


def test_float32_alone_would_be_wrong_and_the_certificate_widens() -> None:
    queries, crowd = near_ties(seed=3, passages=300)
    distractors = random_units(np.random.default_rng(4), 200, 256)
    passages = np.concatenate([distractors[:100], crowd, distractors[100:]])
    shortlists = np.argsort(-(queries @ passages.T), axis=1, kind="stable")[:, : 10 + 32]
    found = exact_topk(queries, passages, 10)
    for row, query in enumerate(queries):
        expected = by_fractions(query, passages)[:10]
        assert by_query(found, 2)[row] == expected
        missing = set(expected) - set(shortlists[row].tolist())
        assert missing, "the shortlist holds them all: this test proves nothing"


def test_equal_passages_beyond_every_shortlist_are_taken_by_index() -> None:
    rng = np.random.default_rng(0)
    queries = random_units(rng, 3, 64)
    passages = np.repeat(random_units(rng, 1, 64), 5000, axis=0)
    found = exact_topk(queries, passages[::-1], 7, block=512)
    assert by_query(found, 3) == [list(range(7))] * 3
    assert all(len(set(found.score[found.row == row])) == 1 for row in range(3))


def test_rising_scores_fill_every_block() -> None:
    passages = np.linspace(0, 1, 4000, dtype=np.float32)[:, None]
    query = np.ones((1, 1), np.float32)
    assert exact_topk(query, passages, 3, block=100).index.tolist() == [3999, 3998, 3997]


def test_each_query_may_have_its_own_k() -> None:
    rng = np.random.default_rng(7)
    queries, passages = random_units(rng, 4, 16), random_units(rng, 50, 16)
    whole = exact_topk(queries, passages, 50)
    found = exact_topk(queries, passages, np.array([3, 1, 50, 99]), tile=2)
    for row, k in enumerate([3, 1, 50, 50]):
        assert by_query(found, 4)[row] == by_query(whole, 4)[row][:k]
    assert found.row.tolist() == [0] * 3 + [1] + [2] * 50 + [3] * 50
    assert found.places().tolist() == [1, 2, 3, 1, *range(1, 51), *range(1, 51)]


@settings(deadline=None, max_examples=40)
@given(
    ks=st.lists(st.integers(1, 400), min_size=1, max_size=6),
    passages_count=st.integers(1, 500),
    block=st.integers(1, 300),
    seed=st.integers(0, 2**32 - 1),
)
def test_unequal_ks_agree_with_sorting_everything(
    ks: list[int], passages_count: int, block: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    queries, passages = rng.integers(-3, 4, size=(len(ks), 5)), rng.integers(-3, 4, size=(passages_count, 5))
    found = exact_topk(queries.astype(np.float32), passages.astype(np.float32), np.array(ks), block=block)
    indices, _ = by_integers(queries, passages, passages_count)
    assert by_query(found, len(ks)) == [row[:k] for k, row in zip(ks, indices.tolist(), strict=True)]


def test_memory_does_not_grow_with_the_passages() -> None:
    rng = np.random.default_rng(0)
    queries, passages = random_units(rng, 64, 8), random_units(rng, 60_000, 8)
    tracemalloc.start()
    try:
        exact_topk(queries, passages, 10, block=512)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    every_score = queries.shape[0] * passages.shape[0] * 4
    assert peak < every_score / 3


def test_k_is_clamped_to_the_passages() -> None:
    passages = np.eye(3, dtype=np.float32)
    assert by_query(exact_topk(passages[:1], passages, 10), 1) == [[0, 1, 2]]
    assert by_query(exact_topk(passages[:2], passages[:0], 10), 2) == [[], []]
    assert by_query(exact_topk(passages[:0], passages, 2), 0) == []


@given(seed=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(1, 119), max_size=4), order=st.randoms())
@settings(deadline=None, max_examples=30)
def test_shards_merge_in_any_order_and_grouping(seed: int, cuts: list[int], order: Any) -> None:
    rng = np.random.default_rng(seed)
    queries, passages = random_units(rng, 5, 12), random_units(rng, 30, 12)[rng.integers(30, size=120)]
    edges = sorted({0, 120, *cuts})
    parts = [
        exact_topk(queries, passages[start:stop], 9, first=start) for start, stop in itertools.pairwise(edges)
    ]
    order.shuffle(parts)
    merged = parts[0]
    for part in parts[1:]:
        merged = merge_topk([part, merged], 9)
    whole = exact_topk(queries, passages, 9)
    assert same(whole, merged)
    assert same(whole, merge_topk(parts, 9))


def test_progress_counts_products() -> None:
    vectors = random_units(np.random.default_rng(0), 10, 4)
    seen: list[tuple[int, int]] = []
    exact_topk(vectors, vectors, 2, block=4, tile=5, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(step, 6) for step in range(1, 7)]


def test_unusable_vectors_are_refused() -> None:
    good = np.eye(3, dtype=np.float32)
    bad = good.copy()
    bad[1, 1] = np.nan
    with pytest.raises(EncoderError, match="queries: 1 hold NaN or infinity, the first in row 1"):
        exact_topk(bad, good, 1)
    with pytest.raises(EncoderError, match="passages: 1 hold NaN"):
        exact_topk(good, bad, 1)
    with pytest.raises(EncoderError, match="queries have 2 dimensions, passages 3"):
        exact_topk(np.ones((1, 2), np.float32), good, 1)


def digest_of_a_search() -> str:
    queries, crowd = near_ties(seed=11, passages=400)
    rng = np.random.default_rng(12)
    passages = np.concatenate([crowd, random_units(rng, 1500, 256)])
    found = exact_topk(np.concatenate([queries, random_units(rng, 70, 256)]), passages, 20)
    return hashlib.sha256(found.index.tobytes() + found.score.tobytes()).hexdigest()

"""Exact top-k: float32 finds candidates, float64 orders them, an error bound proves that none is missing.

Another engine deals out tasks of (shard of passages × tile of queries): each is one `exact_topk` with the
shard's first row, and `merge_topk` joins their results, in any order and grouping.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.errors import EncoderError, UsageError
from builders.mining.hits import Hits, cells_above, joined, rescored
from builders.mining.scores import Float32s, Float64s, Int64s, float32_error, lengths

Progress = Callable[[int, int], None]
SPARE = 32  # fetched beyond k: float32 may misplace neighbours, and a query that needs more is scanned twice
_NONE = -1


@dataclass(frozen=True, slots=True)
class TopK:
    """The first passages of each query, by (score descending, index ascending).

    Attributes:
        indices: int64 (q, k); -1 where a query has fewer.
        scores: float64 (q, k); minus infinity where a query has fewer.
    """

    indices: Int64s
    scores: Float64s

    def flat(self) -> tuple[Int64s, Int64s, Int64s, Float64s]:
        """Return query row, 1-based rank, passage index and score of every entry, without the gaps."""
        rows, places = np.nonzero(self.indices != _NONE)
        return rows, places + 1, self.indices[rows, places], self.scores[rows, places]


def exact_topk(
    queries: Float32s,
    passages: Float32s,
    k: int | NDArray[Any],
    *,
    block: int = 2048,
    tile: int = 2048,
    first: int = 0,
    progress: Progress | None = None,
) -> TopK:
    """Find the k passages with the largest dot product, exactly as `score_pairs` computes it.

    Ties are broken by index. Blocks, tiles, threads and the BLAS kernel change the time only. Method: float32
    products, block by block, against a running threshold; the best k and some spare ones are scored again in
    float64; where the k-th does not beat all that was not fetched by more than float32's error bound
    (`float32_error`), the query is scanned again for everything within that bound.

    Memory beside input and output: at worst about 40 bytes per cell of (tile × block), 170 MB as it is set.
    `passages` may be a memory map: it is read in order, once for its lengths, once per tile, and once more
    for a tile with queries that are scanned again.

    Args:
        queries: float32 (q, d), finite.
        passages: float32 (n, d), finite, sorted by id, so that the order of indices is that of ids.
        k: At least 1; or integers (q,), one per query. Never more than n are returned.
        block: Passages per product.
        tile: Queries per product.
        first: Index of the first passage, where `passages` is a shard.
        progress: Called with products done and products in all.

    Returns:
        The top-k: (q, largest k).

    Raises:
        EncoderError: Vectors are not float32, not finite, or of unequal dimensions.
        UsageError: k, block or tile is smaller than 1.
    """
    query_lengths, longest = measured(queries, passages)
    wanted = np.minimum(per_query(k, len(queries)), len(passages))
    require_positive(block=block, tile=tile)
    error = float32_error(queries.shape[1], query_lengths, longest)
    tiles = range(0, len(queries), tile)
    tick = ticker(progress, len(tiles) * -(-len(passages) // block))
    parts = []
    for start in tiles if len(passages) else ():
        part = slice(start, start + tile)
        hits = _tile_topk(queries[part], passages, wanted[part], error[part], block, tick)
        parts.append(Hits(hits.row + start, hits.index + first, hits.score))
    return table(joined(parts), wanted)


def merge_topk(parts: Sequence[TopK], k: int | NDArray[Any]) -> TopK:
    """Join the top-k of shards of the passages: associative, and independent of the order of `parts`.

    Args:
        parts: One result per shard, for the same queries in the same order; at least one. Each passage
            belongs to one shard.
        k: As for `exact_topk`.

    Returns:
        What `exact_topk` finds in all passages together.

    Raises:
        UsageError: There are no parts, they have different numbers of queries, or k is smaller than 1.
    """
    if len({len(part.indices) for part in parts}) != 1:
        raise UsageError("parts of a top-k differ in their queries", hint="Merge one result per shard.")
    flat = [part.flat() for part in parts]
    hits = joined([Hits(rows, indices, scores) for rows, _, indices, scores in flat])
    queries = len(parts[0].indices)
    wanted = np.minimum(per_query(k, queries), np.bincount(hits.row, minlength=queries))
    return table(hits.best(wanted), wanted)


def _tile_topk(
    queries: Float32s,
    passages: Float32s,
    k: Int64s,
    error: Float64s,
    block: int,
    tick: Callable[[], None],
) -> Hits:
    near, unseen = _shortlist(queries, passages, np.minimum(k + SPARE, len(passages)), block, tick)
    exact = rescored(queries, passages, near.row, near.index).best(k)
    last = np.asarray(exact.score[np.cumsum(k) - 1], np.float64)
    doubtful = np.flatnonzero(last <= unseen + error)
    if not doubtful.size:
        return exact
    wide = _scan_down_to(queries[doubtful], passages, (last - error)[doubtful], k[doubtful], block)
    sure = ~np.isin(exact.row, doubtful)
    return joined([
        exact.at(sure),
        Hits(doubtful[wide.row], wide.index, wide.score),
    ])


def _shortlist(
    queries: Float32s, passages: Float32s, width: Int64s, block: int, tick: Callable[[], None]
) -> tuple[Hits, Float64s]:
    """Find the best `width` by float32, and a score that nothing outside of them exceeds in float32."""
    threshold = np.full(len(queries), -np.inf, np.float32)
    ends = np.cumsum(width) - 1
    kept, waiting, held = joined([]), list[Hits](), 0
    for start in range(0, len(passages), block):
        scores = queries @ np.asarray(passages[start : start + block]).T
        rows, columns = cells_above(scores, threshold, int(width.max()))
        waiting.append(Hits(rows, columns + start, scores[rows, columns]))
        held += rows.size
        # Sorting waits until it at least halves what is held: cheap, and bounded all the same.
        if held >= ends[-1] + 1 or start + block >= len(passages):
            kept, waiting, held = joined([kept, *waiting]).best(width), [], 0
            if kept.row.size == ends[-1] + 1:
                threshold = np.asarray(kept.score[ends], np.float32)
        tick()
    complete = width == len(passages)
    return kept, np.where(complete, -np.inf, threshold.astype(np.float64))


def _scan_down_to(queries: Float32s, passages: Float32s, floor: Float64s, k: Int64s, block: int) -> Hits:
    """Score in float64 whatever float32 puts at the floor or above it."""
    floor32 = np.nextafter(floor.astype(np.float32), np.float32(-np.inf))
    kept = joined([])
    for start in range(0, len(passages), block):
        scores = queries @ np.asarray(passages[start : start + block]).T
        rows, columns = np.nonzero(scores >= floor32[:, None])
        found = rescored(queries, passages, rows, columns + start)
        kept = joined([kept, found]).best(k)
    return kept


def table(hits: Hits, k: Int64s) -> TopK:
    """Lay hits out as a table, each row in the order of `TopK`."""
    shape = (k.size, int(k.max(initial=0)))
    indices, scores = np.full(shape, _NONE, np.int64), np.full(shape, -np.inf)
    order = np.argsort(hits.row, kind="stable")
    rows = hits.row[order]
    place = np.arange(rows.size) - np.searchsorted(rows, np.arange(k.size))[rows]
    indices[rows, place] = hits.index[order]
    scores[rows, place] = hits.score[order]
    return TopK(indices, scores)


def measured(queries: Float32s, passages: Float32s) -> tuple[Float64s, float]:
    """Check vectors; return the queries' lengths and the longest passage's."""
    query_lengths, passage_lengths = lengths(queries, "queries"), lengths(passages, "passages")
    if queries.shape[1] != passages.shape[1]:
        raise EncoderError(
            f"queries have {queries.shape[1]} dimensions, passages {passages.shape[1]}",
            hint="Encode both with one encoder.",
        )
    return query_lengths, float(passage_lengths.max(initial=0.0))


def per_query(k: int | NDArray[Any], queries: int) -> Int64s:
    """Return how many each query wants, at least 1."""
    wanted = np.broadcast_to(np.asarray(k, np.int64), (queries,))
    if wanted.size:
        require_positive(k=int(wanted.min()))
    return wanted


def require_positive(**values: int) -> None:
    """Refuse numbers below 1."""
    for name, value in values.items():
        if value < 1:
            raise UsageError(f"{name} is {value}", hint=f"Give a {name} of at least 1.")


def ticker(progress: Progress | None, total: int) -> Callable[[], None]:
    """Return a function that counts products done."""
    done = 0

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    return tick

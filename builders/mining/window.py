"""The best passages of each query between a floor and a ceiling, at any depth, and how many lie where.

Pairs that can never be taken are masked before the scan, so that a query's k best are k that count, however
many are masked. As in `exact_topk`, float32 only finds: whatever lies within float32's error of a ceiling or
a floor is decided in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.mining.hits import Hits, cells_above, joined, rescored
from builders.mining.scores import Float32s, Float64s, Int64s, float32_error, score_pairs
from builders.mining.topk import SPARE, Progress, TopK, measured, per_query, require_positive, table, ticker

_BEYOND = 1e38  # more than any score (`float32_error` sees to it), and a float32


@dataclass(frozen=True, slots=True)
class Masked:
    """Pairs that are never taken.

    Attributes:
        row: Integers (m,), rows of queries, ascending.
        index: Integers (m,), rows of passages; no pair twice.
    """

    row: NDArray[Any]
    index: NDArray[Any]

    def of_tile(self, start: int, stop: int) -> tuple[slice, Masked]:
        """Return where the pairs of queries start to stop lie, and these, counted from start."""
        part = slice(*np.searchsorted(self.row, [start, stop]).tolist())
        return part, Masked(self.row[part] - start, self.index[part])


@dataclass(frozen=True, slots=True)
class Window:
    """What lies between floor and ceiling.

    Attributes:
        found: The first passages of each query that are not masked, not above its ceiling, and not below its
            floor.
        above: int64 (q,): passages that are not masked, above the ceiling, and not below the floor.
        within: int64 (q,): passages that are not masked, and neither above the ceiling nor below the floor.
        masked_scores: float64 (m,): the scores of the masked pairs; minus infinity for those below the floor.
    """

    found: TopK
    above: Int64s
    within: Int64s
    masked_scores: Float64s


@dataclass(frozen=True, slots=True)
class _Edge:
    """A score per query, and the float32 scores beyond which there is no doubt on which side one is."""

    exact: Float64s
    below: Float32s
    above: Float32s

    @classmethod
    def of(cls, edge: Float64s, error: Float64s) -> _Edge:
        least = np.clip(edge - error, -_BEYOND, _BEYOND).astype(np.float32)
        most = np.clip(edge + error, -_BEYOND, _BEYOND).astype(np.float32)
        return cls(edge, np.nextafter(least, np.float32(-np.inf)), np.nextafter(most, np.float32(np.inf)))

    def doubtful(self, scores: Float32s) -> tuple[NDArray[Any], NDArray[Any]]:
        rows, columns = np.nonzero((scores >= self.below[:, None]) & (scores <= self.above[:, None]))
        return rows, columns


def exact_window(
    queries: Float32s,
    passages: Float32s,
    floor: Float64s,
    ceiling: Float64s,
    masked: Masked,
    k: int,
    *,
    block: int = 2048,
    tile: int = 2048,
    progress: Progress | None = None,
) -> Window:
    """Find the first k passages of each query whose score is at least its floor and at most its ceiling.

    Scores are those of `score_pairs`, ties are broken by index; blocks, tiles, threads and the BLAS kernel
    change the time only. Where float32 cannot prove that the k are the best, the query is scanned again.

    Args:
        queries: float32 (q, d), finite.
        passages: float32 (n, d), finite, sorted by id, so that the order of indices is that of ids.
        floor: float64 (q,), minus infinity for none.
        ceiling: float64 (q,); below the floor, nothing is found.
        masked: Pairs that are counted apart and never found.
        k: How many, at least 1.
        block: Passages per product.
        tile: Queries per product.
        progress: Called with products done and products in all.

    Raises:
        EncoderError: Vectors are not float32, not finite, or of unequal dimensions.
        UsageError: k, block or tile is smaller than 1.
    """
    query_lengths, longest = measured(queries, passages)
    wanted = per_query(k, len(queries))
    require_positive(k=k, block=block, tile=tile)
    error = float32_error(queries.shape[1], query_lengths, longest)
    tiles = range(0, len(queries), tile)
    tick = ticker(progress, len(tiles) * -(-len(passages) // block))
    above, within = np.zeros(len(queries), np.int64), np.zeros(len(queries), np.int64)
    masked_scores = np.full(len(masked.row), -np.inf)
    parts = []
    for start in tiles:
        part = slice(start, start + tile)
        pairs, of_tile = masked.of_tile(start, start + tile)
        scan = _Scan(queries[part], passages, floor[part], ceiling[part], error[part], of_tile, block)
        near, unseen = scan.shortlist(k + SPARE, tick)
        hits = scan.certified(near, unseen, wanted[part])
        parts.append(Hits(hits.row + start, hits.index, hits.score))
        above[part], within[part] = scan.above, scan.within
        masked_scores[pairs] = scan.masked_scores
    return Window(table(joined(parts), wanted), above, within, masked_scores)


class _Scan:
    """One tile of queries against all passages."""

    def __init__(
        self,
        queries: Float32s,
        passages: Float32s,
        floor: Float64s,
        ceiling: Float64s,
        error: Float64s,
        masked: Masked,
        block: int,
    ) -> None:
        self.queries, self.passages, self.error, self.block = queries, passages, error, block
        self.floor, self.ceiling = _Edge.of(floor, error), _Edge.of(ceiling, error)
        order = np.argsort(masked.index, kind="stable")
        self._order, self._row, self._index = order, masked.row[order], masked.index[order]
        self.above = np.zeros(len(queries), np.int64)
        self.within = np.zeros(len(queries), np.int64)
        self.masked_scores = np.full(len(order), -np.inf)

    def _scores(self, start: int, rows: Int64s | slice = slice(None)) -> tuple[Float32s, slice]:
        """Return float32 scores of a block, and which of the masked pairs, by index, belong to it."""
        part = slice(*np.searchsorted(self._index, [start, start + self.block]).tolist())
        return self.queries[rows] @ np.asarray(self.passages[start : start + self.block]).T, part

    def shortlist(self, width: int, tick: Callable[[], None]) -> tuple[Hits, Float64s]:
        """Count, and find the best `width` that may lie within; nothing else there exceeds the second."""
        threshold = np.nextafter(self.floor.below, np.float32(-np.inf))
        widths = np.full(len(self.queries), width)
        full = np.zeros(len(self.queries), np.bool_)
        kept, waiting, held = joined([]), list[Hits](), 0
        for start in range(0, len(self.passages), self.block):
            scores, part = self._scores(start)
            rows, columns = self._row[part], self._index[part] - start
            self._score_masked(scores[rows, columns], part)
            scores[rows, columns] = -np.inf
            self._count(scores, start)
            scores[scores > self.ceiling.above[:, None]] = -np.inf
            rows, columns = cells_above(scores, threshold, width)
            waiting.append(Hits(rows, columns + start, scores[rows, columns]))
            held += rows.size
            if held >= width * len(self.queries) or start + self.block >= len(self.passages):
                kept, waiting, held = joined([kept, *waiting]).best(widths), [], 0
                counts = np.bincount(kept.row, minlength=len(widths))
                full = counts == width
                threshold[full] = kept.score[np.cumsum(counts)[full] - 1]
            tick()
        return kept, np.where(full, threshold.astype(np.float64), -np.inf)

    def _score_masked(self, scores: Float32s, part: slice) -> None:
        rows, index = self._row[part], self._index[part]
        near = np.flatnonzero(scores >= self.floor.below[rows])
        exact = score_pairs(self.queries, self.passages, rows[near], index[near])
        exact[exact < self.floor.exact[rows[near]]] = -np.inf
        self.masked_scores[self._order[part][near]] = exact

    def _count(self, scores: Float32s, start: int) -> None:
        """Count what is at the floor or above it, and of that what is above the ceiling."""
        size = len(self.queries)
        at_floor = np.count_nonzero(scores > self.floor.above[:, None], axis=1)
        over = np.count_nonzero(scores > self.ceiling.above[:, None], axis=1)
        rows, columns = self.floor.doubtful(scores)
        exact = score_pairs(self.queries, self.passages, rows, columns + start)
        at_floor += np.bincount(rows[exact >= self.floor.exact[rows]], minlength=size)
        rows, columns = self.ceiling.doubtful(scores)
        exact = score_pairs(self.queries, self.passages, rows, columns + start)
        over += np.bincount(rows[exact > self.ceiling.exact[rows]], minlength=size)
        over = np.where(self.ceiling.exact < self.floor.exact, at_floor, over)
        self.above += over
        self.within += at_floor - over

    def certified(self, near: Hits, unseen: Float64s, k: Int64s) -> Hits:
        """Score again in float64, and scan again where something unseen could belong to the first k."""
        exact = self._within(rescored(self.queries, self.passages, near.row, near.index)).best(k)
        counts = np.bincount(exact.row, minlength=len(k))
        last = self.floor.exact.copy()
        whole = counts == k
        last[whole] = exact.score[np.cumsum(counts)[whole] - 1]
        doubtful = np.flatnonzero(np.isfinite(unseen) & (last <= unseen + self.error))
        if not doubtful.size:
            return exact
        again = self._scan_between(doubtful, last, k)
        return joined([exact.at(~np.isin(exact.row, doubtful)), again])

    def _scan_between(self, doubtful: Int64s, last: Float64s, k: Int64s) -> Hits:
        low = _Edge.of(last, self.error).below[doubtful, None]
        high = self.ceiling.above[doubtful, None]
        place = np.full(len(self.queries), -1)
        place[doubtful] = np.arange(doubtful.size)
        kept = joined([])
        for start in range(0, len(self.passages), self.block):
            scores, part = self._scores(start, doubtful)
            rows, columns = place[self._row[part]], self._index[part] - start
            scores[rows[rows >= 0], columns[rows >= 0]] = -np.inf
            rows, columns = np.nonzero((scores >= low) & (scores <= high))
            found = rescored(self.queries, self.passages, doubtful[rows], columns + start)
            kept = joined([kept, self._within(found)]).best(k)
        return kept

    def _within(self, hits: Hits) -> Hits:
        low, high = self.floor.exact[hits.row], self.ceiling.exact[hits.row]
        return hits.at((hits.score >= low) & (hits.score <= high))

"""Exact top-k and window scan: float32 finds candidates, float64 orders them, an error bound proves the rest.

One scan serves both: a top-k is a window without floor and ceiling. Pairs that can never be taken are masked
before the scan, so that a query's k best are k that count, however many are masked. Whatever lies within
float32's error of a ceiling, a floor or the k-th score is decided in float64.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.errors import EncoderError
from builders.mining.hits import Hits, joined, merge_topk
from builders.mining.scores import Float32s, Float64s, Int64s, float32_error, lengths, score_pairs

Progress = Callable[[int, int], None]
_SPARE = 32  # fetched beyond k: float32 may misplace neighbours, and a query that needs more is scanned twice
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

    def of_queries(self, rows: Int64s) -> Masked:
        """Return the pairs of some queries, whose ascending `rows` are counted anew."""
        wanted = np.isin(self.row, rows)
        return Masked(np.searchsorted(rows, self.row[wanted]), self.index[wanted])


_NO_PAIR = Masked(np.empty(0, np.int64), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class _Window:
    """What lies between floor and ceiling.

    Attributes:
        found: The first passages of each query that are not masked and within limits, as `Hits.best` orders.
        above: int64 (q,): passages that are not masked, above the ceiling, and not below the floor.
        within: int64 (q,): passages that are not masked, and within floor and ceiling.
        masked_scores: float64 (m,): the scores of the masked pairs; minus infinity for those below the floor.
    """

    found: Hits
    above: Int64s
    within: Int64s
    masked_scores: Float64s


def exact_topk(
    queries: Float32s,
    passages: Float32s,
    k: int | NDArray[Any],
    *,
    block: int = 2048,
    tile: int = 2048,
    first: int = 0,
    progress: Progress | None = None,
) -> Hits:
    """Find the k passages with the largest dot product: `exact_window` without floor and ceiling.

    Memory beside input and output: at worst about 40 bytes per cell of (tile × block), 170 MB. `passages` may
    be a memory map: it is read in order, once for its lengths, and once or twice per tile. `first` is the
    index of the first passage where `passages` is a shard; `merge_topk` joins the results of shards.
    """
    edge, sizes = np.full(len(queries), np.inf), {"block": block, "tile": tile}
    found = exact_window(queries, passages, -edge, edge, _NO_PAIR, k, **sizes, progress=progress).found
    return Hits(found.row, found.index + first, found.score)


def exact_window(
    queries: Float32s,
    passages: Float32s,
    floor: Float64s,
    ceiling: Float64s,
    masked: Masked,
    k: int | NDArray[Any],
    *,
    block: int = 2048,
    tile: int = 2048,
    progress: Progress | None = None,
) -> _Window:
    """Find the first k passages of each query whose score is at least its floor and at most its ceiling.

    Scores are those of `score_pairs`, ties are broken by index; blocks, tiles, threads and the BLAS kernel
    change the time only. Method: float32 products, block by block, against a running threshold; the best k
    and some spare ones are scored again in float64; where the k-th does not beat all that was not fetched by
    more than float32's error bound (`float32_error`), the query is scanned again for everything within that
    bound.

    Args:
        queries: float32 (q, d), finite.
        passages: float32 (n, d), finite, sorted by id, so that the order of indices is that of ids.
        floor: float64 (q,), minus infinity for none.
        ceiling: float64 (q,); below the floor, nothing is found.
        masked: Pairs that are counted apart and never found.
        k: At least 1; or integers (q,), one per query.
        block: Passages per product.
        tile: Queries per product.
        progress: Called with products done and products in all.
    """
    wanted = np.minimum(np.broadcast_to(np.asarray(k, np.int64), len(queries)), len(passages))
    error = _float32_error(queries, passages)
    tiles = range(0, len(queries), tile)
    products, done = len(tiles) * -(-len(passages) // block), itertools.count(1)

    def tick() -> None:
        if progress is not None:
            progress(next(done), products)

    above, within = np.zeros((2, len(queries)), np.int64)
    masked_scores = np.full(len(masked.row), -np.inf)
    found = []
    for start in tiles:
        part = slice(start, start + tile)
        pairs, of_tile = masked.of_tile(start, start + tile)
        scan = _Scan(queries[part], passages, floor[part], ceiling[part], error[part], of_tile, block)
        near, unseen = scan.shortlist(np.minimum(wanted[part] + _SPARE, len(passages)), tick)
        hits = scan.certified(near, unseen, wanted[part])
        found.append(Hits(hits.row + start, hits.index, hits.score))
        above[part], within[part] = scan.above, scan.within
        masked_scores[pairs] = scan.masked_scores
    return _Window(joined(found), above, within, masked_scores)


def _float32_error(queries: Float32s, passages: Float32s) -> Float64s:
    """Check vectors, and bound the error of each query's scores in float32."""
    query_lengths, passage_lengths = lengths(queries, "queries"), lengths(passages, "passages")
    if queries.shape[1] != passages.shape[1]:
        raise EncoderError(
            f"queries have {queries.shape[1]} dimensions, passages {passages.shape[1]}",
            hint="Encode both with one encoder.",
        )
    return float32_error(queries.shape[1], query_lengths, float(passage_lengths.max(initial=0.0)))


def _cells_above(scores: Float32s, threshold: Float32s, width: int) -> tuple[Int64s, Int64s]:
    """Find the cells above their row's threshold; of each row only the best `width` where they are many."""
    above = scores > threshold[:, None]
    if width >= scores.shape[1] or np.count_nonzero(above) <= 4 * width * len(scores):
        rows, columns = np.nonzero(above)
        return rows, columns
    columns = np.argpartition(scores, -width, axis=1)[:, -width:].ravel()
    rows = np.repeat(np.arange(len(scores)), width)
    chosen = above[rows, columns]
    return rows[chosen], columns[chosen]


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
        self._bounded = bool(np.isfinite(floor).any() or np.isfinite(ceiling).any())
        order = np.argsort(masked.index, kind="stable")
        self._order, self._row, self._index = order, masked.row[order], masked.index[order]
        self.above, self.within = np.zeros((2, len(queries)), np.int64)
        self.masked_scores = np.full(len(order), -np.inf)

    def _products(self, start: int, rows: Int64s | slice = slice(None)) -> tuple[Float32s, slice]:
        """Return float32 scores of a block, and which of the masked pairs, by index, belong to it."""
        part = slice(*np.searchsorted(self._index, [start, start + self.block]).tolist())
        return self.queries[rows] @ np.asarray(self.passages[start : start + self.block]).T, part

    def _scores(self, rows: Int64s, index: Int64s) -> Float64s:
        return score_pairs(self.queries, self.passages, rows, index)

    def shortlist(self, widths: Int64s, tick: Callable[[], None]) -> tuple[Hits, Float64s]:
        """Count, and find the best `widths` that may lie within; nothing else there exceeds the second."""
        threshold = np.nextafter(self.floor.below, np.float32(-np.inf))
        width, room = int(widths.max(initial=0)), int(widths.sum())
        full = np.zeros(len(self.queries), np.bool_)
        parts, waiting = list[Hits](), 0
        for start in range(0, len(self.passages), self.block):
            scores, part = self._products(start)
            rows, columns = self._row[part], self._index[part] - start
            self._score_masked(scores[rows, columns], part)
            scores[rows, columns] = -np.inf
            if self._bounded:
                self._count(scores, start)
                scores[scores > self.ceiling.above[:, None]] = -np.inf
            rows, columns = _cells_above(scores, threshold, width)
            parts.append(Hits(rows, columns + start, scores[rows, columns]))
            waiting += rows.size
            # Sorting waits until it at least halves what is held: cheap, and bounded all the same.
            if waiting >= room or start + self.block >= len(self.passages):
                parts, waiting = [merge_topk(parts, widths)], 0
                full, last = parts[0].last(widths)
                threshold[full] = last
            tick()
        doubted = full & (widths < len(self.passages))
        return joined(parts), np.where(doubted, threshold.astype(np.float64), -np.inf)

    def _score_masked(self, scores: Float32s, part: slice) -> None:
        rows, index = self._row[part], self._index[part]
        near = np.flatnonzero(scores >= self.floor.below[rows])
        exact = self._scores(rows[near], index[near])
        exact[exact < self.floor.exact[rows[near]]] = -np.inf
        self.masked_scores[self._order[part][near]] = exact

    def _count(self, scores: Float32s, start: int) -> None:
        """Count what is at the floor or above it, and of that what is above the ceiling."""
        size = len(self.queries)
        at_floor = np.count_nonzero(scores > self.floor.above[:, None], axis=1)
        over = np.count_nonzero(scores > self.ceiling.above[:, None], axis=1)
        rows, columns = self.floor.doubtful(scores)
        exact = self._scores(rows, columns + start)
        at_floor += np.bincount(rows[exact >= self.floor.exact[rows]], minlength=size)
        rows, columns = self.ceiling.doubtful(scores)
        exact = self._scores(rows, columns + start)
        over += np.bincount(rows[exact > self.ceiling.exact[rows]], minlength=size)
        over = np.where(self.ceiling.exact < self.floor.exact, at_floor, over)
        self.above += over
        self.within += at_floor - over

    def certified(self, near: Hits, unseen: Float64s, k: Int64s) -> Hits:
        """Score again in float64, and scan again where something unseen could belong to the first k."""
        exact = self._within(near.row, near.index).best(k)
        least = self.floor.exact.copy()
        full, last = exact.last(k)
        least[full] = last
        doubtful = np.flatnonzero(np.isfinite(unseen) & (least <= unseen + self.error))
        if not doubtful.size:
            return exact
        again = self._scan_between(doubtful, least, k)
        return merge_topk([exact.at(~np.isin(exact.row, doubtful)), again], k)

    def _scan_between(self, doubtful: Int64s, least: Float64s, k: Int64s) -> Hits:
        low = _Edge.of(least, self.error).below[doubtful, None]
        high = self.ceiling.above[doubtful, None]
        place = np.full(len(self.queries), -1)
        place[doubtful] = np.arange(doubtful.size)
        found = joined([])
        for start in range(0, len(self.passages), self.block):
            scores, part = self._products(start, doubtful)
            rows, columns = place[self._row[part]], self._index[part] - start
            scores[rows[rows >= 0], columns[rows >= 0]] = -np.inf
            rows, columns = np.nonzero((scores >= low) & (scores <= high))
            found = merge_topk([found, self._within(doubtful[rows], columns + start)], k)
        return found

    def _within(self, rows: Int64s, index: Int64s) -> Hits:
        """Score pairs in float64, and keep those within floor and ceiling."""
        scores = self._scores(rows, index)
        inside = (scores >= self.floor.exact[rows]) & (scores <= self.ceiling.exact[rows])
        return Hits(rows, index, scores).at(inside)

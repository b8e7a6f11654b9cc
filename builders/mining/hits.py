"""Pairs of query and passage with a score: what a scan finds, cuts to the best, and scores again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.mining.scores import Float32s, Int64s, score_pairs


@dataclass(frozen=True, slots=True)
class Hits:
    """Pairs of a tile's row and a passage, with a score in float32 or float64; each (m,)."""

    row: Int64s
    index: Int64s
    score: NDArray[np.floating[Any]]

    def best(self, k: Int64s) -> Hits:
        """Keep the first ``k[row]`` of each row by (score descending, index ascending), in that order."""
        order = np.lexsort((self.index, -self.score, self.row))
        rows = self.row[order]
        place = np.arange(rows.size) - np.searchsorted(rows, np.arange(k.size))[rows]
        return self.at(order[place < k[rows]])

    def at(self, chosen: NDArray[Any]) -> Hits:
        """Keep the pairs at positions, or where a mask is true."""
        return Hits(self.row[chosen], self.index[chosen], self.score[chosen])


def joined(parts: Sequence[Hits]) -> Hits:
    """Put hits one after the other."""
    if not parts:
        return Hits(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))
    return Hits(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.score for part in parts]),
    )


def rescored(queries: Float32s, passages: Float32s, row: Int64s, index: Int64s) -> Hits:
    """Score pairs in float64."""
    return Hits(row, index, score_pairs(queries, passages, row, index))


def cells_above(scores: Float32s, threshold: Float32s, width: int) -> tuple[Int64s, Int64s]:
    """Find the cells above their row's threshold; of each row only the best `width` where they are many."""
    above = scores > threshold[:, None]
    if width >= scores.shape[1] or np.count_nonzero(above) <= 4 * width * len(scores):
        rows, columns = np.nonzero(above)
        return rows, columns
    columns = np.argpartition(scores, -width, axis=1)[:, -width:].ravel()
    rows = np.repeat(np.arange(len(scores)), width)
    chosen = above[rows, columns]
    return rows[chosen], columns[chosen]

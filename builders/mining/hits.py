"""Scored pairs of queries and passages: cut to each query's best, and merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from builders.mining.scores import Int64s


@dataclass(frozen=True, slots=True)
class Hits:
    """Passages of queries, and their scores.

    Attributes:
        row: int64 (m,), rows of queries.
        index: int64 (m,), rows of passages.
        score: float64 (m,), or float32 where a scan has yet to decide.
    """

    row: Int64s
    index: Int64s
    score: NDArray[np.floating[Any]]

    def at(self, chosen: NDArray[Any]) -> Hits:
        """Keep the pairs at positions, or where a mask is true."""
        return Hits(self.row[chosen], self.index[chosen], self.score[chosen])

    def places(self) -> Int64s:
        """Return the 1-based place of each pair among those of its query, which lie together."""
        return 1 + np.arange(self.row.size) - np.searchsorted(self.row, self.row)

    def best(self, k: int | Int64s) -> Hits:
        """Keep the first `k` of each query, or ``k[row]``, by (score descending, index ascending)."""
        ordered = self.at(np.lexsort((self.index, -self.score, self.row)))
        return ordered.at(ordered.places() <= (k if isinstance(k, int) else k[ordered.row]))

    def last(self, k: Int64s) -> tuple[NDArray[np.bool_], NDArray[np.floating[Any]]]:
        """Return which queries have ``k[row]`` hits, and the last score of each of these."""
        counts = np.bincount(self.row, minlength=k.size)
        full = (counts == k) & (k > 0)
        return full, self.score[np.cumsum(counts)[full] - 1]


def merge_topk(parts: Sequence[Hits], k: int | Int64s) -> Hits:
    """Join the best of parts of the passages: associative, and independent of the order of `parts`.

    Each passage belongs to one part. Of each query `k` are kept; integers (q,) for one number per query.
    """
    return joined(parts).best(k)


def joined(parts: Sequence[Hits]) -> Hits:
    """Return the pairs of all parts, one part after the other."""
    if not parts:
        return Hits(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    return Hits(
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.index for part in parts]),
        np.concatenate([part.score for part in parts]),
    )

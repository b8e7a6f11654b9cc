"""The limit on hard negatives that share an occupation."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.mining.hits import Hits, joined
from builders.mining.scores import Int64s


def numbered(corpus: pl.DataFrame, occupations: pl.DataFrame | None) -> Int64s:
    """Number the occupations of passages, in the row order of `corpus`; one without has its own."""
    if occupations is None:
        return np.arange(corpus.height)
    rows = corpus.select("passage_id").join(occupations, on="passage_id", how="left", maintain_order="left")
    own = pl.format("\0{}", "passage_id")
    number = pl.coalesce("occupation", own).rank("dense").cast(pl.Int64)
    return rows.select(number).to_series().to_numpy()


@dataclass(frozen=True, slots=True)
class Spread:
    """At most `limit` hits of a query count that share an occupation; None for no limit.

    `occupations` has the number of each passage's, by its row.
    """

    occupations: Int64s
    limit: int | None

    def first(self, found: Hits) -> NDArray[np.bool_]:
        """Return which hits count: each query's first `limit` of an occupation."""
        if self.limit is None:
            return np.ones(found.row.size, np.bool_)
        occupation = self.occupations[found.index]
        order = np.lexsort((np.arange(found.row.size), occupation, found.row))
        rows, others = found.row[order], occupation[order]
        new = np.ones(order.size, np.bool_)
        new[1:] = (rows[1:] != rows[:-1]) | (others[1:] != others[:-1])
        starts = np.flatnonzero(new)
        place = np.arange(order.size) - starts[np.cumsum(new) - 1]
        counts = np.empty(order.size, np.bool_)
        counts[order] = place < self.limit
        return counts

    def places(self, found: Hits) -> Int64s:
        """Return how many hits of the query count, up to each and with it."""
        counts = self.first(found)
        taken = np.cumsum(counts)
        places: Int64s = taken - (taken - counts)[np.searchsorted(found.row, found.row)]
        return places

    def deep_enough(
        self, found: Hits, within: Int64s, wanted: int, ask: Callable[[Int64s, Int64s], Hits]
    ) -> Hits:
        """Ask deeper for queries until `wanted` hits of each count, or there are no more.

        Args:
            found: The first hits of each query.
            within: int64 (q,): how many there are.
            wanted: How many must count.
            ask: Takes rows of queries and how many hits of each are asked, and returns these hits.
        """
        depth = np.bincount(found.row, minlength=within.size)
        while True:
            counted = np.bincount(found.row[self.first(found)], minlength=within.size)
            rows = np.flatnonzero((counted < wanted) & (depth < within))
            if not rows.size:
                return found
            depth[rows] = np.minimum(4 * depth[rows], within[rows])
            others = found.at(~np.isin(found.row, rows))
            found = joined([others, ask(rows, depth[rows])]).best(int(depth.max()))

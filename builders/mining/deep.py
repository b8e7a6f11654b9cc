"""Choosing by a recipe that looks as deep as its floor: ranks and counts without a ranking."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.mining.recipe import EXCLUSIONS, Chosen, ceiling, floor, reasons_of
from builders.mining.scores import Float32s, Float64s, Int64s
from builders.mining.topk import Progress
from builders.mining.window import Masked, exact_window
from builders.spec import Recipe


def choose_within(
    guarded: pl.DataFrame,
    corpus: pl.DataFrame,
    excluded: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
    recipe: Recipe,
    *,
    progress: Progress | None = None,
) -> Chosen:
    """Choose each query's first negatives between its floor and its ceiling, at any depth.

    Every passage at the floor or above it is looked at: it is excluded for a reason, above the ceiling
    (`margin`), beyond what is kept, or a negative. Ranks count all passages. Method: `exact_window`.

    Args:
        guarded: ``query-id``, ``positive_score``, ``mean``, ``deviation``: the queries to serve.
        corpus: ``_id``, sorted.
        excluded: From `builders.mining.recipe.exclusions`; pairs of other queries are left aside.
        query_vectors: float32 (queries, d), in the row order of `guarded`.
        passage_vectors: float32 (passages, d), in the row order of `corpus`.
        recipe: The rules, of unbounded depth.
        progress: Called with steps done and steps in all.
    """
    masked, reasons = _masked(guarded, corpus, excluded)
    limits = guarded.select(floor=floor(recipe) + 0 * pl.col("positive_score"), ceiling=ceiling(recipe))
    window = exact_window(
        query_vectors,
        passage_vectors,
        limits["floor"].to_numpy(),
        limits["ceiling"].to_numpy(),
        masked,
        recipe.keep + 1,  # one more tells whether the id decided
        progress=progress,
    )
    rows, places, indices, scores = window.found.flat()
    ranks = window.above[rows] + places + _masked_ahead(masked, window.masked_scores, rows, indices, scores)
    kept = places <= recipe.keep
    at_floor = window.masked_scores > -np.inf
    by_reason = np.bincount(reasons[at_floor], minlength=len(EXCLUSIONS)).tolist()
    counts = dict(zip(EXCLUSIONS, by_reason, strict=True)) | {
        "margin": int(window.above.sum()),
        "beyond_keep": int(np.maximum(window.within - recipe.keep, 0).sum()),
    }
    after = np.flatnonzero(~kept)
    return Chosen(
        kept=pl.DataFrame({
            "query-id": guarded["query-id"].gather(pl.Series(rows[kept])),
            "corpus-id": corpus["_id"].gather(pl.Series(indices[kept])),
            "rank": ranks[kept],
            "score": scores[kept],
            "positive_score": guarded["positive_score"].gather(pl.Series(rows[kept])),
        }),
        looked_at=int(window.above.sum() + window.within.sum() + at_floor.sum()),
        dropped={reason: counts[reason] for reason in reasons_of(recipe)},
        ties={"depth": 0, "keep": int((scores[after] == scores[after - 1]).sum())},
    )


def _masked(
    guarded: pl.DataFrame, corpus: pl.DataFrame, excluded: pl.DataFrame
) -> tuple[Masked, NDArray[np.uint8]]:
    """Return the excluded pairs as rows of queries and passages, and the place of each one's reason."""
    numbered = (
        excluded
        .join(guarded.select("query-id").with_row_index("row"), on="query-id")
        .join(corpus.select(pl.col("_id").alias("corpus-id")).with_row_index("index"), on="corpus-id")
        .select("row", "index", reason=pl.col("reason").cast(pl.Enum(EXCLUSIONS)).to_physical())
        .sort("row", "index")
    )
    masked = Masked(numbered["row"].to_numpy(), numbered["index"].to_numpy())
    return masked, numbered["reason"].cast(pl.UInt8).to_numpy()


def _masked_ahead(
    masked: Masked, masked_scores: Float64s, rows: Int64s, indices: Int64s, scores: Float64s
) -> Int64s:
    """Count the masked pairs of a query that rank before each of its hits."""
    near = np.flatnonzero(masked_scores > -np.inf)
    row = np.concatenate([masked.row[near], rows]).astype(np.int64)
    index = np.concatenate([masked.index[near], indices]).astype(np.int64)
    score = np.concatenate([masked_scores[near], scores])
    order = np.lexsort((index, -score, row))
    is_masked = order < near.size
    before = np.cumsum(is_masked)
    first_of_row = np.searchsorted(row[order], row[order])
    ahead = before - np.concatenate([[0], before])[first_of_row]
    found = np.empty(rows.size, np.int64)
    found[order[~is_masked] - near.size] = ahead[~is_masked]
    return found

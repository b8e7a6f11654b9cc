"""A second opinion on hard negatives, so that the likeliest false negatives come first. Pure.

The miner holds every hard negative to be less relevant than a positive. A second judge that cannot see the
miner's scores says how close the passage is to the query and to the query's own positives; the pairs on which
it differs most from the miner lead.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.audit.tree import Tree
from builders.tables import PAIR

Float64s = NDArray[np.float64]


class Opinion(Protocol):
    """A second judge of relevance."""

    @property
    def name(self) -> str:
        """Who it is, for the record: "lexical"."""
        ...

    def to_query(self, queries: pl.Series, passages: pl.Series) -> Float64s:
        """Score query i with passage i; float64 (m,), higher is closer."""
        ...

    def to_passage(self, passages: pl.Series, others: pl.Series) -> Float64s | None:
        """Score passage i with passage i of `others`; None where it compares queries with passages only."""
        ...


def rank_suspects(tree: Tree, opinion: Opinion) -> pl.DataFrame:
    """Order the hard negatives by how far the second opinion differs from the miner's.

    To the miner all of them are negatives, so what counts is how high the second judge places them: a pair
    stands as high among all pairs as its passage is close to the query, or to the nearest of the query's
    positives, whichever is higher. Standings are shares of the pairs, so that scales do not matter.

    Args:
        tree: The built config.
        opinion: The second judge.

    Returns:
        ``query-id``, ``corpus-id``, ``suspicion`` float64 in [0, 1], the most suspicious first; ties by the
        smaller gap, then by id.
    """
    encoded = pl.concat_str("title", "text", separator=" ").str.strip_chars()
    texts = tree.corpus.select("corpus-id", passage=encoded)
    pairs = (
        tree.negatives
        .join(tree.queries.select("query-id", "query"), on="query-id")
        .join(texts, on="corpus-id")
        .sort(PAIR)
    )
    to_query = pl.Series(opinion.to_query(pairs["query"], pairs["passage"]), dtype=pl.Float64)
    measured = pairs.with_columns(to_query=to_query).join(
        _nearest_positive(tree, pairs, texts, opinion), on=PAIR, how="left"
    )
    standings = (pl.col(name).rank("average") / pl.len() for name in ("to_query", "to_positive"))
    return (
        measured
        .with_columns(suspicion=pl.max_horizontal(*standings))
        .sort(["suspicion", "gap", *PAIR], descending=[True, False, False, False])
        .select(*PAIR, "suspicion")
    )


def _nearest_positive(tree: Tree, pairs: pl.DataFrame, texts: pl.DataFrame, opinion: Opinion) -> pl.DataFrame:
    """``query-id``, ``corpus-id``, ``to_positive``: closeness to the nearest positive of the query."""
    beside = (
        pairs
        .select(*PAIR, "passage")
        .join(tree.positives.select("query-id", positive="corpus-id"), on="query-id")
        .join(texts.rename({"corpus-id": "positive", "passage": "other"}), on="positive")
        .sort(*PAIR, "positive")
    )
    scores = opinion.to_passage(beside["passage"], beside["other"])
    if scores is None:
        return pairs.select(*PAIR, to_positive=pl.lit(None, pl.Float64))
    scored = beside.with_columns(to_positive=pl.Series(scores, dtype=pl.Float64))
    return scored.group_by(PAIR).agg(pl.col("to_positive").max())

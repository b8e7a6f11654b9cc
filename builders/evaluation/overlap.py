"""How many of a query's words stand in its positive, and in a random passage. Pure."""

from __future__ import annotations

import polars as pl

from builders.lock.lock import Frozen

COMPARED_QUERIES = 2_000
"""Most queries of a config whose words are compared with passages."""
_TENTHS = 10
_WORD = r"[\p{L}\p{N}]+"


class Overlap(Frozen):
    """Share of a query's distinct words that stand in one of its positives, and in a random other passage.

    Attributes:
        queries: How many were compared.
        of: Out of how many.
        positive: Mean share in the positive.
        random: Mean share in the other passage; None where each passage that was drawn was a positive.
        positive_tenths: Queries by tenth of the share, the last with 1.
        random_tenths: The same for the other passage.
    """

    queries: int
    of: int
    positive: float
    random: float | None
    positive_tenths: tuple[int, ...]
    random_tenths: tuple[int, ...]


def overlap(
    queries: pl.DataFrame, passages: pl.DataFrame, qrels: pl.DataFrame, *, seed: int
) -> Overlap | None:
    """Return how many of a query's words its positive has, and a random other passage. Pure.

    A word is a run of letters and digits in lower case. Each query is compared with one of its positives and
    with one passage that is none of them, both drawn with the seed; of many queries, `COMPARED_QUERIES` are.

    Args:
        queries: ``_id``, ``text``.
        passages: ``_id``, ``text``.
        qrels: ``query-id``, ``corpus-id``.
        seed: Of the draws.
    """
    keys = ["query-id", "corpus-id"]
    chosen = (
        qrels
        .select(keys)
        .join(queries, left_on="query-id", right_on="_id", how="semi")
        .sort(keys)
        .sample(fraction=1.0, shuffle=True, seed=seed)
        .unique("query-id", keep="first", maintain_order=True)
    )
    of = chosen.height
    chosen = chosen.head(COMPARED_QUERIES)
    drawn = passages["_id"].sort().sample(chosen.height, with_replacement=True, seed=seed + 1) if of else None
    if drawn is None or passages.is_empty():
        return None
    others = chosen.select("query-id", pl.Series("corpus-id", drawn)).join(
        qrels.select(keys), on=keys, how="anti", maintain_order="left"
    )
    words = passages.select("_id", words=_words())
    asked = queries.select("_id", asked=_words())
    near, far = (_shares(pairs, asked, words) for pairs in (chosen, others))
    if near.is_empty():
        return None
    return Overlap(
        queries=len(near),
        of=of,
        positive=_mean(near),
        random=_mean(far) if len(far) else None,
        positive_tenths=_tenths(near),
        random_tenths=_tenths(far),
    )


def _words() -> pl.Expr:
    return pl.col("text").str.to_lowercase().str.extract_all(_WORD).list.unique()


def _shares(pairs: pl.DataFrame, asked: pl.DataFrame, words: pl.DataFrame) -> pl.Series:
    shared = pl.col("asked").list.set_intersection("words").list.len()
    return (
        pairs
        .join(asked, left_on="query-id", right_on="_id")
        .join(words, left_on="corpus-id", right_on="_id")
        .filter(pl.col("asked").list.len() > 0)
        .sort("query-id")
        .select(share=shared / pl.col("asked").list.len())["share"]
    )


def _tenths(shares: pl.Series) -> tuple[int, ...]:
    place = (shares * _TENTHS + 1e-9).floor().clip(0, _TENTHS - 1).cast(pl.Int64)
    return tuple(int((place == tenth).sum()) for tenth in range(_TENTHS))


def _mean(shares: pl.Series) -> float:
    return round(sum(shares.to_list()) / len(shares), 6)

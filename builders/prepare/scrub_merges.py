"""Queries that scrubbing made of several titles although those name different occupations. Pure.

Whether titles differ is seen before they are scrubbed; nothing of that leaves this module but numbers.
"""

import re
from collections.abc import Sequence

import polars as pl

from builders.text.titles import has_uncued

_INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00)[1-9][0-9]")

SCRUB_MERGES: dict[str, type[pl.DataType]] = {"query_id": pl.String, "titles": pl.UInt32, "cue": pl.Boolean}
"""Columns of what `scrub_merges` returns."""


def scrub_merges(queries: pl.DataFrame, pairs: pl.DataFrame, passages: pl.DataFrame) -> pl.DataFrame:
    """Find the queries whose titles differ before they are scrubbed and share no occupation.

    Args:
        queries: ``query_id``, ``upstream_id`` str; ``key`` str of the title, ``unscrubbed`` str as it came.
        pairs: ``query``, ``passage`` str: upstream ids.
        passages: ``upstream_id`` str and, where the config knows it, ``occupation`` str.

    Returns:
        ``query_id`` str; ``titles`` u32, how many it was made of; ``cue`` bool, whether a contact cue
        announces each name, plate and number that was replaced ("Tel. <PHONE>"). Sorted by query. None of
        the titles' occupations is common to all; titles whose occupations are not known do not count.
    """
    if "occupation" not in passages.columns:
        return pl.DataFrame(schema=SCRUB_MERGES)
    several = queries.filter(pl.col("unscrubbed").n_unique().over("query_id") > 1)
    seen = (
        several
        .join(pairs, left_on="upstream_id", right_on="query")
        .join(passages.select("upstream_id", "occupation"), left_on="passage", right_on="upstream_id")
        .drop_nulls("occupation")
        .unique(["query_id", "unscrubbed", "occupation"])
    )
    titles = pl.col("unscrubbed").n_unique()
    shared = seen.group_by("query_id", "occupation").agg(titles.alias("shared_by"))
    most = shared.group_by("query_id").agg(pl.col("shared_by").max())
    came = pl.col("unscrubbed").unique().alias("came")
    apart = seen.group_by("query_id", "key").agg(titles.alias("titles"), came).join(most, on="query_id")
    apart = apart.filter(pl.col("shared_by") < pl.col("titles")).sort("query_id")
    cues = [_is_announced(key, came) for key, came in apart.select("key", "came").iter_rows()]
    cue = pl.Series("cue", cues, dtype=pl.Boolean)
    return apart.select("query_id", "titles").with_columns(cue).cast(pl.Schema(SCRUB_MERGES))


def _is_announced(key: str, came: Sequence[str]) -> bool:
    """Return whether cues, or country codes of numbers, announce all that was replaced in titles."""
    if not has_uncued(key):
        return True
    return not has_uncued(key.replace("<phone>", " ")) and all(map(_INTERNATIONAL.search, came))

"""The funnel of each table: where rows went, counted where it happened, and the reasons in words. Pure.

No figure is the rest of the others, so that the check that they add up can fail.
"""

from dataclasses import dataclass
from enum import StrEnum

import polars as pl

from builders.lock.lock import Funnel
from builders.prepare.decisions import Resolved
from builders.spec import PAIR, Records, Relations, Retrieval, first_reason
from builders.text.merge import Merged


class Space(StrEnum):
    """What the id of a dropped row names: ids of two spaces may be equal, and name different things."""

    UPSTREAM = "upstream"
    """A row of the upstream."""
    UPSTREAM_PAIR = "upstream pair"
    """Two rows of the upstream: "query → passage"."""
    PUBLISHED = "published"
    """A row that rows of the upstream had become; the provenance names them."""
    PLACE = "place"
    """Where a file of the upstream could not be read: "file:line"."""


ROWS = {
    "no_id": "the upstream row had no id",
    "empty_query": "the query had no text",
    "no_query_words": "nothing was left of the query but markers and reference numbers",
    "no_positive": "no relevant passage was left",
    "empty_text": "the passage had no text",
    "empty_profile": "neither an occupation nor a skill was known",
    "dangling": "an end of the pair is no row of the upstream",
    "excluded": "auditors found the pair not relevant, or differed",
    "row_dropped": "an end of the pair was dropped",
    "malformed": "the upstream could not be read there",
    "no_title": "the document had no title",
    "no_text": "the document had no text beside its title",
    "no_genre": "the book had no genre",
    "several_genres": "the book had more than one genre",
    "no_topic": "the book had no topic",
    "many_topics": "the book had more than two topics",
    "not_newsroom": "the page was not from the newsroom",
    "user_page": "the page was written by readers",
    "no_section": "the article's path named no section",
    "removed": "the submission had been removed by moderators or by Reddit",
    "deleted": "the submission had been deleted by who wrote it",
    "missing": "Reddit knew no submission of that id, or the dump had none",
    "no_subreddit": "it was not known where the submission stood, or that was a user's own profile",
}
"""By reason, as in `dropped.parquet` and the funnel."""

PAIR_SEPARATOR = " → "
"""Between the two upstream ids of a pair in `dropped.parquet`."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Published queries and relations, observed pairs with published ids, what auditors decided, and losses.

    Losses have ``table``, ``id``, ``reason``: rows and pairs of the upstream, and queries without positive.
    """

    queries: pl.DataFrame
    pairs: pl.DataFrame
    resolved: Resolved
    relations: Relations
    lost_rows: pl.DataFrame
    lost_queries: pl.DataFrame
    lost_pairs: pl.DataFrame


def pair_losses(records: Records, dropped: pl.DataFrame) -> pl.DataFrame:
    """Find the upstream pairs that lost an end to `dropped`, where the table "rows" stands for both others.

    Returns:
        ``table`` "pairs", ``id`` "query → passage" in upstream ids, ``reason``: "dangling" where an end is no
        upstream row, else "row_dropped".
    """
    dangling, lost = [], []
    for end, table, rows in ("query", "queries", records.queries), ("passage", "passages", records.passages):
        gone = dropped.filter(pl.col("table").is_in([table, "rows"]))["id"]
        dangling.append(~pl.col(end).is_in(rows["upstream_id"].implode()))
        lost.append(pl.col(end).is_in(gone.implode()))
    reason = first_reason({"dangling": pl.any_horizontal(dangling), "row_dropped": pl.any_horizontal(lost)})
    name = pl.concat_str("query", "passage", separator=PAIR_SEPARATOR)
    return records.pairs.select(table=pl.lit("pairs"), id=name, reason=reason).drop_nulls("reason")


def without_id(records: Records) -> pl.DataFrame:
    """Return the upstream rows that came without an id: ``table``, ``id`` (file and row), ``reason``."""
    return records.nameless.select("table", "id", reason=pl.lit("no_id"))


def funnels(
    spec: Retrieval, records: Records, queries: Merged, passages: Merged, kept: Outcome
) -> tuple[Funnel, ...]:
    """Count the way of the rows of every table."""
    whole = spec.rows == "pair"
    nameless = dict(records.nameless.group_by("table").len().iter_rows())
    lost = pl.concat([kept.lost_rows, without_id(records)])
    rows = Funnel(
        table="rows",
        read=records.queries.height + nameless.get("rows", 0),
        dropped=by_reason(lost),
        out=records.queries.join(queries.ids, on="upstream_id", how="semi").height,
    )
    in_queries, in_passages = (lost.filter(pl.col("table") == name) for name in ("queries", "passages"))
    return (
        *((rows,) if whole else ()),
        Funnel(
            table="queries",
            read=rows.out if whole else records.queries.height + nameless.get("queries", 0),
            dropped=by_reason(pl.concat([in_queries, kept.lost_queries])),
            merged=_merged(queries),
            out=kept.queries.height,
        ),
        Funnel(
            table="passages",
            read=rows.out if whole else records.passages.height + nameless.get("passages", 0),
            dropped=by_reason(in_passages),
            merged=_merged(passages),
            out=passages.rows.height,
        ),
        _pairs(records, kept, nameless.get("rows" if whole else "pairs", 0)),
    )


def _pairs(records: Records, kept: Outcome, nameless: int) -> Funnel:
    """Follow every pair to the qrels, to the undecided pairs, or to the reason why it is in neither.

    Pairs that auditors found relevant are read beside the upstream's; those they excluded are dropped.
    """
    relevant, excluded = kept.resolved.relevant, kept.resolved.excluded
    pairs = pl.concat([kept.pairs.select(PAIR), relevant.select(PAIR)])
    distinct = pairs.unique()
    left = distinct.join(excluded, on=PAIR, how="anti")
    reasons = {
        "no_id": nameless,
        "excluded": distinct.join(excluded, on=PAIR, how="semi").height,
        "no_positive": left.join(kept.queries, on="query_id", how="anti").height,
    }
    return Funnel(
        table="pairs",
        read=records.pairs.height + relevant.height + nameless,
        dropped=by_reason(kept.lost_pairs) | {reason: count for reason, count in reasons.items() if count},
        merged=pairs.select(pl.struct(PAIR).is_first_distinct().not_().sum()).item(),
        undecided=left.join(kept.relations.undecided, on=PAIR, how="semi").height,
        out=left.join(kept.relations.qrels, on=PAIR, how="semi").height,
    )


def _merged(result: Merged) -> int:
    return result.ids.height - result.ids.drop("upstream_id").n_unique()


def by_reason(dropped: pl.DataFrame) -> dict[str, int]:
    """Count dropped rows by reason."""
    return dict(dropped.group_by("reason").len().sort("reason").iter_rows())


def in_space(dropped: pl.DataFrame, space: Space) -> pl.DataFrame:
    """Add to dropped rows (``table``, ``id``, ``reason``) what their ids name."""
    return dropped.select("table", "id", pl.lit(space.value).alias("space"), "reason")

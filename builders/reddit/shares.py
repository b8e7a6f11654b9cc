"""Sets of ids filled with texts, and how much of each set is left. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from builders.lock.lock import Frozen
from builders.reddit.texts import Texts
from builders.tables import CLUSTERING, SCHEMAS, Kind

COMPARABLE = 0.9
"""A set of which less is left is another set: its scores must not stand beside those of others."""
UNKNOWN = "unknown"
"""The reason of an id that nobody has asked about."""


class SetShare(Frozen):
    """What is left of a set.

    Attributes:
        number: Of the published set, from 1.
        published: How many ids it has.
        there: How many of them have a text now.
        share: The one by the other.
        comparable: Whether that is enough to compare scores.
        left_out: Whether the text tables lack it: fewer than two labels are left.
        gone: How many ids have no text, by reason.
    """

    number: int
    published: int
    there: int
    share: float
    comparable: bool
    left_out: bool
    gone: dict[str, int]


@dataclass(frozen=True, slots=True)
class Filled:
    """Text tables in the published layout, row by row the same documents.

    Attributes:
        tables: By variant, ``sentences``, ``labels``, ``level``: one row per set that is not left out.
        shares: Of every published set.
    """

    tables: dict[str, pl.DataFrame]
    shares: tuple[SetShare, ...]


def fill_sets(published: pl.DataFrame, texts: Texts, statuses: pl.DataFrame, *, level: str) -> Filled:
    """Put texts in the place of ids.

    Args:
        published: ``submission_ids``, ``labels``: lists of str, one row per set.
        texts: Of the submissions that are there.
        statuses: ``id``, ``status`` str of all that are known.
        level: What the labels are.
    """
    members = (
        published
        .with_row_index("set", offset=1)
        .rename({"submission_ids": "id", "labels": "label"})
        .explode("id", "label")
        .join(texts.documents, on="id", how="left", maintain_order="left")
        .join(texts.dropped, on="id", how="left", maintain_order="left")
        .join(statuses.select("id", "status"), on="id", how="left", maintain_order="left")
    )
    reason = pl.coalesce("reason", "status").fill_null(UNKNOWN)
    gone = (
        members.filter(pl.col("s2s").is_null()).group_by("set", reason.alias("reason")).len().sort("reason")
    )
    left = members.drop_nulls("s2s")
    usable = left.filter(pl.col("label").n_unique().over("set") > 1)
    tables = {variant: _table(usable, variant, kind, level) for variant, kind in CLUSTERING.items()}
    return Filled(tables, tuple(_shares(published, left, gone, set(usable["set"].to_list()))))


def _table(members: pl.DataFrame, variant: str, kind: Kind, level: str) -> pl.DataFrame:
    sets = members.group_by("set", maintain_order=True).agg(sentences=variant, labels="label")
    return sets.select("sentences", "labels", level=pl.lit(level)).cast(pl.Schema(SCHEMAS[kind]))


def _shares(
    published: pl.DataFrame, left: pl.DataFrame, gone: pl.DataFrame, usable: set[int]
) -> Iterator[SetShare]:
    there = dict(left.group_by("set").len().iter_rows())
    reasons: dict[int, dict[str, int]] = {}
    for number, reason, count in gone.iter_rows():
        reasons.setdefault(number, {})[reason] = count
    for number, ids in enumerate(published["submission_ids"].list.len().to_list(), 1):
        share = there.get(number, 0) / max(ids, 1)
        yield SetShare(
            number=number,
            published=ids,
            there=there.get(number, 0),
            share=share,
            comparable=share >= COMPARABLE,
            left_out=number not in usable,
            gone=reasons.get(number, {}),
        )

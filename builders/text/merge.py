"""Merging duplicates: same text, same id, made of its hash."""

import hashlib
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from builders.errors import FindingsError

Ids = Literal["upstream", "content"]
DIGITS = 16


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows of which no two are the same text, and where each upstream row went.

    Attributes:
        rows: ``query_id`` or ``passage_id`` str and the text columns, sorted by id.
        ids: ``upstream_id`` str and that id: one row per upstream row, sorted by ``upstream_id``.
    """

    rows: pl.DataFrame
    ids: pl.DataFrame


def digest(text: str) -> str:
    """Return the first 16 hex digits of blake2b (default digest size) of a normalised text in UTF-8."""
    return hashlib.blake2b(text.encode()).hexdigest()[:DIGITS]


def encoded_text(passages: pl.DataFrame) -> pl.Series:
    """Return what an encoder sees of passages (``title`` str or null, ``text`` str), null where the text is.

    That is ``title + " " + text``, stripped.
    """
    joined = (pl.col("title").fill_null("") + " " + pl.col("text")).str.strip_chars()
    return passages.select(joined.alias("encoded")).to_series()


def merge_queries(frame: pl.DataFrame, ids: Ids) -> Merged:
    """Make queries with equal keys one query.

    The displayed text is the key's most frequent one, of several equally frequent ones the smallest by code
    point. The result does not depend on the order of the rows.

    Args:
        frame: ``upstream_id`` str, ``text`` str, ``key`` str, without nulls.
        ids: "upstream": the smallest upstream id survives; "content": "q-" and the hash of the key.

    Returns:
        Rows with ``query_id``, ``text``, ``key``.
    """
    forms = frame.group_by("key", "text").len()
    shown = forms.sort(["len", "text"], descending=[True, False]).group_by("key").agg(pl.col("text").first())
    return _merged(frame.select("upstream_id", "key"), shown, ids, "query_id", "q-")


def merge_passages(frame: pl.DataFrame, ids: Ids) -> Merged:
    """Make passages that are encoded as the same text one passage.

    Args:
        frame: ``upstream_id`` str, ``title`` str, ``text`` str, without nulls.
        ids: "upstream": the smallest upstream id survives, with its title and text; "content": "d-" and the
            hash of the encoded text, with the smallest title.

    Returns:
        Rows with ``passage_id``, ``title``, ``text``.
    """
    keyed = frame.select("upstream_id", "title", "text").with_columns(key=encoded_text(frame))
    order = ["upstream_id", "title", "text"] if ids == "upstream" else ["title", "text"]
    shown = keyed.sort(order).group_by("key").agg(pl.col("title", "text").first())
    merged = _merged(keyed.select("upstream_id", "key"), shown, ids, "passage_id", "d-")
    return replace(merged, rows=merged.rows.drop("key"))


def _merged(rows: pl.DataFrame, shown: pl.DataFrame, ids: Ids, name: str, prefix: str) -> Merged:
    """Give every key its id in the column `name`; `shown` has the texts of each key."""
    if ids == "upstream":
        keys = rows.group_by("key").agg(pl.col("upstream_id").min().alias(name))
    else:
        distinct = rows.get_column("key").unique()
        hashed = [prefix + digest(key) for key in distinct.to_list()]
        keys = pl.DataFrame({"key": distinct, name: pl.Series(hashed, dtype=pl.String)})
    _refuse_collisions(keys, name)
    return Merged(
        rows=keys.join(shown, on="key").select(name, pl.exclude(name, "key"), "key").sort(name),
        ids=rows.join(keys, on="key").select("upstream_id", name).sort("upstream_id", name),
    )


def _refuse_collisions(keys: pl.DataFrame, name: str) -> None:
    shared = keys.filter(pl.col(name).is_duplicated()).sort(name, "key")
    if shared.is_empty():
        return
    first, second = shared.get_column("key").head(2).to_list()
    raise FindingsError(
        f"id {shared.item(0, name)!r} stands for two texts: {first[:120]!r} and {second[:120]!r}",
        hint="Upstream ids must be unique; if these are hashes, the two texts cannot both be published.",
    )

"""The published tables of a subject as the rules read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from builders.built import stack
from builders.checks.model import AnySubject, ClusteringSubject, IdsSubject, Subject
from builders.tables import CLUSTERING, PAIR, RETRIEVAL, SCHEMAS, Kind


def columns_of(kind: Kind) -> dict[str, pl.DataType]:
    """Return the columns of a published table and their polars dtypes, in order."""
    return dict(pl.Schema(SCHEMAS[kind]))


def kinds_of(subject: AnySubject) -> tuple[Kind, ...]:
    """Return the kinds of table that the config publishes."""
    if isinstance(subject, ClusteringSubject):
        return tuple(CLUSTERING.values())
    if isinstance(subject, IdsSubject):
        return (Kind.CLUSTERING_IDS,)
    return tuple(kind for kind in RETRIEVAL if kind is not Kind.HARD_NEGATIVES or subject.spec.mining)


def stacked(subject: Subject, kind: Kind) -> pl.DataFrame:
    """Return all splits of a table below each other, with a column ``split`` str."""
    return stack(subject.tables.get(kind, {}), kind)


@dataclass(frozen=True, slots=True)
class Astray:
    """Rows of a table of pairs whose ends are not where they must be.

    Attributes:
        unknown: The query is in no split.
        elsewhere: The query is in another split.
        dangling: The passage is not in the corpus.
    """

    unknown: pl.DataFrame
    elsewhere: pl.DataFrame
    dangling: pl.DataFrame


def astray(subject: Subject, kind: Kind) -> Astray:
    """Follow both ends of every pair in the qrels or the hard negatives."""
    pairs, queries, corpus = (stacked(subject, each) for each in (kind, Kind.QUERIES, Kind.CORPUS))
    absent = pairs.join(queries, left_on=["query-id", "split"], right_on=["_id", "split"], how="anti")
    return Astray(
        unknown=absent.join(queries, left_on="query-id", right_on="_id", how="anti"),
        elsewhere=absent.join(queries, left_on="query-id", right_on="_id", how="semi"),
        dangling=pairs.join(corpus, left_on="corpus-id", right_on="_id", how="anti"),
    )


def repeated_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Return the pairs that occur more than once, with ``times``."""
    return pairs.group_by(PAIR).len("times").filter(pl.col("times") > 1)


def encoded() -> pl.Expr:
    """Return what an encoder sees of a passage: title and text with a space between, stripped."""
    return pl.concat_str("title", "text", separator=" ").str.strip_chars()


def keyed(texts: pl.Series, key: Callable[[str], str]) -> pl.Series:
    """Apply a config's key function to texts; a null stays null."""
    values = [None if text is None else key(text) for text in texts.to_list()]
    return pl.Series(texts.name, values, dtype=pl.String)

"""Rules on the ids of queries and passages."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, error, line
from builders.checks.subject import Pairs, Rule, keyed, stacked
from builders.tables import Kind
from builders.text.merge import encoded_text

_UPSTREAM = "Give such rows another id, or drop them with a reason, before they are published."
_MERGE = "Rows with one id must be merged before they are written: look at the config's `ids`."

_EMPTY = error("id-empty", "ids that are empty", _UPSTREAM)
_MALFORMED = error("id-malformed", "ids with white space or control characters", _UPSTREAM)
_DUPLICATE = error("id-duplicate", "ids that occur more than once in a table", _MERGE)
_ACROSS = error(
    "id-across-splits",
    "query ids that occur in more than one split",
    "A query belongs to one split: look for it in the config's splits.tsv.",
)
_SHARED = error(
    "id-shared",
    "ids that are a query's and a passage's",
    "Give queries and passages different prefixes: evaluators may drop a pair with equal ids.",
)
_CONTENT = error(
    "id-content",
    "ids that do not follow from their text",
    "The text was changed after its id was made: make ids last, from the text that is published.",
)


def _ids(subject: Pairs) -> pl.DataFrame:
    return pl.concat(
        stacked(subject, kind).select(table=pl.lit(str(kind)), split="split", id=key)
        for kind, key in ((Kind.CORPUS, "passage_id"), (Kind.QUERIES, "query_id"))
    )


def _form(subject: Pairs) -> Iterator[Finding]:
    """Demand ids that are words: neither empty nor broken by white space."""
    ids = _ids(subject)
    yield from _EMPTY.rows(ids.filter(pl.col("id") == ""), line("{}/{}", "table", "split"))
    malformed = ids.filter(pl.col("id").str.contains(r"[\s\p{C}]"))
    yield from _MALFORMED.rows(malformed, line("{}/{} {}", "table", "split", "id"))


def _uniqueness(subject: Pairs) -> Iterator[Finding]:
    """Demand ids that name one row of one table of one split."""
    ids = _ids(subject)
    repeated = ids.group_by("table", "split", "id").len("times").filter(pl.col("times") > 1)
    yield from _DUPLICATE.rows(repeated, line("{}/{} {}: {} times", "table", "split", "id", "times"))
    queries = ids.filter(pl.col("table") == Kind.QUERIES)
    splits = queries.unique(maintain_order=True).group_by("id").agg(pl.col("split"))
    across = splits.filter(pl.col("split").list.len() > 1).with_columns(pl.col("split").list.join(", "))
    yield from _ACROSS.rows(across, line("{}: {}", "id", "split"))
    passages = ids.filter(pl.col("table") == Kind.CORPUS)
    shared = queries.join(passages, on="id", how="semi").select("id").unique()
    yield from _SHARED.rows(shared, line("{}", "id"))


def _content(subject: Pairs) -> Iterator[Finding]:
    """Derive ids anew, the first 16 hex digits of blake2b of a key, without the code that made them."""
    if subject.spec.ids != "content":
        return
    corpus, queries = stacked(subject, Kind.CORPUS), stacked(subject, Kind.QUERIES)
    keys = keyed(queries["text"], subject.spec.query_key)
    each = pl.concat([
        _derived("corpus", "d", corpus.select("split", id="passage_id"), encoded_text(corpus)),
        _derived("queries", "q", queries.select("split", id="query_id"), keys),
    ])
    wrong = each.filter(pl.col("id") != pl.col("expected"))
    yield from _CONTENT.rows(wrong, line("{}/{} {}: {} expected", "table", "split", "id", "expected"))


def _derived(table: str, prefix: str, rows: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    expected = keyed(keys, lambda key: f"{prefix}-{hashlib.blake2b(key.encode()).hexdigest()[:16]}")
    return rows.with_columns(table=pl.lit(table), expected=expected)


RULES: tuple[Rule, ...] = (_form, _uniqueness, _content)

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

EMPTY = error("id-empty", "ids that are empty", _UPSTREAM)
MALFORMED = error("id-malformed", "ids with white space or control characters", _UPSTREAM)
DUPLICATE = error("id-duplicate", "ids that occur more than once in a table", _MERGE)
ACROSS = error(
    "id-across-splits",
    "query ids that occur in more than one split",
    "A query belongs to one split: look for it in the config's splits.tsv.",
)
SHARED = error(
    "id-shared",
    "ids that are a query's and a passage's",
    "Give queries and passages different prefixes: evaluators may drop a pair with equal ids.",
)
CONTENT = error(
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
    """Ids are words: neither empty nor broken by white space."""
    ids = _ids(subject)
    yield from EMPTY.rows(ids.filter(pl.col("id") == ""), line("{}/{}", "table", "split"))
    malformed = ids.filter(pl.col("id").str.contains(r"[\s\p{C}]"))
    yield from MALFORMED.rows(malformed, line("{}/{} {}", "table", "split", "id"))


def _uniqueness(subject: Pairs) -> Iterator[Finding]:
    """An id names one row of one table of one split."""
    ids = _ids(subject)
    repeated = ids.group_by("table", "split", "id").len("times").filter(pl.col("times") > 1)
    yield from DUPLICATE.rows(repeated, line("{}/{} {}: {} times", "table", "split", "id", "times"))
    queries = ids.filter(pl.col("table") == Kind.QUERIES)
    splits = queries.unique(maintain_order=True).group_by("id").agg(pl.col("split"))
    across = splits.filter(pl.col("split").list.len() > 1).with_columns(pl.col("split").list.join(", "))
    yield from ACROSS.rows(across, line("{}: {}", "id", "split"))
    passages = ids.filter(pl.col("table") == Kind.CORPUS)
    shared = queries.join(passages, on="id", how="semi").select("id").unique()
    yield from SHARED.rows(shared, line("{}", "id"))


def _content(subject: Pairs) -> Iterator[Finding]:
    """Derived ids are the first 16 hex digits of blake2b of what they stand for.

    Computed here from the published text, not by the code that made the ids.
    """
    if subject.spec.ids != "content":
        return
    corpus = stacked(subject, Kind.CORPUS)
    corpus = corpus.select("split", id="passage_id", key=encoded_text(corpus), table=pl.lit("corpus"))
    queries = stacked(subject, Kind.QUERIES)
    keys = keyed(queries["text"], subject.spec.query_key)
    queries = queries.select("split", id="query_id", key=keys, table=pl.lit("queries"))
    expected = [
        keyed(corpus["key"], lambda text: f"d-{_digest(text)}"),
        keyed(queries["key"], lambda text: f"q-{_digest(text)}"),
    ]
    wrong = (
        pl
        .concat([corpus, queries])
        .with_columns(expected=pl.concat(expected))
        .filter(pl.col("id") != pl.col("expected"))
    )
    yield from CONTENT.rows(wrong, line("{}/{} {}: {} expected", "table", "split", "id", "expected"))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode()).hexdigest()[:16]


RULES: tuple[Rule, ...] = (_form, _uniqueness, _content)

"""Rules on the splits: no twin in another split, assignments that stay, ratios."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from builders.checks.findings import Code, line
from builders.checks.frames import keyed, stacked
from builders.checks.model import Finding, Severity, Subject
from builders.tables import Kind
from builders.text.digest import digest

RATIOS = {"train": 0.8, "dev": 0.1, "test": 0.1}
_FAR_OFF = 0.05

TWINS = Code(
    "twins-across-splits",
    Severity.ERROR,
    "groups whose queries lie in more than one split",
    "Deal whole groups: look at the config's `group_key` and its splits.tsv.",
)
COMMITTED = Code(
    "twins-committed",
    Severity.NOTE,
    "groups that lie in more than one split since an earlier version",
    "They stay where they were published; the next major version may deal them anew.",
)
MOVED = Code(
    "split-moved",
    Severity.ERROR,
    "queries that left the split they are committed to",
    "The committed splits.tsv is an input: give it to the build.",
)
RATIO = Code(
    "split-ratio",
    Severity.GATE,
    "queries above their split's share",
    "Large groups or many removed queries do this: waive it, or deal anew with a major version.",
)
CODES = (TWINS, COMMITTED, MOVED, RATIO)


def check(subject: Subject, committed: pl.DataFrame | None) -> Iterator[Finding]:
    """Apply all rules on splits.

    Args:
        subject: The built config.
        committed: ``_id`` str, ``group`` str (the key's hash), ``split`` str: the assignment of an earlier
            version, None before the first.
    """
    published = _grouped(subject)
    earlier = published.clear() if committed is None else committed
    yield from _twins(published, earlier)
    yield from _moved(published, earlier)
    yield from _ratio(published)


def _grouped(subject: Subject) -> pl.DataFrame:
    queries = stacked(subject, Kind.QUERIES)
    groups = keyed(keyed(queries["text"], subject.spec.query_key), subject.spec.group_key)
    return queries.select("_id", "split", "text", group=keyed(groups, digest))


def _twins(published: pl.DataFrame, earlier: pl.DataFrame) -> Iterator[Finding]:
    """A group that spans splits is excused only if it spanned them when it was committed.

    Its committed members are known by their id, and by their group's hash where they are gone since.
    """
    still_there = published.join(earlier, on=["_id", "split"], how="semi")
    known = pl.concat([frame.select("group", "split") for frame in (still_there, earlier)])
    excused = known.unique().filter(pl.col("group").is_duplicated())
    spanning, example = _spanning(published), line("{}: {}", "split", "texts")
    yield from TWINS.rows(spanning.join(excused, on="group", how="anti"), example)
    yield from COMMITTED.rows(spanning.join(excused, on="group", how="semi"), example)


def _spanning(queries: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("text").sort().head(3).str.join(" | ").alias("texts")
    splits = pl.col("split").unique(maintain_order=True)
    grouped = queries.group_by("group").agg(splits, first).filter(pl.col("split").list.len() > 1)
    return grouped.with_columns(pl.col("split").list.join(", "))


def _moved(published: pl.DataFrame, earlier: pl.DataFrame) -> Iterator[Finding]:
    both = published.join(earlier.select("_id", committed="split"), on="_id")
    moved = both.filter(pl.col("split") != pl.col("committed"))
    yield from MOVED.rows(moved, line("{}: {}, committed to {}", "_id", "split", "committed"))


def _ratio(published: pl.DataFrame) -> Iterator[Finding]:
    total = published.height
    sizes = {split: published.filter(pl.col("split") == split).height for split in RATIOS}
    excess = {split: sizes[split] - ratio * total for split, ratio in RATIOS.items()}
    tolerated = _FAR_OFF * total + 1
    if any(abs(difference) > tolerated for difference in excess.values()):
        shares = ", ".join(f"{split} {size / total:.1%}" for split, size in sizes.items())
        above = round(sum(difference for difference in excess.values() if difference > 0))
        yield from RATIO.counted(above, message=f"far off 80/10/10: {shares}")

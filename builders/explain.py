"""Explain where a published id comes from, and why a row was dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders import registry
from builders.built import Built, read_all
from builders.errors import UsageError
from builders.prepare.funnels import PAIR_SEPARATOR, ROWS, Space
from builders.spec import PAIR, Clustering, ConfigSpec, Ids, Retrieval
from builders.tables import Kind, inside, read_frame

_MOST_IDS = 10


@dataclass(frozen=True, slots=True)
class Published:
    """A published query or passage.

    Attributes:
        table: "queries" or "corpus".
        upstream_ids: The upstream rows that became it.
        relevant: Ids on the other side of its qrels.
        negatives: A query's hard negatives by rank; the queries that a passage is a negative of.
    """

    config: str
    table: str
    id: str
    split: str
    text: str
    upstream_ids: tuple[str, ...]
    relevant: tuple[str, ...]
    negatives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Dropped:
    """A row that was not published; `meaning` puts `reason` in words."""

    config: str
    table: str
    id: str
    reason: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ClusteredDocument:
    """A document of clustering sets: its sentence in s2s and its places, "set 3 (coarse), row 17: Sport"."""

    config: str
    id: str
    title: str
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubmissionStatus:
    """A submission of which the id alone is published.

    Attributes:
        status: "ok", "removed", "deleted" or "missing".
        subreddit: Its subreddit; empty where that is not known.
        checked: The day of the status.
        sets: Its places, each as "set 3, row 17".
    """

    config: str
    id: str
    status: str
    subreddit: str
    checked: str
    sets: tuple[str, ...]


Explained = Published | ClusteredDocument | SubmissionStatus | Dropped


def explain(
    out: Path, wanted: str, *, load: Callable[[str], ConfigSpec] = registry.load
) -> tuple[Explained, ...]:
    """Find an id among published ids, upstream ids and dropped rows of everything built under a folder.

    Raises:
        UsageError: The id is nowhere.
    """
    configs = read_all(out, load)
    found = tuple(row for built in configs for row in _search(built, wanted))
    if not found:
        names = ", ".join(built.spec.name for built in configs)
        hint = "Ids are compared whole and as they are written; look for it in the tables first."
        raise UsageError(f"{wanted!r} is no published, upstream or dropped id of {names}", hint=hint)
    return found


def _search(built: Built, wanted: str) -> Iterator[Explained]:
    assert built.work is not None
    provenance = inside("provenance", read_frame(built.work / "provenance.parquet"))
    dropped = read_frame(built.work / "dropped.parquet")
    places = provenance.filter(pl.col("upstream_id") == wanted)
    if isinstance(built.spec, Ids):
        yield from _submission(built, read_frame(built.work / "statuses.parquet"), places, wanted)
    elif isinstance(built.spec, Clustering):
        yield from _document(built, places, wanted)
    if not isinstance(built.spec, Retrieval):
        provenance = provenance.clear()
    hits = provenance.filter((pl.col("id") == wanted) | (pl.col("upstream_id") == wanted))
    # A row that was dropped after merging is listed under the id that the merged rows share.
    merged = dropped.filter(pl.col("space") == Space.PUBLISHED).join(hits, on=["table", "id"], how="semi")
    # The end of a pair that is no row of the upstream is known by its pairs alone.
    ends = pl.col("id").str.split(PAIR_SEPARATOR).list.contains(wanted)
    ends &= pl.col("space") == Space.UPSTREAM_PAIR
    dangling = dropped.filter(ends & (pl.col("reason") == "dangling") & hits.is_empty())
    whole = dropped.filter(pl.col("space") != Space.PUBLISHED, pl.col("id") == wanted)
    dropped = pl.concat([whole, merged, dangling]).unique(maintain_order=True)
    for table, published_id in hits.select("table", "id").unique().sort("table", "id").iter_rows():
        yield from _published(built, provenance, table, published_id)
    for table, row_id, reason in dropped.select("table", "id", "reason").iter_rows():
        yield Dropped(built.spec.name, table, row_id, reason, ROWS.get(reason, reason))


def _document(built: Built, places: pl.DataFrame, wanted: str) -> Iterator[ClusteredDocument]:
    if places.is_empty():
        return
    found = (
        built
        .table(Kind.CLUSTERING_S2S, "test")
        .with_columns(set=pl.int_range(1, pl.len() + 1))
        .join(places.select("row", set=pl.col("id").cast(pl.Int64)), on="set")
        .with_columns(pl.col("sentences", "labels").list.get(pl.col("row") - 1))
        .sort("set", "row")
    )
    where = found.select(pl.format("set {} ({}), row {}: {}", "set", "level", "row", "labels")).to_series()
    yield ClusteredDocument(built.spec.name, wanted, found["sentences"][0], tuple(where))


def _submission(
    built: Built, statuses: pl.DataFrame, places: pl.DataFrame, wanted: str
) -> Iterator[SubmissionStatus]:
    sets = tuple(places.select(pl.format("set {}, row {}", "id", "row")).to_series())
    known = statuses.filter(pl.col("id") == wanted)
    columns = known.select("status", pl.col("subreddit").fill_null(""), "checked")
    for status, subreddit, checked in columns.iter_rows():
        yield SubmissionStatus(built.spec.name, wanted, status, subreddit, checked, sets)


def _published(built: Built, provenance: pl.DataFrame, table: str, wanted: str) -> Iterator[Published]:
    kind, (own, other) = (Kind.QUERIES, PAIR) if table == "queries" else (Kind.CORPUS, PAIR[::-1])
    rows = built.stacked(kind).filter(pl.col(own) == wanted)
    qrels = built.stacked(Kind.QRELS).filter(pl.col(own) == wanted)
    negatives = built.stacked(Kind.HARD_NEGATIVES).filter(pl.col(own) == wanted).sort("rank", other)
    origin = provenance.filter((pl.col("table") == table) & (pl.col("id") == wanted))
    for split, text in rows.select("split", "text").head(1).iter_rows():
        yield Published(
            config=built.spec.name,
            table=table,
            id=wanted,
            split=split,
            text=text,
            upstream_ids=tuple(origin["upstream_id"].sort()),
            relevant=tuple(qrels[other].sort()),
            negatives=tuple(negatives[other]),
        )


def lines(row: Explained) -> Iterator[str]:
    """Describe a row in a few lines."""
    match row:
        case Dropped():
            yield f"{row.id}: dropped from {row.config} {row.table}: {row.reason} ({row.meaning})"
        case SubmissionStatus():
            where = f" in r/{row.subreddit}" if row.subreddit else ""
            yield f"{row.id}: {row.config}, {row.status}{where} on {row.checked}"
            yield from _places(row.sets or ("no clustering set",))
        case ClusteredDocument():
            yield f"{row.id}: {row.config}, in {len(row.sets)} clustering sets"
            yield f"  title      {row.title}"
            yield from _places(row.sets)
        case Published():
            yield f"{row.id}: {row.config}-{row.table}, split {row.split}"
            yield f"  text       {row.text}"
            yield f"  upstream   {_some(row.upstream_ids)}"
            yield f"  relevant   {_some(row.relevant)}"
            yield f"  negatives  {_some(row.negatives)}"


def _places(sets: tuple[str, ...]) -> Iterator[str]:
    for number, place in enumerate(sets):
        yield f"  {'' if number else 'stands in':<10} {place}"


def _some(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - _MOST_IDS:,} more" if len(ids) > _MOST_IDS else ""
    return ", ".join(ids[:_MOST_IDS]) + more if ids else "none"

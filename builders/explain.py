"""Where a published id comes from, and why a row was dropped."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.errors import StorageError, UsageError
from builders.lock.lock import Lock, read_lock, work_folder
from builders.prepare.funnels import PAIR_SEPARATOR
from builders.prepare.reasons import ROWS, Space
from builders.tables import SPLITS, Kind, published_path, read_frame

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Published:
    """A published query or passage.

    Attributes:
        config: The builder's name.
        table: "queries" or "corpus".
        id: The published id.
        split: Where it lies.
        text: What is published.
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
    """A row that was not published; `meaning` says `reason` in words."""

    config: str
    table: str
    id: str
    reason: str
    meaning: str


@dataclass(frozen=True, slots=True)
class InSets:
    """A document that clustering sets hold.

    Attributes:
        config: The builder's name.
        id: The upstream id.
        title: Its sentence in s2s.
        sets: Where it stands, each as "set 3 (coarse), row 17: Sport".
    """

    config: str
    id: str
    title: str
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """A submission of which the id alone is published.

    Attributes:
        config: The builder's name.
        id: The submission's.
        status: What became of it: "ok", "removed", "deleted", "missing".
        subreddit: Where it stands; empty where that is not known.
        checked: The day on which that was so.
        sets: Where it stands, each as "set 3, row 17".
    """

    config: str
    id: str
    status: str
    subreddit: str
    checked: str
    sets: tuple[str, ...]


Explained = Published | InSets | Asked | Dropped


def explain(out: Path, wanted: str) -> tuple[Explained, ...]:
    """Find an id among published ids, upstream ids and dropped rows of everything built under `out`.

    Raises:
        StorageError: Nothing was built there.
        UsageError: The id is nowhere.
    """
    locks = [read_lock(path) for path in sorted((out / "work").glob("*/lock.json"))]
    if not locks:
        raise StorageError(f"{out}: nothing was built there", hint="Run mteb-de build first, or pass --out.")
    found = tuple(row for lock in locks for row in _search(out, lock, wanted))
    if not found:
        names = ", ".join(lock.config for lock in locks)
        hint = "Ids are compared whole and as they are written; look for it in the tables first."
        raise UsageError(f"{wanted!r} is no published, upstream or dropped id of {names}", hint=hint)
    return found


def _search(out: Path, lock: Lock, wanted: str) -> Iterator[Explained]:
    work = work_folder(out, lock.config)
    provenance = read_frame(work / "provenance.parquet")
    dropped = read_frame(work / "dropped.parquet")
    if lock.clustering is not None:
        statuses = work / "statuses.parquet"
        if statuses.exists():
            yield from _asked(lock, read_frame(statuses), provenance, wanted)
        else:
            yield from _in_sets(out, lock, provenance, wanted)
        provenance = provenance.clear()
    hits = provenance.filter((pl.col("_id") == wanted) | (pl.col("upstream_id") == wanted))
    # A row that was dropped after merging is listed under the id that the merged rows share.
    merged = dropped.filter(pl.col("space") == Space.PUBLISHED).join(
        hits, left_on=["table", "id"], right_on=["table", "_id"], how="semi"
    )
    # The end of a pair that is no row of the upstream is known by its pairs alone.
    ends = pl.col("id").str.split(PAIR_SEPARATOR).list.contains(wanted)
    ends &= pl.col("space") == Space.UPSTREAM_PAIR
    dangling = dropped.filter(ends & (pl.col("reason") == "dangling") & hits.is_empty())
    whole = dropped.filter(pl.col("space") != Space.PUBLISHED, pl.col("id") == wanted)
    dropped = pl.concat([whole, merged, dangling]).unique(maintain_order=True)
    for table, published_id in hits.select("table", "_id").unique().sort("table", "_id").iter_rows():
        row = _published(out, lock, provenance, table, published_id)
        if row is not None:
            yield row
    for table, row_id, reason in dropped.select("table", "id", "reason").iter_rows():
        yield Dropped(lock.config, table, row_id, reason, ROWS.get(reason, reason))


def _in_sets(out: Path, lock: Lock, provenance: pl.DataFrame, wanted: str) -> Iterator[InSets]:
    places = provenance.filter(pl.col("upstream_id") == wanted).select(
        row="row", set=pl.col("_id").cast(pl.Int64)
    )
    if places.is_empty():
        return
    sets = read_frame(out / lock.release / published_path(lock.config, Kind.CLUSTERING_S2S, "test"))
    found = (
        sets
        .with_columns(set=pl.int_range(1, pl.len() + 1))
        .join(places, on="set")
        .with_columns(pl.col("sentences", "labels").list.get(pl.col("row") - 1))
        .sort("set", "row")
    )
    where = found.select(pl.format("set {} ({}), row {}: {}", "set", "level", "row", "labels")).to_series()
    yield InSets(lock.config, wanted, found["sentences"][0], tuple(where))


def _asked(lock: Lock, statuses: pl.DataFrame, provenance: pl.DataFrame, wanted: str) -> Iterator[Asked]:
    places = provenance.filter(pl.col("upstream_id") == wanted).select(
        pl.format("set {}, row {}", "_id", "row")
    )
    known = statuses.filter(pl.col("id") == wanted).select(
        "status", pl.col("subreddit").fill_null(""), "checked"
    )
    for status, subreddit, checked in known.iter_rows():
        sets = tuple(places.to_series())
        yield Asked(lock.config, wanted, status, subreddit, checked, sets)


def _published(out: Path, lock: Lock, provenance: pl.DataFrame, table: str, wanted: str) -> Published | None:
    kind, own, other = (
        (Kind.QUERIES, "query-id", "corpus-id")
        if table == "queries"
        else (Kind.CORPUS, "corpus-id", "query-id")
    )
    row = _rows(out, lock, kind).filter(pl.col("_id") == wanted)
    if row.is_empty():
        return None
    qrels = _rows(out, lock, Kind.QRELS).filter(pl.col(own) == wanted)
    negatives = _rows(out, lock, Kind.HARD_NEGATIVES)
    if not negatives.is_empty():
        negatives = negatives.filter(pl.col(own) == wanted).sort("rank", other)
    origin = provenance.filter((pl.col("table") == table) & (pl.col("_id") == wanted))
    return Published(
        config=lock.config,
        table=table,
        id=wanted,
        split=row["split"][0],
        text=row["text"][0],
        upstream_ids=tuple(origin["upstream_id"].sort()),
        relevant=tuple(qrels[other].sort()),
        negatives=tuple(negatives[other]) if other in negatives.columns else (),
    )


def _rows(out: Path, lock: Lock, kind: Kind) -> pl.DataFrame:
    splits = ("corpus",) if kind is Kind.CORPUS else SPLITS
    paths = {split: out / lock.release / published_path(lock.config, kind, split) for split in splits}
    frames = [
        read_frame(path).with_columns(split=pl.lit(split)) for split, path in paths.items() if path.exists()
    ]
    return pl.concat(frames) if frames else pl.DataFrame()


def lines(row: Explained) -> Iterator[str]:
    """Tell it in words, a few lines long."""
    if isinstance(row, Dropped):
        yield f"{row.id}: dropped from {row.config} {row.table}: {row.reason} ({row.meaning})"
        return
    if isinstance(row, Asked):
        where = f" in r/{row.subreddit}" if row.subreddit else ""
        yield f"{row.id}: {row.config}, {row.status}{where} on {row.checked}"
        first, *others = row.sets or ("no clustering set",)
        yield f"  stands in  {first}"
        yield from (f"  {'':<10} {place}" for place in others)
        return
    if isinstance(row, InSets):
        yield f"{row.id}: {row.config}, in {len(row.sets)} clustering sets"
        yield f"  title      {row.title}"
        for number, place in enumerate(row.sets):
            yield f"  {'' if number else 'stands in':<10} {place}"
        return
    yield f"{row.id}: {row.config}-{row.table}, split {row.split}"
    yield f"  text       {row.text}"
    yield f"  upstream   {_some(row.upstream_ids)}"
    yield f"  relevant   {_some(row.relevant)}"
    yield f"  negatives  {_some(row.negatives)}"


def _some(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more if ids else "none"

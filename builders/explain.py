"""Explain where a published id comes from, and why a row was dropped."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from builders import registry
from builders.built import Built, read_all
from builders.errors import UsageError
from builders.prepare.funnels import PAIR_SEPARATOR, ROWS, Space
from builders.printable import counted, shortened
from builders.spec import PAIR, Clustering, ConfigSpec, Ids, Retrieval
from builders.tables import MINED, Kind, inside, read_frame

_ALWAYS = {"upstream_ids", "relevant", "negatives"}
"""What is shown of an id also where it is none."""


class _Found(NamedTuple):
    """A place where an id was found: its facts by name, and the same in a few lines."""

    facts: dict[str, Any]
    lines: list[str]


def explain(
    out: Path, wanted: str, *, load: Callable[[str], ConfigSpec] = registry.load
) -> tuple[_Found, ...]:
    """Find an id among published ids, upstream ids and dropped rows of everything built under a folder.

    Raises:
        UsageError: The id is nowhere.
    """
    configs = read_all(out, load)
    found = tuple(one for built in configs for one in _search(built, wanted))
    if not found:
        names = ", ".join(built.spec.name for built in configs)
        hint = "Ids are compared whole and as they are written; look for it in the tables first."
        raise UsageError(f"{wanted!r} is no published, upstream or dropped id of {names}", hint=hint)
    return found


def _search(built: Built, wanted: str) -> Iterator[_Found]:
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
    for facts in dropped.select("table", "id", "reason").iter_rows(named=True):
        reason, config = facts["reason"], built.spec.name
        meaning = ROWS.get(reason, reason)
        why = f"{facts['id']}: dropped from {config} {facts['table']}: {reason} ({meaning})"
        yield _Found(facts | {"config": config, "meaning": meaning}, [why])


def _document(built: Built, places: pl.DataFrame, wanted: str) -> Iterator[_Found]:
    """Find the title of a document and its places in clustering sets."""
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
    where = pl.format("set {} ({}), row {}: {}", "set", "level", "row", "labels")
    sets, title = found.select(where).to_series().to_list(), found["sentences"][0]
    first = f"{wanted}: {built.spec.name}, in {counted(len(sets), 'clustering set')}"
    facts = {"config": built.spec.name, "id": wanted, "title": title, "sets": sets}
    yield _Found(facts, [first, f"  title      {title}", *_under("stands in", sets)])


def _submission(built: Built, statuses: pl.DataFrame, places: pl.DataFrame, wanted: str) -> Iterator[_Found]:
    """Find the status of a submission in the ledger and its places in sets of ids."""
    sets = places.select(pl.format("set {}, row {}", "id", "row")).to_series().to_list()
    known = statuses.filter(pl.col("id") == wanted)
    columns = known.select("id", "status", pl.col("subreddit").fill_null(""), "checked")
    for facts in columns.iter_rows(named=True):
        where = f" in r/{facts['subreddit']}" if facts["subreddit"] else ""
        first = f"{wanted}: {built.spec.name}, {facts['status']}{where} on {facts['checked']}"
        lines = [first, *_under("stands in", sets or ["no clustering set"])]
        yield _Found(facts | {"config": built.spec.name, "sets": sets}, lines)


def _published(built: Built, provenance: pl.DataFrame, table: str, wanted: str) -> Iterator[_Found]:
    """Find a published query or passage, its upstream rows, and the other ends of its pairs."""
    kind, (own, other) = (Kind.QUERIES, PAIR) if table == "queries" else (Kind.CORPUS, PAIR[::-1])
    rows = built.stacked(kind).filter(pl.col(own) == wanted)
    qrels = built.stacked(Kind.QRELS).filter(pl.col(own) == wanted)
    mined = [built.stacked(kind).filter(pl.col(own) == wanted).sort("rank", other) for kind in MINED]
    pairs = built.beside("undecided", dict.fromkeys(PAIR, pl.String))
    undecided = [] if pairs is None else pairs.filter(pl.col(own) == wanted)[other].sort().to_list()
    origin = provenance.filter((pl.col("table") == table) & (pl.col("id") == wanted))
    ids = {
        "upstream_ids": origin["upstream_id"].sort().to_list(),
        "relevant": qrels[other].sort().to_list(),
        "negatives": mined[0][other].to_list(),
        "v0": mined[1][other].to_list(),
        "undecided": undecided,
    }
    for split, text in rows.select("split", "text").head(1).iter_rows():
        facts = {"config": built.spec.name, "table": table, "id": wanted, "split": split, "text": text}
        shown = {name.removesuffix("_ids"): ", ".join(shortened(some)) for name, some in ids.items()}
        listed = [f"  {name:<10} {some or 'none'}" for name, some in shown.items()]
        listed = [line for line, name in zip(listed, ids, strict=True) if ids[name] or name in _ALWAYS]
        first = f"{wanted}: {built.spec.name}-{table}, split {split}"
        yield _Found(facts | ids, [first, f"  text       {text}", *listed])


def _under(heading: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        yield f"  {'' if number else heading:<10} {line}"

"""Rules on the shape of the tables: which there are, columns, dtypes, nulls."""

import re
from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, error, gate, note
from builders.checks.subject import AnySubject, Rule
from builders.spec import ConfigSpec, Ids, Retrieval
from builders.tables import CLUSTERING, MINED, SCHEMAS, Kind, published, splits_of

_PIPELINE = "The build writes this itself: report it as a bug, or build again if the file was edited."

_MISSING = error("missing-table", "tables that the config must publish and does not", _PIPELINE)
_UNEXPECTED = error(
    "unexpected-table",
    "tables or splits that the config does not publish",
    "Splits are named train, dev and test (a corpus: corpus); hard negatives need `mining` in the config.",
)
_COLUMNS = error("schema-columns", "tables whose columns or their order differ", _PIPELINE)
_DTYPE = error("schema-dtype", "columns with another dtype than published", _PIPELINE)
_NULL = error("null-value", "null values", "Drop such rows in the build, with a reason.")
_EMPTY_SPLIT = error(
    "empty-split",
    "splits without a row, which no client can load",
    "Build from more rows; a sample may be too small to fill every split.",
)
_EMPTY_NEGATIVES = gate(
    "empty-negatives",
    "splits without a hard negative, which no client can load",
    "Choose another recipe, or waive it: the card then leaves the split out.",
)
_CONFIG_NAME = error(
    "config-name",
    "config names that clients misread",
    "Name the config with a-z, 0-9 and single underscores; a hyphen starts the kind of table.",
)

_NOT_KEPT = note(
    "beside-unknown",
    "tables beside the lock that are not there, so that the rules on them were not applied",
    "Build the config again: the build keeps them in the folder of its lock.",
)

_NAME = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)*")


def _kinds(spec: ConfigSpec) -> tuple[Kind, ...]:
    if isinstance(spec, Retrieval):
        mined = MINED if spec.mining else ()
        return (Kind.CORPUS, Kind.QUERIES, Kind.QRELS, *mined)
    return (Kind.CLUSTERING_IDS,) if isinstance(spec, Ids) else tuple(CLUSTERING.values())


def _tables(subject: AnySubject) -> Iterator[tuple[Kind, str, pl.DataFrame]]:
    """Yield the tables in published order, with the published names of columns."""
    for kind in _kinds(subject.spec):
        tables = subject.tables.get(kind, {})
        yield from (
            (kind, split, published(kind, tables[split])) for split in splits_of(kind) if split in tables
        )


def structure(subject: AnySubject) -> Iterator[Finding]:
    """Compare the tables with the published schemas; the other rules need them to be right."""
    expected = {f"{kind}/{split}": kind for kind in _kinds(subject.spec) for split in splits_of(kind)}
    found = {f"{kind}/{split}" for kind, splits in subject.tables.items() for split in splits}
    # A split without a negative of the published procedure is left out.
    missing = (name for name, kind in expected.items() if kind is not Kind.HARD_NEGATIVES_V0)
    yield from _MISSING.lines(sorted(set(missing) - found))
    yield from _UNEXPECTED.lines(sorted(found - expected.keys()))
    columns, dtypes = [], []
    for kind, split, frame in _tables(subject):
        schema = dict(pl.Schema(SCHEMAS[kind]))
        if frame.columns != list(schema):
            wanted = ", ".join(schema)
            columns.append(f"{kind}/{split}: {', '.join(frame.columns)} where {wanted} is published")
        dtypes += [
            f"{kind}/{split} {name}: {frame.schema[name]} where {dtype} is published"
            for name, dtype in schema.items()
            if name in frame.schema and frame.schema[name] != dtype
        ]
    yield from _COLUMNS.lines(columns)
    yield from _DTYPE.lines(dtypes)


def nulls(subject: AnySubject) -> Iterator[Finding]:
    """Demand values that are not null: mteb raises on a null title."""
    found = {
        f"{kind}/{split} {name}": count
        for kind, split, frame in _tables(subject)
        for name, count in frame.null_count().row(0, named=True).items()
        if count
    }
    yield from _NULL.counted(sum(found.values()), (f"{at}: {count} null" for at, count in found.items()))


def _empty_splits(subject: AnySubject) -> Iterator[Finding]:
    """Demand rows in every split; `datasets` raises on one without."""
    for code, mined in ((_EMPTY_SPLIT, False), (_EMPTY_NEGATIVES, True)):
        tables = [table for table in _tables(subject) if (table[0] in MINED) is mined]
        yield from code.lines([f"{kind}/{split}" for kind, split, frame in tables if frame.is_empty()])


def _config_name(subject: AnySubject) -> Iterator[Finding]:
    """Demand a name without a hyphen, which could make a config of a kind that mteb reads otherwise."""
    if not _NAME.fullmatch(subject.spec.name):
        yield from _CONFIG_NAME.lines([ascii(subject.spec.name)])


def _kept(subject: AnySubject) -> Iterator[Finding]:
    """Note what the build kept for rules that would find nothing without it."""
    if isinstance(subject.spec, Retrieval):
        needed = {"scrub_merges", *(("provenance",) if subject.spec.rows == "pair" else ())}
        yield from _NOT_KEPT.lines(sorted(needed - subject.beside.keys()))


RULES: tuple[Rule, ...] = (nulls, _empty_splits, _config_name, _kept)

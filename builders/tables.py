"""The published tables: names, splits, paths and schemas, deterministic parquet, and the hash of their rows.

Names, splits, paths and schemas change with a major version only.
"""

from __future__ import annotations

import bisect
import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import StorageError
from builders.lock.lock import PublishedFile
from builders.printable import one_line

SPLITS = ("train", "dev", "test")


class Kind(StrEnum):
    """What a published table holds; the value is what follows the dataset's name in its config name."""

    CORPUS = "corpus"
    QUERIES = "queries"
    QRELS = "qrels"
    HARD_NEGATIVES = "hard_negatives"
    HARD_NEGATIVES_V0 = "hard_negatives_v0"
    CLUSTERING_S2S = "clustering-s2s"
    CLUSTERING_P2P = "clustering-p2p"
    CLUSTERING_IDS = "clustering-ids"


CLUSTERING: dict[str, Kind] = {"s2s": Kind.CLUSTERING_S2S, "p2p": Kind.CLUSTERING_P2P}
"""The tables of a clustering dataset by variant: titles alone, and titles with texts."""
MINED = (Kind.HARD_NEGATIVES, Kind.HARD_NEGATIVES_V0)
"""The tables of hard negatives: by the recipe that serves, and by the published procedure."""
_CLUSTERED = (*CLUSTERING.values(), Kind.CLUSTERING_IDS)
"""All tables whose rows are clustering sets: with texts, or with the ids of texts that nobody may publish."""


def _column(name: str, dtype: pa.DataType) -> pa.Field[pa.DataType]:
    return pa.field(name, dtype, nullable=False)


_STRING = pa.string()
_TEXTS = pa.list_(_STRING)
_SETS = pa.schema([_column("sentences", _TEXTS), _column("labels", _TEXTS), _column("level", _STRING)])
_NEGATIVES = pa.schema([
    _column("query-id", _STRING),
    _column("corpus-id", _STRING),
    _column("rank", pa.int32()),
    _column("score", pa.float32()),
    _column("positive_score", pa.float32()),
])
SCHEMAS: dict[Kind, pa.Schema] = {
    Kind.CORPUS: pa.schema([_column("_id", _STRING), _column("title", _STRING), _column("text", _STRING)]),
    Kind.QUERIES: pa.schema([_column("_id", _STRING), _column("text", _STRING)]),
    Kind.QRELS: pa.schema([
        _column("query-id", _STRING),
        _column("corpus-id", _STRING),
        _column("score", pa.int32()),
    ]),
    Kind.HARD_NEGATIVES: _NEGATIVES,
    Kind.HARD_NEGATIVES_V0: _NEGATIVES,
    Kind.CLUSTERING_S2S: _SETS,
    Kind.CLUSTERING_P2P: _SETS,
    Kind.CLUSTERING_IDS: pa.schema([
        _column("submission_ids", _TEXTS),
        _column("labels", _TEXTS),
    ]),
}
SORT_KEYS: dict[Kind, tuple[str, ...]] = {
    Kind.CORPUS: ("_id",),
    Kind.QUERIES: ("_id",),
    Kind.QRELS: ("query-id", "corpus-id"),
    Kind.HARD_NEGATIVES: ("query-id", "rank"),
    Kind.HARD_NEGATIVES_V0: ("query-id", "rank"),
    Kind.CLUSTERING_S2S: (),
    Kind.CLUSTERING_P2P: (),
    Kind.CLUSTERING_IDS: (),
}
"""What rows are sorted by; the order of clustering sets is that of their drawing."""


_IDS = {"query_id": "query-id", "passage_id": "corpus-id"}
_OTHER_IDS = {
    Kind.QUERIES.value: {"query_id": "_id"},
    Kind.CORPUS.value: {"passage_id": "_id"},
    "provenance": {"id": "_id"},
}


def published(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Name the ids of a table as its file does.

    Args:
        name: The kind of a published table, or the name of one that a build keeps beside its lock.
        frame: Its rows, with ``query_id`` and ``passage_id``; the provenance of rows of any table has ``id``.

    Returns:
        The rows with ``query-id``, ``corpus-id`` or ``_id``.
    """
    ids = _OTHER_IDS.get(name, _IDS)
    # Both ways at once: a file whose column has the inside name stays as wrong as it is.
    return frame.rename(ids | {outside: own for own, outside in ids.items()}, strict=False)


def inside(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Name the ids of a table that was read as the package does: the other way of `published`."""
    return published(name, frame)


def rowless(kind: Kind) -> pl.DataFrame:
    """Return a table without rows, with the columns that it has inside the package."""
    return inside(kind, pl.DataFrame(schema=pl.Schema(SCHEMAS[kind])))


@dataclass(frozen=True, slots=True)
class Table:
    """One published parquet file: a split of a config; its frame has the columns of `rowless`."""

    dataset: str
    kind: Kind
    split: str
    frame: pl.DataFrame

    @property
    def config(self) -> str:
        """The config's name on the Hub: "jobs-qrels"."""
        return config_name(self.dataset, self.kind)

    @property
    def path(self) -> str:
        """The file's path in the release, with forward slashes."""
        return published_path(self.dataset, self.kind, self.split)


def config_name(dataset: str, kind: Kind) -> str:
    """Return the name that `load_dataset` takes: "jobs-hard_negatives"."""
    return f"{dataset}-{kind}"


def kind_of(config: str) -> Kind:
    """Return what a config of that name holds; a dataset's name has no hyphen.

    Raises:
        ValueError: It is none of ours.
    """
    return Kind(config.partition("-")[2])


def published_path(dataset: str, kind: Kind, split: str) -> str:
    """Return the path of a table in its release: "jobs/qrels/test.parquet"."""
    return f"{dataset}/{kind}/{split}.parquet"


def splits_of(kind: Kind) -> tuple[str, ...]:
    """Return the splits of a table: a corpus has one, named as itself, clustering sets are for testing."""
    if kind is Kind.CORPUS:
        return ("corpus",)
    return ("test",) if kind in _CLUSTERED else SPLITS


_ROW_GROUP_BYTES = 64 << 20
"""Uncompressed; below the Hub viewer's limit, and `datasets` streams by row group."""


def to_arrow(table: Table) -> pa.Table:
    """Return the rows as one Arrow chunk per column, in published order, with the published schema."""
    keys, frame = SORT_KEYS[table.kind], published(table.kind, table.frame)
    ordered = frame.sort(keys) if keys else frame
    schema = SCHEMAS[table.kind]
    return ordered.select(schema.names).to_arrow().cast(schema).combine_chunks()


def to_bytes(rows: pa.Table) -> bytes:
    """Return a table as parquet: equal rows, equal bytes for one version of the writer.

    Content-defined chunking keeps unchanged pages identical across versions of a release, so that the Hub
    stores only what changed; the page index lets its viewer read parts.
    """
    sink = io.BytesIO()
    with pq.ParquetWriter(
        sink,
        rows.schema,
        compression="zstd",
        compression_level=3,
        use_content_defined_chunking=True,
        write_page_index=True,
    ) as writer:
        for group in _row_groups(rows):
            writer.write_table(group, row_group_size=max(1, group.num_rows))
    return sink.getvalue()


def _row_groups(rows: pa.Table) -> Iterator[pa.Table]:
    """Cut a table by size, not by number of rows: a clustering set is one row, and some are large."""
    start = 0
    while start < rows.num_rows or start == 0:
        sizes = range(1, rows.num_rows - start + 1)
        fitting = bisect.bisect_right(sizes, _ROW_GROUP_BYTES, key=lambda n: rows.slice(start, n).nbytes)
        yield rows.slice(start, max(1, fitting))
        start += max(1, fitting)


def encode(table: Table) -> tuple[bytes, PublishedFile]:
    """Return the file of a table, and what the lock keeps of it."""
    rows = to_arrow(table)
    data = to_bytes(rows)
    scores = score_columns(rows.schema)
    return data, PublishedFile(
        config=table.config,
        split=table.split,
        path=table.path,
        rows=rows.num_rows,
        size=len(data),
        arrow_bytes=rows.nbytes,
        sha256=hashlib.sha256(data).hexdigest(),
        content=content_hash(rows),
        unscored=content_hash(rows.drop_columns(scores)) if scores else "",
    )


def score_columns(schema: pa.Schema) -> list[str]:
    """Return the columns whose last bits another machine may give otherwise: the floats."""
    return [field.name for field in schema if pa.types.is_floating(field.type)]


def content_hash(rows: pa.Table) -> str:
    """Return the sha256 of names, types and values of a table without nulls, in row order.

    Each column is hashed as its name, its type, and little-endian values: numbers as they lie in memory,
    strings as 64-bit lengths and UTF-8, lists as 64-bit lengths and their items. Chunks do not enter.

    Raises:
        ValueError: A column has nulls, or a type that is not published.
    """
    digest = hashlib.sha256()
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        digest.update(f"{name}\0{_type_name(column.type)}\0{len(column)}\0".encode())
        for part in _value_bytes(pa.concat_arrays(column.chunks or [pa.array([], column.type)])):
            digest.update(part)
    return digest.hexdigest()


def frame_bytes(name: str, frame: pl.DataFrame) -> bytes:
    """Return a table that a build keeps beside its lock as parquet, in its own row order."""
    return to_bytes(published(name, frame).to_arrow().combine_chunks())


def _type_name(dtype: pa.DataType) -> str:
    if pa.types.is_string(dtype) or pa.types.is_large_string(dtype):
        return "string"
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype):
        return f"list<{_type_name(dtype.value_type)}>"
    return str(dtype)


def _value_bytes(values: pa.Array[Any]) -> Iterator[bytes]:
    if values.null_count:
        raise ValueError(f"{values.null_count} nulls in a column of a published table")
    if isinstance(values, (pa.StringArray, pa.LargeStringArray)):
        texts = [text.encode() for text in values.to_pylist() if text is not None]
        yield np.fromiter(map(len, texts), dtype="<i8", count=len(texts)).tobytes()
        yield b"".join(texts)
    elif isinstance(values, (pa.ListArray, pa.LargeListArray)):
        yield np.diff(values.offsets.to_numpy()).astype("<i8").tobytes()
        yield from _value_bytes(values.flatten())
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.to_numpy()
        yield numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()
    else:
        raise ValueError(f"no content hash for columns of type {values.type}")


DAMAGE = (OSError, ValueError, pa.ArrowException, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Errors of reading parquet whose bytes are damaged: a name may be no UTF-8, and polars may panic."""


def read_whole(file: pq.ParquetFile, columns: list[str] | None = None) -> pl.DataFrame:
    """Read parquet by Arrow and look at every offset and text before polars does, which trusts them.

    Raises:
        DAMAGE: The file is damaged.
    """
    table = file.read(columns=columns)
    table.schema.to_string(show_field_metadata=False, show_schema_metadata=False)  # decodes every name
    table.validate(full=True)
    return pl.DataFrame(table)


def read_frame(path: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """Read a parquet file that a build wrote."""
    try:
        with pq.ParquetFile(path) as file:
            return read_whole(file, columns)
    except DAMAGE as error:
        fault = one_line(error, 200)
        raise StorageError(f"{path}: not a parquet file ({fault})", hint="Build the config again.") from error

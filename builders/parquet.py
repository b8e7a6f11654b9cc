"""Deterministic parquet, and a hash of a table's rows that no writer can change."""

from __future__ import annotations

import bisect
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import StorageError
from builders.lock.model import FileLock
from builders.tables import SCHEMAS, SORT_KEYS, Table

_ROW_GROUP_BYTES = 64 << 20
"""Uncompressed; below the Hub viewer's limit, and `datasets` streams by row group."""


def to_arrow(table: Table) -> pa.Table:
    """Return the rows as one Arrow chunk per column, in published order, with exactly the published schema.

    Raises:
        pyarrow.ArrowInvalid: A value does not fit its column.
        ValueError: A value is null.
    """
    keys = SORT_KEYS[table.kind]
    ordered = table.frame.sort(keys) if keys else table.frame
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
        fitting = bisect.bisect_right(
            range(1, rows.num_rows - start + 1),
            _ROW_GROUP_BYTES,
            key=lambda count: rows.slice(start, count).nbytes,
        )
        yield rows.slice(start, max(1, fitting))
        start += max(1, fitting)


def encode(table: Table) -> tuple[bytes, FileLock]:
    """Return the file of a table, and what the lock keeps of it."""
    rows = to_arrow(table)
    data = to_bytes(rows)
    scores = score_columns(rows.schema)
    return data, FileLock(
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
    strings as 64-bit lengths and UTF-8, lists as 64-bit lengths and their items. Chunking, offsets and the
    width of Arrow's offsets do not enter.

    Raises:
        ValueError: A column has nulls, or a type that is not published.
    """
    digest = hashlib.sha256()
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        digest.update(f"{name}\0{_type_name(column.type)}\0{len(column)}\0".encode())
        for part in _value_bytes(pa.concat_arrays(column.chunks or [pa.array([], column.type)])):
            digest.update(part)
    return digest.hexdigest()


def frame_bytes(frame: pl.DataFrame) -> bytes:
    """Return a frame that is not published as parquet, in its own row order."""
    return to_bytes(frame.to_arrow().combine_chunks())


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


def read_frame(path: Path) -> pl.DataFrame:
    """Read a parquet file that a build wrote.

    Raises:
        StorageError: It is not there, or damaged.
    """
    try:
        with path.open("rb") as file:
            return pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StorageError(f"{path}: not a parquet file ({error})", hint="Build the config again.") from error

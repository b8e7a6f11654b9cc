"""Parquet files, batch by batch, and the comparison of a copy with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import StorageError, UsageError

WHOLE = "The table must be whole, and its text UTF-8."
_ROWS = 8192


def opened(path: Path) -> pq.ParquetFile:
    """Open a parquet file.

    Raises:
        UsageError: It is none, or is damaged.
    """
    try:
        return pq.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"not a whole parquet file ({error})", hint=WHOLE) from error


def batches(source: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yield the rows.

    Raises:
        UsageError: The file is damaged.
    """
    try:
        yield from source.iter_batches(_ROWS)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"not a whole parquet file ({error})", hint=WHOLE) from error


def read_back(source: pq.ParquetFile, target: IO[bytes], schema: pa.Schema, same: Sequence[bool]) -> None:
    """Compare a copy with its source: rows, names and types, and the columns that were not scrubbed.

    Args:
        source: The source.
        target: The copy, as it was written.
        schema: What the copy's schema must be.
        same: For each column, whether its values must be those of the source.

    Raises:
        StorageError: They differ.
    """
    target.seek(0)
    with pq.ParquetFile(target) as copy:
        equal = copy.schema_arrow.equals(schema) and copy.metadata.num_rows == source.metadata.num_rows
        places = [place for place, kept in enumerate(same) if kept and equal]
        if places:
            equal = all(
                _equal(old.column(place).cast(new.column(place).type), new.column(place))
                for old, new in _aligned(source.iter_batches(_ROWS), copy.iter_batches(_ROWS))
                for place in places
            )
    if not equal:
        raise StorageError("the copy does not read back as it was written", hint="Please report it.")


def _aligned(
    left: Iterator[pa.RecordBatch], right: Iterator[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Yield the same rows of two files, which may be cut in different places."""
    old, new = next(left, None), next(right, None)
    while old is not None and new is not None:
        rows = min(len(old), len(new))
        yield old.slice(0, rows), new.slice(0, rows)
        old = old.slice(rows) if rows < len(old) else next(left, None)
        new = new.slice(rows) if rows < len(new) else next(right, None)


def _equal(old: pa.Array[Any], new: pa.Array[Any]) -> bool:
    """Compare arrays; NaN, which Arrow takes for unequal to itself, is equal here."""
    return old.equals(new) or repr(old.to_pylist()) == repr(new.to_pylist())

"""Tables of an SQLite database of an upstream, opened read-only."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from builders.errors import SourceError, SourceMissing, SourceSchema
from builders.sources.archive import looks_like_page

LONGEST_VALUE = 16 << 20
"""Bytes of the longest text that is read."""
_MAGIC = b"SQLite format 3\0"
_HEADER = 100
_CHANGED = "The upstream's layout is not the one this config reads."
_LOOK = "Nothing was read from it. Fetch it again, or look at the file before you trust it."


@dataclass(frozen=True, slots=True)
class Table:
    """What was read of a table.

    Attributes:
        rows: The key, int64, and the texts, null where they are null; ordered by the key.
        malformed: ``id`` str (file, table and row), ``problem`` str: rows with text that is not UTF-8.
    """

    rows: pl.DataFrame
    malformed: pl.DataFrame


def read_table(path: Path, table: str, *, key: str, texts: Sequence[str]) -> Table:
    """Read columns of a table of an SQLite database, ordered by its key.

    Nothing is written, not even a journal beside the file, and no trigger, view or function of the database's
    own runs.

    Args:
        path: The database.
        table: Name of the table.
        key: Its whole-number key.
        texts: Names of columns of text.

    Returns:
        The rows, and those that cannot be read.

    Raises:
        SourceMissing: The file is not there.
        SourceSchema: Table or column is missing, a key is null, not whole or there twice, or a value is no
            text.
        SourceError: It is not an SQLite database, is truncated or damaged, or what was written to it last
            stands in a file beside it.
    """
    _check_file(path)
    try:
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        ) as database:
            database.text_factory = bytes  # one text that is no UTF-8 is no fault of the others
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            database.execute("PRAGMA trusted_schema = OFF")
            _check_schema(path, database, table, [key, *texts])
            columns = [_quoted(name) for name in (key, *texts)]
            _check_types(path, database, table, columns)
            order = f"SELECT {', '.join(columns)} FROM {_quoted(table)} ORDER BY {columns[0]}"
            rows, malformed = _decoded(path, table, [key, *texts], database.execute(order).fetchall())
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:
        problem = " ".join(str(error).split())[:200]
        raise SourceError(f"{path}: not a whole SQLite database ({problem})", hint=_LOOK) from error
    schema = {key: pl.Int64(), **dict.fromkeys(texts, pl.String())}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if frame[key].is_duplicated().any():
        twice = frame.filter(pl.col(key).is_duplicated()).item(0, key)
        raise SourceSchema(f"{path}: table {table!r}, column {key!r} holds {twice} twice", hint=_CHANGED)
    return Table(frame, pl.DataFrame(malformed, schema={"id": pl.String, "problem": pl.String}, orient="row"))


def _decoded(
    path: Path, table: str, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> tuple[list[list[Any]], list[tuple[str, str]]]:
    """Decode the texts of rows; name the rows of which one is no UTF-8."""
    good, malformed = [], []
    for row in rows:
        values = list(row)
        for place, value in enumerate(row):
            try:
                values[place] = value.decode() if isinstance(value, bytes) else value
            except UnicodeDecodeError as error:
                where = f"{path.name}, table {table!r}, {columns[0]} {row[0]}"
                byte = f"byte 0x{value[error.start]:02x} at {error.start:,}"
                malformed.append((where, f"column {columns[place]!r} is not UTF-8 ({byte})"))
                break
        else:
            good.append(values)
    return good, malformed


def _check_file(path: Path) -> None:
    """Look at the header: a truncated database may otherwise read well until its end is needed."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
        size = path.stat().st_size
    except FileNotFoundError as error:
        raise SourceMissing(f"{path}: no such file", hint="Fetch it again.") from error
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror or error})", hint=_LOOK) from error
    if looks_like_page(path):
        raise SourceError(f"{path}: is a web page, not an SQLite database", hint=_LOOK)
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        raise SourceError(f"{path}: is not an SQLite database", hint=_LOOK)
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise SourceError(
            f"{path}: what was written last stands in {log.name} and would not be read",
            hint="Close the program that writes it, or run `PRAGMA wal_checkpoint(TRUNCATE)` on a copy.",
        )
    page = int.from_bytes(header[16:18], "big")
    told = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if size < told:
        raise SourceError(f"{path}: is truncated: {size:,} of {told:,} bytes are there", hint=_LOOK)


def _check_schema(path: Path, database: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
    tables = [
        name.decode("utf-8", "replace")
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
    ]
    if table not in tables:
        found = ", ".join(map(repr, tables[:20])) or "none"
        raise SourceSchema(f"{path}: no table {table!r}; found {found}", hint=_CHANGED)
    there = [
        row[1].decode("utf-8", "replace") for row in database.execute(f"PRAGMA table_info({_quoted(table)})")
    ]
    if missing := [name for name in columns if name not in there]:
        found = ", ".join(map(repr, there[:40]))
        raise SourceSchema(
            f"{path}: table {table!r} has no column {missing[0]!r}; found {found}", hint=_CHANGED
        )


def _check_types(path: Path, database: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
    """SQLite lets any value stand in any column."""
    key = columns[0]
    for column in columns:
        allowed = "('integer')" if column == key else "('text', 'null')"
        query = f"SELECT count(*), min({key}) FROM {_quoted(table)} WHERE typeof({column}) NOT IN {allowed}"
        count, first = database.execute(query).fetchone()
        if count:
            row = first.decode("utf-8", "replace") if isinstance(first, bytes) else first
            where = f"table {table!r}, column {column}, row {row}"
            wanted = "a whole number" if column == key else "text"
            raise SourceSchema(f"{path}: {where}: not {wanted} ({count} such rows)", hint=_CHANGED)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

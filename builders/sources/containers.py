"""Files of an upstream that hold others: zip archives and SQLite databases.

Nothing is unpacked to a path, or written beside a file. An archive that is not safe to read is refused as a
whole; of a database, no trigger, view or function of its own runs.
"""

import lzma
import sqlite3
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from builders.errors import SourceError, SourceMissing, SourceSchema
from builders.files import readable, safe_path
from builders.printable import one_line, quoted

_LARGEST = 512 << 20
"""Bytes that all members together may unpack to."""
_STEEPEST = 100
"""Times its packed size that a member may unpack to, once it is larger than `_SMALL`."""
_SMALL = 1 << 20
_MOST_MEMBERS = 1000
_LONGEST_LINE = 1 << 20
_LONGEST_VALUE = 16 << 20
"""Bytes of the longest text that is read from a database."""
_ABSENT = "Fetch it again."
_LOOK = "Nothing was read from it. Fetch it again, or look at the file before you trust it."
_CHANGED = "The upstream's layout is not the one this config reads."
_ENCRYPTED = 0x1
_READABLE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
_DAMAGE = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, ValueError)
_REPACK = "The archive is whole, and fetching it again will not help: pack its files anew with Deflate."
_MAGIC = b"SQLite format 3\0"
_HEADER = 100


def looks_like_page(path: Path) -> bool:
    """Say whether a file is a web page: what a server sends where the file has moved."""
    try:
        with path.open("rb") as file:
            start = file.read(512).lstrip().lower()
    except OSError:
        return False
    return start.startswith((b"<!doctype html", b"<html"))


def zip_lines(path: Path, names: Sequence[str]) -> Iterator[tuple[str, int, bytes]]:
    """Read text members of a zip archive line by line.

    Args:
        path: The archive.
        names: File names of the members, without folder; each must be there once. Read in this order.

    Yields:
        Name, number of the line counted from 1, and the line's bytes with its end.

    Raises:
        SourceMissing: A member is not there.
        SourceError: It is damaged, not safe to read, or packed in a way that is not known here.
    """
    with readable(path, absent=_ABSENT):
        file = path.open("rb")
    try:
        with file, zipfile.ZipFile(file) as archive:
            for name, info in _members(path, archive, names).items():
                with archive.open(info) as member:
                    number = 0
                    while line := member.readline(_LONGEST_LINE + 1):
                        number += 1
                        if len(line) > _LONGEST_LINE:
                            raise _refused(path, f"{name}, line {number} has over {_LONGEST_LINE:,} bytes")
                        yield name, number, line
    except NotImplementedError as error:  # of a member, as below, or of the whole archive
        problem = f"{path}: is packed in a way that cannot be read here ({error})"
        raise SourceError(problem, hint=_REPACK) from error
    except _DAMAGE as error:
        if looks_like_page(path):
            problem = "is a web page, not a zip archive"
        elif not zipfile.is_zipfile(path):
            problem = "is not a zip archive, or a part of one"
        else:
            problem = f"is a damaged zip archive ({one_line(error, 200) or type(error).__name__})"
        raise _refused(path, problem) from error


def _members(path: Path, archive: zipfile.ZipFile, names: Sequence[str]) -> dict[str, zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > _MOST_MEMBERS:
        raise _refused(path, f"{len(entries):,} members, more than {_MOST_MEMBERS:,}")
    for entry in entries:
        safe_path(entry.filename.removesuffix("/"), what="member", repo=str(path))
        if entry.flag_bits & _ENCRYPTED:
            raise _refused(path, f"member {entry.filename!r} is encrypted")
        if entry.file_size > max(_SMALL, _STEEPEST * entry.compress_size):
            sizes = f"{entry.compress_size:,} bytes would become {entry.file_size:,}"
            raise _refused(path, f"member {entry.filename!r} looks like a bomb: {sizes}")
    total = sum(entry.file_size for entry in entries)
    if total > _LARGEST:
        raise _refused(path, f"unpacks to {total:,} bytes, more than {_LARGEST:,}")
    members = {name: _member(path, entries, name) for name in names}
    for name, entry in members.items():
        if entry.compress_type not in _READABLE:
            raise NotImplementedError(f"method {entry.compress_type} of member {name!r}")
    return members


def _member(path: Path, entries: Sequence[zipfile.ZipInfo], name: str) -> zipfile.ZipInfo:
    found = [entry for entry in entries if PurePosixPath(entry.filename).name == name and not entry.is_dir()]
    if len(found) != 1:
        held = quoted(entry.filename for entry in entries) or "nothing"
        problem = f"has {len(found)} members called {name!r}; it holds {held}"
        raise SourceMissing(f"{path}: {problem}", hint=_CHANGED)
    return found[0]


def _refused(path: Path, problem: str) -> SourceError:
    return SourceError(f"{path}: {problem}", hint=_LOOK)


def read_table(
    path: Path, table: str, *, key: str, texts: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read a whole-number key and columns of text of a table of an SQLite database, ordered by the key.

    Returns:
        The key, int64, and the texts, null where they are null. And the rows with text that is not UTF-8:
        ``id`` str (file, table and row), ``problem`` str.

    Raises:
        SourceSchema: A key stands there twice.
        SourceError: It is not a whole SQLite database.
    """
    _check_file(path)
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = bytes  # one text that is no UTF-8 is no fault of the others
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            database.execute("PRAGMA trusted_schema = OFF")
            _check_schema(path, database, table, [key, *texts])
            columns = [_quoted(name) for name in (key, *texts)]
            _check_types(path, database, table, columns)
            order = f"SELECT {', '.join(columns)} FROM {_quoted(table)} ORDER BY {columns[0]}"
            rows, malformed = _decoded(path, table, [key, *texts], database.execute(order).fetchall())
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:
        raise _refused(path, f"not a whole SQLite database ({one_line(error, 200)})") from error
    schema = {key: pl.Int64(), **dict.fromkeys(texts, pl.String())}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    if frame[key].is_duplicated().any():
        twice = frame.filter(pl.col(key).is_duplicated()).item(0, key)
        raise SourceSchema(f"{path}: table {table!r}, column {key!r} holds {twice} twice", hint=_CHANGED)
    return frame, pl.DataFrame(malformed, schema={"id": pl.String, "problem": pl.String}, orient="row")


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
    """Check the header: a truncated database may otherwise read well until its end is needed."""
    with readable(path, absent=_ABSENT), path.open("rb") as file:
        header = file.read(_HEADER)
        size = path.stat().st_size
    if looks_like_page(path):
        raise _refused(path, "is a web page, not an SQLite database")
    if not header.startswith(_MAGIC) or len(header) < _HEADER:
        raise _refused(path, "is not an SQLite database")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise SourceError(
            f"{path}: what was written last stands in {log.name} and would not be read",
            hint="Close the program that writes it, or run `PRAGMA wal_checkpoint(TRUNCATE)` on a copy.",
        )
    page = int.from_bytes(header[16:18], "big")
    whole = (65536 if page == 1 else page) * int.from_bytes(header[28:32], "big")
    if size < whole:
        raise _refused(path, f"is truncated: {size:,} of {whole:,} bytes are there")


def _check_schema(path: Path, database: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
    query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    tables = [name.decode("utf-8", "replace") for (name,) in database.execute(query)]
    if table not in tables:
        found = quoted(tables) or "none"
        raise SourceSchema(f"{path}: no table {table!r}; found {found}", hint=_CHANGED)
    rows = database.execute(f"PRAGMA table_info({_quoted(table)})")
    there = [row[1].decode("utf-8", "replace") for row in rows]
    if missing := [name for name in columns if name not in there]:
        problem = f"table {table!r} has no column {missing[0]!r}; found {quoted(there)}"
        raise SourceSchema(f"{path}: {problem}", hint=_CHANGED)


def _check_types(path: Path, database: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
    """Refuse values of other types: SQLite lets any value stand in any column."""
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

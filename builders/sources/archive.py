"""Zip archives of an upstream: members are read as streams, never unpacked to a path.

An archive comes from outside: one that names files outside itself, that would unpack to far more than it
holds, or that is encrypted is refused as a whole, before a member is opened.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from builders.errors import SourceError, SourceMissing
from builders.files import safe_path

LARGEST = 512 << 20
"""Bytes that all members together may unpack to."""
STEEPEST = 100
"""Times its packed size that a member may unpack to, once it is larger than `_SMALL`."""
LONGEST_LINE = 1 << 20
_SMALL = 1 << 20
_MOST_MEMBERS = 1000
_LOOK = "Nothing was read from it. Fetch it again, or look at the file before you trust it."
_ENCRYPTED = 0x1
_READABLE = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
_METHODS = {6: "Implode", 9: "Deflate64", 93: "Zstandard", 95: "XZ", 97: "WavPack", 98: "PPMd", 99: "AES"}
_REPACK = "The archive is whole, and fetching it again will not help: pack its files anew with Deflate."


def zip_lines(path: Path, names: Sequence[str]) -> Iterator[tuple[str, int, bytes]]:
    """Read text members of a zip archive line by line.

    Args:
        path: The archive.
        names: File names of the members, without folder; each must be there once. Read in this order.

    Yields:
        Name, number of the line counted from 1, and the line's bytes with its end.

    Raises:
        SourceMissing: The archive or a member is not there.
        SourceError: It is not a zip archive, is damaged, encrypted or a bomb, is packed in a way that is not
            known here, names a file outside itself, or has a line of more than `LONGEST_LINE` bytes.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            members = _members(path, archive, names)
            for name, info in members.items():
                with archive.open(info) as member:
                    number = 0
                    while line := member.readline(LONGEST_LINE + 1):
                        number += 1
                        if len(line) > LONGEST_LINE:
                            raise _refused(path, f"{name}, line {number} has over {LONGEST_LINE:,} bytes")
                        yield name, number, line
    except FileNotFoundError as error:
        raise SourceMissing(f"{path}: no such file", hint="Fetch it again.") from error
    except NotImplementedError as error:
        raise SourceError(f"{path}: {_unknown(str(error))}", hint=_REPACK) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
        raise _refused(path, _why(path, error)) from error


def looks_like_page(path: Path) -> bool:
    """Say whether a file is a web page: what a server sends where the file has moved."""
    try:
        with path.open("rb") as file:
            start = file.read(512).lstrip().lower()
    except OSError:
        return False
    return start.startswith((b"<!doctype html", b"<html"))


def _members(path: Path, archive: zipfile.ZipFile, names: Sequence[str]) -> dict[str, zipfile.ZipInfo]:
    entries = archive.infolist()
    if len(entries) > _MOST_MEMBERS:
        raise _refused(path, f"{len(entries):,} members, more than {_MOST_MEMBERS:,}")
    for entry in entries:
        safe_path(entry.filename.removesuffix("/"), what="member", repo=str(path))
        if entry.flag_bits & _ENCRYPTED:
            raise _refused(path, f"member {entry.filename!r} is encrypted")
        if entry.file_size > max(_SMALL, STEEPEST * entry.compress_size):
            sizes = f"{entry.compress_size:,} bytes would become {entry.file_size:,}"
            raise _refused(path, f"member {entry.filename!r} looks like a bomb: {sizes}")
    total = sum(entry.file_size for entry in entries)
    if total > LARGEST:
        raise _refused(path, f"unpacks to {total:,} bytes, more than {LARGEST:,}")
    members = {name: _one(path, entries, name) for name in names}
    for name, entry in members.items():
        if entry.compress_type not in _READABLE:
            method = _METHODS.get(entry.compress_type, "a method without a name here")
            problem = _unknown(f"{method}, number {entry.compress_type}, of member {name!r}")
            raise SourceError(f"{path}: {problem}", hint=_REPACK)
    return members


def _one(path: Path, entries: Sequence[zipfile.ZipInfo], name: str) -> zipfile.ZipInfo:
    found = [entry for entry in entries if PurePosixPath(entry.filename).name == name and not entry.is_dir()]
    if len(found) != 1:
        listed = ", ".join(repr(entry.filename) for entry in entries[:20]) or "nothing"
        problem = f"has {len(found)} members called {name!r}; it holds {listed}"
        raise SourceMissing(f"{path}: {problem}", hint="The upstream's layout is not the expected one.")
    return found[0]


def _why(path: Path, error: Exception) -> str:
    if looks_like_page(path):
        return "is a web page, not a zip archive"
    if not zipfile.is_zipfile(path):
        return "is not a zip archive, or a part of one"
    return f"is a damaged zip archive ({' '.join(str(error).split())[:200] or type(error).__name__})"


def _unknown(what: str) -> str:
    return f"is packed in a way that cannot be read here ({what})"


def _refused(path: Path, problem: str) -> SourceError:
    return SourceError(f"{path}: {problem}", hint=_LOOK)

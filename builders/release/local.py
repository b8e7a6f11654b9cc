"""The folder of a release on this disk: its files, and whether they are what was built or planned."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from builders import checks
from builders.checks.finding import Severity
from builders.errors import Refused, StorageError
from builders.hub import RemoteFile
from builders.printable import listed, printable
from builders.release.model import Plan

_CHUNK = 1 << 20
_ONCE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Follows no link, and waits for no pipe."""


def digests(data: bytes) -> RemoteFile:
    """Return the ids of bytes in memory."""
    oid = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    return RemoteFile(len(data), oid, hashlib.sha256(data).hexdigest())


def file_digests(path: Path) -> RemoteFile:
    """Return the ids of a file.

    Raises:
        StorageError: It cannot be read.
    """
    try:
        size = path.stat().st_size
        whole, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
                blob.update(chunk)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    return RemoteFile(size, blob.hexdigest(), whole.hexdigest())


def published_paths(folder: Path) -> set[str]:
    """Return the paths of all files in a folder, with forward slashes."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def check_tree(out: Path, release: str) -> None:
    """Hold a built release against its locks.

    Raises:
        UsageError: There is no such release.
        StorageError: Nothing was built, or a file cannot be read.
        Refused: A file is missing, unknown or other than locked, or a licence is not admitted.
    """
    findings = [
        finding
        for finding in checks.check_release(out, release, rendered=False)
        if finding.severity is Severity.ERROR
    ]
    if findings:
        lines = (
            f"{finding.code}: {finding.message}\n  " + "\n  ".join(finding.examples) for finding in findings
        )
        raise Refused(f"{release} is not as it was built:\n" + "\n".join(lines), hint=findings[0].hint)


def check_bytes(plan: Plan, folder: Path) -> None:
    """Hold a folder against the plan that was made of it.

    Raises:
        Refused: A file was changed, removed or added since, or a link stands in its place.
        StorageError: A file cannot be read.
    """
    _refuse(changes(plan, folder), folder)


@contextmanager
def planned_bytes(plan: Plan, folder: Path) -> Iterator[Path]:
    """Hold a folder against its plan, and yield a private copy of the very bytes that were compared.

    Each file is opened once, and hashed while it is copied: what becomes of the folder afterwards changes
    nothing of what is sent.

    Args:
        plan: What the folder must hold.
        folder: Of the release.

    Yields:
        A folder with the planned files and no others; it is gone when the block ends.

    Raises:
        Refused: A file was changed, removed or added since, or a link stands in its place.
        StorageError: A file cannot be read, or the copy cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="mteb-de-upload-") as copy:
        _refuse(changes(plan, folder, Path(copy)), folder)
        yield Path(copy)


def changes(plan: Plan, folder: Path, copy: Path | None = None, *, tables_only: bool = False) -> list[str]:
    """Return in which files a folder differs from the plan that was made of it, sorted.

    Args:
        plan: What the folder must hold.
        folder: Of the release.
        copy: Where the bytes that were compared are written, if anywhere.
        tables_only: Look at parquet files alone.

    Raises:
        StorageError: A file cannot be read, or the copy cannot be written.
    """
    ending = ".parquet" if tables_only else ""
    wanted = {file.path: file.sha256 for file in plan.files if file.path.endswith(ending)}
    found = {path for path in published_paths(folder) if path.endswith(ending)}
    faults = {path: "not planned" for path in found - wanted.keys()}
    faults |= {path: "missing" for path in wanted.keys() - found}
    for path in found & wanted.keys():
        fault = _fault(folder / path, wanted[path], copy / path if copy else None)
        faults |= {path: fault} if fault else {}
    return [f"{printable(path)}: {fault}" for path, fault in sorted(faults.items())]


def _refuse(faults: list[str], folder: Path) -> None:
    if faults:
        message = f"{folder} has changed since the plan was made:\n{listed(faults)}"
        raise Refused(message, hint="Make a new plan and rehearse it.")


def _fault(path: Path, sha256: str, target: Path | None) -> str:
    """Return why a file is not the planned one, "" if it is; writes what was read to `target`."""
    try:
        descriptor = os.open(path, _ONCE)
    except FileNotFoundError:
        return "missing"
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "a link, not a file"
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return "not a regular file"
    digest = hashlib.sha256()
    try:
        with os.fdopen(descriptor, "rb") as file, _writing(target) as copy:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                copy.write(chunk)
    except OSError as error:
        hint = f"Copies go to {tempfile.gettempdir()}; TMPDIR names another folder." if target else ""
        message = f"{path}: cannot be read{' or copied' if target else ''} ({error.strerror or error})"
        raise StorageError(message, hint=hint) from error
    return "" if digest.hexdigest() == sha256 else "other bytes than planned"


@contextmanager
def _writing(target: Path | None) -> Iterator[IO[bytes]]:
    if target is None:
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("wb") as file:
        yield file

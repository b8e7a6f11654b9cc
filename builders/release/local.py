"""The folder of a release on this disk: its files, and whether they are what was built or planned."""

from __future__ import annotations

import hashlib
from pathlib import Path

from builders import checks, files
from builders.checks.model import Severity
from builders.errors import Refused, StorageError
from builders.release.model import Plan, RemoteFile

_CHUNK = 1 << 20


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
        Refused: A file was changed, removed or added since.
        StorageError: A file cannot be read.
    """
    wanted = {file.path: file for file in plan.files}
    found = published_paths(folder)
    faults = [f"{path}: not planned" for path in found - wanted.keys()]
    faults += [f"{path}: missing" for path in wanted.keys() - found]
    faults += [
        f"{path}: other bytes than planned"
        for path in found & wanted.keys()
        if files.sha256(folder / path) != wanted[path].sha256
    ]
    if faults:
        message = f"{folder} has changed since the plan was made:\n" + "\n".join(sorted(faults)[:10])
        raise Refused(message, hint="Make a new plan and rehearse it.")

"""Writing and hashing files: nothing of ours is ever half-written."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from builders.errors import StorageError

_CHUNK = 1 << 20


@contextlib.contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`; on success fsync it and rename it over `path`.

    Args:
        path: The file to appear. Its folder is made.

    Yields:
        A binary file open for writing.

    Raises:
        StorageError: The folder or file cannot be written (no space, not a folder, no permission).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
        _fsync_folder(path.parent)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically.

    Raises:
        StorageError: `path` cannot be written.
    """
    with atomic(path) as file:
        file.write(data)


def write_json(path: Path, document: Any) -> None:  # noqa: ANN401  any JSON value
    """Write a JSON document atomically, with sorted keys, so that equal values are equal bytes.

    Raises:
        StorageError: `path` cannot be written.
    """
    write_bytes(path, json_bytes(document))


def json_bytes(document: Any) -> bytes:  # noqa: ANN401  any JSON value
    """Return a JSON document as UTF-8 with sorted keys, an indent of one and a final line break."""
    return (json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def remove(path: Path) -> None:
    """Remove a file that may not be there.

    Raises:
        StorageError: It is there and cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(path, error) from error


def sha256(path: Path) -> str:
    """Return the sha256 of a file in lower-case hex.

    Raises:
        StorageError: `path` cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    return digest.hexdigest()


def _fsync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path}: cannot be written ({error.strerror or error})",
        hint="Free some space or choose another folder; nothing was changed there.",
    )

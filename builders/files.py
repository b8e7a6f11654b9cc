"""Writing and hashing files: nothing of ours is ever half-written."""

import contextlib
import errno
import fcntl
import hashlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from builders.errors import Busy, SourceError, SourceMissing, StorageError

_CHUNK = 1 << 20
_TEMPORARY = ".tmp"
_LOCK = ".lock"
_LONGEST_PATH = 1024
_LONGEST_SEGMENT = 255
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")
_CHOOSE = "choose another folder (--out, MTEB_DE_HOME)"
_HINTS = {
    **dict.fromkeys(
        (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
        f"Free some space, or {_CHOOSE}.",
    ),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), f"A part of the path is a file, not a folder: {_CHOOSE}."),
}


@contextlib.contextmanager
def atomic(path: Path, mode: int = 0o644) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`, to write and read; on success fsync it and rename it over `path`.

    Raises:
        StorageError: The folder or file cannot be written (no space, not a folder, no permission).
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=_TEMPORARY, dir=path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
        fsync_folder(path.parent)
    except OSError as error:
        if error.filename not in {None, name, str(path), str(path.parent)}:
            raise  # of a file that the caller read meanwhile
        raise unwritable(path, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically."""
    with atomic(path) as file:
        file.write(data)


def write_json(path: Path, document: object) -> None:
    """Write a JSON document atomically, with sorted keys, so that equal values are equal bytes."""
    write_bytes(path, json_bytes(document))


def json_bytes(document: object) -> bytes:
    """Return a JSON document as UTF-8 with sorted keys, an indent of one and a final line break."""
    return (json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()


def remove(path: Path) -> None:
    """Remove a file that may not be there, for good: it does not come back when the machine goes down.

    Raises:
        StorageError: It is there and cannot be removed.
    """
    try:
        path.unlink()
        fsync_folder(path.parent)
    except FileNotFoundError:
        return
    except OSError as error:
        raise unwritable(path, error, "removed") from error


@contextlib.contextmanager
def exclusive(out: Path) -> Iterator[None]:
    """Hold a folder of releases against every other command that writes or compares it.

    Raises:
        Busy: Another process holds it.
        StorageError: It cannot be made.
    """
    from filelock import FileLock, Timeout

    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = FileLock(out / _LOCK)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise _busy(out) from error
    except OSError as error:
        hint = "Choose another folder with --out."
        reason = error.strerror or error
        raise StorageError(f"{out}: not a folder that can be written ({reason})", hint=hint) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def reading(out: Path) -> Iterator[None]:
    """Hold a folder of releases against commands that write it; several may read it at a time.

    A folder that no command has written is not held.

    Raises:
        Busy: Another process writes it.
    """
    try:
        lock = (out / _LOCK).open("rb")
    except OSError:
        yield
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)  # the call that `exclusive` locks with, too
        except BlockingIOError as error:
            raise _busy(out) from error
        except OSError:
            pass  # a file system that knows no locks
        yield


def _busy(out: Path) -> Busy:
    message = f"{out}: another build holds this folder, or another release command"
    return Busy(message, hint="Wait for it, or use another --out.")


def sweep(folder: Path) -> None:
    """Remove what `atomic` left right in a folder, which need not exist, when its process was killed.

    No other process may write to the folder.
    """
    for path in sorted(folder.glob(f".*{_TEMPORARY}")):
        remove(path)


@dataclass(frozen=True, slots=True)
class FileIds:
    """Size and ids of a file, here or on the Hub.

    Attributes:
        size: Bytes.
        oid: The id that git gives it, or gives the pointer to it, in lower-case hex.
        sha256: In lower-case hex; "" where the Hub does not give it.
    """

    size: int
    oid: str
    sha256: str = ""


def ids_of(content: Path | bytes) -> FileIds:
    """Return size and ids of a file, or of bytes, read once."""
    if isinstance(content, Path):
        with _opened(content) as file:
            return _ids(file, os.fstat(file.fileno()).st_size)
    return _ids(io.BytesIO(content), len(content))


def _ids(file: IO[bytes], size: int) -> FileIds:
    git = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    digest = hashlib.sha256()
    while chunk := file.read(_CHUNK):
        git.update(chunk)
        digest.update(chunk)
    return FileIds(size, git.hexdigest(), digest.hexdigest())


def sha256(path: Path) -> str:
    """Return the sha256 of a file in lower-case hex."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[io.BufferedReader]:
    with readable(path), path.open("rb") as file:
        yield file


@contextlib.contextmanager
def readable(path: Path, *, absent: str = "", hint: str = "") -> Iterator[None]:
    """Turn an error of the disk into one that names `path`.

    Args:
        path: What is read.
        absent: What to do where it is not there; without it, it cannot be read like any other.
        hint: What to do where it cannot be read.

    Raises:
        SourceMissing: It is not there.
        StorageError: It cannot be read.
    """
    try:
        yield
    except OSError as error:
        if absent and isinstance(error, FileNotFoundError):
            raise SourceMissing(f"{path}: no such file", hint=absent) from error
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})", hint=hint) from error


@contextlib.contextmanager
def writing(path: Path, done: str = "written") -> Iterator[None]:
    """Turn an error of the disk into the one that `unwritable` returns for `path`."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error, done) from error


def unwritable(path: Path, error: OSError, done: str = "written") -> StorageError:
    """Return the error that names why `path` cannot be written or `done`, and what to do."""
    hint = _HINTS.get(error.errno or 0, f"Correct its permissions, or {_CHOOSE}.")
    return StorageError(f"{path}: cannot be {done} ({error.strerror or error})", hint=hint)


def fsync_folder(folder: Path) -> None:
    """Make what was renamed or removed in a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def safe_path(path: str, *, what: str, repo: str) -> str:
    """Return a path with forward slashes if it stays inside its repository; `what` is its kind, for errors.

    Raises:
        SourceError: It is absolute, a URL, too long or not UTF-8, or has an empty, ".", ".." part, a
            backslash or a control character.
    """
    if _stays_inside(path):
        return path
    raise SourceError(
        f"{repo}: the {what} {path[:200]!r} does not stay inside the repository",
        hint="Nothing was read from it. Look at the repository before you trust it.",
    )


def _stays_inside(path: str) -> bool:
    segments = path.split("/")
    try:
        lengths = [len(segment.encode()) for segment in segments]
    except UnicodeEncodeError:
        return False
    return (
        sum(lengths) <= _LONGEST_PATH
        and max(lengths) <= _LONGEST_SEGMENT
        and not _FORBIDDEN.search(path)
        and not {"", ".", ".."} & set(segments)
        and ":" not in segments[0]
    )

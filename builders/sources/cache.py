"""The content-addressed cache of fetched files.

``objects/ab/abcd…`` holds each file under its sha256. ``views/PLACE`` is a link to an object under the
file's upstream name, so that a message names it as its upstream does; the link's target is the hash that the
file must have. ``notes/PLACE`` holds small facts, ``partial/`` unfinished downloads. An object is hashed each
time it is handed out, and it appears and is replaced by renaming only: two processes cannot disturb each
other, and nothing needs to be flushed to be safe.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout
from pydantic import ValidationError

from builders.errors import StorageError
from builders.files import git_id, json_bytes, sha256, write_bytes
from builders.lock.lock import Frozen

Say = Callable[[str], None]
Note = TypeVar("Note", bound=Frozen)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the cache or in a folder of the user's: its path on this machine, sha256, bytes."""

    path: Path
    sha256: str
    size: int


class Lost(StrEnum):
    """Why a file cannot be had from the cache."""

    ABSENT = "is not in the cache"
    DAMAGED = "is damaged in the cache"


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache under one folder, which need not exist. Places are relative paths with forward slashes."""

    root: Path

    def find(self, place: str, *, pinned: str | None = None, blob: str = "") -> Stored | Lost:
        """Return the file at `place`, after hashing it.

        Args:
            place: Where it is shown.
            pinned: The sha256 that it must have; None where the pin does not tell it.
            blob: The id that git must give it; empty where the pin does not tell it.

        Raises:
            StorageError: It is there and cannot be read.
        """
        view = self.root / "views" / place
        try:
            digest = view.readlink().name
        except OSError:
            return Lost.ABSENT
        target = self._object(digest)
        if not _SHA256.fullmatch(digest) or not target.is_file():
            return Lost.ABSENT
        if sha256(target) != digest or not meets(target, digest, pinned=pinned, blob=blob):
            return Lost.DAMAGED
        return Stored(view, digest, target.stat().st_size)

    def adopt(self, place: str, file: Path, digest: str) -> Stored:
        """Move `file`, which lies in a workspace, into the cache, and show it at `place`.

        Args:
            place: Where to show it.
            file: A file that nobody else writes to.
            digest: Its sha256.

        Raises:
            StorageError: The cache cannot be written.
        """
        target, view = self._object(digest), self.root / "views" / place
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            file.chmod(0o444)
            size = file.stat().st_size
            file.replace(target)
        with writing(view):
            view.parent.mkdir(parents=True, exist_ok=True)
            link = view.parent / f".link-{secrets.token_hex(8)}"
            link.symlink_to(os.path.relpath(target, view.parent))
            link.replace(view)
        return Stored(view, digest, size)

    def note(self, place: str, model: type[Note]) -> Note | None:
        """Return a note, or None where there is none that can be read."""
        try:
            return model.model_validate_json((self.root / "notes" / place).read_bytes())
        except (OSError, ValidationError):
            return None

    def write_note(self, place: str, note: Frozen) -> None:
        """Keep a note.

        Raises:
            StorageError: The cache cannot be written.
        """
        write_bytes(self.root / "notes" / place, json_bytes(note.model_dump(mode="json")))

    @contextlib.contextmanager
    def workspace(self, name: str, say: Say, *, keep: bool) -> Iterator[Path]:
        """Hold a folder for unfinished downloads against other processes.

        Args:
            name: One path segment.
            say: Told when another process holds it.
            keep: Whether what is left in it stays for the next time.

        Raises:
            StorageError: The cache cannot be written.
        """
        folder = self.root / "partial" / name
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = FileLock(folder.with_name(f"{name}.lock"))
            try:
                lock.acquire(timeout=0)
            except Timeout:
                say("waiting for another process that fetches the same")
                lock.acquire()
        try:
            if not keep:
                _empty(folder)
            yield folder
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
            lock.release()

    def _object(self, digest: str) -> Path:
        return self.root / "objects" / digest[:2] / digest


def meets(file: Path, digest: str, *, pinned: str | None, blob: str) -> bool:
    """Say whether a file of that sha256 is the one of a pin; see `Cache.find`."""
    return (pinned or digest) == digest and (not blob or git_id(file) == blob)


def _empty(folder: Path) -> None:
    """Clear what a killed process left behind."""
    with writing(folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, exist_ok=True)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure of the disk into a `StorageError` that names `path`."""
    try:
        yield
    except OSError as error:
        raise StorageError(
            f"{path}: cannot be written ({error.strerror or error})",
            hint="Free some space, or set MTEB_DE_HOME to a folder that can be written.",
        ) from error

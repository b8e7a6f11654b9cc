"""The cache of plain files: ``SHELF/SHA256/NAME``; ``partial/`` holds what is unfinished.

A file is hashed each time it is handed out, and appears and is replaced by renaming only: two processes
cannot disturb each other, and nothing needs to be flushed to be safe.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from builders.files import sha256, writing

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Stored:
    """A file in the cache or in a folder of the user's: its path on this machine, sha256, bytes."""

    path: Path
    sha256: str
    size: int


class CacheMiss(StrEnum):
    """Why a file cannot be had from the cache."""

    ABSENT = "is not in the cache"
    DAMAGED = "is damaged in the cache"


def stored_at(path: Path) -> Stored:
    """Return a file with its hash."""
    return Stored(path, sha256(path), path.stat().st_size)


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache under one folder, which need not exist."""

    root: Path

    def find(self, shelf: str, digest: str, name: str) -> Stored | CacheMiss:
        """Return a file of a shelf (a folder of the cache) after hashing it, or why it cannot be had."""
        path = self.root / shelf / digest / name
        if not path.is_file():
            return CacheMiss.ABSENT
        stored = stored_at(path)
        return stored if stored.sha256 == digest else CacheMiss.DAMAGED

    def adopt(self, shelf: str, name: str, file: Path) -> Stored:
        """Move a file, which lies in a workspace, into the cache under its hash."""
        stored = stored_at(file)
        target = self.root / shelf / stored.sha256 / name
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            file.chmod(0o444)
            file.replace(target)
        return Stored(target, stored.sha256, stored.size)

    @contextlib.contextmanager
    def workspace(self, name: str, say: Say, *, keep: bool) -> Iterator[Path]:
        """Hold a folder for unfinished downloads against other processes.

        `say` gets a line where another holds it; with `keep`, what is left in it stays for the next time.
        """
        from filelock import FileLock, Timeout

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
            with writing(folder):
                if not keep:  # a killed process may have left something
                    shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True, exist_ok=True)
            yield folder
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)
            lock.release()

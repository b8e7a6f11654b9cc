"""The ledger of submissions: on the user's machine, one line of JSON for each answer, the last one counts.

It holds texts, so only its owner may read it, and what has been deleted is taken out by writing it anew. The
dated ledger without texts is a table of its own, see `statuses`.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout
from pydantic import ValidationError

from builders.errors import Busy, SourceSchema, StorageError
from builders.files import fsync_folder, remove, unwritable
from builders.lock.lock import first_fault
from builders.reddit.dated_ledger import read_statuses, statuses, write_statuses
from builders.reddit.submission import Status, Submission
from builders.text_files import numbered

__all__ = ["Ledger", "read_statuses", "statuses", "write_statuses"]

_OWNER_ONLY = 0o600
_DAMAGED = "The file was changed by hand or is damaged: mend or remove this line; its id will be asked again."


def _silent(message: str) -> None:
    """Tell nobody."""


class Ledger:
    """What is known of submissions.

    A run that is killed while it writes leaves a torn last line; the next one takes it away before it adds
    a line. All that changes the file holds its lock.

    Args:
        path: The file; it need not exist.
        say: Told when a torn line is taken away.
    """

    def __init__(self, path: Path, *, say: Callable[[str], None] = _silent) -> None:
        self.path = path
        self._say = say
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))
        self._temporary = path.with_name(f".{path.name}.tmp")

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the ledger against other runs; may be entered again by who holds it.

        Raises:
            Busy: Another run holds it.
            StorageError: Its folder cannot be made or written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
        except Timeout as error:
            hint = "Wait until the other run has ended."
            raise Busy(f"{self.path}: another run holds this ledger", hint=hint) from error
        except OSError as error:
            raise unwritable(self.path, error) from error
        try:
            self._repair()
            yield
        finally:
            self._lock.release()

    def latest(self) -> dict[str, Submission]:
        """Return the last answer for each id, in the order in which ids were first answered.

        Raises:
            SourceSchema: A line, other than a torn last one, is not an answer.
            StorageError: The file cannot be read.
        """
        return {entry.id: entry for entry in self._entries()}

    def append(self, entries: Sequence[Submission]) -> None:
        """Add answers; they are on the disk when this returns.

        Raises:
            Busy: Another run holds the ledger.
            StorageError: It cannot be written.
        """
        if not entries:
            return
        with self.exclusive(), self._writing(self.path, os.O_APPEND) as file:
            file.write(b"".join(map(_line, entries)))

    def rewrite(self, entries: Iterable[Submission]) -> None:
        """Replace all lines, atomically: what is not among `entries` is gone from the file.

        Raises:
            Busy: Another run holds the ledger.
            StorageError: It cannot be written.
        """
        with self.exclusive():
            with self._writing(self._temporary, os.O_TRUNC) as file:
                for entry in entries:
                    file.write(_line(entry))
            try:
                self._temporary.replace(self.path)
                fsync_folder(self.path.parent)
            except OSError as error:
                raise unwritable(self.path, error) from error

    def purge(self) -> int:
        """Take out the texts of submissions that are no longer there, and return of how many.

        Raises:
            Busy: Another run holds the ledger.
            SourceSchema: A line is not an answer.
            StorageError: It cannot be written.
        """
        with self.exclusive():
            latest: dict[str, Submission] = {}
            held: set[str] = set()
            for entry in self._entries():
                latest[entry.id] = entry
                if entry.title or entry.body:
                    held.add(entry.id)
            stale = [name for name in held if latest[name].status is not Status.OK]
            if stale:
                self.rewrite(latest.values())
            return len(stale)

    def _entries(self) -> Iterator[Submission]:
        try:
            with self.path.open("rb") as file:
                for number, line in numbered(file):
                    if not line.endswith(b"\n"):
                        return  # torn: a run was killed while it wrote
                    yield self._entry(line, number)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    def _entry(self, line: bytes, number: int) -> Submission:
        try:
            return Submission.model_validate_json(line)
        except ValidationError as error:
            raise SourceSchema(f"{self.path}, line {number}: {first_fault(error)}", hint=_DAMAGED) from None

    def _repair(self) -> None:
        """Take away a torn last line, and what a killed `rewrite` has left."""
        remove(self._temporary)
        try:
            with self.path.open("rb+") as file:
                torn = _torn_bytes(file)
                if torn:
                    file.truncate(file.seek(0, os.SEEK_END) - torn)
                    os.fsync(file.fileno())
                    self._say(
                        f"{self.path}: a torn last line of {torn:,} bytes was removed; its id is asked again"
                    )
        except FileNotFoundError:
            return
        except OSError as error:
            raise unwritable(self.path, error) from error

    @contextlib.contextmanager
    def _writing(self, path: Path, flag: int) -> Iterator[IO[bytes]]:
        new = not path.exists()
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flag, _OWNER_ONLY)
            with os.fdopen(descriptor, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if new:
                fsync_folder(path.parent)
        except OSError as error:
            raise unwritable(path, error) from error


def _line(entry: Submission) -> bytes:
    return (json.dumps(entry.model_dump(mode="json"), ensure_ascii=False, sort_keys=True) + "\n").encode()


def _torn_bytes(file: IO[bytes]) -> int:
    """How many bytes stand after the last line break."""
    step = 1 << 16
    end = file.seek(0, os.SEEK_END)
    position = end
    while position > 0:
        start = max(0, position - step)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            return end - (start + found + 1)
        position = start
    return end

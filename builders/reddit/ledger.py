"""The private ledger of submissions: a SQLite file with the last answer for each id.

It holds texts, so only its owner may read it, and SQLite overwrites with zeros whatever is replaced. The
ledger without texts, which builds read, is `dated_ledger`.
"""

import contextlib
import os
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

import polars as pl
from filelock import FileLock, Timeout
from pydantic import ValidationError

from builders.errors import Busy, MtebDeError, SourceSchema, StorageError, UsageError
from builders.files import fsync_folder, writing
from builders.home import home
from builders.lock.lock import first_fault
from builders.reddit.dated_ledger import Origin, read_statuses, statuses, write_statuses
from builders.reddit.submission import Submission
from builders.spec import Ids

_OWNER_ONLY = 0o600
_COLUMNS = tuple(Submission.model_fields)
_TABLES = f"""
CREATE TABLE IF NOT EXISTS submissions (number INTEGER PRIMARY KEY, {", ".join(_COLUMNS)}, UNIQUE (id));
CREATE TABLE IF NOT EXISTS asked (stand_in);
"""
_NOTE = (
    f"INSERT INTO submissions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "
    f"ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _COLUMNS[1:])}"
)
_DAMAGED = "Remove the file: all ids will be asked again."
_NO_DATABASE = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_HELD = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class Ledger:
    """What is known of submissions, in a file that need not exist.

    A transaction holds a whole batch, also where a run is killed. Who changes the file holds its lock.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path.with_name(f".{path.name}.lock"))
        self._known: dict[str, Submission] | None = None  # what the file holds, while it is held

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[None]:
        """Hold the ledger against other runs; who holds it may enter again.

        Raises:
            Busy: Another run holds it.
        """
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout as error:
                hint = "Wait until the other run has ended."
                raise Busy(f"{self.path}: another run holds this ledger", hint=hint) from error
        try:
            yield
        finally:
            self._lock.release()
            if not self._lock.is_locked:
                self._known = None

    def latest(self) -> Mapping[str, Submission]:
        """Return the last answer for each id, in the order in which ids were first answered."""
        if self._known is not None:
            return self._known
        known = self._read() if self.path.exists() else {}
        if self._lock.is_locked:
            self._known = known
        return known

    def append(self, entries: Collection[Submission]) -> None:
        """Note answers in place of earlier ones; they are on the disk when this returns."""
        if not entries:
            return
        with self.exclusive():
            known, self._known = self._known, None  # it is read again where the writing breaks off
            with self._open() as database:
                database.executemany(_NOTE, [tuple(one.model_dump(mode="json").values()) for one in entries])
            if known is not None:
                self._known = known | {entry.id: entry for entry in entries}

    def keep_apart(self, *, stand_in: bool) -> None:
        """Make sure that answers of Reddit and of a stand-in, of which one is to be asked, are never mixed.

        Raises:
            UsageError: The ledger holds answers of the other.
        """
        with self.exclusive(), self._open() as database:
            row = database.execute("SELECT stand_in FROM asked").fetchone()
            empty = database.execute("SELECT 1 FROM submissions").fetchone() is None
            if row is None or empty:
                database.execute("DELETE FROM asked")
                database.execute("INSERT INTO asked VALUES (?)", (stand_in,))
            elif bool(row[0]) != stand_in:
                held, now = ("a stand-in", "Reddit") if row[0] else ("Reddit", "a stand-in")
                problem = f"{self.path} holds answers of {held}, and {now} would be asked"
                hint = "Set MTEB_DE_HOME to another folder, or MTEB_DE_REDDIT_URL as it was before."
                raise UsageError(f"{problem}: they must not be mixed", hint=hint)

    @contextlib.contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction; it is rolled back where the block ends badly."""
        try:
            with writing(self.path):
                if not self.path.exists():
                    os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, _OWNER_ONLY))
                    fsync_folder(self.path.parent)
                self.path.chmod(_OWNER_ONLY)  # also one that came from a backup; a journal takes its mode
            with contextlib.closing(sqlite3.connect(self.path, isolation_level=None)) as database:
                # What is replaced is overwritten, and no journal or temporary file keeps a copy of it.
                database.executescript(
                    "PRAGMA secure_delete = ON; PRAGMA journal_mode = DELETE; PRAGMA temp_store = MEMORY;"
                    f"PRAGMA synchronous = EXTRA; BEGIN IMMEDIATE; {_TABLES}"
                )
                yield database
                database.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            raise self._meaning(error) from error

    def _read(self) -> dict[str, Submission]:
        known = {}
        with self._open() as database:
            rows = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM submissions ORDER BY number")
            for number, row in enumerate(rows, 1):
                try:
                    entry = Submission.model_validate(dict(zip(_COLUMNS, row, strict=True)))
                except ValidationError as error:
                    problem = f"{self.path}, row {number}: {first_fault(error)}"
                    raise SourceSchema(problem, hint=_DAMAGED) from None
                known[entry.id] = entry
        return known

    def _meaning(self, error: sqlite3.DatabaseError) -> MtebDeError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in _NO_DATABASE:
            return SourceSchema(f"{self.path}: not a ledger, or a damaged one ({error})", hint=_DAMAGED)
        if code in _HELD:
            hint = "Close the program that has it open, and run the same command again."
            return Busy(f"{self.path}: another program holds this ledger ({error})", hint=hint)
        hint = "Free some space, or correct the permissions."
        return StorageError(f"{self.path}: cannot be read or written ({error})", hint=hint)


def private_ledger(spec: Ids, root: Path | None) -> Ledger:
    """Return the ledger with texts under a folder of caches; only its owner may read it."""
    return Ledger((root or home()) / spec.ledger.folder / f"{spec.name}.submissions.sqlite")


def dated_ledger(spec: Ids, root: Path | None) -> Path:
    """Return where the ledger without texts lies, which builds read."""
    return (root or home()) / spec.ledger.folder / spec.ledger.name


def rewrite_dated(spec: Ids, root: Path | None, entries: Iterable[Submission], *, stand_in: bool) -> None:
    """Bring the dated ledger up to date, where there is one; ids of which nothing new is known stay."""
    path = dated_ledger(spec, root)
    if not path.exists():
        return
    before = read_statuses(path)
    stand_in = stand_in or Origin.STAND_IN in before["origin"]
    now = statuses(entries, archives=spec.archives, stand_in=stand_in).join(before, on="id", how="semi")
    write_statuses(path, pl.concat([now, before.join(now, on="id", how="anti")]))


def counted(entries: Iterable[Submission]) -> str:
    """Return how many submissions have which status, as one line."""
    counts = Counter(str(entry.status) for entry in entries)
    return ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))

"""Scrubbing a table of any size on the disk: CSV, JSON lines or parquet, in pieces, on all cores."""

import os
import stat
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from builders import files, processes
from builders.errors import StorageError, UsageError
from builders.lock.lock import Frozen, PersonalReport
from builders.personal import pieces
from builders.personal.pieces import Cleaner, Done, Task
from builders.personal.replacements import together
from builders.spec import ALL_KINDS, PersonalKind

_ALONE_BELOW = 16 << 20
"""Bytes of a file below which starting other processes takes longer than the work."""
_FORMATS = "CSV (.csv, .tsv), JSON lines (.jsonl, .ndjson) and parquet (.parquet)"
_LONGEST_NAME, _ROWS = 60, 8192
_JSON = frozenset({".jsonl", ".ndjson"})
_SEPARATORS = {",": "','", ";": "';'", "\t": r"$'\t'", "|": "'|'"}
"""Signs that part values, each as a shell takes it."""
_WHOLE = "The table must be whole, and its text UTF-8."

_T = TypeVar("_T")


class FileReport(Frozen):
    """What `scrub_file` did.

    Attributes:
        columns: Columns that were looked at, by their clean names; in JSON, keys.
        left: Columns that were not: neither text nor numbers, or not asked for. Empty for JSON.
        unread: What stays as it was though it may hold personal data: bytes; columns that were asked for and
            cannot be looked at; and of parquet, columns of numbers in which personal data was found.
        header: Whether names of columns were changed: the first row of CSV may be no header.
    """

    rows: int
    columns: tuple[str, ...]
    left: tuple[str, ...]
    unread: tuple[str, ...] = ()
    header: bool = False
    personal: PersonalReport


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy to be made: from where, to where (links resolved, with these permissions), and how."""

    path: Path
    target: Path
    mode: int
    task: Task
    workers: int


def scrub_file(
    path: Path,
    out: Path,
    columns: Sequence[str] = (),
    kinds: Collection[PersonalKind] = ALL_KINDS,
    *,
    separator: str | None = None,
    quote: str = '"',
    named: bool = True,
    workers: int | None = None,
) -> FileReport:
    """Write a copy of a table without personal data.

    The table is read and written in pieces, so memory does not grow with the file. `out` appears when all is
    done; it may be `path` itself. Names of columns and keys, and a file's metadata, are scrubbed as well. A
    column's name announces its values: "12345" is a phone number in a column "Telefon".

    Args:
        path: The table: .csv, .tsv, .jsonl, .ndjson or .parquet, in UTF-8.
        out: The copy, in the same format.
        columns: Which columns; in JSON, keys at any depth. Empty for all.
        kinds: What is replaced.
        separator: Between values of a CSV file; None for a comma, or a tab in .tsv.
        quote: Around values of a CSV file; empty where none are quoted.
        named: Whether the first row of a CSV file names the columns; else their names are 1, 2, 3 and so on.
        workers: Processes; None for one per core, or none but this one where the file is small.

    Raises:
        UsageError: The file is not there, not one of the formats, broken, or lacks a column.
        StorageError: `out` cannot be written, or a worker was killed.
    """
    suffix = path.suffix.lower()
    count = workers or (1 if _size(path) < _ALONE_BELOW else os.cpu_count() or 1)
    task = Task(tuple(columns), tuple(kinds), separator or ("\t" if suffix == ".tsv" else ","), quote)
    copy = _Copy(path, *_target(path, out), task, count)
    try:
        if suffix == ".parquet":
            return _parquet(copy)
        if suffix in {".csv", ".tsv"}:
            return _csv(copy, named=named, sure=separator is not None)
        if suffix in _JSON:
            return _lines(copy)
    except (UsageError, UnicodeDecodeError, pa.ArrowException) as error:
        raise UsageError(f"{path}: {error}", hint=getattr(error, "hint", _WHOLE)) from error
    raise UsageError(f"{path}: unknown format {suffix or 'without an ending'}", hint=f"Known: {_FORMATS}.")


def _csv(copy: _Copy, *, named: bool, sure: bool) -> FileReport:
    """Copy CSV, whose first row may hold names; the separator may be the `sure` one that was asked for."""
    task, cleaner = copy.task, Cleaner(copy.task.kinds)
    with copy.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as source:
        rows: Iterator[tuple[int, list[str]]] = pieces.csv_rows(source, task)
        number, first = next(((number, row) for number, row in rows if row), (1, []))
        if not first:
            raise UsageError("the file is empty: it has no row", hint="Give a table with a row at least.")
        if not sure:
            _require_separator(first, task.separator)
        header = first if named else [str(place) for place in range(1, len(first) + 1)]
        if twice := next((name for name in header if header.count(name) > 1), None):
            raise _named_twice(twice, " Or pass --no-header.")
        clean = dict(zip(header, cleaner.names(header), strict=True))
        _check_columns(task, header)
        with files.atomic(copy.target, copy.mode) as target:
            if named:
                target.write(pieces.csv_bytes([list(clean.values())], task))
            else:
                rows = chain([(number, first)], rows)
            work = partial(pieces.scrub_csv, header=header)
            done = _scrubbed(copy, pieces.csv_pieces(rows, header), work, target.write)
    return _summed(done, cleaner, clean, list(filter(task.wants, header)), unread=())


def _require_separator(first: Sequence[str], separator: str) -> None:
    """Refuse a first row that another sign parts more: in one piece, values lack their columns' names."""
    others = {sign: sum(value.count(sign) for value in first) for sign in _SEPARATORS if sign != separator}
    sign = max(others, key=others.__getitem__)
    if others[sign] >= len(first):
        ways = f"{_SEPARATORS[sign]} if that stands between the values, or {_SEPARATORS[separator]} if not"
        raise UsageError(f"the first row holds more {sign!r} than {separator!r}", hint=f"--separator {ways}.")


def _named_twice(name: str, more: str = "") -> UsageError:
    (clean,) = Cleaner(ALL_KINDS).names([name])
    return UsageError(f"two columns are called {_short(clean)!r}", hint=f"Give each its own name.{more}")


def _lines(copy: _Copy) -> FileReport:
    with copy.path.open("rb") as source, files.atomic(copy.target, copy.mode) as target:
        done = _scrubbed(copy, pieces.line_pieces(source), pieces.scrub_lines, target.write)
        keys = sorted({key for piece in done for key in piece.keys})
        _check_columns(copy.task, keys)
    clean = dict(zip(keys, Cleaner(copy.task.kinds).names(keys), strict=True))
    wanted = copy.task.columns or keys
    return _summed(done, Cleaner(()), {key: clean[key] for key in wanted}, wanted, unread=())


def _parquet(copy: _Copy) -> FileReport:
    task, cleaner = copy.task, Cleaner(copy.task.kinds)
    with _parquet_errors(lambda: pq.ParquetFile(copy.path)) as source:
        before = source.schema_arrow
        if twice := sorted({name for name in before.names if before.names.count(name) > 1}):
            raise _named_twice(twice[0])
        _check_columns(task, before.names)
        after = pieces.clean_schema(before, cleaner)
        work = partial(pieces.scrub_batch, schema=after)
        with (
            files.atomic(copy.target, copy.mode) as target,
            pq.ParquetWriter(target, after, compression="zstd") as writer,
        ):
            done = _scrubbed(copy, _batches(source), work, writer.write_batch)
    kept = {name for piece in done for name in piece.kept}
    asked = {field.name: field.type for field in before if task.wants(field.name)}
    columns = [name for name, kind in asked.items() if pieces.is_read(kind)]
    kept |= {name for name, kind in asked.items() if pieces.is_unread(kind, name)}
    unread = [name for name in asked if name in kept or (task.columns and name not in columns)]
    return _summed(done, cleaner, dict(zip(before.names, after.names, strict=True)), columns, unread)


def _check_columns(task: Task, known: Sequence[str]) -> None:
    if unknown := [name for name in task.columns if name not in known]:
        hint = f"Columns: {', '.join(map(_short, Cleaner(ALL_KINDS).names(sorted(known))))}."
        raise UsageError(f"no column {', '.join(map(repr, unknown))}", hint=hint)


def _scrubbed(
    copy: _Copy, cut: Iterable[Any], work: Callable[..., Done], write: Callable[[Any], object]
) -> list[Done]:
    """Scrub and write pieces in order, a few more than workers under way; what is returned holds no text."""
    finished: list[Done] = []

    def take(done: Done) -> None:
        write(done.output)
        finished.append(replace(done, output=None))

    if copy.workers == 1:
        for piece in cut:
            take(work(piece, task=copy.task))
        return finished
    under_way: deque[Future[Done]] = deque()
    pool = processes.pool(copy.workers)
    try:
        for piece in cut:
            with processes.starting():
                under_way.append(pool.submit(work, piece, task=copy.task))
            if len(under_way) > copy.workers + 1:
                take(under_way.popleft().result())
        while under_way:
            take(under_way.popleft().result())
        return finished
    except BrokenProcessPool as error:
        raise StorageError(
            "a process that scrubs was killed, probably as memory ran out; no copy was written",
            hint="Run it again with fewer --workers: each takes memory of its own.",
        ) from error
    finally:
        processes.kill(pool)  # else an error waits for all pieces that are under way


def _summed(
    done: list[Done], cleaner: Cleaner, clean: dict[str, str], columns: Sequence[str], unread: Sequence[str]
) -> FileReport:
    """Sum up the pieces and what was found beside the rows, with the clean names of columns."""
    return FileReport(
        rows=sum(piece.rows for piece in done),
        columns=tuple(_short(clean[name]) for name in columns),
        left=tuple(_short(new) for name, new in clean.items() if name not in {*columns, *unread}),
        unread=(*(_short(clean[name]) for name in unread), *cleaner.unread),
        header=any(old != new for old, new in clean.items()),
        personal=together([cleaner.report, *(piece.report for piece in done)]),
    )


def _short(name: str) -> str:
    """Cut what is too long for a name: it may be the first row of a table without a header."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _target(path: Path, out: Path) -> tuple[Path, int]:
    """Return where a copy goes: what is replaced keeps its permissions, and no other name of it is left."""
    source, ending = path.suffix.lower(), out.suffix.lower()
    if ending != source and not {source, ending} <= _JSON:
        hint = f"The copy is in the format of {path.name}: give it the ending {path.suffix}."
        raise UsageError(f"{out}: the ending {ending or 'is missing and'} does not fit", hint=hint)
    real = Path(os.path.realpath(out))
    try:
        status = real.stat()
    except FileNotFoundError:
        return real, stat.S_IMODE(path.stat().st_mode)
    except OSError as error:
        raise files.unwritable(out, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(f"{out}: no file that a copy can replace", hint="Name a file with --out.")
    if status.st_nlink > 1:
        raise UsageError(
            f"{out}: the file has {status.st_nlink} names (hard links), and would stay under the others",
            hint="Write the copy to a new file with --out, and remove the old one under all its names.",
        )
    return real, stat.S_IMODE(status.st_mode)


def _size(path: Path) -> int:
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file", hint=f"Give a table: {_FORMATS}.") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", hint="Check the path.") from error
    if not stat.S_ISREG(status.st_mode):
        said = f"{path}: not a file, but a folder, pipe or device"
        raise UsageError(said, hint="Save the table as a file first.")
    return status.st_size


def _parquet_errors(action: Callable[[], _T]) -> _T:
    """Read parquet; where a file is damaged, Arrow may call that an error of the disk."""
    try:
        return action()
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"not a whole parquet file ({error})", hint=_WHOLE) from error


def _batches(source: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    batches = source.iter_batches(_ROWS)
    while batch := _parquet_errors(lambda: next(batches, None)):
        yield batch

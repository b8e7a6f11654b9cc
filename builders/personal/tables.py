"""Scrubbing a table of any size on the disk: CSV, JSON lines or parquet, in pieces, on all cores."""

from __future__ import annotations

import multiprocessing
import os
import signal
import stat
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from builders import files
from builders.errors import StorageError, UsageError
from builders.lock.lock import Frozen, PersonalReport
from builders.personal import pieces
from builders.personal.pieces import Done, Task
from builders.personal.replacements import together
from builders.spec import ALL_KINDS, PersonalKind

_ALONE_BELOW = 16 << 20
"""Bytes of a file below which starting other processes takes longer than the work."""
_FORMATS = "CSV (.csv, .tsv), JSON lines (.jsonl, .ndjson) and parquet (.parquet)"
_LONGEST_NAME, _ROWS = 60, 8192
_SAME = dict.fromkeys((".jsonl", ".ndjson"), (".jsonl", ".ndjson"))
_WHOLE = "The table must be whole, and its text UTF-8."

_T = TypeVar("_T")
_Work = Callable[..., Done]
_Target = tuple[Path, int]
"""Where the copy goes, links resolved, and its permissions."""


class FileReport(Frozen):
    """What `scrub_file` did.

    Attributes:
        rows: Rows of the table.
        columns: Columns that were looked at, by their clean names; in JSON, keys.
        left: Columns that were not: no text, or not asked for. Empty for JSON.
        unread: What may hold text and was not looked at, though no columns were named.
        header: Whether names of columns were changed: the first row of CSV may be no header.
        personal: What was replaced.
    """

    rows: int
    columns: tuple[str, ...]
    left: tuple[str, ...]
    unread: tuple[str, ...] = ()
    header: bool = False
    personal: PersonalReport


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
    progress: Callable[[int], None] = lambda rows: None,
) -> FileReport:
    """Write a copy of a table without personal data.

    The table is read and written in pieces, so memory does not grow with the file. `out` appears when all is
    done; it may be `path` itself. Names of columns and keys, and a file's metadata, are scrubbed as well.

    Args:
        path: The table: .csv, .tsv, .jsonl, .ndjson or .parquet, in UTF-8.
        out: The copy, in the same format.
        columns: Which columns; in JSON, keys at any depth. Empty for all that hold text.
        kinds: What is replaced.
        separator: Between values of a CSV file; None for a comma, or a tab in .tsv.
        quote: Around values of a CSV file; empty where none are quoted.
        named: Whether the first row of a CSV file names the columns; else their names are 1, 2, 3 and so on.
        workers: Processes; None for one per core, or none but this one where the file is small.
        progress: Called with the number of rows done so far.

    Raises:
        UsageError: The file is not there, not one of the formats, broken, or lacks a column.
        StorageError: `out` cannot be written, or a worker was killed.
    """
    suffix = path.suffix.lower()
    count = workers or (1 if _size(path) < _ALONE_BELOW else os.cpu_count() or 1)
    target = _target(path, out)
    task = Task(tuple(columns), tuple(kinds), separator or ("\t" if suffix == ".tsv" else ","), quote)
    try:
        if suffix == ".parquet":
            return _parquet(path, target, task, count, progress)
        if suffix in {".csv", ".tsv"}:
            return _csv(path, target, task, count, progress, named=named)
        if suffix in {".jsonl", ".ndjson"}:
            return _lines(path, target, task, count, progress)
    except (UsageError, UnicodeDecodeError, pa.ArrowException) as error:
        raise UsageError(f"{path}: {error}", hint=getattr(error, "hint", _WHOLE)) from error
    raise UsageError(f"{path}: unknown format {suffix or 'without an ending'}", hint=f"Known: {_FORMATS}.")


def _csv(
    path: Path, target: _Target, task: Task, workers: int, progress: Callable[[int], None], *, named: bool
) -> FileReport:
    with path.open(encoding="utf-8-sig", newline="") as source:
        rows: Iterator[tuple[int, list[str]]] = pieces.csv_rows(source, task)
        number, first = next(((number, row) for number, row in rows if row), (1, []))
        header = first if named else [str(place) for place in range(1, len(first) + 1)]
        if len(set(header)) != len(header) or not header:
            raise UsageError(
                "the header is empty or names a column twice",
                hint="Give each column its own name, or pass --no-header.",
            )
        names, found = pieces.clean_names(header, task)
        _check_columns(task, header)
        with files.atomic(*target) as copy:
            if named:
                copy.write(pieces.csv_bytes([names], task))
            else:
                rows = chain([(number, first)], rows)
            done = _written(
                pieces.csv_pieces(rows, header), pieces.scrub_csv, task, workers, copy.write, progress
            )
    clean = dict(zip(header, names, strict=True))
    left = [name for name in header if task.columns and name not in task.columns]
    return _summed(done, [found], clean, [name for name in header if name not in left], left)


def _lines(
    path: Path, target: _Target, task: Task, workers: int, progress: Callable[[int], None]
) -> FileReport:
    with path.open("rb") as source, files.atomic(*target) as copy:
        cut = pieces.line_pieces(source)
        done = _written(cut, pieces.scrub_lines, task, workers, copy.write, progress)
        keys = sorted({key for piece in done for key in piece.columns})
        _check_columns(task, keys)
    names, _ = pieces.clean_names(keys, task)
    return _summed(done, [], dict(zip(keys, names, strict=True)), task.columns or keys, [])


def _parquet(
    path: Path, target: _Target, task: Task, workers: int, progress: Callable[[int], None]
) -> FileReport:
    with _parquet_errors(lambda: pq.ParquetFile(path)) as source:
        before = source.schema_arrow
        if twice := sorted({name for name in before.names if before.names.count(name) > 1}):
            raise UsageError(f"two columns are called {twice[0]!r}", hint="Give each column its own name.")
        texts = [field.name for field in before if pieces.is_text(field.type)]
        _check_columns(task, texts)
        after, metadata, found = pieces.clean_schema(before, task)
        work = partial(pieces.scrub_batch, schema=after)
        with files.atomic(*target) as copy, pq.ParquetWriter(copy, after, compression="zstd") as writer:
            done = _written(_batches(source), work, task, workers, writer.write_batch, progress)
    changed = [name for name in texts if not task.columns or name in task.columns]
    clean = dict(zip(before.names, after.names, strict=True))
    unread = [] if task.columns else [field.name for field in before if pieces.is_unread(field.type)]
    left = [name for name in before.names if name not in {*changed, *unread}]
    summed = _summed(done, [found], clean, changed, left)
    return summed.model_copy(update={"unread": (*(clean[name] for name in unread), *metadata)})


def _check_columns(task: Task, known: Sequence[str]) -> None:
    unknown = [name for name in task.columns if name not in known]
    if unknown:
        names, _ = pieces.clean_names(sorted(known), Task((), ALL_KINDS))
        raise UsageError(
            f"no text column {', '.join(map(repr, unknown))}",
            hint=f"Text columns: {', '.join(map(_short, names))}.",
        )


def _written(
    cut: Iterable[Any],
    work: _Work,
    task: Task,
    workers: int,
    write: Callable[[Any], object],
    progress: Callable[[int], None],
) -> list[Done]:
    """Scrub and write pieces in order; what is returned of each holds no text."""
    finished: list[Done] = []
    rows = 0
    for done in _worked(cut, work, task, workers):
        write(done.output)
        finished.append(Done(None, done.rows, done.report, done.columns))
        rows += done.rows
        progress(rows)
    return finished


def _worked(cut: Iterable[Any], work: _Work, task: Task, workers: int) -> Iterator[Done]:
    """Yield scrubbed pieces in order; a few more than there are workers are under way at a time."""
    if workers == 1:
        yield from (work(piece, task=task) for piece in cut)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_begin) as pool:
        under_way: deque[Future[Done]] = deque()
        try:
            for piece in cut:
                # A worker is born with this mask: Ctrl-C is its parent's to handle.
                before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
                under_way.append(pool.submit(work, piece, task=task))
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
                if len(under_way) > workers + 1:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise StorageError(
                "a process that scrubs was killed, probably as memory ran out; no copy was written",
                hint="Run it again with fewer --workers: each takes memory of its own.",
            ) from error
        finally:
            for future in under_way:
                future.cancel()


def _begin() -> None:
    """Let a worker end when its parent ends, however that does."""
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _summed(
    done: Sequence[Done],
    others: Sequence[PersonalReport],
    clean: Mapping[str, str],
    columns: Sequence[str],
    left: Sequence[str],
) -> FileReport:
    """Sum up the pieces and what was found beside the rows, with the clean names of columns."""
    return FileReport(
        rows=sum(piece.rows for piece in done),
        columns=tuple(_short(clean[name]) for name in columns),
        left=tuple(_short(clean[name]) for name in left),
        header=any(old != new for old, new in clean.items()),
        personal=together([*others, *(piece.report for piece in done)]),
    )


def _short(name: str) -> str:
    """Cut what is too long for a name: it may be the first row of a table without a header."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"


def _target(path: Path, out: Path) -> _Target:
    """Return where a copy goes: what is replaced keeps its permissions, and no other name of it is left.

    Raises:
        UsageError: `out` has another ending than `path`, is no file, or has several names.
    """
    if (ending := out.suffix.lower()) not in _SAME.get(path.suffix.lower(), (path.suffix.lower(),)):
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
        raise UsageError(
            f"{path}: not a file, but a folder, pipe or device", hint="Save the table as a file first."
        )
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

"""Scrubbing a table of any size on the disk: CSV, JSON lines or parquet, in pieces, on all cores."""

from __future__ import annotations

import csv
import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders import files
from builders.errors import UsageError
from builders.lock.model import Frozen, PersonalReport
from builders.personal import pieces
from builders.personal.kinds import ALL_KINDS, PersonalKind
from builders.personal.pieces import Done, Task
from builders.personal.report import together

_PARQUET_ROWS = 8192
_ALONE_BELOW = 16 << 20
"""Bytes of a file below which starting other processes takes longer than the work."""
_FORMATS = "CSV (.csv, .tsv), JSON lines (.jsonl, .ndjson) and parquet (.parquet)"

Work = Callable[[Any, Task], Done]


class FileReport(Frozen):
    """What `scrub_file` did.

    Attributes:
        rows: Rows of the table.
        columns: Columns that were looked at; in JSON, keys.
        left: Columns that were not: no text, or not asked for. Empty for JSON.
        personal: What was replaced.
    """

    rows: int
    columns: tuple[str, ...]
    left: tuple[str, ...]
    personal: PersonalReport


def scrub_file(
    path: Path,
    out: Path,
    columns: Sequence[str] = (),
    kinds: Collection[PersonalKind] = ALL_KINDS,
    *,
    separator: str | None = None,
    quote: str = '"',
    workers: int | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> FileReport:
    """Write a copy of a table without personal data.

    The table is read and written in pieces, so memory does not grow with the file. `out` appears when all is
    done; it may be `path` itself.

    Args:
        path: The table: .csv, .tsv, .jsonl, .ndjson or .parquet, in UTF-8. CSV needs a header.
        out: The copy, in the same format.
        columns: Which columns; in JSON, keys at any depth. Empty for all that hold text.
        kinds: What is replaced.
        separator: Between values of a CSV file; None for a comma, or a tab in .tsv.
        quote: Around values of a CSV file.
        workers: Processes; None for one per core, or none but this one where the file is small.
        progress: Called with the number of rows done so far.

    Raises:
        UsageError: The file is not there, not one of the formats, broken, or lacks a column.
        StorageError: `out` cannot be written.
    """
    suffix = path.suffix.lower()
    task = Task(tuple(columns), tuple(kinds), separator or ("\t" if suffix == ".tsv" else ","), quote)
    count = workers or (1 if _size(path) < _ALONE_BELOW else os.cpu_count() or 1)
    try:
        if suffix == ".parquet":
            return _parquet(path, out, task, count, progress)
        if suffix in {".csv", ".tsv"}:
            return _csv(path, out, task, count, progress)
        if suffix in {".jsonl", ".ndjson"}:
            return _lines(path, out, task, count, progress)
    except (UsageError, csv.Error, UnicodeDecodeError, pa.ArrowException) as error:
        hint = error.hint if isinstance(error, UsageError) else "The table must be whole, and its text UTF-8."
        raise UsageError(f"{path}: {error}", hint=hint) from error
    raise UsageError(f"{path}: unknown format {suffix or 'without an ending'}", hint=f"Known: {_FORMATS}.")


def _csv(path: Path, out: Path, task: Task, workers: int, progress: Callable[[int], None]) -> FileReport:
    with path.open(encoding="utf-8-sig", newline="") as source:
        rows = pieces.csv_reader(source, task)
        header = next(rows, [])
        if len(set(header)) != len(header) or not header:
            raise UsageError(
                "the header is empty or names a column twice", hint="Give each column its own name."
            )
        _check_columns(task, header)
        with files.atomic(out) as target:
            target.write(pieces.csv_bytes([header], task))
            done = _written(
                pieces.csv_pieces(rows, header), pieces.scrub_csv, task, workers, target.write, progress
            )
    looked_at = [name for name in header if not task.columns or name in task.columns]
    return _summed(done, [name for name in header if name not in looked_at], looked_at)


def _lines(path: Path, out: Path, task: Task, workers: int, progress: Callable[[int], None]) -> FileReport:
    with path.open("rb") as source, files.atomic(out) as target:
        done = _written(pieces.line_pieces(source), pieces.scrub_lines, task, workers, target.write, progress)
        _check_columns(task, {key for piece in done for key in piece.columns})
    return _summed(done, [], task.columns or sorted({key for piece in done for key in piece.columns}))


def _parquet(path: Path, out: Path, task: Task, workers: int, progress: Callable[[int], None]) -> FileReport:
    with pq.ParquetFile(path) as source:
        schema = source.schema_arrow
        texts = [field.name for field in schema if pieces.is_text(field.type)]
        _check_columns(task, texts)
        with files.atomic(out) as target, pq.ParquetWriter(target, schema, compression="zstd") as writer:
            batches = source.iter_batches(_PARQUET_ROWS)
            done = _written(batches, pieces.scrub_batch, task, workers, writer.write_batch, progress)
    looked_at = [name for name in texts if not task.columns or name in task.columns]
    return _summed(done, [name for name in schema.names if name not in looked_at], looked_at)


def _check_columns(task: Task, known: Collection[str]) -> None:
    unknown = [name for name in task.columns if name not in known]
    if unknown:
        raise UsageError(
            f"no text column {', '.join(map(repr, unknown))}",
            hint=f"Text columns: {', '.join(sorted(known))}.",
        )


def _written(
    cut: Iterable[Any],
    work: Work,
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


def _worked(cut: Iterable[Any], work: Work, task: Task, workers: int) -> Iterator[Done]:
    """Yield scrubbed pieces in order; a few more than there are workers are under way at a time."""
    if workers == 1:
        yield from (work(piece, task) for piece in cut)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        under_way: deque[Future[Done]] = deque()
        try:
            for piece in cut:
                under_way.append(pool.submit(work, piece, task))
                if len(under_way) > workers + 1:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()


def _summed(done: Sequence[Done], left: Sequence[str], columns: Sequence[str]) -> FileReport:
    return FileReport(
        rows=sum(piece.rows for piece in done),
        columns=tuple(columns),
        left=tuple(left),
        personal=together(piece.report for piece in done),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else _absent(path)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})", hint="Check the path.") from error


def _absent(path: Path) -> int:
    raise UsageError(f"{path}: no such file", hint=f"Give a table: {_FORMATS}.")

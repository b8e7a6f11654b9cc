"""Tables in pieces: what is done to a piece, and how CSV is cut, scrubbed and written.

A piece travels to another process and back, so it holds plain values: rows, lines or an Arrow batch.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

from builders.errors import StorageError, UsageError
from builders.lock.lock import PersonalReport
from builders.personal.engine import scrub_rows
from builders.personal.report import report
from builders.spec import PersonalKind

_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Task:
    """What is done to each piece.

    Attributes:
        columns: Names of the columns, or keys in JSON; empty for all that hold text.
        kinds: What is replaced.
        separator: Between the values of a CSV file.
        quote: Around values of a CSV file; empty where none are quoted.
    """

    columns: tuple[str, ...]
    kinds: tuple[PersonalKind, ...]
    separator: str = ","
    quote: str = '"'


@dataclass(frozen=True, slots=True)
class Done:
    """A scrubbed piece.

    Attributes:
        output: Bytes to write, or an Arrow batch.
        rows: Rows of the piece.
        report: What was replaced.
        columns: Of JSON, the keys that are there.
    """

    output: Any
    rows: int
    report: PersonalReport
    columns: frozenset[str]


def clean_names(names: Sequence[str], task: Task) -> tuple[list[str], PersonalReport]:
    """Scrub the names of columns or keys; they stay apart."""
    after, spans = scrub_rows(names, task.kinds)
    return renamed(names, [name or "" for name in after]), report(names, spans)


def renamed(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Give names that have become equal a number each; names that did not change keep theirs."""
    taken = {new for old, new in zip(before, after, strict=True) if old == new}
    names = []
    for old, new in zip(before, after, strict=True):
        name, number = new, 1
        while old != new and name in taken:
            number += 1
            name = f"{new} {number}"
        taken.add(name)
        names.append(name)
    return names


def csv_rows(file: IO[str], task: Task) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of an open CSV file with their numbers; values may be of any length, and rows empty.

    Raises:
        UsageError: A row is no CSV, or not UTF-8.
    """
    number = 0
    rows = _reader(file, task)
    while True:
        number += 1
        try:
            row = next(rows, None)
        except (csv.Error, UnicodeDecodeError) as error:
            hint = "Check separator and quotes; --quote '' where quotation marks are no more than text."
            if isinstance(error, UnicodeDecodeError):
                hint = "Save the table in UTF-8."
            raise UsageError(f"row {number}: {error}", hint=hint) from error
        if row is None:
            return
        yield number, row


def csv_pieces(
    rows: Iterator[tuple[int, list[str]]], header: Sequence[str]
) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Cut the rows below the header into pieces; blank lines are passed over, but in a table of one column.

    Raises:
        UsageError: A row has more or fewer values than the header.
    """
    while numbered := list(islice(rows, _ROWS)):
        piece = []
        for number, row in numbered:
            values = row if len(header) > 1 else row or [""]
            if len(values) < 2 <= len(header) and not "".join(values).strip():
                continue
            if len(values) != len(header):
                raise UsageError(
                    f"row {number} has {len(values)} values, the header has {len(header)}",
                    hint="Check separator and quotes.",
                )
            piece.append(values)
        if piece:
            yield header, piece


def scrub_csv(piece: tuple[Sequence[str], list[list[str]]], task: Task) -> Done:
    """Scrub rows of a CSV file; the output is CSV with line feeds, quoted where needed.

    Raises:
        StorageError: What was written is not what is read.
    """
    header, rows = piece
    columns = list(zip(*rows, strict=True))
    wanted = [place for place, name in enumerate(header) if not task.columns or name in task.columns]
    before = [text for place in wanted for text in columns[place]]
    after, spans = scrub_rows(before, task.kinds)
    for order, place in enumerate(wanted):
        columns[place] = tuple(text or "" for text in after[order * len(rows) : (order + 1) * len(rows)])
    return Done(csv_bytes(zip(*columns, strict=True), task), len(rows), report(before, spans), frozenset())


def csv_bytes(rows: Iterator[tuple[str, ...]] | Sequence[Sequence[str]], task: Task) -> bytes:
    """Return rows as CSV in UTF-8, which was read back.

    Raises:
        StorageError: What was written is not what is read.
    """
    given = [list(row) for row in rows]
    text = "".join(_lines(given, task))
    try:
        same = [row or [""] for row in _reader(io.StringIO(text, newline=""), task)] == given
    except csv.Error:
        same = False
    if not same:
        hint = "Name another --quote, or another --separator."
        raise StorageError("the scrubbed rows cannot be written as such a CSV file", hint=hint)
    return text.encode()


def _reader(file: IO[str], task: Task) -> Iterator[list[str]]:
    csv.field_size_limit(2**31 - 1)
    if not task.quote:
        return csv.reader(file, delimiter=task.separator, quoting=csv.QUOTE_NONE, strict=True)
    return csv.reader(file, delimiter=task.separator, quotechar=task.quote, strict=True)


class _Lines(list[str]):
    """Takes rows from a writer of CSV, one at a time."""

    def write(self, row: str) -> None:
        self.append(f"{row[:-2]}\n")


def _lines(rows: Sequence[Sequence[str]], task: Task) -> list[str]:
    if not task.quote:
        return [f"{task.separator.join(row)}\n" for row in rows]
    lines = _Lines()
    # Before CPython 3.11.9 a carriage return is quoted only where the end of a line has one.
    csv.writer(lines, delimiter=task.separator, quotechar=task.quote, lineterminator="\r\n").writerows(rows)
    return lines

"""Tables in pieces: how each format is cut, how a piece is scrubbed, and what comes out.

A piece travels to another process and back, so it holds plain values: rows, lines or an Arrow batch.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from builders.errors import UsageError
from builders.lock.model import PersonalReport
from builders.personal.engine import scrub
from builders.personal.kinds import PersonalKind
from builders.personal.report import report, together

Json: TypeAlias = "dict[str, Json] | list[Json] | str | float | bool | None"

_ROWS = 4096
_LINE_BYTES = 2 << 20


@dataclass(frozen=True, slots=True)
class Task:
    """What is done to each piece.

    Attributes:
        columns: Names of the columns, or keys in JSON; empty for all that hold text.
        kinds: What is replaced.
        separator: Between the values of a CSV file.
        quote: Around values of a CSV file.
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
        columns: Columns or keys that were looked at.
    """

    output: Any
    rows: int
    report: PersonalReport
    columns: frozenset[str]


def csv_reader(file: IO[str], task: Task) -> Iterator[list[str]]:
    """Return the rows of an open CSV file; values may be of any length."""
    csv.field_size_limit(2**31 - 1)
    return csv.reader(file, delimiter=task.separator, quotechar=task.quote, strict=True)


def csv_pieces(
    rows: Iterator[list[str]], header: Sequence[str]
) -> Iterator[tuple[Sequence[str], list[list[str]]]]:
    """Cut the rows below the header into pieces.

    Raises:
        UsageError: A row has more or fewer values than the header.
    """
    number = 1
    while piece := list(islice(rows, _ROWS)):
        for row in piece:
            number += 1
            if len(row) != len(header):
                raise UsageError(
                    f"row {number} has {len(row)} values, the header has {len(header)}",
                    hint="Check separator and quotes.",
                )
        yield header, piece


def scrub_csv(piece: tuple[Sequence[str], list[list[str]]], task: Task) -> Done:
    """Scrub rows of a CSV file; the output is CSV with line feeds, quoted where needed."""
    header, rows = piece
    values = dict(zip(header, zip(*rows, strict=True), strict=True))
    wanted = [name for name in header if not task.columns or name in task.columns]
    texts, totals = _scrub_all([text for name in wanted for text in values[name]], task)
    for place, name in enumerate(wanted):
        values[name] = tuple(texts[place * len(rows) : (place + 1) * len(rows)])
    return Done(csv_bytes(zip(*values.values(), strict=True), task), len(rows), totals, frozenset(wanted))


def csv_bytes(rows: Iterator[tuple[str, ...]] | Sequence[Sequence[str]], task: Task) -> bytes:
    """Return rows as CSV in UTF-8."""
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=task.separator, quotechar=task.quote, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def line_pieces(file: IO[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Cut a file into lists of lines of about `_LINE_BYTES`, each with the number of its first line."""
    first = 1
    while lines := file.readlines(_LINE_BYTES):
        yield first, lines
        first += len(lines)


def scrub_lines(piece: tuple[int, list[bytes]], task: Task) -> Done:
    """Scrub the strings of JSON lines, nested ones too; a line that needs no change stays as it is.

    Raises:
        UsageError: A line is no JSON object in UTF-8.
    """
    first, lines = piece
    objects = [_object(line, first + offset) for offset, line in enumerate(lines)]
    found = [list(_strings(value, task.columns, inside=not task.columns)) for value in objects]
    texts, totals = _scrub_all([text for strings in found for text in strings], task)
    replaced = iter(texts)
    output = []
    for line, value, strings in zip(lines, objects, found, strict=True):
        new = list(islice(replaced, len(strings)))
        if new != strings:
            clean = _with_strings(value, task.columns, iter(new), inside=not task.columns)
            line = json.dumps(clean, ensure_ascii=False).encode() + (b"\n" if line.endswith(b"\n") else b"")
        output.append(line)
    keys = frozenset(key for value in objects if value is not None for key in _keys(value))
    return Done(b"".join(output), sum(value is not None for value in objects), totals, keys)


def is_text(kind: pa.DataType) -> bool:
    """Say whether a column of this type holds texts: strings, dictionaries of strings, or lists of them."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return is_text(kind.value_type)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def scrub_batch(batch: pa.RecordBatch, task: Task) -> Done:
    """Scrub the text columns of an Arrow batch; its schema stays."""
    texts = [field.name for field in batch.schema if is_text(field.type)]
    wanted = [name for name in texts if not task.columns or name in task.columns]
    totals: list[PersonalReport] = []
    for name in wanted:
        place = batch.schema.get_field_index(name)
        array, part = _scrub_array(batch.column(place), task)
        totals.append(part)
        batch = batch.set_column(place, batch.schema.field(place), array)
    return Done(batch, batch.num_rows, together(totals), frozenset(wanted))


def _scrub_array(array: pa.Array[Any], task: Task) -> tuple[pa.Array[Any], PersonalReport]:
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values, totals = _scrub_array(pc.list_flatten(array), task)
        lengths = pc.fill_null(pc.list_value_length(array), 0)
        offsets = pa.concat_arrays([pa.array([0], lengths.type), pc.cumulative_sum(lengths)])
        lists = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        return lists.from_arrays(offsets, values, mask=array.is_null()).cast(kind), totals
    if pa.types.is_dictionary(kind):
        texts, totals = _scrub_array(array.cast(kind.value_type), task)
        return texts.dictionary_encode().cast(kind), totals
    before = pl.Series(array.cast(pa.large_string()).to_pylist(), dtype=pl.String)
    after = scrub(before, task.kinds)
    return pa.array(after.texts.to_list(), kind), report(before, after.spans)


def _scrub_all(texts: list[str], task: Task) -> tuple[list[str], PersonalReport]:
    before = pl.Series(texts, dtype=pl.String)
    after = scrub(before, task.kinds)
    return after.texts.to_list(), report(before, after.spans)


def _object(line: bytes, number: int) -> dict[str, Json] | None:
    """Return a line's object; None for an empty line."""
    if not line.strip():
        return None
    try:
        value = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"line {number} is no JSON ({error})", hint="JSON lines hold one object a line."
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"line {number} is no JSON object", hint="JSON lines hold one object a line.")
    return value


def _strings(value: Json, columns: Sequence[str], *, inside: bool) -> Iterator[str]:
    """Yield the strings below wanted keys, in order."""
    if isinstance(value, str):
        if inside:
            yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item, columns, inside=inside)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _strings(item, columns, inside=inside or key in columns)


def _with_strings(value: Json, columns: Sequence[str], new: Iterator[str], *, inside: bool) -> Json:
    """Return the value with its strings below wanted keys replaced, in the order of `_strings`."""
    if isinstance(value, str):
        return next(new) if inside else value
    if isinstance(value, list):
        return [_with_strings(item, columns, new, inside=inside) for item in value]
    if isinstance(value, dict):
        return {
            key: _with_strings(item, columns, new, inside=inside or key in columns)
            for key, item in value.items()
        }
    return value


def _keys(value: Json) -> Iterator[str]:
    """Yield the keys of an object and of those inside it."""
    if isinstance(value, list):
        for item in value:
            yield from _keys(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)

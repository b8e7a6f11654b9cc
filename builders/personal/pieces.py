"""Tables in pieces: how rows of CSV, JSON lines and Arrow batches are cut, scrubbed and written.

A piece travels to another process and back, so it holds plain values. Lines of JSON are scrubbed where they
stand: one built anew from what a parser makes of it would round long numbers, and of a key that stands twice
keep one value only.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import IO, Any, NamedTuple, TypeAlias

import pyarrow as pa

from builders.errors import StorageError, UsageError
from builders.lock.lock import PersonalReport
from builders.personal.engine import scrub_rows
from builders.personal.replacements import report, together
from builders.spec import PersonalKind
from builders.text_files import BOM, whole

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


_LINE_BYTES = 2 << 20
_TOKEN = re.compile(r'"(?:[^"\\]*+(?:\\.[^"\\]*+)*+)"|[{\[]|[}\]]')
"""Strings and brackets of what is known to be JSON."""
_COLON = re.compile(r"[ \t\r\n]*+:")


class _String(NamedTuple):
    """A string of a line: its place with quotes, what it means, and of a key the number of its object."""

    start: int
    end: int
    text: str
    owner: int | None


def line_pieces(file: IO[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Cut a file into lists of lines of about `_LINE_BYTES`, each with the number of its first line."""
    first = 1
    while lines := file.readlines(_LINE_BYTES):
        yield first, [lines[0].removeprefix(BOM), *lines[1:]] if first == 1 else lines
        first += len(lines)


def scrub_lines(piece: tuple[int, list[bytes]], task: Task) -> Done:
    """Scrub the strings and keys of JSON lines, nested ones too; with columns named, what stands below them.

    Raises:
        UsageError: A line is no JSON object in UTF-8.
        StorageError: A scrubbed line is not what it should be.
    """
    first, lines = piece
    texts = [_checked(line, number) for number, line in enumerate(lines, first)]
    keys: set[str] = set()
    found = [_strings(text, task.columns, keys) for text in texts]
    before = [string.text for strings in found for string in strings]
    after, spans = scrub_rows(before, task.kinds)
    clean = iter(after)
    output = []
    for number, (text, strings) in enumerate(zip(texts, found, strict=True), first):
        new = [text or "" for text in islice(clean, len(strings))]
        changed = any(string.text != value for string, value in zip(strings, new, strict=True))
        output.append(_spliced(text, strings, new) if changed else text)
        if changed:
            every = _strings(text, (), set()) if task.columns else strings
            _require_same(output[-1], every, dict(zip(strings, new, strict=True)), number)
    rows = sum(1 for text in texts if text.strip())
    return Done("".join(output).encode(), rows, report(before, spans), frozenset(keys))


def _checked(line: bytes, number: int) -> str:
    """Return a line as text, once it is known to hold an object or nothing."""
    try:
        text = line.decode()
        # Numbers stay as they are written: they need not be ones that Python can hold.
        value = json.loads(text, parse_int=str, parse_float=str) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"line {number} is no JSON ({error})", hint="JSON lines hold one object a line."
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"line {number} is no JSON object", hint="JSON lines hold one object a line.")
    return text


def _strings(text: str, columns: Sequence[str], keys: set[str]) -> list[_String]:
    """Return the strings and keys of a line that are looked at, in order; add the names of all its keys."""
    found: list[_String] = []
    open_: list[tuple[int, bool]] = []
    """Number of each object or list that is open, and whether all that stands in it is looked at."""
    inside = not columns
    objects = 0
    for match in _TOKEN.finditer(text):
        sign = text[match.start()]
        if sign in "{[":
            objects += 1
            open_.append((objects, inside))
        elif sign in "}]":
            open_.pop()
            inside = open_[-1][1] if open_ else False
        else:
            token = match.group()
            value = str(json.loads(token)) if "\\" in token else token[1:-1]
            is_key = _COLON.match(text, match.end()) is not None
            owner, all_inside = open_[-1]
            if is_key:
                keys.add(value)
                inside = all_inside or value in columns
            if all_inside if is_key else inside:
                found.append(_String(*match.span(), value, owner if is_key else None))
    return found


def _spliced(text: str, strings: Sequence[_String], new: list[str]) -> str:
    """Return a line with its strings replaced; keys of one object stay apart."""
    of_object: dict[int, list[int]] = defaultdict(list)
    for place, string in enumerate(strings):
        if string.owner is not None:
            of_object[string.owner].append(place)
    for places in of_object.values():
        names = renamed([strings[place].text for place in places], [new[place] for place in places])
        for place, name in zip(places, names, strict=True):
            new[place] = name
    pieces, position = [], 0
    for string, value in zip(strings, new, strict=True):
        if value != string.text:
            pieces += [text[position : string.start], _quoted(value)]
            position = string.end
    return "".join([*pieces, text[position:]])


def _require_same(line: str, strings: Sequence[_String], new: Mapping[_String, str], number: int) -> None:
    """Read a line back: its strings are the ones that were there, or those that were put in."""
    expected = [new.get(string, string.text) for string in strings]
    if [string.text for string in _strings(_checked(line.encode(), number), (), set())] != expected:
        raise StorageError(f"line {number}: what was written does not read back", hint="Please report it.")


def _quoted(value: str) -> str:
    """Return a string as JSON; halves of characters, which UTF-8 cannot hold, stay escaped."""
    return json.dumps(value, ensure_ascii=whole(value) != value)


_Array: TypeAlias = Any  # the stubs know no type that nested arrays share
_Type: TypeAlias = Any
_MAKE: Any = pa  # makes nested types and arrays
_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
_NUMBERS_IN_BYTES = ("arrow.uuid", "arrow.bool8")


def is_text(kind: pa.DataType) -> bool:
    """Say whether values of a type hold strings that can be scrubbed, at any depth."""
    return _is_string(kind) or (_is_nested(kind) and any(map(is_text, _inner(kind))))


def is_unread(kind: pa.DataType) -> bool:
    """Say whether values of a type may hold text that is not looked at: bytes, or a type not known here."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name not in _NUMBERS_IN_BYTES and is_unread(kind.storage_type)
    if any(is_bytes(kind) for is_bytes in _BYTES):
        return True
    if _is_nested(kind):
        return any(map(is_unread, _inner(kind)))
    return pa.types.is_nested(kind)


def scrub_batch(batch: pa.RecordBatch, schema: pa.Schema, task: Task) -> Done:
    """Scrub the text columns of a batch, whose schema is given with clean names."""
    reports: list[PersonalReport] = []
    arrays = []
    for name, column, field in zip(batch.schema.names, batch.columns, schema, strict=True):
        wanted = is_text(field.type) and (not task.columns or name in task.columns)
        arrays.append(_scrubbed(column, field.type, task, reports) if wanted else column.cast(field.type))
    return Done(
        pa.RecordBatch.from_arrays(arrays, schema=schema), batch.num_rows, together(reports), frozenset()
    )


def clean_schema(schema: pa.Schema, task: Task) -> tuple[pa.Schema, list[str], PersonalReport]:
    """Return a schema with clean names and metadata, what of these is no text, and what was replaced."""
    reports: list[PersonalReport] = []
    unread: list[str] = []
    fields = _clean_fields(list(schema), task, reports, unread)
    clean = _MAKE.schema(fields, _clean_metadata(schema.metadata, task, reports, unread))
    return clean, unread, together(reports)


def _is_string(kind: pa.DataType) -> bool:
    return any(is_string(kind) for is_string in _STRINGS)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _is_nested(kind: pa.DataType) -> bool:
    return (
        isinstance(kind, pa.BaseExtensionType)
        or pa.types.is_dictionary(kind)
        or pa.types.is_struct(kind)
        or pa.types.is_map(kind)
        or _is_list(kind)
    )


def _inner(kind: _Type) -> list[pa.DataType]:
    if isinstance(kind, pa.BaseExtensionType):
        return [kind.storage_type]
    if pa.types.is_struct(kind):
        return [field.type for field in kind]
    if pa.types.is_map(kind):
        return [kind.key_type, kind.item_type]
    return [kind.value_type]


def _scrubbed(array: _Array, kind: _Type, task: Task, reports: list[PersonalReport]) -> _Array:
    """Return an array with its strings scrubbed, as the given type: its own, with clean names.

    What stands below a null is carried over only where it may not be null, and scrubbed.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(
            kind, _scrubbed(array.storage, kind.storage_type, task, reports)
        )
    if pa.types.is_dictionary(kind):
        values = _scrubbed(array.cast(kind.value_type), kind.value_type, task, reports)
        return values.dictionary_encode().cast(kind)
    if pa.types.is_struct(kind):
        # Below a null of the whole, a part that may not be null stands for something: it is scrubbed as well.
        parts = [
            _scrubbed(part if field.nullable else array.field(place), field.type, task, reports)
            for place, (part, field) in enumerate(zip(array.flatten(), kind, strict=True))
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind) or _is_list(kind):
        return _scrubbed_list(array.take(pa.array(range(len(array)), pa.int64())), kind, task, reports)
    if not _is_string(kind):
        return array.cast(kind)
    before = array.cast(pa.large_string()).to_pylist()
    after, spans = scrub_rows(before, task.kinds)
    reports.append(report(before, spans))
    return pa.array(after, kind)


def _scrubbed_list(array: _Array, kind: _Type, task: Task, reports: list[PersonalReport]) -> _Array:
    mask = array.is_null()
    if pa.types.is_map(kind):
        keys = _scrubbed(array.keys, kind.key_type, task, reports)
        items = _scrubbed(array.items, kind.item_type, task, reports)
        if _is_string(kind.key_type):
            keys = _MAKE.array(_apart(array, [str(key) for key in keys.to_pylist()]), kind.key_type)
        return _MAKE.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
    values = _scrubbed(array.values, kind.value_type, task, reports)
    if pa.types.is_fixed_size_list(kind):
        return _MAKE.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)
    lists = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return lists.from_arrays(array.offsets, values, type=kind, mask=mask)


def _apart(array: _Array, after: list[str]) -> list[str]:
    """Keep the keys of each map apart."""
    before = array.keys.to_pylist()
    if before == after:
        return after
    offsets = array.offsets.to_pylist()
    return [name for start, end in pairwise(offsets) for name in renamed(before[start:end], after[start:end])]


def _clean_fields(
    fields: list[pa.Field[Any]], task: Task, reports: list[PersonalReport], unread: list[str]
) -> list[pa.Field[Any]]:
    names, part = clean_names([field.name for field in fields], task)
    reports.append(part)
    return [
        pa.field(
            name,
            _clean_type(field.type, task, reports, unread),
            field.nullable,
            _clean_metadata(field.metadata, task, reports, unread),
        )
        for name, field in zip(names, fields, strict=True)
    ]


def _clean_type(kind: _Type, task: Task, reports: list[PersonalReport], unread: list[str]) -> _Type:
    if pa.types.is_struct(kind):
        return pa.struct(_clean_fields(list(kind), task, reports, unread))
    if pa.types.is_map(kind):
        inner = _clean_fields([kind.key_field, kind.item_field], task, reports, unread)
        return _MAKE.map_(*inner, keys_sorted=kind.keys_sorted)
    if _is_list(kind):
        (field,) = _clean_fields([kind.value_field], task, reports, unread)
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(field, kind.list_size)
        return pa.large_list(field) if pa.types.is_large_list(kind) else pa.list_(field)
    return kind


def _clean_metadata(
    metadata: Mapping[bytes, bytes] | None, task: Task, reports: list[PersonalReport], unread: list[str]
) -> dict[bytes, bytes] | None:
    """Scrub keys and values; of JSON, which readers depend on, the strings alone."""
    if not metadata:
        return None
    clean: dict[bytes, bytes] = {}
    for key, value in metadata.items():
        try:
            names, part = clean_names([key.decode()], task)
            text, other = _clean_text(value, task)
        except UnicodeDecodeError:
            unread.append(f"metadata {key.decode(errors='replace')}")
            clean[key] = value
            continue
        reports += [part, other]
        clean[names[0].encode()] = text
    return clean


def _clean_text(value: bytes, task: Task) -> tuple[bytes, PersonalReport]:
    everything = Task((), task.kinds)
    try:
        is_object = isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        is_object = False
    if is_object:
        done = scrub_lines((1, [value]), everything)
        return bytes(done.output), done.report
    rows = [value.decode()]
    after, spans = scrub_rows(rows, task.kinds)
    return (after[0] or "").encode(), report(rows, spans)

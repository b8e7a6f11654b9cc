"""Tables in pieces: how rows of CSV, JSON lines and Arrow batches are cut, scrubbed and written.

Lines of JSON are scrubbed where they stand: built anew, long numbers would be rounded and repeated keys lost.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise
from typing import IO, Any, NamedTuple, TypeAlias

import pyarrow as pa

from builders.errors import StorageError, UsageError
from builders.lock.lock import PersonalReport
from builders.personal.engine import scrub_rows
from builders.personal.replacements import report, together
from builders.personal.words import is_short_name, lines_of
from builders.spec import PersonalKind
from builders.text_files import BOM, whole

_Array: TypeAlias = Any  # the stubs know no type that nested arrays share
_Type: TypeAlias = Any
_ROWS = 4096
_CUES = {
    name: f"{cue}: "
    for cue, _, names in (line.partition(": ") for line in lines_of("header_cues"))
    for name in names.split()
}
"""Cues by the letters of a column's name."""
_NAME, _FIRST_NAME, _LAST_NAME = "Name: ", "Vorname: ", "Nachname: "
_LEAST, _LEAST_ANNOUNCED, _MOST = 10**10, 10**4, 10**19
"""The least number that may be personal, by itself and behind a cue, and the first that is too large."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is done to each piece; no columns (in JSON, keys) are all, an empty quote is none."""

    columns: tuple[str, ...]
    kinds: tuple[PersonalKind, ...]
    separator: str = ","
    quote: str = '"'

    def wants(self, name: str) -> bool:
        """Whether a column of this name is looked at."""
        return not self.columns or name in self.columns


@dataclass(frozen=True, slots=True)
class Done:
    """A scrubbed piece.

    Attributes:
        output: Bytes to write, or an Arrow batch.
        keys: Of JSON, the keys that are there.
        kept: Of Arrow, columns of numbers in which personal data stays: no placeholder is a number.
    """

    output: Any
    rows: int
    report: PersonalReport
    keys: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()


class Cleaner:
    """Scrubs strings and sums up what was replaced.

    Attributes:
        unread: Names of metadata that are no text.
        keeps: Whether numbers that were looked at are personal data.
    """

    def __init__(self, kinds: Collection[PersonalKind]) -> None:
        self.unread: list[str] = []
        self.keeps = False
        self._kinds = tuple(kinds)
        self._reports: list[PersonalReport] = []

    @property
    def report(self) -> PersonalReport:
        """What was replaced until now."""
        return together(self._reports)

    def texts(self, before: Sequence[str | None], cues: Sequence[str] = ()) -> list[str | None]:
        """Scrub strings, each behind its cue where there is one; "Name" announces no things."""
        cued = zip(cues, before, strict=False)
        cues = ["" if cue == _NAME and not is_short_name(text or "") else cue for cue, text in cued]
        if not any(cues):
            after, spans = scrub_rows(before, self._kinds)
            self._reports.append(report(before, spans))
            return after
        rows = [text and cue + text for cue, text in zip(cues, before, strict=True)]
        return [text and text.removeprefix(cue) for cue, text in zip(cues, self.texts(rows), strict=True)]

    def names(self, before: Sequence[str]) -> list[str]:
        """Scrub names of columns or keys; they stay apart."""
        return renamed(before, [name or "" for name in self.texts(before)])

    def document(self, value: bytes) -> bytes:
        """Scrub a text; of a JSON object, which readers depend on, the strings alone."""
        try:
            is_object = isinstance(json.loads(value), dict)
        except (ValueError, RecursionError):
            is_object = False
        if not is_object:
            return (self.texts([value.decode()])[0] or "").encode()
        done = scrub_lines((1, [value]), Task((), self._kinds))
        self._reports.append(done.report)
        return bytes(done.output)

    def look(self, numbers: _Array, cue: str) -> None:
        """Note whether one of some numbers, as text behind a cue, is personal data, which is not replaced."""
        rough = numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        may_be = (rough >= (_LEAST_ANNOUNCED if cue else _LEAST)) & (rough < _MOST)
        whole_ones = {int(value) for value in numbers.filter(pa.array(may_be)).to_pylist() if value % 1 == 0}
        texts = [f"{cue}{value}" for value in sorted(whole_ones)]
        self.keeps = self.keeps or not scrub_rows(texts, self._kinds)[1].is_empty()


def _cue_of(name: str) -> str:
    """Return the words that announce each value of a column of this name; empty for none."""
    return _CUES.get("".join(filter(str.isalpha, name.casefold())), "")


def _cues_of(names: Iterable[str]) -> list[str]:
    """Return the cues of columns that stand side by side: beside a first name, "Name" is a surname."""
    cues = list(map(_cue_of, names))
    return [_LAST_NAME if cue == _NAME and _FIRST_NAME in cues else cue for cue in cues]


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

    Bytes that are no UTF-8 stand in the file as halves of characters ("surrogateescape").

    Raises:
        UsageError: A row is no CSV, or not UTF-8.
    """
    rows = _reader(file, task)
    for number in count(1):
        try:
            row = next(rows, None)
        except csv.Error as error:
            hint = "Check separator and quotes; --quote '' where quotation marks are no more than text."
            raise UsageError(f"row {number}: {error}", hint=hint) from error
        if row is None:
            return
        try:
            "".join(row).encode()
        except UnicodeEncodeError as error:
            said = f"row {number}: byte 0x{ord(error.object[error.start]) - 0xDC00:02x} is no UTF-8"
            raise UsageError(said, hint="Save it in UTF-8.") from error
        yield number, row


def csv_pieces(rows: Iterator[tuple[int, list[str]]], header: Sequence[str]) -> Iterator[list[list[str]]]:
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
                said = f"row {number} has {len(values)} values, the header has {len(header)}"
                raise UsageError(said, hint="Check separator and quotes.")
            piece.append(values)
        if piece:
            yield piece


def scrub_csv(rows: list[list[str]], header: Sequence[str], task: Task) -> Done:
    """Scrub rows of a CSV file; the output is CSV with line feeds, quoted where needed."""
    cleaner = Cleaner(task.kinds)
    columns = list(zip(*rows, strict=True))
    wanted = [place for place, name in enumerate(header) if task.wants(name)]
    names = _cues_of(header)
    cues = [names[place] for place in wanted for _ in rows]
    after = iter(cleaner.texts([text for place in wanted for text in columns[place]], cues))
    for place in wanted:
        columns[place] = tuple(text or "" for text in islice(after, len(rows)))
    return Done(csv_bytes(list(zip(*columns, strict=True)), task), len(rows), cleaner.report)


def csv_bytes(rows: Sequence[Sequence[str]], task: Task) -> bytes:
    """Return rows as CSV in UTF-8, which was read back.

    Raises:
        StorageError: What was written is not what is read.
    """
    lines = _Lines()
    if task.quote:
        # Before CPython 3.11.9 a carriage return is quoted only where the end of a line has one.
        writer = csv.writer(lines, delimiter=task.separator, quotechar=task.quote, lineterminator="\r\n")
        writer.writerows(rows)
    else:
        lines += [f"{task.separator.join(row)}\n" for row in rows]
    text = "".join(lines)
    try:
        read = [tuple(row or [""]) for row in _reader(io.StringIO(text, newline=""), task)]
        same = read == list(map(tuple, rows))
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


_LINE_BYTES = 2 << 20
_TOKEN = re.compile(
    r'"(?:[^"\\]*+(?:\\.[^"\\]*+)*+)"|[{\[]|[}\]]'
    r"|(?P<whole>[1-9](?<![0-9.eE+-].)[0-9]{4,18})(?:\.0{1,9})?(?![0-9.eE])"
)
"""Strings, brackets and long whole numbers of what is known to be JSON."""
_COLON = re.compile(r"[ \t\r\n]*+:")


class _String(NamedTuple):
    """A string, key or number of a line: its place, value and cue, and of a key the number of its object."""

    start: int
    end: int
    text: str
    cue: str
    owner: int | None


def line_pieces(file: IO[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    """Cut a file into lists of lines of about `_LINE_BYTES`, each with the number of its first line."""
    first = 1
    while lines := file.readlines(_LINE_BYTES):
        yield first, [lines[0].removeprefix(BOM), *lines[1:]] if first == 1 else lines
        first += len(lines)


def scrub_lines(piece: tuple[int, list[bytes]], task: Task) -> Done:
    """Scrub strings, keys and long numbers of JSON lines, at any depth; below named keys, where there are."""
    first, lines = piece
    cleaner = Cleaner(task.kinds)
    texts = [_checked(line, number) for number, line in enumerate(lines, first)]
    keys: set[str] = set()
    found = [_strings(text, task, keys) for text in texts]
    every = [string for strings in found for string in strings]
    clean = iter(cleaner.texts([string.text for string in every], [string.cue for string in every]))
    output = []
    for number, (text, strings) in enumerate(zip(texts, found, strict=True), first):
        new = [value or "" for value in islice(clean, len(strings))]
        changed = any(string.text != value for string, value in zip(strings, new, strict=True))
        output.append(_spliced(text, strings, new) if changed else text)
        if changed:
            _require_same(output[-1], text, dict(zip(strings, new, strict=True)), number)
    rows = sum(1 for text in texts if text.strip())
    return Done("".join(output).encode(), rows, cleaner.report, keys=frozenset(keys))


def _checked(line: bytes, number: int) -> str:
    """Return a line as text, once it is known to hold an object or nothing."""
    hint = "JSON lines hold one object a line."
    try:
        text = line.decode()
        # Numbers stay as they are written: they need not be ones that Python can hold.
        value = json.loads(text, parse_int=str, parse_float=str) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise UsageError(f"line {number} is no JSON ({error})", hint=hint) from error
    if not isinstance(value, dict):
        raise UsageError(f"line {number} is no JSON object", hint=hint)
    return text


def _strings(text: str, task: Task, keys: set[str]) -> list[_String]:
    """Return the strings, keys and long numbers of a line that are looked at, in order; add all its keys."""
    found: list[_String] = []
    open_: list[tuple[int, bool]] = []
    """Number of each object or list that is open, and whether all that stands in it is looked at."""
    inside, cue = not task.columns, ""
    objects = 0
    first_names: set[int] = set()
    names: dict[int, int] = {}
    """Objects with a first name, and those of values of keys "name" by their place in `found`."""
    for match in _TOKEN.finditer(text):
        sign = text[match.start()]
        if sign in "{[":
            objects += 1
            open_.append((objects, inside))
        elif sign in "}]":
            open_.pop()
            inside, cue = open_[-1][1] if open_ else False, ""
        elif number := match["whole"]:
            if inside and (_LEAST_ANNOUNCED if cue else _LEAST) <= int(number) < _MOST:
                found.append(_String(*match.span(), number, cue, None))
        else:
            token = match.group()
            value = str(json.loads(token)) if "\\" in token else token[1:-1]
            owner, all_inside = open_[-1]
            if _COLON.match(text, match.end()):
                keys.add(value)
                inside, cue = all_inside or value in task.columns, _cue_of(value)
                if cue == _FIRST_NAME:
                    first_names.add(owner)
                if all_inside:
                    found.append(_String(*match.span(), value, "", owner))
            elif inside:
                if cue == _NAME:
                    names[len(found)] = owner
                found.append(_String(*match.span(), value, cue, None))
    for place, owner in names.items():
        if owner in first_names:
            found[place] = found[place]._replace(cue=_LAST_NAME)
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
            # Halves of characters, which UTF-8 cannot hold, stay escaped.
            quoted = json.dumps(value, ensure_ascii=whole(value) != value)
            pieces += [text[position : string.start], quoted]
            position = string.end
    return "".join([*pieces, text[position:]])


def _require_same(line: str, before: str, new: Mapping[_String, str], number: int) -> None:
    """Read a line back: its strings are the ones that were there, or those that were put in."""
    every = Task((), ())
    expected = [new.get(string, string.text) for string in _strings(before, every, set())]
    if [string.text for string in _strings(_checked(line.encode(), number), every, set())] != expected:
        raise StorageError(f"line {number}: what was written does not read back", hint="Please report it.")


_MAKE: Any = pa  # makes nested types and arrays
_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
_BYTES = (
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
    pa.types.is_fixed_size_binary,
)
_LISTS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
_NUMBERS_IN_BYTES = ("arrow.uuid", "arrow.bool8")


def is_read(kind: pa.DataType) -> bool:
    """Say whether values of a type hold strings or numbers, at any depth."""
    return _holds(kind, *_STRINGS, *_NUMBERS)


def is_unread(kind: pa.DataType, name: str) -> bool:
    """Say whether a column may hold what is not looked at: bytes, a type not known here, dates of birth."""
    dates = (pa.types.is_temporal,) if _cue_of(name).startswith("Geburt") else ()
    return _holds(kind, *_BYTES, pa.types.is_nested, *dates)


def _leaves(kind: _Type) -> Iterator[pa.DataType]:
    """Yield the types that are inside a type."""
    if isinstance(kind, pa.BaseExtensionType):
        inner = [] if kind.extension_name in _NUMBERS_IN_BYTES else [kind.storage_type]
    elif pa.types.is_struct(kind):
        inner = [field.type for field in kind]
    elif pa.types.is_map(kind):
        inner = [kind.key_type, kind.item_type]
    elif pa.types.is_dictionary(kind) or _is(kind, *_LISTS):
        inner = [kind.value_type]
    else:
        yield kind
        return
    for one in inner:
        yield from _leaves(one)


def _holds(kind: _Type, *tests: Callable[[_Type], bool]) -> bool:
    return any(_is(leaf, *tests) for leaf in _leaves(kind))


def _is(kind: _Type, *tests: Callable[[_Type], bool]) -> bool:
    return any(test(kind) for test in tests)


def scrub_batch(batch: pa.RecordBatch, schema: pa.Schema, task: Task) -> Done:
    """Scrub the text columns of a batch, whose schema is given with clean names, and look at its numbers."""
    arrays, kept, reports = [], set(), []
    names = batch.schema.names
    for name, cue, column, field in zip(names, _cues_of(names), batch.columns, schema, strict=True):
        cleaner = Cleaner(task.kinds)
        clean = column.cast(field.type)
        if task.wants(name) and is_read(field.type):
            scrubbed = _scrubbed(column, field.type, cue, cleaner)
            clean = scrubbed if _holds(field.type, *_STRINGS) else clean
        arrays.append(clean)
        reports.append(cleaner.report)
        if cleaner.keeps:
            kept.add(name)
    output = pa.RecordBatch.from_arrays(arrays, schema=schema)
    return Done(output, batch.num_rows, together(reports), kept=frozenset(kept))


def clean_schema(schema: pa.Schema, cleaner: Cleaner) -> pa.Schema:
    """Return a schema with clean names and metadata."""
    fields = _clean_fields(list(schema), cleaner)
    clean: pa.Schema = _MAKE.schema(fields, _clean_metadata(schema.metadata, cleaner))
    return clean


def _scrubbed(array: _Array, kind: _Type, cue: str, cleaner: Cleaner) -> _Array:
    """Return an array with its strings scrubbed, as the given type: its own, with clean names."""
    if isinstance(kind, pa.BaseExtensionType):
        storage = _scrubbed(array.storage, kind.storage_type, cue, cleaner)
        return pa.ExtensionArray.from_storage(kind, storage)
    if pa.types.is_dictionary(kind):
        values = _scrubbed(array.cast(kind.value_type), kind.value_type, cue, cleaner)
        return values.dictionary_encode().cast(kind)
    if pa.types.is_struct(kind):
        # What stands below a null of the whole is carried over, and scrubbed, only where it may not be null.
        cues = _cues_of(field.name for field in kind)
        parts = [
            _scrubbed(part if field.nullable else array.field(place), field.type, cues[place], cleaner)
            for place, (part, field) in enumerate(zip(array.flatten(), kind, strict=True))
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind) or _is(kind, *_LISTS):
        return _scrubbed_list(array.take(pa.array(range(len(array)), pa.int64())), kind, cue, cleaner)
    if _is(kind, *_NUMBERS):
        cleaner.look(array, cue)
    if not _is(kind, *_STRINGS):
        return array.cast(kind)
    before = array.cast(pa.large_string()).to_pylist()
    return pa.array(cleaner.texts(before, [cue] * len(before) if cue else ()), kind)


def _scrubbed_list(array: _Array, kind: _Type, cue: str, cleaner: Cleaner) -> _Array:
    mask = array.is_null()
    if pa.types.is_map(kind):
        keys = _scrubbed(array.keys, kind.key_type, "", cleaner)
        items = _scrubbed(array.items, kind.item_type, cue, cleaner)
        if _is(kind.key_type, *_STRINGS) and not keys.equals(array.keys):
            before, after = array.keys.to_pylist(), keys.to_pylist()
            bounds = pairwise(array.offsets.to_pylist())
            apart = [name for start, end in bounds for name in renamed(before[start:end], after[start:end])]
            keys = _MAKE.array(apart, kind.key_type)
        return _MAKE.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
    values = _scrubbed(array.values, kind.value_type, cue, cleaner)
    if pa.types.is_fixed_size_list(kind):
        return _MAKE.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)
    lists = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return lists.from_arrays(array.offsets, values, type=kind, mask=mask)


def _clean_fields(fields: list[pa.Field[Any]], cleaner: Cleaner) -> list[pa.Field[Any]]:
    names = cleaner.names([field.name for field in fields])
    return [
        pa.field(name, _clean_type(old.type, cleaner), old.nullable, _clean_metadata(old.metadata, cleaner))
        for name, old in zip(names, fields, strict=True)
    ]


def _clean_type(kind: _Type, cleaner: Cleaner) -> _Type:
    if pa.types.is_struct(kind):
        return pa.struct(_clean_fields(list(kind), cleaner))
    if pa.types.is_map(kind):
        inner = _clean_fields([kind.key_field, kind.item_field], cleaner)
        return _MAKE.map_(*inner, keys_sorted=kind.keys_sorted)
    if _is(kind, *_LISTS):
        (field,) = _clean_fields([kind.value_field], cleaner)
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(field, kind.list_size)
        return pa.large_list(field) if pa.types.is_large_list(kind) else pa.list_(field)
    return kind


def _clean_metadata(metadata: Mapping[bytes, bytes] | None, cleaner: Cleaner) -> dict[bytes, bytes] | None:
    """Scrub keys and values; what is no text stays, and its key is noted as unread."""
    clean: dict[bytes, bytes] = {}
    for key, value in (metadata or {}).items():
        try:
            (name,) = cleaner.names([key.decode()])
            clean[name.encode()] = cleaner.document(value)
        except UnicodeDecodeError:
            cleaner.unread.append(f"metadata {key.decode(errors='replace')}")
            clean[key] = value
    return clean or None

"""JSON lines, scrubbed where they stand: strings and keys are replaced, and all else stays as it is written.

A line is not built anew from what a parser makes of it: that would round long numbers, and of a key that
stands twice keep one value only.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, NamedTuple

from builders.errors import StorageError, UsageError
from builders.personal.engine import scrub_rows
from builders.personal.pieces import Done, Task, renamed
from builders.personal.report import report
from builders.text_files import BOM, whole

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
        output.append(_replaced(text, strings, new) if changed else text)
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


def _replaced(text: str, strings: Sequence[_String], new: list[str]) -> str:
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

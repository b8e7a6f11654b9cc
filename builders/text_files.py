"""Text from outside, read in one way by all: what is harmless is forgiven, and what is wrong can be named."""

import codecs
import io
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from builders.errors import SourceSchema, UsageError
from builders.files import readable

BOM = codecs.BOM_UTF8
_LARGEST = 64 << 20


def numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, numbered from 1, with their ends; a byte order mark is dropped."""
    for number, line in enumerate(lines, 1):
        rest = line.removeprefix(BOM) if number == 1 else line
        if rest.strip():
            yield number, rest


def _text_lines(data: bytes) -> list[tuple[int, str]]:
    """Return the lines of a text that are not blank, numbered from 1, without their ends, LF or CRLF."""
    data.decode()  # names the byte, counted from the beginning of the text
    return [(number, line.decode().rstrip("\r\n")) for number, line in numbered(io.BytesIO(data))]


def source_lines(path: Path, *, absent: str, form: str) -> list[tuple[int, str]]:
    """Return the lines of a text of an upstream, as `_text_lines` does.

    Args:
        path: The file.
        absent: What to do where it is not there.
        form: What to do where it is not UTF-8.

    Raises:
        SourceSchema: It is not UTF-8.
    """
    try:
        with readable(path, absent=absent):
            return _text_lines(path.read_bytes())
    except UnicodeDecodeError as error:
        raise SourceSchema(f"{path}: not UTF-8 text (byte {error.start:,})", hint=form) from error


def parse_json(line: bytes) -> Any:  # noqa: ANN401  any JSON value
    """Parse one JSON value.

    Raises:
        ValueError: It is not JSON in UTF-8, or nested too deeply.
    """
    try:
        return json.loads(line.decode())
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def whole(text: str) -> str:
    """Return a text without the halves of characters that JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "ignore").decode()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file of one JSON object a line that are not blank, counted from 1.

    A half of a character, which a program leaves where it cuts a text, is dropped.

    Raises:
        UsageError: It is not UTF-8, or larger than any file of ours (64 MB).
    """
    try:
        with readable(path):
            if path.stat().st_size > _LARGEST:
                raise UsageError(f"{path}: larger than 64 MB; this is no file of ours")
            lines = _text_lines(path.read_bytes())
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 (byte {error.start})", hint="Take it as it came.") from error
    for number, line in lines:
        yield number, _without_halves(line)


def _without_halves(line: str) -> str:
    if "\\ud" not in line.casefold():
        return line
    try:
        return whole(json.dumps(parse_json(line.encode()), ensure_ascii=False))
    except ValueError:
        return line

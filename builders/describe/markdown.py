"""Markdown out of values that may be hostile: everything is escaped unless it is `Markdown` already."""

import re
from collections.abc import Iterable, Sequence

from builders.printable import NOTHING, one_line


class Markdown(str):
    """Text that is Markdown already and stays as it is."""

    __slots__ = ()


_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}
_ESCAPES = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]~$#!"} | _ENTITIES)
_AUTOLINK = re.compile(r"(?<=www)(?=\.)|(?<=:)(?=//)|(?<=@)(?=[-\w\\]*\.[-\w\\])", re.IGNORECASE)
"""Where renderers of GitHub's Markdown begin to make a link of plain text."""
_BREAK = "<!-- -->"
"""Parts a text for them: neither a backslash nor an entity does, since they search the text that is shown."""
_LIST_MARK = re.compile(r"^(?:([-+=:])(?![0-9])|([0-9]{1,9})([.)])(?=\s|$))")
_NUMBER = re.compile(r"[-+]?[0-9][0-9.,]*(?: %)?|[<>] [0-9.]+ %")
_PLAIN_CODE = re.compile(r"""[\w ./:@=+,()*<>#"'-]+""")


def escape(value: object) -> Markdown:
    """Return a value as one line of text that no Markdown or HTML rule changes.

    White space becomes one space; control characters go; whole numbers get commas. No address is a link.
    """
    if isinstance(value, Markdown):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return Markdown(f"{value:,}")
    text = _LIST_MARK.sub(_escape_mark, one_line(value).translate(_ESCAPES))
    return Markdown(_AUTOLINK.sub(_BREAK, text))


def code(value: object) -> Markdown:
    """Return a value as code; one line, as in `escape`."""
    text = one_line(value)
    if not text:
        return Markdown("")
    return Markdown(f"`{text}`" if _PLAIN_CODE.fullmatch(text) else f"<code>{escape(text)}</code>")


def link(text: object, url: str) -> Markdown:
    """Return a link; `url` must be https, without white space, brackets or quotes, else the text alone."""
    label = escape(text)
    return Markdown(f"[{label}]({url})") if re.fullmatch(r"https://[^\s<>()\"'\\|]{1,2000}", url) else label


def table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> Markdown:
    """Return a table; columns whose cells are all numbers or shares stand on the right."""
    cells = list(rows)
    marks = ["---:" if _are_numbers(values) else "---" for _, *values in zip(header, *cells, strict=True)]
    lines = [_line(header), "| " + " | ".join(marks) + " |", *map(_line, cells)]
    return Markdown("\n".join(lines))


def _line(row: Sequence[object]) -> str:
    return "| " + " | ".join(escape(cell) for cell in row) + " |"


def _are_numbers(values: Sequence[object]) -> bool:
    given = [value for value in values if value != NOTHING]
    return bool(given) and all(isinstance(value, int) or _NUMBER.fullmatch(str(value)) for value in given)


def _escape_mark(match: re.Match[str]) -> str:
    mark, number, dot = match.groups()
    return f"\\{mark}" if mark else f"{number}\\{dot}"

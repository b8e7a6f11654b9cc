"""Books in the format of GermEval 2019 task 1: like XML, line by line, with bare ``&`` and without a root."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from builders.text_files import BOM

_LONGEST_BOOK = 1 << 20
"""Bytes of the longest book that is read."""

_TOPIC = re.compile(r'<topic d="([0-9])"[^<>]*>([^<>]+)</topic>')
_BETWEEN_BOOKS = re.compile(r"<\?xml [^<>]*\?>|</?root>|")
_ID = re.compile(r"[0-9A-Za-z-]{1,32}")


@dataclass(frozen=True, slots=True)
class Book:
    """A book as it stands in its file: texts raw, possibly empty.

    Attributes:
        where: File and line of its first line, "blurbs_dev.txt:37".
        body: The blurb.
        genres: Topics of level 0, one for each of its categories.
        topics: Topics of level 1, likewise.
    """

    where: str
    isbn: str
    title: str
    body: str
    genres: tuple[str, ...]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Malformed:
    """A place that is no book: file and line, and what is wrong there."""

    where: str
    problem: str


def books(lines: Iterable[tuple[str, int, bytes]]) -> Iterator[Book | Malformed]:
    """Parse books as a stream of lines (file, number, bytes); a place that is no book is yielded as such."""
    block: _Block | None = None
    for file, number, raw in lines:
        line = raw.strip().removeprefix(BOM).lstrip()  # one stands wherever a file was put behind another
        if block is not None and (block.file != file or line.startswith(b"<book")):
            yield Malformed(block.where, "the book is not closed")
            block = None
        if line.startswith(b"<book"):
            block = _Block(file, f"{file}:{number}", [])
        elif block is None:
            if not _BETWEEN_BOOKS.fullmatch(line.decode("utf-8", "replace")):
                yield Malformed(f"{file}:{number}", "text outside of a book")
        elif line == b"</book>":
            yield _book(block)
            block = None
        else:
            block.lines.append(line)
    if block is not None:
        yield Malformed(block.where, "the book is not closed")


@dataclass(slots=True)
class _Block:
    """The lines of a book that is being read, and where the first of them is."""

    file: str
    where: str
    lines: list[bytes]


def _book(block: _Block) -> Book | Malformed:
    if sum(map(len, block.lines)) > _LONGEST_BOOK:
        return Malformed(block.where, f"the book has over {_LONGEST_BOOK:,} bytes")
    try:
        lines = [line.decode() for line in block.lines]
    except UnicodeDecodeError as error:
        return Malformed(block.where, f"not UTF-8 ({error.reason})")
    text = "\n".join(lines)
    fields = {name: _field(text, name) for name in ("title", "body", "isbn")}
    for name, value in fields.items():
        if value is None:
            return Malformed(block.where, f"not exactly one <{name}>…</{name}>")
    isbn = (fields["isbn"] or "").strip()
    if not _ID.fullmatch(isbn):
        return Malformed(block.where, "the ISBN is no identifier")
    topics: dict[str, list[str]] = {}
    for line in lines:
        if line.startswith("<topic"):
            match = _TOPIC.fullmatch(line)
            if match is None:
                return Malformed(block.where, "a <topic> without level or name")
            topics.setdefault(match[1], []).append(match[2])
    return Book(
        where=block.where,
        isbn=isbn,
        title=fields["title"] or "",
        body=fields["body"] or "",
        genres=tuple(topics.get("0", ())),
        topics=tuple(topics.get("1", ())),
    )


def _field(text: str, name: str) -> str | None:
    """Return what stands between the tags of a field, or None unless both are there once, in this order."""
    before, opening, rest = text.partition(f"<{name}>")
    value, closing, after = rest.partition(f"</{name}>")
    whole = bool(opening) and bool(closing)
    again = f"<{name}>" in value or f"<{name}>" in after or f"</{name}>" in before + after
    return value if whole and not again else None

"""Rows as detectors see them, and the way back from a place in such a view to the row.

A view is the row as `normalise` leaves it, whichever command scrubs it: entities are characters, invisible
characters are gone, every run of blanks is one space. Beyond that, full-width forms of ASCII are ASCII, and
what is a placeholder, or was found already, is one opaque character.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import regex

from builders.personal.scan import OPAQUE, ROW_END
from builders.spec import PersonalKind
from builders.text.normalise import ENTITY, INVISIBLE, JOINER, character

Edit = tuple[int, int, str]
"""Start and end (exclusive) of what is replaced, and what stands there instead."""

PLACEHOLDER = re.compile("|".join(sorted({kind.placeholder for kind in PersonalKind})))
_PASSES = 6
"""How often entities are unescaped that entities hide; a build has unescaped one layer before it scrubs."""
_RESERVED = re.compile(f"[{ROW_END}{OPAQUE}]")
_BLANKS = re.compile(r"\A\s++|[^\S ]\s*+| \s++| \Z")
_SPACES = re.compile("  ++")
"""The same where no other blanks stand, and none at the ends; it is found much faster."""
_COMPOSED = regex.compile(r"(?V1)(?:\A|.)[^\p{ccc=0}&&\p{NFC_QC=Y}]++", regex.DOTALL)
"""What composing can change: a character and those behind it that may join it."""
_FILLERS = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0]")
"""Invisible characters that Python takes for printable ones."""
_WIDE = re.compile("[\uff01-\uff5e]")
_TO_ASCII = 0xFEE0
_ODD = re.compile(f"{_FILLERS.pattern[:-1]}{_WIDE.pattern[1:]}")


def is_plain(text: str) -> bool:
    """Say quickly whether a row is its own view, but for placeholders; most are."""
    return (
        text.isprintable()
        and ("&" not in text or not ENTITY.search(text))
        and "  " not in text
        and not text.startswith(" ")
        and not text.endswith(" ")
        and (text.isascii() or _is_composed(text))
    )


def _is_composed(text: str) -> bool:
    return unicodedata.is_normalized("NFC", text) and not _ODD.search(text)


class View:
    """A row as detectors see it.

    Args:
        row: The row.
        cuts: Start and end of each span of the row that was found already, in order; one opaque character
            each.
        plain: Whether `is_plain` says so of the row.

    Attributes:
        text: The view.
    """

    def __init__(self, row: str, cuts: Sequence[tuple[int, int]] = (), *, plain: bool = False) -> None:
        self.text = row
        self._layers: list[_Layer] = []
        self._apply(((*cut, OPAQUE) for cut in cuts) if plain else _cut(row, cuts))
        if not plain:
            self._normalise()
            self._apply(_wide(self.text))
        if "<" in self.text:
            self._apply((*match.span(), OPAQUE) for match in PLACEHOLDER.finditer(self.text))

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end, in the row, of what stands at a place of the view that is not empty."""
        for layer in reversed(self._layers):
            start, end = layer.place(start)[0], layer.place(end - 1)[1]
        return start, end

    def _normalise(self) -> None:
        for _ in range(_PASSES):
            changed = [self._apply(step(self.text)) for step in _STEPS]
            if not any(changed) or "&" not in self.text:  # what is left has no entity: a pass is enough
                return

    def _apply(self, edits: Iterator[Edit]) -> bool:
        made = list(edits)
        if made:
            layer = _Layer(self.text, made)
            self.text = layer.text
            self._layers.append(layer)
        return bool(made)


class _Layer:
    """A text after edits, and where each of its characters stood before them."""

    def __init__(self, before: str, edits: Sequence[Edit]) -> None:
        self._edits = edits
        self._starts: list[int] = []
        self._ends: list[int] = []
        pieces: list[str] = []
        position = length = 0
        for start, end, filling in edits:
            pieces += [before[position:start], filling]
            length += start - position
            self._starts.append(length)
            length += len(filling)
            self._ends.append(length)
            position = end
        self.text = "".join([*pieces, before[position:]])

    def place(self, index: int) -> tuple[int, int]:
        """Return start and end, before the edits, of the character at `index`."""
        last = bisect_right(self._starts, index) - 1
        if last < 0:
            return index, index + 1
        start, end, _ = self._edits[last]
        if index < self._ends[last]:
            return start, end
        start = end + index - self._ends[last]
        return start, start + 1


def _cut(row: str, cuts: Sequence[tuple[int, int]]) -> Iterator[Edit]:
    """Yield the cuts, and between them the characters that serve as marks in a working text."""
    position = 0
    for start, end in (*cuts, (len(row), len(row))):
        yield from ((*match.span(), "") for match in _RESERVED.finditer(row, position, start))
        if start < end:
            yield start, end, OPAQUE
        position = end


def _entities(text: str) -> Iterator[Edit]:
    if "&" in text:
        for match in ENTITY.finditer(text):
            if (plain := character(match)) != match[0]:
                yield *match.span(), plain


def _invisible(text: str) -> Iterator[Edit]:
    if _may_hide(text):
        yield from ((*match.span(), "") for match in INVISIBLE.finditer(text) if match[0] != OPAQUE)


def _joiners(text: str) -> Iterator[Edit]:
    if "\u200d" in text:
        yield from ((*match.span(), "") for match in JOINER.finditer(text))


def _may_hide(text: str) -> bool:
    printable = _seems_printable(text) or _seems_printable("".join(text.split()))
    return not printable or _FILLERS.search(text) is not None


def _seems_printable(text: str) -> bool:
    return text.replace(OPAQUE, "").isprintable()


def _decomposed(text: str) -> Iterator[Edit]:
    if not unicodedata.is_normalized("NFC", text):
        for match in _COMPOSED.finditer(text):
            if (composed := unicodedata.normalize("NFC", match[0])) != match[0]:
                yield *match.span(), composed


def _blanks(text: str) -> Iterator[Edit]:
    spaced = _seems_printable(text) and not text.startswith(" ") and not text.endswith(" ")
    for match in (_SPACES if spaced else _BLANKS).finditer(text):
        inside = match.start() > 0 and match.end() < len(text)
        yield *match.span(), " " if inside else ""


def _wide(text: str) -> Iterator[Edit]:
    if not text.isascii():
        for match in _WIDE.finditer(text):
            yield *match.span(), chr(ord(match[0]) - _TO_ASCII)


_STEPS: tuple[Callable[[str], Iterator[Edit]], ...] = (
    _entities,
    _invisible,
    _joiners,
    _decomposed,
    _blanks,
)

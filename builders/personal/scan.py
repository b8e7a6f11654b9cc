"""What detectors see: rows as `normalise` leaves them, joined into one working text, and spans of it.

Full-width forms of ASCII are ASCII; what is a placeholder, or was found already, is one opaque character.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import NamedTuple

import regex

from builders.personal.words import words_of
from builders.spec import PersonalKind
from builders.text.normalise import ENTITY, INVISIBLE, JOINER, character

ROW_END = "\0"
"""Stands between two rows of a working text; no pattern matches it."""
OPAQUE = "\x01"
"""Stands for a placeholder in a working text; no pattern matches it."""

NOT_INSIDE = r"(?<![\w/+-].)(?<![0-9\s.,\0][.,].)(?<!\A[.,].)"
"""Behind a number's first character: in no longer number or word, but behind an abbreviation's dot."""

THINGS = "|".join(sorted(words_of("things")))
"""Patterns of words behind which a number is one of goods, files or places."""
OTHER_WORDS = re.compile(
    r"(?i)(?:(?:refer|bestell|artikel|stellen|auftrag|kunden|sendung|serien|rechnung|vorgang|ticket)\w{0,14}|"
    rf"{THINGS})[ .:#-]{{0,4}}\Z"
)
"""Words that call the number behind them something that is no personal data."""

_DIGIT = re.compile(r"[0-9](?:(?:[^0-9\n\0\x01]{0,3}[0-9]){4,}+|(?<=[A-Z].))")
"""Five and more digits that lie close; or one behind a capital letter, so that one pass finds both."""
LEFT_OF_ZONE, _RIGHT = 12, 40


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text, and what they are."""

    start: int
    end: int
    kind: PersonalKind
    rule: str


class Scan:
    """A working text: rows joined by `ROW_END`, their placeholders replaced by `OPAQUE`.

    Attributes:
        titles: Whether the rows are titles of jobs, in which roles, degrees and codes are the content.
    """

    def __init__(self, text: str, *, titles: bool = False) -> None:
        self.titles = titles
        self.text = text

    @cached_property
    def _digits(self) -> list[tuple[int, int]]:
        return [match.span() for match in _DIGIT.finditer(self.text)]

    @cached_property
    def _zones(self) -> tuple[str, list[int], list[int]]:
        """Windows around five and more digits that lie close, as one text, and their places in both."""
        windows: list[tuple[int, int]] = []
        for first, last in self._digits:
            if last - first == 1:
                continue
            start, end = max(0, first - LEFT_OF_ZONE), last + _RIGHT
            if windows and start <= windows[-1][1]:
                windows[-1] = (windows[-1][0], end)
            else:
                windows.append((start, end))
        pieces = [self.text[start:end] for start, end in windows]
        joined = [0, *accumulate(len(piece) + 1 for piece in pieces)]
        return ROW_END.join(pieces), joined, [start for start, _ in windows]

    def in_zones(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and text of a pattern's matches; it is a number's, and tried in the zones only."""
        text, joined, starts = self._zones
        for match in pattern.finditer(text):
            first, last = match.span()
            zone = bisect_right(joined, first) - 1
            shift = starts[zone] - joined[zone]
            yield first + shift, last + shift, match[0]

    def in_codes(self, pattern: re.Pattern[str], letters: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield matches of a pattern that begins with capital letters, `letters` reversed, before a digit."""
        in_zones = (start for start, _, _ in self.in_zones(pattern))
        alone = (self.start_of(letters, first, 9) for first, last in self._digits if last - first == 1)
        for start in chain(in_zones, alone):
            if match := pattern.match(self.text, start):
                yield match

    def from_literals(self, patterns: Mapping[str, re.Pattern[str]]) -> Iterator[re.Match[str]]:
        """Yield matches of patterns by the literal each begins with, which `str.find` finds much faster."""
        for literal, pattern in patterns.items():
            place = self.text.find(literal)
            while place >= 0:
                if match := pattern.match(self.text, place):
                    yield match
                place = self.text.find(literal, match.end() if match else place + 1)

    def before(self, position: int, width: int) -> str:
        """Return at most `width` characters of the same row that end at `position`."""
        window = self.text[position - width if position > width else 0 : position]
        return window[window.rfind(ROW_END) + 1 :]

    def after(self, position: int, width: int) -> str:
        """Return at most `width` characters of the same row that begin at `position`."""
        return self.text[position : position + width].partition(ROW_END)[0]

    def near(self, start: int, end: int, words: re.Pattern[str], width: int) -> bool:
        """Say whether one of `words` stands within `width` characters before or after a place, in its row."""
        return bool(words.search(self.before(start, width)) or words.search(self.after(end, width)))

    def start_of(self, backwards: re.Pattern[str], position: int, width: int) -> int:
        """Return where a run of at most `width` that ends at `position` begins; `position` for none.

        `backwards` matches the run's characters in reverse order, so that one pass finds its longest form.
        """
        match = backwards.match(self.before(position, width)[::-1])
        return position - match.end() if match else position


_Edit = tuple[int, int, str]
"""Start and end (exclusive) of what is replaced, and what stands there instead."""

_PLACEHOLDER = re.compile("|".join(sorted({kind.placeholder for kind in PersonalKind})))
_PASSES = 6
"""How often entities are unescaped that entities hide; a build has unescaped one layer before it scrubs."""
_RESERVED = re.compile(f"[{ROW_END}{OPAQUE}]")
_BLANKS = re.compile(r"\A\s++|[^\S ]\s*+| \s++| \Z")
_SPACES = re.compile("  ++")
"""The same where no other blanks stand, and none at the ends; it is found much faster."""
_COMPOSED = regex.compile(r"(?V1)(?:\A|.)[^\p{ccc=0}&&\p{NFC_QC=Y}]++", regex.DOTALL)
"""What composing can change: a character and those behind it that may join it."""
_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0"
"""Invisible characters that Python takes for printable ones."""
_WIDE = re.compile("[\uff01-\uff5e]")
_TO_ASCII = 0xFEE0


def is_plain(text: str) -> bool:
    """Say quickly whether a row is its own view, but for placeholders; most are."""
    return (
        text.isprintable()
        and "  " not in text
        and not text.startswith(" ")
        and not text.endswith(" ")
        and ("&" not in text or not ENTITY.search(text))
        and (text.isascii() or not (_has_fillers(text) or _has_wide_or_decomposed(text)))
    )


def _has_wide_or_decomposed(text: str) -> bool:
    """Say whether a text is not in NFC or has wide characters; in NFKC, which is quickly seen, none is."""
    if unicodedata.is_normalized("NFKC", text):
        return False
    return not unicodedata.is_normalized("NFC", text) or _WIDE.search(text) is not None


def _has_fillers(text: str) -> bool:
    return any(map(text.__contains__, _FILLERS))


class View:
    """A row as detectors see it: `text`."""

    def __init__(self, row: str, cuts: Sequence[tuple[int, int]] = (), *, plain: bool = False) -> None:
        """Take a row, what was found in it already, in order, and whether it `is_plain`."""
        self.text = row
        self._layers: list[_Layer] = []
        self._apply(((*cut, OPAQUE) for cut in cuts) if plain else _cut(row, cuts))
        if not plain:
            for _ in range(_PASSES):
                changed = [self._apply(step(self.text)) for step in _STEPS]
                if not any(changed) or "&" not in self.text:  # what is left has no entity: a pass is enough
                    break
            self._apply(_wide(self.text))
        if "<" in self.text:
            self._apply((*match.span(), OPAQUE) for match in _PLACEHOLDER.finditer(self.text))

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Return start and end, in the row, of what stands at a place of the view that is not empty."""
        for layer in reversed(self._layers):
            start, end = layer.place(start)[0], layer.place(end - 1)[1]
        return start, end

    def _apply(self, edits: Iterator[_Edit]) -> bool:
        made = list(edits)
        if made:
            layer = _Layer(self.text, made)
            self.text = layer.text
            self._layers.append(layer)
        return bool(made)


class _Layer:
    """A text after edits, and where each of its characters stood before them."""

    def __init__(self, before: str, edits: Sequence[_Edit]) -> None:
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


def _cut(row: str, cuts: Sequence[tuple[int, int]]) -> Iterator[_Edit]:
    """Yield the cuts, and between them the characters that serve as marks in a working text."""
    position = 0
    reserved = ROW_END in row or OPAQUE in row
    for start, end in (*cuts, (len(row), len(row))):
        if reserved:
            yield from ((*match.span(), "") for match in _RESERVED.finditer(row, position, start))
        if start < end:
            yield start, end, OPAQUE
        position = end


def _entities(text: str) -> Iterator[_Edit]:
    if "&" in text:
        for match in ENTITY.finditer(text):
            if (plain := character(match)) != match[0]:
                yield *match.span(), plain


def _invisible(text: str) -> Iterator[_Edit]:
    printable = _seems_printable(text) or _seems_printable("".join(text.split()))
    if not printable or _has_fillers(text):
        yield from ((*match.span(), "") for match in INVISIBLE.finditer(text) if match[0] != OPAQUE)


def _joiners(text: str) -> Iterator[_Edit]:
    if "\u200d" in text:
        yield from ((*match.span(), "") for match in JOINER.finditer(text))


def _seems_printable(text: str) -> bool:
    return text.isprintable() or (OPAQUE in text and text.replace(OPAQUE, "").isprintable())


def _decomposed(text: str) -> Iterator[_Edit]:
    if not unicodedata.is_normalized("NFC", text):
        for match in _COMPOSED.finditer(text):
            if (composed := unicodedata.normalize("NFC", match[0])) != match[0]:
                yield *match.span(), composed


def _blanks(text: str) -> Iterator[_Edit]:
    spaced = _seems_printable(text) and not text.startswith(" ") and not text.endswith(" ")
    for match in (_SPACES if spaced else _BLANKS).finditer(text):
        inside = match.start() > 0 and match.end() < len(text)
        yield *match.span(), " " if inside else ""


def _wide(text: str) -> Iterator[_Edit]:
    if not text.isascii() and _has_wide_or_decomposed(text):
        for match in _WIDE.finditer(text):
            yield *match.span(), chr(ord(match[0]) - _TO_ASCII)


_STEPS: tuple[Callable[[str], Iterator[_Edit]], ...] = (_entities, _invisible, _joiners, _decomposed, _blanks)

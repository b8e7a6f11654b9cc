"""What detectors share: spans, windows of context, and the zones of a text where digits lie close."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from builders.spec import PersonalKind

ROW_END = "\0"
"""Stands between two rows of a working text; no pattern matches it."""
OPAQUE = "\x01"
"""Stands for a placeholder in a working text; no pattern matches it."""

NOT_INSIDE = r"(?<![\w/+-].)(?<![0-9\s.,\0][.,].)(?<!\A[.,].)"
"""Behind a number's first character: in no longer number or word, but behind an abbreviation's dot."""

OTHER_WORDS = re.compile(
    r"(?:refer\w{0,14}|bestell\w{0,14}|artikel\w{0,14}|stellen\w{0,14}|auftrag\w{0,14}|kunden\w{0,14}|sendung\w{0,14}|isbn|"
    r"ean|isin|wkn|serien\w{0,14}|rechnung\w{0,14}|vorgang\w{0,14}|ticket\w{0,14}|kennziffer|charge)"
    r"[ .:#-]{0,4}\Z",
    re.IGNORECASE,
)
"""Words that call the number behind them something that is no personal data."""

_ZONE = re.compile(r"[0-9](?:[^0-9\n\0\x01]{0,3}[0-9]){4,}+")
LEFT_OF_ZONE, _RIGHT = 12, 40
_WIDE = "０１２３４５６７８９"
_NARROW = str.maketrans(_WIDE, "0123456789")


class Span(NamedTuple):
    """Characters `start` to `end` (exclusive) of a text, and what they are."""

    start: int
    end: int
    kind: PersonalKind
    rule: str


class Scan:
    """A working text with what several detectors ask about it.

    Args:
        text: Rows joined by `ROW_END`, their placeholders replaced by `OPAQUE`.
        titles: Whether the rows are titles of jobs, in which roles, degrees and codes are the content.
    """

    def __init__(self, text: str, *, titles: bool = False) -> None:
        self.titles = titles
        self.text = text.translate(_NARROW) if any(digit in text for digit in _WIDE) else text

    @cached_property
    def _zones(self) -> tuple[str, list[int], list[int]]:
        """Windows around five and more digits that lie close, as one text, and their places in both."""
        windows: list[tuple[int, int]] = []
        for match in _ZONE.finditer(self.text):
            start, end = max(0, match.start() - LEFT_OF_ZONE), match.end() + _RIGHT
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
            zone = bisect_right(joined, match.start()) - 1
            shift = starts[zone] - joined[zone]
            yield match.start() + shift, match.end() + shift, match.group()

    def everywhere(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int, str]]:
        """Yield start, end and text of all matches of a pattern."""
        for match in pattern.finditer(self.text):
            yield match.start(), match.end(), match.group()

    def before(self, position: int, width: int) -> str:
        """Return at most `width` characters of the same row that end at `position`."""
        return self.text[max(0, position - width) : position].rpartition(ROW_END)[2]

    def after(self, position: int, width: int) -> str:
        """Return at most `width` characters of the same row that begin at `position`."""
        return self.text[position : position + width].partition(ROW_END)[0]

    def near(self, start: int, end: int, words: re.Pattern[str], width: int) -> bool:
        """Say whether one of `words` stands within `width` characters before or after a place, in its row."""
        return bool(words.search(self.before(start, width)) or words.search(self.after(end, width)))

    def start_of(self, backwards: re.Pattern[str], position: int, width: int) -> int:
        """Return where a run that ends at `position` begins.

        Args:
            backwards: Matches the run's characters in reverse order, so that one pass finds its longest form.
            position: End of the run, exclusive.
            width: Longest run that is looked at.

        Returns:
            The run's start; `position` where there is none.
        """
        match = backwards.match(self.before(position, width)[::-1])
        return position - match.end() if match else position

"""Runs of digits and marks that hold dates and several phone numbers: where each number begins and ends."""

from __future__ import annotations

import re
from itertools import accumulate, pairwise

from builders.personal.dates import after_dates, only_dates

_NEXT = re.compile(r"(?<=[ \u00a0/–-])(?:\(0|0[1-9]|00[1-9]|0 [1-9])")
"""How a number with an area code begins behind another one."""
_FEWEST, _USUAL, _MOST = 7, 11, 13
_TOO_LONG = 10
_FARTHEST = 6  # as many beginnings as a number can hold by chance
_CHEAP = 1
_LAST_GROUP = re.compile(r"[ \u00a0][^ \u00a0]{1,70}\Z")
_DATE_MARKS = frozenset("./-")
"""One of them is the second or third character of every date."""
_MARKS = " \u00a0\u2009\u202f\u00ad\u200b)]/.·-–—‐‑−"


def numbers_in(run: str, *, complete: bool) -> list[tuple[int, int]]:
    """Return start and end of each number of a run.

    Dates before a number are left out. A run that is too long for one number is cut where the next begins.

    Args:
        run: Groups of digits with marks between, the first of a kind that begins a phone number.
        complete: Whether the run ends where a number may end; else its last group belongs to what follows.
    """
    dated = run[1:2] in _DATE_MARKS or run[2:3] in _DATE_MARKS
    if dated and only_dates(run):
        return []
    end = len(run)
    if not complete:
        last = _LAST_GROUP.search(run)
        if last is None:
            return []
        end = last.start()
    start = after_dates(run) if dated else 0
    if start and run[start] not in "+(0":
        start = 0
    cuts = [match.start() for match in _NEXT.finditer(run, start + 1, end)] if end - start > _MOST else []
    if not cuts:
        return [(start, end)]
    parts = _cheapest(run, [start, *cuts, end])
    ends = [first + len(run[first:stop].rstrip(_MARKS)) for first, stop in parts]
    return [
        (first, stop) for (first, _), stop in zip(parts, ends, strict=True) if not only_dates(run[first:stop])
    ]


def _cheapest(run: str, places: list[int]) -> list[tuple[int, int]]:
    """Cut a run at those of the places where the parts have most nearly the lengths of phone numbers."""
    parts = [run[place:following] for place, following in pairwise(places)]
    counts = [0, *accumulate(sum(map(str.isdigit, part)) for part in parts)]
    best: list[tuple[int, int]] = [(0, 0)]  # cost up to each place, and the place before it
    for place in range(1, len(places)):
        options = [
            (best[before][0] + _cost(counts[place] - counts[before]), before)
            for before in range(max(0, place - _FARTHEST), place)
        ]
        best.append(min(options, key=lambda option: (option[0], -option[1])))
    bounds, place = [], len(places) - 1
    while place:
        before = best[place][1]
        bounds.append((places[before], places[place]))
        place = before
    return bounds[::-1]


def _cost(digits: int) -> int:
    if digits < _FEWEST:
        return 100
    return abs(digits - _USUAL) + _CHEAP + (_TOO_LONG * (digits - _MOST) if digits > _MOST else 0)

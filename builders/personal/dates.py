"""Dates and times in digits, and lists and ranges of them: they look like numbers with area codes."""

from __future__ import annotations

import re

_DAY, _MONTH, _YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])", "(?:(?:19|20)[0-9]{2}|[0-9]{2})"
_DATED = (
    rf"{_DAY}\.[ ]?{_MONTH}\.(?:[ ]?{_YEAR}(?![0-9.]))?(?![0-9])"
    rf"|{_DAY}[/-]{_MONTH}[/-]{_YEAR}(?![0-9.])"
    rf"|{_MONTH}[./-](?:19|20)[0-9]{{2}}(?![0-9])"
)
_SHORT = (
    r"[0-3]?[0-9]\.[0-5][0-9](?![0-9.])"
    r"|[0-9]{2}/[0-9]{2}(?:[0-9]{2})?(?![0-9/])"
    rf"|{_DAY}\.(?=[ ]?[-–—‐‑−/+][ ]?[0-9])"
)
"""A time, a day with its month, two years, or a day before a range's end: alone they say little."""
_ITEM = rf"(?:{_DATED}|{_SHORT})"
_BETWEEN = r"(?:[ \u00a0]?[-–—‐‑−/,;+][ \u00a0]?|[ \u00a0])"
_LIST = re.compile(rf"{_ITEM}(?:{_BETWEEN}{_ITEM}){{0,40}}")
_FIRST = re.compile(
    rf"(?:{_DATED}|{_ITEM}(?:{_BETWEEN}{_ITEM}){{1,40}})(?:{_BETWEEN}{_ITEM}){{0,40}}{_BETWEEN}"
)


def only_dates(number: str) -> bool:
    """Say whether a run of digits and marks is nothing but dates and times."""
    return _LIST.fullmatch(number) is not None


def after_dates(number: str) -> int:
    """Return where the dates and times that begin a run end; 0 where it begins with none."""
    match = _FIRST.match(number)
    return match.end() if match else 0

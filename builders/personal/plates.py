"""Licence plates: German ones by their distinguishing sign, Austrian and Swiss ones by context."""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.kinds import PersonalKind
from builders.personal.plate_codes import PLATE_CODES
from builders.personal.scan import Scan, Span

_PLATE = re.compile(
    r"[A-ZÄÖÜ](?<![\w/.-].)[A-ZÄÖÜ]{0,2}([ ]?[-–:][ ]?|[ ])[A-Z]{1,2}[ -]?[1-9][0-9]{0,3}[EH]?(?![\w-]|[.,/][0-9])"
)
_FOREIGN = re.compile(
    r"[A-Z](?<![\w/.-].)[A-Z]?[ -](?:[0-9]{1,5}[ ]?[A-Z]{1,3}|[A-Z]{2,6}[ ]?[0-9]{1,3}|[0-9]{3,6})(?![\w-]|[.,/][0-9])"
)
_CAR = re.compile(
    r"kennz|\bkfz|nummernschild|\bpkw|\blkw|fahrzeug|transporter|wagen\b|\bauto\b|oldtimer|halter|anhänger|motorrad|roller",
    re.IGNORECASE,
)
_PLATE_WORDS = re.compile(r"kennz|nummernschild|kontrollschild|autonummer", re.IGNORECASE)
_NORMS = frozenset({"DIN", "EU", "EN", "HR", "EG"})
_CODE = re.compile(r"[A-ZÄÖÜ]{1,3}")
_WIDTH = 60


def find(scan: Scan) -> Iterator[Span]:
    """Yield licence plates. A form with a space, one with a single digit or a norm's look needs a word about cars."""
    for match in _PLATE.finditer(scan.text):
        code = _CODE.match(match.group())
        if code is None or code.group() not in PLATE_CODES:
            continue
        plain = "-" in match.group(1) or "–" in match.group(1)
        digits = sum(character.isdigit() for character in match.group())
        if (plain and digits > 1 and code.group() not in _NORMS) or scan.near(*match.span(), _CAR, _WIDTH):
            yield Span(*match.span(), PersonalKind.PLATE, "plate.de")
    for match in _FOREIGN.finditer(scan.text):
        if _PLATE_WORDS.search(scan.before(match.start(), 30)):
            yield Span(*match.span(), PersonalKind.PLATE, "plate.abroad")

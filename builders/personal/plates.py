"""Licence plates: German ones by their distinguishing sign, Austrian and Swiss ones by context."""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.scan import Scan, Span
from builders.personal.words import words_of
from builders.spec import PersonalKind

_PLATE = re.compile(
    r"[A-ZÄÖÜ](?=[A-ZÄÖÜ :–-])(?<![\w-].)(?<![^0-9]/.)(?<![\s.]\..)[A-ZÄÖÜ]{0,2}(?:"
    r"(?P<gap>[ ]?[-–:][ ]?|[ ])[A-Z]{1,2}[ -]?[1-9][0-9]{0,3}[EH]?(?![\w-]|[.,/][0-9])"
    r"|[ -](?:[0-9]{1,5}[ ]?[A-Z]{1,3}|[A-Z]{2,6}[ ]?[0-9]{1,3}|[0-9]{3,6})(?![\w-]|[.,/][0-9]))"
)
_TYPE = re.compile(r"[-–][A-Z][0-9]")
"""One letter with digits right behind it, as in the names of types ("STD-B24")."""
_PLATE_CODES = words_of("plate_codes")
_CODE = re.compile(r"[A-ZÄÖÜ]{1,3}")
_CAR_WORDS = re.compile(
    r"kennz|\bkfz|nummernschild|\bpkw|\blkw|fahrzeug|transporter|wagen\b|\bauto\b|oldtimer|halter|anhänger|"
    r"motorrad|roller",
    re.IGNORECASE,
)
_PLATE_WORDS = re.compile(r"kennz|nummernschild|kontrollschild|autonummer", re.IGNORECASE)
_LICENCE = re.compile(
    r"(?:klassen?|\bkl\.|führerschein|fahrerlaubnis|\bfs)[ :.(-]{0,3}(?:[A-Z0-9]{1,3}[ ,/+-]{1,2}){0,4}\Z",
    re.IGNORECASE,
)
_CLASSES = re.compile(r"(?:A|BE?|CE?|DE?|L|T|M)[-–](?:BE|CE|DE|C|D|E)[ -]?(?:95|96)")
"""Classes of driving licences with the number behind the qualification of drivers by trade ("C-CE 95")."""
_NORMS = frozenset({"DIN", "EU", "EN", "HR", "EG"})
"""Signs that also begin the names of norms, laws and registers ("DIN-EN 1090")."""


def find_plates(scan: Scan) -> Iterator[Span]:
    """Yield licence plates.

    A German plate with a space for the hyphen, with one digit only or with a norm's look needs a word about
    cars near it; the forms of other countries need a word about plates before them. So do all in job titles,
    whose codes of trades ("Techniker M-IT 24") and licences look like plates.
    """
    for match in _PLATE.finditer(scan.text):
        code = _CODE.match(match.group())
        called = _PLATE_WORDS.search(scan.before(match.start(), 30)) is not None
        if not called and scan.titles:
            continue
        if match["gap"] and code and code.group() in _PLATE_CODES:
            if not called and _is_licence(scan, match):
                continue
            digits = sum(character.isdigit() for character in match.group())
            hyphen = "-" in match["gap"] or "–" in match["gap"]
            sure = hyphen and digits > 1 and code.group() not in _NORMS and not _TYPE.search(match.group())
            if sure or scan.near(*match.span(), _CAR_WORDS, 60):
                yield Span(*match.span(), PersonalKind.PLATE, "plate.de")
        elif called:
            yield Span(*match.span(), PersonalKind.PLATE, "plate.abroad")


def _is_licence(scan: Scan, match: re.Match[str]) -> bool:
    return bool(_CLASSES.fullmatch(match.group()) or _LICENCE.search(scan.before(match.start(), 40)))

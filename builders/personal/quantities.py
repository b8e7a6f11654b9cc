"""What follows a number that counts or measures something, and so is no house's and no telephone's."""

from __future__ import annotations

import re

from builders.personal.places import known_places
from builders.personal.word_lists import FIRST_NAMES
from builders.personal.words import LOWER, UPPER

UNIT = re.compile(
    r"[ \u00a0]?(?:%|€|\$|°|(?:k?m|cm|kg|Uhr|Prozent|Euro|EUR|CHF|Jahren?|Tagen?|Wochen|"
    r"Monaten?|Mal|Meter|Kilometer|"
    r"Mio|Mrd|Millionen|Stunden|Punkten?|Plätzen?|Häusern?|bis|Grad|Stück)\b)|[.,:][0-9]"
    r"|\.[ ](?:J[aä]n|Feb|März|Apr|Mai|Ju[nl]i|Aug|Sep|Okt|Nov|Dez)"
)
"""A unit, a fraction, or the month of a day."""
_NOUN = re.compile(
    rf"[ \u00a0](?:(?:weitere|neue|alte|große|kleine|zusätzliche|volle|ganze|gute)[rn]?[ ])?"
    rf"([{UPPER}][{LOWER}]{{2,40}}+)(?![\w-])"
)
_PLURAL = ("e", "en", "er", "ern", "eln", "meter", "metern", "os")
_NO_PLURAL = frozenset(
    """
    Telefon Mitte Nähe Ecke Etage Rückgebäude Vorderhaus Hinterhaus Eingang Stiege Tür Stock Haus Österreich
    Frau Familie Straße Büro Halle Gebäude Ebene Adresse Ansprechpartner Ihre Unsere Deine Keine Eine Diese
    Alle Viele Bitte Heute Ohne Oder Wegen Seiten Oben Unten Hinten Unter Über Hinter Immer Aber
    """.split()
)
_TOWN_ENDS = re.compile(
    r"(?:berge|ingen|hausen|kirchen|hafen|haven|brücken|felden?|weiler|hofen|hagen|leben|rode|walde|see|linden|"
    r"werder|münde|beuren|stetten|bergen|burgen)\Z"
)


def counted(after: str) -> bool:
    """Say whether a number counts what follows it: a unit, or a noun in the plural that is no place or name.

    Args:
        after: What stands right behind the number, 48 characters or more where there are.
    """
    return UNIT.match(after) is not None or counted_noun(after)


def counted_noun(after: str) -> bool:
    """Say whether a noun in the plural follows a number, that is no place or name."""
    noun = _NOUN.match(after)
    return noun is not None and _is_plural(noun[1])


def _is_plural(word: str) -> bool:
    if word in _NO_PLURAL or word in FIRST_NAMES or not word.endswith(_PLURAL):
        return False
    return not _TOWN_ENDS.search(word) and word.casefold() not in known_places()

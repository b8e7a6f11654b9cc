"""The lists in `lists/`: first names, surnames, brands, and capitalised words that are no names."""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).parent / "lists"


def _lines(name: str) -> list[str]:
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def _words(name: str) -> frozenset[str]:
    return frozenset(word for line in _lines(name) for word in line.split())


FIRST_NAMES = _words("first_names")
FIRST_NAMES_BY_CUE = FIRST_NAMES | _words("first_names_by_cue")
"""With those that are words, places or brands as well: evidence only behind a cue."""
SURNAMES = _words("surnames")
NO_NAMES = _words("no_names")
"""Capitalised words that stand where a name could, and are none, not even behind a first name."""
NOUNS = NO_NAMES | _words("nouns")
"""With those that may be a surname behind a first name."""
BRANDS = frozenset(_lines("brands"))
"""Brands that are names of persons as well."""

"""The names of towns, states and regions that are known."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def known_places() -> frozenset[str]:
    """Return the names of places, case-folded; "St." is written out."""
    text = resources.files("builders.text").joinpath("places.txt").read_text(encoding="utf-8")
    names = (line.casefold() for line in text.splitlines() if not line.startswith("#"))
    return frozenset(name.replace("st. ", "sankt ") for name in names)

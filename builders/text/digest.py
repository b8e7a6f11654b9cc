"""The short hash that ids, groups and orders are made of."""

from __future__ import annotations

import hashlib

DIGITS = 16


def digest(text: str) -> str:
    """Return the first 16 hex digits of blake2b (default digest size) of the UTF-8 text.

    Raises:
        UnicodeEncodeError: The text holds a lone surrogate; normalising removes those.
    """
    return hashlib.blake2b(text.encode()).hexdigest()[:DIGITS]

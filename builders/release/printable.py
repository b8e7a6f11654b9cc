"""Names from outside in messages: on one line, and obeyed by no terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a text with everything that is not printable escaped, line breaks and control characters too."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]

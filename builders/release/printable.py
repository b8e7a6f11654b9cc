"""What messages show: names that no terminal obeys, and lists that say how much of them is left."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 10


def printable(text: str) -> str:
    """Return a text with everything that is not printable escaped, line breaks and control characters too."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def shortened(items: Sequence[str], most: int = _MOST) -> list[str]:
    """Return the first items, and behind them how many are left."""
    left = len(items) - most
    return list(items) if left <= 0 else [*items[:most], f"… and {left:,} more"]


def listed(lines: Sequence[str], most: int = _MOST) -> str:
    """Return lines under each other, cut as `shortened` cuts."""
    return "\n".join(shortened(lines, most))

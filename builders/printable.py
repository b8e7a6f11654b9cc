"""Text fit to print: labels, escaped names, shares, intervals, counts and shortened lists. Pure."""

from collections.abc import Iterable, Sequence

NOTHING = "–"
_LONGEST_LABEL = 46
_MOST_ITEMS = 10


def one_line(value: object, longest: int | None = None) -> str:
    """Return a value as one line of printable characters and single spaces, cut at `longest`."""
    kept = (mark for mark in str(value) if mark.isprintable() or mark.isspace())
    return " ".join("".join(kept).split())[:longest]


def label(text: str, longest: int = _LONGEST_LABEL) -> str:
    """Return a text as one line, without its middle where it is longer than `longest`."""
    line = one_line(text)
    if len(line) <= longest:
        return line
    end = longest // 3
    return f"{line[: longest - end - 1].rstrip()}…{line[-end:].lstrip()}"


def printable(text: str) -> str:
    """Escape everything that is not printable, line breaks and control characters too."""
    return "".join(mark if mark.isprintable() else repr(mark)[1:-1] for mark in text)


def shortened(items: Sequence[str], most: int = _MOST_ITEMS) -> list[str]:
    """Return the first items, and behind them how many are left."""
    left = len(items) - most
    return list(items) if left <= 0 else [*items[:most], f"… and {left:,} more"]


def quoted(names: Iterable[str], most: int = 20) -> str:
    """Return names in quotes beside each other, cut as `shortened` cuts."""
    return ", ".join(shortened([repr(name) for name in names], most))


def listed(lines: Sequence[str], most: int = _MOST_ITEMS) -> str:
    """Return lines under each other, cut as `shortened` cuts."""
    return "\n".join(shortened(lines, most))


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 pair", "1,200 pairs"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def span(values: Sequence[int]) -> str:
    """Return the least and the largest of whole numbers."""
    least, most = min(values), max(values)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def percent(value: float | None) -> str:
    """Return a share between 0 and 1 in percent with one decimal, a dash for none."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def interval(value: float | None, low: float, high: float) -> str:
    """Return the interval of a share in percent, a dash where there is no share."""
    return NOTHING if value is None else f"{100 * low:.1f} to {100 * high:.1f} %"


def share(part: int, whole: int) -> str:
    """Return a part of a whole in percent; what is neither nothing nor all never looks so."""
    if not whole:
        return NOTHING
    value = 100 * part / whole
    if 0 < value < 0.1:
        return "< 0.1 %"
    return "> 99.9 %" if 99.9 < value < 100 else f"{value:.1f} %"

"""What a report is made of: sections of blocks, each with words, a plot and a table, for every format."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builders.evaluation.results import EncoderFacts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of plain values; a row has one value a column."""

    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot: how it is drawn, and what it says to a reader who sees no picture."""

    draw: Callable[[], Figure]
    alt: str


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a section.

    Attributes:
        heading: Empty where the section has one block only.
        text: Plain sentences.
        plot: None in formats without pictures, or where there is nothing to draw.
        table: The numbers.
        more: A longer table that is folded away, and its summary.
    """

    heading: str = ""
    text: str = ""
    plot: Plot | None = None
    table: Table | None = None
    more: tuple[str, Table] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report; one without blocks is left out.

    Attributes:
        title: Its heading.
        text: Plain sentences.
        blocks: Its parts.
        legend: How its plots are read; left out of formats without pictures.
    """

    title: str
    text: str
    blocks: tuple[Block, ...]
    legend: str = ""

    @property
    def anchor(self) -> str:
        """The name under which a page refers to it."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Return a table of any sequences."""
    return Table(tuple(header), tuple(tuple(row) for row in rows))


def filled(of: Table) -> Table:
    """Return a table without the columns, but the first, in which no row has a value."""
    columns = list(zip(of.header, *of.rows, strict=True))
    kept = columns[:1] + [column for column in columns[1:] if any(cell != NOTHING for cell in column[1:])]
    header, *rows = zip(*kept, strict=True)
    return table(header, rows)


def decimal(value: float | None) -> str:
    """Return a score in four digits, a dash for none."""
    return NOTHING if value is None else f"{value + 0.0:.4f}"


def signed(value: float | None) -> str:
    """Return a difference with its sign, a dash for none."""
    return NOTHING if value is None else f"{value:+.4f}"


def names(encoders: Iterable[EncoderFacts]) -> dict[EncoderFacts, str]:
    """Return a short name for each encoder: the last part of a path, and ten digits of a revision.

    Where two would have one name, they keep their full ones, numbered where even those are the same.
    """
    found = dict.fromkeys(encoders)
    shorter = Counter(_short(encoder.name) for encoder in found)
    told: dict[EncoderFacts, str] = {}
    for encoder in found:
        name = _short(encoder.name)
        name = name if shorter[name] == 1 else encoder.name
        same = sum(other == name or other.startswith(f"{name} (") for other in told.values())
        told[encoder] = f"{name} ({same + 1})" if same else name
    return told


def _short(name: str) -> str:
    last = name.rstrip("/").rpartition("/")[2] or name
    return re.sub(r"@([0-9a-f]{10})[0-9a-f]{30}$", r"@\1", last[-200:])

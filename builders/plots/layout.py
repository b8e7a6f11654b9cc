"""What all charts share: their size, rows, axes and legends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING

from builders.plots.style import MARKERS, SERIES, WIDTH
from builders.printable import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROW = 30.0
PANEL = 170.0
FOOT = 74.0
MOST_TICKS = 9
_LEGEND_LINE = 18.0
_LONGEST_ROW = 26
_AXIS, _CHARACTER, _GAP = 340.0, 6.6, 6.0


def figure_of(height: float) -> Figure:
    """Return an empty figure as wide as all, in points."""
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72, layout="constrained")


def name_rows(axes: Axes, rows: Sequence[str]) -> None:
    """Name the rows of a chart, the first on top."""
    axes.set_yticks(range(len(rows)), [label(row, _LONGEST_ROW) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def count_axis(axes: Axes, places: Sequence[float], *, by_ratio: bool = False) -> None:
    """Make the lower axis one of counts that holds some places; by ratio, where all are above zero."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    if by_ratio and places and min(places) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(_log_ticks(min(places), max(places))))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if places and min(places) == max(places):
        axes.set_xlim(min(places) * 0.5, max(places) * 1.5 + 1)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return round places whose labels leave room between them; the ends where there are not two."""
    for factors in ((1, 2, 3, 5, 7), (1, 2, 5), (1,)):
        steps = [factor * 10.0**power for power in range(9) for factor in factors]
        ticks = [step for step in steps if low * 0.9 <= step <= high * 1.1]
        if all(_room(one, other, high / low) for one, other in pairwise(ticks)):
            break
    return ticks if len(ticks) > 1 else sorted({low, high})


def _room(one: float, other: float, ratio: float) -> bool:
    characters = len(f"{one:,.0f}{other:,.0f}") / 2
    return log(other / one) / log(ratio) * _AXIS >= characters * _CHARACTER + _GAP if ratio > 1 else True


def add_legend(figure: Figure, axes: Axes, series: Sequence[str]) -> None:
    """Say above a chart what its series are, where there are several."""
    handles, names = axes.get_legend_handles_labels()
    if len(series) > 1 and handles:
        figure.legend(
            handles,
            names,
            loc="outside upper left",
            ncols=_columns(series),
            handlelength=1.2,
            columnspacing=1.4,
            handletextpad=0.5,
            borderaxespad=0.2,
        )


def entry(name: str) -> str:
    """Return a label of a legend; the library hides those that begin with an underscore."""
    return label(name).lstrip("_") or "–"


def _columns(series: Sequence[str]) -> int:
    longest = max((len(label(name)) for name in series), default=1)
    return max(1, min(len(series), int((WIDTH - 20) / (longest * 7 + 40))))


def legend_height(series: Sequence[str]) -> float:
    """Return the height of what stands above and below the axes of a chart."""
    lines = -(-len(series) // _columns(series)) if len(series) > 1 else 0
    return FOOT + lines * _LEGEND_LINE


def marker_of(number: int) -> str:
    """Return a marker that meets the same colour only after all others have."""
    return MARKERS[(number + number // len(SERIES)) % len(MARKERS)]


def percent(value: float, _: float) -> str:
    """Return a share as the label of a tick."""
    return f"{round(100 * value, 4):g} %"

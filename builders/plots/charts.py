"""The kinds of charts, from plain values. Each is drawn by `builders.plots.svg`, under its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

from builders.plots.layout import (
    FOOT,
    MOST_TICKS,
    PANEL,
    ROW,
    add_legend,
    count_axis,
    entry,
    figure_of,
    legend_height,
    marker_of,
    name_rows,
    percent,
)
from builders.plots.style import GROUND, INK, NONE, RAMP, SERIES, SOFT
from builders.printable import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARGIN = 0.03
_PUBLISHED = "published"


@dataclass(frozen=True, slots=True)
class Dot:
    """A value in a row.

    Attributes:
        row: Its row.
        series: Its series.
        value: What is drawn.
        low: Low end of its interval, or None.
        high: High end of its interval, or None.
        published: Whether others measured it; such a dot is hollow.
    """

    row: str
    series: str
    value: float
    low: float | None = None
    high: float | None = None
    published: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Points by series over one axis.

    Attributes:
        across: What the axis is.
        points: ``(x, y)`` by series.
        log: Whether the axis is logarithmic.
        curve: ``(x, y)`` of a line for comparison.
    """

    across: str
    points: Mapping[str, Sequence[tuple[float, float]]]
    log: bool = False
    curve: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True, slots=True)
class Bars:
    """Shares by category, from 0 to 1.

    Attributes:
        across: What the categories are.
        categories: Their names, in order.
        series: One share a category, by series.
    """

    across: str
    categories: Sequence[str]
    series: Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of values by band.

    Attributes:
        across: What the values are.
        bands: Where a band begins, where the next one does, and its share, from 0 to 1.
        title: Said above.
    """

    across: str
    bands: Sequence[tuple[float, float, float]]
    title: str


def dots(values: Sequence[Dot], *, across: str, low: float = 0.0, high: float = 1.0) -> Figure:
    """Draw values in rows, from top to bottom in their order, one marker a series.

    Args:
        values: What to draw; at least one.
        across: What the values are.
        low: Low end of the axis.
        high: High end of the axis; it grows where a value lies beyond.
    """
    rows = list(dict.fromkeys(dot.row for dot in values))
    series = list(dict.fromkeys(dot.series for dot in values))
    told = [*series, *([_PUBLISHED] if any(dot.published for dot in values) else [])]
    figure = figure_of(len(rows) * max(ROW, len(series) * 11) + legend_height(told))
    axes = figure.subplots()
    step = 0.6 / len(series)
    for number, name in enumerate(series):
        shift = (number - (len(series) - 1) / 2) * step
        mine = [(dot, rows.index(dot.row) + shift) for dot in values if dot.series == name]
        colour = SERIES[number % len(SERIES)]
        for dot, height in mine:
            if dot.low is not None and dot.high is not None:
                axes.plot([dot.low, dot.high], [height, height], color=colour, linewidth=1.4)
        _marks(
            axes, [(dot.value, y) for dot, y in mine if not dot.published], marker_of(number), colour, colour
        )
        _marks(axes, [(dot.value, y) for dot, y in mine if dot.published], "d", colour, GROUND)
        axes.plot(
            [], [], linestyle="none", marker=marker_of(number), markersize=6, color=colour, label=entry(name)
        )
    if len(told) > len(series):
        axes.plot([], [], linestyle="none", marker="d", color=INK, markerfacecolor=GROUND, label=_PUBLISHED)
    ends = [end for dot in values for end in (dot.value, dot.low, dot.high) if end is not None]
    low, high = min(low, *ends), max(high, *ends)
    axes.set_xlim(low - _MARGIN * (high - low), high + _MARGIN * (high - low))
    name_rows(axes, rows)
    axes.set_xlabel(label(across))
    add_legend(figure, axes, told)
    return figure


def _marks(axes: Axes, places: Sequence[tuple[float, float]], marker: str, edge: str, fill: str) -> None:
    if places:
        x, y = zip(*places, strict=True)
        axes.plot(x, y, linestyle="none", marker=marker, markersize=6, color=edge, markerfacecolor=fill)


def stacked(
    rows: Mapping[str, Sequence[float]], parts: Sequence[str], *, across: str, ramp: bool = True
) -> Figure:
    """Draw each row as a bar of shares that add up to all.

    Args:
        rows: One amount a part, by row.
        parts: Names of the parts.
        across: What the shares are of.
        ramp: Whether the parts go from nothing to much; else the first is what is left, in one colour, and
            the others have colours of their own.
    """
    colours = (NONE, *RAMP) if ramp else (SERIES[0], SERIES[4], SERIES[1])
    figure = figure_of(len(rows) * (ROW + 4) + legend_height(parts))
    axes = figure.subplots()
    for place, amounts in enumerate(rows.values()):
        whole, left = sum(amounts) or 1.0, 0.0
        for number, amount in enumerate(amounts):
            axes.barh(
                place,
                amount / whole,
                left=left,
                height=0.62,
                color=colours[min(number, len(colours) - 1)],
                edgecolor=GROUND,
                linewidth=0.8,
                label=entry(parts[number]) if place == 0 else None,
            )
            left += amount / whole
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(percent)
    axes.grid(visible=False)
    name_rows(axes, list(rows))
    axes.set_xlabel(label(across))
    add_legend(figure, axes, parts)
    return figure


def scatter(panels: Sequence[Panel], *, up: str, top: float | None = 1.0, lines: bool = False) -> Figure:
    """Draw points by series, one panel below the other.

    Args:
        panels: Panels with the same series.
        up: What the height is.
        top: High end of the height's axis, which starts at 0; None for one that fits.
        lines: Whether the points of a series hang together.
    """
    series = list(dict.fromkeys(name for panel in panels for name in panel.points))
    figure = figure_of(len(panels) * (PANEL + 30) + legend_height(series))
    grid = figure.subplots(len(panels), 1, squeeze=False)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        if panel.curve:
            axes.plot(*zip(*panel.curve, strict=True), color=SOFT, linewidth=1.2, linestyle="dashed")
        for number, (name, points) in enumerate(panel.points.items()):
            axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                linestyle="solid" if lines else "none",
                linewidth=1.6,
                marker=marker_of(number),
                markersize=6,
                color=SERIES[number % len(SERIES)],
                label=entry(name),
            )
        every = (*panel.points.values(), panel.curve)
        count_axis(axes, [x for points in every for x, _ in points], by_ratio=panel.log)
        if top is None:
            axes.set_ylim(bottom=0)
        else:
            axes.set_ylim(-_MARGIN * top, (1 + _MARGIN) * top)  # so that no marker at an end is cut
        axes.set_xlabel(label(panel.across))
        axes.set_ylabel(label(up))
    add_legend(figure, grid[0, 0], series)
    return figure


def bars(panel: Bars, *, up: str) -> Figure:
    """Draw shares by category as bars; series stand side by side."""
    series = list(panel.series)
    figure = figure_of(PANEL + 20 + legend_height(series))
    axes = figure.subplots()
    width = 0.86 / len(series)
    for number, (name, shares) in enumerate(panel.series.items()):
        left = [place - 0.43 + (number + 0.5) * width for place in range(len(shares))]
        axes.bar(left, shares, width=width, color=SERIES[number % len(SERIES)], label=entry(name))
    every = -(-len(panel.categories) // MOST_TICKS)
    shown = range(0, len(panel.categories), every)
    axes.set_xticks(list(shown), [label(panel.categories[place]) for place in shown])
    axes.set_xlim(-0.6, len(panel.categories) - 0.4)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_formatter(percent)
    axes.set_xlabel(label(panel.across))
    axes.set_ylabel(label(up))
    add_legend(figure, axes, series)
    return figure


def histograms(panels: Sequence[Histogram], *, step: float, up: str) -> Figure:
    """Draw shares by band over a logarithmic axis, one panel below the other.

    A band is as wide as it is. Its height is the share that a step would have if the band's were spread
    evenly over it: equal areas are equal shares, however uneven the bands.

    Args:
        panels: Panels; bands of values above zero, without gaps.
        step: Ratio of the ends of a step, above 1.
        up: What the height is.
    """
    figure = figure_of(len(panels) * (PANEL + 20) + FOOT / 2)
    grid = figure.subplots(len(panels), 1, squeeze=False)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        left = [begin for begin, _, _ in panel.bands]
        width = [end - begin for begin, end, _ in panel.bands]
        height = [share * log(step) / log(end / begin) for begin, end, share in panel.bands]
        count_axis(axes, [*left, panel.bands[-1][1]], by_ratio=True)
        axes.bar(left, height, width=width, align="edge", color=SERIES[0], edgecolor=GROUND, linewidth=0.8)
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter(percent)
        axes.set_xlabel(label(panel.across))
        axes.set_ylabel(label(up))
        axes.set_title(label(panel.title))
    return figure

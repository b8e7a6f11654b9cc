"""The kinds of charts, from plain values. Each is drawn by `builders.plots.svg`, under its settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from builders.plots.style import GROUND, INK, MARKERS, NONE, RAMP, SERIES, SOFT, WIDTH
from builders.plots.svg import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW = 30.0
_PANEL = 170.0
_FOOT = 74.0
_LEGEND_LINE = 18.0
_MOST_TICKS = 9
_LONGEST_ROW = 26
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
        title: Said above; empty where the chart has one panel.
    """

    across: str
    categories: Sequence[str]
    series: Mapping[str, Sequence[float]]
    title: str = field(default="")


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
    figure = _figure(len(rows) * max(_ROW, len(series) * 11) + _legend_height(told))
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
            axes, [(dot.value, y) for dot, y in mine if not dot.published], _marker(number), colour, colour
        )
        _marks(axes, [(dot.value, y) for dot, y in mine if dot.published], "d", colour, GROUND)
        axes.plot(
            [], [], linestyle="none", marker=_marker(number), markersize=6, color=colour, label=_entry(name)
        )
    if len(told) > len(series):
        axes.plot([], [], linestyle="none", marker="d", color=INK, markerfacecolor=GROUND, label=_PUBLISHED)
    ends = [end for dot in values for end in (dot.value, dot.low, dot.high) if end is not None]
    low, high = min(low, *ends), max(high, *ends)
    axes.set_xlim(low - _MARGIN * (high - low), high + _MARGIN * (high - low))
    _rows(axes, rows)
    axes.set_xlabel(label(across))
    _legend(figure, axes, told)
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
    figure = _figure(len(rows) * (_ROW + 4) + _legend_height(parts))
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
                label=_entry(parts[number]) if place == 0 else None,
            )
            left += amount / whole
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(_percent)
    axes.grid(visible=False)
    _rows(axes, list(rows))
    axes.set_xlabel(label(across))
    _legend(figure, axes, parts)
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
    figure = _figure(len(panels) * (_PANEL + 30) + _legend_height(series))
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
                marker=_marker(number),
                markersize=6,
                color=SERIES[number % len(SERIES)],
                label=_entry(name),
            )
        _scale(axes, panel)
        if top is None:
            axes.set_ylim(bottom=0)
        else:
            axes.set_ylim(-_MARGIN * top, (1 + _MARGIN) * top)  # so that no marker at an end is cut
        axes.set_xlabel(label(panel.across))
        axes.set_ylabel(label(up))
    _legend(figure, grid[0, 0], series)
    return figure


def bars(panels: Sequence[Bars], *, up: str) -> Figure:
    """Draw shares by category as bars, one panel below the other; series stand side by side."""
    series = list(dict.fromkeys(name for panel in panels for name in panel.series))
    named = len(series) > 1 and not any(panel.title for panel in panels)
    figure = _figure(len(panels) * (_PANEL + 20) + (_legend_height(series) if named else _FOOT / 2))
    grid = figure.subplots(len(panels), 1, squeeze=False)
    for axes, panel in zip(grid[:, 0], panels, strict=True):
        width = 0.86 / len(panel.series)
        for number, (name, shares) in enumerate(panel.series.items()):
            left = [place - 0.43 + (number + 0.5) * width for place in range(len(shares))]
            axes.bar(left, shares, width=width, color=SERIES[number % len(SERIES)], label=_entry(name))
        every = -(-len(panel.categories) // _MOST_TICKS)
        shown = range(0, len(panel.categories), every)
        axes.set_xticks(list(shown), [label(panel.categories[place]) for place in shown])
        axes.set_xlim(-0.6, len(panel.categories) - 0.4)
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter(_percent)
        axes.set_xlabel(label(panel.across))
        axes.set_ylabel(label(up))
        if panel.title:
            axes.set_title(label(panel.title))
    if named:
        _legend(figure, grid[0, 0], series)
    return figure


def _figure(height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(WIDTH / 72, height / 72), dpi=72, layout="constrained")


def _rows(axes: Axes, rows: Sequence[str]) -> None:
    axes.set_yticks(range(len(rows)), [label(row, _LONGEST_ROW) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _scale(axes: Axes, panel: Panel) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    places = [x for points in (*panel.points.values(), panel.curve) for x, _ in points]
    if panel.log and places and min(places) > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(_log_ticks(min(places), max(places))))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if places and min(places) == max(places):
        axes.set_xlim(min(places) * 0.5, max(places) * 1.5 + 1)


def _log_ticks(low: float, high: float) -> list[float]:
    steps = [factor * 10.0**power for power in range(9) for factor in (1, 2, 3, 5, 7)]
    inside = [step for step in steps if low * 0.9 <= step <= high * 1.1]
    for leading in ("12357", "125", "1"):
        ticks = [step for step in inside if f"{step:.0f}"[0] in leading]
        if len(ticks) <= _MOST_TICKS:
            break
    return ticks


def _legend(figure: Figure, axes: Axes, series: Sequence[str]) -> None:
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


def _entry(name: str) -> str:
    """Return a label of a legend; the library hides those that begin with an underscore."""
    return label(name).lstrip("_") or "–"


def _columns(series: Sequence[str]) -> int:
    longest = max((len(label(name)) for name in series), default=1)
    return max(1, min(len(series), int((WIDTH - 20) / (longest * 7 + 40))))


def _legend_height(series: Sequence[str]) -> float:
    lines = -(-len(series) // _columns(series)) if len(series) > 1 else 0
    return _FOOT + lines * _LEGEND_LINE


def _marker(number: int) -> str:
    """Return a marker that meets the same colour only after all others have."""
    return MARKERS[(number + number // len(SERIES)) % len(MARKERS)]


def _percent(value: float, _: float) -> str:
    return f"{100 * value:.0f} %"

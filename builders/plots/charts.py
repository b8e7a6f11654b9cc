"""Kinds of charts, from plain values to matplotlib figures; `builders.plots.svg` draws them in its style."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log
from typing import TYPE_CHECKING, Any

from builders.plots.svg import GROUND, INK, NONE, RAMP, SERIES, SOFT
from builders.printable import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKERS = ("o", "s", "^", "D", "v", "P")
"""One a series, so that no reader needs the colours."""
_WIDTH, _ROW, _PANEL, _FOOT, _LEGEND_LINE = 420.0, 30.0, 190.0, 74.0, 18.0
"""Sizes in points: a phone shrinks a plot by a quarter, a wide page enlarges it by a third."""
_LONGEST_ROW, _MOST_TICKS, _MARGIN = 26, 9, 0.03
_GOLDEN = 0.6180339887


@dataclass(frozen=True, slots=True)
class Dot:
    """A value in a row, with the ends of its interval; one that others published is hollow."""

    row: str
    series: str
    value: float
    low: float | None = None
    high: float | None = None
    published: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Points ``(x, y)`` by series over one axis labelled `across`; `curve` is dashed, for comparison."""

    across: str
    points: Mapping[str, Sequence[tuple[float, float]]]
    log: bool = False
    curve: Sequence[tuple[float, float]] = ()


def dots(values: Sequence[Dot], *, across: str) -> Figure:
    """Draw values in rows over an axis from 0 to 1, or wider where one lies beyond; one marker a series."""
    rows, series = list(dict.fromkeys(d.row for d in values)), list(dict.fromkeys(d.series for d in values))
    figure, (axes,) = _figure(len(rows) * max(_ROW, len(series) * 11))
    for number, name in enumerate(series):
        shift, mark = 0.6 * ((number + 0.5) / len(series) - 0.5), _mark(number)
        for dot in (dot for dot in values if dot.series == name):
            height = rows.index(dot.row) + shift
            if dot.low is not None and dot.high is not None:
                axes.plot([dot.low, dot.high], [height] * 2, color=mark["color"], linewidth=1.4)
            hollow = {"marker": "d", "markerfacecolor": GROUND} if dot.published else {}
            axes.plot([dot.value], [height], linestyle="none", **mark | hollow)
        axes.plot([], [], linestyle="none", label=_entry(name), **mark)
    if any(dot.published for dot in values):
        axes.plot([], [], "d", color=INK, markerfacecolor=GROUND, label="published")
    ends = [end for dot in values for end in (dot.value, dot.low, dot.high) if end is not None]
    low, high = min(0.0, *ends), max(1.0, *ends)
    axes.set_xlim(low - _MARGIN * (high - low), high + _MARGIN * (high - low))
    _name_rows(axes, rows)
    return _finished(figure, across)


def stacked(
    rows: Mapping[str, Sequence[float]], parts: Sequence[str], *, across: str, ramp: bool = True
) -> Figure:
    """Draw each row, an amount a part, as a bar of shares that add up to all.

    With `ramp` the parts go from nothing to much, else each has a colour of its own.
    """
    colours = (NONE, *RAMP) if ramp else (SERIES[0], SERIES[4], SERIES[1])
    figure, (axes,) = _figure(len(rows) * (_ROW + 4))
    for place, amounts in enumerate(rows.values()):
        whole, left = sum(amounts) or 1.0, 0.0
        for number, amount in enumerate(amounts):
            name = _entry(parts[number]) if place == 0 else None
            colour = colours[min(number, len(colours) - 1)]
            axes.barh(place, amount / whole, 0.62, left, color=colour, edgecolor=GROUND, label=name)
            left += amount / whole
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(_percent)
    axes.grid(visible=False)
    _name_rows(axes, list(rows))
    return _finished(figure, across)


def scatter(panels: Sequence[Panel], *, up: str, top: float | None = 1.0, lines: bool = False) -> Figure:
    """Draw points by series, one panel below the other; `lines` joins the points of a series.

    The axis of the height, labelled `up`, goes from 0 to `top`, or as far as fits where that is None.
    """
    figure, grid = _figure(_PANEL, len(panels))
    for axes, panel in zip(grid, panels, strict=True):
        if panel.curve:
            axes.plot(*zip(*panel.curve, strict=True), color=SOFT, linewidth=1.2, linestyle="dashed")
        for number, (name, points) in enumerate(panel.points.items()):
            x, y = zip(*points, strict=True) if points else ((), ())
            style = "solid" if lines else "none"
            axes.plot(x, y, linestyle=style, linewidth=1.6, label=_entry(name), **_mark(number))
        _count_axis(axes, [x for of in (*panel.points.values(), panel.curve) for x, _ in of], log=panel.log)
        if top is None:
            axes.set_ylim(bottom=0)
        else:
            axes.set_ylim(-_MARGIN * top, (1 + _MARGIN) * top)  # so that no marker at an end is cut
        axes.set_xlabel(label(panel.across))
    return _finished(figure, up=up)


def bars(series: Mapping[str, Sequence[float]], categories: Sequence[str], *, across: str, up: str) -> Figure:
    """Draw shares by category as bars; series stand side by side."""
    figure, (axes,) = _figure(_PANEL)
    width = 0.86 / len(series)
    for number, (name, shares) in enumerate(series.items()):
        left = [place - 0.43 + (number + 0.5) * width for place in range(len(shares))]
        axes.bar(left, shares, width, color=SERIES[number % len(SERIES)], label=_entry(name), linewidth=0)
    shown = range(0, len(categories), -(-len(categories) // _MOST_TICKS))
    axes.set_xticks(list(shown), [label(categories[place]) for place in shown])
    axes.set_xlim(-0.6, len(categories) - 0.4)
    axes.grid(visible=False, axis="x")
    axes.yaxis.set_major_formatter(_percent)
    return _finished(figure, across, up)


def histograms(
    panels: Mapping[str, tuple[Sequence[float], Sequence[float]]], *, step: float, across: str, up: str
) -> Figure:
    """Draw shares by band over a logarithmic axis, one panel below the other: equal areas are equal shares.

    Panels are edges of bands, all above zero, and their shares by title. A band's height is its share of one
    step; `step` is the ratio of the ends of a step, above 1.
    """
    figure, grid = _figure(_PANEL, len(panels))
    for axes, (title, (edges, shares)) in zip(grid, panels.items(), strict=True):
        ends = list(pairwise(edges))
        height = [share * log(step) / log(b / a) for share, (a, b) in zip(shares, ends, strict=True)]
        _count_axis(axes, edges, log=True)
        axes.bar(
            edges[:-1], height, [b - a for a, b in ends], align="edge", color=SERIES[0], edgecolor=GROUND
        )
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_formatter(_percent)
        axes.set_title(label(title))
    return _finished(figure, across, up)


def strips(rows: Mapping[str, Sequence[float]], *, across: str) -> Figure:
    """Draw values as dots spread over rows; a row is named with its number of values."""
    figure, (axes,) = _figure(len(rows) * _ROW * 1.8)
    for place, values in enumerate(rows.values()):
        heights = [place + 0.6 * (number * _GOLDEN % 1 - 0.5) for number in range(len(values))]
        axes.plot(values, heights, linestyle="none", alpha=0.6, **_mark(place) | {"marker": "o"})
    _name_rows(axes, [f"{name} ({len(values):,})" for name, values in rows.items()])
    return _finished(figure, across)


def _figure(height: float, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure, as wide as all, and its panels; `height` is a panel's, in points."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH / 72, (panels * height + _FOOT) / 72))
    return figure, list(figure.subplots(panels, 1, squeeze=False)[:, 0])


def _finished(figure: Figure, across: str = "", up: str = "") -> Figure:
    """Name the axes of all panels, and the series above them where there are several."""
    for axes in figure.axes:
        axes.set(**({"xlabel": label(across)} if across else {}), ylabel=label(up))
    handles, names = figure.axes[0].get_legend_handles_labels()
    if len(names) > 1:
        columns = max(1, min(len(names), int((_WIDTH - 20) / (max(map(len, names)) * 7 + 40))))
        figure.legend(handles, names, loc="outside upper left", ncols=columns)
        figure.set_figheight(figure.get_figheight() - (len(names) // -columns) * _LEGEND_LINE / 72)
    return figure


def _name_rows(axes: Axes, rows: Sequence[str]) -> None:
    """Name the rows of a chart, the first on top."""
    axes.set_yticks(range(len(rows)), [label(row, _LONGEST_ROW) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def _count_axis(axes: Axes, places: Sequence[float], *, log: bool) -> None:
    """Make the lower axis one of counts that holds some places; logarithmic where all are above zero."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    low, high = min(places, default=1), max(places, default=1)
    if log and low > 0:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator(_log_ticks(low, high)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    if low == high:
        axes.set_xlim(low * 0.5, high * 1.5 + 1)


def _log_ticks(low: float, high: float) -> list[float]:
    """Return round places whose labels leave room between them; the ends where there are not two."""
    room = 340 * log(2) / max(log(high / low), 1e-9)
    factors = (1, 2, 5) if room > 6.6 * len(f"{high:,.0f}") + 6 else (1,)
    steps = [factor * 10.0**power for power in range(10) for factor in factors]
    ticks = [step for step in steps if low * 0.9 <= step <= high * 1.1]
    return ticks if len(ticks) > 1 else sorted({low, high})


def _entry(name: str) -> str:
    """Return a label of a legend; the library hides those that begin with an underscore."""
    return label(name).lstrip("_") or "–"


def _mark(number: int) -> dict[str, Any]:
    """Return colour and marker of a series; a pair comes again only after all others have."""
    marker = _MARKERS[(number + number // len(SERIES)) % len(_MARKERS)]
    return {"color": SERIES[number % len(SERIES)], "marker": marker}


def _percent(value: float, _: float) -> str:
    return f"{round(100 * value, 4):g} %"

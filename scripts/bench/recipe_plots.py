"""Plots of recipes as SVG, without a plotting library, so that equal figures are equal bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 640, 300, 48, 40, 34
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9")


def lines(title: str, across: str, ticks: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    """Draw shares from 0 up, one line a series, over as many places as there are ticks.

    Args:
        title: Said above.
        across: What the ticks are.
        ticks: One a place; an empty one is left out.
        series: Shares by name, one a place.
    """
    top = max(max(values) for values in series.values()) or 1.0
    step = (_WIDTH - _LEFT - 16) / max(1, len(ticks) - 1)
    parts = [_frame(title, across, top)]
    for place, tick in enumerate(ticks):
        if tick:
            parts.append(_text(_LEFT + place * step, _HEIGHT - _BOTTOM + 14, tick, "middle"))
    for number, values in enumerate(series.values()):
        points = " ".join(
            f"{_LEFT + place * step:.1f},{_height(value / top):.1f}" for place, value in enumerate(values)
        )
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{points}"/>')
    return _svg([*parts, _legend(list(series))])


def bars(title: str, across: str, groups: Sequence[str], series: Mapping[str, Sequence[float]]) -> str:
    """Draw shares from 0 to 1 as bars, side by side in groups."""
    slot = (_WIDTH - _LEFT - 16) / len(groups)
    width = slot * 0.8 / len(series)
    parts = [_frame(title, across, 1.0)]
    for place, group in enumerate(groups):
        parts.append(_text(_LEFT + (place + 0.5) * slot, _HEIGHT - _BOTTOM + 14, group, "middle"))
        for number, values in enumerate(series.values()):
            x, y = _LEFT + (place + 0.1) * slot + number * width, _height(values[place])
            colour = _COLOURS[number % len(_COLOURS)]
            size = f'width="{width:.1f}" height="{_HEIGHT - _BOTTOM - y:.1f}"'
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{colour}"/>')
            parts.append(_text(x + width / 2, y - 3, f"{values[place]:.1%}", "middle"))
    return _svg([*parts, _legend(list(series))])


def _height(share: float) -> float:
    return _HEIGHT - _BOTTOM - share * (_HEIGHT - _BOTTOM - _TOP - 14)


def _frame(title: str, across: str, top: float) -> str:
    axis = f"M{_LEFT} {_TOP}V{_HEIGHT - _BOTTOM}H{_WIDTH - 8}"
    return "\n".join([
        _text(_LEFT, 14, title, "start"),
        f'<path d="{axis}" fill="none" stroke="#444"/>',
        _text(_LEFT - 4, _height(1.0) + 4, f"{top:.0%}", "end"),
        _text(_LEFT - 4, _height(0.0) + 4, "0%", "end"),
        _text((_LEFT + _WIDTH) / 2, _HEIGHT - 8, across, "middle"),
    ])


def _legend(names: Sequence[str]) -> str:
    parts, x = [], _LEFT + 8
    for number, name in enumerate(names):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f'<rect x="{x}" y="22" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 14, 31, name, "start"))
        x += 30 + 7 * len(name)
    return "\n".join(parts)


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="11">'
    )
    ground = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
    return "\n".join([head, ground, *parts, "</svg>"]) + "\n"

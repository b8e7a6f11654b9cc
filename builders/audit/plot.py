"""The plot of an audit: distance below the guard against verdict, as SVG. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from builders.audit.model import Verdict
from builders.text.digest import digest

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW, _BOTTOM = 760, 130, 24, 16, 72, 48
_TICKS = 5
_JITTER = 44
_STYLE = """
text { font: 13px system-ui, sans-serif; fill: #3d3b37 }
.line { stroke: #d9d5cc } .dot { fill: #0a5a69; fill-opacity: .45 }
.also_relevant .dot { fill: #b3401a; fill-opacity: .7 } .count { fill: #6a665f }
@media (prefers-color-scheme: dark) {
 text { fill: #e9e6df } .line { stroke: #3a3e42 } .dot { fill: #7fc9d8 } .also_relevant .dot { fill: #ff9d6e }
 .count { fill: #a9a59c }
}
"""


def gap_plot(title: str, points: Sequence[tuple[str, float, Verdict]]) -> str:
    """Draw one dot for each verdict on a hard negative.

    Args:
        title: For screen readers.
        points: Item (it decides where in its row a dot lies), gap in cosine, verdict.
    """
    low, high = _range([gap for _, gap, _ in points])
    scale = (_WIDTH - _LEFT - _RIGHT) / (high - low)
    bottom = _TOP + len(Verdict) * _ROW
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + _BOTTOM}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
    ]
    for place, verdict in enumerate(Verdict):
        middle = _TOP + place * _ROW + _ROW / 2
        dots = [
            _dot(_LEFT + (gap - low) * scale, middle + _shift(item))
            for item, gap, given in points
            if given is verdict
        ]
        lines += [
            f'<g class="{verdict.value}">',
            f'<path class="line" d="M{_LEFT} {middle}H{_WIDTH - _RIGHT}"/>',
            f'<text x="{_LEFT - 14}" y="{middle}" text-anchor="end">{verdict.words}</text>',
            f'<text class="count" x="{_LEFT - 14}" y="{middle + 17}" text-anchor="end">{len(dots)}</text>',
            *dots,
            "</g>",
        ]
    for tick in range(_TICKS):
        x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * tick / (_TICKS - 1)
        value = low + (high - low) * tick / (_TICKS - 1)
        lines.append(f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{value:.3f}</text>')
    middle_x = (_LEFT + _WIDTH - _RIGHT) / 2
    caption = "cosine below the guarding positive"
    lines.append(f'<text x="{middle_x:.1f}" y="{bottom + 38}" text-anchor="middle">{caption}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _dot(x: float, y: float) -> str:
    return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _range(gaps: Sequence[float]) -> tuple[float, float]:
    low, high = min(gaps, default=0.0), max(gaps, default=1.0)
    return (low, high) if high > low else (low - 0.01, high + 0.01)


def _shift(item: str) -> float:
    """Spread dots over their row, by the item's hash."""
    return (int(digest(item)[:4], 16) / 0xFFFF - 0.5) * _JITTER

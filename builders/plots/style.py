"""Colours and fonts of plots. Pure, and without the plotting library.

A plot is drawn in the light colours. A style sheet turns each into its dark twin where the reader prefers
dark, so that one file serves both.
"""

from __future__ import annotations

import re
from typing import Any

GROUND, INK, SOFT, LINE = "#ffffff", "#1d1c1a", "#5b5852", "#d9d5cc"
NONE = "#c9c5bc"
"""Of the part of a bar that stands for nothing."""
SERIES = ("#0072b2", "#c04a00", "#007a5a", "#a5487f", "#8a6500", "#4d5560")
"""Okabe and Ito's colours for colour-blind readers, darkened to a contrast of 3 and more on the ground."""
MARKERS = ("o", "s", "^", "D", "v", "P")
"""One a series, so that no reader needs the colours."""
RAMP = ("#a9cfe8", "#74b0d9", "#3f8fc4", "#0f6aa5", "#084772")
"""From little to much."""

DARK: dict[str, str] = {
    GROUND: "#1d2023",
    INK: "#e9e6df",
    SOFT: "#a9a59c",
    LINE: "#3a3e42",
    NONE: "#565b60",
    **dict(
        zip(SERIES, ("#5bb8f0", "#ff9d6e", "#3fd0a4", "#eaa6cf", "#e3bd5c", "#b8c0ca"), strict=True),
    ),
    **dict(zip(RAMP, ("#17405a", "#1f608a", "#3387bd", "#6ab4e4", "#b5dcf5"), strict=True)),
}
"""The dark twin of each colour."""

FONTS = "system-ui, -apple-system, 'Segoe UI', sans-serif"
FONT_SIZE = 12.5
WIDTH = 420.0
"""Of every plot, in its own units: a phone shrinks it by a quarter, a wide page enlarges it by a fifth."""
SALT = "mteb-de"
FOLDER = "plots"
_PATH = re.compile(rf"{FOLDER}/[a-z0-9][a-z0-9-]{{0,60}}\.svg")

SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": SALT,
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": FONT_SIZE,
    "axes.titlesize": FONT_SIZE,
    "axes.titlelocation": "left",
    "axes.labelsize": FONT_SIZE,
    "xtick.labelsize": 11.5,
    "ytick.labelsize": 11.5,
    "legend.fontsize": 11.5,
    "legend.frameon": False,
    "figure.facecolor": GROUND,
    "figure.edgecolor": GROUND,
    "figure.dpi": 72.0,
    "savefig.dpi": 72.0,
    "axes.facecolor": "none",
    "axes.edgecolor": LINE,
    "axes.labelcolor": SOFT,
    "axes.titlecolor": INK,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": SOFT,
    "ytick.labelcolor": INK,
    "figure.constrained_layout.h_pad": 0.08,
    "figure.constrained_layout.w_pad": 0.08,
}
"""Settings of the plotting library, on top of its defaults: a reader's own settings change nothing."""


def plot_path(name: str) -> str:
    """Return where a release keeps a plot of its card."""
    return f"{FOLDER}/{name}.svg"


def is_plot(path: str) -> bool:
    """Whether a path in a release is that of a plot of its card."""
    return _PATH.fullmatch(path) is not None


def style_sheet() -> str:
    """Return the CSS rules that turn every plot's colours into their dark twins where dark is preferred."""
    rules = "".join(
        f'.plot [{what}="{light}"]{{{what}:{dark}}}'
        for light, dark in DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{rules}}}"

"""Matplotlib figures as SVG files: text stays text, and equal figures give equal bytes.

A plot is drawn in the light colours; rules inside the file turn each into its dark twin.
"""

import io
import re
import warnings
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, TypeAlias

from builders.printable import one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure as _Figure

Figure: TypeAlias = "_Figure"
GROUND, INK, SOFT, LINE = "#ffffff", "#1d1c1a", "#5b5852", "#d9d5cc"
NONE = "#c9c5bc"
"""Part of a bar that stands for nothing."""
SERIES = ("#0072b2", "#c04a00", "#007a5a", "#a5487f", "#8a6500", "#4d5560")
"""Okabe and Ito's colours for colour-blind readers, darkened to a contrast of 3 and more on the ground."""
RAMP = ("#a9cfe8", "#74b0d9", "#3f8fc4", "#0f6aa5", "#084772")
"""From little to much."""
_DARK: dict[str, str] = {
    GROUND: "#1d2023",
    INK: "#e9e6df",
    SOFT: "#a9a59c",
    LINE: "#3a3e42",
    NONE: "#565b60",
    **dict(zip(SERIES, ("#5bb8f0", "#ff9d6e", "#3fd0a4", "#eaa6cf", "#e3bd5c", "#b8c0ca"), strict=True)),
    **dict(zip(RAMP, ("#17405a", "#1f608a", "#3387bd", "#6ab4e4", "#b5dcf5"), strict=True)),
}
"""Dark twin of each colour."""
_FONTS = "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif!important}"
_LIBRARY_RULE = "*{stroke-linejoin: round; stroke-linecap: butt}"
_PATH = re.compile(r"plots/[a-z0-9][a-z0-9-]{0,60}\.svg")


def svg(draw: Callable[[], Figure], *, title: str) -> bytes:
    """Draw a figure under the project's style and return it as a file; `title` is for who sees no picture."""
    import matplotlib.style

    written = io.BytesIO()
    metadata = {"Date": None, "Creator": None, "Title": one_line(title)}
    style = str(resources.files("builders.plots") / "plots.mplstyle")
    with matplotlib.style.context(style, after_reset=True), warnings.catch_warnings():
        # the reader's own fonts show it: text stays text
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        draw().savefig(written, format="svg", metadata=metadata)
    own = f"{_LIBRARY_RULE}{_FONTS}{_dark_rules()}"
    return written.getvalue().replace(_LIBRARY_RULE.encode(), own.encode(), 1)


def plot_path(name: str) -> str:
    """Return where a release keeps a plot of its card."""
    return f"plots/{name}.svg"


def is_plot(path: str) -> bool:
    """Whether a path in a release is that of a plot of its card."""
    return _PATH.fullmatch(path) is not None


def _dark_rules() -> str:
    rules = "".join(
        f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
        for light, dark in _DARK.items()
        for what in ("fill", "stroke")
    )
    return f"@media (prefers-color-scheme:dark){{{rules}}}"

"""From a figure of the plotting library to SVG that is small, deterministic, accessible and without styles.

The library writes styles into attributes, which a strict content-security policy refuses, dates, random ids
and more digits than a screen has. What is written here holds presentation attributes only.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from builders.plots.style import FONTS, SETTINGS, style_sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DECIMAL = re.compile(r"-?[0-9]{1,12}\.[0-9]{1,20}")
_REFERENCE = re.compile(r"url\(#([A-Za-z0-9_-]{1,60})\)")
_SIZE = re.compile(r"([0-9]{1,3}(?:\.[0-9]{1,6})?)px")
_NUMERIC = {"d", "x", "y", "width", "height", "transform", "points", "viewBox"}
_DEFAULTS = {"opacity": "1", "stroke-dasharray": "none", "stroke-dashoffset": "0"}
_ENLARGED = 1.35
"""A file is shown at its own size, where a page makes its plots as large as it likes."""


def svg(draw: Callable[[], Figure], *, name: str, title: str) -> bytes:
    """Draw a figure and return it as a file.

    Args:
        draw: Makes the figure; it runs under the project's settings.
        name: Unique among the plots of a page, of letters, digits and hyphens.
        title: What a reader who sees no picture is told.

    Returns:
        UTF-8; the same figure gives the same bytes on every day and under every hash seed.
    """
    root = _element(draw, name, title)
    style = ET.Element("style")
    style.text = style_sheet()
    root.insert(1, style)
    for side in ("width", "height"):
        root.set(side, f"{float(root.get(side, '0')) * _ENLARGED:.0f}")
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + _text(root).encode() + b"\n"


def inline(draw: Callable[[], Figure], *, name: str, title: str) -> str:
    """Draw a figure and return it as part of a page whose style sheet holds `style_sheet`.

    Args:
        draw: As for `svg`.
        name: As for `svg`.
        title: As for `svg`.
    """
    return _text(_element(draw, name, title))


def _element(draw: Callable[[], Figure], name: str, title: str) -> ET.Element:
    root = ET.fromstring(_drawn(draw))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
    _drop(root, {"metadata", "style"})
    for element in root.iter():
        _tidy(element)
    for path in root.iterfind(".//defs/path"):
        path.attrib.pop("stroke", None)  # a copy takes its colours from the element that places it
    _rename(root, name)
    _drop_empty(root)
    _head(root, name, title)
    return root


def _drawn(draw: Callable[[], Figure]) -> bytes:
    import matplotlib as mpl

    written = io.BytesIO()
    with mpl.rc_context(), warnings.catch_warnings():
        mpl.rcdefaults()
        mpl.rcParams.update(cast("Any", SETTINGS))  # the library types each key by itself
        # the reader's own fonts show it: text stays text
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        draw().savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _tidy(element: ET.Element) -> None:
    for entry in element.attrib.pop("style", "").split(";"):
        key, _, value = (part.strip() for part in entry.partition(":"))
        if key == "font":
            element.set("font-size", match[1] if (match := _SIZE.search(value)) else value)
        elif key and _DEFAULTS.get(key) != value:
            element.set(key, value)
    for key in _NUMERIC & element.attrib.keys():
        rounded = _DECIMAL.sub(
            lambda match: f"{float(match[0]):.2f}".rstrip("0").rstrip("."), element.get(key, "")
        )
        element.set(key, " ".join(rounded.split()))
    if element.get("type") == "text/css":
        del element.attrib["type"]
    if element.tag not in {"text", "tspan", "title"}:
        element.text = None
    element.tail = None


def _rename(root: ET.Element, name: str) -> None:
    """Keep the ids that something refers to, numbered; the library's own would clash in a page."""
    used: dict[str, str] = {}
    for element in root.iter():
        for key, value in element.attrib.items():
            found = value[1:] if key == "href" and value.startswith("#") else ""
            if match := _REFERENCE.fullmatch(value):
                found = match[1]
            if found:
                new = used.setdefault(found, f"{name}-{len(used)}")
                element.set(key, f"#{new}" if key == "href" else f"url(#{new})")
    for element in root.iter():
        if (old := element.attrib.pop("id", None)) in used:
            element.set("id", used[old])


def _drop(root: ET.Element, tags: set[str]) -> None:
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in tags]:
            parent.remove(child)


def _drop_empty(root: ET.Element) -> None:
    """Remove groups that hold nothing, and replace those that say nothing by what they hold."""
    for child in list(root):
        _drop_empty(child)
        place = list(root).index(child)
        if child.tag in {"g", "defs"} and not len(child):
            root.remove(child)
        elif child.tag == "g" and not child.attrib:
            root.remove(child)
            for offset, grandchild in enumerate(list(child)):
                root.insert(place + offset, grandchild)


def _head(root: ET.Element, name: str, title: str) -> None:
    _, _, width, height = root.get("viewBox", "0 0 0 0").split()
    box = root.get("viewBox", "")
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "class": "plot",
        "viewBox": box,
        "width": width,
        "height": height,
        "role": "img",
        "aria-labelledby": f"{name}-title",
        "font-family": FONTS,
        "stroke-linejoin": "round",
    }
    told = ET.Element("title", {"id": f"{name}-title"})
    told.text = title
    root.insert(0, told)


def _text(root: ET.Element) -> str:
    return ET.tostring(root, encoding="unicode")

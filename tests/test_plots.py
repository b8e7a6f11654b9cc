import itertools
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.plots import charts
from builders.plots import svg as style
from builders.plots.svg import is_plot, plot_path, svg
from builders.printable import label

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "Käse" $x^2$ \\frac \x00\x07‮ 😀'
DOTS = [
    charts.Dot("Garten", "nDCG@10", 0.25, 0.2, 0.3),
    charts.Dot("Garten", "MRR@10", 0.75),
    charts.Dot("Garten", "nDCG@10", 0.5, published=True),
]
CHARTS: dict[str, Callable[[], "Figure"]] = {
    "dots": partial(charts.dots, DOTS, across="score"),
    "stacked": partial(charts.stacked, {"a": [1, 2, 1], "b": [4, 0, 0]}, list("012"), across="queries"),
    "funnel": partial(charts.stacked, {"a": [1, 2, 1]}, list("xyz"), across="rows", ramp=False),
    "scatter": partial(
        charts.scatter,
        [
            charts.Panel("texts", {"fein": [(10.0, 0.2), (2000.0, 0.4)], "grob": [(30.0, 0.5)]}, log=True),
            charts.Panel("labels", {"fein": [(3.0, 0.2), (3.0, 0.4)]}, curve=[(2, 0.5), (3, 0.3)]),
        ],
        up="V-measure",
    ),
    "lines": partial(
        charts.scatter, [charts.Panel("length", {"x": [(1.0, 0.1), (5.0, 0.9)]})], up="nDCG@10", lines=True
    ),
    "bars": partial(charts.bars, {"a": [0.5, 0.5], "b": [1, 0]}, list("01"), across="x", up="share"),
    "many": partial(charts.bars, {"a": [1 / 30] * 30}, [str(n) for n in range(30)], across="c", up="share"),
    "histograms": partial(
        charts.histograms,
        {"A": ([0.5, 1, 2, 3], [0.1, 0.4, 0.5]), "B": ([5000, 6300], [1.0])},
        step=2,
        across="c",
        up="share",
    ),
    "strips": partial(charts.strips, {"relevant": [0.01, 0.2], "unsure": []}, across="cosine"),
}  # fmt: skip


def drawn(name: str) -> ET.Element:
    return ET.fromstring(svg(CHARTS[name], title="Ein Bild"))


def texts(root: ET.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    return float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722]))


def linear(colour: str) -> np.ndarray:
    values = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def styles(root: ET.Element) -> list[dict[str, str]]:
    """The style of every element, as values by property."""
    entries = (element.get("style", "").split(";") for element in root.iter())
    return [dict(entry.strip().split(": ", 1) for entry in of if ": " in entry) for of in entries]


@pytest.mark.parametrize("name", CHARTS)
def test_a_plot_holds_nothing_but_drawing(name: str) -> None:
    data = svg(CHARTS[name], title="Ein <Bild>\x00")
    root = ET.fromstring(data)

    assert len(data) < 40_000
    tags = {element.tag for element in root.iter() if element.tag.startswith(SVG)}
    drawing = {"svg", "title", "metadata", "style", "g", "defs", "path", "use", "clipPath", "rect", "text"}
    assert {tag.removeprefix(SVG) for tag in tags} <= drawing
    assert root.findtext(f"{SVG}title") == "Ein <Bild>"
    for element in root.iter():
        links = [value for key, value in element.attrib.items() if key.endswith("href")]
        assert all(link.startswith("#") for link in links)


@pytest.mark.parametrize("name", CHARTS)
def test_every_colour_has_a_dark_twin(name: str) -> None:
    root = drawn(name)
    rules = "".join(element.text or "" for element in root.iter(f"{SVG}style"))
    used = {
        (key, value)
        for entries in styles(root)
        for key in ("fill", "stroke")
        if (value := entries.get(key)) not in {None, "none"}
    }
    assert ("fill", style.GROUND) in used
    for key, light in used:
        assert f'[style*="{key}: {light}"]{{{key}:{style._DARK[str(light)]}!important}}' in rules


def test_colours_stand_out_in_light_and_dark() -> None:
    for text in (style.INK, style.SOFT):
        assert contrast(text, style.GROUND) >= 4.5
        assert contrast(style._DARK[text], style._DARK[style.GROUND]) >= 4.5
    for colour in style.SERIES:
        assert contrast(colour, style.GROUND) >= 3
        assert contrast(style._DARK[colour], style._DARK[style.GROUND]) >= 3
    for ramp in (style.RAMP, [style._DARK[colour] for colour in style.RAMP]):
        steps = [luminance(colour) for colour in ramp]
        assert steps in (sorted(steps), sorted(steps, reverse=True))
    assert len(set(style._DARK.values())) == len(style._DARK)
    assert len({tuple(charts._mark(n).values()) for n in range(36)}) == 36


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([[0.1124, 0.8876, 0], [0.1124, 0.8876, 0], [0.004, -0.004, 1]], id="no red cones"),
        pytest.param([[0.2928, 0.7072, 0], [0.2928, 0.7072, 0], [-0.0223, 0.0223, 1]], id="no green cones"),
    ],
)
def test_the_first_series_differ_for_colour_blind_readers(dark: bool, seen: list[list[float]]) -> None:
    """After Viénot, Brettel and Mollon 1999; distances in linear light under a cube root."""
    colours = [style._DARK[colour] if dark else colour for colour in style.SERIES[:3]]
    places = [np.cbrt(np.clip(np.array(seen) @ linear(colour), 0, 1)) for colour in colours]

    for one, other in itertools.combinations(places, 2):
        assert float(np.linalg.norm(one - other)) > 0.1


def test_hostile_labels_are_text_and_nothing_else() -> None:
    values = [charts.Dot(HOSTILE, HOSTILE, 0.5), charts.Dot("b", "c", 0.5)]
    data = svg(partial(charts.dots, values, across=HOSTILE), title=HOSTILE)
    root = ET.fromstring(data)

    assert b"<script" not in data
    assert label(HOSTILE) in texts(root)
    assert label(HOSTILE, 26) in texts(root)
    assert "$x^2$" in "".join(texts(root))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4, unique_by=label))
def test_any_text_can_be_a_label(names: list[str]) -> None:
    values = [charts.Dot(name, "s", 0.5) for name in names]
    root = ET.fromstring(svg(partial(charts.dots, values, across="x"), title="t"))
    assert {label(name, 26) for name in names if label(name)} <= set(texts(root))


def test_dots_stand_where_their_values_are() -> None:
    root = drawn("dots")
    ticks = {e.text: float(e.get("x", "nan")) for e in root.iter(f"{SVG}text") if e.text in {"0.0", "1.0"}}
    places: dict[str, float] = {}
    for use in root.iter(f"{SVG}use"):  # those of the legend come last
        colour = re.search(r"fill: (#\w+)", use.get("style", ""))
        places.setdefault(colour[1] if colour else "", float(use.get("x", "nan")))
    expected = {style.SERIES[0]: 0.25, style.SERIES[1]: 0.75, style.GROUND: 0.5}
    for shade, value in expected.items():
        where = ticks["0.0"] + value * (ticks["1.0"] - ticks["0.0"])
        assert places[shade] == pytest.approx(where, abs=0.5), value


def filled(root: ET.Element, colour: str) -> list[list[float]]:
    """The coordinates of every clipped path in a colour: x and y in turn."""
    return [
        [float(value) for value in re.findall(r"-?[\d.]+", path.get("d", ""))]
        for path in root.iter(f"{SVG}path")
        if f"fill: {colour}" in path.get("style", "") and path.get("clip-path")
    ]


def test_parts_of_a_bar_are_as_wide_as_their_shares() -> None:
    root = drawn("stacked")
    widths = {
        colour: [max(corner[0::2]) - min(corner[0::2]) for corner in filled(root, colour)]
        for colour in (style.NONE, *style.RAMP)
    }
    whole = widths[style.NONE][1]
    assert widths[style.NONE][0] == pytest.approx(whole / 4, rel=0.01)
    assert widths[style.RAMP[0]][0] == pytest.approx(whole / 2, rel=0.01)
    assert widths[style.RAMP[1]][0] == pytest.approx(whole / 4, rel=0.01)


def test_a_histogram_has_no_spike_where_bands_are_uneven() -> None:
    """Lengths spread evenly over the axis give bars of one height, however wide their bands are."""
    edges = [10, 13, 16, 20, 30, 40, 80]
    shares = [math.log(end / begin) / math.log(8) for begin, end in itertools.pairwise(edges)]
    draw = partial(charts.histograms, {"t": (edges, shares)}, step=2, across="x", up="share")
    corners = filled(ET.fromstring(svg(draw, title="t")), style.SERIES[0])
    heights = [max(corner[1::2]) - min(corner[1::2]) for corner in corners]
    widths = [max(corner[0::2]) - min(corner[0::2]) for corner in corners]

    assert len(heights) == len(shares)
    assert heights == pytest.approx([heights[0]] * len(shares), abs=0.05)
    scaled = [width / share for width, share in zip(widths, shares, strict=True)]
    assert scaled == pytest.approx([scaled[0]] * len(shares), rel=0.01)


def test_the_height_of_a_bar_is_what_its_axis_says() -> None:
    """A third in a step and a half more stands at two ninths for each step."""
    from matplotlib.patches import Rectangle

    figure = charts.histograms(
        {"t": ([10, 10 * 2**1.5, 10 * 2**3.5], [1 / 3, 2 / 3])}, step=2, across="x", up="share"
    )
    heights = [patch.get_height() for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    assert heights == pytest.approx([2 / 9, 1 / 3])


@pytest.mark.parametrize(("value", "told"), [(0.075, "7.5 %"), (0.15000000000000002, "15 %"), (0.0, "0 %")])
def test_a_tick_says_the_share_that_it_stands_for(value: float, told: str) -> None:
    assert charts._percent(value, 0) == told


@given(st.floats(1, 1e5), st.floats(1, 1e4))
def test_labels_of_an_axis_by_ratio_never_meet_and_never_lack(low: float, ratio: float) -> None:
    ticks = charts._log_ticks(low, low * ratio)

    assert len(ticks) > 1 or ratio == 1
    for one, other in itertools.pairwise(ticks):
        characters = len(f"{one:,.0f}{other:,.0f}") / 2
        assert math.log(other / one) / math.log(ratio) * 340 > characters * 6


def test_a_legend_names_every_series() -> None:
    values = [charts.Dot("a", name, 0.5) for name in ("_eins", "zwei")]
    found = texts(ET.fromstring(svg(partial(charts.dots, values, across="x"), title="t")))
    assert {"eins", "zwei"} <= set(found)


@pytest.mark.long
def test_neither_date_hash_seed_nor_own_settings_change_a_byte(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "lines.markeredgewidth: 5\naxes.linewidth: 4\nsvg.fonttype: path\n", "utf-8"
    )
    script = (
        "import sys; from tests.test_plots import CHARTS; from builders.plots.svg import svg;"
        "sys.stdout.buffer.write(b''.join(svg(draw, title='t') for draw in CHARTS.values()))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": date} | own,
            cwd=Path(__file__).parents[1],
            capture_output=True,
            check=True,
        ).stdout
        for seed, date, own in (("1", "0", {}), ("2", "1700000000", {"MATPLOTLIBRC": str(tmp_path)}))
    }
    assert len(found) == 1
    assert found == {b"".join(svg(draw, title="t") for draw in CHARTS.values())}


def test_the_plotting_library_is_loaded_late() -> None:
    script = (
        "import sys, builders.plots.charts, builders.plots.svg, builders.describe.plots; "
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_paths_of_plots() -> None:
    assert is_plot(plot_path("hard-negatives"))
    for path in (
        "plots/x.png",
        "plots/../x.svg",
        "plots/a/b.svg",
        "x.svg",
        "plots/.svg",
        "plots/A.svg",
        "plots/a.svg\n",
    ):
        assert not is_plot(path), path

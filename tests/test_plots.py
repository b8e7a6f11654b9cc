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

from builders.plots import charts, style
from builders.plots.layout import count_axis, figure_of, percent
from builders.plots.style import is_plot, plot_path, style_sheet
from builders.plots.svg import inline, svg
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
    "bars": partial(charts.bars, charts.Bars("x", list("01"), {"a": [0.5, 0.5], "b": [1, 0]}), up="share"),
    "many": partial(
        charts.bars, charts.Bars("c", [str(n) for n in range(30)], {"a": [1 / 30] * 30}), up="share"
    ),
    "histograms": partial(
        charts.histograms,
        [
            charts.Histogram("c", [(0.5, 1, 0.1), (1, 2, 0.4), (2, 3, 0.5)], "A"),
            charts.Histogram("c", [(5000, 6300, 1.0)], "B"),
        ],
        step=2,
        up="share",
    ),
}  # fmt: skip


def drawn(name: str) -> ET.Element:
    return ET.fromstring(svg(CHARTS[name], name=name, title="Ein Bild"))


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


@pytest.mark.parametrize("name", CHARTS)
def test_a_plot_holds_nothing_but_drawing(name: str) -> None:
    data = svg(CHARTS[name], name=name, title="Ein <Bild>")
    root = ET.fromstring(data)

    assert len(data) < 25_000
    tags = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert tags <= {"svg", "title", "style", "g", "defs", "path", "use", "clipPath", "rect", "text"}
    assert not [element for element in root.iter() if "style" in element.attrib]
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "Ein <Bild>"
    assert root.get("aria-labelledby") == f"{name}-title"


@pytest.mark.parametrize("name", CHARTS)
def test_ids_belong_to_the_plot_and_are_all_referred_to(name: str) -> None:
    data = svg(CHARTS[name], name=name, title="Bild").decode()
    ids = re.findall(r' id="([^"]+)"', data)
    used = re.findall(r'(?:href="#|url\(#)([^")]+)|aria-labelledby="([^"]+)"', data)

    assert len(ids) == len(set(ids))
    assert set(ids) == {one or other for one, other in used}
    assert all(one.startswith(f"{name}-") for one in ids)


@pytest.mark.parametrize("name", CHARTS)
def test_every_colour_has_a_dark_twin(name: str) -> None:
    used = {
        value
        for element in drawn(name).iter()
        for key in ("fill", "stroke")
        if (value := element.get(key)) not in {None, "none"}
    }
    assert used <= style.DARK.keys()
    assert style.GROUND in used
    for light in used:
        assert f'[fill="{light}"]{{fill:{style.DARK[str(light)]}}}' in style_sheet()
        assert f'[stroke="{light}"]{{stroke:{style.DARK[str(light)]}}}' in style_sheet()


def test_a_marker_takes_its_colours_where_it_is_placed() -> None:
    """Rules on ancestors do not reach the copies of a marker, so a colour of its own would stay light."""
    root = drawn("dots")
    markers = [path for defs in root.iter(f"{SVG}defs") for path in defs.iter(f"{SVG}path")]
    assert markers
    assert not [path for path in markers if {"fill", "stroke"} & path.attrib.keys()]
    assert all({"fill", "stroke"} <= use.attrib.keys() for use in root.iter(f"{SVG}use"))


def test_colours_stand_out_in_light_and_dark() -> None:
    for text in (style.INK, style.SOFT):
        assert contrast(text, style.GROUND) >= 4.5
        assert contrast(style.DARK[text], style.DARK[style.GROUND]) >= 4.5
    for colour in style.SERIES:
        assert contrast(colour, style.GROUND) >= 3
        assert contrast(style.DARK[colour], style.DARK[style.GROUND]) >= 3
    for ramp in (style.RAMP, [style.DARK[colour] for colour in style.RAMP]):
        steps = [luminance(colour) for colour in ramp]
        assert steps in (sorted(steps), sorted(steps, reverse=True))
    assert len(set(style.DARK.values())) == len(style.DARK)
    assert len(set(style.MARKERS)) == len(style.SERIES)


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
    colours = [style.DARK[colour] if dark else colour for colour in style.SERIES[:3]]
    places = [np.cbrt(np.clip(np.array(seen) @ linear(colour), 0, 1)) for colour in colours]

    for one, other in itertools.combinations(places, 2):
        assert float(np.linalg.norm(one - other)) > 0.1


def test_hostile_labels_are_text_and_nothing_else() -> None:
    values = [charts.Dot(HOSTILE, HOSTILE, 0.5), charts.Dot("b", "c", 0.5)]
    data = svg(partial(charts.dots, values, across=HOSTILE), name="x", title=HOSTILE.replace("\x00\x07", ""))
    root = ET.fromstring(data)

    assert b"<script" not in data
    assert label(HOSTILE) in texts(root)
    assert label(HOSTILE, 26) in texts(root)
    assert "$x^2$" in "".join(texts(root))


@settings(max_examples=15, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=4, unique_by=label))
def test_any_text_can_be_a_label(names: list[str]) -> None:
    values = [charts.Dot(name, "s", 0.5) for name in names]
    root = ET.fromstring(svg(partial(charts.dots, values, across="x"), name="x", title="t"))
    assert {label(name, 26) for name in names if label(name)} <= set(texts(root))


def test_dots_stand_where_their_values_are() -> None:
    root = drawn("dots")
    ticks = {e.text: float(e.get("x", "nan")) for e in root.iter(f"{SVG}text") if e.text in {"0.0", "1.0"}}
    places: dict[str, float] = {}
    for use in root.iter(f"{SVG}use"):  # those of the legend come last
        places.setdefault(use.get("fill", ""), float(use.get("x", "nan")))
    expected = {style.SERIES[0]: 0.25, style.SERIES[1]: 0.75, style.GROUND: 0.5}
    for colour, value in expected.items():
        where = ticks["0.0"] + value * (ticks["1.0"] - ticks["0.0"])
        assert places[colour] == pytest.approx(where, abs=0.5), value


def test_parts_of_a_bar_are_as_wide_as_their_shares() -> None:
    widths: dict[str, list[float]] = {}
    for path in drawn("stacked").iter(f"{SVG}path"):
        if path.get("fill") in {style.NONE, *style.RAMP} and path.get("clip-path"):
            corners = [float(x) for x in re.findall(r"[ML] (-?[\d.]+) ", path.get("d", ""))]
            widths.setdefault(str(path.get("fill")), []).append(max(corners) - min(corners))

    whole = widths[style.NONE][1]
    assert widths[style.NONE][0] == pytest.approx(whole / 4, rel=0.01)
    assert widths[style.RAMP[0]][0] == pytest.approx(whole / 2, rel=0.01)
    assert widths[style.RAMP[1]][0] == pytest.approx(whole / 4, rel=0.01)


def test_a_histogram_has_no_spike_where_bands_are_uneven() -> None:
    """Lengths spread evenly over the axis give bars of one height, however wide their bands are."""
    edges = [10, 13, 16, 20, 30, 40, 80]
    shares = [math.log(end / begin) / math.log(8) for begin, end in itertools.pairwise(edges)]
    bands = [(*ends, share) for ends, share in zip(itertools.pairwise(edges), shares, strict=True)]
    draw = partial(charts.histograms, [charts.Histogram("x", bands, "t")], step=2, up="share")
    root = ET.fromstring(svg(draw, name="x", title="t"))
    corners = [
        [float(value) for value in re.findall(r"-?[\d.]+", path.get("d", ""))]
        for path in root.iter(f"{SVG}path")
        if path.get("fill") == style.SERIES[0]
    ]
    heights = [max(corner[1::2]) - min(corner[1::2]) for corner in corners]
    widths = [max(corner[0::2]) - min(corner[0::2]) for corner in corners]

    assert len(heights) == len(bands)
    assert heights == pytest.approx([heights[0]] * len(bands), abs=0.05)
    scaled = [width / share for width, share in zip(widths, shares, strict=True)]
    assert scaled == pytest.approx([scaled[0]] * len(bands), rel=0.01)


def test_the_height_of_a_bar_is_what_its_axis_says() -> None:
    """A third in a step and a half more stands at two ninths for each step."""
    bands = [(10, 10 * 2**1.5, 1 / 3), (10 * 2**1.5, 10 * 2**3.5, 2 / 3)]
    from matplotlib.patches import Rectangle

    figure = charts.histograms([charts.Histogram("x", bands, "t")], step=2, up="share")
    heights = [patch.get_height() for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]
    assert heights == pytest.approx([2 / 9, 1 / 3])


@pytest.mark.parametrize(("value", "told"), [(0.075, "7.5 %"), (0.15000000000000002, "15 %"), (0.0, "0 %")])
def test_a_tick_says_the_share_that_it_stands_for(value: float, told: str) -> None:
    assert percent(value, 0) == told


@given(st.floats(1, 1e5), st.floats(1, 1e4))
def test_labels_of_an_axis_by_ratio_never_meet_and_never_lack(low: float, ratio: float) -> None:
    axes = figure_of(100).subplots()
    count_axis(axes, [low, low * ratio], by_ratio=True)
    ticks = [float(tick) for tick in axes.xaxis.get_majorticklocs()]

    assert len(ticks) > 1 or ratio == 1
    for one, other in itertools.pairwise(ticks):
        characters = len(f"{one:,.0f}{other:,.0f}") / 2
        assert math.log(other / one) / math.log(ratio) * 340 > characters * 6


def test_a_legend_names_every_series() -> None:
    values = [charts.Dot("a", name, 0.5) for name in ("_eins", "zwei")]
    found = texts(ET.fromstring(svg(partial(charts.dots, values, across="x"), name="x", title="t")))
    assert {"eins", "zwei"} <= set(found)


def test_a_part_of_a_page_has_no_style_of_its_own() -> None:
    text = inline(CHARTS["bars"], name="bars", title="Bild")
    assert text.startswith("<svg ")
    assert "<style" not in text
    assert "style=" not in text


def test_neither_date_hash_seed_nor_own_settings_change_a_byte(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(
        "lines.markeredgewidth: 5\naxes.linewidth: 4\nsvg.fonttype: path\n", "utf-8"
    )
    script = (
        "import sys; from tests.test_plots import CHARTS; from builders.plots.svg import svg;"
        "sys.stdout.buffer.write(b''.join(svg(draw, name=name, title='t') for name, draw in CHARTS.items()))"
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
    assert found == {b"".join(svg(draw, name=name, title="t") for name, draw in CHARTS.items())}


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

"""The report in real Chromium: light, dark and on a phone; nothing is loaded, nothing breaks out."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from PIL import Image

from builders.evaluation.report import write_report
from builders.evaluation.results import Score
from tests.audit.browser import Watched, launched
from tests.evaluation.report_kit import E5, compared, content, retrieval
from tests.marks import long_after

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(content(), tmp_path_factory.mktemp("report"))[1]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with every metric that there is, and a long reason."""
    names = ("ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100", "r_precision", "core_ndcg_at_10")
    scores = {name: Score(value=0.5, low=0.4444, high=0.5555) for name in names}
    results = (retrieval(E5, 0.5).model_copy(update={"scores": scores}),)
    near = compared().model_copy(update={"verdict": "not comparable", "why": "another revision of the model"})
    made = replace(content(), results=results, compared=(near,))
    return write_report(made, tmp_path_factory.mktemp("wide"))[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390])
def test_the_report_reads_well(
    browser: Browser, page: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    watched = Watched(browser, scheme=scheme, width=width)
    opened = watched.open(page)

    assert opened.evaluate("document.documentElement.scrollWidth") == width, "the page scrolls sideways"
    widths = opened.evaluate("[...document.images].map(plot => plot.naturalWidth && plot.clientWidth)")
    assert len(widths) == 10 and min(widths) > 250
    image = Image.open(io.BytesIO(opened.locator("img.plot").first.screenshot())).convert("RGB")
    shades = {colour for _, colour in image.getcolors(maxcolors=100_000) or []}
    assert image.getpixel((2, 2)) == {"light": (255, 255, 255), "dark": (29, 32, 35)}[scheme]
    assert {"light": (0x00, 0x72, 0xB2), "dark": (0x5B, 0xB8, 0xF0)}[scheme] in shades, "a marker's colour"
    opened.click("summary >> nth=0")
    assert opened.evaluate("document.querySelector('details').open")
    assert opened.evaluate("window.hacked") is None
    assert watched.faults == []
    assert watched.requests == [page.as_uri()]
    watched.context.close()


def test_no_label_of_a_plot_is_cut_off(browser: Browser, page: Path) -> None:
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', page.read_text(encoding="utf-8"))
    tab = browser.new_page()
    tab.set_content("".join(base64.b64decode(plot).decode().partition('dtd">')[2] for plot in found))
    inside = """[...document.querySelectorAll('svg')].map(plot => {
        const box = plot.getBoundingClientRect();
        return [...plot.querySelectorAll('text')].every(text => {
            const own = text.getBoundingClientRect();
            return own.left >= box.left - 1 && own.right <= box.right + 1
                && own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
        });
    })"""
    assert tab.evaluate(inside) == [True] * 10
    tab.close()


def test_a_wide_table_shows_all_and_a_narrow_one_stands_beside_its_plot(browser: Browser, wide: Path) -> None:
    """The page makes use of its width: what fits is not hidden, and what is short is not stacked."""
    watched = Watched(browser, width=1100)
    opened = watched.open(wide)
    hidden = """[...document.querySelectorAll('#retrieval-scores .scroll, #beside-published-scores .scroll')]
        .filter(box => box.offsetParent && box.scrollWidth > box.clientWidth).length"""
    beside = """id => { const part = document.querySelector(`#${id} article:last-of-type`);
        const place = one => part.querySelector(one).getBoundingClientRect();
        const [plot, table] = [place('figure'), place('.scroll')];
        return table.left > plot.right && table.top < plot.bottom; }"""
    columns = opened.evaluate("document.querySelectorAll('#retrieval-scores th').length")
    shown = (opened.evaluate(hidden), opened.evaluate(beside, "overlap-of-queries-and-corpus"))
    below = opened.evaluate(beside, "retrieval-scores")
    watched.context.close()

    assert columns == 9
    assert shown == (0, True)
    assert below is False


@pytest.mark.parametrize("scheme", long_after(1, ["light", "dark"]))
def test_axe_finds_nothing_serious(browser: Browser, page: Path, scheme: Literal["light", "dark"]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched = Watched(browser, scheme=scheme, width=390)
    opened = watched.open(page)
    found = Axe().run(opened, options={"resultTypes": ["violations"]}).response["violations"]
    watched.context.close()

    grave = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
    assert [(fault["id"], [node["html"][:120] for node in fault["nodes"]]) for fault in grave] == []

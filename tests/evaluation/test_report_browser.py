"""The report in real Chromium: light, dark and on a phone; nothing is loaded, nothing breaks out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from builders.evaluation.report import write_report
from tests.audit.browser import Watched, launched
from tests.evaluation.report_kit import content

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser]
GROUND = "getComputedStyle(document.querySelector('svg.plot path[fill=\"#ffffff\"]')).fill"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(content(), tmp_path_factory.mktemp("report"))[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1100, 390])
def test_the_report_reads_well(
    browser: Browser, page: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    watched = Watched(browser, scheme=scheme, width=width)
    opened = watched.open(page)

    assert opened.evaluate("document.documentElement.scrollWidth") == width, "the page scrolls sideways"
    assert opened.evaluate(GROUND) == {"light": "rgb(255, 255, 255)", "dark": "rgb(29, 32, 35)"}[scheme]
    inside = """[...document.querySelectorAll('svg.plot')].every(plot => {
        const box = plot.getBoundingClientRect();
        return box.width > 250 && [...plot.querySelectorAll('text')].every(text => {
            const own = text.getBoundingClientRect();
            return own.left >= box.left - 1 && own.right <= box.right + 1
                && own.top >= box.top - 1 && own.bottom <= box.bottom + 1;
        });
    })"""
    assert opened.evaluate(inside), "a label is cut off"
    opened.click("summary >> nth=0")
    assert opened.evaluate("document.querySelector('details').open")
    assert opened.evaluate("window.hacked") is None
    assert watched.faults == []
    assert watched.requests == [page.as_uri()]
    watched.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, page: Path, scheme: Literal["light", "dark"]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched = Watched(browser, scheme=scheme, width=390)
    opened = watched.open(page)
    found = Axe().run(opened, options={"resultTypes": ["violations"]}).response["violations"]
    watched.context.close()

    grave = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
    assert [(fault["id"], [node["html"][:120] for node in fault["nodes"]]) for fault in grave] == []

"""The page in real Chromium: judged by keyboard, reloaded, downloaded, imported, reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from builders.audit.draw import Wanted, Written, draw
from builders.audit.model import Verdict
from builders.audit.summary import write_report
from builders.audit.take import take
from tests.audit.browser import Watched, launched
from tests.audit.kit import HOSTILE, build, jobs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser]
VERDICTS = tuple(Verdict)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("place")
    build(place / "dist", hostile=True)
    return place


@pytest.fixture(scope="module")
def written(place: Path) -> Written:
    return draw(jobs(), Wanted(300, 60), dist=place / "dist", notes=place / "notes")


@pytest.fixture
def watched(browser: Browser, written: Written) -> Iterator[Watched]:
    watched = Watched(browser)
    watched.open(written.page)
    yield watched
    assert watched.faults == []
    assert all(url.startswith(("file:", "blob:")) for url in watched.requests)
    assert [url for url in watched.requests if url.startswith("file:")] == [written.page.as_uri()] * sum(
        url.startswith("file:") for url in watched.requests
    )
    assert watched.page.evaluate("window.hacked") is None
    watched.context.close()


def place_of(written: Written, text: str) -> int:
    """Which item's passage it is."""
    data = written.page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
    items = json.loads(data)["items"]
    return next(place for place, item in enumerate(items) if item["text"][:200] == text[:200])


def test_twenty_items_by_keyboard_then_reload_go_on_download_import_report(
    place: Path, written: Written, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    for number in range(10):
        assert watched.text("#position").startswith(f"Item {number + 1} of {len(written.sample.items)}")
        watched.press(str(number % 4 + 1))
    watched.press("k", "n")
    page.keyboard.type("fraglich: 1 2 j k")
    watched.press("Escape", "j")
    page.reload()
    assert watched.text("#position").startswith("Item 11 of")
    assert watched.text("#judged").startswith("10 of")
    for number in range(10, 20):
        watched.press(str(number % 4 + 1))
    page.click("#download")
    assert "Type your name first" in watched.text("#said")
    page.fill("#auditor", "  Anna   Groß ")
    with page.expect_download() as waiting:
        page.click("#download")
    file = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(file)
    assert file.name == f"jobs-{written.sample.head.sample}-anna-groß.verdicts.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["item"] for line in lines] == [item.item for item in written.sample.items[:20]]
    assert [line["verdict"] for line in lines] == [VERDICTS[number % 4] for number in range(20)]
    assert lines[9]["note"] == "fraglich: 1 2 j k"
    assert {line["auditor"] for line in lines} == {"Anna Groß"}
    notes, locks = tmp_path / "notes", tmp_path / "locks"
    (taken,) = take([file], dist=place / "dist", notes=notes, locks=locks)
    assert (taken.imported.read, taken.imported.judged) == (20, 20)
    reported = write_report([jobs()], notes=notes, locks=locks)
    assert "Anna Groß" in reported.path.read_text(encoding="utf-8")


def test_scores_are_hidden_until_the_pair_is_judged(watched: Watched) -> None:
    watched.page.uncheck("#advance")
    watched.page.focus("#query")
    assert watched.text("#told") == ""
    assert "below the positive" not in watched.text("body")
    watched.press("1")
    told = watched.text("#told")
    assert "hard negative of rank" in told or "labelled" in told
    watched.press("0")
    assert watched.text("#told") == ""
    assert watched.text("#judged").startswith("0 of")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_passages_are_shown_as_text(written: Written, watched: Watched, text: str) -> None:
    page = watched.page
    number = place_of(written, text)
    watched.press("l")
    page.click(f"#items li:nth-child({number + 1}) button")
    watched.press("h")
    if len(text) > 600:
        assert len(str(page.text_content("#text"))) < 700
        watched.press("f")
        assert "80,000 more characters" in str(page.text_content("#text"))
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    else:
        assert page.text_content("#text") == text
    assert page.evaluate("document.querySelectorAll('img, iframe, object, main svg').length") == 0
    watched.press("1")
    assert watched.text("#judged").startswith("1 of")


def test_the_policy_forbids_what_is_not_the_page(watched: Watched) -> None:
    refused = watched.page.evaluate(
        """async () => {
            const script = document.createElement("script");
            script.textContent = "window.hacked = 2";
            document.body.append(script);
            const image = document.createElement("img");
            image.src = "data:image/png;base64,AA==";
            document.body.append(image);
            let fetched = true;
            try { await fetch("data:text/plain,x"); } catch { fetched = false; }
            return [window.hacked, fetched];
        }"""
    )
    assert refused == [None, False]
    assert any("Content Security Policy" in fault for fault in watched.faults)
    watched.faults.clear()


def test_list_help_and_highlight_by_keyboard(watched: Watched) -> None:
    page = watched.page
    watched.press("2", "l", "j", "j", "Enter")
    assert watched.text("#position").startswith("Item 4 of")
    watched.press("?")
    assert page.is_visible("#help")
    watched.press("1", "Escape")
    assert not page.is_visible("#help")
    assert watched.text("#judged").startswith("1 of")
    watched.press("u")
    assert watched.text("#position").startswith("Item 5 of")
    assert page.evaluate("document.activeElement.id") == "query"


def test_a_browser_that_keeps_nothing_is_told(browser: Browser, written: Written) -> None:
    watched = Watched(browser)
    watched.page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    watched.open(written.page)
    watched.press("1")
    assert "does not keep anything" in watched.text("#warning")
    assert watched.text("#judged").startswith("1 of")
    watched.context.close()


def test_what_the_browser_kept_may_be_damaged(browser: Browser, written: Written) -> None:
    watched = Watched(browser)
    key = f"mteb-de-audit:{written.sample.head.sample}"
    watched.page.add_init_script(
        f'localStorage.setItem({json.dumps(key)}, \'{{"place": 1e9, "verdicts": 7\')'
    )
    watched.open(written.page)
    assert watched.text("#position").startswith("Item 1 of")
    assert watched.faults == []
    watched.context.close()


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1100), ("dark", 1100), ("light", 390), ("dark", 390)]
)
def test_axe_finds_no_serious_fault_and_nothing_runs_over_the_edge(
    browser: Browser, place: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched = Watched(browser, scheme=scheme, width=width)
    few = draw(jobs(), Wanted(12, 3), dist=place / "dist", notes=place / "notes")
    page = watched.open(few.page)
    watched.press("1")
    for keys in ((), ("h",), ("l",), ("l", "?")):
        watched.press(*keys)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        grave = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
        assert [(fault["id"], [node["html"][:120] for node in fault["nodes"]]) for fault in grave] == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    watched.context.close()

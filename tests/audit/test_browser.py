"""The page in real Chromium: judged by keyboard, reloaded, downloaded, imported, reported."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from builders.audit.history import Verdict
from builders.audit.page import _Drawn, draw
from builders.audit.report import REPORT, write_report
from builders.audit.verdicts import import_verdicts
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
def written(place: Path) -> _Drawn:
    return draw(jobs(), 300, 60, dist=place / "dist", notes=place / "notes")


@pytest.fixture
def watched(browser: Browser, written: _Drawn) -> Iterator[Watched]:
    watched = Watched(browser)
    watched.open(written.page)
    watched.begin("  Anna   Groß ")
    yield watched
    assert watched.faults == []
    assert all(url.startswith(("file:", "blob:")) for url in watched.requests)
    assert [url for url in watched.requests if url.startswith("file:")] == [written.page.as_uri()] * sum(
        url.startswith("file:") for url in watched.requests
    )
    assert watched.page.evaluate("window.hacked") is None
    watched.context.close()


def download(watched: Watched, folder: Path) -> Path:
    """Press Download, and keep the file."""
    with watched.page.expect_download() as waiting:
        watched.page.click("#download")
    file = folder / waiting.value.suggested_filename
    waiting.value.save_as(file)
    return file


def events(file: Path) -> list[tuple[str, str, str]]:
    """Item, verdict and note of every line."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [(line["item"], line["verdict"], line["note"]) for line in lines]


def place_of(written: _Drawn, text: str) -> int:
    """Which item's passage it is."""
    data = written.page.read_text(encoding="utf-8").split('id="data">')[1].split("</script>")[0]
    items = json.loads(data)["items"]
    return next(place for place, item in enumerate(items) if item["text"][:200] == text[:200])


def test_twenty_items_by_keyboard_then_reload_go_on_download_import_report(
    place: Path, written: _Drawn, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    for number in range(10):
        assert watched.text("#position").startswith(f"Item {number + 1} of {len(written.sample.items)}")
        watched.press(str(number % 5 + 1))
    watched.press("k", "n")
    page.keyboard.type("fraglich: 1 2 j k")
    watched.press("Escape", "j")
    watched.reload()
    assert watched.text("#position").startswith("Item 11 of")
    assert watched.text("#judged").startswith("10 of")
    for number in range(10, 20):
        watched.press(str(number % 5 + 1))
    file = download(watched, tmp_path)
    assert file.name == f"jobs-{written.sample.head.sample}-anna-groß.verdicts.jsonl"
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["item"] for line in lines] == [item.item for item in written.sample.items[:20]]
    assert [line["verdict"] for line in lines] == [VERDICTS[number % 5] for number in range(20)]
    assert lines[9]["note"] == "fraglich: 1 2 j k"
    assert {line["auditor"] for line in lines} == {"Anna Groß"}
    notes, locks = tmp_path / "notes", tmp_path / "locks"
    (taken,) = import_verdicts([file], dist=place / "dist", notes=notes, locks=locks)
    assert (taken.read, taken.judged) == (20, 20)
    write_report([jobs()], notes=notes, locks=locks)
    assert "Anna Groß" in (notes / REPORT).read_text(encoding="utf-8")


def test_the_name_comes_before_the_first_verdict(browser: Browser, written: _Drawn) -> None:
    watched = Watched(browser)
    page = watched.open(written.page)
    watched.press("Enter")
    page.evaluate("document.activeElement.blur()")
    watched.press("1", "0", "n", "l", "j")
    assert page.is_hidden("#one")
    assert page.is_disabled("#download")
    for name in ("  ", "\u202e", "\u200b"):
        watched.begin(name)
        assert "Type your name first" in watched.text("#said")
        assert page.is_hidden("#one")
    watched.begin("anna@beispiel.de")
    assert "no e-mail address" in watched.text("#said")
    assert page.is_hidden("#one")
    page.fill("#auditor", "Anna")
    page.click("#begin")
    assert watched.text("#judging").startswith("Judging as Anna")
    assert watched.text("#judged").startswith("0 of")
    watched.reload()
    assert page.is_visible("#one")
    assert watched.text("#who") == "Anna"
    assert watched.faults == []
    watched.context.close()


def test_a_second_auditor_sees_and_downloads_nothing_of_the_first(
    place: Path, written: _Drawn, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    watched.press("1", "2", "3")
    first = download(watched, tmp_path)
    page.click("#switch")
    assert page.is_hidden("#one")
    assert page.is_hidden("#progress")
    assert watched.text("#said") == ""
    watched.begin("Ben")
    assert watched.text("#position").startswith("Item 1 of")
    assert watched.text("#judged").startswith("0 of")
    assert watched.text("#state") == watched.text("#told") == watched.text("#said") == ""
    watched.press("l")
    assert set(page.locator("#items .verdict").all_inner_texts()) == {"open"}
    watched.press("l")
    page.click("#download")
    assert watched.text("#said") == "Nothing is judged yet."
    watched.press("2")
    second = download(watched, tmp_path)
    assert events(second) == [(written.sample.items[0].item, "related", "")]
    another = watched.context.new_page()
    another.goto(written.page.as_uri())
    assert another.is_visible("#start")
    assert another.is_hidden("#one")
    another.close()
    page.click("#switch")
    watched.begin("anna groß")
    assert watched.text("#judged").startswith("3 of")
    (taken,) = import_verdicts(
        [first, second], dist=place / "dist", notes=tmp_path / "notes", locks=tmp_path / "locks"
    )
    assert taken.auditors == ("Anna Groß", "Ben")
    assert taken.read == 4


def test_a_note_right_after_a_verdict_goes_to_the_item_judged_and_then_on(
    written: _Drawn, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    watched.press("1")
    assert watched.text("#position").startswith("Item 2 of")
    watched.press("n")
    assert watched.text("#position").startswith("Item 1 of")
    assert watched.text("#note-label") == "Note on item 1"
    page.keyboard.type("zum ersten")
    watched.press("Escape")
    assert watched.text("#position").startswith("Item 2 of")
    assert page.input_value("#note") == ""
    watched.press("2")
    page.click("#add-note")
    page.keyboard.type("zum zweiten")
    watched.press("Escape", "n")
    page.keyboard.type("zum dritten, nicht beurteilt")
    watched.press("Escape")
    items = [item.item for item in written.sample.items]
    assert events(download(watched, tmp_path)) == [
        (items[0], "not_relevant", "zum ersten"),
        (items[1], "related", "zum zweiten"),
        (items[2], "noted", "zum dritten, nicht beurteilt"),
    ]
    assert "2 verdicts, 1 noted without a verdict" in watched.text("#said")


def test_the_verdicts_lie_between_not_relevant_and_relevant_in_the_order_of_their_keys(
    written: _Drawn, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    assert [one.split()[1:] for one in page.locator(".verdicts button").all_inner_texts()] == [
        verdict.words.split() for verdict in VERDICTS
    ]
    watched.press("1", "2", "3")
    assert watched.text("#said").startswith("Item 3: also relevant.")
    watched.press("k", "k")
    assert watched.text("#state") == "· related"
    assert page.get_attribute('[data-verdict="related"]', "aria-pressed") == "true"
    items = [item.item for item in written.sample.items]
    verdicts = ("not_relevant", "related", "also_relevant")
    assert events(download(watched, tmp_path)) == [(items[n], verdicts[n], "") for n in range(3)]
    watched.press("?")
    told = page.locator("#help dt").all_inner_texts()
    assert [one.split(maxsplit=1)[1] for one in told] == [verdict.words for verdict in VERDICTS]


def test_what_is_taken_back_is_downloaded_as_withdrawn_and_counts_no_more(
    place: Path, written: _Drawn, watched: Watched, tmp_path: Path
) -> None:
    page = watched.page
    notes, locks = tmp_path / "notes", tmp_path / "locks"

    def imported() -> tuple[int, int, int]:
        (taken,) = import_verdicts(
            [download(watched, tmp_path)], dist=place / "dist", notes=notes, locks=locks
        )
        return taken.new, taken.withdrawn, taken.judged

    watched.press("1", "2", "3")
    assert imported() == (3, 0, 3)
    watched.press("0")
    assert watched.text("#position").startswith("Item 3 of")
    assert watched.text("#said") == "Item 3: taken back."
    watched.press("0")
    assert watched.text("#said") == "Item 3 has no verdict to take back."
    watched.press("k")
    page.click("#take-back")
    assert watched.text("#judged").startswith("1 of")
    watched.reload()
    items = [item.item for item in written.sample.items]
    assert events(download(watched, tmp_path)) == [
        (items[0], "not_relevant", ""),
        (items[1], "withdrawn", ""),
        (items[2], "withdrawn", ""),
    ]
    assert imported() == (2, 2, 1)
    assert imported() == (0, 0, 1)
    watched.press("1")
    page.click("#undo")
    watched.press("4")
    assert imported() == (1, 0, 2)


def test_what_was_recorded_by_a_clock_ahead_is_downloaded_with_the_present_time(
    browser: Browser, written: _Drawn, place: Path, tmp_path: Path
) -> None:
    watched = Watched(browser)
    watched.page.clock.install(time="2126-01-05T08:00:00Z")
    watched.open(written.page)
    watched.begin()
    watched.press("1", "2")
    watched.page.clock.set_system_time("2026-02-01T08:00:00Z")
    file = download(watched, tmp_path)
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["at"][:16] for line in lines] == ["2026-02-01T08:00"] * 2
    (taken,) = import_verdicts([file], dist=place / "dist", notes=tmp_path / "n", locks=tmp_path / "l")
    assert taken.judged == 2
    watched.context.close()


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
def test_hostile_passages_are_shown_as_text(written: _Drawn, watched: Watched, text: str) -> None:
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


def test_a_browser_that_keeps_nothing_is_told(browser: Browser, written: _Drawn) -> None:
    watched = Watched(browser)
    watched.page.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    watched.open(written.page)
    watched.begin()
    watched.press("1")
    watched.page.click("#switch")
    watched.begin("Ben")
    assert watched.text("#judged").startswith("0 of")
    watched.page.click("#switch")
    watched.begin()
    assert "does not keep anything" in watched.text("#warning")
    assert "does not keep anything" in watched.text("#warning")
    assert watched.text("#judged").startswith("1 of")
    watched.context.close()


@pytest.mark.parametrize(
    "kept",
    [
        '{"place": 1e9, "verdicts": 7',
        '{"place": 0, "verdicts": null}',
        '{"place": 0, "verdicts": {"ITEM": 7, "i-0": null}}',
        '{"place": -3, "verdicts": {"ITEM": {"verdict": "vielleicht", "note": "", "at": "gestern"}}}',
    ],
)
def test_what_the_browser_kept_may_be_damaged(browser: Browser, written: _Drawn, kept: str) -> None:
    watched = Watched(browser)
    key = f"mteb-de-audit:{written.sample.head.sample}:anna groß"
    watched.page.add_init_script(f"localStorage.setItem({json.dumps(key)}, {json.dumps(kept)})")
    watched.open(written.page)
    watched.begin()
    assert watched.text("#position").startswith("Item 1 of")
    watched.press("1")
    assert watched.text("#judged").startswith("1 of")
    assert watched.faults == []
    watched.context.close()


@pytest.mark.parametrize(
    ("scheme", "width"),
    [
        ("light", 390),
        ("dark", 1100),
        pytest.param("light", 1100, marks=pytest.mark.long),
        pytest.param("dark", 390, marks=pytest.mark.long),
    ],
)
def test_axe_finds_no_serious_fault_and_nothing_runs_over_the_edge(
    browser: Browser, place: Path, scheme: Literal["light", "dark"], width: int
) -> None:
    from axe_playwright_python.sync_playwright import Axe

    watched = Watched(browser, scheme=scheme, width=width)
    few = draw(jobs(), 12, 3, dist=place / "dist", notes=place / "notes")
    page = watched.open(few.page)
    for keys in ((), ("1",), ("h",), ("k",), ("l",), ("l", "?")):
        if keys == ("1",):
            watched.begin()
        watched.press(*keys)
        found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        grave = [fault for fault in found if fault["impact"] in {"serious", "critical"}]
        assert [(fault["id"], [node["html"][:120] for node in fault["nodes"]]) for fault in grave] == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    watched.context.close()

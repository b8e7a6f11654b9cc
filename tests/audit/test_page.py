from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest

from builders.audit.page import _Drawn, draw
from builders.errors import UsageError
from builders.tables import Kind, rowless
from tests.audit import browser
from tests.audit.kit import HOSTILE, build, jobs, write


class Outline(HTMLParser):
    """The tags of a page, and the contents of its scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, list[str]] = {"script": [], "style": []}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.contents:
            self.contents[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self.tags.append((f"/{tag}", {}))

    def handle_data(self, data: str) -> None:
        if self.tags and (tag := self.tags[-1][0]) in self.contents:
            self.contents[tag][-1] += data


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> _Drawn:
    place = tmp_path_factory.mktemp("place")
    return draw(jobs(), 300, 60, dist=build(place / "dist", hostile=True), notes=place / "notes")


def outline(page: Path) -> Outline:
    outline = Outline()
    outline.feed(page.read_text(encoding="utf-8"))
    return outline


def test_the_page_is_whole_and_small(written: _Drawn) -> None:
    text = written.page.read_text(encoding="utf-8")
    assert len(text.encode()) < 10_000_000
    assert not re.search(r"(?:src|href)\s*=", text.split('id="data"')[0])
    assert text.rstrip().endswith("</html>")


def test_scripts_and_styles_are_those_of_the_policy(written: _Drawn) -> None:
    found = outline(written.page)
    policy = next(a["content"] for tag, a in found.tags if tag == "meta" and a.get("http-equiv")) or ""
    data, script = found.contents["script"]
    (style,) = found.contents["style"]
    for kind, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on")]
    assert "style" not in {name for _, attributes in found.tags for name in attributes}
    assert len(json.loads(data)["items"]) == len(written.sample.items)


def test_every_hostile_text_arrives_whole_and_the_longest_cut_with_a_count(written: _Drawn) -> None:
    items = json.loads(outline(written.page).contents["script"][0])["items"]
    texts = {item["text"] for item in items}
    assert set(HOSTILE[:-1]) <= texts
    (longest,) = {(len(item["text"]), item["cut"]) for item in items if item["text"].startswith("www")}
    assert longest == (20_000, 80_000)


def test_the_page_does_not_tell_controls_or_positives_apart_before(written: _Drawn) -> None:
    items = json.loads(outline(written.page).contents["script"][0])["items"]
    assert {frozenset(item) for item in items} == {
        frozenset({"item", "query-id", "corpus-id", "query", "title", "text", "cut", "told"})
    }
    kinds = [item.kind for item in written.sample.items[:60]]
    assert {"negative", "positive"} <= set(kinds)


def test_the_same_sample_is_the_same_bytes(written: _Drawn, tmp_path: Path) -> None:
    again = draw(jobs(), 300, 60, dist=build(tmp_path / "dist", hostile=True), notes=tmp_path / "notes")
    assert again.page.read_bytes() == written.page.read_bytes()
    assert again.csv.read_bytes() == written.csv.read_bytes()


def test_a_page_that_would_be_too_large_is_refused(tmp_path: Path) -> None:
    count = 600
    corpus = [(f"d-{n:016x}", "", f"{n} " + "<" * 19_990) for n in range(count)]
    queries = [(f"q-{n:016x}", f"Frage {n}") for n in range(count)]
    pairs = [(queries[n][0], corpus[n][0], 1) for n in range(count)]
    rows: dict[Kind, Sequence[tuple[object, ...]]] = {
        Kind.CORPUS: corpus,
        Kind.QUERIES: queries,
        Kind.QRELS: pairs,
        Kind.HARD_NEGATIVES: [],
    }
    frames = {
        kind: pl.DataFrame(table, schema=rowless(kind).schema, orient="row") for kind, table in rows.items()
    }
    write(tmp_path / "dist", frames)
    with pytest.raises(UsageError, match="the page would be"):
        draw(jobs(), 0, count, dist=tmp_path / "dist", notes=tmp_path / "notes")
    assert not (tmp_path / "dist" / "work" / "jobs" / "audit").exists()


def test_nothing_to_judge_is_told(tmp_path: Path) -> None:
    build(tmp_path / "dist")
    with pytest.raises(UsageError, match="no pair to judge"):
        draw(jobs(), 0, 0, dist=tmp_path / "dist", notes=tmp_path / "notes")


def test_a_missing_browser_skips_and_fails_where_it_is_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(browser.REQUIRE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="no Chromium"):
        browser.skip_or_fail("no Chromium is installed")
    monkeypatch.setenv(browser.REQUIRE, "1")
    with pytest.raises(pytest.fail.Exception, match="MTEB_DE_REQUIRE_BROWSER"):
        browser.skip_or_fail("no Chromium is installed")

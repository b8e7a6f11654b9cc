from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.text.markup import Tag, element_text, paragraphs, tokens
from builders.text.normalise import normalise

PAGE = """
<h2>Meldung</h2>
<h2 class="lead" itemprop="description">Der Markt &amp; die <em>Stadt</em></h2>
<div class="meta copytexte"><p>nein</p></div>
<div id="a" class="wide copytext">
  <!-- <p>nein</p> --><p>Erster <b>fett</b> Absatz<p>Zweiter<br>Absatz</p>
  <div><p class='x'>Dritter</p></div> daneben <script>if (a < b) { "</p>" }</script>
  <blockquote><p>Vierter</p></blockquote>
</div>
<div class="copytext"><p>nein</p></div><p>nein</p>
"""


def test_paragraphs_of_the_first_div_of_the_class() -> None:
    assert [" ".join(text.split()) for text in paragraphs(PAGE, within="copytext")] == [
        "Erster fett Absatz", "Zweiter Absatz", "Dritter", "Vierter",
    ]  # fmt: skip


def test_the_text_of_an_element_with_its_entities() -> None:
    assert element_text(PAGE, "h2", itemprop="description") == "Der Markt &amp; die Stadt"
    assert element_text(PAGE, "h2", itemprop="headline") is None
    assert element_text("<p>a<p>b</p></p>c", "p") == "ab"


def test_entities_are_unescaped_once_on_the_way_to_a_document() -> None:
    (text,) = paragraphs('<div class="copytext"><p>1 &amp;lt; 2 &auml;</p></div>', within="copytext")
    assert normalise(text) == "1 &lt; 2 ä"


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("kein Tag", ["kein Tag"]),
        ("1 < 2 und 3 > 2", ["1 < 2 und 3 > 2"]),
        ('<a title="1 > 0" HREF=x>', [Tag("a", False, {"title": "1 > 0", "href": "x"})]),
        ("<p class='a b'>", [Tag("p", False, {"class": "a b"})]),
        ("</P >", [Tag("p", True)]),
        ("a<!-- b <p> -->c", ["ac"]),
        ("a<!-- offen <p>", ["a"]),
        ("a<!DOCTYPE html>b<?php x ?>c", ["a", "b", "c"]),
        ("a<p title='offen>b", ["a", "b"]),
        ("a<style>p { }</style>b", ["a", "b"]),
        ("a<script>b", ["a"]),
    ],
)
def test_tokens(markup: str, expected: list[object]) -> None:
    assert list(tokens(markup)) == expected


@pytest.mark.parametrize(
    "piece",
    [
        "<", "<a ", '<a b="', "<a b='", "<a b=c ", "<a/", "<!--", "<!-- -", "<!", "<script>", "</script", "&",
        "<p>", "<div>", "a=", '"',
    ],
)  # fmt: skip
def test_hostile_pages_take_linear_time(piece: str) -> None:
    """With quadratic time one of these would take hours, and the suite would be cut."""
    for markup in (piece * 100_000, f"<div {piece * 100_000}", f"<div {piece * 100_000}>"):
        paragraphs(markup, within="copytext")
        element_text(markup, "h2", itemprop="description")


def test_long_names_and_spaces_take_linear_time() -> None:
    for inside in ("a" * 1_000_000, "a " * 500_000, "a" + " " * 1_000_000, " " * 1_000_000 + "="):
        assert paragraphs(f"<div {inside}>", within="copytext") == []


@given(st.text(max_size=200))
def test_any_text_survives_as_a_paragraph(text: str) -> None:
    page = f'<div class="copytext"><p>{html.escape(text)}</p></div>'
    (found,) = paragraphs(page, within="copytext")
    assert html.unescape(found) == html.unescape(html.escape(text))


@given(st.text(alphabet="<>/!-pdiv ='\"aclsopytext&;", max_size=80))
def test_any_markup_can_be_read(markup: str) -> None:
    text = "".join(token for token in tokens(markup) if isinstance(token, str))
    assert len(text) <= len(markup)
    for paragraph in paragraphs(f'<div class="copytext">{markup}', within="copytext"):
        assert isinstance(paragraph, str)

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from builders.describe.markdown import Markdown, code, counted, escape, link, share, table

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
HOSTILE = st.text(
    st.one_of(st.sampled_from("\\`*_[](){}<>|&~$#!+-=:;.'\"/1 \n\t"), st.characters()), max_size=40
)


def shown(text: str) -> str:
    """The text as `escape` shows it: one line, printable."""
    words = "".join(mark for mark in text if mark.isprintable() or mark.isspace()).split()
    return " ".join(words)


@given(HOSTILE)
def test_escaped_text_shows_itself_and_nothing_else(text: str) -> None:
    rendered = RENDERER.render(escape(text))

    expected = shown(text)
    if expected:
        match = re.fullmatch(r"<p>([^<]*)</p>\n", rendered)
        assert match and html.unescape(match[1]).strip() == expected
    else:
        assert not rendered


@given(HOSTILE)
def test_code_shows_itself_and_nothing_else(text: str) -> None:
    rendered = RENDERER.render(f"x {code(text)} y")

    match = re.fullmatch(r"<p>x (?:<code>([^<]*)</code>)? ?y</p>\n", rendered)
    assert match and html.unescape(match[1] or "").strip() == shown(text)


@given(st.lists(st.tuples(HOSTILE, HOSTILE), max_size=4))
def test_no_cell_breaks_its_table(rows: list[tuple[str, str]]) -> None:
    rendered = RENDERER.render(table(("Name", "Wert"), [(first, code(second)) for first, second in rows]))

    cells = re.findall(r"<td[^>]*>(.*?)</td>", rendered)
    plain = [html.unescape(re.sub(r"</?code>", "", cell)).strip() for cell in cells]
    assert plain == [shown(text) for row in rows for text in row]


def test_columns_of_numbers_stand_on_the_right() -> None:
    rows = [("a", 1_000, share(1, 3), "–"), ("b", 2, "–", "–")]
    assert table(("Was", "Zahl", "Anteil", "Nichts"), rows) == "\n".join([
        "| Was | Zahl | Anteil | Nichts |",
        "| --- | ---: | ---: | --- |",
        "| a | 1,000 | 33.3 % | – |",
        "| b | 2 | – | – |",
    ])


@pytest.mark.parametrize(("count", "said"), [(0, "0 pairs"), (1, "1 pair"), (1200, "1,200 pairs")])
def test_a_number_comes_with_its_noun(count: int, said: str) -> None:
    assert counted(count, "pair") == said


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError):
        table(("Was", "Zahl"), [("a", 1), ("b", 2, 3)])


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (2, 300, "0.7 %"), (0, 300, "0.0 %"), (1, 300_000, "< 0.1 %"), (300, 300, "100.0 %"),
        (299_999, 300_000, "> 99.9 %"), (0, 0, "–"),
    ],
)  # fmt: skip
def test_share(part: int, whole: int, expected: str) -> None:
    assert share(part, whole) == expected


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "http://x.example", "https://x.example/a b", "https://x.example/)<script>"]
)
def test_only_plain_https_becomes_a_link(url: str) -> None:
    assert link("[Text]", url) == "\\[Text\\]"


def test_markdown_stays_as_it_is() -> None:
    assert escape(Markdown("*fett*")) == "*fett*"
    assert link("Text", "https://x.example/a") == "[Text](https://x.example/a)"

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from builders.describe.markdown import Markdown, code, escape, link, table
from builders.printable import share

RENDERER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
PIECES = st.text(
    st.one_of(st.sampled_from("\\`*_[](){}<>|&~$#!+-=:;.'\"/1 \n\t"), st.characters()), max_size=40
)
ADDRESSES = st.lists(
    st.sampled_from([
        "www.", "WWW.", "x.example", "https://", "HTTP://", "ftp://", "mailto:", "hanna", "@", "/a?b=1", "(",
    ]),
    max_size=8,
).map("".join)  # fmt: skip
HOSTILE = PIECES | ADDRESSES
GFM_LINK = re.compile(r"(?:https?|ftp)://[-.\w]|www\.[-.\w]|[-.+\w]+@[-\w]*(?:\.[-\w]+)+", re.IGNORECASE)
"""What GitHub's Markdown makes a link of, wherever it stands in a text that is shown (GFM 6.9, no less)."""


def texts(markdown: str) -> list[str]:
    """The texts that a renderer searches for addresses: what no mark-up parts, escapes resolved."""
    found = [""]
    for block in RENDERER.parse(markdown):
        for token in block.children or []:
            if token.type in {"text", "text_special"}:
                found[-1] += token.content
            else:
                found.append("")
        found.append("")
    return found


def without_breaks(rendered: str) -> str:
    return rendered.replace("<!-- -->", "")


def shown(text: str) -> str:
    """The text as `escape` shows it: one line, printable."""
    words = "".join(mark for mark in text if mark.isprintable() or mark.isspace()).split()
    return " ".join(words)


@given(HOSTILE)
def test_escaped_text_shows_itself_and_nothing_else(text: str) -> None:
    rendered = without_breaks(RENDERER.render(escape(text)))

    expected = shown(text)
    if expected:
        match = re.fullmatch(r"<p>([^<]*)</p>\n", rendered)
        assert match and html.unescape(match[1]).strip() == expected
    else:
        assert not rendered


@given(HOSTILE)
def test_code_shows_itself_and_nothing_else(text: str) -> None:
    rendered = without_breaks(RENDERER.render(f"x {code(text)} y"))

    match = re.fullmatch(r"<p>x (?:<code>([^<]*)</code>)? ?y</p>\n", rendered)
    assert match and html.unescape(match[1] or "").strip() == shown(text)


@given(HOSTILE, HOSTILE)
def test_no_address_in_a_text_becomes_a_link(text: str, other: str) -> None:
    for written in (escape(text), f"x {code(text)} y", table(("Name",), [(text,), (code(other),)])):
        assert not [found for found in texts(written) if GFM_LINK.search(found)]


@pytest.mark.parametrize(
    "text",
    [
        "www.x.example", "siehe WWW.x.example/a_b", "https://x.example/?a=1", "(http://x.example)", "ftp://x.example",
        "hanna@x.example", "mailto:hanna.m+1@x.example", "@www.x.example", "https://www.x.example/@hanna@x.example",
    ],
)  # fmt: skip
def test_an_address_is_shown_whole_and_is_no_link(text: str) -> None:
    assert GFM_LINK.search(text)
    assert not [found for found in texts(escape(text)) if GFM_LINK.search(found)]
    assert "".join(texts(escape(text))) == text


@pytest.mark.parametrize("text", ["nDCG@10", "recall@10.", "@hanna", "a: b", "wwwx.example"])
def test_what_is_no_address_stays_as_it_is(text: str) -> None:
    assert escape(text) == text


@given(st.lists(st.tuples(HOSTILE, HOSTILE), max_size=4))
def test_no_cell_breaks_its_table(rows: list[tuple[str, str]]) -> None:
    written = table(("Name", "Wert"), [(first, code(second)) for first, second in rows])
    rendered = without_breaks(RENDERER.render(written))

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


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError):
        table(("Was", "Zahl"), [("a", 1), ("b", 2, 3)])


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "http://x.example", "https://x.example/a b", "https://x.example/)<script>"]
)
def test_only_plain_https_becomes_a_link(url: str) -> None:
    assert link("[Text]", url) == "\\[Text\\]"


def test_markdown_stays_as_it_is() -> None:
    assert escape(Markdown("*fett*")) == "*fett*"
    assert link("Text", "https://x.example/a") == "[Text](https://x.example/a)"

from __future__ import annotations

import re
import sys

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.personal import scrub
from builders.personal.scan import OPAQUE, View, is_plain
from builders.spec import PersonalKind
from builders.text.normalise import normalise
from tests.personal.test_engine import texts

_ODD = st.sampled_from(
    """
    \u00ad \u200b \u200d \ufe0f ☎ \u202f \u2009 \u2028 \x85 \t \0 \x01 & &#64; &amp; &amp;amp;#64; &am p;
    &region; &#1; &fjlig; &NotEqualTilde; e \u0301 \u0323 \u1100 \u1161 \u11a8 \u0344 \u212b \u0958
    \u09c7\u09be ａ ＆ ＜ \ufeff \u034f \u3164 <EMAIL>
    """.split(" ")
)
odd = st.one_of(st.lists(_ODD, max_size=12).map("".join), texts)


def as_compared(text: str) -> str:
    """Return what a build sees, and would see of what it has seen."""
    for _ in range(20):
        text = normalise(text)
    wide = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    placeholders = "|".join({kind.placeholder for kind in PersonalKind})
    return re.sub(placeholders, OPAQUE, text.translate(wide))


@given(odd)
@settings(max_examples=500)
@example("\u200b \u00ad")
@example("☎\u200d☎")
@example("&amp;amp;#64;")
def test_a_view_is_what_normalise_leaves(text: str) -> None:
    assert View(text).text == as_compared(text)


@given(odd)
@settings(max_examples=300)
def test_what_is_called_plain_is_its_own_view(text: str) -> None:
    if is_plain(text) and "<" not in text:
        assert View(text).text == text == normalise(text)


@given(odd)
@settings(max_examples=500)
def test_each_place_of_a_view_leads_back_to_what_it_was_made_of(text: str) -> None:
    view = View(text)
    places = [view.original(index, index + 1) for index in range(len(view.text))]
    assert all(0 <= start < end <= len(text) for start, end in places)
    assert places == sorted(places)
    assert [end for _, end in places] == sorted(end for _, end in places)
    for index, (start, end) in enumerate(places):
        if text[start:end].isascii() and end - start == 1 and not text[start:end].isspace():
            assert view.text[index] == text[start]


@given(odd)
@settings(max_examples=300)
def test_a_build_and_a_table_find_the_same(text: str) -> None:
    """What a build publishes is what remains of the scrubbed row once it is normalised."""
    clean = normalise(text)
    in_build = scrub(pl.Series([clean], dtype=pl.String)).spans
    in_table = scrub(pl.Series([text], dtype=pl.String)).spans
    assert in_build["kind"].to_list() == in_table["kind"].to_list()
    assert in_build["rule"].to_list() == in_table["rule"].to_list()


def test_all_invisible_characters_make_a_row_one_that_is_looked_at() -> None:
    missed = [
        code
        for code in range(sys.maxunicode + 1)
        if is_plain(f"a{chr(code)}b") and normalise(f"a{chr(code)}b") != f"a{chr(code)}b"
    ]
    assert not missed


@pytest.mark.parametrize(
    ("row", "clean"),
    [
        ("Tel. 0171\u202f3920012", "Tel. <PHONE>"),
        ("Tel.\u20090171\u20093920012", "Tel.\u2009<PHONE>"),
        ("Tel.\t0171\t3920012", "Tel.\t<PHONE>"),
        ("IBAN DE89\u202f3704\u202f0044\u202f0532\u202f0130\u202f00", "IBAN <IBAN>"),
        ("Herr\u202fMustermann", "Herr\u202f<PERSON>"),
        ("an max@bei\u00adspiel.de!", "an <EMAIL>!"),
        ("\u200balice@\u200bexample.com\u200b", "\u200b<EMAIL>\u200b"),
        ("max&#64;example.de &amp; Co", "<EMAIL> &amp; Co"),
        ("max&commat;example.de", "<EMAIL>"),
        ("max&amp;#64;example.de", "<EMAIL>"),
        ("ｍａｘ＠ｅｘａｍｐｌｅ．ｄｅ、　０１７１　３９２００１２", "<EMAIL>、　<PHONE>"),
        ("Fu\u00adß  und\r\n\r\nTel. 0171 3920012", "Fu\u00adß  und\r\n\r\nTel. <PHONE>"),
        ("Cafe\u0301 Tel. 0171 3920012 Cafe\u0301", "Cafe\u0301 Tel. <PHONE> Cafe\u0301"),
    ],
)
def test_look_alikes_hide_nothing_and_the_rest_stays(row: str, clean: str) -> None:
    assert scrub(pl.Series([row])).texts[0] == clean
    seen = scrub(pl.Series([normalise(row)])).spans
    assert seen["kind"].to_list() == scrub(pl.Series([row])).spans["kind"].to_list()

from __future__ import annotations

import unicodedata

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.text.normalise import normalise, normalise_frame

_ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("  Koch \n\t Köchin ", "Koch Köchin"),
        ("Ka\u0308se", "Käse"),
        ("a &amp; b", "a & b"),
        ("&amp;lt;", "&lt;"),
        ("&amp;amp;amp;", "&amp;amp;"),
        ("K&#246;ln &#xF6; &ouml;", "Köln ö ö"),
        ("a&#776;rztin", "ärztin"),
        ("Preis&nbsp;10\u00a0€", "Preis 10 €"),
        ("&am\u00adp; &am\u200dp; &a\x00mp; &l\ufefft;", "& & & <"),
        ("&amp\u037e &\u212aappa;", "& Κ"),
        ("&am\u00adp;lt;", "&lt;"),
        ("&am&shy;p;", "&amp;"),
        ("&copy=2 &reg F&E AT&T", "&copy=2 &reg F&E AT&T"),
        ("&nosuchentity;", "&nosuchentity;"),
        ("Kunst&region; Bau&notar;", "Kunst&region; Bau&notar;"),
        ("a\x00b\x07c\x85d\x1fe\x9ff", "abc d ef"),
        ("a\ud800b\udfffc", "abc"),
        ("Zu\u00adcker\u200bbäcker\ufeff", "Zuckerbäcker"),
        ("a\u202eb\u2066c", "abc"),
        ("a\u2028b\u3000c\u2009d", "a b c d"),
        ("a\u200b\u0308", "ä"),
        ("\U0001f469\u200d\U0001f373 Köchin", "\U0001f469\u200d\U0001f373 Köchin"),
        ("a\u200db \u200d", "ab"),
        ("\u3164\u200b\u00a0&#8203;", ""),
        ("", ""),
    ],
)
def test_what_is_folded_removed_and_kept(raw: str, clean: str) -> None:
    assert normalise(raw) == clean


@settings(deadline=None)
@given(_ANY_TEXT)
def test_the_result_is_nfc_without_controls_and_without_unfolded_space(text: str) -> None:
    result = normalise(text)
    assert unicodedata.is_normalized("NFC", result)
    assert result == " ".join(result.split())
    assert not any(unicodedata.category(character) in {"Cc", "Cs"} for character in result)
    result.encode()


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_characters="&"), max_size=60))
def test_text_without_entities_is_stable(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@settings(deadline=None)
@given(st.text("&;KTaglpt <\u00ad\u200b\u200d\ufeff\x07\ud800\u037e\u212a\u0338\u0301☎", max_size=40))
@example("&l\u00adt;")
@example("&gt\u037e")
@example("&\u212aappa;")
def test_text_is_stable_whatever_divides_its_entities(text: str) -> None:
    """The alphabet spells entities ("&lt;", "&Kappa;"), but none that hides another, as "&amp;" does."""
    once = normalise(text)
    assert normalise(once) == once


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["&", "&amp;", "&lt;", "&#8203;", "&shy;", "lt;", "amp;", " ", "ä", "☎"])),
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from("\u00ad\u200b\ufeff\x07\ud800\u202e"))),
)
def test_what_is_invisible_changes_nothing_wherever_it_stands(
    parts: list[str], put: list[tuple[int, str]]
) -> None:
    text = divided = "".join(parts)
    for place, sign in put:
        divided = divided[:place] + sign + divided[place:]
    assert normalise(divided) == normalise(text)


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8", categories=["L", "N", "P"], exclude_characters="&"), max_size=40))
def test_escaping_and_normalising_gives_the_text_back(text: str) -> None:
    escaped = text.replace("<", "&lt;").replace('"', "&quot;")
    assert normalise(escaped) == normalise(text)


def test_frames_lose_no_row_and_only_their_texts_change() -> None:
    frame = pl.DataFrame({
        "upstream_id": [" a&amp;b ", "c", "d", "e"],
        "text": ["  x &amp;lt; ", None, " \u200b ", "x &amp;lt;"],
        "skills": [["löten ", None, " "], [], None, ["&amp;"]],
        "number": [1, 2, 3, 4],
        "numbers": [[1], [2], [3], []],
    })
    expected = frame.with_columns(
        text=pl.Series(["x &lt;", None, None, "x &lt;"]),
        skills=pl.Series([["löten", None, None], [], None, ["&"]]),
    )
    assert normalise_frame(frame, keep=("upstream_id",)).equals(expected)


def test_a_column_that_is_not_kept_is_normalised() -> None:
    frame = pl.DataFrame({"uri": [" http://example.org/?a=1&amp;b=2 "]})
    assert normalise_frame(frame, keep=("uri",)).equals(frame)
    assert normalise_frame(frame, keep=()).to_series().to_list() == ["http://example.org/?a=1&b=2"]


@pytest.mark.parametrize("rows", [[], [{"text": None, "list": None}]])
def test_frames_without_any_text_keep_their_schema(rows: list[dict[str, None]]) -> None:
    frame = pl.DataFrame(rows, schema={"text": pl.String, "list": pl.List(pl.String), "n": pl.Int64})
    assert normalise_frame(frame, keep=()).equals(frame)
    assert normalise_frame(frame, keep=()).schema == frame.schema

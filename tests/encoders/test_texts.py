from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.encoders.protocol import _cut_to_fit, _require_fitting, excerpt, require_usable, text_key
from builders.errors import EncoderError

WORDS = "Der Zug nach Köln fährt heute von Gleis sieben".split()


def by_words(texts: Sequence[str]) -> list[int]:
    """A word is a token, a single letter at the end of a text is two, and the prefix is three."""
    return [3 + len(words) + (bool(words) and len(words[-1]) == 1) for words in map(str.split, texts)]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), max_size=8), st.integers(5, 40))
def test_a_cut_text_is_a_beginning_that_fits_and_the_rest_is_untouched(texts: list[str], limit: int) -> None:
    cut = _cut_to_fit(texts, by_words, limit)
    for before, after in zip(texts, cut, strict=True):
        assert before.startswith(after)
        assert by_words([after])[0] <= limit
        if by_words([before])[0] <= limit:
            assert after == before
        else:
            assert len(after.split()) >= limit - 4  # to within one word of the longest
    assert _cut_to_fit(cut, by_words, limit) == cut


def test_a_text_of_exactly_the_limit_is_unchanged_and_one_more_is_cut() -> None:
    exact, longer = "ab " * 7, "ab " * 8
    assert _cut_to_fit([exact, longer], by_words, 10) == [exact, exact]


def test_counting_is_done_for_all_long_texts_at_once() -> None:
    calls: list[int] = []

    def count(texts: Sequence[str]) -> list[int]:
        calls.append(len(texts))
        return [len(text) for text in texts]

    assert _cut_to_fit(["x" * 1000] * 50 + ["kurz"], count, 300) == ["x" * 300] * 50 + ["kurz"]
    assert len(calls) <= 12


def test_a_limit_that_leaves_no_room_is_told() -> None:
    with pytest.raises(EncoderError, match="text 1: not one character fits into 3 tokens"):
        _cut_to_fit(["", "Haus"], by_words, 3)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "empty"),
        (" \t\u00a0", "empty"),
        ("Koch\0Köln", "NUL"),
        ("Koch \ud83d", "lone surrogate"),
        (None, "null"),
    ],
)
def test_unusable_texts_are_refused_with_their_index(text: str | None, fault: str) -> None:
    with pytest.raises(EncoderError, match=f"text 2 cannot be encoded: it (is|holds).*{fault}") as told:
        require_usable(["Koch", "Köchin", text, ""])
    assert told.value.hint


@given(st.lists(st.text(min_size=1).map(lambda text: "a" + text.replace("\0", ""))))
def test_other_texts_are_usable(texts: list[str]) -> None:
    require_usable(texts)


def test_texts_that_do_not_fit_are_refused() -> None:
    _require_fitting([5, 10], 10)
    with pytest.raises(EncoderError, match="text 1 has 11 tokens, the limit is 10"):
        _require_fitting([5, 11], 10)


@given(st.text(), st.text())
def test_keys_differ_by_role_and_text(one: str, other: str) -> None:
    assert (text_key("query", one) == text_key("query", other)) == (one == other)
    assert text_key("query", one) != text_key("passage", other)


def test_a_key_is_fixed() -> None:
    assert text_key("query", "Bäcker").hex()[:16] == "127d3316f799618c"


def test_an_excerpt_is_short_and_escaped() -> None:
    assert excerpt("a\x1b[31m") == r"'a\x1b[31m'"
    assert len(excerpt("x" * 1000)) < 70

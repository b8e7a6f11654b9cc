import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.printable import (
    counted,
    interval,
    label,
    listed,
    one_line,
    percent,
    printable,
    quoted,
    share,
    shortened,
    span,
)


@given(st.text(max_size=200), st.integers(10, 60))
def test_a_label_is_one_short_printable_line(text: str, longest: int) -> None:
    made = label(text, longest)
    assert len(made) <= longest
    assert made.isprintable()


def test_names_are_quoted_and_cut() -> None:
    assert quoted(["a", "b'"]) == "'a', \"b'\""
    assert quoted(["a", "b", "c"], 1) == "'a', … and 2 more"
    assert not quoted([])


def test_a_long_label_loses_its_middle() -> None:
    assert label("a" * 20 + "b" * 20, 12) == "aaaaaaa…bbbb"


@given(st.text(max_size=200))
def test_one_line_is_printable_and_keeps_words(text: str) -> None:
    line = one_line(text)
    assert line.isprintable()
    assert "  " not in line
    assert len(one_line(text, 7)) <= 7
    if text.isprintable():
        assert line.split() == text.split()


@given(st.text(max_size=200))
def test_escaped_text_is_printable_and_printable_text_stays(text: str) -> None:
    assert printable(text).isprintable()
    assert printable("a\x1b[2Jb\n") == r"a\x1b[2Jb\n"
    if text.isprintable():
        assert printable(text) == text


def test_lists_say_how_much_of_them_is_left() -> None:
    assert shortened(["a", "b"], 2) == ["a", "b"]
    assert listed(["a"] * 1_012, 2) == "a\na\n… and 1,010 more"


@pytest.mark.parametrize(("count", "said"), [(0, "0 pairs"), (1, "1 pair"), (1200, "1,200 pairs")])
def test_a_number_comes_with_its_noun(count: int, said: str) -> None:
    assert counted(count, "pair") == said


def test_spans_percents_and_intervals() -> None:
    assert (span([3, 3]), span([1200, 40])) == ("3", "40 to 1,200")
    assert (percent(0.05), percent(None)) == ("5.0 %", "–")
    assert (interval(0.05, 0.021, 0.0994), interval(None, 0, 1)) == ("2.1 to 9.9 %", "–")


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (2, 300, "0.7 %"), (0, 300, "0.0 %"), (1, 300_000, "< 0.1 %"), (300, 300, "100.0 %"),
        (299_999, 300_000, "> 99.9 %"), (0, 0, "–"),
    ],
)  # fmt: skip
def test_a_share_is_never_rounded_to_nothing_or_all(part: int, whole: int, expected: str) -> None:
    assert share(part, whole) == expected

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.evaluation.lengths import STEP, lengths


def bands(longest: int) -> list[tuple[int, int, int]]:
    found = lengths("texte", pl.Series(["x", "x" * longest]))
    assert found is not None
    return list(found.bands)


@given(st.lists(st.text(max_size=150), min_size=1, max_size=60))
def test_bands_follow_each_other_and_hold_every_text(texts: list[str]) -> None:
    found = lengths("texte", pl.Series(texts, dtype=pl.String))
    assert found is not None
    assert sum(count for _, _, count in found.bands) == len(texts) == found.texts
    assert found.bands[0][0] <= found.shortest <= found.median <= found.longest <= found.bands[-1][1]
    assert all(low <= high for low, high, _ in found.bands)
    assert [high + 1 for _, high, _ in found.bands[:-1]] == [low for low, _, _ in found.bands[1:]]
    assert found.bands[0][2] > 0 and found.bands[-1][2] > 0


def test_every_band_from_ten_characters_on_is_as_wide_on_an_axis_of_ratios() -> None:
    for low, high, _ in bands(3_000_000):
        if low >= 10:
            assert (high + 1) / low == pytest.approx(STEP, rel=0.04), (low, high)
    assert sum(10 <= low < 100 for low, _, _ in bands(200)) == 10
    assert sum(1_000 <= low < 10_000 for low, _, _ in bands(20_000)) == 10


def test_no_texts_have_no_lengths() -> None:
    assert lengths("nichts", pl.Series([], dtype=pl.String)) is None
    assert lengths("nichts", pl.Series([None], dtype=pl.String)) is None


def test_the_ends_hold_the_shortest_and_the_longest() -> None:
    found = lengths("texte", pl.Series(["", "x" * 9_000_000]))
    assert found is not None
    assert found.bands[0] == (0, 0, 1)
    assert found.bands[-1] == (8_000_000, 9_999_999, 1)

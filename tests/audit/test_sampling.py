from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.audit.history import Verdict
from builders.audit.sample import Pairs, _allocate, _banded, random_sample, read_pairs, suspect_sample
from builders.lock.lock import read_lock, work_folder
from builders.spec import PAIR
from tests.audit.kit import build, jobs


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return read_pairs(build(tmp_path_factory.mktemp("built")), jobs())


def test_the_build_is_known_from_its_rows_and_from_its_lock_alike(tmp_path: Path) -> None:
    out = build(tmp_path)
    assert read_pairs(out, jobs()).build == read_lock(work_folder(out, "jobs") / "lock.json").rows_id


def test_gaps_are_the_distance_below_the_guard(tree: Pairs) -> None:
    assert tree.negatives["gap"].min() >= 0.05  # type: ignore[operator]
    assert tree.negatives.height == 300


def test_the_same_seed_draws_the_same_whatever_the_order_of_the_rows(tree: Pairs) -> None:
    shuffled = replace(
        tree,
        negatives=tree.negatives.sample(fraction=1, shuffle=True, seed=3),
        positives=tree.positives.reverse(),
        corpus=tree.corpus.reverse(),
    )
    assert random_sample(tree, 80, 20, 42) == random_sample(shuffled, 80, 20, 42)
    other = random_sample(tree, 80, 20, 43)[0]
    assert {item.item for item in other.items} != {
        item.item for item in random_sample(tree, 80, 20, 42)[0].items
    }
    assert other.head.sample != random_sample(tree, 80, 20, 42)[0].head.sample


def test_every_stratum_gives_and_sizes_add_up(tree: Pairs) -> None:
    drawn = random_sample(tree, 120, 24, 42)[0]
    negatives = [stratum for stratum in drawn.head.strata if stratum.kind == "negative"]
    assert {stratum.split for stratum in negatives} == {"train", "dev", "test"}
    assert len({stratum.gap for stratum in negatives}) == 3
    assert len({stratum.rank for stratum in negatives}) == 3
    assert sum(stratum.size for stratum in negatives) == 300
    assert sum(stratum.drawn for stratum in negatives) == 120 == len(drawn.of_kind("negative"))
    assert all(1 <= stratum.drawn <= stratum.size for stratum in drawn.head.strata)
    for place, stratum in enumerate(drawn.head.strata):
        members = [item for item in drawn.items if item.stratum == place]
        assert len(members) == stratum.drawn
        assert {item.split for item in members} == {stratum.split}


def test_small_splits_give_more_than_their_share(tree: Pairs) -> None:
    drawn = random_sample(tree, 100, 0, 42)[0]
    in_test = sum(item.split == "test" for item in drawn.items)
    assert in_test > 100 * tree.negatives.filter(pl.col("split") == "test").height / tree.negatives.height


def test_few_pairs_take_a_coarser_cut_and_none_is_left_out(tree: Pairs) -> None:
    drawn = random_sample(tree, 9, 0, 42)[0]
    assert len(drawn.items) == 9
    assert sum(stratum.size for stratum in drawn.head.strata) == 300


def test_fewer_pairs_than_asked_for_are_all_taken_and_told(tree: Pairs) -> None:
    drawn, remarks = random_sample(tree, 1000, 500, 42)
    assert len(drawn.of_kind("negative")) == 300
    assert len(drawn.of_kind("positive")) == 60
    assert any("asked for 1,000 hard negatives; there are 300" in remark for remark in remarks)
    assert any("asked for 500 labelled positives; there are 60" in remark for remark in remarks)


def test_nothing_mined_is_told_and_positives_are_sampled(tree: Pairs) -> None:
    drawn, remarks = random_sample(replace(tree, negatives=tree.negatives.clear()), 100, 20, 42)
    assert len(drawn.items) == 20
    assert "there are no hard negatives" in remarks


def test_controls_are_mixed_in_and_missing_ones_told(tree: Pairs) -> None:
    pairs = tree.negatives.sort(*PAIR).select(PAIR).rows()
    known = dict.fromkeys([*pairs, ("q-weg", "d-weg")], Verdict.NOT_RELEVANT)
    drawn, remarks = random_sample(tree, 40, 0, 42, known, mixed=12)
    controls = drawn.of_kind("control")
    assert len(controls) == 12
    assert all(control.expected is Verdict.NOT_RELEVANT and control.stratum is None for control in controls)
    assert len({item.item for item in drawn.items}) == 52
    assert any("1 of 301 controls are not in this build" in remark for remark in remarks)
    places = [place for place, item in enumerate(drawn.items) if item.kind == "control"]
    assert places != list(range(40, 52))


def test_suspects_come_in_the_order_of_suspicion(tree: Pairs) -> None:
    ranked = tree.negatives.select(PAIR).reverse()
    doubted = replace(tree, suspicious=tree.positives.select(PAIR).reverse())
    drawn = suspect_sample(doubted, ranked, 10, 5, "lexical")[0]
    assert [(item.query_id, item.passage_id) for item in drawn.of_kind("negative")] == ranked.head(10).rows()
    assert [
        (item.query_id, item.passage_id) for item in drawn.of_kind("positive")
    ] == doubted.suspicious.head(5).rows()
    assert drawn.head.mode == "suspects"
    assert drawn.head.strata == ()


def test_bands_of_gaps_hold_the_closest_tenth_the_next_and_the_farther_half() -> None:
    negatives = pl.DataFrame({
        "query_id": ["q"] * 100,
        "passage_id": [f"d{n}" for n in range(100)],
        "split": ["train"] * 100,
        "rank": pl.Series(range(1, 101), dtype=pl.Int32),
        "gap": [0.05 + n / 10_000 for n in range(100)],
    })
    found = _banded(negatives)
    sizes = found.group_by("gap_band").len().sort("gap_band")
    assert sizes["gap_band"].to_list() == ["0.0500–0.0510", "0.0511–0.0550", "0.0551–0.0599"]
    assert sizes["len"].to_list() == [11, 40, 49]
    assert dict(found.group_by("rank_band").len().iter_rows()) == {"1–5": 5, "6–20": 15, "21+": 80}


def test_bands_of_gaps_below_nothing_bear_their_sign(tree: Pairs) -> None:
    ends = pl.Series([-0.0001, 1.2, -1.9999, -0.00001, -0.5])
    few = tree.negatives.head(5).with_columns(gap=ends)
    names = {_banded(few.with_columns(gap=pl.lit(end)))["gap_band"][0] for end in ends}
    assert names == {f"{end}–{end}" for end in ("-0.0001", "1.2000", "-1.9999", "0.0000", "-0.5000")}


def test_ids_of_samples_and_items_begin_with_a_letter_and_a_hyphen(tree: Pairs) -> None:
    sample = random_sample(tree, 40, 10, 42)[0]
    assert re.fullmatch(r"s-[0-9a-f]{16}", sample.head.sample)
    assert all(re.fullmatch(r"i-[0-9a-f]{16}", item.item) for item in sample.items)


def test_equal_gaps_are_one_band(tree: Pairs) -> None:
    assert _banded(tree.negatives.with_columns(gap=pl.lit(0.05)))["gap_band"].unique().to_list() == [
        "0.0500–0.0500"
    ]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 5000), min_size=1, max_size=40), st.data())
def test_shares_add_up_and_leave_no_stratum_out(sizes: list[int], data: st.DataObject) -> None:
    wanted = data.draw(st.integers(len(sizes), sum(sizes) + 5))
    drawn = _allocate(sizes, wanted)
    assert sum(drawn) == min(wanted, sum(sizes))
    assert all(1 <= part <= size for part, size in zip(drawn, sizes, strict=True))


def test_shares_follow_the_square_roots() -> None:
    assert _allocate([10_000, 100, 100], 123) == [101, 11, 11]
    assert _allocate([10_000, 2, 100], 50) == [43, 2, 5]

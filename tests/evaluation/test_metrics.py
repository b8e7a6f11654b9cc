from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import UsageError
from builders.evaluation import metrics
from builders.evaluation.metrics import bootstrap, difference, differences, per_query, score
from builders.evaluation.rankings import RULES, Judged, Rankings, bm25, rank_by_rule, search
from builders.evaluation.results import EncoderFacts
from tests.checks.kit import unhurried
from tests.evaluation.runs import Graded, Run, judged, run_of, score_run, whole
from tests.mining.samples import random_units, vectors

FACTS = EncoderFacts(name="hand", kind="rule")
Scorer = Callable[[Run, Graded], Any]


def measures(qrels: Graded, run: Run, **fields: Any) -> dict[str, dict[str, float]]:
    """Return the metrics of each query, with passages as the run and the qrels name them."""
    passages = {passage for found in (*qrels.values(), *run.values()) for passage in found}
    table = per_query(judged(qrels, sorted(passages), **fields), run_of(run))
    return {row.pop("query_id"): row for row in table.to_dicts()}


def test_metrics_have_the_values_computed_by_hand() -> None:
    found = measures(
        {"q1": {"a": 1}, "q2": {"b": 1, "c": 1}, "q3": {"d": 1}},
        {"q1": {"x": 0.9, "a": 0.8}, "q2": {"b": 0.9, "x": 0.8, "c": 0.7}, "q4": {"a": 0.5}},
    )
    assert list(found) == ["q1", "q2", "q3"]
    assert found["q1"] == pytest.approx({
        "ndcg_at_10": 0.6309297535714575,
        "mrr_at_10": 0.5,
        "recall_at_10": 1.0,
        "recall_at_100": 1.0,
        "labelled_at_10": 0.5,
    })
    # DCG 1 + 1/2, ideal 1 + 0.63093.
    assert found["q2"]["ndcg_at_10"] == pytest.approx(0.9197207891481876)
    assert found["q2"]["mrr_at_10"] == 1
    assert set(found["q3"].values()) == {0.0}


def test_metrics_end_at_their_ranks() -> None:
    above = {f"x{n:03}": 1000.0 - n for n in range(100)}
    eleventh = dict(list(above.items())[:10]) | {"a": 1.0}
    hundredth = dict(list(above.items())[:99]) | {"a": 1.0}
    beyond = above | {"a": 1.0}
    run = {"q1": eleventh, "q2": hundredth, "q3": beyond}
    found = measures({query: {"a": 1} for query in run}, run)
    assert [list(row.values())[:4] for row in found.values()] == [[0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert {row["labelled_at_10"] for row in found.values()} == {0.0}


def test_of_equal_scores_the_larger_id_comes_first() -> None:
    assert measures({"q": {"a": 1}}, {"q": {"a": 0.5, "b": 0.5}})["q"]["mrr_at_10"] == 0.5
    assert measures({"q": {"b": 1}}, {"q": {"a": 0.5, "b": 0.5}})["q"]["mrr_at_10"] == 1


def test_scores_that_float32_cannot_tell_apart_are_equal() -> None:
    pairs = {"query_id": "q", "passage_id": ["a", "b"], "score": [0.5 + 1e-9, 0.5]}
    found = per_query(judged({"q": {"a": 1}}, "ab"), pl.DataFrame(pairs))
    assert found["mrr_at_10"].item() == 0.5


def test_gain_is_linear_and_score_zero_is_not_relevant() -> None:
    found = measures({"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"c": 3.0, "b": 2.0, "a": 1.0}})["q"]
    # DCG 1 · 0.63093 + 2 · 0.5, ideal 2 + 0.63093.
    assert found["ndcg_at_10"] == pytest.approx(0.6199062332840657)
    assert (found["mrr_at_10"], found["recall_at_10"]) == (0.5, 1)


@pytest.fixture(scope="module")
def mteb_scores() -> Scorer:
    from mteb._evaluators.retrieval_metrics import calculate_retrieval_scores

    def score(run: Run, qrels: Graded) -> Any:
        with warnings.catch_warnings():
            # Its nAUC, which is not compared, is undefined for some runs.
            warnings.simplefilter("ignore", RuntimeWarning)
            return calculate_retrieval_scores(run, qrels, [1, 10, 100])

    return score


@unhurried
@given(st.integers(0, 2**32 - 1))
def test_metrics_are_those_of_mteb(mteb_scores: Scorer, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = [f"{letter}-{number}" for letter in "dDäß" for number in range(35)]
    levels = rng.integers(2, 60)

    def drawn(most: int) -> list[str]:
        return [str(each) for each in rng.choice(ids, rng.integers(1, most), replace=False)]

    qrels = {
        f"q{n}": {passage: int(rng.integers(0, 3)) for passage in drawn(12)} | {f"fehlt-{n}": n % 2}
        for n in range(6)
    }
    run = {
        f"q{n}": {passage: float(np.float32(rng.integers(levels) / levels)) for passage in drawn(len(ids))}
        for n in range(5)
    } | {"q5": {}}
    theirs, ours = mteb_scores(run, qrels), score_run(judged(qrels, ids), run_of(run), FACTS, resamples=10)
    values = {name: score.value for name, score in ours.scores.items()}
    assert 0 <= values.pop("labelled_at_10") <= 1
    assert values == {
        "ndcg_at_10": theirs.ndcg["NDCG@10"],
        "mrr_at_10": round(theirs.mrr["MRR@10"], 5),
        "recall_at_10": theirs.recall["Recall@10"],
        "recall_at_100": theirs.recall["Recall@100"],
    }
    table = per_query(judged(qrels, ids), run_of(run))
    assert table["ndcg_at_10"].to_list() == [
        theirs.all_scores[query]["ndcg_cut_10"] for query in table["query_id"]
    ]


def test_r_precision_looks_as_far_down_as_there_are_positives() -> None:
    ids = [f"d{n:03}" for n in range(160)]
    everything = {passage: float(-place) for place, passage in enumerate(ids)}
    qrels = {
        "q1": dict.fromkeys(ids[:150], 1),
        "q2": dict.fromkeys(ids[10:], 1),
        "q3": {"d001": 1, "d002": 1},
    }
    found = measures(qrels, dict.fromkeys(qrels, everything), classes=[("d000", "c")])
    assert [row["r_precision"] for row in found.values()] == [1.0, 140 / 150, 0.5]


def test_cores_count_once_at_their_best_rank() -> None:
    classes = [
        ("a", "esco 1"),
        ("a", "kldb 1"),
        ("b", "kldb 1"),
        ("b", "esco 1"),
        ("c", "esco 1"),
        ("d", "c"),
    ]
    run = {"a": 0.9, "c": 0.8, "b": 0.7, "d": 0.6, "e": 0.5}
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}, "q4": {"b": 1, "a": 1, "e": 1}}
    found = measures(qrels, dict.fromkeys(qrels, run), classes=classes)
    cores = [row["core_ndcg_at_10"] for row in found.values()]
    # The cores in order: {a, b}, {c}, {d}, {e}.
    second, fourth = 1 / np.log2(3), 1 / np.log2(5)
    assert cores == pytest.approx([1, 1, second, (1 + fourth) / (1 + second)])
    assert found["q2"]["ndcg_at_10"] == 0.5


def test_without_classes_nothing_is_said_of_cores() -> None:
    assert set(measures({"q": {"a": 1}}, {"q": {"a": 1.0}})["q"]) == {
        "ndcg_at_10",
        "mrr_at_10",
        "recall_at_10",
        "recall_at_100",
        "labelled_at_10",
    }


def test_a_run_of_other_queries_too_is_measured_for_the_judged_ones() -> None:
    run = {"q1": {"a": 0.9}, "q2": {"b": 0.9}}
    both = score_run(judged({"q1": {"a": 1}}, "ab"), run_of(run), FACTS)
    assert both == score_run(judged({"q1": {"a": 1}}, "ab"), run_of({"q1": run["q1"]}), FACTS)
    assert both.queries == 1


def test_no_queries_are_refused() -> None:
    with pytest.raises(UsageError, match="no query of split test has qrels"):
        score_run(judged({}, "ab"), run_of({}), FACTS)


@unhurried
@given(st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_search_finds_the_most_similar_passages(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    asked, sought = random_units(rng, 4, 8), random_units(rng, 40, 8)
    sought[rng.integers(40, size=20)] = sought[0]  # many equal passages
    ids = [f"d{n:02}" for n in range(40)]
    where = judged({f"q{n}": {"d00": 1} for n in range(4)}, ids)
    run = whole(search(where, asked, sought, k))
    assert run.schema == {"query_id": pl.String, "passage_id": pl.String, "score": pl.Float32}
    exact = asked.astype(np.float64) @ sought.astype(np.float64).T
    for row, query in enumerate(where.queries["query_id"]):
        found = run.filter(pl.col("query_id") == query)
        # The sums here round otherwise than in the search, so near-equal ones are made equal.
        order = sorted(range(40), key=lambda n: (round(exact[row, n], 12), ids[n]), reverse=True)
        assert found["passage_id"].to_list() == [ids[n] for n in order[:k]]
        assert np.allclose(found["score"], exact[row, order[:k]], atol=1e-7)


def test_a_cut_through_equal_scores_keeps_the_larger_ids() -> None:
    same = vectors([[1.0, 0.0]] * 5)
    run = whole(search(judged({"q": {"a": 1}}, "abcde"), same[:1], same, 3))
    assert run["passage_id"].to_list() == ["e", "d", "c"]


def many(rng: np.random.Generator, queries: int, passages: int) -> Judged:
    """Queries with two positives each over passages in classes; a passage shares words with others."""
    words = ["Kran", "Hafen", "Boot", "Möwe", "Kai", "Netz"]
    ids = [f"d{n:03}" for n in range(passages)]
    texts = {one: " ".join(rng.choice(words, 3)) for one in ids}
    qrels = {
        f"q{n:02}": dict.fromkeys(map(str, rng.choice(ids, 2, replace=False)), 1) for n in range(queries)
    }
    asked = {query: str(rng.choice(words)) for query in qrels}
    classes = [(one, f"k{n % 30}") for n, one in enumerate(ids)]
    return judged(qrels, texts, queries=asked, classes=classes)


@pytest.mark.parametrize("block", [1, 7, 23, 24, 1000])
def test_blocks_of_queries_change_no_bit(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    where = many(rng, 24, 160)
    asked, sought = random_units(rng, 24, 8), random_units(rng, 160, 8)
    sought[:80] = sought[rng.integers(0, 80, 80)]  # equal scores
    told: list[tuple[int, int]] = []
    runs: dict[str, Callable[[], Rankings]] = {
        "vectors": lambda: search(where, asked, sought, 90, progress=lambda *both: told.append(both)),
        "bm25": lambda: bm25(where, 90),
        **{rule: partial(rank_by_rule, where, rule, 90) for rule in RULES},
    }
    for name, rank in runs.items():
        ((_, complete),) = list(rank())
        with monkeypatch.context() as patch:
            patch.setattr("builders.evaluation.rankings._BLOCK", block)
            pieces = list(rank())
        assert all(part.queries.height <= block for part, _ in pieces), name
        assert pl.concat([run for _, run in pieces]).equals(complete), name
        expected = score_run(where, complete, FACTS, resamples=20)
        assert score(where, iter(pieces), FACTS, resamples=20) == expected, name
        with monkeypatch.context() as patch:
            patch.setattr("builders.evaluation.rankings._BLOCK", block)
            assert (
                score_run(where, complete.sample(fraction=1, shuffle=True, seed=1), FACTS, resamples=20)
                == expected
            )
    assert told[-1] == (24, 24) and len(told) == 1 + -(-24 // block)


def test_only_the_ten_best_cores_count() -> None:
    """The positive's core is at place 10 or 11 among cores, each of two passages."""
    ids = [f"d{n:02}" for n in range(40)]
    run = {"q": {one: float(40 - n) for n, one in enumerate(ids)}}
    classes = [(one, f"k{n // 2}") for n, one in enumerate(ids)]
    for positive, place in (("d19", 10), ("d20", None)):
        where = judged({"q": {positive: 1}}, ids, classes=classes)
        value = per_query(where, run_of(run))["core_ndcg_at_10"].item()
        assert value == pytest.approx(1 / np.log2(place + 1) if place else 0.0)


def test_mteb_differs_at_near_ties_and_nowhere_else(mteb_scores: Scorer) -> None:
    """A product in float32 orders what the same words, or the same text twice, leave equal up to rounding.

    Half of the passages are the same six words in another order, under vectors that are sums of those of
    words: those of words in another order differ in the last bit. The other half is random. A query looks
    into one half. mteb is given scores with the error of float32, and must agree wherever no two passages
    down to the eleventh place lie nearer than that.
    """
    rng = np.random.default_rng(3)
    words = rng.standard_normal((6, 8)).astype(np.float32)
    permuted = [np.add.reduce(words[rng.permutation(6)], axis=0, dtype=np.float32) for _ in range(40)]
    sought = np.zeros((80, 16), np.float32)
    sought[:40, :8], sought[40:, 8:] = permuted, rng.standard_normal((40, 8))
    asked = np.zeros((20, 16), np.float32)
    asked[:10, :8] = permuted[0] + 0.3 * rng.standard_normal((10, 8))
    asked[10:, 8:] = rng.standard_normal((10, 8))
    asked, sought = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (asked, sought))
    ids = [f"d{n:02}" for n in range(80)]
    half = [0] * 10 + [40] * 10
    qrels = {
        f"q{n:02}": {ids[start + int(one)]: 1 for one in rng.choice(40, 8, replace=False)}
        for n, start in enumerate(half)
    }
    where = judged(qrels, ids)
    exact = asked.astype(np.float64) @ sought.astype(np.float64).T
    product = (exact + 1e-7 * rng.standard_normal(exact.shape)).astype(np.float32)
    theirs = mteb_scores(
        {f"q{n:02}": dict(zip(ids, map(float, product[n]), strict=True)) for n in range(20)}, qrels
    ).all_scores
    ours = dict(
        per_query(where, whole(search(where, asked, sought))).select("query_id", "ndcg_at_10").iter_rows()
    )
    best = -np.sort(-exact, axis=1)[:, :11]
    apart = {f"q{n:02}" for n in range(20) if (best[n, :-1] - best[n, 1:]).min() > 1e-6}
    differ = {query for query, value in ours.items() if value != theirs[query]["ndcg_cut_10"]}
    assert len(apart) >= 8
    assert not differ & apart
    assert len(differ) >= 5, "the passages of equal words are ordered by chance there, by id here"


def test_a_result_holds_means_intervals_and_counts() -> None:
    qrels = {f"q{n}": {"a": 1} for n in range(8)}
    run = run_of({query: {"a": 1.0} if n < 4 else {} for n, query in enumerate(qrels)})
    result = score_run(judged(qrels, "abc"), run, FACTS, seed=1, resamples=4000)
    assert (result.config, result.split, result.encoder) == ("garten", "test", FACTS)
    assert (result.queries, result.passages) == (8, 3)
    score = result.scores["mrr_at_10"]
    assert score.value == 0.5
    assert score.low is not None and score.high is not None
    # Half of eight: the binomial's quantiles are 1 and 7 of 8.
    assert (score.low, score.high) == (0.125, 0.875)
    assert result == score_run(judged(qrels, "abc"), run.reverse(), FACTS, seed=1, resamples=4000)


def test_bands_hold_equally_many_queries_and_one_length_never_twice() -> None:
    lengths = [5] * 15 + [7] * 5 + [9] * 11 + [30]
    queries = {f"q{n:02}": "x" * length for n, length in enumerate(lengths)}
    qrels = {query: {"a": 1} for query in queries}
    run = run_of({query: {"a": 1.0} for query in list(queries)[:20]})
    bands = score_run(judged(qrels, "ab", queries=queries), run, FACTS).lengths
    assert [(band.low, band.high, band.queries, band.ndcg_at_10) for band in bands] == [
        (5, 5, 15, 1.0),
        (7, 9, 16, 0.3125),
        (30, 30, 1, 0.0),
    ]


def test_bands_are_ten_at_most() -> None:
    queries = {f"q{n:03}": "ä" * (n + 1) for n in range(300)}
    where = judged({query: {"a": 1} for query in queries}, "ab", queries=queries)
    bands = score_run(where, run_of({}), FACTS, resamples=1).lengths
    assert [(band.low, band.high) for band in bands] == [(30 * n + 1, 30 * n + 30) for n in range(10)]


def test_intervals_are_quantiles_of_resampled_means() -> None:
    values = np.random.default_rng(3).random((7, 2))
    rng = np.random.default_rng(11)
    means = np.array([values[rng.integers(7, size=7)].mean(axis=0) for _ in range(200)])
    expected = np.quantile(means, [0.05, 0.95], axis=0).T
    assert np.allclose(bootstrap(values, seed=11, resamples=200, level=0.9), expected)


def test_intervals_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).random((9, 2))
    whole = bootstrap(values, resamples=100)
    monkeypatch.setattr(metrics, "_CELLS", 9 * 7)
    assert np.array_equal(bootstrap(values, resamples=100), whole)
    assert not np.array_equal(bootstrap(values, seed=43, resamples=100), whole)


def test_intervals_cover_the_true_mean_as_often_as_they_say() -> None:
    rng = np.random.default_rng(5)
    values = rng.beta(2.0, 1.0, size=(80, 400))  # 400 samples of 80 queries; the true mean is 2/3
    low, high = bootstrap(values, resamples=400).T
    covered = np.mean((low <= 2 / 3) & (2 / 3 <= high))
    assert 0.91 <= covered <= 0.98
    assert np.all(low < values.mean(axis=0)) and np.all(values.mean(axis=0) < high)


def test_undecided_pairs_leave_the_ranking_and_others_move_up() -> None:
    qrels, run = {"q": {"b": 1}, "r": {"b": 1}}, {"x": 0.9, "a": 0.8, "b": 0.7}
    undecided = [("q", "x"), ("q", "a"), ("r", "a")]
    found = measures(qrels, dict.fromkeys(qrels, run), undecided=undecided)
    assert found["q"]["ndcg_at_10"] == 0.5
    assert found["q"]["decided_ndcg_at_10"] == 1
    assert found["r"]["decided_ndcg_at_10"] == pytest.approx(1 / np.log2(3))


def test_grades_are_two_for_the_code_of_a_positive_and_one_for_four_digits() -> None:
    codes = {"a": "43414", "b": "43414", "c": "43413", "d": "11101"}
    classes = [
        (one, name) for one, code in codes.items() for name in (f"kldb {code}", f"kldb4 {code[:4]}", "esco x")
    ]
    run = {"d": 0.9, "c": 0.8, "b": 0.7, "a": 0.6}
    found = measures({"q": {"a": 1}}, {"q": run}, classes=classes)["q"]["graded_ndcg_at_10"]
    places = 1 / np.log2(np.arange(2, 6))
    assert found == pytest.approx(places @ [0, 1, 2, 2] / (places @ [2, 2, 1, 0]))


def test_without_codes_or_undecided_pairs_nothing_is_said_of_them() -> None:
    found = measures({"q": {"a": 1}}, {"q": {"a": 1.0}}, classes=[("a", "esco 1")])["q"]
    assert found.keys().isdisjoint({"graded_ndcg_at_10", "decided_ndcg_at_10"})


def test_labelled_is_the_share_of_what_was_found() -> None:
    run = {"a": 0.9, "b": 0.8, "c": 0.7, "x": 0.6}
    assert measures({"q": {"a": 1, "b": 0}}, {"q": run})["q"]["labelled_at_10"] == 0.5


def grouped(hits: dict[str, tuple[str, bool]], name: str = "hand", **options: Any) -> Any:
    """Score queries by id, each of a group, that found their positive or did not."""
    groups = {query: group for query, (group, _) in hits.items()}
    run = run_of({query: {"a": 1.0} if hit else {} for query, (_, hit) in hits.items()})
    where = judged({query: {"a": 1} for query in hits}, "abc", groups=groups)
    return score_run(where, run, EncoderFacts(name=name, kind="dense"), **options)


def test_a_group_is_drawn_whole_and_counts_once_in_the_mean_by_group() -> None:
    hits = {f"q{n}": ("many", True) for n in range(8)} | {"r": ("few", False), "s": ("few", False)}
    found = grouped(hits, resamples=200)
    assert [(one.group, one.queries, one.ndcg_at_10) for one in found.groups] == [
        ("few", 2, 0.0),
        ("many", 8, 1.0),
    ]
    score = found.scores["ndcg_at_10"]
    assert (score.value, score.low, score.high) == (0.8, 0.0, 1.0)
    assert (found.by_group.value, found.by_group.low, found.by_group.high) == (0.5, 0.0, 1.0)


def test_groups_of_one_query_change_no_value() -> None:
    values = np.random.default_rng(3).random((30, 2))
    apart = np.random.default_rng(4).permutation(30)
    order = np.argsort(apart)
    assert np.array_equal(bootstrap(values[order], np.arange(30)), bootstrap(values[order]))
    assert np.allclose(bootstrap(values, apart), bootstrap(values[order]))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=20), st.integers(0, 99))
def test_equal_values_have_an_interval_of_no_width(sizes: list[int], seed: int) -> None:
    owners = np.repeat(np.arange(len(sizes)), sizes)
    assert np.allclose(bootstrap(np.full((len(owners), 1), 0.4), owners, seed=seed, resamples=20), 0.4)


def test_a_query_without_a_group_is_a_group_of_its_own() -> None:
    where = judged({"q": {"a": 1}, "r": {"a": 1}}, "ab", groups={"q": "g"})
    found = score_run(where, run_of({}), FACTS, resamples=2)
    assert [one.group for one in found.groups] == ["g", "query r"]


def test_encoders_are_compared_group_by_group() -> None:
    rng = np.random.default_rng(2)
    first = {f"q{n:03}": (f"g{n // 4:02}", bool(rng.random() < 0.5)) for n in range(200)}
    better = {query: (group, hit or n % 3 == 0) for n, (query, (group, hit)) in enumerate(first.items())}
    one, other, same = grouped(better, "one"), grouped(first, "other"), grouped(first, "same")
    rule = one.model_copy(update={"encoder": FACTS})
    found = differences([one, other, rule, same])
    assert [(each.first.name, each.second.name) for each in found] == [
        ("one", "other"),
        ("one", "same"),
        ("other", "same"),
    ]
    apart = found[0].ndcg_at_10
    assert apart.value == pytest.approx(
        one.scores["ndcg_at_10"].value - other.scores["ndcg_at_10"].value, abs=1.1e-5
    )
    assert apart.low is not None and apart.low > 0
    assert [each.verdict for each in found] == ["differ", "differ", "cannot be told apart"]
    assert (found[2].ndcg_at_10.low, found[2].ndcg_at_10.high) == (0, 0)


def test_encoders_of_other_queries_are_not_compared() -> None:
    one, other = grouped({"q": ("g", True)}), grouped({"q": ("h", True)})
    with pytest.raises(UsageError, match="have other queries"):
        difference(one, other)


def covered_by_groups(worlds: int, seed: int) -> tuple[float, float]:
    """Return how often intervals by group, and by query, hold the mean of the world the groups are from.

    As in the test split of job postings there are 290 groups, few of them large (a Pareto tail, the largest
    about 37 queries), and queries of a group are nearly as hard as each other.
    """
    rng = np.random.default_rng(seed)

    def drawn(groups: int) -> tuple[Any, Any]:
        sizes = np.minimum(1 + rng.pareto(1.3, groups), 37).astype(int)
        hard = rng.beta(0.5, 1.5, groups)
        owners = np.repeat(np.arange(groups), sizes)
        return owners, np.clip(hard[owners] + rng.normal(0, 0.1, len(owners)), 0, 1)

    _, everything = drawn(400_000)
    truth, hits = everything.mean(), np.zeros(2)
    for _ in range(worlds):
        owners, values = drawn(290)
        for which, groups in enumerate((owners, None)):
            ((low, high),) = bootstrap(values[:, None], groups, seed=int(rng.integers(2**31)), resamples=400)
            hits[which] += low <= truth <= high
    by_group, by_query = hits / worlds
    return float(by_group), float(by_query)


def test_intervals_hold_when_groups_are_drawn_again() -> None:
    by_group, by_query = covered_by_groups(120, seed=7)
    assert by_group >= 0.88
    assert by_query < 0.8


@pytest.mark.long
def test_intervals_hold_when_groups_are_drawn_again_a_thousand_times() -> None:
    by_group, by_query = covered_by_groups(1000, seed=8)
    assert by_group >= 0.9
    assert by_query < 0.8

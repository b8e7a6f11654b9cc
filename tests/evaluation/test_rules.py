from __future__ import annotations

from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.evaluation.metrics import CHANCES, chance, per_query
from builders.evaluation.rankings import Judged, rank_by_rule
from tests.checks.kit import unhurried
from tests.evaluation.runs import Graded, judged, whole

METRICS = ("ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100")


def scattered(queries: int, passages: int, *, seed: int = 7, most: int = 4) -> Judged:
    """Return queries whose positives are drawn, with ids that say nothing."""
    rng = np.random.default_rng(seed)
    ids = [f"d{n:04}" for n in range(passages)]
    qrels = {
        f"q{n:04}": {str(each): 1 for each in rng.choice(ids, rng.integers(1, most + 1), replace=False)}
        for n in range(queries)
    }
    return judged(qrels, ids)


def means(where: Judged, rule: str, seed: int = 42) -> dict[str, float]:
    table = per_query(where, whole(rank_by_rule(where, rule, seed=seed)))
    return table.select(pl.col(METRICS).mean()).row(0, named=True)


def test_an_oracle_is_perfect() -> None:
    where = scattered(40, 90, most=9)
    found = means(where, "oracle")
    assert [found[name] for name in METRICS] == [1.0, 1.0, 1.0, 1.0]
    graded = judged({"q": {"a": 1, "b": 3, "c": 2, "d": 0}}, "abcd")
    assert means(graded, "oracle")["ndcg_at_10"] == 1
    assert whole(rank_by_rule(graded, "oracle"))["passage_id"].to_list() == ["b", "c", "a"]


def test_an_oracle_finds_no_positive_that_is_not_in_the_corpus() -> None:
    assert means(judged({"q1": {"a": 1}, "q2": {"weg": 1}}, "ab"), "oracle")["mrr_at_10"] == 0.5


@pytest.mark.parametrize("seed", range(5))
def test_a_random_order_is_near_chance(seed: int) -> None:
    where = scattered(300, 200, seed=seed)
    found, expected = means(where, "random", seed=seed), chance(where)
    for name in METRICS:
        assert abs(found[name] - expected[name]) < 4 * expected[f"{name}_error"], name


def test_one_order_for_all_is_at_chance_where_ids_say_nothing() -> None:
    for seed in range(5):
        where = scattered(300, 200, seed=seed)
        found, expected = means(where, "constant"), chance(where)
        for name in ("ndcg_at_10", "recall_at_10", "recall_at_100"):
            assert abs(found[name] - expected[name]) < 4 * expected[f"{name}_shared_error"], name


def test_one_order_for_all_is_far_above_chance_where_ids_tell() -> None:
    ids = [f"d{n:03}" for n in range(200)]
    where = judged({f"q{n:03}": {ids[-1 - n % 8]: 1} for n in range(100)}, ids)
    found, expected = means(where, "constant"), chance(where)
    assert found["ndcg_at_10"] > expected["ndcg_at_10"] + 8 * expected["ndcg_at_10_shared_error"]


def test_a_constant_score_leaves_the_larger_ids_first_and_a_random_one_none() -> None:
    where = scattered(3, 50)
    run = whole(rank_by_rule(where, "constant", k=4))
    assert run["passage_id"].to_list() == ["d0049", "d0048", "d0047", "d0046"] * 3
    assert run["score"].n_unique() == 1
    drawn = whole(rank_by_rule(where, "random", k=4))
    assert drawn.height == 12 and not drawn.is_duplicated().any()
    assert drawn.equals(whole(rank_by_rule(where, "random", k=4)))
    assert not drawn.equals(whole(rank_by_rule(where, "random", k=4, seed=1)))
    assert {
        len(set(part["passage_id"])) for part in whole(rank_by_rule(where, "random")).partition_by("query_id")
    } == {50}


@pytest.mark.parametrize(
    "qrels",
    [
        {"q1": {"a": 1}},
        {"q1": {"a": 1, "b": 1}, "q2": {"b": 1}, "q3": {"weg": 1, "c": 1}},
        {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}},
        {"q1": dict.fromkeys("abcdef", 1)},
    ],
)
def test_chance_is_the_mean_over_all_orders(qrels: Graded) -> None:
    ids = "abcdef"
    where, expected = judged(qrels, ids), chance(judged(qrels, ids))
    # One query per order and question: every possible ranking is scored by the metrics themselves.
    orders = list(permutations(ids))
    names = {(query, n): f"{query}-{n:03}" for query in qrels for n in range(len(orders))}
    every = judged({names[query, n]: qrels[query] for query, n in names}, ids)
    run = pl.DataFrame({
        "query_id": [name for name in names.values() for _ in ids],
        "passage_id": [passage for _, n in names for passage in orders[n]],
        "score": np.tile(np.arange(len(ids), 0, -1, dtype=np.float32), len(names)),
    })
    table = per_query(every, run)
    for name in METRICS:
        scores = table[name].to_numpy().reshape(len(qrels), len(orders))
        assert expected[name] == pytest.approx(scores.mean(), abs=1e-12)
        own = np.sqrt(scores.var(axis=1).sum()) / len(qrels)
        assert expected[f"{name}_error"] == pytest.approx(own, abs=1e-7)
        if name != "mrr_at_10":
            assert expected[f"{name}_shared_error"] == pytest.approx(scores.mean(axis=0).std(), abs=1e-7)
    assert where.corpus.height == len(ids) and expected.keys() == CHANCES


def test_chance_of_more_passages_than_are_looked_at() -> None:
    """One positive of 400: closed forms by hand."""
    expected = chance(scattered(1, 400, most=1))
    assert expected["recall_at_10"] == pytest.approx(10 / 400)
    assert expected["recall_at_100"] == pytest.approx(100 / 400)
    assert expected["mrr_at_10"] == pytest.approx(sum(1 / rank for rank in range(1, 11)) / 400)
    assert expected["ndcg_at_10"] == pytest.approx(sum(1 / np.log2(1 + rank) for rank in range(1, 11)) / 400)
    assert expected["recall_at_10_error"] == pytest.approx(np.sqrt(0.025 * 0.975))


def test_chance_agrees_with_random_orders_where_many_passages_are_positives() -> None:
    """Beyond ten positives the ideal ends at the tenth rank."""
    ids = [f"d{n:03}" for n in range(150)]
    where = judged({f"q{n:04}": dict.fromkeys(ids[:40], 1) for n in range(1500)}, ids)
    table, expected = per_query(where, whole(rank_by_rule(where, "random"))), chance(where)
    for name in METRICS:
        error = expected[f"{name}_error"]
        assert abs(float(table[name].to_numpy().mean()) - expected[name]) < 4 * error
        assert float(table[name].to_numpy().std()) / np.sqrt(1500) == pytest.approx(error, rel=0.1)


@unhurried
@given(st.integers(1, 8), st.integers(1, 130), st.integers(0, 1000))
def test_chance_is_a_share_and_its_errors_are_not_negative(queries: int, passages: int, seed: int) -> None:
    where = scattered(queries, passages, seed=seed, most=min(12, passages))
    expected = chance(where)
    for name in METRICS:
        assert 0 < expected[name] <= 1 + 1e-12
        assert 0 <= expected[f"{name}_error"] <= 0.5
    if passages <= 10:
        assert expected["recall_at_10"] == pytest.approx(1) and expected["recall_at_10_error"] < 1e-6
    if queries == 1:
        assert expected["ndcg_at_10_error"] == pytest.approx(expected["ndcg_at_10_shared_error"])

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import UsageError
from builders.mining.recipe import (
    REASONS,
    choose,
    exclusions,
    guards,
    judge,
    label,
    require_valid,
)
from builders.spec import Recipe
from tests.mining.samples import corpus, pairs, queries

KNOWN = {"reason": pl.String}


def labelled(
    scores: list[float], guard: float, reasons: dict[int, str] | None = None, query: str = "q-1"
) -> pl.DataFrame:
    """One query's ranking; `reasons` by 1-based rank."""
    passages = [f"d-{rank:02}" for rank in range(1, len(scores) + 1)]
    ranking = pl.DataFrame({
        "query_id": query,
        "passage_id": passages,
        "rank": pl.Series(range(1, len(scores) + 1), dtype=pl.Int32),
        "score": scores,
    })
    known = [(query, passages[rank - 1], reason) for rank, reason in (reasons or {}).items()]
    excluded = pl.DataFrame(known, schema={**pairs().schema, **KNOWN}, orient="row")
    guarded = pl.DataFrame({"query_id": [query], "positives": [1], "lowest": [guard]})
    return label(ranking, excluded, guarded)


def kept_ranks(frame: pl.DataFrame, recipe: Recipe) -> list[int]:
    return choose(frame, recipe).kept["rank"].to_list()


def test_a_score_on_the_ceiling_stays_and_the_next_float_above_goes() -> None:
    recipe = Recipe(margin=0.0625)
    above = math.nextafter(0.6875, 1.0)
    frame = labelled([0.75, above, 0.6875, 0.5], guard=0.75, reasons={1: "positive"})
    assert kept_ranks(frame, recipe) == [3, 4]


def test_scores_are_compared_in_float64_before_they_become_float32() -> None:
    frame = labelled([0.9, 0.85 + 1e-12, 0.85 - 1e-12], guard=0.9, reasons={1: "positive"})
    assert kept_ranks(frame, Recipe()) == [3]


def test_depth_counts_all_passages_or_candidates_only() -> None:
    scores = [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]
    reasons = {1: "positive", 3: "positive", 4: "undecided"}
    frame = labelled(scores, guard=0.7, reasons=reasons)
    by_all = judge(frame, Recipe(depth=4, keep=1, margin=0.0))
    assert by_all["rank"].to_list() == [1, 2, 3, 4]
    # Of the candidates, 2 is too close, 4 is undecided; both count.
    by_candidates = judge(frame, Recipe(depth=3, keep=1, margin=0.0, depth_counts="candidates"))
    assert by_candidates["rank"].to_list() == [1, 2, 3, 4, 5]
    assert by_candidates["reason"].to_list() == ["positive", "margin", "positive", "undecided", None]


def test_depth_in_candidates_ends_at_the_last_candidate() -> None:
    frame = labelled([0.9, 0.3, 0.2, 0.1], guard=0.2, reasons={1: "positive", 3: "positive"})
    judged = judge(frame, Recipe(depth=1, keep=1, depth_counts="candidates"))
    assert judged["rank"].to_list() == [1, 2]


def test_keep_takes_the_first_and_names_the_rest() -> None:
    frame = labelled([0.9, 0.5, 0.4, 0.3, 0.2], guard=0.9, reasons={1: "positive", 3: "undecided"})
    judged = judge(frame, Recipe(keep=2, depth=5))
    assert judged["reason"].to_list() == ["positive", None, "undecided", None, "beyond_keep"]


def test_a_relative_margin_stays_below_a_negative_positive_score() -> None:
    scores = [-0.5, -0.5, -0.53125, -0.5625, -0.5626]
    recipe = Recipe(margin=0.125, margin_kind="relative")
    assert kept_ranks(labelled(scores, guard=-0.5, reasons={1: "positive"}), recipe) == [4, 5]
    scores = [0.5, 0.5, 0.46875, 0.4375, 0.4]
    assert kept_ranks(labelled(scores, guard=0.5, reasons={1: "positive"}), recipe) == [4, 5]


def test_each_query_is_counted_alone() -> None:
    one = labelled([0.9, 0.5, 0.4], guard=0.9, reasons={1: "positive"})
    other = labelled([0.8, 0.3, 0.2], guard=0.8, reasons={1: "positive"}, query="q-2")
    both = choose(pl.concat([one, other]), Recipe(keep=1)).kept
    assert both.rows() == [("q-1", "d-02", 2, 0.5, 0.9), ("q-2", "d-02", 2, 0.3, 0.8)]


def test_guards_are_the_lowest_or_the_highest_positive() -> None:
    positives = pairs(("q-1", "a"), ("q-1", "b"), ("q-1", "c"), ("q-2", "a")).with_columns(
        score=pl.Series([0.7, 0.6, 0.9, 0.1])
    )
    found = guards(positives).sort("query_id")
    assert found.columns == ["query_id", "positives", "lowest", "highest"]
    assert found.rows() == [("q-1", 3, 0.6, 0.9), ("q-2", 1, 0.1, 0.1)]


def test_exclusions_name_the_first_reason_that_fits() -> None:
    asked = queries({"q-1": "Wer backt Brot?", "q-2": "Wo liegt Kiel?"})
    told = pl.DataFrame(
        [
            ("a", "", "Der Bäcker  backt\u00a0Brot."),
            ("b", "", " Der Ba\u0308cker backt Brot. "),  # decomposed, other white space
            ("c", "Beruf", "Der Bäcker backt Brot."),  # another title
            ("d", "Der Bäcker", "backt Brot."),  # the same once encoded
            ("e", "", "Wer backt Brot?"),
            ("f", "Wer", "backt Brot?"),
            ("g", "", "der bäcker backt brot."),  # another case is another text
            ("h", "", "Der Müller mahlt Korn."),
            ("i", "Brot", ""),
            ("j", "Kiel", ""),
        ],
        schema=["passage_id", "title", "text"],
        orient="row",
    )
    excluded = exclusions(
        pairs(("q-1", "a"), ("q-1", "e"), ("q-2", "i")),
        pairs(("q-1", "c"), ("q-1", "h"), ("q-1", "a")),
        asked,
        told,
    )
    assert sorted(excluded.rows()) == [
        ("q-1", "a", "positive"),
        ("q-1", "b", "positive_text"),
        ("q-1", "c", "undecided"),
        ("q-1", "d", "positive_text"),
        ("q-1", "e", "positive"),
        ("q-1", "f", "positive_text"),
        ("q-1", "h", "undecided"),
        ("q-2", "i", "positive"),
    ]


def test_the_query_s_own_text_is_excluded() -> None:
    asked = queries({"q-1": "Wer backt Brot?", "q-2": "Wo liegt Kiel?"})
    told = corpus({"a": "Wer  backt Brot?", "b": "An der Förde."})
    excluded = exclusions(pairs(("q-2", "b")), pairs(), asked, told)
    assert sorted(excluded.rows()) == [("q-1", "a", "query_text"), ("q-2", "b", "positive")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"depth": 0}, "depth 0 is below 1"),
        ({"keep": 0}, "keep 0 is below 1"),
        ({"keep": 11}, "keep 11 exceeds depth 10"),
        ({"margin": -0.1}, "margin -0.1 is negative"),
        ({"margin": math.nan}, "margin nan"),
        ({"margin": math.inf}, "margin inf"),
        ({"guard": "mean"}, "guard 'mean' is unknown"),
        ({"floor": math.nan}, "floor nan is no number"),
        ({"suspicious_below": math.inf}, "suspicious_below inf is no number"),
        ({"depth": None, "keep": 0}, "keep 0 is below 1"),
        ({"margin_kind": "percent"}, "margin_kind 'percent' is unknown"),
        ({"depth_counts": "some"}, "depth_counts 'some' is unknown"),
    ],
)
def test_recipes_that_cannot_be_meant_are_refused(change: dict[str, Any], message: str) -> None:
    require_valid(Recipe())
    with pytest.raises(UsageError, match=message):
        require_valid(replace(Recipe(), **change))


@settings(deadline=None)
@given(
    scores=st.lists(st.floats(-1, 1), min_size=1, max_size=30),
    reasons=st.dictionaries(st.integers(1, 30), st.sampled_from(REASONS[:4])),
    guard=st.floats(-1, 1),
    depth=st.integers(1, 40),
    keep=st.integers(1, 8),
    margin=st.floats(0, 0.5),
    counts=st.sampled_from(["all", "candidates"]),
    kind=st.sampled_from(["absolute", "relative"]),
)
def test_every_passage_looked_at_is_kept_or_has_a_reason(
    scores: list[float],
    reasons: dict[int, str],
    guard: float,
    depth: int,
    keep: int,
    margin: float,
    counts: Any,
    kind: Any,
) -> None:
    recipe = Recipe("any", depth, counts, margin, kind, "lowest", keep)
    scores = sorted(scores, reverse=True)
    reasons = {rank: reason for rank, reason in reasons.items() if rank <= len(scores)}
    judged = judge(labelled(scores, guard, reasons), recipe)
    kept = judged.filter(pl.col("reason").is_null())
    assert set(judged["reason"].drop_nulls()) <= set(REASONS)
    assert judged["rank"].to_list() == list(range(1, judged.height + 1))
    assert kept.height <= keep
    assert not set(kept["rank"].to_list()) & set(reasons)
    assert judged["score"].to_list() == scores[: judged.height]
    given_up = judged.filter(pl.col("reason") == "beyond_keep")
    assert not given_up.height or kept.height == keep

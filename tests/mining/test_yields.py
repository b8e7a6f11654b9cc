from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.lock.lock import MiningReport
from builders.mining import mine, summary_lines
from builders.spec import Recipe
from tests.mining.samples import corpus, pairs, queries, unit, vectors

# Two queries on two axes; scores in sixteenths.
#            q-1  q-2
PASSAGES = {
    "d-a": (14, 0),
    "d-b": (12, 8),
    "d-c": (12, 0),
    "d-d": (8, 12),
    "d-e": (0, 15),
    "d-f": (-8, 0),
    "d-g": (-8, -8),
}
QRELS = pairs(("q-1", "d-a"), ("q-2", "d-e"), ("q-2", "d-d"))


def report(recipe: Recipe, qrels: pl.DataFrame = QRELS) -> dict[str, Any]:
    return reported(recipe, qrels).model_dump(mode="json")


def reported(recipe: Recipe, qrels: pl.DataFrame = QRELS) -> MiningReport:
    result = mine(
        queries({"q-1": "Wer backt?", "q-2": "Wer mahlt?", "q-3": "Wer kocht?"}),
        corpus({name: f"Text {name}" for name in PASSAGES}),
        qrels,
        pairs(),
        vectors([unit(16, 0), unit(0, 16), unit(0, 0)]),
        vectors([unit(*sixteenths) for sixteenths in PASSAGES.values()]),
        recipe,
    )
    return result.report


def test_figures_of_a_small_case() -> None:
    # q-1 (guard 14/16): b and c tie at 12/16, of which keep 1 takes b by id. q-2 (guard 12/16): b at 8/16.
    found = report(Recipe(depth=3, keep=1))
    assert found["queries"] == 3
    assert found["queries_without_positives"] == 1
    assert found["negatives"] == 2
    assert found["yield"] == {"any": 2, "full": 2, "any_share": 0.666667, "full_share": 0.666667}
    assert found["by_count"] == {"0": 1, "1": 2}
    assert found["by_positives"] == [
        {"positives": "0", "queries": 1, "by_count": {"0": 1, "1": 0}},
        {"positives": "1", "queries": 1, "by_count": {"0": 0, "1": 1}},
        {"positives": "2", "queries": 1, "by_count": {"0": 0, "1": 1}},
    ]
    assert found["looked_at"] == 6
    assert found["dropped"]["positive"] == 3
    assert found["dropped"]["beyond_keep"] == 1
    assert found["ties"] == {"depth": 0, "keep": 1}
    assert found["reuse"] == {"passages": 1, "most": 2, "mean": 2.0}
    assert found["others_positives"] == {"negatives": 0, "share": 0.0}
    assert found["scores"]["negative"]["max"] == 0.75
    assert found["scores"]["guard"]["min"] == 0.75
    assert found["scores"]["gap"]["min"] == 0.125
    assert found["scores"]["gap"]["max"] == 0.25
    # Over all seven passages: q-1 from 14/16 to -8/16, q-2 from 15/16 to -8/16.
    assert found["top_spread"]["min"] == 1.375
    assert found["top_spread"]["max"] == 1.4375


def test_distances_from_the_mean() -> None:
    scores = np.array(list(PASSAGES.values())) / 16
    found = report(Recipe(depth=7, keep=7, margin=0.0))["distance_from_mean"]
    # q-1 keeps all but d-a, q-2 all but d-d and d-e.
    kept = [np.delete(scores[:, 0], 0), np.delete(scores[:, 1], [3, 4])]
    distances = [part - scores[:, axis].mean() for axis, part in enumerate(kept)]
    everything = np.concatenate(distances)
    in_deviations = np.concatenate([part / scores[:, axis].std() for axis, part in enumerate(distances)])
    assert found["below_mean"] == (everything < 0).sum()
    assert found["cosine"]["mean"] == pytest.approx(everything.mean(), abs=1e-6)
    assert found["cosine"]["min"] == pytest.approx(everything.min(), abs=1e-6)
    assert found["deviations"]["max"] == pytest.approx(in_deviations.max(), abs=1e-6)


def test_negatives_that_answer_another_query() -> None:
    found = report(Recipe(depth=7, keep=7, margin=0.0))
    # q-1 keeps d-d and d-e, both positives of q-2; q-2 keeps d-a.
    assert found["negatives"] == 11
    assert found["others_positives"] == {"negatives": 3, "share": 0.272727}
    assert found["reuse"] == {"passages": 7, "most": 2, "mean": 1.571429}


def test_ties_at_the_end_of_the_depth() -> None:
    # q-1: ranks 2 and 3 tie. q-2: ranks 4 to 6 (a, c, f) tie.
    assert report(Recipe(depth=2, keep=2))["ties"] == {"depth": 1, "keep": 0}
    assert report(Recipe(depth=4, keep=4))["ties"] == {"depth": 1, "keep": 0}
    assert report(Recipe(depth=7, keep=7))["ties"] == {"depth": 0, "keep": 0}


def test_some_negatives_are_not_all() -> None:
    found = report(Recipe(depth=3, keep=2))
    assert found["by_count"] == {"0": 1, "1": 1, "2": 1}
    assert found["yield"] == {"any": 2, "full": 1, "any_share": 0.666667, "full_share": 0.333333}


@pytest.mark.parametrize("keep", [1, 2])
def test_what_other_recipes_would_have_kept(keep: int) -> None:
    found = report(Recipe(depth=3, keep=keep, margin=0.3))
    cases = {(case["guard"], case["depth"], case["margin"]): case for case in found["what_if"]}
    assert {key[0] for key in cases} == {"lowest", "highest"}
    own = cases["lowest", 3, 0.3]
    assert own["any"] == found["yield"]["any"] == 0
    for (guard, depth, margin), case in cases.items():
        alone = report(Recipe(depth=depth, keep=keep, margin=margin, guard=guard))
        assert case["any"] == alone["yield"]["any"]
        assert case["full"] == alone["yield"]["full"]
        assert case["negatives"] == alone["negatives"]
    assert cases["highest", 3, 0.3]["any"] == 1
    assert cases["lowest", 10, 0.0]["any"] == 2


def test_variants_that_look_less_deep_than_they_keep_are_left_out() -> None:
    depths = {case["depth"] for case in report(Recipe(depth=30, keep=15))["what_if"]}
    assert depths == {20, 30, 50, 100}


def test_it_is_plain_json_even_when_empty() -> None:
    for qrels in (QRELS, QRELS.clear()):
        found = report(Recipe(), qrels)
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_summary_says_the_yield_first() -> None:
    lines = summary_lines(reported(Recipe(depth=3, keep=1)))
    assert lines[0] == "2 of 3 queries got a hard negative (66.7%), 2 the full 1 (66.7%)"
    assert len(lines) <= 12
    assert any("1 queries have no positive" in line for line in lines)


def test_the_summary_names_a_better_variant_of_a_starving_recipe() -> None:
    lines = summary_lines(reported(Recipe(depth=3, keep=1, margin=0.3)))
    assert lines[0].startswith("0 of 3 queries")
    assert lines[-1].startswith("best of the variants looked at: 2 queries (guard lowest, depth 3, margin 0")
    assert summary_lines(reported(Recipe(), QRELS.clear()))[0].startswith("0 of 3 queries")

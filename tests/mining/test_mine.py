from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from threadpoolctl import threadpool_limits

from builders.errors import EncoderError, UsageError
from builders.mining import Mined, mine
from builders.spec import Recipe
from builders.tables import Kind, rowless
from tests.mining.samples import Float32s, corpus, pairs, queries, random_units, unit, vectors

QUERIES = queries({"q-1": "Wer repariert Dächer?", "q-2": "Wer streicht Wände?"})
QUERY_VECTORS = vectors([unit(16, 0), unit(0, 16)])
# Scores with q-1 in sixteenths, falling with the letter; q-2 scores 0 with all but the last.
SCORES = dict(zip("abcdefghijkl", range(15, 3, -1), strict=True))
TEXTS = {f"d-{letter}": f"Ein Dach mit {score} Ziegeln." for letter, score in SCORES.items()}
TEXTS |= {"d-f": TEXTS["d-d"], "d-g": "Wer repariert Dächer?", "d-z": "Eine Wand."}
CORPUS = corpus(TEXTS)
PASSAGE_VECTORS = vectors([*(unit(score, 0) for score in SCORES.values()), unit(0, 15)])
QRELS = pairs(("q-1", "d-a"), ("q-1", "d-d"), ("q-2", "d-z"))
UNDECIDED = pairs(("q-1", "d-c"))
TIE = Recipe(margin=0.0625)


def mined(recipe: Recipe, **changes: Any) -> Mined:
    inputs: dict[str, Any] = {
        "queries": QUERIES,
        "corpus": CORPUS,
        "qrels": QRELS,
        "undecided": UNDECIDED,
        "query_vectors": QUERY_VECTORS,
        "passage_vectors": PASSAGE_VECTORS,
    }
    return mine(**(inputs | changes), recipe=recipe)


def of_first(result: Mined) -> list[tuple[Any, ...]]:
    return result.negatives.filter(pl.col("query_id") == "q-1").drop("query_id").rows()


def test_the_lowest_positive_guards_and_ranks_count_all_passages() -> None:
    # Guard d-d at 12/16; d-e scores 11/16, exactly the guard less the margin, and stays.
    assert of_first(mined(TIE)) == [
        ("d-e", 5, 0.6875, 0.75),
        ("d-h", 8, 0.5, 0.75),
        ("d-i", 9, 0.4375, 0.75),
        ("d-j", 10, 0.375, 0.75),
    ]


def test_the_highest_positive_guards_when_asked() -> None:
    # Guard d-a at 15/16; d-b is exactly on the ceiling of 14/16.
    assert of_first(mined(Recipe(margin=0.0625, guard="highest", keep=3))) == [
        ("d-b", 2, 0.875, 0.9375),
        ("d-e", 5, 0.6875, 0.9375),
        ("d-h", 8, 0.5, 0.9375),
    ]


def test_depth_in_candidates_looks_past_the_positives() -> None:
    found = of_first(mined(Recipe(margin=0.0625, depth_counts="candidates", keep=9)))
    assert [row[:2] for row in found] == [
        ("d-e", 5),
        ("d-h", 8),
        ("d-i", 9),
        ("d-j", 10),
        ("d-k", 11),
        ("d-l", 12),
    ]


def test_the_funnel_counts_each_reason() -> None:
    report = mined(Recipe(margin=0.0625, keep=3)).report
    # q-1: a, d positive; b margin; c undecided; f, g by text; e, h, i kept; j beyond.
    # q-2: z positive; nine of the others tie at 0, in the order of their ids: a to i.
    assert report.dropped == {
        "positive": 3,
        "undecided": 1,
        "positive_text": 1,
        "query_text": 1,
        "margin": 1,
        "beyond_keep": 7,
    }
    assert report.looked_at == 20
    assert report.negatives == 6
    assert report.looked_at == report.negatives + sum(report.dropped.values())


def test_equal_scores_rank_by_id() -> None:
    second = mined(TIE).negatives.filter(pl.col("query_id") == "q-2")
    assert second["passage_id"].to_list() == ["d-a", "d-b", "d-c", "d-d", "d-e"]
    assert second["rank"].to_list() == [2, 3, 4, 5, 6]


@pytest.mark.parametrize("keep", [2, 5, 9])
def test_any_depth_is_the_deepest_depth_even_among_ties(keep: int) -> None:
    undecided = pairs(("q-1", "d-c"), ("q-2", "d-b"), ("q-2", "d-e"), ("q-2", "d-l"))
    bounded = mined(replace(TIE, depth=len(TEXTS), keep=keep), undecided=undecided)
    unbounded = mined(replace(TIE, depth=None, keep=keep), undecided=undecided)
    assert_frame_equal(bounded.negatives, unbounded.negatives)
    second = unbounded.negatives.filter(pl.col("query_id") == "q-2")
    # All but d-z tie at 0: excluded ones take the ranks of their ids.
    assert second["rank"].to_list() == [2, 4, 5, 7, 8, 9, 10, 11, 12][:keep]
    for part in ("looked_at", "dropped", "by_count", "ties", "distance_from_mean", "scores"):
        assert getattr(bounded.report, part) == getattr(unbounded.report, part)
    assert unbounded.report.ties["keep"] == (keep < 9)


def test_columns_are_those_that_are_published() -> None:
    negatives = mined(TIE).negatives
    assert negatives.columns == rowless(Kind.HARD_NEGATIVES).columns
    assert negatives.dtypes == [pl.String, pl.String, pl.Int32, pl.Float32, pl.Float32]


def test_the_order_of_the_inputs_does_not_matter() -> None:
    plain = mined(TIE)
    rng = np.random.default_rng(0)
    asked, told = rng.permutation(2)[::-1].copy(), rng.permutation(len(TEXTS))
    shuffled = mined(
        TIE,
        queries=QUERIES[asked.tolist()],
        query_vectors=QUERY_VECTORS[asked],
        corpus=CORPUS[told.tolist()],
        passage_vectors=PASSAGE_VECTORS[told],
        qrels=pl.concat([QRELS.reverse(), QRELS]),
        undecided=pl.concat([UNDECIDED, UNDECIDED]),
    )
    assert_frame_equal(plain.negatives, shuffled.negatives)
    assert plain.report == shuffled.report


def test_threads_leave_rows_and_report_alone() -> None:
    rng = np.random.default_rng(2)
    passages = random_units(rng, 3000, 96)
    asked = (passages[:400] + random_units(rng, 400, 96)) / np.sqrt(2).astype(np.float32)
    asked = (asked / np.linalg.norm(asked, axis=1, keepdims=True)).astype(np.float32)
    results = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            results.append(
                mined(
                    Recipe(),
                    queries=queries({f"q-{i:04}": f"Frage {i}" for i in range(400)}),
                    query_vectors=asked,
                    corpus=corpus({f"d-{i:04}": f"Antwort {i}" for i in range(3000)}),
                    passage_vectors=passages,
                    qrels=pairs(*((f"q-{i:04}", f"d-{i:04}") for i in range(400))),
                    undecided=pairs(),
                )
            )
    assert results[0].negatives.height > 1000
    assert_frame_equal(results[0].negatives, results[1].negatives, check_exact=True)
    assert results[0].report == results[1].report


def test_a_query_without_positives_gets_nothing_and_is_counted() -> None:
    result = mined(TIE, qrels=QRELS.filter(pl.col("query_id") == "q-1"))
    assert result.negatives["query_id"].unique().to_list() == ["q-1"]
    assert result.report.queries_without_positives == 1
    assert result.report.by_count == {"0": 1, "1": 0, "2": 0, "3": 0, "4": 1, "5": 0}
    nobody = mined(TIE, qrels=QRELS.clear())
    assert nobody.negatives.is_empty()
    assert nobody.report.queries_without_positives == 2


def test_fewer_passages_than_the_depth() -> None:
    result = mined(TIE, corpus=CORPUS[[0, 3, 7, 12]], passage_vectors=PASSAGE_VECTORS[[0, 3, 7, 12]])
    assert of_first(result) == [("d-h", 3, 0.5, 0.75), ("d-z", 4, 0.0, 0.75)]


def test_a_positive_beyond_the_depth_still_guards() -> None:
    result = mined(Recipe(depth=3, keep=3), qrels=pairs(("q-1", "d-l"), ("q-2", "d-z")))
    # d-l ranks twelfth: everything above it is too close.
    assert of_first(result) == []
    assert result.report.dropped["margin"] == 2


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    mined(TIE, **{"progress": lambda done, total: seen.append((done, total))})
    assert seen == [(1, 1)]


def spoiled() -> Float32s:
    spoilt = PASSAGE_VECTORS.copy()
    spoilt[2] = np.nan
    return spoilt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"passage_vectors": spoiled()}, "passages: 1 hold NaN .* row 2"),
        ({"query_vectors": QUERY_VECTORS[:1]}, "queries: 2 rows, 1 vectors"),
        ({"query_vectors": QUERY_VECTORS.astype(np.float64)}, "float64"),
    ],
)
def test_unusable_vectors_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(EncoderError, match=message):
        mined(TIE, **change)


def test_a_recipe_that_cannot_be_meant_is_refused() -> None:
    with pytest.raises(UsageError, match="keep 5 exceeds depth 3"):
        mined(Recipe(depth=3))

from __future__ import annotations

from typing import Literal

import polars as pl

from builders.evaluation.published import Compared
from builders.evaluation.results import (
    ClusteringResult,
    EncoderFacts,
    LevelScore,
    RetrievalResult,
    Score,
    SetScore,
)
from builders.evaluation.statistics import ConfigStatistics, _Overlap
from builders.evaluation.views import (
    cells,
    clustering,
    filled,
    retrieval,
    retrieval_scores,
    summary,
    word_overlap,
)


def clustered(name: str, *levels: str) -> ClusteringResult:
    return ClusteringResult(
        config="garten-clustering-s2s",
        encoder=EncoderFacts(name=name, kind="dense"),
        pipeline="minibatch-kmeans",
        v_measure=0.5,
        spread=0.1,
        levels={level: LevelScore(sets=1, mean=0.5, spread=0.0) for level in levels},
        sets=tuple(SetScore(level=level, rows=9, labels=3, v_measure=0.5, ami=0.0) for level in levels),
    )


def searched(name: str, *scores: str) -> RetrievalResult:
    return RetrievalResult(
        config="garten",
        split="test",
        encoder=EncoderFacts(name=name, kind="dense"),
        queries=1,
        passages=2,
        scores={score: Score(value=0.25) for score in scores},
    )


def test_columns_have_one_order_whatever_comes_first() -> None:
    for levels in (("within", "topic", "fine", "coarse"), ("coarse", "fine", "within", "topic")):
        columns = clustering([clustered("e5", *levels)]).columns[3:]
        assert columns == ["V-measure", "Spread", "coarse sets", "fine sets", "within sets", "topic sets"]
    frame = filled(retrieval([searched("e5", "recall_at_10", "r_precision", "mrr_at_10", "ndcg_at_10")]))
    assert frame.columns[3:] == ["nDCG@10", "MRR@10", "recall@10", "R-precision"]


def test_a_level_or_score_that_a_result_lacks_is_a_dash() -> None:
    rows = cells(clustering([clustered("e5", "coarse"), clustered("bm25", "fine")]))
    assert [row[5:7] for row in rows] == [["0.5000", "–"], ["–", "0.5000"]]


def test_the_published_score_that_tells_most_stands_beside_ours() -> None:
    def beside(verdict: Literal["agrees", "not comparable"], why: str) -> Compared:
        return Compared(
            config="garten", split="test", encoder="e5", pipeline="", metric="ndcg_at_10",
            ours=0.25, published=0.2, difference=0.05, tolerance=0.1,
            verdict=verdict, why=why, model="verein/e5", source="q",
        )  # fmt: skip

    frame = summary([beside("not comparable", "ein Grund"), beside("agrees", "")])
    shown = ["garten test", "e5", "nDCG@10", "0.2500", "0.2000", "+0.0500", "0.1000", "agrees"]
    assert cells(frame) == [shown]


def test_a_plot_of_many_scores_says_in_words_how_many_it_leaves_out() -> None:
    results = [searched(f"modell-{number:02}", "ndcg_at_10") for number in range(15)]
    (block,) = retrieval_scores(results, [])
    assert block.alt.count("nDCG@10 0.250") == 12 and block.alt.endswith("; … and 3 more.")


def test_queries_that_met_their_positives_alone_are_told_so() -> None:
    overlap = _Overlap(pl.Series([0.25, 0.75]), pl.Series([], dtype=pl.Float64), of=2)
    (block,) = word_overlap([ConfigStatistics(config="garten", overlap=overlap)])
    assert block.text == (
        "Of the words of 2 queries, on average 50.0 % stand in a positive, "
        "and every passage that was drawn at random is one."
    )

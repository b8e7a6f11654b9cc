from __future__ import annotations

from typing import Literal

from builders.evaluation.published import Compared
from builders.evaluation.results import (
    ClusteringResult,
    EncoderFacts,
    LevelScore,
    RetrievalResult,
    Score,
    SetScore,
)
from builders.evaluation.scoreboard import scoreboards

HOSTILE = "\x1b[31mrot\nneu" + "x" * 300


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
        (board,) = scoreboards([clustered("e5", *levels)], [])
        assert board.headings[3:9] == ("V-measure", "spread", "coarse", "fine", "within", "topic")
    (board,) = scoreboards([searched("e5", "recall_at_10", "r_precision", "mrr_at_10", "ndcg_at_10")], [])
    assert board.headings[3:7] == ("nDCG@10", "MRR@10", "recall@10", "R-precision")


def test_a_level_or_score_that_a_result_lacks_is_a_dash() -> None:
    (board,) = scoreboards([clustered("e5", "coarse"), clustered("e5", "fine")], [])
    assert [row[5:7] for row in board.rows] == [("0.5000", "–"), ("–", "0.5000")]


def test_a_name_is_one_short_line_of_printable_characters() -> None:
    for board in scoreboards([searched(HOSTILE, "ndcg_at_10"), clustered(HOSTILE, "topic")], []):
        (row,) = board.rows
        assert all(cell.isprintable() and len(cell) < 50 for cell in row)
        assert any(cell.startswith("[31mrot neux") for cell in row)


def test_published_scores_have_a_table_of_their_own() -> None:
    def beside(verdict: Literal["agrees", "not comparable"], why: str) -> Compared:
        return Compared(
            config="garten", split="test", encoder="e5", pipeline="", metric="ndcg_at_10",
            ours=0.25, published=0.2, difference=0.05, tolerance=0.1,
            verdict=verdict, why=why, model="verein/e5", source="q",
        )  # fmt: skip

    results = [searched("e5", "ndcg_at_10"), searched("hashing", "ndcg_at_10")]
    _, board = scoreboards(results, [beside("not comparable", "ein Grund"), beside("agrees", "")])
    assert board.title == "Beside published scores"
    shown = ("garten/test", "e5", "nDCG@10", "0.25000", "0.20000", "+0.05000", "0.100", "agrees")
    assert board.rows == (shown,)

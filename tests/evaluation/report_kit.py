"""Made-up results and tables for reports, with names that try to break out."""

from __future__ import annotations

import polars as pl

from builders.checks.finding import Finding, Severity
from builders.evaluation.published import Compared
from builders.evaluation.report import ReportContent
from builders.evaluation.results import (
    Band,
    ClusteringResult,
    EncoderFacts,
    LevelScore,
    RetrievalResult,
    Score,
    SetScore,
)
from builders.evaluation.statistics import (
    ConfigStatistics,
    _clustering,
    _retrieval,
)

HOSTILE = 'ordner/<script>window.hacked=1</script>|"x" $y^2$ [z](javascript:1)'
E5 = EncoderFacts(name="e5", kind="dense", model="verein/e5", revision="a" * 40, dimensions=384, miner=True)
EVIL = EncoderFacts(name=HOSTILE, kind="dense", model=HOSTILE, dimensions=3)
BM25 = EncoderFacts(name="bm25", kind="lexical", model="bm25s", revision="0.3.16")
RANDOM = EncoderFacts(name="random", kind="rule")


def retrieval(encoder: EncoderFacts, value: float, *, split: str = "test") -> RetrievalResult:
    score = Score(value=value, low=value - 0.05, high=value + 0.05)
    return RetrievalResult(
        config="garten",
        split=split,
        encoder=encoder,
        queries=7,
        passages=9,
        scores={"ndcg_at_10": score, "mrr_at_10": Score(value=value / 2), "recall_at_10": Score(value=1.0)},
        lengths=(
            Band(low=0, high=19, queries=3, ndcg_at_10=value),
            Band(low=20, high=70, queries=4, ndcg_at_10=0.3),
        ),
    )


def clustering(encoder: EncoderFacts, pipeline: str = "minibatch-kmeans") -> ClusteringResult:
    sets = (
        SetScore(level="coarse", rows=80, labels=4, v_measure=0.2, ami=0.0),
        SetScore(level="within:<b>Krimi</b>", rows=30, labels=3, v_measure=0.4, ami=0.0),
        SetScore(level="within:Lyrik", rows=20, labels=2, v_measure=0.6, ami=0.0),
    )
    return ClusteringResult(
        config="beete-clustering-s2s",
        encoder=encoder,
        pipeline=pipeline,
        v_measure=0.4,
        spread=0.1633,
        levels={
            "coarse": LevelScore(sets=1, mean=0.2, spread=0.0),
            "within": LevelScore(sets=2, mean=0.5, spread=0.1),
        },
        sets=sets,
    )


def compared(encoder: EncoderFacts = E5) -> Compared:
    return Compared(
        config="garten",
        split="test",
        encoder=encoder.name,
        metric="ndcg_at_10",
        ours=0.6123,
        published=0.6,
        difference=0.0123,
        tolerance=0.005,
        verdict="differs",
        model="verein/e5",
        source="results | <i>Datei</i>.json",
    )


def content() -> ReportContent:
    """Everything at once, hostile names included."""
    return ReportContent(
        results=(
            retrieval(E5, 0.6123),
            retrieval(EVIL, 0.5),
            retrieval(BM25, 0.4),
            retrieval(RANDOM, 0.0),
            *(clustering(encoder) for encoder in (E5, EVIL, RANDOM)),
            clustering(E5, "umap/hdbscan"),
        ),
        compared=(compared(),),
        findings=(
            Finding("eval-bm25-solves", Severity.NOTE, 3, "<img src=x onerror=x()>| `neu`", config="garten"),
        ),
        statistics=(garden(), beds()),
    )  # fmt: skip


def garden() -> ConfigStatistics:
    queries = pl.DataFrame({
        "query_id": ["a", "b", "c"],
        "text": ["Wo wächst die Rose?", "Wann blüht der Flieder", "Und der Kohl?"],
    })
    corpus = pl.DataFrame({
        "passage_id": ["1", "2", "3", "4"],
        "title": ["Rose", "", "", ""],
        "text": ["Die Rose wächst im Beet.", "Flieder blüht im Mai.", "Der Kohl im Feld.", "Nichts davon."],
    })  # fmt: skip
    qrels = pl.DataFrame({"query_id": ["a", "b", "b"], "passage_id": ["1", "2", "3"]})
    mined = {"hard_negatives": {"0": 2, "5": 1}, "hard_negatives_v0": {"0": 3}}
    return _retrieval(
        "garten", {"train": queries.head(2), "test": queries.tail(1)}, qrels, corpus, mined=mined
    )


def beds() -> ConfigStatistics:
    sets = pl.DataFrame({
        "sentences": [["Tulpe", "Nelke", "Tulpe", "Eiche"], ["Eiche", "Birke"]],
        "labels": [["Blume", "Blume", "Blume", "Baum"], ["Baum", "Strauch"]],
        "level": ["coarse", "within:<b>"],
    })
    return _clustering("beete", {"s2s": sets})

"""Small judged collections and runs, written by hand or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from builders.evaluation.metrics import score
from builders.evaluation.pipelines import MTEB, Vectors
from builders.evaluation.rankings import Judged, Rankings
from builders.evaluation.results import ClusteringResult, EncoderFacts, RetrievalResult
from builders.evaluation.vmeasure import score_pipelines

Graded = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]


def judged(
    qrels: Graded,
    passages: Mapping[str, str] | Sequence[str],
    *,
    queries: Mapping[str, str] | None = None,
    classes: Sequence[tuple[str, str]] | None = None,
    groups: Mapping[str, str] | None = None,
    undecided: Sequence[tuple[str, str]] | None = None,
) -> Judged:
    """Return queries with qrels over passages by id, with their texts or without."""
    texts = (
        passages if isinstance(passages, Mapping) else {passage: f"Text {passage}" for passage in passages}
    )
    asked = queries or {query: f"Frage {query}" for query in qrels}
    return Judged(
        config="garten",
        split="test",
        queries=pl.DataFrame({"query_id": list(asked), "text": list(asked.values())}).sort("query_id"),
        corpus=pl.DataFrame({"passage_id": list(texts), "title": "", "text": list(texts.values())}).sort(
            "passage_id"
        ),
        qrels=_pairs(qrels).with_columns(pl.col("score").cast(pl.Int32)).sort("query_id", "passage_id"),
        classes=pl.DataFrame(classes, schema=["passage_id", "class"], orient="row") if classes else None,
        groups=pl.DataFrame({"query_id": list(groups), "group": list(groups.values())}) if groups else None,
        undecided=pl.DataFrame(undecided, schema=["query_id", "passage_id"], orient="row")
        if undecided
        else None,
    )


def whole(rankings: Rankings) -> pl.DataFrame:
    """Return the run of all queries."""
    return pl.concat([run for _, run in rankings])


def score_run(judged: Judged, run: pl.DataFrame, encoder: EncoderFacts, **options: Any) -> RetrievalResult:
    """Score a whole run, part by part."""
    return score(judged, ((part, run) for part in judged.parts()), encoder, **options)


def score_sets(
    sets: pl.DataFrame,
    texts: pl.Series,
    vectors: Vectors,
    encoder: EncoderFacts,
    *,
    config: str,
    pipeline: str = MTEB,
    seed: int = 42,
) -> ClusteringResult:
    """Cluster each set of a config by one pipeline."""
    (result,) = score_pipelines(sets, texts, vectors, encoder, config=config, pipelines=[pipeline], seed=seed)
    return result


def run_of(run: Run) -> pl.DataFrame:
    return _pairs(run).with_columns(pl.col("score").cast(pl.Float32))


def _pairs(values: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
    rows = [(query, passage, value) for query, found in values.items() for passage, value in found.items()]
    schema = {"query_id": pl.String, "passage_id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")

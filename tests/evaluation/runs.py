"""Small judged collections and runs, written by hand or drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from builders.evaluation.pairs import Judged

Graded = Mapping[str, Mapping[str, int]]
Run = Mapping[str, Mapping[str, float]]


def judged(
    qrels: Graded,
    passages: Mapping[str, str] | Sequence[str],
    *,
    queries: Mapping[str, str] | None = None,
    classes: Sequence[tuple[str, str]] | None = None,
) -> Judged:
    """Return queries with qrels over passages by id, with their texts or without."""
    texts = (
        passages if isinstance(passages, Mapping) else {passage: f"Text {passage}" for passage in passages}
    )
    asked = queries or {query: f"Frage {query}" for query in qrels}
    return Judged(
        config="garten",
        split="test",
        queries=pl.DataFrame({"_id": list(asked), "text": list(asked.values())}).sort("_id"),
        corpus=pl.DataFrame({"_id": list(texts), "title": "", "text": list(texts.values())}).sort("_id"),
        qrels=_pairs(qrels).with_columns(pl.col("score").cast(pl.Int32)).sort("query-id", "corpus-id"),
        classes=pl.DataFrame(classes, schema=["corpus-id", "class"], orient="row") if classes else None,
    )


def run_of(run: Run) -> pl.DataFrame:
    return _pairs(run).with_columns(pl.col("score").cast(pl.Float32))


def _pairs(values: Mapping[str, Mapping[str, float]]) -> pl.DataFrame:
    rows = [(query, passage, value) for query, found in values.items() for passage, value in found.items()]
    schema = {"query-id": pl.String, "corpus-id": pl.String, "score": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")

"""The training view of a retrieval config: a query, a passage relevant to it, and a hard negative."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from builders.errors import UsageError
from builders.spec import PAIR
from builders.tables import Kind, inside, published_path, read_frame
from builders.text.merge import encoded_text


def triplets(
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    qrels: pl.DataFrame,
    negatives: pl.DataFrame,
    *,
    query_prefix: str = "",
    passage_prefix: str = "",
) -> pl.DataFrame:
    """Return one row for each hard negative of each query.

    Positives are dealt in turn: the query's first negative stands with its first positive by id, the second
    with the second, and so on, from the first again where there are fewer. So a query with a hundred
    positives weighs no more than its negatives do. A query without hard negatives has no row.

    Args:
        queries: ``query_id``, ``text`` of one split.
        corpus: ``passage_id``, ``title``, ``text``.
        qrels: ``query_id``, ``passage_id``, ``score`` of the split.
        negatives: ``query_id``, ``passage_id``, ``rank`` of the split.
        query_prefix: Text before each query: "query: " for E5.
        passage_prefix: Text before each passage: "passage: " for E5.

    Returns:
        ``anchor``, ``positive``, ``negative`` str, by query id and rank: the same tables, the same rows.
        Passages are the texts that are encoded: title, a space and text, stripped.

    Raises:
        UsageError: A negative is of a query that is not there or has no positive, a passage is not in the
            corpus, or a negative is a positive of its query.
    """
    _refuse_contradictions(queries, corpus, qrels, negatives)
    in_turn = pl.int_range(pl.len()).over("query_id")
    positives = qrels.sort("query_id", "passage_id").select(
        "query_id", turn=in_turn, count=pl.len().over("query_id"), positive="passage_id"
    )
    ranked = negatives.sort("query_id", "rank", "passage_id").select(
        "query_id", turn=in_turn, negative="passage_id"
    )
    counts = positives.select("query_id", "count").unique()
    dealt = (
        ranked
        .join(counts, on="query_id", maintain_order="left")
        .with_columns(pl.col("turn") % pl.col("count"))
        .join(positives.drop("count"), on=["query_id", "turn"], maintain_order="left")
    )
    asked = queries.select("query_id", anchor=pl.lit(query_prefix) + pl.col("text"))
    passages = corpus.select("passage_id", passage=pl.lit(passage_prefix) + encoded_text(corpus))

    def text_of(role: str) -> pl.DataFrame:
        return passages.rename({"passage_id": role, "passage": f"{role}_text"})

    return (
        dealt
        .join(asked, on="query_id", maintain_order="left")
        .join(text_of("positive"), on="positive", maintain_order="left")
        .join(text_of("negative"), on="negative", maintain_order="left")
        .select("anchor", positive="positive_text", negative="negative_text")
    )


def read_triplets(
    folder: Path | str,
    dataset: str = "jobs",
    split: str = "train",
    *,
    query_prefix: str = "",
    passage_prefix: str = "",
) -> pl.DataFrame:
    """Return the `triplets` of a dataset with hard negatives, which are never published.

    Args:
        folder: The release as it is published or built: `dist/mteb-de`.
        dataset: Name of the dataset.
        split: The split of the queries.
        query_prefix: See `triplets`.
        passage_prefix: See `triplets`.
    """
    queries, corpus, qrels, negatives = (
        inside(
            kind,
            read_frame(
                Path(folder) / published_path(dataset, kind, "corpus" if kind is Kind.CORPUS else split)
            ),
        )
        for kind in (Kind.QUERIES, Kind.CORPUS, Kind.QRELS, Kind.HARD_NEGATIVES)
    )
    return triplets(
        queries, corpus, qrels, negatives, query_prefix=query_prefix, passage_prefix=passage_prefix
    )


def _refuse_contradictions(
    queries: pl.DataFrame, corpus: pl.DataFrame, qrels: pl.DataFrame, negatives: pl.DataFrame
) -> None:
    known = corpus.select("passage_id")
    asked = queries.select("query_id")
    faults = {
        "hard negatives of a query that is not there": negatives.join(asked, on="query_id", how="anti"),
        "hard negatives of a query without a positive": negatives.join(qrels, on="query_id", how="anti"),
        "hard negatives that are positives of their query": negatives.join(qrels, on=PAIR, how="semi"),
        "pairs with a passage that is not in the corpus": pl.concat([
            qrels.select(PAIR),
            negatives.select(PAIR),
        ]).join(known, on="passage_id", how="anti"),
    }
    for what, rows in faults.items():
        if rows.height:
            first = ", ".join(rows.row(0, named=True)[key] for key in PAIR)
            raise UsageError(
                f"{rows.height} {what}, the first: {first}",
                hint="Take all four tables from one split of one version of a release.",
            )

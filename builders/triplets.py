"""The training view of a retrieval config, which notes/training.md tells consumers of."""

from pathlib import Path

import polars as pl

from builders.tables import Kind, inside, published_path, read_frame
from builders.text.merge import encoded_text


def read_triplets(
    folder: Path | str, dataset: str = "jobs", split: str = "train", negatives: str = Kind.HARD_NEGATIVES
) -> pl.DataFrame:
    """Return one row for each hard negative of each query: query, relevant passage and hard negative.

    Positives are dealt in turn: the query's first negative stands with its first positive by id, the second
    with the second, and so on, again from the first. Queries without hard negatives have no row.

    Args:
        folder: The release as it is published or built: `dist/mteb-de`.
        dataset: Name of the dataset.
        split: The split of the queries.
        negatives: The table of hard negatives: "hard_negatives", or "hard_negatives_v0".

    Returns:
        ``anchor``, ``positive``, ``negative`` str, by query id and rank; of passages, title and text.
    """

    def table(kind: Kind, split: str = split) -> pl.DataFrame:
        return inside(kind, read_frame(Path(folder) / published_path(dataset, kind, split)))

    in_turn = pl.int_range(pl.len()).over("query_id")
    positives = (
        table(Kind.QRELS)
        .sort("query_id", "passage_id")
        .select("query_id", turn=in_turn, count=pl.len().over("query_id"), positive="passage_id")
    )
    ranked = (
        table(Kind(negatives))
        .sort("query_id", "rank", "passage_id")
        .select("query_id", turn=in_turn, negative="passage_id")
    )
    corpus = table(Kind.CORPUS, "corpus")
    passages = corpus["passage_id"], encoded_text(corpus)
    counts = positives.select("query_id", "count").unique()
    return (
        ranked
        .join(counts, on="query_id", maintain_order="left")
        .with_columns(pl.col("turn") % pl.col("count"))
        .join(positives.drop("count"), on=["query_id", "turn"], maintain_order="left")
        .join(table(Kind.QUERIES), on="query_id", maintain_order="left")
        .select(pl.col("positive", "negative").replace_strict(*passages), anchor="text")
        .select("anchor", "positive", "negative")
    )

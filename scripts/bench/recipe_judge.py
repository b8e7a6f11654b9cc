"""Draw negatives to be read by hand, and count the verdicts.

    python -m scripts.bench.recipe_judge FOLDER

Writes FOLDER/CONFIG-RECIPE.tsv with the texts, which stay out of the project. Verdicts are kept by id in
scripts/bench/results/recipe_verdicts.jsonl: "relevant", "not relevant" or "unclear".
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from builders.files import write_bytes
from builders.mining import mine
from builders.spec import RECIPES
from builders.tables import published
from builders.text.merge import digest
from scripts.bench.recipe_world import SEED, load

VERDICTS = Path(__file__).parent / "results" / "recipe_verdicts.jsonl"
PAIRS = 60
_CUT = 700


def draw(negatives: pl.DataFrame) -> pl.DataFrame:
    """Draw pairs by the hash of their ids: of each query at most one."""
    ids = negatives.select("query_id", "passage_id").rows()
    order = pl.Series([digest(f"{SEED}:{query}:{passage}") for query, passage in ids], dtype=pl.String)
    hashed = negatives.with_columns(order=order).sort("order")
    return hashed.unique("query_id", keep="first", maintain_order=True).head(PAIRS).drop("order")


def main() -> None:
    """Write what is to be read."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for config in ("jobs", "germandpr"):
        world = load(config)
        prepared = world.prepared
        queries = prepared.queries.select("query_id", query="text")
        corpus = prepared.corpus.select("text", "passage_id")
        best = prepared.relations.qrels.join(corpus, on="passage_id").group_by("query_id")
        positives = best.agg(positives=pl.col("text").sort().str.head(160).head(3).str.join(" || "))
        for name, recipe in RECIPES.items():
            mined = mine(
                prepared.queries.select("query_id", "text"),
                prepared.corpus,
                prepared.relations.qrels,
                prepared.relations.undecided,
                world.query_vectors,
                world.passage_vectors,
                recipe,
                classes=prepared.relations.classes,
            )
            read = draw(mined.negatives).join(queries, on="query_id", maintain_order="left")
            read = read.join(corpus, on="passage_id", maintain_order="left")
            read = read.join(positives, on="query_id", maintain_order="left")
            table = read.select(
                "query_id", "passage_id", "rank", "query", pl.col("text").str.head(_CUT), "positives"
            )
            text = published("pairs", table).write_csv(separator="\t")
            write_bytes(folder / f"{config}-{name}.tsv", text.encode())


if __name__ == "__main__":
    main()

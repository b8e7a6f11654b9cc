"""Where positives, negatives and random passages lie on a query's scale, and examples of the sample.

    MTEB_DE_SOURCES=FOLDER python -m scripts.bench.recipe_shapes

Writes scripts/bench/results/recipe_shapes.json; `scripts.bench.recipe_note` draws it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from builders.demo.bundled import lay_out
from builders.files import write_json
from builders.mining import Mined
from builders.mining.scores import score_pairs
from builders.spec import RECIPES
from scripts.bench.recipe_judge import draw
from scripts.bench.recipe_world import SEED, World, load

EDGES = [step / 2 for step in range(-8, 21)]
EXAMPLES = 20
_RANDOM = 50_000


def mined_by(world: World) -> dict[str, Mined]:
    """Mine all queries by every recipe."""
    return {name: world.mined(recipe) for name, recipe in RECIPES.items()}


def histogram(world: World, scored: pl.DataFrame) -> list[float]:
    """Return the share of pairs in each half deviation above the mean; the ends take what is beyond."""
    scaled = scored.join(world.scale, on="query_id").select(
        z=(pl.col("score").cast(pl.Float64) - pl.col("mean")) / pl.col("deviation")
    )
    clipped = np.clip(scaled["z"].to_numpy(), EDGES[0], EDGES[-1] - 1e-9)
    counts = np.histogram(clipped, EDGES)[0]
    return [round(float(count) / max(1, scored.height), 4) for count in counts]


def random_pairs(world: World) -> pl.DataFrame:
    """Score random pairs."""
    rng = np.random.default_rng(SEED)
    queries, passages = world.prepared.queries["query_id"], world.prepared.corpus["passage_id"]
    rows, columns = rng.integers(len(queries), size=_RANDOM), rng.integers(len(passages), size=_RANDOM)
    scores = score_pairs(world.query_vectors, world.passage_vectors, rows, columns)
    return pl.DataFrame({"query_id": queries.gather(pl.Series(rows)), "score": scores})


def shapes(world: World) -> dict[str, Any]:
    """Return histograms, and yields by number of positives."""
    mined = mined_by(world)
    return {
        "edges": EDGES,
        "best positives": histogram(world, world.positives.group_by("query_id").agg(pl.col("score").max())),
        "negatives of v0": histogram(world, mined["v0"].negatives),
        "negatives of v1": histogram(world, mined["v1"].negatives),
        "random passages": histogram(world, random_pairs(world)),
        "yield": {name: found.report.yield_.model_dump() for name, found in mined.items()},
        "by_positives": {
            name: [one.model_dump() for one in found.report.by_positives] for name, found in mined.items()
        },
    }


def examples(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Draw negatives of both recipes from the bundled sample, whose texts are the project's own."""
    lay_out(folder)
    found = {}
    for config in ("jobs", "germandpr"):
        world = load(config, folder)
        queries = world.prepared.queries.select("query_id", query="text")
        corpus = world.prepared.corpus.select("text", "passage_id")
        for name, mined in mined_by(world).items():
            drawn = draw(mined.negatives).head(EXAMPLES // 4)
            joined = drawn.join(queries, on="query_id", maintain_order="left").join(
                corpus, on="passage_id", maintain_order="left"
            )
            rounded = joined.with_columns(pl.col("score", "positive_score").cast(pl.Float64).round(4))
            found[f"{config} {name}"] = rounded.select(
                "query", "text", "rank", "score", "positive_score"
            ).to_dicts()
    return found


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    results = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=results / "recipe_shapes.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        drawn = examples(Path(folder))
    configs = {name: shapes(load(name)) for name in ("jobs", "germandpr")}
    write_json(arguments.out, {"configs": configs, "examples": drawn})


if __name__ == "__main__":
    main()

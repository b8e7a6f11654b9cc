"""Fine-tune a small model on triplets from v1, from v0 and from random negatives, and compare test nDCG@10.

    MTEB_DE_SOURCES=FOLDER python -m scripts.bench.recipe_finetune

The model is the offline E5 with one linear layer on top, for queries and passages alike, that starts as the
identity; E5's own weights stay as they are. Steps, batches, positives and the seed's draws are the same for
every arm; only the negatives differ. Writes scripts/bench/results/recipe_finetune.json.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.files import write_json
from builders.mining import mine
from builders.prepare.splits import assign
from builders.spec import RECIPES
from scripts.bench.recipe_world import SEED, World, load

STEPS, BATCH, RATE, TEMPERATURE = 400, 32, 1e-4, 0.02
SEEDS = (1, 2, 3)
Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Triplets:
    """Rows of queries with a positive, and each one's negatives: -1 where there are fewer."""

    query: NDArray[np.int64]
    positive: NDArray[np.int64]
    negatives: NDArray[np.int64]


def triplets(world: World, train: pl.Series, negatives: pl.DataFrame, most: int = 5) -> Triplets:
    """Join the best-scoring positive of each train query to its negatives."""
    queries = world.prepared.queries.select("query_id").with_row_index("query")
    corpus = world.prepared.corpus.select("passage_id").with_row_index("passage")
    best = world.positives.sort("score", "passage_id", descending=[True, False]).unique(
        "query_id", keep="first", maintain_order=True
    )
    joined = (
        best
        .filter(pl.col("query_id").is_in(train.implode()))
        .join(queries, on="query_id")
        .join(corpus, on="passage_id")
        .sort("query")
    )
    grouped = (
        negatives
        .join(corpus, on="passage_id")
        .group_by("query_id")
        .agg(pl.col("passage").cast(pl.Int64).head(most))
    )
    listed = joined.select("query_id").join(grouped, on="query_id", how="left", maintain_order="left")
    rows = [(values or []) + [-1] * (most - len(values or [])) for values in listed["passage"].to_list()]
    return Triplets(
        joined["query"].cast(pl.Int64).to_numpy(),
        joined["passage"].cast(pl.Int64).to_numpy(),
        np.array(rows, np.int64).reshape(-1, most),
    )


def random_negatives(world: World, train: pl.Series, rng: np.random.Generator) -> pl.DataFrame:
    """Draw five passages for each query that are no positives of it."""
    ids = world.prepared.corpus["passage_id"]
    drawn = pl.DataFrame({
        "query_id": train.gather(pl.Series(np.repeat(np.arange(len(train)), 8))),
        "passage_id": ids.gather(pl.Series(rng.integers(len(ids), size=8 * len(train)))),
    }).unique(maintain_order=True)
    relevant = world.prepared.relations.qrels
    return drawn.join(relevant, on=["query_id", "passage_id"], how="anti", maintain_order="left")


def tuned(world: World, data: Triplets, seed: int) -> Floats | None:
    """Train the layer by the softmax over a positive and its negatives; None without triplets."""
    import torch

    if not (data.negatives >= 0).any():
        return None
    torch.manual_seed(seed)
    queries, passages = (torch.from_numpy(v.copy()) for v in (world.query_vectors, world.passage_vectors))
    layer = torch.nn.Linear(queries.shape[1], queries.shape[1], bias=False)
    torch.nn.init.eye_(layer.weight)
    optimiser = torch.optim.AdamW(layer.parameters(), lr=RATE)
    rng = np.random.default_rng(seed)
    usable = np.arange(len(data.query))  # the same draws in every arm; rows without negatives teach nothing
    for _ in range(STEPS):
        rows = rng.choice(usable, BATCH)
        picked = np.concatenate([data.positive[rows, None], data.negatives[rows]], axis=1)
        asked = torch.nn.functional.normalize(layer(queries[data.query[rows]]), dim=-1)
        told = torch.nn.functional.normalize(layer(passages[np.maximum(picked, 0)]), dim=-1)
        scores = (asked[:, None] * told).sum(-1) / TEMPERATURE
        scores = scores.masked_fill(torch.from_numpy(picked < 0), -1e9)
        loss = torch.nn.functional.cross_entropy(scores, torch.zeros(BATCH, dtype=torch.long))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch gives it no types
        optimiser.step()
    weight: Floats = layer.weight.detach().numpy()
    return weight


def ndcg(world: World, test: pl.Series, weight: Floats | None, k: int = 10) -> float:
    """Mean nDCG@10 of test queries over all passages; ties by id."""
    asked: Floats = world.query_vectors[world.rows(test)]
    told: Floats = world.passage_vectors
    if weight is not None:
        asked, told = asked @ weight.T, told @ weight.T
        asked = asked / np.linalg.norm(asked, axis=1, keepdims=True)
        told = told / np.linalg.norm(told, axis=1, keepdims=True)
    order = np.argsort(-(asked @ told.T), axis=1, kind="stable")[:, :k]
    relevant = world.prepared.relations.qrels.filter(pl.col("query_id").is_in(test.implode()))
    rows = test.search_sorted(relevant["query_id"]).to_numpy()
    columns = world.prepared.corpus["passage_id"].search_sorted(relevant["passage_id"]).to_numpy()
    labels = np.zeros((len(test), len(told)), np.bool_)
    labels[rows, columns] = True
    discounts = 1 / np.log2(np.arange(2, k + 2))
    gained = np.take_along_axis(labels, order, axis=1) @ discounts
    ideal = np.cumsum(discounts)[np.minimum(labels.sum(axis=1), k) - 1]
    return float((gained / ideal).mean())


def compare(world: World) -> dict[str, Any]:
    """Tune every arm with every seed."""
    prepared = world.prepared
    assignment = assign(prepared.queries.select("query_id", "group", "leak"), seed=SEED, committed=None)
    train, test = (
        assignment.filter(pl.col("split") == split)["query_id"].sort() for split in ("train", "test")
    )
    arms = {
        name: mine(
            prepared.queries.select("query_id", "text"),
            prepared.corpus,
            prepared.relations.qrels,
            prepared.relations.undecided,
            world.query_vectors,
            world.passage_vectors,
            recipe,
            classes=prepared.relations.classes,
        ).negatives
        for name, recipe in RECIPES.items()
    }
    # The same positives: the train queries for which v1 has negatives.
    heard = train.filter(train.is_in(arms["v1"]["query_id"].implode()))
    arms["random"] = random_negatives(world, heard, np.random.default_rng(SEED))
    found: dict[str, Any] = {
        "test_queries": len(test),
        "untuned": round(ndcg(world, test, None), 4),
        "arms": {},
    }
    for name, negatives in arms.items():
        data = triplets(world, heard, negatives)
        scores = [round(ndcg(world, test, tuned(world, data, seed)), 4) for seed in SEEDS]
        with_negatives = int((data.negatives >= 0).any(axis=1).sum())
        found["arms"][name] = {
            "queries": len(data.query),
            "queries_with_negatives": with_negatives,
            "ndcg": scores,
        }
        print(world.name, name, found["arms"][name], flush=True)
    return found


def main() -> None:
    """Compare on both configs."""
    parser = argparse.ArgumentParser(description=__doc__)
    results = Path(__file__).parent / "results"
    parser.add_argument("--out", type=Path, default=results / "recipe_finetune.json")
    arguments = parser.parse_args()
    settings = {"steps": STEPS, "batch": BATCH, "rate": RATE, "temperature": TEMPERATURE, "seeds": SEEDS}
    document = {
        "settings": settings,
        "configs": {name: compare(load(name)) for name in ("germandpr", "jobs")},
    }
    write_json(arguments.out, document)


if __name__ == "__main__":
    main()

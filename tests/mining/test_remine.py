"""Mining once more, from scratch: the full float64 matrix and plain loops, with nothing of the miner's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.mining import Mined, mine
from builders.spec import Recipe
from tests.mining.samples import Float32s, pairs, queries, random_units


@dataclass(frozen=True)
class World:
    queries: dict[str, str]
    passages: dict[str, tuple[str, str]]
    positives: dict[str, set[str]]
    undecided: dict[str, set[str]]
    query_vectors: Float32s
    passage_vectors: Float32s


def world(seed: int) -> World:
    """Sixty queries with up to twelve positives in a cone of four hundred passages, with twins and gaps."""
    rng = np.random.default_rng(seed)
    cone = random_units(rng, 1, 10) / 2
    passages = cone + random_units(rng, 400, 10)
    asked = cone + random_units(rng, 60, 10)
    asked[:40] += passages[:40]
    texts = {f"d-{i:03}": ("", f"Absatz {i}") for i in rng.permutation(400).tolist()}
    names = list(texts)
    wanted = {f"q-{i:02}": f"Frage {i}" for i in rng.permutation(60).tolist()}
    positives: dict[str, set[str]] = {}
    for row, query in enumerate(wanted):
        # Half of the queries know only passages that are near: their guards leave room below.
        nearest = np.argsort(-(passages @ asked[row]))[: 400 if row % 2 else 3]
        size = min(int(rng.integers(13)), len(nearest))
        positives[query] = {names[i] for i in rng.choice(nearest, size, replace=False).tolist()}
    undecided = {query: set(rng.choice(names, 25).tolist()) - positives[query] for query in wanted}
    for row, query in enumerate(wanted):
        near = np.argsort(-(passages @ asked[row]))
        # Twins of a positive and of the query among the nearest, where they would be taken.
        twin, echo = names[int(near[3])], names[int(near[5])]
        if row % 3 == 0 and positives[query]:
            texts[twin] = ("Anderer Titel", texts[min(positives[query])][1])
        if row % 5 == 0:
            texts[echo] = ("", f" {wanted[query]}\n")
    scale = [np.linalg.norm(rows, axis=1, keepdims=True) for rows in (asked, passages)]
    return World(
        wanted,
        texts,
        positives,
        undecided,
        (asked / scale[0]).astype(np.float32),
        (passages / scale[1]).astype(np.float32),
    )


def expected(data: World, recipe: Recipe) -> list[tuple[str, str, int, float, float]]:
    scores = data.query_vectors.astype(np.float64) @ data.passage_vectors.astype(np.float64).T
    names = list(data.passages)
    rows = []
    for row, query in enumerate(data.queries):
        positives = data.positives[query]
        if not positives:
            continue
        by_name = dict(zip(names, scores[row].tolist(), strict=True))
        ranked = sorted(names, key=lambda name: (-by_name[name], name))
        guard = (min if recipe.guard == "lowest" else max)(by_name[name] for name in positives)
        margin = recipe.margin * abs(guard) if recipe.margin_kind == "relative" else recipe.margin
        banned = {" ".join(data.passages[name][1].split()) for name in positives} | {data.queries[query]}
        seen = kept = 0
        for rank, name in enumerate(ranked, start=1):
            if seen == recipe.depth or kept == recipe.keep:
                break
            seen += recipe.depth_counts == "all" or name not in positives
            if name in positives or name in data.undecided[query]:
                continue
            if " ".join(data.passages[name][1].split()) in banned or by_name[name] > guard - margin:
                continue
            kept += 1
            rows.append((query, name, rank, by_name[name], guard))
    return sorted(rows, key=lambda found: (found[0], found[2]))


def mined(data: World, recipe: Recipe) -> Mined:
    titles, texts = zip(*data.passages.values(), strict=True)
    return mine(
        queries(data.queries),
        pl.DataFrame({"_id": list(data.passages), "title": titles, "text": texts}),
        pairs(*((query, name) for query, names in data.positives.items() for name in sorted(names))),
        pairs(*((query, name) for query, names in data.undecided.items() for name in sorted(names))),
        data.query_vectors,
        data.passage_vectors,
        recipe,
    )


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "choice",
    [
        {},
        {"guard": "highest"},
        {"depth_counts": "candidates"},
        {"margin_kind": "relative", "margin": 0.06},
        {"guard": "highest", "depth_counts": "candidates", "margin": 0.0, "depth": 7, "keep": 7},
        {"depth": 150, "keep": 20, "margin": 0.01},
        {"depth": 400, "keep": 3, "depth_counts": "candidates"},
    ],
    ids=str,
)
def test_the_miner_finds_what_a_plain_loop_finds(seed: int, choice: dict[str, Any]) -> None:
    recipe = Recipe(**choice)
    data = world(seed)
    result, wanted = mined(data, recipe), expected(data, recipe)
    found = result.negatives.rows()
    assert len(wanted) >= 20
    assert [row[:3] for row in found] == [row[:3] for row in wanted]
    np.testing.assert_allclose([row[3:] for row in found], [row[3:] for row in wanted], atol=1e-7)


def test_the_worlds_hold_every_kind_of_drop() -> None:
    reports = [mined(world(seed), Recipe(guard="highest", keep=2)).report for seed in (1, 2, 3)]
    for report in reports:
        assert all(report["dropped"].values()), report["dropped"]
        assert report["queries_without_positives"]

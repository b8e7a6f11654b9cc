"""Mining once more, from scratch: the full float64 matrix and plain loops, with nothing of the miner's."""

from __future__ import annotations

import statistics
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.mining import Mined, mine
from builders.mining.recipe import REASONS
from builders.spec import RECIPES, Recipe
from tests.mining.samples import Float32s, pairs, queries, random_units


@dataclass(frozen=True)
class World:
    queries: dict[str, str]
    passages: dict[str, tuple[str, str]]
    positives: dict[str, set[str]]
    undecided: dict[str, set[str]]
    query_vectors: Float32s
    passage_vectors: Float32s
    classes: dict[str, set[str]] = field(default_factory=dict)
    occupations: dict[str, str] = field(default_factory=dict)


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
        {name: {f"k{i % 23}", f"o{i % 31}"} for i, name in enumerate(names) if i % 7},
        {name: f"b{i % 6}" for i, name in enumerate(names) if i % 9},
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
        mean, deviation = float(scores[row].mean()), float(scores[row].std())
        ranked = sorted(names, key=lambda name: (-by_name[name], name))
        guard = (min if recipe.guard == "lowest" else max)(by_name[name] for name in positives)
        unit = {"absolute": 1.0, "relative": abs(guard), "deviations": deviation}[recipe.margin_kind]
        margin = recipe.margin * unit
        if recipe.floor is not None:
            best = max(by_name[name] for name in positives)
            if best < mean + recipe.suspicious_below * deviation:
                continue
        classes = set().union(*(data.classes.get(name, set()) for name in positives))
        banned = {" ".join(data.passages[name][1].split()) for name in positives} | {data.queries[query]}
        seen = kept = 0
        taken: Counter[str] = Counter()
        for rank, name in enumerate(ranked, start=1):
            if seen == recipe.depth or kept == recipe.keep:
                break
            seen += recipe.depth_counts == "all" or name not in positives
            if name in positives or name in data.undecided[query]:
                continue
            if recipe.equivalence and data.classes.get(name, set()) & classes:
                continue
            if recipe.floor is not None and by_name[name] < mean + recipe.floor * deviation:
                continue
            if " ".join(data.passages[name][1].split()) in banned or by_name[name] > guard - margin:
                continue
            occupation = data.occupations.get(name, "")
            if recipe.per_occupation and occupation and taken[occupation] == recipe.per_occupation:
                continue
            taken[occupation] += 1
            kept += 1
            rows.append((query, name, rank, by_name[name], guard))
    return sorted(rows, key=lambda found: (found[0], found[2]))


def mined(data: World, recipe: Recipe) -> Mined:
    titles, texts = zip(*data.passages.values(), strict=True)
    return mine(
        queries(data.queries),
        pl.DataFrame({"passage_id": list(data.passages), "title": titles, "text": texts}),
        pairs(*((query, name) for query, names in data.positives.items() for name in sorted(names))),
        pairs(*((query, name) for query, names in data.undecided.items() for name in sorted(names))),
        data.query_vectors,
        data.passage_vectors,
        recipe,
        classes=pl.DataFrame(
            [(name, each) for name, classes in data.classes.items() for each in sorted(classes)],
            schema=["passage_id", "class"],
            orient="row",
        ),
        occupations=pl.DataFrame(
            list(data.occupations.items()), schema=["passage_id", "occupation"], orient="row"
        ),
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
        {"depth": 60, "margin_kind": "deviations", "margin": 0.3, "floor": 0.8, "suspicious_below": 1.0},
        {"depth": 80, "equivalence": True, "guard": "highest", "keep": 12},
        {"depth": None, "keep": 20},
        {"depth": None, "margin_kind": "relative", "guard": "highest", "equivalence": True},
        {"depth": None, "margin_kind": "deviations", "margin": 0.0, "floor": 0.0, "keep": 300},
        {"depth": None, "floor": 1.0, "margin": 0.1, "suspicious_below": 1.2, "keep": 4},
        {"depth": 120, "guard": "highest", "margin": 0.0, "keep": 9, "per_occupation": 1},
        {"depth": None, "guard": "highest", "keep": 14, "per_occupation": 2},
        {"depth": None, "margin": 0.0, "keep": 40, "per_occupation": 1},
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


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_v1_finds_what_a_plain_loop_finds(seed: int) -> None:
    data = world(seed)
    result, wanted = mined(data, RECIPES["v1"]), expected(data, RECIPES["v1"])
    assert len(wanted) >= 60
    assert [row[:3] for row in result.negatives.rows()] == [row[:3] for row in wanted]
    assert max(row[2] for row in wanted) > 15, "no negative lies deep: depth could be bounded"
    for change in ({"equivalence": False}, {"per_occupation": None}):
        assert wanted != expected(data, replace(RECIPES["v1"], **change)), f"{change} matters nowhere"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("keep", [1, 5])
def test_an_unbounded_funnel_counts_what_loops_count(seed: int, keep: int) -> None:
    data, recipe = world(seed), replace(RECIPES["v1"], keep=keep)
    scores = data.query_vectors.astype(np.float64) @ data.passage_vectors.astype(np.float64).T
    counted = dict.fromkeys(REASONS, 0)
    looked_at = silent = 0
    for row, query in enumerate(data.queries):
        if not data.positives[query]:
            continue
        by_name = dict(zip(data.passages, scores[row].tolist(), strict=True))
        mean, deviation = statistics.fmean(by_name.values()), statistics.pstdev(by_name.values())
        best = max(by_name[name] for name in data.positives[query])
        if best < mean + 2 * deviation:
            silent += 1
            continue
        texts = {" ".join(data.passages[name][1].split()) for name in data.positives[query]}
        classes = set().union(*(data.classes.get(name, set()) for name in data.positives[query]))
        taken, of_occupation = 0, Counter[str]()
        for name in sorted(by_name, key=lambda name: (-by_name[name], name)):
            text = " ".join(data.passages[name][1].split())
            if by_name[name] < mean + 1.5 * deviation:
                break
            looked_at += 1
            reasons = {
                "positive": name in data.positives[query],
                "undecided": name in data.undecided[query],
                "positive_text": text in texts,
                "query_text": text == data.queries[query],
                "equivalent": bool(data.classes.get(name, set()) & classes),
                "margin": by_name[name] > best - 0.5 * deviation,
                "occupation": taken < keep and of_occupation[data.occupations.get(name, name)] == 2,
                "beyond_keep": taken == keep,
            }
            first = next((reason for reason, holds in reasons.items() if holds), None)
            taken += first is None
            of_occupation[data.occupations.get(name, name)] += first is None
            if first:
                counted[first] += 1
    report = mined(data, recipe).report
    assert silent == report.suspicious["queries"] > 0
    assert report.looked_at == looked_at
    assert report.dropped == {reason: counted[reason] for reason in REASONS if reason != "floor"}
    assert looked_at == report.negatives + sum(report.dropped.values())
    assert all(report.dropped[reason] for reason in ("equivalent", "margin", "beyond_keep"))
    assert bool(report.dropped["occupation"]) == (keep == 5)


def test_suspicious_positives_are_listed_whatever_the_recipe_does() -> None:
    data = world(1)
    scores = data.query_vectors.astype(np.float64) @ data.passage_vectors.astype(np.float64).T
    scaled = (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    wanted = []
    for row, query in enumerate(data.queries):
        by_name = dict(zip(data.passages, scaled[row].tolist(), strict=True))
        distances = {name: by_name[name] for name in data.positives[query]}
        if distances and max(distances.values()) < 2:
            wanted += [(max(distances.values()), query, name, distances[name]) for name in distances]
    results = [mined(data, recipe) for recipe in (Recipe(depth=400), RECIPES["v1"])]
    listed = results[0].suspicious
    assert listed.equals(results[1].suspicious)
    assert len(wanted) > 10
    assert listed.select("query_id", "passage_id").rows() == [(q, d) for _, q, d, _ in sorted(wanted)]
    np.testing.assert_allclose(listed["deviations"], [z for _, _, _, z in sorted(wanted)], atol=1e-5)
    assert results[0].report.suspicious["positives"] == listed.height
    silent = listed.select("query_id").unique()
    assert results[0].negatives.join(silent, on="query_id", how="semi").height
    assert not results[1].negatives.join(silent, on="query_id", how="semi").height


def test_the_worlds_hold_every_kind_of_drop() -> None:
    reports = [mined(world(seed), Recipe(guard="highest", keep=2)).report for seed in (1, 2, 3)]
    for report in reports:
        assert all(report.dropped.values()), report.dropped
        assert report.queries_without_positives

"""The bench of the tolerance: its method on a small world, and the constants that follow from its results."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from builders.prepare.sets import WITHIN
from builders.registry import load
from scripts.bench import tolerance as bench
from scripts.bench.evaluation_world import drawn_sets, labelled, shape_of

SMALL = 400


def test_the_constants_are_what_the_results_make() -> None:
    results = json.loads(bench.RESULTS.read_bytes())
    assert (results["scale"], results["draws"]) == (1.0, bench.DRAWS)
    scored = {dataset: load(name).scored for name, dataset in bench.DATASETS.items()}
    tolerances = {dataset: one.tolerance for dataset, one in scored.items() if one}
    for name, dataset in bench.DATASETS.items():
        largest = max(line["by_rows_and_seed"] for line in results["lines"] if line["dataset"] == name)
        assert 0 <= tolerances[dataset] - 3 * math.sqrt(2) * largest < 0.001
    assert results["tolerances"] == tolerances
    assert bench.NOTE.read_text(encoding="utf-8") == bench.note(results)


def test_the_results_are_of_scores_as_published_ones_are() -> None:
    lines = json.loads(bench.RESULTS.read_bytes())["lines"]
    for name in bench.DATASETS:
        reached = [line["v_measure"] for line in lines if line["dataset"] == name]
        assert min(reached) < 0.15
        assert max(reached) > 0.45


@pytest.mark.parametrize("name", bench.DATASETS)
def test_a_redraw_keeps_sizes_and_changes_rows(name: str) -> None:
    documents = labelled(shape_of(name), SMALL)
    drawn = drawn_sets(name, documents)
    first, again, other = (bench.redrawn(documents, drawn, seed) for seed in (1, 1, 2))
    assert first == again
    topics = documents["topic"].to_numpy()
    for one, redrawn, next_one in zip(drawn, first, other, strict=True):
        assert (redrawn.level, redrawn.label) == (one.level, one.label)
        assert len(set(redrawn.rows)) == len(redrawn.rows)
        if one.level.startswith(WITHIN):
            assert sorted(redrawn.rows) == sorted(one.rows)
        elif name == "subreddit":
            held, now = set(topics[list(one.rows)]), set(topics[list(redrawn.rows)])
            assert len(held) == len(now)
            assert len(redrawn.rows) == int(np.isin(topics, list(now)).sum())
        else:
            assert len(redrawn.rows) == len(one.rows)
        assert redrawn.rows != next_one.rows


@pytest.mark.long
def test_a_small_world_is_measured_and_gives_the_same_numbers_again() -> None:
    documents = labelled(shape_of("tenkgnad"), SMALL)
    drawn = drawn_sets("tenkgnad", documents)
    first, again = (bench.moved(documents, drawn, 0.3, 3) for _ in range(2))
    assert first == again
    assert 0 < first["by_rows_and_seed"] < first["widest"] < 0.2
    assert 0 < first["by_seed"]
    near = bench.moved(documents, drawn, 0.05, 3)["v_measure"]
    assert near < first["v_measure"] < bench.moved(documents, drawn, 1.0, 3)["v_measure"]

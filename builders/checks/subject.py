"""A built config as its rules see it: the published tables, and the records of the build."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import polars as pl

from builders.built import Built, stack
from builders.checks.finding import Finding
from builders.lock.lock import ClusteringFigures, Funnel, LockedMining
from builders.prepare.scrub_merges import SCRUB_MERGES
from builders.spec import PAIR, Clustering, ConfigSpec, Ids, Retrieval
from builders.tables import Kind

_Spec = TypeVar("_Spec", bound=ConfigSpec, covariant=True)


def _strings(*names: str) -> dict[str, type[pl.DataType]]:
    return dict.fromkeys(names, pl.String)


_BESIDE: dict[type[ConfigSpec], dict[str, dict[str, type[pl.DataType]]]] = {
    Retrieval: {
        "undecided": _strings(*PAIR),  # pairs kept from mining
        "scale": {"query_id": pl.String, "mean": pl.Float64, "deviation": pl.Float64},  # of its scores
        "classes": _strings("passage_id", "class"),  # equivalent passages
        "occupations": _strings("passage_id", "occupation"),  # what is mined of one is limited
        "provenance": _strings("table", "id", "upstream_id"),  # the published row of each upstream row
        "scrub_merges": SCRUB_MERGES,
    },
    Clustering: {},
    Ids: {"statuses": _strings("id", "status", "subreddit")},  # what the ledger knows of each id
}
"""The columns of the tables beside a lock that rules read, by kind of config."""


@dataclass(frozen=True, slots=True)
class Subject(Generic[_Spec]):
    """A built config, as its rules see it.

    Attributes:
        tables: Frames by kind and split, with the columns of `builders.tables.inside`.
        decisions: Counts of pairs that decisions of audits changed; empty where there are none.
        upstream: Whether all of the real upstream was built, so that published figures must be met.
        committed: ``query_id``, ``group_hash``, ``split`` str: the assignment of an earlier version; in a
            first release, which has none, a group in more than one split is an error.
        beside: The tables of `_BESIDE` that the build kept.
    """

    spec: _Spec
    tables: Mapping[Kind, Mapping[str, pl.DataFrame]]
    funnels: tuple[Funnel, ...]
    mining: LockedMining | None = None
    clustering: ClusteringFigures | None = None
    decisions: Mapping[str, int] = field(default_factory=dict)
    upstream: bool = False
    committed: pl.DataFrame | None = None
    beside: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def queries(self) -> pl.DataFrame:
        """All splits of the queries below each other, with a column ``split`` str; so the next two."""
        return self.stacked(Kind.QUERIES)

    @property
    def corpus(self) -> pl.DataFrame:
        """The passages."""
        return self.stacked(Kind.CORPUS)

    @property
    def qrels(self) -> pl.DataFrame:
        """The relevant pairs."""
        return self.stacked(Kind.QRELS)

    def stacked(self, kind: Kind) -> pl.DataFrame:
        """Return all splits of a table below each other, with a column ``split`` str."""
        return stack(self.tables.get(kind, {}), kind)

    def numbered(self, kind: Kind) -> pl.DataFrame:
        """Return clustering sets with their number, ``set``, counted from 1."""
        return self.tables[kind]["test"].with_row_index("set", offset=1)


AnySubject = Subject[ConfigSpec]
Pairs = Subject[Retrieval]
Sets = Subject[Clustering]
IdSets = Subject[Ids]
Rule = Callable[[Subject[Any]], Iterable[Finding]]


def subject_of(built: Built, *, committed: pl.DataFrame | None = None) -> Subject[Any]:
    """Read a built config for its rules; `committed` is the assignment of an earlier version."""
    assert built.lock is not None
    read = ((name, built.beside(name, schema)) for name, schema in _BESIDE[type(built.spec)].items())
    return Subject(
        spec=built.spec,
        tables=built.tables(),
        funnels=built.lock.funnels,
        mining=built.lock.mining,
        clustering=built.lock.clustering,
        decisions=built.lock.decisions,
        upstream=not built.stand_in,
        committed=committed,
        beside={name: frame for name, frame in read if frame is not None},
    )


def keyed(texts: pl.Series, key: Callable[[str], str]) -> pl.Series:
    """Apply a config's key function to texts; a null stays null."""
    values = [None if text is None else key(text) for text in texts.to_list()]
    return pl.Series(texts.name, values, dtype=pl.String)

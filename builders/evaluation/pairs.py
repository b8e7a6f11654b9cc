"""What a retrieval evaluation starts from: queries, passages, and which of them belong together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from builders import built
from builders.checks.subject import AnySubject, subject_of
from builders.errors import StorageError, UsageError
from builders.spec import Retrieval
from builders.tables import SORT_KEYS, SPLITS, Kind, config_name
from builders.text.merge import encoded_text

ALL = "all"
"""The union of the splits."""
BLOCK = 512
"""Queries that are ranked and measured together. With 1,000 passages each, and classes, searching and
measuring took 340 MB for 4,000 queries and 310 MB for 1,000; all at once 1.8 GB and .5 GB."""


@dataclass(frozen=True, slots=True)
class Judged:
    """Queries with qrels, and the passages they are searched in.

    Attributes:
        config: The builder's name.
        split: One of `SPLITS`, or "all" for their union.
        queries: ``_id``, ``text`` of the queries that have qrels, sorted by ``_id``.
        corpus: ``_id``, ``title``, ``text`` of all passages, sorted by ``_id``.
        qrels: ``query-id``, ``corpus-id``, ``score`` of those queries, sorted by both ids; a pair of a
            passage that is not in the corpus stays, and nothing can find it.
        classes: ``corpus-id``, ``class``: equivalent passages; None where the config knows none.
        unjudged: How many queries of the split have no qrels and were left out, as mteb leaves them out.
    """

    config: str
    split: str
    queries: pl.DataFrame
    corpus: pl.DataFrame
    qrels: pl.DataFrame
    classes: pl.DataFrame | None = None
    unjudged: int = 0

    def query_texts(self) -> pl.Series:
        """Return what is encoded of the queries, in their order."""
        return self.queries.get_column("text")

    def passage_texts(self) -> pl.Series:
        """Return what is encoded of the passages, in their order: title and text, as for mining."""
        return encoded_text(self.corpus)

    def parts(self, block: int | None = None) -> Iterator[Judged]:
        """Yield its queries in their order, so many at a time, each part with all passages.

        Args:
            block: How many, at least 1; None for `BLOCK`.
        """
        for queries in self.queries.iter_slices(block or BLOCK):
            qrels = self.qrels.join(queries, left_on="query-id", right_on="_id", how="semi")
            yield replace(self, queries=queries, qrels=qrels)


def read_judged(out: Path, spec: Retrieval, split: str) -> Judged:
    """Read a split of a built config.

    Args:
        out: The folder that was built into.
        spec: The config.
        split: One of `SPLITS`, or "all" for their union.

    Raises:
        UsageError: There is no such split.
        StorageError: The config has no lock there, or a table is missing or cannot be read.
    """
    return judged_of(subject_of(built.read_built(out, spec)), split)


def judged_of(subject: AnySubject, split: str) -> Judged:
    """Take a split out of a config that was read; see `read_judged`.

    Raises:
        UsageError: There is no such split.
        StorageError: A table is missing.
    """
    if split not in {*SPLITS, ALL}:
        raise UsageError(f"no split {split!r}", hint=f"Choose one of {', '.join(SPLITS)}, {ALL}.")
    splits = SPLITS if split == ALL else (split,)
    queries, qrels = (_stacked(subject, kind, splits) for kind in (Kind.QUERIES, Kind.QRELS))
    judged = queries.join(qrels, left_on="_id", right_on="query-id", how="semi")
    return Judged(
        config=subject.spec.name,
        split=split,
        queries=judged.sort("_id"),
        corpus=_stacked(subject, Kind.CORPUS, ("corpus",)),
        qrels=qrels.join(queries, left_on="query-id", right_on="_id", how="semi").sort(
            "query-id", "corpus-id"
        ),
        classes=subject.classes,
        unjudged=queries.height - judged.height,
    )


def _stacked(subject: AnySubject, kind: Kind, splits: tuple[str, ...]) -> pl.DataFrame:
    tables: Mapping[str, pl.DataFrame] = subject.tables.get(kind, {})
    for split in splits:
        if split not in tables:
            raise StorageError(
                f"{config_name(subject.spec.name, kind)}: there is no {split} split",
                hint=f"Run mteb-de build {subject.spec.name} again, with the same --out.",
            )
    return pl.concat([tables[split] for split in splits]).sort(SORT_KEYS[kind])

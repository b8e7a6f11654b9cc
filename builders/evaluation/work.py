"""A config on the table while it is evaluated: rows read once, results kept, vectors taken or made."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.encoders import Encoder, Role, encode_cached
from builders.evaluation.candidates import Candidate
from builders.evaluation.clustering import read_sets_at
from builders.evaluation.model import SetScore
from builders.evaluation.pairs import Judged, read_judged
from builders.evaluation.places import Place, TextFolder
from builders.evaluation.store import (
    AnyResult,
    Chance,
    in_order,
    keep_chance,
    keep_result,
    keep_sets,
    kept_path,
)
from builders.lock.lock import Lock
from builders.printable import label
from builders.progress import Progress
from builders.spec import SEED, Retrieval
from builders.tables import CLUSTERING, Kind, config_name

SEARCHED = (Kind.CORPUS, Kind.QUERIES, Kind.QRELS)
"""The tables that a search reads."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to evaluate.

    Attributes:
        out: The folder that was built into.
        split: Of the queries: one of `SPLITS`, or "all" for their union.
        pipelines: Names in `pipelines.PIPELINES`: how vectors are clustered.
        seed: Of bootstraps, of rules and of what clusters.
        resamples: Of a bootstrap.
        vectors: Folder of the cached vectors; None for the default.
        texts: Hydrated texts by config of ids.
    """

    out: Path
    split: str = "test"
    pipelines: tuple[str, ...] = ("minibatch-kmeans",)
    seed: int = SEED
    resamples: int = 1000
    vectors: Path | None = None
    texts: Mapping[str, TextFolder] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Table:
    """A config on the table: its rows are read when something has to be computed."""

    options: Options
    place: Place
    progress: Progress
    _sets: dict[str, pl.DataFrame] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The builder's name of the config."""
        return self.place.spec.name

    @property
    def lock(self) -> Lock:
        """The lock of the config."""
        return self.place.lock

    @property
    def searched(self) -> str:
        """What is searched: "jobs/test"."""
        return f"{self.name}/{self.options.split}"

    def config(self, variant: str) -> str:
        """Return a clustering config as published."""
        return config_name(self.name, CLUSTERING[variant])

    @functools.cached_property
    def judged(self) -> Judged:
        """The queries and passages, which are those of the lock."""
        assert isinstance(self.place.spec, Retrieval)
        found = read_judged(self.options.out, self.place.spec, self.options.split)
        self.place.require_tables(SEARCHED)
        return found

    def sets(self, variant: str) -> pl.DataFrame:
        """Return the clustering sets of a variant, which are those of the lock."""
        kind = CLUSTERING[variant]
        if variant not in self._sets:
            found = read_sets_at(self.place.path(kind, "test"))
            self.place.require_tables([kind])
            self._sets[variant] = found
        return self._sets[variant]

    def path(self, kinds: Sequence[Kind], **asked: Any) -> Path:  # noqa: ANN401  any JSON value
        """Return where the result of a question is kept."""
        return kept_path(self.options.out, self.lock, kinds, asked | {"seed": self.options.seed})

    def keep(self, path: Path, result: AnyResult) -> AnyResult:
        """Keep a result, and return it as it will be read."""
        self.place.require_unchanged()
        keep_result(path, result)
        return in_order(result)

    def keep_sets(self, path: Path, scores: Sequence[SetScore]) -> None:
        """Keep the first sets of a result."""
        self.place.require_unchanged()
        keep_sets(path, scores)

    def keep_chance(self, path: Path, scores: Chance) -> Chance:
        """Keep scores of chance, and return them."""
        self.place.require_unchanged()
        keep_chance(path, scores)
        return scores

    def vectors(self, one: Candidate, encoder: Encoder, texts: pl.Series, role: Role) -> NDArray[np.float32]:
        """Return the vectors of texts, row by row: float32 of shape (texts, dimensions)."""
        if not one.cached:
            return encoder.encode(encoder.truncate(texts.to_list(), role), role)

        def tick(done: int, total: int) -> None:
            self.progress.tick(f"encode {role}", done, total)

        encoded = encode_cached(encoder, texts, role, root=self.options.vectors, progress=tick)
        cut = f", {encoded.truncated:,} cut to what it takes" if encoded.truncated else ""
        told = f"{label(one.name)} {encoded.encoded:,} encoded, {encoded.cached:,} from the cache{cut}"
        self.progress.step(f"encode {role}", told)
        return encoded.vectors

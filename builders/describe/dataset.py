"""What card and Croissant are about: the datasets of a release with their locks, specs and facts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from builders import registry
from builders.describe.templates import About, about
from builders.errors import UsageError
from builders.lock.beside import Citations
from builders.lock.lock import Lock, PublishedFile
from builders.spec import Clustering, ConfigSpec, Ids, Release
from builders.tables import SCHEMAS, Kind, config_name, splits_of

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,7}")


@dataclass(frozen=True, slots=True)
class Config:
    """A published config: a name that `load_dataset` takes, "jobs-qrels", and its files by split.

    A split without rows cannot be loaded, so card and Croissant do not offer it.
    """

    name: str
    kind: Kind
    files: tuple[PublishedFile, ...]

    @property
    def rows(self) -> int:
        """Rows in all splits."""
        return sum(file.rows for file in self.files)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of a release: "jobs" with its corpus, queries, qrels and hard negatives, or clustering sets.

    Attributes:
        about: The facts at the top of its card body.
        configs: Its configs that have rows.
        cited: Audit and scores of its very rows.
    """

    lock: Lock
    spec: ConfigSpec
    about: About
    configs: tuple[Config, ...]
    cited: Citations

    @property
    def name(self) -> str:
        """The builder's name, "jobs"."""
        return self.lock.config

    @property
    def clusters(self) -> bool:
        """Whether it holds clustering sets."""
        return isinstance(self.spec, Clustering | Ids)

    @property
    def ids_only(self) -> bool:
        """Whether it holds ids of texts that nobody may publish."""
        return isinstance(self.spec, Ids)

    def rows(self, kind: Kind, split: str | None = None) -> int:
        """Return the rows of a table, in one split or in all."""
        files = (file for config in self.configs if config.kind is kind for file in config.files)
        return sum(file.rows for file in files if split in {None, file.split})


def type_of(column: pa.Field[Any]) -> tuple[str, bool]:
    """Return the type of a column by its name in `datasets`, and whether a cell is a list of it."""
    listed = isinstance(column.type, pa.ListType)
    dtype = column.type.value_type if isinstance(column.type, pa.ListType) else column.type
    return {pa.string(): "string", pa.int32(): "int32", pa.float32(): "float32"}[dtype], listed


def datasets_of(
    release: Release,
    locks: Sequence[Lock],
    specs: Mapping[str, ConfigSpec] | None = None,
    citations: Mapping[str, Citations] | None = None,
) -> tuple[Dataset, ...]:
    """Return the datasets of a release, by name, out of the arguments of `render`.

    Raises:
        UsageError: There is no lock, one belongs to another release or stands there twice, names a file or
            table that is not one of ours, or its config or card body is missing.
    """
    if not locks:
        raise UsageError(f"{release.name}: no built config to describe", hint="Build its configs first.")
    names = [lock.config for lock in locks]
    if len(set(names)) < len(names):
        raise UsageError(f"{release.name}: two locks of one config among {', '.join(sorted(names))}")
    return tuple(
        _dataset(release, lock, specs, (citations or {}).get(lock.config, Citations()))
        for lock in sorted(locks, key=lambda lock: lock.config)
    )


def _dataset(
    release: Release, lock: Lock, specs: Mapping[str, ConfigSpec] | None, citations: Citations
) -> Dataset:
    if not _NAME.fullmatch(lock.config):
        raise UsageError(f"{lock.config!r} cannot be the name of a config")
    if lock.release != release.name:
        raise UsageError(f"{lock.config} belongs to release {lock.release!r}, not {release.name!r}")
    spec = (specs or {}).get(lock.config) or registry.load(lock.config)
    configs = _configs(lock)
    if not configs:
        raise UsageError(f"{lock.config}: the lock names no file with rows", hint="Build it again.")
    return Dataset(lock, spec, about(lock.config), configs, citations.of_rows(lock.rows_id))


def _configs(lock: Lock) -> tuple[Config, ...]:
    """Return the configs that have rows, with their splits, in published order."""
    kinds = {(config_name(lock.config, kind), split): kind for kind in SCHEMAS for split in splits_of(kind)}
    for file in lock.files:
        if (file.config, file.split) not in kinds or not _PATH.fullmatch(file.path):
            raise UsageError(
                f"{lock.config}: the lock names {file.path!r} of {file.config!r}, split {file.split!r}, "
                "which is not a published table",
                hint="Build it again; a lock is never edited by hand.",
            )
    places = list(kinds)
    files = (file for file in lock.files if file.rows)
    ordered = sorted(files, key=lambda file: places.index((file.config, file.split)))
    return tuple(
        Config(config_name(lock.config, kind), kind, tuple(group))
        for kind, group in groupby(ordered, lambda file: kinds[file.config, file.split])
    )

"""What card and Croissant are about: the datasets of a release with their locks, specs and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from builders import registry
from builders.describe.templates import About, about
from builders.errors import UsageError
from builders.lock.beside import Citations
from builders.lock.lock import Lock, PublishedFile
from builders.spec import Clustering, ConfigSpec, Ids, Release
from builders.tables import SCHEMAS, Kind, config_name, published_path, splits_of


@dataclass(frozen=True, slots=True)
class Config:
    """A published config: a name that `load_dataset` takes, "jobs-qrels", and its files by split.

    A split without rows cannot be loaded, so card and Croissant do not offer it.
    """

    name: str
    kind: Kind
    files: tuple[PublishedFile, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of a release: "jobs" with its corpus, queries, qrels and hard negatives, or clustering sets.

    `about` holds the facts at the top of its card body, `cited` the audit and scores of its very rows.
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
    names = {pa.string(): "string", pa.int32(): "int32", pa.float32(): "float32"}
    listed = isinstance(column.type, pa.ListType)
    return names[column.type.value_type if listed else column.type], listed


def datasets_of(
    release: Release,
    locks: Sequence[Lock],
    specs: Mapping[str, ConfigSpec] | None = None,
    citations: Mapping[str, Citations] | None = None,
) -> tuple[Dataset, ...]:
    """Return the datasets of a release, by name, out of the arguments of `render`.

    Raises:
        UsageError: There is no lock, one is of another release, stands there twice, or names an unknown file.
    """
    if not locks:
        raise UsageError(f"{release.name}: no built config to describe", hint="Build its configs first.")
    names = [lock.config for lock in locks]
    if len(set(names)) < len(names):
        raise UsageError(f"{release.name}: two locks of one config among {', '.join(sorted(names))}")
    datasets = []
    for lock in sorted(locks, key=lambda lock: lock.config):
        if lock.release != release.name:
            raise UsageError(f"{lock.config} belongs to release {lock.release!r}, not {release.name!r}")
        spec = (specs or {}).get(lock.config) or registry.load(lock.config)
        cited = (citations or {}).get(lock.config, Citations()).of_rows(lock.rows_id)
        datasets.append(Dataset(lock, spec, about(lock.config), _configs(lock), cited))
    return tuple(datasets)


def _configs(lock: Lock) -> tuple[Config, ...]:
    """Return the configs that have rows, with their splits, in published order."""
    name = lock.config
    kinds = {
        (config_name(name, kind), split, published_path(name, kind, split)): kind
        for kind in SCHEMAS
        for split in splits_of(kind)
    }
    files = {(file.config, file.split, file.path): file for file in lock.files}
    for config, split, path in sorted(files.keys() - kinds.keys()):
        raise UsageError(
            f"{name}: the lock names {path!r} of {config!r}, split {split!r}, which is not a published table",
            hint="Build it again; a lock is never edited by hand.",
        )
    found: dict[Kind, list[PublishedFile]] = {}
    for place, kind in kinds.items():
        if place in files and files[place].rows:
            found.setdefault(kind, []).append(files[place])
    if not found:
        raise UsageError(f"{name}: the lock names no file with rows", hint="Build it again.")
    return tuple(Config(config_name(name, kind), kind, tuple(of)) for kind, of in found.items())

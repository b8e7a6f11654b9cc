"""Where the tables lie that are evaluated: as they were built, or with texts that were hydrated here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from builders import files
from builders.errors import Refused, StorageError
from builders.lock.lock import Lock, PublishedFile, read_lock, work_folder
from builders.spec import ConfigSpec, Ids
from builders.tables import CLUSTERING, Kind, config_name, kind_of, published_path

_SPLIT = "test"
_HYDRATED = "hydrated"


@dataclass(frozen=True, slots=True)
class TextFolder:
    """A folder of hydrated texts.

    Attributes:
        folder: Where tables lie in the published layout.
        obstacle: What keeps scores of these texts from being held against published ones; empty for nothing.
        stand_in: Whether a stand-in for Reddit gave texts, or the sets that they stand in.
    """

    folder: Path
    obstacle: str = ""
    stand_in: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The tables of a config, and what is known of them.

    Attributes:
        spec: The config.
        lock: Of the build; for hydrated texts one that names their tables, and under
            ``parameters["not_comparable"]`` what keeps them from being compared.
        folder: Under which the lock's files lie.
        locked: The file of the lock; None for hydrated texts, which have none.
        again: What to do where a table is not the one that the lock names.
    """

    spec: ConfigSpec
    lock: Lock
    folder: Path
    locked: Path | None
    again: str

    def path(self, kind: Kind, split: str) -> Path:
        """Return where a table lies."""
        return self.folder / published_path(self.spec.name, kind, split)

    def require_tables(self, kinds: Iterable[Kind] = tuple(Kind)) -> None:
        """Make sure that tables are those that the lock names.

        Raises:
            StorageError: One was changed, or is not there.
        """
        asked = set(kinds)
        for file in self.lock.files:
            path = self.folder / file.path
            if kind_of(file.config) in asked and not (path.is_file() and files.sha256(path) == file.sha256):
                what = "hydrated" if self.locked is None else "built"
                raise StorageError(f"{path}: not the file that was {what}", hint=self.again)

    def require_unchanged(self) -> None:
        """Make sure that nothing was built or hydrated there since.

        Raises:
            Refused: Something was.
        """
        if self.locked is None:
            try:
                self.require_tables()
            except StorageError as error:
                raise Refused(
                    f"{self.folder}: other texts are there since", hint="Run the evaluation again."
                ) from error
        elif not self.locked.exists() or read_lock(self.locked).files != self.lock.files:
            raise Refused(
                f"{self.locked.parent}: another build has been there since", hint="Run the evaluation again."
            )


def find_place(out: Path, spec: ConfigSpec, texts: TextFolder | None = None) -> Place:
    """Find the tables of a config, and make sure that they are those that were built.

    Args:
        out: The folder that was built into.
        spec: The config.
        texts: Where the texts of a config of ids lie; None for other configs.

    Raises:
        StorageError: It was not built or hydrated there, or a table was changed since.
    """
    if isinstance(spec, Ids):
        hint = f"Run mteb-de hydrate {spec.name}, or name its folder with --hydrated."
        if texts is None or not has_texts(texts.folder, spec.name):
            where = f"{texts.folder}: " if texts else ""
            raise StorageError(f"{where}{spec.name} has no texts to evaluate", hint=hint)
        return Place(spec, _hydrated(spec, texts), texts.folder, None, hint)
    locked = work_folder(out, spec.name) / "lock.json"
    again = f"Run: mteb-de build {spec.name} --out {out}"
    if not locked.exists():
        raise StorageError(f"{out}: {spec.name} was not built there", hint=again)
    lock = read_lock(locked)
    place = Place(spec, lock, out / lock.release, locked, again)
    place.require_tables()
    return place


def is_hydrated(lock: Lock) -> bool:
    """Say whether a lock stands for hydrated texts, whose rows are not published."""
    return bool(lock.parameters.get(_HYDRATED))


def has_texts(folder: Path, config: str) -> bool:
    """Say whether a folder holds hydrated texts of a config, in both variants."""
    return all((folder / published_path(config, kind, _SPLIT)).is_file() for kind in CLUSTERING.values())


def _hydrated(spec: Ids, texts: TextFolder) -> Lock:
    return Lock(
        config=spec.name,
        release=spec.release,
        licence="",
        sources=(),
        parameters={_HYDRATED: True} | ({"not_comparable": texts.obstacle} if texts.obstacle else {}),
        tools={},
        funnels=(),
        splits={},
        facts={},
        personal={},
        files=tuple(_file(texts.folder, spec.name, kind) for kind in CLUSTERING.values()),
    )


def _file(folder: Path, config: str, kind: Kind) -> PublishedFile:
    path = folder / published_path(config, kind, _SPLIT)
    try:
        rows = pq.read_metadata(path).num_rows
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{path}: no table of texts ({error})", hint="Hydrate again.") from error
    sha256, size = files.sha256(path), path.stat().st_size
    return PublishedFile(
        config=config_name(config, kind),
        split=_SPLIT,
        path=published_path(config, kind, _SPLIT),
        rows=rows,
        size=size,
        arrow_bytes=size,
        sha256=sha256,
        content=sha256,  # nobody compares it with another writer's, and hashing rows takes seconds
    )

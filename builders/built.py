"""Read a built or hydrated config: its tables, its lock, and what lies beside the lock."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders import files
from builders.errors import Refused, StorageError
from builders.lock.committed import stand_ins, whole_upstream
from builders.lock.lock import Lock, all_locks, read_lock, rows_id, work_folder
from builders.spec import ConfigSpec
from builders.tables import (
    CLUSTERING,
    Kind,
    Table,
    content_hash,
    inside,
    published,
    published_path,
    read_frame,
    rowless,
    splits_of,
    to_arrow,
)

_BUILD_AGAIN = "Build the config again."
_HYDRATED_SPLIT = "test"


@dataclass(frozen=True, slots=True)
class Built:
    """A config as it lies on disk; a table is read each time that it is asked for.

    Attributes:
        folder: Holds the tables in the published layout: a release among the builds, or hydrated texts.
        work: Holds the lock and what the build keeps beside it; None for hydrated texts.
        lock: The lock of the build; None for hydrated texts, which have none.
        contents: A hash of the rows of each table by its path; of hydrated texts the sha256 of the file.
        sums: The sha256 of each table by its path.
        stand_in: Whether something else than all of the real upstream was built or hydrated.
        not_comparable: What keeps scores of hydrated texts from being compared with published ones.
        again: The hint of an error: how the config is built or hydrated again.
    """

    spec: ConfigSpec
    folder: Path
    work: Path | None
    lock: Lock | None
    contents: Mapping[str, str]
    sums: Mapping[str, str]
    stand_in: bool
    not_comparable: str = ""
    again: str = _BUILD_AGAIN

    @property
    def stand_ins(self) -> tuple[str, ...]:
        """Why the build may be rehearsed only; empty where it may be released."""
        return tuple(stand_ins(self.lock)) if self.lock else ()

    @property
    def rows_id(self) -> str:
        """The hash that names the rows of all tables, computed from the rows on disk."""
        rows = {
            published_path(self.spec.name, kind, split): Table(self.spec.name, kind, split, frame)
            for kind, frames in self.tables().items()
            for split, frame in frames.items()
        }
        return rows_id({path: content_hash(to_arrow(table)) for path, table in rows.items()})

    def path(self, kind: Kind, split: str) -> Path:
        """Return where a table lies."""
        return self.folder / published_path(self.spec.name, kind, split)

    def table(self, kind: Kind, split: str) -> pl.DataFrame:
        """Read a table."""
        return inside(kind, read_frame(self.path(kind, split)))

    def splits(self, kind: Kind) -> tuple[str, ...]:
        """Return the splits of a table that lie on disk, in published order."""
        return tuple(split for split in splits_of(kind) if self.path(kind, split).is_file())

    def stacked(self, kind: Kind) -> pl.DataFrame:
        """Read all splits of a table below each other, with a column ``split``; no rows without a split."""
        return stack({split: self.table(kind, split) for split in self.splits(kind)}, kind)

    def tables(self) -> dict[Kind, dict[str, pl.DataFrame]]:
        """Read every table on disk, by kind and by the name of its file."""
        folders = {kind: self.folder / self.spec.name / kind for kind in Kind}
        return {
            kind: {path.stem: inside(kind, read_frame(path)) for path in sorted(folder.glob("*.parquet"))}
            for kind, folder in folders.items()
            if folder.is_dir()
        }

    def beside(self, name: str, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame | None:
        """Read columns of a table that the build keeps beside the lock, such as "undecided".

        Returns:
            The columns of `schema`, strings or numbers; None where the build keeps no such table.

        Raises:
            StorageError: It lacks a column.
        """
        path = self.work and self.work / f"{name}.parquet"
        if path is None or not path.exists():
            return None
        frame = read_frame(path)
        expected = published(name, pl.DataFrame(schema=schema)).schema
        for column, dtype in expected.items():
            if frame.schema.get(column) != dtype:
                what = "strings" if dtype == pl.String else "numbers"
                raise StorageError(f"{path}: no column {column!r} of {what}", hint=_BUILD_AGAIN)
        return inside(name, frame.select(*expected))

    def verify(self, kinds: Iterable[Kind] = tuple(Kind)) -> None:
        """Compare tables with their sha256 at the time of the build or of the hydration.

        Raises:
            StorageError: One was changed, or is not there.
        """
        asked = set(kinds)
        for name, sha256 in self.sums.items():
            path = self.folder / name
            if Kind(path.parent.name) in asked and not (path.is_file() and files.sha256(path) == sha256):
                what = "built" if self.lock else "hydrated"
                raise StorageError(f"{path}: not the file that was {what}", hint=self.again)

    def verify_unchanged(self) -> None:
        """Refuse to go on where something else was built or hydrated since this was read.

        Raises:
            Refused: Something was.
        """
        hint = "Run the evaluation again."
        if self.work is None:
            try:
                self.verify()
            except StorageError as error:
                raise Refused(f"{self.folder}: other texts are there since", hint=hint) from error
        elif not (path := self.work / "lock.json").exists() or _sums(read_lock(path)) != self.sums:
            raise Refused(f"{self.work}: another build has been there since", hint=hint)


def stack(frames: Mapping[str, pl.DataFrame], kind: Kind) -> pl.DataFrame:
    """Return the splits of a table below each other in published order, with a column ``split`` str."""
    found = [frames[split].with_columns(split=pl.lit(split)) for split in splits_of(kind) if split in frames]
    if not found:
        return rowless(kind).with_columns(split=pl.lit("", dtype=pl.String))
    return pl.concat(found, rechunk=True)


def read_built(out: Path, spec: ConfigSpec) -> Built:
    """Read a config, which need not be registered, from the folder that was built into.

    Raises:
        StorageError: It has no lock there.
    """
    work = work_folder(out, spec.name)
    again = f"Run: mteb-de build {spec.name} --out {out}"
    if not (work / "lock.json").exists():
        raise StorageError(f"{work / 'lock.json'}: no lock there", hint=again)
    return _of_lock(out, spec, read_lock(work / "lock.json"))


def read_all(out: Path, load: Callable[[str], ConfigSpec]) -> list[Built]:
    """Read every config that was built under a folder, by name.

    Raises:
        StorageError: Nothing was built there.
    """
    locks = all_locks(out)
    if not locks:
        raise StorageError(f"{out}: nothing was built there", hint=f"Run: mteb-de build --out {out}")
    return [_of_lock(out, load(lock.config), lock) for lock in locks]


def read_hydrated(
    folder: Path, spec: ConfigSpec, *, not_comparable: str = "", stand_in: bool = False
) -> Built:
    """Read the texts that were hydrated of a config of ids.

    Args:
        folder: Holds the texts in the published layout.
        spec: The config.
        not_comparable: See `Built`.
        stand_in: Whether a stand-in for Reddit gave texts, or the sets that they stand in.

    Raises:
        StorageError: There are no texts.
    """
    again = f"Run mteb-de hydrate {spec.name}, or name its folder with --hydrated."
    if not has_texts(folder, spec.name):
        raise StorageError(f"{folder}: {spec.name} has no texts to evaluate", hint=again)
    paths = [published_path(spec.name, kind, _HYDRATED_SPLIT) for kind in CLUSTERING.values()]
    sums = {path: files.sha256(folder / path) for path in paths}
    return Built(spec, folder, None, None, sums, sums, stand_in, not_comparable, again)


def has_texts(folder: Path, config: str) -> bool:
    """Return whether a folder holds hydrated texts of a config, in both variants."""
    return all(
        (folder / published_path(config, kind, _HYDRATED_SPLIT)).is_file() for kind in CLUSTERING.values()
    )


def _of_lock(out: Path, spec: ConfigSpec, lock: Lock) -> Built:
    return Built(
        spec=spec,
        folder=out / lock.release,
        work=work_folder(out, spec.name),
        lock=lock,
        contents={file.path: file.content for file in lock.files},
        sums=_sums(lock),
        stand_in=not whole_upstream(lock.sources, lock.parameters),
        again=f"Run: mteb-de build {spec.name} --out {out}",
    )


def _sums(lock: Lock) -> dict[str, str]:
    return {file.path: file.sha256 for file in lock.files}

"""The manifest: what a release contains, file by file. It is published beside the data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from builders import files
from builders.errors import StorageError
from builders.lock.model import SCHEMA_VERSION, FileLock, Frozen, Lock, read_lock

NAME = "manifest.json"


class Manifest(Frozen):
    """What a release contains.

    Attributes:
        schema_version: Of this document.
        release: "mteb-de".
        locks: sha256 of the lock behind each config.
        recipes: By which recipe the hard negatives of a config were mined, with its parameters.
        files: The parquet files with their hashes, sorted by path.
    """

    schema_version: int = SCHEMA_VERSION
    release: str
    locks: dict[str, str]
    recipes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    files: tuple[FileLock, ...]


def work_folder(out: Path, config: str) -> Path:
    """Return where a build keeps what is not published."""
    return out / "work" / config


def locks_of(out: Path, release: str) -> dict[str, Lock]:
    """Return the locks of all configs of a release that were built under `out`, by config name.

    Raises:
        StorageError: A lock cannot be read.
    """
    found = (read_lock(path) for path in sorted((out / "work").glob("*/lock.json")))
    return {lock.config: lock for lock in found if lock.release == release}


def write_manifest(out: Path, release: str) -> Manifest:
    """Collect the locks under `out` into the manifest of a release, and write it.

    Raises:
        StorageError: A lock cannot be read, or the manifest not written.
    """
    locks = locks_of(out, release)
    manifest = Manifest(
        release=release,
        locks={name: files.sha256(work_folder(out, name) / "lock.json") for name in locks},
        recipes={name: lock.mining.recipe for name, lock in locks.items() if lock.mining},
        files=tuple(sorted((file for lock in locks.values() for file in lock.files), key=lambda f: f.path)),
    )
    files.write_json(out / release / NAME, manifest.model_dump(mode="json"))
    return manifest


def read_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises:
        StorageError: It is not there, or not a manifest.
    """
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StorageError(f"{path}: no manifest there", hint="Build the release's configs first.") from error
    except ValidationError as error:
        raise StorageError(f"{path}: not a manifest ({error.error_count()} faults)") from error

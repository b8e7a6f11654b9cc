"""Results that were computed stay: the same rows, encoder and parameters are never scored twice."""

from __future__ import annotations

import hashlib
import importlib.metadata
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from builders import files
from builders.errors import StorageError
from builders.evaluation.model import Result
from builders.lock.manifest import work_folder
from builders.lock.model import Lock

METRICS = 1
"""Raise it when a score of equal rows and equal vectors changes: what was kept is then computed again."""
_DECIDE = ("bm25s", "ir-measures", "numpy", "pystemmer", "river", "scikit-learn", "scipy", "umap-learn")
_results: TypeAdapter[Result] = TypeAdapter(Result)
_chances: TypeAdapter[dict[str, float]] = TypeAdapter(dict[str, float])
Kept = TypeVar("Kept")
_log = logging.getLogger(__name__)


def kept_path(out: Path, lock: Lock, kinds: Sequence[str], asked: Mapping[str, Any]) -> Path:
    """Return where the result of a question lies: named after all that decides it.

    Args:
        out: The folder that was built into.
        lock: Of the config; the rows of its tables count, not the bytes of its files.
        kinds: Of the tables that are read: "corpus", "clustering-s2s".
        asked: The encoder and every parameter, as JSON values.

    Raises:
        StorageError: What a build keeps beside its lock cannot be read.
    """
    work = work_folder(out, lock.config)
    classes = work / "classes.parquet"
    rows = {file.path: file.content for file in lock.files if file.config.partition("-")[2] in kinds}
    described = {
        "metrics": METRICS,
        "rows": rows,
        "classes": files.sha256(classes) if classes.exists() else None,
        "asked": dict(asked),
        "tools": _versions(),
    }
    return work / "eval" / f"{hashlib.sha256(files.json_bytes(described)).hexdigest()[:32]}.json"


def read_result(path: Path) -> Result | None:
    """Return a kept result; None where there is none, or it is damaged, which the log tells.

    Raises:
        StorageError: It is there and cannot be read.
    """
    return _read(path, _results)


def keep_result(path: Path, result: Result) -> None:
    """Keep a result, whole or not at all.

    Raises:
        StorageError: It cannot be written.
    """
    files.write_json(path, result.model_dump(mode="json"))


def read_chance(path: Path) -> dict[str, float] | None:
    """Return kept scores of chance; None as for `read_result`.

    Raises:
        StorageError: They are there and cannot be read.
    """
    return _read(path, _chances)


def keep_chance(path: Path, scores: dict[str, float]) -> None:
    """Keep scores of chance, whole or not at all.

    Raises:
        StorageError: They cannot be written.
    """
    files.write_json(path, scores)


def _read(path: Path, kind: TypeAdapter[Kept]) -> Kept | None:
    try:
        return kind.validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        hint = "The folder is a cache: correct its permissions, or remove it."
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})", hint=hint) from error
    except ValidationError:
        _log.warning("%s is damaged and is computed again", path)
        return None


def _versions() -> dict[str, str]:
    found = {}
    for name in _DECIDE:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # an extra that is not installed decides nothing
            continue
    return found

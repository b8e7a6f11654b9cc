"""Keep results: the same rows, encoder and parameters are never scored twice."""

import contextlib
import functools
import hashlib
import importlib.metadata
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from builders import files
from builders.built import Built
from builders.lock.lock import work_folder

_VERSION = 4
"""Raise it when a score of equal rows and equal vectors changes: what was kept is then computed again."""
_DECIDE = (
    *("bm25s", "ir-measures", "numba", "numpy", "pynndescent", "pystemmer", "pytrec-eval-terrier", "river"),
    *("scikit-learn", "scipy", "umap-learn"),
)
_T = TypeVar("_T")
_log = logging.getLogger(__name__)


def kept_path(out: Path, built: Built, kinds: Sequence[str], asked: Mapping[str, Any]) -> Path:
    """Return the path of a result, which is named after all that decides it.

    Of the tables that are read (`kinds`), the rows count, and not the bytes of the files. `asked` holds the
    encoder and every parameter, as JSON values.
    """
    work = work_folder(out, built.spec.name)
    beside = [work / name for name in ("classes.parquet", "splits.tsv", "undecided.parquet")]
    described = {
        "version": _VERSION,
        "rows": {path: rows for path, rows in built.contents.items() if Path(path).parent.name in kinds},
        "beside": {path.name: files.sha256(path) for path in beside if path.exists()},
        "asked": dict(asked),
        "tools": dict(versions()),
    }
    return work / "eval" / f"{hashlib.sha256(files.json_bytes(described)).hexdigest()[:32]}.json"


def read_kept(path: Path, shape: TypeAdapter[_T], complete: Callable[[_T], bool]) -> _T | None:
    """Return a kept result; None where there is none, or it is damaged or incomplete, which is logged."""
    if not path.exists():
        return None
    with files.readable(path, hint="The folder is a cache: correct its permissions, or remove it."):
        data = path.read_bytes()
    with contextlib.suppress(ValidationError):
        found = shape.validate_json(data)
        if complete(found):
            return found
    _log.warning("%s is damaged or incomplete and is computed again", path)
    return None


def keep(path: Path, shape: TypeAdapter[_T], result: _T) -> None:
    """Keep a result, whole or not at all."""
    files.write_json(path, shape.dump_python(result, mode="json"))


@functools.cache
def versions() -> Mapping[str, str]:
    """Return the versions of the installed libraries that decide scores."""
    found = {}
    for name in _DECIDE:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found

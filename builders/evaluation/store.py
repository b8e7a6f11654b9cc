"""Results that were computed stay: the same rows, encoder and parameters are never scored twice."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from builders import files
from builders.errors import StorageError
from builders.evaluation.model import ClusteringResult, Result, RetrievalResult, SetScore
from builders.evaluation.order import by_level, by_score
from builders.lock.lock import Frozen, Lock, work_folder

METRICS = 2
"""Raise it when a score of equal rows and equal vectors changes: what was kept is then computed again."""
_DECIDE = (
    "bm25s",
    "ir-measures",
    "numba",
    "numpy",
    "pynndescent",
    "pystemmer",
    "pytrec-eval-terrier",
    "river",
    "scikit-learn",
    "scipy",
    "umap-learn",
)
_SEARCHED = {"ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100"}
_results: TypeAdapter[Result] = TypeAdapter(Result)
_scored_sets: TypeAdapter[tuple[SetScore, ...]] = TypeAdapter(tuple[SetScore, ...])
Kept = TypeVar("Kept")
_log = logging.getLogger(__name__)


class _Finite(Frozen):
    model_config = ConfigDict(allow_inf_nan=False)


class SearchChance(_Finite):
    """What a random ranking scores, with its standard errors; see `rules.chance`."""

    ndcg_at_10: float
    ndcg_at_10_error: float
    ndcg_at_10_shared_error: float
    mrr_at_10: float
    mrr_at_10_error: float
    recall_at_10: float
    recall_at_10_error: float
    recall_at_10_shared_error: float
    recall_at_100: float
    recall_at_100_error: float
    recall_at_100_shared_error: float


class SetChance(_Finite):
    """What clusters of random vectors score, with its standard error; see `chance.chance`."""

    v_measure: float
    v_measure_error: float


Chance = TypeVar("Chance", SearchChance, SetChance)
AnyResult = TypeVar("AnyResult", bound=RetrievalResult | ClusteringResult)


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
        "tools": dict(versions()),
    }
    return work / "eval" / f"{hashlib.sha256(files.json_bytes(described)).hexdigest()[:32]}.json"


def read_result(path: Path) -> Result | None:
    """Return a kept result; None where there is none, or it is damaged or incomplete, which the log tells.

    Raises:
        StorageError: It is there and cannot be read.
    """
    found = _read(path, _results)
    if found is None or _is_whole(found):
        return found and in_order(found)
    _log.warning("%s is incomplete and is computed again", path)
    return None


def keep_result(path: Path, result: Result) -> None:
    """Keep a result, whole or not at all; what was kept of its sets goes.

    Raises:
        StorageError: It cannot be written.
    """
    files.write_json(path, result.model_dump(mode="json"))
    files.remove(_sets_path(path))


def in_order(result: AnyResult) -> AnyResult:
    """Return a result whose scores and levels stand in the order of `order`, which JSON does not keep."""
    if isinstance(result, RetrievalResult):
        return result.model_copy(
            update={"scores": {name: result.scores[name] for name in by_score(result.scores)}}
        )
    return result.model_copy(
        update={"levels": {name: result.levels[name] for name in by_level(result.levels)}}
    )


def read_sets(path: Path) -> tuple[SetScore, ...]:
    """Return the first sets of a clustering result that a run kept before it was cut; none as a rule.

    Args:
        path: Of the result.

    Raises:
        StorageError: They are there and cannot be read.
    """
    return _read(_sets_path(path), _scored_sets) or ()


def keep_sets(path: Path, scores: Sequence[SetScore]) -> None:
    """Keep the first sets of a clustering result until all of them are there.

    Raises:
        StorageError: They cannot be written.
    """
    files.write_json(_sets_path(path), [score.model_dump(mode="json") for score in scores])


def read_chance(path: Path, kind: type[Chance]) -> Chance | None:
    """Return kept scores of chance; None as for `read_result`.

    Raises:
        StorageError: They are there and cannot be read.
    """
    return _read(path, TypeAdapter(kind))


def keep_chance(path: Path, scores: SearchChance | SetChance) -> None:
    """Keep scores of chance, whole or not at all.

    Raises:
        StorageError: They cannot be written.
    """
    files.write_json(path, scores.model_dump(mode="json"))


def _is_whole(result: Result) -> bool:
    if isinstance(result, RetrievalResult):
        return result.scores.keys() >= _SEARCHED
    return bool(result.sets) and sum(level.sets for level in result.levels.values()) == len(result.sets)


def _sets_path(path: Path) -> Path:
    return path.with_suffix(".sets.json")


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


@functools.cache
def versions() -> Mapping[str, str]:
    """Return the versions of the installed libraries that decide scores."""
    found = {}
    for name in _DECIDE:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found

"""Writing a built config: the published files, the work folder, and the lock last."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from builders import files
from builders.checks.finding import Finding, Severity
from builders.errors import StorageError
from builders.lock.lock import (
    MANIFEST,
    Lock,
    LockedFinding,
    LockedMining,
    LockedSource,
    PublishedFile,
    locks_of,
    read_manifest,
    work_folder,
    write_manifest,
)
from builders.personal.report import people_facts
from builders.prepare.facts import facts
from builders.prepare.retrieval import Prepared
from builders.prepare.splits import write_splits
from builders.spec import RELEASES, Retrieval
from builders.tables import SPLITS, Table, encode, frame_bytes

_TOOLS = ("numpy", "phonenumbers", "polars", "pyarrow", "python-stdnum", "regex")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything a build came to, before it is written.

    Attributes:
        assignment: ``_id``, ``group``, ``split`` of the queries published.
        splits: The same, and the committed queries that are gone: what the next build starts from.
        scale: From `builders.mining.Mined`; None where nothing is mined.
        suspicious: From `builders.mining.Mined`; None where nothing is mined.
    """

    spec: Retrieval
    sources: tuple[LockedSource, ...]
    parameters: dict[str, Any]
    prepared: Prepared
    assignment: pl.DataFrame
    splits: pl.DataFrame
    tables: tuple[Table, ...]
    mining: LockedMining | None
    scale: pl.DataFrame | None
    suspicious: pl.DataFrame | None
    findings: list[Finding]


def write(out: Path, outcome: Outcome) -> Lock:
    """Write a config under `out`: its old lock goes first, the new one comes after all other files of it.

    Between the two the folder has no lock, so that a build that was cut is never taken for a whole one.

    Raises:
        StorageError: Something cannot be written.
    """
    encoded = encode_all(outcome.tables)
    lock = _lock(outcome, tuple(file for _, file in encoded.values()))
    beside = {
        "dropped": outcome.prepared.dropped,
        "provenance": outcome.prepared.provenance,
        "undecided": outcome.prepared.relations.undecided,
        "classes": outcome.prepared.relations.classes,
        "scrub_merges": outcome.prepared.scrub_merges,
        "scale": outcome.scale,
        "suspicious_positives": outcome.suspicious,
    }
    put(out, lock, encoded, beside, splits=outcome.splits)
    return lock


def encode_all(tables: Sequence[Table]) -> dict[str, tuple[bytes, PublishedFile]]:
    """Return the files of tables by path, each with what the lock keeps of it."""
    return {table.path: encode(table) for table in sorted(tables, key=lambda table: table.path)}


def put(
    out: Path,
    lock: Lock,
    encoded: Mapping[str, tuple[bytes, PublishedFile]],
    beside: Mapping[str, pl.DataFrame | None],
    *,
    splits: pl.DataFrame | None = None,
) -> None:
    """Write a built config, its lock last. What it left in another release, where it was before, goes.

    Args:
        out: The folder that is built into.
        lock: Of the config.
        encoded: The published files by path.
        beside: What is kept in the work folder, by name; a None takes away what an earlier build left.
        splits: The assignment for the next build, where there is one.

    Raises:
        StorageError: Something cannot be written.
    """
    work = work_folder(out, lock.config)
    published = out / lock.release
    files.remove(work / "lock.json")
    files.sweep(work)
    files.sweep(published)
    _remove_stale(published / lock.config, {published / path for path in encoded})
    left = [release for release in RELEASES if release != lock.release and _is_in(out / release, lock.config)]
    for release in left:
        _remove_folder(out / release / lock.config)
    for path, (data, _) in encoded.items():
        files.write_bytes(published / path, data)
    for name, frame in beside.items():
        kept = work / f"{name}.parquet"
        if frame is None:
            files.remove(kept)
        else:
            files.write_bytes(kept, frame_bytes(frame))
    if splits is not None:
        write_splits(work / "splits.tsv", splits)
    told = {table: report.model_dump(mode="json") for table, report in lock.scrubbed.items()}
    files.write_json(work / "personal.json", told)
    files.remove(work / "mining.json")
    if lock.mining is not None:
        files.write_json(work / "mining.json", lock.mining.model_dump(mode="json"))
    files.write_json(work / "lock.json", lock.model_dump(mode="json"))
    write_manifest(out, lock.release)
    for release in left:
        if locks_of(out, release):
            write_manifest(out, release)
        else:
            files.remove(out / release / MANIFEST)


def _lock(outcome: Outcome, published: tuple[Any, ...]) -> Lock:
    spec = outcome.spec
    return Lock(
        config=spec.name,
        release=spec.release,
        licence=spec.licence,
        sources=outcome.sources,
        parameters=outcome.parameters,
        tools=tool_versions(),
        funnels=outcome.prepared.funnels,
        splits={split: outcome.assignment.filter(pl.col("split") == split).height for split in SPLITS},
        facts=facts(outcome.prepared, outcome.assignment) | people_facts(),
        personal={table: told.kinds for table, told in outcome.prepared.personal.items()},
        scrubbed=outcome.prepared.personal,
        mining=outcome.mining,
        decisions=outcome.prepared.decisions,
        findings=finding_locks(outcome.findings),
        files=published,
    )


def finding_locks(findings: Sequence[Finding]) -> tuple[LockedFinding, ...]:
    """Return findings as the lock keeps them."""
    return tuple(map(_finding_lock, findings))


def _finding_lock(finding: Finding) -> LockedFinding:
    severities = {Severity.ERROR: "error", Severity.GATE: "gate", Severity.NOTE: "note"}
    return LockedFinding.model_validate({
        "code": finding.code,
        "severity": severities[finding.severity],
        "count": finding.count,
        "message": finding.message,
        "waived": finding.waived,
    })


def tool_versions() -> dict[str, str]:
    """Return the versions of what decides bytes: libraries, Python, Unicode."""
    versions = {name: importlib.metadata.version(name) for name in _TOOLS}
    return versions | {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "unicode": unicodedata.unidata_version,
    }


def _remove_stale(folder: Path, expected: set[Path]) -> None:
    """Take away files of an earlier build that this one does not write, so that none is published."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path in other.parents for other in expected):
                _remove_folder(path)
        elif path not in expected:
            files.remove(path)


def _is_in(release: Path, config: str) -> bool:
    """Say whether a config was built into a release, though perhaps not as a whole."""
    try:
        listed = config in read_manifest(release / MANIFEST).locks
    except StorageError:
        listed = False
    return listed or (release / config).exists()


def _remove_folder(path: Path) -> None:
    try:
        if path.exists():
            shutil.rmtree(path)
    except OSError as error:
        raise files.unwritable(path, error, "removed") from error

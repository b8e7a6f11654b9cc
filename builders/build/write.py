"""Writing a built config: the published files, the work folder, and the lock last."""

import importlib.metadata
import platform
import shutil
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders import files
from builders.build.draft import Draft
from builders.checks.finding import Finding
from builders.lock.lock import (
    MANIFEST,
    Lock,
    LockedFinding,
    LockedSource,
    PublishedFile,
    locks_of,
    work_folder,
    write_manifest,
)
from builders.prepare.splits import write_splits
from builders.spec import RELEASES
from builders.tables import Kind, encode, frame_bytes

_TOOLS = ("numpy", "phonenumbers", "polars", "pyarrow", "python-stdnum", "regex")


def write(
    out: Path,
    draft: Draft,
    sources: tuple[LockedSource, ...],
    parameters: dict[str, Any],
    findings: Sequence[Finding],
) -> Lock:
    """Write a config under `out`: its old lock goes first, the new one comes after all other files of it.

    Between the two the folder has no lock, so that a build that was cut is never taken for a whole one. What
    the config left in another release, where it was before, goes.
    """
    encoded = {table.path: encode(table) for table in sorted(draft.tables, key=lambda table: table.path)}
    lock = _lock(draft, sources, parameters, findings, tuple(file for _, file in encoded.values()))
    work = work_folder(out, lock.config)
    published = out / lock.release
    files.remove(work / "lock.json")
    files.sweep(work)
    files.sweep(published)
    _remove_stale(published / lock.config, {published / path for path in encoded})
    others = [release for release in RELEASES if release != lock.release]
    for folder in (out / release / lock.config for release in others):
        if folder.exists():
            _remove_folder(folder)
    for path, (data, _) in encoded.items():
        files.write_bytes(published / path, data)
    _write_work(work, draft, lock)
    files.write_json(work / "lock.json", lock.model_dump(mode="json"))
    write_manifest(out, lock.release)
    for manifest in (out / release / MANIFEST for release in others):
        if locks_of(out, manifest.parent.name) and manifest.exists():
            write_manifest(out, manifest.parent.name)
        else:
            files.remove(manifest)
    return lock


def _write_work(work: Path, draft: Draft, lock: Lock) -> None:
    """Write what is kept beside the lock; what an earlier build of another kind left there goes."""
    tables = {work / f"{name}.parquet": frame for name, frame in draft.work.items() if frame is not None}
    for path in {*work.glob("*.parquet"), work / "mining.json", work / "splits.tsv"} - tables.keys():
        files.remove(path)
    for path, frame in tables.items():
        files.write_bytes(path, frame_bytes(path.stem, frame))
    if draft.splits is not None:
        write_splits(work / "splits.tsv", draft.splits)
    reports = {table: report.model_dump(mode="json") for table, report in lock.scrubbed.items()}
    files.write_json(work / "personal.json", reports)
    if lock.mining is not None:
        files.write_json(work / "mining.json", lock.mining.model_dump(mode="json"))


def _lock(
    draft: Draft,
    sources: tuple[LockedSource, ...],
    parameters: dict[str, Any],
    findings: Sequence[Finding],
    published: tuple[PublishedFile, ...],
) -> Lock:
    spec = draft.spec
    tools = {name: importlib.metadata.version(name) for name in _TOOLS}
    python = ".".join(platform.python_version_tuple()[:2])
    return Lock(
        config=spec.name,
        release=spec.release,
        licence=spec.licence,
        sources=sources,
        parameters=parameters,
        tools=tools | {"python": python, "unicode": unicodedata.unidata_version},
        funnels=draft.funnels,
        splits={table.split: table.frame.height for table in draft.tables if table.kind is Kind.QUERIES},
        facts=draft.facts,
        personal={table: report.kinds for table, report in draft.scrubbed.items()},
        scrubbed=draft.scrubbed,
        mining=draft.mining,
        clustering=draft.clustering,
        decisions=draft.decisions,
        findings=tuple(
            LockedFinding(
                code=finding.code,
                severity=finding.severity.value,
                count=finding.count,
                message=finding.message,
                waived=finding.waived,
            )
            for finding in findings
        ),
        files=published,
    )


def _remove_stale(folder: Path, expected: set[Path]) -> None:
    """Take away files of an earlier build that this one does not write, so that none is published."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path in other.parents for other in expected):
                _remove_folder(path)
        elif path not in expected:
            files.remove(path)


def _remove_folder(path: Path) -> None:
    with files.writing(path, "removed"):
        shutil.rmtree(path)

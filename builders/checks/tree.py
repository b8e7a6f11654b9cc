"""Checking a built tree: ``OUT/<release>/<config>/<kind>/<split>.parquet`` and ``OUT/work/<config>/``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import polars as pl

from builders import registry
from builders.checks.clustering import run_clustering
from builders.checks.findings import ordered
from builders.checks.frames import PAIR
from builders.checks.model import AnySubject, ClusteringSubject, Finding, IdsSubject, Subject
from builders.checks.release import check_release
from builders.checks.rules import run
from builders.checks.submissions import run_ids
from builders.checks.waivers import apply_waivers
from builders.errors import StorageError
from builders.lock.committed import whole_upstream
from builders.lock.manifest import work_folder
from builders.lock.model import read_lock
from builders.parquet import read_frame
from builders.prepare.scrub_merges import SCRUB_MERGES
from builders.spec import Clustering, ConfigSpec, Ids, Retrieval
from builders.tables import Kind

CONFIGS = Path(__file__).parents[1] / "configs"
_BUILD_AGAIN = "Build the config again."


def check_tree(
    out: Path, *, load: Callable[[str], ConfigSpec] = registry.load, configs: Path = CONFIGS
) -> list[Finding]:
    """Apply every rule to every config and release that was built under a folder, and their waivers.

    Args:
        out: The folder that was built into.
        load: Gives a config by its name.
        configs: Where ``NAME.splits.tsv``, the committed assignments, lie.

    Returns:
        All findings, sorted by severity, code and config.

    Raises:
        UsageError: A lock names a config that there is not, or a committed assignment is malformed.
        StorageError: Nothing was built there, or something cannot be read.
    """
    locks = [read_lock(path) for path in sorted((out / "work").glob("*/lock.json"))]
    if not locks:
        raise StorageError(f"{out}: nothing was built there", hint=f"Run: mteb-de build --out {out}")
    findings: list[Finding] = []
    for lock in locks:
        spec = load(lock.config)
        if isinstance(spec, Clustering):
            found = run_clustering(read_clustering(out, spec))
        elif isinstance(spec, Ids):
            found = run_ids(read_ids(out, spec))
        else:
            committed = _committed(configs / f"{spec.name}.splits.tsv")
            found = run(read_built(out, spec), committed=committed)
        findings += apply_waivers(found, spec.waivers)
    for release in sorted({lock.release for lock in locks}):
        findings += check_release(out, release)
    return ordered(findings)


def _committed(path: Path) -> pl.DataFrame | None:
    from builders.prepare.splits import read_splits

    return read_splits(path) if path.exists() else None


def read_subject(out: Path, config: str) -> AnySubject:
    """Read a built config as its rules see it.

    Args:
        out: The folder that was built into.
        config: The builder's name.

    Raises:
        UsageError: There is no such config.
        StorageError: It has no lock there, or a table cannot be read.
    """
    spec = registry.load(config)
    match spec:
        case Clustering():
            return read_clustering(out, spec)
        case Ids():
            return read_ids(out, spec)
        case Retrieval():
            return read_built(out, spec)


def read_clustering(out: Path, spec: Clustering) -> ClusteringSubject:
    """Read the tables and the lock of a clustering config, which need not be registered.

    Raises:
        StorageError: It has no lock there, or a table cannot be read.
    """
    lock = read_lock(work_folder(out, spec.name) / "lock.json")
    whole = whole_upstream(lock.sources, lock.parameters)
    return ClusteringSubject(spec, _tables(out, spec), lock.funnels, lock.clustering, upstream=whole)


def read_ids(out: Path, spec: Ids) -> IdsSubject:
    """Read the table, the lock and the statuses of a config of ids, which need not be registered.

    Raises:
        StorageError: It has no lock there, or a table cannot be read.
    """
    work = work_folder(out, spec.name)
    lock = read_lock(work / "lock.json")
    ledger = _beside(work / "statuses.parquet", dict.fromkeys(("id", "status", "subreddit"), pl.String))
    return IdsSubject(spec, _tables(out, spec), lock.funnels, lock.clustering, ledger)


def read_built(out: Path, spec: Retrieval) -> Subject:
    """Read the tables, lock and undecided pairs of a config, which need not be registered.

    Raises:
        StorageError: It has no lock there, or a table cannot be read.
    """
    work = work_folder(out, spec.name)
    lock = read_lock(work / "lock.json")
    return Subject(
        spec,
        _tables(out, spec),
        _beside(work / "undecided.parquet", dict.fromkeys(PAIR, pl.String)),
        lock.funnels,
        lock.mining,
        _beside(work / "scale.parquet", {"query-id": pl.String, "mean": pl.Float64, "deviation": pl.Float64}),
        _beside(work / "classes.parquet", {"corpus-id": pl.String, "class": pl.String}),
        _beside(work / "provenance.parquet", dict.fromkeys(("table", "_id", "upstream_id"), pl.String)),
        _beside(work / "scrub_merges.parquet", SCRUB_MERGES),
        lock.decisions,
    )


def _tables(out: Path, spec: ConfigSpec) -> dict[Kind, dict[str, pl.DataFrame]]:
    published = out / spec.release / spec.name
    return {kind: _splits(published / kind) for kind in Kind if (published / kind).is_dir()}


def _splits(folder: Path) -> dict[str, pl.DataFrame]:
    return {path.stem: read_frame(path) for path in sorted(folder.glob("*.parquet"))}


def _beside(path: Path, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame | None:
    """Read what a build may have kept beside the lock."""
    if not path.exists():
        return None
    frame = read_frame(path)
    for name, dtype in columns.items():
        if frame.schema.get(name) != dtype:
            kind = "strings" if dtype is pl.String else "numbers"
            raise StorageError(f"{path}: no column {name!r} of {kind}", hint=_BUILD_AGAIN)
    return frame.select(*columns)

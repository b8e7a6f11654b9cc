"""Checking a built tree: ``OUT/<release>/<config>/<kind>/<split>.parquet`` and ``OUT/work/<config>/``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl

from builders import built, registry
from builders.built import Built
from builders.checks.clustering import run_clustering
from builders.checks.findings import ordered
from builders.checks.model import AnySubject, ClusteringSubject, Finding, IdsSubject, Subject
from builders.checks.release import check_release
from builders.checks.rules import run
from builders.checks.submissions import run_ids
from builders.checks.waivers import apply_waivers
from builders.lock.committed import FOLDER
from builders.prepare.scrub_merges import SCRUB_MERGES
from builders.spec import Clustering, ConfigSpec, Ids, Retrieval
from builders.tables import PAIR


def check_tree(
    out: Path, *, load: Callable[[str], ConfigSpec] = registry.load, configs: Path = FOLDER
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
    configs_built = built.read_all(out, load)
    findings: list[Finding] = []
    for config in configs_built:
        subject = subject_of(config)
        if isinstance(subject, ClusteringSubject):
            found = run_clustering(subject)
        elif isinstance(subject, IdsSubject):
            found = run_ids(subject)
        else:
            found = run(subject, committed=_committed(configs / f"{config.spec.name}.splits.tsv"))
        findings += apply_waivers(found, config.spec.waivers)
    for release in sorted({config.folder.name for config in configs_built}):
        findings += check_release(out, release)
    return ordered(findings)


def _committed(path: Path) -> pl.DataFrame | None:
    from builders.prepare.splits import read_splits

    return read_splits(path) if path.exists() else None


def subject_of(config: Built) -> AnySubject:
    """Read of a built config what its rules look at.

    Raises:
        StorageError: A table cannot be read.
    """
    lock, spec, tables, beside = config.lock, config.spec, config.tables(), config.beside
    assert lock is not None
    match spec:
        case Clustering():
            return ClusteringSubject(
                spec, tables, lock.funnels, lock.clustering, upstream=not config.stand_in
            )
        case Ids():
            columns = dict.fromkeys(("id", "status", "subreddit"), pl.String)
            return IdsSubject(spec, tables, lock.funnels, lock.clustering, beside("statuses", columns))
        case Retrieval():
            scale = {"query-id": pl.String, "mean": pl.Float64, "deviation": pl.Float64}
            return Subject(
                spec,
                tables,
                beside("undecided", dict.fromkeys(PAIR, pl.String)),
                lock.funnels,
                lock.mining,
                beside("scale", scale),
                beside("classes", dict.fromkeys(("corpus-id", "class"), pl.String)),
                beside("provenance", dict.fromkeys(("table", "_id", "upstream_id"), pl.String)),
                beside("scrub_merges", SCRUB_MERGES),
                lock.decisions,
            )


def read_built(out: Path, spec: Retrieval) -> Subject:
    """Read the tables, lock and undecided pairs of a config, which need not be registered.

    Raises:
        StorageError: It has no lock there, or a table cannot be read.
    """
    subject = subject_of(built.read_built(out, spec))
    assert isinstance(subject, Subject)
    return subject


def read_subject(out: Path, config: str) -> AnySubject:
    """Read a built config as its rules see it.

    Raises:
        UsageError: There is no such config.
        StorageError: It has no lock there, or a table cannot be read.
    """
    return subject_of(built.read_built(out, registry.load(config)))

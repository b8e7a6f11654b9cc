"""The steps of a build of ids, whose texts nobody may publish: read, judge, draw, check, write + lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from builders import checks
from builders.build.options import (
    Built,
    Options,
    by_kind,
    finding_lines,
    funnel_line,
    stop_on_errors,
    written_line,
)
from builders.build.write import encode_all, finding_locks, put, tool_versions
from builders.checks.finding import Finding
from builders.errors import SourceChanged
from builders.files import sha256
from builders.lock.lock import ClusteringFigures, Lock, LockedSource, SetFigures
from builders.prepare.sets import DrawnSet, provenance
from builders.progress import Progress
from builders.reddit.dated_ledger import read_statuses
from builders.reddit.sets import PreparedIds, draw_ids, id_table, limit_ids, prepare_ids
from builders.sources import Fetched
from builders.spec import SEED, Ids
from builders.tables import Kind, Table


def build_ids(spec: Ids, options: Options, progress: Progress, fetched: Fetched, *, stand_in: bool) -> Built:
    """Build a config of ids from its fetched sources, and write its lock last.

    Raises:
        SourceError: An upstream is damaged, or the ledger does not tell of every id.
        SourceChanged: The ledger was written anew meanwhile.
        FindingsError: A check found an error; nothing of the release was touched.
        StorageError: The folder cannot be written.
    """
    read = spec.read(fetched.files)
    if options.limit is not None:
        read = limit_ids(read, options.limit)
    prepared = prepare_ids(spec, read, _read_ledger(spec, fetched))
    progress.step("prepare", funnel_line(prepared.funnel))
    drawn = draw_ids(spec, prepared)
    table = Table(spec.name, Kind.CLUSTERING_IDS, "test", id_table(prepared.submissions, drawn))
    figures = ClusteringFigures(sets=tuple(_set(prepared.submissions, one) for one in drawn), texts={})
    progress.step("draw", _sets_line(figures))
    findings = checks.run(
        checks.Subject(
            spec, by_kind([table]), (prepared.funnel,), clustering=figures, statuses=prepared.statuses
        )
    )
    stop_on_errors(spec, findings)
    progress.step("check", *finding_lines(findings))
    lock = _write(options, spec, fetched.locks, prepared, drawn, table, figures, findings, stand_in=stand_in)
    progress.step("write", written_line(lock))
    return Built(lock, findings)


def _read_ledger(spec: Ids, fetched: Fetched) -> pl.DataFrame:
    """Read the ledger, and make sure that it is the one whose hash the lock is about to keep."""
    (path,) = fetched.files[spec.ledger.name]
    ledger = read_statuses(path)
    (file,) = next(lock.files for lock in fetched.locks if lock.name == spec.ledger.name)
    if sha256(path) != file.sha256:
        raise SourceChanged(f"{path}: it was written anew while it was read", hint="Build again.")
    return ledger


def _write(
    options: Options,
    spec: Ids,
    sources: tuple[LockedSource, ...],
    prepared: PreparedIds,
    drawn: Sequence[DrawnSet],
    table: Table,
    figures: ClusteringFigures,
    findings: Sequence[Finding],
    *,
    stand_in: bool,
) -> Lock:
    encoded = encode_all([table])
    told = prepared.statuses
    parameters: dict[str, Any] = {
        "seed": SEED,
        "encoder": None,
        "limit": options.limit,
        "stand_in": stand_in,
        "ledger": {
            "first": told["checked"].min(),
            "last": told["checked"].max(),
            "origins": _counts(told, "origin"),
            "archives": _counts(told, "archive"),
        },
    }
    held = {row for one in drawn for row in one.rows}
    lock = Lock(
        config=spec.name,
        release=spec.release,
        licence=spec.licence,
        sources=sources,
        parameters=parameters,
        tools=tool_versions(),
        funnels=(prepared.funnel,),
        splits={},
        facts={
            "documents": prepared.submissions.height,
            "documents_in_no_set": prepared.submissions.height - len(held),
            "labels_subreddit": prepared.submissions["subreddit"].n_unique(),
            "sentences": sum(len(one.rows) for one in drawn),
        },
        personal={},
        clustering=figures,
        findings=finding_locks(findings),
        files=tuple(file for _, file in encoded.values()),
    )
    beside = {
        "dropped": prepared.dropped,
        "provenance": provenance(prepared.submissions, drawn, "id"),
        "statuses": prepared.statuses,
    }
    put(options.out, lock, encoded, beside)
    return lock


def _counts(told: pl.DataFrame, column: str) -> dict[str, int]:
    """Return how many answers have which value; none for those without one."""
    return dict(told.filter(pl.col(column) != "").group_by(column).len().sort(column).iter_rows())


def _set(submissions: pl.DataFrame, drawn: DrawnSet) -> SetFigures:
    members = submissions[list(drawn.rows)]
    labels = members[drawn.label].n_unique()
    return SetFigures(level=drawn.level, rows=members.height, labels=labels, repeated={})


def _sets_line(figures: ClusteringFigures) -> str:
    rows = [one.rows for one in figures.sets]
    labels = " ".join(str(one.labels) for one in figures.sets)
    return f"{len(rows)} sets of {min(rows):,}-{max(rows):,} ids; labels {labels}"

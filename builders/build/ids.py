"""The steps of a build of ids, whose texts nobody may publish: read, judge, draw, check, write + lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
from builders.checks.model import Finding, IdsSubject
from builders.errors import SourceChanged, SourceMissing
from builders.files import sha256
from builders.lock.lock import ClusteringFigures, Funnel, Lock, LockedSource, SetFigures
from builders.prepare.reasons import Space
from builders.prepare.retrieval import in_space
from builders.prepare.sets import DrawnSet, draw, provenance
from builders.progress import Progress
from builders.reddit.dated_ledger import read_statuses
from builders.sources import Fetched
from builders.spec import SEED, Ids, IdsFile
from builders.tables import SCHEMAS, Kind, Table
from builders.text.digest import digest

_SHOWN = 5
_USERS_OWN = "u_"
"""A subreddit of such a name is a user's profile, and the rest of it is the user's name."""


@dataclass(frozen=True, slots=True)
class PreparedIds:
    """The submissions that sets are drawn from, and what became of the other ids.

    Attributes:
        submissions: ``id``, ``subreddit``; by id.
        statuses: ``id``, ``status``, ``subreddit``, ``checked``, ``origin`` str of every id of the upstream;
            by id.
        dropped: ``table``, ``id``, ``space``, ``reason``; see `builders.prepare.reasons.Space`.
        funnel: The way of the lines of the upstream.
    """

    submissions: pl.DataFrame
    statuses: pl.DataFrame
    dropped: pl.DataFrame
    funnel: Funnel


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
    subject = IdsSubject(spec, by_kind([table]), (prepared.funnel,), figures, prepared.statuses)
    findings = checks.apply_waivers(checks.run_ids(subject), spec.waivers)
    stop_on_errors(spec, findings)
    progress.step("check", *finding_lines(findings))
    lock = _write(options, spec, fetched.locks, prepared, drawn, table, figures, findings, stand_in=stand_in)
    progress.step("write", written_line(lock))
    return Built(lock, findings)


def limit_ids(read: IdsFile, rows: int) -> IdsFile:
    """Keep `rows` ids, chosen by their hash and so whatever their order."""
    kept = tuple(sorted(read.ids, key=digest)[:rows])
    return IdsFile(kept, len(kept))


def prepare_ids(spec: Ids, read: IdsFile, ledger: pl.DataFrame) -> PreparedIds:
    """Judge every id by the ledger, and account for every line of the upstream.

    Reddit does not tell names apart by case: a subreddit that is spelt in several ways gets the most frequent
    one, and of equally frequent ones the first by code point.

    Args:
        spec: The config.
        read: The ids of the upstream.
        ledger: ``id``, ``status``, ``subreddit``, ``checked``, ``origin``, ``archive`` str.

    Raises:
        SourceMissing: The ledger does not tell what became of an id.
    """
    listed = pl.DataFrame({"id": read.ids}, schema={"id": pl.String})
    columns = ["id", "status", "subreddit", "checked", "origin", "archive"]
    known = ledger.select(pl.col(columns).cast(pl.String))
    statuses = _spelt_alike(listed.join(known, on="id", how="left").sort("id"))
    _refuse_unanswered(spec, statuses.filter(pl.col("status").is_null() | (pl.col("status") == "error")))
    nameless = (pl.col("subreddit").fill_null("") == "") | (
        pl.col("subreddit").str.to_lowercase().str.starts_with(_USERS_OWN)
    )
    reason = pl.when(pl.col("status") != "ok").then("status").when(nameless).then(pl.lit("no_subreddit"))
    judged = statuses.with_columns(reason=reason)
    kept = judged.filter(pl.col("reason").is_null()).select("id", "subreddit")
    dropped = judged.drop_nulls("reason").select(table=pl.lit("submissions"), id="id", reason="reason")
    reasons = dropped.group_by("reason").len().sort("reason")
    funnel = Funnel(
        table="submissions",
        read=read.lines,
        dropped=dict(reasons.iter_rows()),
        merged=read.lines - listed.height,
        out=kept.height,
    )
    return PreparedIds(kept, statuses, in_space(dropped.sort("reason", "id"), Space.UPSTREAM), funnel)


def draw_ids(spec: Ids, prepared: PreparedIds) -> list[DrawnSet]:
    """Draw the sets of a config of ids.

    Raises:
        FindingsError: There is no submission to draw.
    """
    return draw(prepared.submissions, spec.sets, seed=SEED)


def id_table(submissions: pl.DataFrame, drawn: Sequence[DrawnSet]) -> pl.DataFrame:
    """Return the published table: ``submission_ids`` and ``labels``, lists of str, one row per set."""
    filled = [
        submissions[list(one.rows)].select(
            pl.col("id").implode().alias("submission_ids"), pl.col(one.label).implode().alias("labels")
        )
        for one in drawn
    ]
    return pl.concat(filled, rechunk=True).cast(pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]))


def _read_ledger(spec: Ids, fetched: Fetched) -> pl.DataFrame:
    """Read the ledger, and make sure that it is the one whose hash the lock is about to keep."""
    (path,) = fetched.files[spec.ledger.name]
    ledger = read_statuses(path)
    (file,) = next(lock.files for lock in fetched.locks if lock.name == spec.ledger.name)
    if sha256(path) != file.sha256:
        raise SourceChanged(f"{path}: it was written anew while it was read", hint="Build again.")
    return ledger


def _spelt_alike(statuses: pl.DataFrame) -> pl.DataFrame:
    folded = pl.col("subreddit").str.to_lowercase().alias("folded")
    spellings = statuses.drop_nulls("subreddit").group_by(folded, "subreddit").len()
    usual = (
        spellings
        .sort(["len", "subreddit"], descending=[True, False])
        .unique("folded", keep="first", maintain_order=True)
        .select("folded", usual="subreddit")
    )
    return (
        statuses
        .with_columns(folded)
        .join(usual, on="folded", how="left", maintain_order="left")
        .with_columns(subreddit=pl.coalesce("usual", "subreddit"))
        .drop("folded", "usual")
    )


def _refuse_unanswered(spec: Ids, unanswered: pl.DataFrame) -> None:
    if unanswered.is_empty():
        return
    shown = ", ".join(unanswered["id"].head(_SHOWN).to_list())
    more = f" and {unanswered.height - _SHOWN:,} more" if unanswered.height > _SHOWN else ""
    raise SourceMissing(
        f"{spec.name}: the ledger does not tell what became of {unanswered.height:,} ids: {shown}{more}",
        hint=_hint(spec),
    )


def _hint(spec: Ids) -> str:
    return f"Run mteb-de hydrate {spec.name}: it asks for what is missing, and goes on where it stopped."


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

"""A small healthy config of ids, and ways to plant one fault in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from builders.checks import run
from builders.checks.clustering import figures
from builders.checks.finding import Finding, Severity
from builders.checks.subject import IdSets, Subject
from builders.lock.lock import Funnel
from builders.spec import ALL_KINDS, Files, Grouped, HttpSource, Ids, IdsFile, LocalFile
from builders.tables import SCHEMAS, Kind

Change = Callable[[IdSets], IdSets]

SMALL = 100
"""Below this many submissions a subreddit is noted."""
LABELS = ("Beete", "Kompost", "Teich")
IDS = {label: [f"{label.lower()[:2]}{number:04}" for number in range(SMALL)] for label in LABELS}


def _never_read(_: Files) -> IdsFile:
    raise AssertionError("a check reads nothing")


SPEC = Ids(
    name="garten",
    release="tecb-de",
    title="Gartenfragen",
    licence="cc-by-4.0",
    languages=("deu",),
    listed=HttpSource("ids.txt", "https://beispiel.example/ids.txt", "0" * 64, 1, "mit"),
    ledger=LocalFile("garten.ledger.tsv", "reddit", "Hydrate it."),
    read=_never_read,
    sets=(Grouped("subreddit", "subreddit", count=2, fewest=2, most=3),),
    clean=str,
    personal=ALL_KINDS,
)


@dataclass(frozen=True)
class Plant:
    """A fault, and what must be found of it; `recounted`: the lock's figures are those of the new table."""

    code: str
    severity: Severity
    count: int
    example: str
    change: Change
    recounted: bool = True


def healthy() -> IdSets:
    """Return a subject without a finding."""
    sets = [_set("Beete", "Kompost", "Teich"), _set("Teich", "Beete")]
    table = pl.DataFrame(sets, schema=pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]), orient="row")
    known = [(one, "ok", label) for label, ids in IDS.items() for one in ids]
    ledger = pl.DataFrame(
        [*known, ("weg0001", "deleted", "Beete"), ("weg0002", "missing", "")],
        schema={"id": pl.String, "status": pl.String, "subreddit": pl.String},
        orient="row",
    )
    funnel = Funnel(
        table="submissions",
        read=3 * SMALL + 4,
        dropped={"deleted": 1, "missing": 1},
        merged=2,
        out=3 * SMALL,
    )
    tables = {Kind.CLUSTERING_IDS: {"test": table}}
    return recount(Subject(SPEC, tables, (funnel,), beside={"statuses": ledger}))


def _set(*labels: str) -> tuple[list[str], list[str]]:
    return [one for label in labels for one in IDS[label]], [label for label in labels for _ in IDS[label]]


def recount(subject: IdSets) -> IdSets:
    """Give a subject the figures that its table has."""
    return replace(subject, clustering=figures(subject))


def put(number: int, **columns: Callable[[list[str]], list[str | None]]) -> Change:
    """Change columns of one set, counted from 1."""

    def change(subject: IdSets) -> IdSets:
        frame = subject.tables[Kind.CLUSTERING_IDS]["test"]
        rows = frame.to_dicts()
        for name, edit in columns.items():
            rows[number - 1][name] = edit(rows[number - 1][name])
        return with_table(subject, pl.DataFrame(rows, schema=frame.schema))

    return change


def with_table(subject: IdSets, frame: pl.DataFrame) -> IdSets:
    return replace(subject, tables={Kind.CLUSTERING_IDS: {"test": frame}})


def found(subject: IdSets) -> dict[str, Finding]:
    """Run all rules; a code is reported once at most."""
    findings = run(subject)
    by_code = {finding.code: finding for finding in findings}
    assert len(by_code) == len(findings)
    return by_code

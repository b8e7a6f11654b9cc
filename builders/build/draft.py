"""What a build is asked for, and what it has made before that is checked and written."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from builders.checks import Subject
from builders.checks.finding import Finding, Severity
from builders.errors import FindingsError
from builders.lock.committed import FOLDER
from builders.lock.lock import ClusteringFigures, Funnel, LockedMining, PersonalReport
from builders.spec import ConfigSpec
from builders.tables import Kind, Table


@dataclass(frozen=True, slots=True)
class Options:
    """How to build. What changes a published byte is `encoder`, `limit`, splits and sources alone.

    Attributes:
        encoder: "e5" is the pinned model, "offline" the small one that needs no download.
        sources: Folders or base URLs that stand in for the upstreams.
        limit: Build from this many queries, documents or ids only.
        splits: A file of earlier splits, for a retrieval config that has no committed ones.
        against_lock: Whether sources must be those of the committed lock; false only to replace it.
    """

    out: Path
    encoder: Literal["e5", "offline"] = "e5"
    offline: bool = False
    sources: tuple[str, ...] = ()
    limit: int | None = None
    workers: int | None = None
    home: Path | None = None
    splits: Path | None = None
    committed: Path = FOLDER
    against_lock: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A built config before it is checked and written.

    Attributes:
        facts: Counts that the card cites.
        work: Tables kept beside the lock, by name; None where the config has no such table.
        scrubbed: What was replaced in the rows read, by table.
        parameters: What the lock keeps beyond the parameters of every build.
        decisions: Counts of what decisions of audits did; empty where there are none.
        committed: The committed assignment of queries to splits; None where there is none.
        splits: The assignment that the next build starts from; None where there are no splits.
        unmined: Findings from before it was mined, without waivers; None where nothing is mined.
    """

    spec: ConfigSpec
    tables: tuple[Table, ...]
    funnels: tuple[Funnel, ...]
    facts: dict[str, int]
    work: dict[str, pl.DataFrame | None]
    scrubbed: dict[str, PersonalReport] = field(default_factory=dict)
    parameters: dict[str, Any] = field(default_factory=dict)
    mining: LockedMining | None = None
    clustering: ClusteringFigures | None = None
    decisions: dict[str, int] = field(default_factory=dict)
    committed: pl.DataFrame | None = None
    splits: pl.DataFrame | None = None
    unmined: list[Finding] | None = None

    def subject(self, *, upstream: bool) -> Subject[ConfigSpec]:
        """Return the draft as rules see it; `upstream` is whether all of the real upstream was built."""
        tables: dict[Kind, dict[str, pl.DataFrame]] = {}
        for table in self.tables:
            tables.setdefault(table.kind, {})[table.split] = table.frame
        return Subject(
            spec=self.spec,
            tables=tables,
            funnels=self.funnels,
            mining=self.mining,
            clustering=self.clustering,
            decisions=self.decisions,
            upstream=upstream,
            committed=self.committed,
            beside={name: frame for name, frame in self.work.items() if frame is not None},
        )


def stop_on_errors(spec: ConfigSpec, findings: Sequence[Finding]) -> None:
    """Refuse to go on with a build whose findings hold an error."""
    errors = [finding for finding in findings if finding.severity is Severity.ERROR and not finding.waived]
    if errors:
        lines = (f"{error.code}: {error.message} ({', '.join(error.examples)})" for error in errors)
        raise FindingsError(f"{spec.name}: " + "\n".join(lines), hint=errors[0].hint)

"""What every build shares: its options, where it tells what it does, and how it tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from builders.checks.finding import Finding, Severity
from builders.errors import FindingsError
from builders.lock.committed import FOLDER
from builders.lock.lock import Funnel, Lock
from builders.spec import ConfigSpec
from builders.tables import SPLITS, Kind, Table


@dataclass(frozen=True, slots=True)
class Options:
    """How to build. What changes a published byte is `encoder`, `recipe`, `limit`, splits and sources alone.

    Attributes:
        out: The folder of releases and work.
        encoder: "e5" is the pinned model, "offline" the small one that needs no download.
        recipe: Name of the recipe that mines; None for the config's.
        offline: Never touch the network.
        sources: Folders or base URLs that stand in for the upstreams.
        limit: Build from this many queries, or documents, only.
        workers: Encoding processes; None for one per core.
        home: Folder of the caches; None for the default.
        committed: Folder of the committed locks and splits.
        against_lock: Whether sources must be those of the committed lock; false only to replace it.
    """

    out: Path
    encoder: Literal["e5", "offline"] = "e5"
    recipe: str | None = None
    offline: bool = False
    sources: tuple[str, ...] = ()
    limit: int | None = None
    workers: int | None = None
    home: Path | None = None
    committed: Path = FOLDER
    against_lock: bool = True


@dataclass(frozen=True, slots=True)
class Built:
    """A config that was built: its lock, and all findings."""

    lock: Lock
    findings: list[Finding]


def stop_on_errors(spec: ConfigSpec, findings: list[Finding]) -> None:
    """Stop a build whose findings hold an error.

    Raises:
        FindingsError: There is one.
    """
    errors = [finding for finding in findings if finding.severity is Severity.ERROR and not finding.waived]
    if errors:
        lines = (f"{error.code}: {error.message} ({', '.join(error.examples)})" for error in errors)
        raise FindingsError(f"{spec.name}: " + "\n".join(lines), hint=errors[0].hint)


def funnel_line(funnel: Funnel) -> str:
    """Return a funnel as one line: "pairs 1,190 read − 2 dangling − 9 merged − 30 undecided = 1,149"."""
    losses = [f" − {count:,} {reason}" for reason, count in funnel.dropped.items()]
    if funnel.merged:
        losses.append(f" − {funnel.merged:,} merged")
    if funnel.undecided:
        losses.append(f" − {funnel.undecided:,} undecided")
    return f"{funnel.table} {funnel.read:,} read{''.join(losses)} = {funnel.out:,}"


def decisions_line(counts: dict[str, int]) -> str:
    """Return what decisions did: "3 relevant, 1 excluded (1 unmatched); qrels +7 −0"."""
    return (
        f"{counts['relevant']:,} relevant, {counts['excluded']:,} excluded "
        f"({counts['unmatched']:,} unmatched); qrels +{counts['qrels_added']:,} −{counts['qrels_removed']:,}"
    )


def sizes_line(assignment: pl.DataFrame) -> str:
    """Return the sizes of the splits, in one line."""
    sizes = {split: assignment.filter(pl.col("split") == split).height for split in SPLITS}
    return "  ".join(f"{split} {size:,}" for split, size in sizes.items())


def finding_lines(findings: list[Finding]) -> list[str]:
    """Return each finding as a line."""
    lines = [
        f"{finding.severity} {finding.code}: {finding.message}{' (waived)' if finding.waived else ''}"
        for finding in findings
    ]
    return lines or ["no findings"]


def by_kind(tables: Sequence[Table]) -> dict[Kind, dict[str, pl.DataFrame]]:
    """Return the frames of tables by kind and split."""
    frames: dict[Kind, dict[str, pl.DataFrame]] = {}
    for table in tables:
        frames.setdefault(table.kind, {})[table.split] = table.frame
    return frames


def written_line(lock: Lock) -> str:
    """Return how much was written, in one line."""
    return f"{len(lock.files)} files, {sum(file.size for file in lock.files):,} bytes"

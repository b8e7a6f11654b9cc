"""Findings, and what rules look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import polars as pl

from builders.lock.lock import ClusteringFigures, Funnel, LockedMining
from builders.spec import Clustering, Ids, Retrieval
from builders.tables import Kind


class Severity(StrEnum):
    """What a finding does: an error stops the build, a gate stops `release apply`, a note is told."""

    ERROR = "error"
    GATE = "gate"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found.

    Attributes:
        code: Stable name, "dangling-qrels-corpus".
        severity: See `Severity`.
        count: How many rows.
        message: What is wrong, in one line.
        examples: At most five, as "id: detail".
        hint: What to do next.
        config: The builder's name.
        waived: The waiver's reason, where one covers this finding.
    """

    code: str
    severity: Severity
    count: int
    message: str
    examples: tuple[str, ...] = ()
    hint: str = ""
    config: str = ""
    waived: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """A built config, as its rules see it: the published tables and what the build recorded.

    Attributes:
        spec: The config.
        tables: Frames by kind and split, with the published columns.
        undecided: ``query-id``, ``corpus-id``: pairs kept from mining; None where it is not known.
        funnels: The way of the rows.
        mining: Report of mining, or None.
        scale: ``query-id``, ``mean``, ``deviation`` of each query's scores; None where it is not known.
        classes: ``corpus-id``, ``class``: equivalent passages; None where it is not known.
        provenance: ``table``, ``_id``, ``upstream_id``: what upstream rows became; None where not known.
        scrub_merges: ``query-id``, ``titles``, ``cue``, from `scrub_merges`; None where not known.
        decisions: What decisions of audits did, counted; empty where there are none.
    """

    spec: Retrieval
    tables: Mapping[Kind, Mapping[str, pl.DataFrame]]
    undecided: pl.DataFrame | None
    funnels: tuple[Funnel, ...]
    mining: LockedMining | None
    scale: pl.DataFrame | None = None
    classes: pl.DataFrame | None = None
    provenance: pl.DataFrame | None = None
    scrub_merges: pl.DataFrame | None = None
    decisions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClusteringSubject:
    """A built clustering config, as its rules see it.

    Attributes:
        spec: The config.
        tables: Frames by kind and split, with the published columns.
        funnels: The way of the rows.
        figures: What the lock says of the sets, or None.
        upstream: Whether all of the real upstream was built, so that published figures must be met.
    """

    spec: Clustering
    tables: Mapping[Kind, Mapping[str, pl.DataFrame]]
    funnels: tuple[Funnel, ...]
    figures: ClusteringFigures | None
    upstream: bool


@dataclass(frozen=True, slots=True)
class IdsSubject:
    """A built config of ids, as its rules see it.

    Attributes:
        spec: The config.
        tables: Frames by kind and split, with the published columns.
        funnels: The way of the rows.
        figures: What the lock says of the sets, or None.
        ledger: ``id``, ``status``, ``subreddit`` str: what is known of each id; None where it is not known.
    """

    spec: Ids
    tables: Mapping[Kind, Mapping[str, pl.DataFrame]]
    funnels: tuple[Funnel, ...]
    figures: ClusteringFigures | None
    ledger: pl.DataFrame | None


AnySubject = Subject | ClusteringSubject | IdsSubject
Rule = Callable[[Subject], Iterable[Finding]]
AnyRule = Callable[[AnySubject], Iterable[Finding]]

"""The steps of a clustering build: read, prepare, draw, check, write + lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
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
from builders.lock.committed import whole_upstream
from builders.lock.lock import ClusteringFigures, Lock, LockedSource, SetFigures, TextLengths
from builders.personal.report import people_facts
from builders.prepare.documents import PreparedDocuments, limit_documents, prepare_documents
from builders.prepare.sets import DrawnSet, draw, fill, provenance
from builders.progress import Progress
from builders.sources import Fetched
from builders.spec import SEED, Clustering
from builders.tables import CLUSTERING, Table


@dataclass(frozen=True, slots=True)
class Clustered:
    """The published tables of a clustering config, and what the lock keeps of them.

    Attributes:
        tables: s2s and p2p, row by row the same documents.
        figures: Sets and lengths.
        provenance: ``table``, ``_id`` (the set's number from 1), ``upstream_id``, ``row`` (from 1).
        facts: Counts that the card cites.
    """

    tables: tuple[Table, ...]
    figures: ClusteringFigures
    provenance: pl.DataFrame
    facts: dict[str, int]


def build_sets(
    spec: Clustering, options: Options, progress: Progress, fetched: Fetched, *, stand_in: bool
) -> Built:
    """Build a clustering config from its fetched sources, and write its lock last.

    Raises:
        SourceError: An upstream is damaged, or more of it malformed than is waived.
        FindingsError: A check found an error; nothing of the release was touched.
        StorageError: The folder cannot be written.
    """
    read = spec.read(fetched.files)
    if options.limit is not None:
        read = limit_documents(read, options.limit)
    prepared = prepare_documents(spec, read)
    progress.step("prepare", funnel_line(prepared.funnel))
    clustered = cluster(spec, prepared, draw(prepared.documents, spec.sets, seed=SEED))
    progress.step("draw", sets_line(clustered.figures))
    parameters = {"seed": SEED, "encoder": None, "limit": options.limit, "stand_in": stand_in}
    findings = checks.run(
        checks.Subject(
            spec,
            by_kind(list(clustered.tables)),
            (prepared.funnel,),
            clustering=clustered.figures,
            upstream=whole_upstream(fetched.locks, parameters),
        )
    )
    stop_on_errors(spec, findings)
    progress.step("check", *finding_lines(findings))
    lock = _write(options.out, spec, fetched.locks, parameters, prepared, clustered, findings)
    progress.step("write", written_line(lock))
    return Built(lock, findings)


def cluster(spec: Clustering, prepared: PreparedDocuments, drawn: Sequence[DrawnSet]) -> Clustered:
    """Fill drawn sets with both variants of their documents' texts."""
    documents = prepared.documents
    columns = dict.fromkeys(rule.label for rule in spec.sets)
    held = sorted({row for one in drawn for row in one.rows})
    return Clustered(
        tables=tuple(
            Table(spec.name, kind, "test", fill(documents, drawn, variant))
            for variant, kind in CLUSTERING.items()
        ),
        figures=ClusteringFigures(
            sets=tuple(_set(documents, one) for one in drawn),
            texts={variant: _lengths(documents[held][variant]) for variant in CLUSTERING},
        ),
        provenance=provenance(documents, drawn, "upstream_id"),
        facts={
            "documents": documents.height,
            "documents_in_no_set": documents.height - len(held),
            "sentences": sum(len(one.rows) for one in drawn),
            **{f"labels_{column}": documents[column].n_unique() for column in columns},
        },
    )


def sets_line(figures: ClusteringFigures) -> str:
    """Return the sets in one line: "10 coarse 232-1,699 rows, 8 within 17-1,044 rows"."""
    sizes: dict[str, list[int]] = {}
    for one in figures.sets:
        sizes.setdefault(one.level.partition(":")[0], []).append(one.rows)
    return ", ".join(f"{len(rows)} {level} {min(rows):,}-{max(rows):,} rows" for level, rows in sizes.items())


def _write(
    out: Path,
    spec: Clustering,
    sources: tuple[LockedSource, ...],
    parameters: dict[str, Any],
    prepared: PreparedDocuments,
    clustered: Clustered,
    findings: Sequence[Finding],
) -> Lock:
    encoded = encode_all(clustered.tables)
    published = tuple(file for _, file in encoded.values())
    lock = Lock(
        config=spec.name,
        release=spec.release,
        licence=spec.licence,
        sources=sources,
        parameters=parameters,
        tools=tool_versions(),
        funnels=(prepared.funnel,),
        splits={},
        facts=clustered.facts | people_facts(),
        personal={table: told.kinds for table, told in prepared.personal.items()},
        scrubbed=prepared.personal,
        clustering=clustered.figures,
        findings=finding_locks(findings),
        files=published,
    )
    put(out, lock, encoded, {"dropped": prepared.dropped, "provenance": clustered.provenance})
    return lock


def _set(documents: pl.DataFrame, drawn: DrawnSet) -> SetFigures:
    members = documents[list(drawn.rows)]
    return SetFigures(
        level=drawn.level,
        rows=members.height,
        labels=members[drawn.label].n_unique(),
        repeated={variant: members.height - members[variant].n_unique() for variant in CLUSTERING},
    )


def _lengths(texts: pl.Series) -> TextLengths:
    each = [len(text) for text in set(texts.to_list())]
    return TextLengths(unique=len(each), shortest=min(each), longest=max(each), characters=sum(each))

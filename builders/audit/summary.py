"""Writing the report of all audits, its plots, and what the cards cite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from builders import files
from builders.audit import store
from builders.audit.model import Verdict, standing
from builders.audit.rates import Rate
from builders.audit.report import HEADER, Audited, audited, section
from builders.audit.verdicts import counting
from builders.lock.beside import CitedAudit, CitedShare, citations_path, cite
from builders.lock.committed import FOLDER
from builders.plots import charts
from builders.plots.svg import svg
from builders.prepare.decisions import decide, decisions_path, merged, of_real_builds, read_decisions
from builders.printable import counted, interval, percent
from builders.spec import Retrieval

NAME = "hard-negative-audit.md"


@dataclass(frozen=True, slots=True)
class Reported:
    """A report that was written.

    Attributes:
        path: The report.
        configs: What the card of each config would cite, by name.
        remarks: What is to be said of it.
    """

    path: Path
    configs: dict[str, CitedAudit]
    remarks: tuple[str, ...]


def write_report(specs: Sequence[Retrieval], *, notes: Path, locks: Path | None = None) -> Reported:
    """Write the report of the configs that were audited, and beside each config what its card cites.

    An audit of a build from stand-ins is cited only where a folder is named.

    Args:
        specs: The configs; those without verdicts are passed over.
        notes: The folder of notes.
        locks: Folder of committed locks; None for the one beside the configs.

    Raises:
        StorageError: A file cannot be read or written.
        UsageError: A line of the history or of the decisions is malformed.
    """
    sections, cited, remarks = [], {}, []
    for spec in specs:
        history = store.read_history(store.history_folder(notes, spec.name))
        audits = [audited(sample, judgements) for sample, judgements in history if standing(judgements)]
        if not audits:
            continue
        known = read_decisions(decisions_path(locks or FOLDER, spec.name))
        decisions = merged(known, decide(of_real_builds(history), spec.audit.auditors))
        trial = decide([audit for audit in history if audit[0].head.stand_in], spec.audit.auditors)
        random = [audit for audit in audits if audit.scores is not None]
        plot = _plot(notes, spec.name, random[-1]) if random else ""
        sections.append(section(spec.name, audits, decisions, trial, plot))
        if not random:
            remarks.append(
                f"{spec.name}: only suspects were judged; they give no rate, and the card cites none"
            )
            continue
        cited[spec.name] = citation(random[-1])
        if random[-1].sample.head.stand_in and locks is None:
            remarks.append(f"{spec.name}: a build from stand-ins was audited, so the card will not cite it")
        else:
            cite(citations_path(locks or FOLDER, spec.name), audit=cited[spec.name])
    path = notes / NAME
    if sections:
        files.write_bytes(path, "\n".join([HEADER, *sections]).encode())
    return Reported(path, cited, tuple(remarks))


def citation(audit: Audited) -> CitedAudit:
    """Return what a card cites of a random sample."""
    scores, head = audit.scores, audit.sample.head
    assert scores is not None
    kappas = [one.kappa for one in scores.agreement if one.kappa is not None]
    return CitedAudit(
        sample=head.sample,
        build=head.build,
        date=audit.date,
        recipe=head.recipe,
        auditors=len(audit.auditors),
        false_negatives=_share(scores.false_negatives),
        precision=_share(scores.precision),
        controls=_share(scores.controls),
        kappa=round(min(kappas), 4) if kappas else None,
    )


def sentence(audit: CitedAudit) -> str:
    """Say an audit in one line."""
    parts = [
        _told(audit.false_negatives, "of the hard negatives are relevant"),
        _told(audit.precision, "of the labelled positives are relevant"),
    ]
    who = counted(audit.auditors, "auditor")
    return f"{'; '.join(filter(None, parts)) or 'nothing that counts'} ({who}, {audit.date})"


def _told(share: CitedShare, what: str) -> str:
    if share.value is None:
        return ""
    ends = interval(share.value, share.low, share.high)
    return f"{percent(share.value)} {what} (95 % interval {ends}, {counted(share.pairs, 'pair')})"


def _share(found: Rate) -> CitedShare:
    value = None if found.value is None else round(found.value, 6)
    return CitedShare(pairs=found.pairs, value=value, low=round(found.low, 6), high=round(found.high, 6))


def _plot(notes: Path, config: str, audit: Audited) -> str:
    """Write the plot of a sample, and return its address as the report links it."""
    votes = counting(audit.judgements)
    gaps: dict[str, list[float]] = {verdict.words: [] for verdict in Verdict}
    for item in audit.sample.of_kind("negative"):
        if item.gap is not None:
            for _, verdict in sorted(votes.get(item.item, {}).items()):
                gaps[verdict.words].append(item.gap)
    count = sum(map(len, gaps.values()))
    if not count:
        return ""
    path = notes / "audits" / f"{config}.svg"
    title = f"{config}: distance below the guard against verdict, {counted(count, 'verdict')}"
    draw = partial(charts.strips, gaps, across="cosine below the guarding positive")
    files.write_bytes(path, svg(draw, title=title))
    return f"audits/{config}.svg"

"""Write the report of all audits with its plots, and what the cards cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from builders import files
from builders.audit.history import (
    Judgement,
    PairKind,
    Sample,
    Verdict,
    counting,
    history_folder,
    read_history,
    standing,
)
from builders.audit.rates import Agreement, Rate, Scores, score
from builders.audit.verdicts import decide, merged, of_real_builds
from builders.describe.markdown import Markdown, code, escape, table
from builders.errors import UsageError
from builders.lock.beside import CitedAudit, CitedShare, citations_path, cite_audit
from builders.lock.committed import FOLDER
from builders.plots import charts
from builders.plots.svg import svg
from builders.prepare.decisions import Decision, decisions_path, read_decisions
from builders.printable import counted, interval, percent
from builders.spec import Retrieval

REPORT = "hard-negative-audit.md"
_HEADER = """# Audit of hard negatives and positives

What people found who read pairs of a build: how many mined hard negatives are relevant after all (*false
negatives*), and how many labelled positives are relevant. `mteb-de audit report` writes this page from the
verdicts in `audits/`; nothing in it is typed by hand.

Pairs are drawn by strata (distance below the guarding positive, rank, split), judged blind among labelled
positives and pairs that were confirmed by hand, and weighted back. Intervals are Wilson's at 95 %, for the
number of unweighted pairs that would tell as much (*worth*). *Unsure* and *broken text* do not count, and
take nothing from the weight of their stratum; a pair on which auditors differ counts in part.
"""
_SHARES = ("Share", "95 % interval", "Pairs", "Worth")
_WRONG: Mapping[PairKind, Verdict] = {"negative": Verdict.ALSO_RELEVANT, "positive": Verdict.NOT_RELEVANT}
"""The verdict that proves a pair of a kind to be wrong."""
_SUSPECTS = (
    "Pairs that a second opinion ranked as the likeliest false negatives, and positives that the miner "
    "doubts. They were not drawn at random: their shares say how good the ranking is, and nothing of all "
    "pairs."
)


@dataclass(frozen=True, slots=True)
class _Audit:
    """A sample, the verdicts on it that hold, and their rates, which suspects do not have."""

    sample: Sample
    judgements: tuple[Judgement, ...]
    scores: Scores | None

    @property
    def date(self) -> str:
        return max(one.at for one in self.judgements).date().isoformat()

    @property
    def auditors(self) -> tuple[str, ...]:
        return tuple(sorted({one.who: one.auditor for one in self.judgements}.values()))


def _audit(sample: Sample, judgements: Sequence[Judgement]) -> _Audit:
    holding = tuple(one for one, _ in standing(judgements))
    return _Audit(sample, holding, score(sample, holding) if sample.head.mode == "random" else None)


def write_report(
    specs: Sequence[Retrieval], *, notes: Path, locks: Path | None = None
) -> tuple[dict[str, CitedAudit], list[str]]:
    """Write the report of the configs that were audited, and beside each config the citation of its card.

    The card cites the last random sample with verdicts that hold, of builds from stand-ins only where
    `locks` is given, the folder of committed locks; where there is none, an earlier citation goes.

    Returns:
        The audit of the last random sample by name of the config, and remarks.

    Raises:
        UsageError: No config was audited.
    """
    sections, cited, remarks = [], {}, []
    for spec in specs:
        name, folder = spec.name, locks or FOLDER
        history = read_history(history_folder(notes, name))
        if not history:
            continue
        audits = [_audit(sample, judgements) for sample, judgements in history if standing(judgements)]
        known = read_decisions(decisions_path(folder, name))
        decisions = merged(known, decide(of_real_builds(history), spec.audit.auditors))
        trial = decide([audit for audit in history if audit[0].head.stand_in], spec.audit.auditors)
        random = [(audit, audit.scores) for audit in audits if audit.scores is not None]
        parts = [f"## {escape(name)}"]
        if random:
            parts += _random(*random[-1], _plot(notes, name, random[-1][0]))
        if random[:-1]:
            parts += ["### Earlier samples", _earlier(random[:-1])]
        if suspects := [audit for audit in audits if audit.scores is None]:
            parts += ["### Suspects", _SUSPECTS, _suspects(suspects)]
        parts += ["### What became of it", *_decisions(decisions, trial)]
        sections.append("\n\n".join(parts) + "\n")
        if random:
            cited[name] = _citation(*random[-1])
        else:
            what = "only suspects were judged; they give no rate" if suspects else "no verdict holds any more"
            remarks.append(f"{name}: {what}, and the card cites none")
        citable = [one for one in random if locks or not one[0].sample.head.stand_in]
        if random[-1:] != citable[-1:]:
            remarks.append(f"{name}: a build from stand-ins was audited, so the card will not cite it")
        cite_audit(citations_path(folder, name), _citation(*citable[-1]) if citable else None)
    if not sections:
        raise UsageError(
            f"{notes / 'audits'}: no verdict of {', '.join(spec.name for spec in specs)} there",
            hint="Draw a sample, judge it, and import the verdicts first.",
        )
    files.write_bytes(notes / REPORT, "\n".join([_HEADER, *sections]).encode())
    return cited, remarks


def sentence(audit: CitedAudit) -> str:
    """Return an audit in one line."""
    shares = {
        "of the hard negatives are relevant": audit.false_negatives,
        "of the labelled positives are relevant": audit.precision,
    }
    parts = [
        f"{percent(share.value)} {what} (95 % interval {interval(share.value, share.low, share.high)}, "
        f"{counted(share.pairs, 'pair')})"
        for what, share in shares.items()
        if share.value is not None
    ]
    who = counted(audit.auditors, "auditor")
    return f"{'; '.join(parts) or 'nothing that counts'} ({who}, {audit.date})"


def _citation(audit: _Audit, scores: Scores) -> CitedAudit:
    head = audit.sample.head
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


def _share(found: Rate) -> CitedShare:
    value = None if found.value is None else round(found.value, 6)
    return CitedShare(pairs=found.pairs, value=value, low=round(found.low, 6), high=round(found.high, 6))


def _plot(notes: Path, config: str, audit: _Audit) -> str:
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


def _random(audit: _Audit, scores: Scores, plot: str) -> list[str]:
    parts = [
        _about(audit),
        table(
            ("What", *_SHARES),
            [
                _row("Hard negatives that are relevant", scores.false_negatives),
                _row("Labelled positives that are relevant", scores.precision),
                _row("Verdicts on controls that are right", scores.controls),
            ],
        ),
        _left_out(scores),
    ]
    for what, name, groups in (
        ("Hard negatives", "Distance below the guard", scores.by_gap),
        ("Hard negatives", "Rank", scores.by_rank),
        ("Hard negatives", "Split", scores.by_split),
        ("Labelled positives", "Split", scores.precision_by_split),
    ):
        if groups:
            rows = [_row(group, rate) for group, rate in groups.items()]
            parts += [f"{what} that are relevant, by {name.lower()}:", table((name, *_SHARES), rows)]
    if plot and audit.sample.head.strata:
        parts.append(Markdown(f"![Distance below the guard against verdict]({plot})"))
    parts += ["### Agreement", _agreement(scores.agreement)]
    return parts


def _about(audit: _Audit) -> str:
    head = audit.sample.head
    judged = len({one.item for one in audit.judgements})
    recipe = f"recipe {code(head.recipe)}, " if head.recipe else ""
    stand_in = " **The build was made from stand-ins.**" if head.stand_in else ""
    return (
        f"Sample {code(head.sample)} of build {code(head.build)}, {recipe}seed {head.seed}: {judged:,} of "
        f"{counted(len(audit.sample.items), 'pair')} judged by {counted(len(audit.auditors), 'auditor')} "
        f"({', '.join(map(escape, audit.auditors))}), last on {audit.date}.{stand_in}"
    )


def _row(name: str, found: Rate) -> tuple[object, ...]:
    between = interval(found.value, found.low, found.high)
    return name, percent(found.value), between, found.pairs, f"{found.effective:.0f}"


def _left_out(scores: Scores) -> str:
    unsure, broken = (scores.undecided[verdict] for verdict in (Verdict.UNSURE, Verdict.BROKEN_TEXT))
    sentence = (
        f"Verdicts that do not count: {unsure:,} unsure, {broken:,} broken text. Pairs on which auditors "
        f"differ about relevance: {scores.disputed:,}."
    )
    if scores.at_most is not None and scores.at_most != scores.false_negatives.value:
        sentence += f" If every pair without a verdict that counts were relevant: {percent(scores.at_most)}."
    return sentence


def _agreement(found: Sequence[Agreement]) -> str:
    if not found:
        return "One auditor judged, or no two judged the same pairs: there is no agreement to measure."
    rows = []
    for one in found:
        kappa = "not defined" if one.kappa is None else f"{one.kappa:.2f}"
        rows.append((" and ".join(one.auditors), one.both, percent(one.same / one.both), kappa))
    return table(("Auditors", "Pairs both judged", "Same verdict", "Cohen's kappa"), rows)


def _earlier(audits: Sequence[tuple[_Audit, Scores]]) -> Markdown:
    rows = [
        (
            audit.date,
            code(audit.sample.head.sample),
            code(audit.sample.head.build),
            code(audit.sample.head.recipe) or "–",
            *_row("", scores.false_negatives)[1:4],
            percent(scores.precision.value),
        )
        for audit, scores in audits
    ]
    header = ("Date", "Sample", "Build", "Recipe", "False negatives", "95 % interval", "Pairs", "Precision")
    return table(header, rows)


def _suspects(audits: Sequence[_Audit]) -> Markdown:
    rows = []
    for audit in audits:
        votes, head = counting(audit.judgements), audit.sample.head
        first = audit.date, code(head.sample), escape(head.opinion)
        for kind, wrong in _WRONG.items():
            judged = [votes[item.item] for item in audit.sample.of_kind(kind) if item.item in votes]
            if judged:
                found = sum(wrong in said.values() for said in judged)
                rows.append((*first, f"{kind}s", len(judged), found, percent(found / len(judged))))
    header = ("Date", "Sample", "Second opinion", "Pairs", "Judged", "Found wrong by anyone", "Share")
    return table(header, rows)


def _decisions(decisions: Sequence[Decision], trial: Sequence[Decision]) -> list[str]:
    parts = []
    if decisions:
        them = "it" if len(decisions) == 1 else "them"
        parts.append(
            f"{_by_reason(decisions)}. The next build applies {them}, to all queries that mean the same."
        )
    if trial:
        parts.append(
            f"On builds from stand-ins: {_by_reason(trial)}. No build applies this, unless it was imported "
            "with --locks, and the build is given the same folder."
        )
    return parts or ["No verdict has become a decision."]


def _by_reason(decisions: Sequence[Decision]) -> str:
    """Return how many decisions there are of each reason."""
    reasons = {
        "false_negative": ("hard negative becomes a positive", "hard negatives become positives"),
        "disputed": (
            "pair on which auditors differ is neither",
            "pairs on which auditors differ are neither",
        ),
        "false_positive": ("positive is one no longer", "positives are so no longer"),
        "by_hand": ("pair was decided by hand", "pairs were decided by hand"),
    }
    counts = {reason: sum(one.reason == reason for one in decisions) for reason in reasons}
    return "; ".join(
        f"{count:,} {reasons[reason][0 if count == 1 else 1]}" for reason, count in counts.items() if count
    )

"""The report of audits as Markdown. Pure; every value is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from builders.audit.model import Judgement, PairKind, Sample, Verdict, standing
from builders.audit.rates import Group, Rate, Scores, agreements, score
from builders.audit.verdicts import counting
from builders.describe.markdown import Markdown, code, escape, table
from builders.prepare.decisions import Decision
from builders.printable import counted, interval, percent

HEADER = """# Audit of hard negatives and positives

What people found who read pairs of a build: how many mined hard negatives are relevant after all (*false
negatives*), and how many labelled positives are relevant. `mteb-de audit report` writes this page from the
verdicts in `audits/`; nothing in it is typed by hand.

Pairs are drawn by strata (distance below the guarding positive, rank, split), judged blind among labelled
positives and pairs that were confirmed by hand, and weighted back. Intervals are Wilson's at 95 %, for the
number of unweighted pairs that would tell as much (*worth*). *Unsure* and *broken text* do not count, and
take nothing from the weight of their stratum; a pair on which auditors differ counts in part.
"""


@dataclass(frozen=True, slots=True)
class Audited:
    """A sample, the verdicts on it that hold, and what they say; `scores` is None for suspects."""

    sample: Sample
    judgements: tuple[Judgement, ...]
    scores: Scores | None

    @property
    def date(self) -> str:
        """The day of the last verdict, "2026-01-05"."""
        return max(one.at for one in self.judgements).date().isoformat()

    @property
    def auditors(self) -> tuple[str, ...]:
        """Who judged, sorted; names that differ in case are one."""
        return tuple(sorted({one.who: one.auditor for one in self.judgements}.values()))


def audited(sample: Sample, judgements: Sequence[Judgement]) -> Audited:
    """Work out what verdicts on a sample say."""
    holding = tuple(one for one, _ in standing(judgements))
    return Audited(sample, holding, score(sample, holding) if sample.head.mode == "random" else None)


def section(
    config: str,
    audits: Sequence[Audited],
    decisions: Sequence[Decision],
    trial: Sequence[Decision],
    plot: str,
) -> str:
    """Return what the audits of a config say.

    Args:
        config: The builder's name.
        audits: Those with verdicts, the oldest first. The last random one is told whole.
        decisions: The config's, which builds apply.
        trial: What audits of stand-ins decide, which builds do not apply.
        plot: Address of the plot; empty for none.
    """
    parts = [f"## {escape(config)}"]
    random = [audit for audit in audits if audit.scores is not None]
    if random:
        parts += _random(random[-1], plot)
    if earlier := random[:-1]:
        parts += ["### Earlier samples", _earlier(earlier)]
    if suspects := [audit for audit in audits if audit.scores is None]:
        parts += ["### Suspects", _SUSPECTS, _suspects(suspects)]
    parts += ["### What became of it", *_decisions(decisions, trial)]
    return "\n\n".join(parts) + "\n"


_WRONG: Mapping[PairKind, Verdict] = {
    "negative": Verdict.ALSO_RELEVANT,
    "positive": Verdict.NOT_RELEVANT,
}
"""The verdict that proves a pair of a kind to be wrong."""
_SUSPECTS = (
    "Pairs that a second opinion ranked as the likeliest false negatives, and positives that the miner "
    "doubts. They were not drawn at random: their shares say how good the ranking is, and nothing of all "
    "pairs."
)


def _random(audit: Audited, plot: str) -> list[str]:
    scores, head = audit.scores, audit.sample.head
    assert scores is not None
    parts = [
        _about(audit),
        table(
            ("What", "Share", "95 % interval", "Pairs", "Worth"),
            [
                _row("Hard negatives that are relevant", scores.false_negatives),
                _row("Labelled positives that are relevant", scores.precision),
                _row("Verdicts on controls that are right", scores.controls),
            ],
        ),
        _left_out(scores),
    ]
    for name, groups in (
        ("Distance below the guard", scores.by_gap),
        ("Rank", scores.by_rank),
        ("Split", scores.by_split),
    ):
        if groups:
            parts += [f"Hard negatives that are relevant, by {name.lower()}:", _groups(name, groups)]
    if scores.precision_by_split:
        parts += [
            "Labelled positives that are relevant, by split:",
            _groups("Split", scores.precision_by_split),
        ]
    if plot and head.strata:
        parts.append(Markdown(f"![Distance below the guard against verdict]({plot})"))
    parts += ["### Agreement", _agreement(audit)]
    return parts


def _about(audit: Audited) -> str:
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
    return (
        name,
        percent(found.value),
        interval(found.value, found.low, found.high),
        found.pairs,
        f"{found.effective:.0f}",
    )


def _groups(name: str, groups: Sequence[Group]) -> Markdown:
    rows = [_row(group.name, group.rate) for group in groups]
    return table((name, "Share", "95 % interval", "Pairs", "Worth"), rows)


def _left_out(scores: Scores) -> str:
    unsure, broken = (scores.undecided[verdict] for verdict in (Verdict.UNSURE, Verdict.BROKEN_TEXT))
    sentence = (
        f"Verdicts that do not count: {unsure:,} unsure, {broken:,} broken text. Pairs on which auditors "
        f"differ about relevance: {scores.disputed:,}."
    )
    if scores.at_most is not None and scores.at_most != scores.false_negatives.value:
        sentence += f" If every pair without a verdict that counts were relevant: {percent(scores.at_most)}."
    return sentence


def _agreement(audit: Audited) -> str:
    found = agreements(audit.judgements)
    if not found:
        return "One auditor judged, or no two judged the same pairs: there is no agreement to measure."
    rows = [
        (
            " and ".join(one.auditors),
            one.both,
            percent(one.same / one.both),
            "not defined" if one.kappa is None else f"{one.kappa:.2f}",
        )
        for one in found
    ]
    return table(("Auditors", "Pairs both judged", "Same verdict", "Cohen's kappa"), rows)


def _earlier(audits: Sequence[Audited]) -> Markdown:
    rows = [
        (
            audit.date,
            code(audit.sample.head.sample),
            code(audit.sample.head.build),
            code(audit.sample.head.recipe) or "–",
            *_row("", audit.scores.false_negatives)[1:4],
            percent(audit.scores.precision.value),
        )
        for audit in audits
        if audit.scores is not None
    ]
    header = ("Date", "Sample", "Build", "Recipe", "False negatives", "95 % interval", "Pairs", "Precision")
    return table(header, rows)


def _suspects(audits: Sequence[Audited]) -> Markdown:
    rows = []
    for audit in audits:
        votes = counting(audit.judgements)
        for kind, wrong in _WRONG.items():
            judged = [votes[item.item] for item in audit.sample.of_kind(kind) if item.item in votes]
            if judged:
                found = sum(wrong in said.values() for said in judged)
                sample, opinion = code(audit.sample.head.sample), escape(audit.sample.head.opinion)
                rows.append((
                    audit.date,
                    sample,
                    opinion,
                    f"{kind}s",
                    len(judged),
                    found,
                    percent(found / len(judged)),
                ))
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
    """Say how many decisions there are of each reason."""
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

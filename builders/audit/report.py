"""Write the report of all audits with its plots, and what the cards cite."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from builders import files
from builders.audit.history import Audit, PairKind, Sample, Verdict, Votes, audits_of, counting, standing
from builders.audit.rates import Agreement, Rate, Scores, score
from builders.audit.verdicts import decide, merged, of_real_builds
from builders.describe.markdown import Markdown, code, table
from builders.describe.templates import render_template
from builders.errors import UsageError
from builders.lock.beside import CitedAudit, CitedShare, citations_path, cite_audit
from builders.lock.committed import FOLDER
from builders.plots import charts
from builders.plots.svg import svg
from builders.prepare.decisions import Decision, Reason, decisions_path, read_decisions
from builders.printable import NOTHING, counted, interval, percent
from builders.spec import Retrieval
from builders.tables import Kind

REPORT = "hard-negative-audit.md"
_WRONG: Mapping[PairKind, Verdict] = {"negative": Verdict.ALSO_RELEVANT, "positive": Verdict.NOT_RELEVANT}
"""The verdict that proves a pair of a kind to be wrong."""
_REASONS: Mapping[Reason, tuple[str, str]] = {
    "false_negative": ("hard negative becomes a positive", "hard negatives become positives"),
    "related": ("hard negative that is related is neither", "hard negatives that are related are neither"),
    "disputed": ("pair on which auditors differ is neither", "pairs on which auditors differ are neither"),
    "false_positive": ("positive is one no longer", "positives are so no longer"),
    "by_hand": ("pair was decided by hand", "pairs were decided by hand"),
}


class _Audit(NamedTuple):
    """A sample with verdicts that hold, by item and auditor; its rates mean nothing if it is of suspects."""

    sample: Sample
    votes: Votes
    scores: Scores
    date: str
    auditors: list[str]


def write_report(
    specs: Sequence[Retrieval], *, notes: Path, locks: Path | None = None
) -> tuple[dict[str, CitedAudit], list[str]]:
    """Write the report of the configs that were audited, and beside each config the citation of its card.

    The card cites the last random sample of the table that serves with verdicts that hold, of builds from
    stand-ins only where `locks` is given, the folder of committed locks; else an earlier citation goes.

    Returns:
        The audit of the last random sample by name of the config, and remarks.

    Raises:
        UsageError: No config was audited.
    """
    configs, cited, remarks = [], {}, []
    for spec in specs:
        name, folder = spec.name, locks or FOLDER
        history = audits_of(notes, name)
        if not history:
            continue
        audits = list(_audits(history))
        drawn = [audit for audit in audits if audit.sample.head.mode == "random"]
        random = [audit for audit in drawn if audit.sample.head.table is Kind.HARD_NEGATIVES]
        others = [audit for audit in drawn if audit.sample.head.table is not Kind.HARD_NEGATIVES]
        suspects = [audit for audit in audits if audit.sample.head.mode == "suspects"]
        known = read_decisions(decisions_path(folder, name))
        stand_ins = [audit for audit in history if audit[0].head.stand_in]
        configs.append({
            "name": name,
            "random": random,
            "plot": _plot(notes, name, random[-1]) if random else "",
            "others": others,
            "suspects": suspects,
            "decisions": merged(known, decide(of_real_builds(history), spec.audit.auditors)),
            "trial": decide(stand_ins, spec.audit.auditors),
        })
        if random:
            cited[name] = _citation(random[-1])
        else:
            remarks.append(f"{name}: {_nothing_to_cite(others, suspects)}, and the card cites none")
        citable = [audit for audit in random if locks or not audit.sample.head.stand_in]
        if random[-1:] != citable[-1:]:
            remarks.append(f"{name}: a build from stand-ins was audited, so the card will not cite it")
        cite_audit(citations_path(folder, name), _citation(citable[-1]) if citable else None)
    if not configs:
        raise UsageError(
            f"{notes / 'audits'}: no verdict of {', '.join(spec.name for spec in specs)} there",
            hint="Draw a sample, judge it, and import the verdicts first.",
        )
    page = render_template(
        "audit/report.md.j2",
        configs=configs,
        rates=_rates,
        agreement=_agreement,
        earlier=_earlier,
        suspects=_suspects,
        overlaps=_overlaps,
        by_reason=_by_reason,
    )
    files.write_bytes(notes / REPORT, page.encode())
    return cited, remarks


def _nothing_to_cite(others: Sequence[_Audit], suspects: Sequence[_Audit]) -> str:
    """Return why there is no rate of the table that serves."""
    if others:
        return f"only {others[-1].sample.head.table} was audited, which does not serve"
    return "only suspects were judged; they give no rate" if suspects else "no verdict holds any more"


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


def _audits(history: Iterable[Audit]) -> Iterator[_Audit]:
    for sample, judgements in history:
        if holding := [one for one, _ in standing(judgements)]:
            date = max(one.at for one in holding).date().isoformat()
            auditors = sorted({one.who: one.auditor for one in holding}.values())
            yield _Audit(sample, counting(judgements), score(sample, judgements), date, auditors)


def _citation(audit: _Audit) -> CitedAudit:
    head, scores = audit.sample.head, audit.scores
    on_negatives = [one for one in scores.agreement if one.kind == "negative"]
    kappas = [one.kappa for one in on_negatives if one.kappa is not None]
    return CitedAudit(
        sample=head.sample,
        build=head.build,
        date=audit.date,
        recipe=head.recipe,
        auditors=len(audit.auditors),
        false_negatives=_share(scores.negatives.relevant),
        false_negatives_or_related=_share(scores.negatives.related_too),
        precision=_share(scores.positives.relevant),
        precision_by_query=_share(scores.positives.by_query),
        sensitivity=_share(scores.sensitivity),
        specificity=_share(scores.specificity),
        kappa=round(min(kappas), 4) if kappas else None,
        ac1=round(min(one.ac1 for one in on_negatives), 4) if on_negatives else None,
    )


def _share(found: Rate) -> CitedShare:
    value = None if found.value is None else round(found.value, 6)
    return CitedShare(pairs=found.pairs, value=value, low=round(found.low, 6), high=round(found.high, 6))


def _plot(notes: Path, config: str, audit: _Audit) -> str:
    """Write the plot of a sample, and return its address as the report links it; none without a negative."""
    above: dict[str, list[float]] = {verdict.words: [] for verdict in Verdict}
    for item in audit.sample.of_kind("negative"):
        for _, verdict in sorted(audit.votes.get(item.item, {}).items()):
            above[verdict.words] += [] if item.deviations is None else [item.deviations]
    count = sum(map(len, above.values()))
    if not count:
        return ""
    title = f"{config}: deviations above the query's mean against verdict, {counted(count, 'verdict')}"
    draw = partial(charts.strips, above, across="standard deviations above the query's mean")
    files.write_bytes(notes / "audits" / f"{config}.svg", svg(draw, title=title))
    return f"audits/{config}.svg"


def _rates(name: str, groups: Mapping[str, Rate]) -> Markdown:
    rows = [(group, *_cells(rate), f"{rate.effective:.0f}") for group, rate in groups.items() if rate.pairs]
    return table((name, "Share", "95 % interval", "Pairs", "Worth"), rows)


def _cells(rate: Rate) -> tuple[object, ...]:
    return percent(rate.value), interval(rate.value, rate.low, rate.high), rate.pairs


def _agreement(found: Sequence[Agreement]) -> Markdown:
    rows = []
    for one in found:
        kappa = "not defined" if one.kappa is None else f"{one.kappa:.2f}"
        who, share = " and ".join(one.auditors), percent(one.same / one.both)
        rows.append((who, f"{one.kind}s", one.both, share, kappa, f"{one.ac1:.2f}"))
    header = ("Auditors", "Kind", "Pairs both judged", "Same verdict", "Cohen's kappa", "Gwet's AC1")
    return table(header, rows)


def _earlier(audits: Sequence[_Audit]) -> Markdown:
    rows = []
    for audit in audits:
        head, scores = audit.sample.head, audit.scores
        mined = code(head.table), code(head.recipe) or NOTHING
        origin = audit.date, code(head.sample), code(head.build), *mined
        precision = percent(scores.positives.relevant.value)
        rows.append((*origin, *_cells(scores.negatives.relevant), precision))
    found = "False negatives", "95 % interval", "Pairs", "Precision"
    return table(("Date", "Sample", "Build", "Table", "Recipe", *found), rows)


def _suspects(audits: Sequence[_Audit]) -> Markdown:
    rows = []
    for audit in audits:
        head = audit.sample.head
        first = audit.date, code(head.sample), head.opinion
        for kind, wrong in _WRONG.items():
            items = [item.item for item in audit.sample.of_kind(kind)]
            found = [wrong in audit.votes[item].values() for item in items if item in audit.votes]
            if found:
                share = percent(sum(found) / len(found))
                rows.append((*first, f"{kind}s", len(found), sum(found), share))
    header = ("Date", "Sample", "Second opinion", "Pairs", "Judged", "Found wrong by anyone", "Share")
    return table(header, rows)


def _overlaps(audits: Sequence[_Audit]) -> Markdown:
    """Return how far the encoder that mined and the second opinion agree, of samples that tell it."""
    rows = []
    for head in (audit.sample.head for audit in audits):
        if found := head.overlap:
            correlation = NOTHING if found.correlation is None else f"{found.correlation:.2f}"
            named = f"{found.both:,} of {found.first:,}"
            rows.append((code(head.sample), head.opinion, correlation, named))
    return table(("Sample", "Second opinion", "Rank correlation", "Among the first of both"), rows)


def _by_reason(decisions: Sequence[Decision]) -> str:
    """Return how many decisions there are of each reason."""
    counts = Counter(one.reason for one in decisions)
    return "; ".join(
        f"{counts[reason]:,} {one if counts[reason] == 1 else more}"
        for reason, (one, more) in _REASONS.items()
        if counts[reason]
    )

"""Rules on the funnels: every row that was read is published, merged, or dropped for a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.checks.findings import Code
from builders.checks.frames import stacked
from builders.checks.model import AnySubject, Finding, Rule, Severity, Subject
from builders.lock.model import Funnel
from builders.spec import observed
from builders.tables import Kind

_COUNT = "Count drops and merges where they happen; never as a difference."

MISSING = Code("funnel-missing", Severity.ERROR, "funnels that are missing, double or unknown", _COUNT)
SUM = Code("funnel-sum", Severity.ERROR, "funnels that lose rows or make some up", _COUNT)
OUT = Code("funnel-out", Severity.ERROR, "funnels that do not end in the published rows", _COUNT)
CHAIN = Code("funnel-chain", Severity.ERROR, "funnels that do not begin where the rows' funnel ends", _COUNT)
REASON = Code(
    "funnel-reason",
    Severity.ERROR,
    "reasons that name nothing, or counts below zero",
    "A reason is a word such as `empty_text`; side files and card cite it.",
)
CODES = (MISSING, SUM, OUT, CHAIN, REASON)

_REASON = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_PUBLISHED = {"queries": Kind.QUERIES, "passages": Kind.CORPUS}
_OPTIONAL = ("pairs",)
"""The pairs that were observed: the qrels, unless the config relates more than it observes."""


def tables(subject: Subject) -> Iterator[Finding]:
    """There is one funnel for queries, one for passages, and one for rows where a row is both."""
    expected = {*_PUBLISHED, *(["rows"] if subject.spec.rows == "pair" else [])}
    found = [funnel.table for funnel in subject.funnels]
    allowed = {**dict.fromkeys(_OPTIONAL, (0, 1)), **dict.fromkeys(expected, (1,))}
    wrong = sorted(n for n in {*expected, *found} if found.count(n) not in allowed.get(n, (0,)))
    yield from MISSING.counted(len(wrong), (f"{name}: {found.count(name)} funnels" for name in wrong))


def sums(subject: AnySubject) -> Iterator[Finding]:
    """What was read is out, merged or dropped."""
    wrong = [funnel for funnel in subject.funnels if funnel.read != _accounted(funnel)]
    examples = (f"{f.table}: {f.read} read, {_accounted(f)} accounted for" for f in wrong)
    yield from SUM.counted(len(wrong), examples)


def _accounted(funnel: Funnel) -> int:
    return funnel.out + funnel.merged + sum(funnel.dropped.values())


def ends(subject: Subject) -> Iterator[Finding]:
    """Funnels end in the published rows, and begin where the funnel before them ends."""
    ends_in = {**_PUBLISHED, **({"pairs": Kind.QRELS} if subject.spec.relate is observed else {})}
    published = {name: stacked(subject, kind).height for name, kind in ends_in.items()}
    final = [funnel for funnel in subject.funnels if funnel.table in published]
    wrong = [f for f in final if f.out != published[f.table]]
    yield from OUT.counted(
        len(wrong), (f"{f.table}: {f.out} out, {published[f.table]} published" for f in wrong)
    )
    left = next((funnel.out for funnel in subject.funnels if funnel.table == "rows"), None)
    broken = [f for f in final if left is not None and f.table in _PUBLISHED and f.read != left]
    yield from CHAIN.counted(len(broken), (f"{f.table}: {f.read} read, {left} rows left" for f in broken))


def reasons(subject: AnySubject) -> Iterator[Finding]:
    """Every drop has a reason, and no count is negative."""
    wrong = [
        f"{funnel.table}: {count} dropped as {reason!a}"
        for funnel in subject.funnels
        for reason, count in funnel.dropped.items()
        if count < 0 or not _REASON.fullmatch(reason)
    ]
    wrong += [
        f"{funnel.table}: {count} {name}"
        for funnel in subject.funnels
        for name, count in (("read", funnel.read), ("merged", funnel.merged), ("out", funnel.out))
        if count < 0
    ]
    yield from REASON.counted(len(wrong), wrong)


RULES: tuple[Rule, ...] = (tables, sums, ends, reasons)

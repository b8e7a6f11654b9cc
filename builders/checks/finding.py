"""Findings: their codes, how rows that break a rule become one, and waivers, which consent to some."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import polars as pl

from builders.spec import Waiver

MOST_EXAMPLES = 5
_WIDEST = 60
_COLUMN = re.compile(r"\{(\w+)\}")


class Severity(StrEnum):
    """What a finding does: an error stops the build, a gate stops `release apply`, a note is only printed."""

    ERROR = "error"
    GATE = "gate"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault that a rule found in some rows of a config; `waived` has the reason of its waiver."""

    code: str
    severity: Severity
    count: int
    message: str
    examples: tuple[str, ...] = ()
    hint: str = ""
    config: str = ""
    waived: str = ""

    def lines(self) -> Iterator[str]:
        """Word the finding: its fault, its examples, and what to do about it."""
        where = f"{self.config}: " if self.config else ""
        waived = f" (waived: {self.waived})" if self.waived else ""
        yield f"{self.severity:<6}{where}{self.code}: {self.message}{waived}"
        yield from (f"        {example}" for example in self.examples)
        if self.hint and not self.waived:
            yield f"        → {self.hint}"


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of finding by its stable name. A run reports a code at most once, whatever tables it touches.

    Its meaning names the rows that are counted: "qrels rows whose query is in no split".
    """

    severity: Severity
    name: str
    meaning: str
    hint: str

    def counted(self, count: int, examples: Iterable[str] = (), *, message: str = "") -> Iterator[Finding]:
        """Yield the finding, unless nothing was counted.

        The first five examples are kept; a message replaces "{meaning}: {count}".
        """
        if count:
            kept = tuple(examples)[:MOST_EXAMPLES]
            text = message or f"{self.meaning}: {count}"
            yield Finding(self.name, self.severity, count, text, kept, self.hint)

    def lines(self, faults: Collection[str], *, message: str = "") -> Iterator[Finding]:
        """Yield the finding of faults that are lines already, shown in their order."""
        yield from self.counted(len(faults), faults, message=message)

    def rows(self, bad: pl.DataFrame, example: str, *, message: str = "") -> Iterator[Finding]:
        """Yield the finding of a frame that holds one row per fault; the first examples in sorted order.

        An example names columns, "{query_id}: {text}".
        """
        if bad.height:
            # Formatting columns whose chunks differ panics in polars 2.1.
            examples = bad.rechunk().select(example=_example(example))["example"].sort()
            yield from self.counted(bad.height, examples.head(MOST_EXAMPLES), message=message)


error = partial(Code, Severity.ERROR)
"""Returns a code whose findings stop the build."""
gate = partial(Code, Severity.GATE)
"""Returns a code whose findings stop `release apply`, unless they are waived."""
note = partial(Code, Severity.NOTE)
"""Returns a code whose findings are printed, and stop nothing."""


def _example(template: str) -> pl.Expr:
    """Fill a template with columns: no control characters, and at most 60 characters of each value."""
    values = []
    for name in _COLUMN.findall(template):
        text = pl.col(name).cast(pl.String).fill_null("null")
        text = text.str.replace_all(r"\p{C}", "\N{REPLACEMENT CHARACTER}")
        clipped = text.str.slice(0, _WIDEST - 1) + pl.lit("…")
        values.append(pl.when(text.str.len_chars() > _WIDEST).then(clipped).otherwise(text))
    return pl.format(_COLUMN.sub("{}", template), *values)


def graded(name: str, meaning: str, few: str, many: str) -> tuple[Code, Code]:
    """Return a note, and the gate that stands for it where much is counted; `few`, `many` are their hints."""
    return note(name, meaning, few), gate(f"{name}-many", meaning, many)


def ordered(findings: Iterable[Finding]) -> list[Finding]:
    """Sort findings: errors, gates, notes; then by code and config."""
    order = list(Severity)
    return sorted(findings, key=lambda one: (order.index(one.severity), one.code, one.config))


_UNUSED = error("unused-waiver", "waivers that no longer fire", "Remove them: what they accepted is gone.")
_REFUSED = error(
    "waiver-refused",
    "waivers of an error, without a reason, or for nothing",
    "Mend what the error names; a waiver needs a reason and the largest count it accepts.",
)


def apply_waivers(findings: Sequence[Finding], waivers: Sequence[Waiver]) -> list[Finding]:
    """Mark the findings of a config that a waiver covers, and report waivers that cover nothing.

    A waiver covers the findings of its code while their counts add up to no more than it accepts. An error
    is never covered: ids, references and guards must hold, and personal data must be gone. A code has one
    waiver; a second one is unused. All findings are returned, sorted by severity and code.
    """
    sound = [waiver for waiver in waivers if waiver.reason.strip() and waiver.at_most > 0]
    empty = [waiver for waiver in waivers if waiver not in sound]
    first = {waiver.code: waiver for waiver in reversed(sound)}
    fired = {finding.code for finding in findings}
    errors = {finding.code for finding in findings if finding.severity is Severity.ERROR}
    unused = [waiver for waiver in sound if waiver.code not in fired or waiver is not first[waiver.code]]
    refused = [*empty, *(waiver for waiver in first.values() if waiver.code in errors)]
    marked = (_marked(finding, first.get(finding.code), findings) for finding in findings)
    return ordered([*marked, *_about(_UNUSED, unused), *_about(_REFUSED, refused)])


def _marked(finding: Finding, waiver: Waiver | None, findings: Iterable[Finding]) -> Finding:
    if waiver is None or finding.severity is Severity.ERROR:
        return finding
    count = sum(other.count for other in findings if other.code == finding.code)
    if count <= waiver.at_most:
        return replace(finding, waived=waiver.reason)
    hint = f"Its waiver accepts at most {waiver.at_most}. {finding.hint}".strip()
    return replace(finding, hint=hint)


def _about(code: Code, waivers: Collection[Waiver]) -> Iterator[Finding]:
    return code.lines(sorted(f"{waiver.code}: {waiver.reason or 'no reason'}" for waiver in waivers))

"""Waivers: consent to gates and notes. Nothing waives an error."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from builders.checks.findings import Code, ordered
from builders.checks.model import Finding, Severity
from builders.spec import Waiver

UNUSED = Code(
    "unused-waiver",
    Severity.ERROR,
    "waivers that no longer fire",
    "Remove them from the config's `waivers`: what they accepted is gone.",
)
REFUSED = Code(
    "waiver-refused",
    Severity.ERROR,
    "waivers of an error, without a reason, or for nothing",
    "Mend what the error names; a waiver needs a reason and the largest count it accepts.",
)
CODES = (UNUSED, REFUSED)


def apply_waivers(findings: Sequence[Finding], waivers: Sequence[Waiver]) -> list[Finding]:
    """Mark the findings that a waiver covers, and report waivers that cover nothing.

    A waiver covers the findings of its code while their counts add up to no more than it accepts. An error
    is never covered: ids, references and guards must hold, and personal data must be gone. A code has one
    waiver; a second one is unused.

    Args:
        findings: Of one config.
        waivers: Of the same config.

    Returns:
        All findings, those that are covered with `waived` set to the reason, and an error each for waivers
        that never fire or may not be, sorted by severity and code.
    """
    sound = [waiver for waiver in waivers if waiver.reason.strip() and waiver.at_most > 0]
    empty = [waiver for waiver in waivers if waiver not in sound]
    first = {waiver.code: waiver for waiver in reversed(sound)}
    fired = {finding.code for finding in findings}
    errors = {finding.code for finding in findings if finding.severity is Severity.ERROR}
    unused = [waiver for waiver in sound if waiver.code not in fired or waiver is not first[waiver.code]]
    refused = [*empty, *(waiver for waiver in first.values() if waiver.code in errors)]
    marked = (_marked(finding, first.get(finding.code), findings) for finding in findings)
    return ordered([*marked, *_about(UNUSED, unused), *_about(REFUSED, refused)])


def _marked(finding: Finding, waiver: Waiver | None, findings: Iterable[Finding]) -> Finding:
    if waiver is None or finding.severity is Severity.ERROR:
        return finding
    count = sum(other.count for other in findings if other.code == finding.code)
    if count <= waiver.at_most:
        return replace(finding, waived=waiver.reason)
    hint = f"Its waiver accepts at most {waiver.at_most}. {finding.hint}".strip()
    return replace(finding, hint=hint)


def _about(code: Code, waivers: Collection[Waiver]) -> Iterator[Finding]:
    examples = sorted(f"{waiver.code}: {waiver.reason or 'no reason'}" for waiver in waivers)
    return code.counted(len(waivers), examples)

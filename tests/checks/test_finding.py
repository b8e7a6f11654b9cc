from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.checks import apply_waivers
from builders.checks.finding import Finding, Severity
from builders.spec import Waiver
from tests.checks.kit import unhurried

GATE = Finding("mining-yield", Severity.GATE, 6, "only 4 of 10", hint="Choose another recipe.")
NOTE = Finding("text-long", Severity.NOTE, 2, "long")
ERROR = Finding("id-empty", Severity.ERROR, 1, "empty")


def by_code(findings: list[Finding]) -> dict[str, Finding]:
    return {finding.code: finding for finding in findings}


def test_a_waiver_covers_a_gate_up_to_its_count() -> None:
    (covered,) = apply_waivers([GATE], [Waiver("mining-yield", "dicht beieinander", 6)])
    assert covered.waived == "dicht beieinander"
    assert covered.severity is Severity.GATE


def test_a_waiver_that_is_exceeded_covers_nothing_and_the_hint_says_so() -> None:
    (open_gate,) = apply_waivers([GATE], [Waiver("mining-yield", "dicht beieinander", 5)])
    assert open_gate.waived == ""
    assert open_gate.hint == "Its waiver accepts at most 5. Choose another recipe."


def test_a_note_may_be_waived_too() -> None:
    assert apply_waivers([NOTE], [Waiver("text-long", "Gesetzestexte", 9)])[0].waived == "Gesetzestexte"


def test_findings_without_a_waiver_stay_as_they_are() -> None:
    assert apply_waivers([ERROR, GATE, NOTE], []) == [ERROR, GATE, NOTE]


def test_a_waiver_that_no_longer_fires_is_an_error() -> None:
    findings = by_code(apply_waivers([NOTE], [Waiver("mining-yield", "dicht beieinander", 6)]))
    unused = findings["unused-waiver"]
    assert (unused.severity, unused.count) == (Severity.ERROR, 1)
    assert unused.examples == ("mining-yield: dicht beieinander",)


def test_an_error_is_never_waived() -> None:
    findings = by_code(apply_waivers([ERROR], [Waiver("id-empty", "egal", 9)]))
    assert findings["id-empty"].waived == ""
    assert findings["waiver-refused"].severity is Severity.ERROR
    assert findings["waiver-refused"].examples == ("id-empty: egal",)


@pytest.mark.parametrize("waiver", [Waiver("mining-yield", " ", 9), Waiver("mining-yield", "egal", 0)])
def test_a_waiver_needs_a_reason_and_a_count(waiver: Waiver) -> None:
    findings = by_code(apply_waivers([GATE], [waiver]))
    assert findings["waiver-refused"].count == 1
    assert findings["mining-yield"].waived == ""


def test_a_second_waiver_of_a_code_is_unused() -> None:
    waivers = [Waiver("mining-yield", "erster", 6), Waiver("mining-yield", "zweiter", 99)]
    findings = by_code(apply_waivers([GATE], waivers))
    assert findings["mining-yield"].waived == "erster"
    assert findings["unused-waiver"].examples == ("mining-yield: zweiter",)


def test_equal_waivers_are_two() -> None:
    waivers = [Waiver("mining-yield", "gleich", 6), Waiver("mining-yield", "gleich", 6)]
    assert by_code(apply_waivers([GATE], waivers))["unused-waiver"].count == 1


def test_errors_come_first_then_codes() -> None:
    findings = apply_waivers([NOTE, GATE, ERROR], [Waiver("split-ratio", "alt", 1)])
    assert [finding.code for finding in findings] == [
        "id-empty",
        "unused-waiver",
        "mining-yield",
        "text-long",
    ]


@unhurried
@given(st.lists(st.integers(1, 20), min_size=1, max_size=4), st.integers(1, 60))
def test_counts_of_a_code_add_up(counts: list[int], at_most: int) -> None:
    findings = [
        Finding("mining-yield", Severity.GATE, count, "", config=str(n)) for n, count in enumerate(counts)
    ]
    waived = apply_waivers(findings, [Waiver("mining-yield", "ja", at_most)])
    assert len(waived) == len(findings)
    assert {finding.waived for finding in waived} == {"ja" if sum(counts) <= at_most else ""}

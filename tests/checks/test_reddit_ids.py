"""Rules on clustering sets of ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl
import pytest

from builders.checks.finding import Severity
from builders.checks.subject import IdSets
from builders.lock.lock import TextLengths
from builders.tables import Kind
from tests.checks.ids_kit import IDS, Change, Plant, found, healthy, put, recount, with_table
from tests.checks.kit import with_beside

ERROR, GATE, NOTE = Severity.ERROR, Severity.GATE, Severity.NOTE
HALF = 200


def first(value: str | None) -> Change:
    """Give the first id of set 2 another value."""
    return put(2, submission_ids=lambda ids: [value, *ids[1:]])


def every(old: str, new: str) -> Change:
    """Rename a label in both sets and in the ledger."""

    def change(subject: IdSets) -> IdSets:
        renamed = subject
        for number in (1, 2):
            rename = put(number, labels=lambda labels: [new if one == old else one for one in labels])
            renamed = rename(renamed)
        return with_beside(
            renamed, statuses=renamed.beside["statuses"].with_columns(pl.col("subreddit").replace(old, new))
        )

    return change


def without_ledger(subject: IdSets) -> IdSets:
    return with_beside(subject, statuses=None)


def forgotten(subject: IdSets) -> IdSets:
    """The ledger says that one of the published submissions is deleted."""
    gone = pl.when(pl.col("id") == IDS["Beete"][3]).then(pl.lit("deleted")).otherwise("status")
    return with_beside(subject, statuses=subject.beside["statuses"].with_columns(status=gone))


def _always(values: list[str]) -> Callable[[list[str]], list[str | None]]:
    return lambda _: list(values)


def shrunk(subject: IdSets) -> IdSets:
    """One subreddit has one submission less, in the table and in the ledger."""
    name = IDS["Teich"][-1]
    keep = [one for one in IDS["Teich"] if one != name]
    for number, labels in ((1, ("Beete", "Kompost", "Teich")), (2, ("Teich", "Beete"))):
        ids = [one for label in labels for one in (keep if label == "Teich" else IDS[label])]
        of = [label for label in labels for _ in (keep if label == "Teich" else IDS[label])]
        subject = put(number, submission_ids=_always(ids), labels=_always(of))(subject)
    return with_beside(subject, statuses=subject.beside["statuses"].filter(pl.col("id") != name))


def missing(count: int) -> Change:
    """So many more ids are missing, beside the 300 that are there, one deleted and one missing."""

    def change(subject: IdSets) -> IdSets:
        more = [(f"leer{number:03}", "missing", "") for number in range(count)]
        frame = pl.DataFrame(more, schema=subject.beside["statuses"].schema, orient="row")
        return with_beside(subject, statuses=pl.concat([subject.beside["statuses"], frame]))

    return change


def with_text(subject: IdSets) -> IdSets:
    frame = subject.tables[Kind.CLUSTERING_IDS]["test"]
    return with_table(subject, frame.with_columns(sentences=pl.col("submission_ids")))


def third_set(subject: IdSets) -> IdSets:
    frame = subject.tables[Kind.CLUSTERING_IDS]["test"]
    return with_table(subject, pl.concat([frame, frame[:1]]))


PLANTS = [
    Plant("schema-columns", ERROR, 1, "submission_ids, labels, sentences", with_text, recounted=False),
    Plant(
        "missing-table", ERROR, 1, "clustering-ids/test", lambda s: replace(s, tables={}), recounted=False
    ),
    Plant("set-uneven", ERROR, 1, "set 2: 200 ids, 199 labels", put(2, labels=lambda one: [*one[1:]])),
    Plant(
        "set-empty", ERROR, 1, "set 2", put(2, submission_ids=lambda _: [], labels=lambda _: []),
    ),
    Plant("set-null", ERROR, 1, "set 2", first(None)),
    Plant("submission-twice", ERROR, 1, "set 2: ko0000 stands there 2 times", put(
        2,
        submission_ids=lambda ids: [*ids, *IDS["Kompost"], IDS["Kompost"][0]],
        labels=lambda labels: [*labels, *["Kompost"] * 101],
    )),
    Plant("submission-label", ERROR, 1, "ein Teich", every("Teich", "ein Teich")),
    Plant("submission-label", ERROR, 1, "u_teichfreund", every("Teich", "u_teichfreund")),
    Plant("submission-label", ERROR, 2, "beete", every("Teich", "beete")),
    Plant("submission-label", ERROR, 1, "T", every("Teich", "T")),
    Plant("submission-partial", ERROR, 1, "set 2 Beete: 99 of 100", put(
        2, submission_ids=lambda ids: [*ids[:-1]], labels=lambda labels: [*labels[:-1]]
    )),
    Plant("submission-sets", ERROR, 1, "3 sets, 2 expected", third_set),
    Plant("set-one-label", ERROR, 1, "set 2: Teich", put(
        2, submission_ids=lambda ids: [*ids[:100]], labels=lambda labels: [*labels[:100]]
    )),
    Plant("set-figures", ERROR, 1, "3 sets where 2 are found", lambda s: replace(
        s,
        clustering=s.clustering and s.clustering.model_copy(
            update={"sets": (*s.clustering.sets, s.clustering.sets[0])}
        ),
    ), recounted=False),
    Plant("set-figures", ERROR, 1, "texts of s2s", lambda s: replace(
        s,
        clustering=s.clustering and s.clustering.model_copy(
            update={"texts": {"s2s": TextLengths(unique=1, shortest=1, longest=1, characters=1)}}
        ),
    ), recounted=False),
    Plant("set-figures", ERROR, 1, "none", lambda s: replace(s, clustering=None), recounted=False),
    Plant("subreddit-small", NOTE, 1, "Teich: 99", shrunk),
    Plant("funnel-sum", ERROR, 1, "submissions: 305 read", lambda s: replace(
        s, funnels=(s.funnels[0].model_copy(update={"read": 305}),)
    )),
    Plant("submission-unknown", ERROR, 1, "no ledger", without_ledger),
    Plant("submission-missing", GATE, 76, "76 of 377", missing(75)),
]  # fmt: skip
"""Faults with which nothing else is found."""

SEVERAL = [
    Plant("submission-id", ERROR, 1, "T3_AB", first("T3_AB")),
    Plant("submission-id", ERROR, 1, "Meine Tomaten", first("Meine Tomaten werden nichts, was hilft?")),
    Plant("submission-unknown", ERROR, 1, "weg0001: Teich", first("weg0001")),
    Plant("submission-unknown", ERROR, 1, "fremd01: Teich", first("fremd01")),
    Plant("submission-unknown", ERROR, 1, "be0003: Beete", forgotten),
    Plant("submission-unknown", ERROR, 1, "te0000: Beete", put(2, labels=lambda one: ["Beete", *one[1:]])),
]
"""Faults that others come along with: a set that lacks an id is not whole, too."""


def test_a_healthy_config_has_no_finding() -> None:
    assert found(healthy()) == {}
    assert found(missing(74)(healthy())) == {}  # 75 of 376 are less than a fifth


@pytest.mark.parametrize("plant", [*PLANTS, *SEVERAL], ids=lambda plant: f"{plant.code} {plant.example}")
def test_a_planted_fault_is_found(plant: Plant) -> None:
    subject = plant.change(healthy())
    findings = found(recount(subject) if plant.recounted else subject)
    assert plant.code in findings
    assert set(findings) == {plant.code} or plant in SEVERAL
    finding = findings[plant.code]
    assert (finding.severity, finding.count, finding.config) == (plant.severity, plant.count, "garten")
    assert any(plant.example in example for example in finding.examples), finding.examples
    assert finding.message and finding.hint and len(finding.examples) <= 5


def test_more_labels_than_may_be_drawn_are_told() -> None:
    subject = healthy()
    (rule,) = subject.spec.sets
    fewer = replace(subject, spec=replace(subject.spec, sets=(replace(rule, most=2),)))
    assert found(fewer)["submission-sets"].examples == ("set 1: 3 labels, at most 2",)

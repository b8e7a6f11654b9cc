"""A small healthy clustering config, and ways to plant one fault in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import polars as pl

from builders.checks import run
from builders.checks.clustering import figures
from builders.checks.finding import Finding, Severity
from builders.checks.subject import Sets, Subject
from builders.lock.lock import Funnel
from builders.spec import CONTACT, Clustering, Documents, Files, PublishedSets, Sampled, TextFigures, Within
from builders.tables import CLUSTERING, SCHEMAS, Kind

Change = Callable[[Sets], Sets]

_PLANTS = {
    "Beete": ("Tomate", "Bohne", "Gurke", "Kürbis"),
    "Gehölze": ("Apfel", "Kirsche", "Hasel", "Flieder"),
}
_TOPICS = {"Tomate": "Frucht", "Bohne": "Hülse", "Gurke": "Frucht", "Kürbis": "Hülse"} | {
    "Apfel": "Obst", "Kirsche": "Obst", "Hasel": "Strauch", "Flieder": "Strauch",
}  # fmt: skip


def _never_read(_: Files) -> Documents:
    raise AssertionError("a check reads nothing")


SPEC = Clustering(
    name="pflanzen",
    release="tecb-de",
    title="Pflanzen nach Ort",
    licence="cc-by-nc-4.0",
    languages=("deu",),
    sources=(),
    read=_never_read,
    compose=lambda rows: rows,
    sets=(Sampled("coarse", "genre", count=2), Within("genre", "topic"), Sampled("fine", "topic", count=1)),
    personal=CONTACT,
)
KNOWN = PublishedSets(
    source="ein anderer Garten",
    documents=8,
    sizes={"coarse": (8, 4), "fine": (6,)},
    labels={"genre": frozenset(_PLANTS), "topic": frozenset(_TOPICS.values())},
    texts={
        "s2s": TextFigures(unique=8, shortest=9, mean=9.75, longest=11),
        "p2p": TextFigures(unique=8, shortest=27, mean=27.75, longest=29),
    },
)


@dataclass(frozen=True)
class Plant:
    """A fault, and what must be found of it.

    Attributes:
        code: Of the finding.
        severity: Of the finding.
        count: Of the finding.
        example: A text that one of its examples holds; empty where it has none.
        change: Plants the fault.
        also: Codes that this fault cannot help.
        recounted: Whether the lock's figures are those of the changed tables.
    """

    code: str
    severity: Severity
    count: int
    example: str
    change: Change
    also: frozenset[str] = frozenset()
    recounted: bool = True


def healthy() -> Sets:
    """Return a subject without a finding."""
    everything = [plant for plants in _PLANTS.values() for plant in plants]
    genre = {plant: genre for genre, plants in _PLANTS.items() for plant in plants}
    sets = [
        ("coarse", everything, genre),
        ("coarse", everything[2:6], genre),
        *((f"within:{name}", list(plants), _TOPICS) for name, plants in _PLANTS.items()),
        ("fine", everything[1:7], _TOPICS),
    ]
    tables = {
        kind: {
            "test": pl.DataFrame(
                [
                    ([text(variant, plant) for plant in plants], [labels[plant] for plant in plants], level)
                    for level, plants, labels in sets
                ],
                schema=pl.Schema(SCHEMAS[kind]),
                orient="row",
            )
        }
        for variant, kind in CLUSTERING.items()
    }
    funnel = Funnel(table="documents", read=11, dropped={"no_text": 3}, out=8)
    return recount(Subject(SPEC, tables, (funnel,)))


def text(variant: str, plant: str) -> str:
    return f"Die {plant}" if variant == "s2s" else f"Die {plant} wächst im Garten."


def recount(subject: Sets) -> Sets:
    """Give a subject the figures that its tables have."""
    return replace(subject, clustering=figures(subject))


def put(variant: str, number: int, **columns: object) -> Change:
    """Set columns of one set, counted from 1, in one variant or in "both"."""

    def change(subject: Sets) -> Sets:
        tables = dict(subject.tables)
        for name, kind in CLUSTERING.items():
            if variant in {name, "both"}:
                frame = tables[kind]["test"]
                rows = frame.to_dicts()
                rows[number - 1] |= columns
                tables[kind] = {"test": pl.DataFrame(rows, schema=frame.schema)}
        return replace(subject, tables=tables)

    return change


def put_text(number: int, row: int, title: str | None = None, body: str = "wächst im Garten.") -> Change:
    """Set one document of one set, both counted from 1, in both variants."""

    def change(subject: Sets) -> Sets:
        titles = subject.tables[Kind.CLUSTERING_S2S]["test"]["sentences"][number - 1].to_list()
        texts = subject.tables[Kind.CLUSTERING_P2P]["test"]["sentences"][number - 1].to_list()
        titles[row - 1] = titles[row - 1] if title is None else title
        texts[row - 1] = f"{titles[row - 1]} {body}"
        changed = put("s2s", number, sentences=titles)(subject)
        return put("p2p", number, sentences=texts)(changed)

    return change


def refunnel(**fields: object) -> Change:
    """Change the funnel of the documents."""
    return lambda subject: replace(subject, funnels=(subject.funnels[0].model_copy(update=fields),))


def keep(*numbers: int) -> Change:
    """Keep these sets only, counted from 1, in this order."""
    rows = [number - 1 for number in numbers]

    def change(subject: Sets) -> Sets:
        tables = {kind: {"test": splits["test"][rows]} for kind, splits in subject.tables.items()}
        return replace(subject, tables=tables)

    return change


def found(subject: Sets) -> dict[str, Finding]:
    """Run all rules; a code is reported once at most."""
    findings = run(subject)
    by_code = {finding.code: finding for finding in findings}
    assert len(by_code) == len(findings)
    return by_code


def assert_found(plant: Plant) -> None:
    """Plant a fault and demand that it is found, and nothing else."""
    subject = plant.change(healthy())
    findings = found(recount(subject) if plant.recounted else subject)
    assert set(findings) == {plant.code, *plant.also}
    finding = findings[plant.code]
    assert (finding.severity, finding.count, finding.config) == (plant.severity, plant.count, "pflanzen")
    assert any(plant.example in example for example in finding.examples) or not plant.example
    assert finding.message and finding.hint and len(finding.examples) <= 5

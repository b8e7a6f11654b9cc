from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from builders import files
from builders.checks import apply_waivers, check_tree
from builders.checks.finding import Severity
from builders.checks.subject import Sets
from builders.lock.lock import Lock, work_folder, write_manifest
from builders.spec import Waiver
from builders.tables import Kind, Table, encode
from tests.checks.clustering_kit import (
    KNOWN,
    SPEC,
    Plant,
    assert_found,
    found,
    healthy,
    keep,
    put,
    put_text,
    refunnel,
)

ERROR, GATE, NOTE = Severity.ERROR, Severity.GATE, Severity.NOTE
TITLES = ["Die Gurke", "Die Kürbis", "Die Apfel", "Die Kirsche"]  # of set 2
TEXTS = [f"{title} wächst im Garten." for title in TITLES]
MIXED = ["Hülse", "Frucht", "Hülse", "Beete", "Obst", "Strauch"]


def without_p2p(subject: Sets) -> Sets:
    return replace(subject, tables={Kind.CLUSTERING_S2S: subject.tables[Kind.CLUSTERING_S2S]})


PLANTS = [
    Plant("missing-table", ERROR, 1, "clustering-p2p/test", without_p2p, recounted=False),
    Plant(
        "set-uneven", ERROR, 1, "clustering-s2s set 2 (coarse): 4 sentences, 3 labels",
        put("s2s", 2, labels=["Beete"] * 3), recounted=False,
    ),
    Plant(
        "set-empty", ERROR, 2, "clustering-p2p set 2 (coarse)",
        put("both", 2, sentences=[], labels=[]), recounted=False,
    ),
    Plant(
        "set-null", ERROR, 1, "clustering-s2s set 2 (coarse)",
        put("s2s", 2, sentences=[None, *TITLES[1:]]), recounted=False,
    ),
    Plant(
        "null-value", ERROR, 1, "clustering-s2s/test level: 1 null",
        put("s2s", 2, level=None), recounted=False,
    ),
    Plant("set-one-label", ERROR, 1, "set 2 (coarse): Beete", put("both", 2, labels=["Beete"] * 4)),
    Plant("set-levels", ERROR, 1, "'coarse': 1 sets, 2 expected", keep(1, 3, 4, 5)),
    Plant("set-levels", ERROR, 2, "'grob': 1 sets, 0 expected", put("both", 2, level="grob")),
    Plant("set-levels", ERROR, 1, "within:…: no set", keep(1, 2, 5)),
    Plant("labels-mixed", ERROR, 1, "Beete: genre, topic", put("both", 5, labels=MIXED)),
    Plant("set-rows", ERROR, 2, "set 1 ('coarse'): 8 rows, 7 documents", refunnel(read=10, out=7)),
    Plant("set-rows", ERROR, 1, "within:…: 8 rows in all, 9 documents", refunnel(read=12, out=9)),
    Plant(
        "sets-misaligned", ERROR, 1, "set 2 row 2: Die Kürbis | Ein Kürbis reift.",
        put("p2p", 2, sentences=[TEXTS[0], "Ein Kürbis reift.", *TEXTS[2:]]),
    ),
    Plant(
        "sets-misaligned", ERROR, 1, "set 2 row 1: Die Gurke | Die Gurken reifen.",
        put("p2p", 2, sentences=["Die Gurken reifen.", *TEXTS[1:]]),
    ),
    Plant("sets-misaligned", ERROR, 2, "set 2 row 3", put("p2p", 2, labels=["Beete"] * 4)),
    Plant(
        "sets-misaligned", ERROR, 2, "set 2 row 4",
        put("p2p", 2, sentences=[TEXTS[3], *TEXTS[1:3], TEXTS[0]]),
    ),
    Plant(
        "sets-misaligned", ERROR, 1, "set 2 row 4",
        put("p2p", 2, sentences=TEXTS[:3], labels=["Beete", "Beete", "Gehölze"]),
    ),
    Plant("set-repeated-text", NOTE, 1, "s2s set 2: Die Gurke", put_text(2, 4, "Die Gurke", "rankt.")),
    Plant("set-repeated-text", NOTE, 2, "p2p set 2: Die Gurke wächst", put_text(2, 4, "Die Gurke")),
    Plant(
        "text-empty", ERROR, 1, "clustering-p2p set 2 row 1 text", put_text(2, 1, body=""),
    ),
    Plant("text-not-normalised", ERROR, 1, "set 2 row 1 text", put_text(2, 1, body="wächst  schief.")),
    Plant(
        "text-not-normalised", ERROR, 1, "label: Beete",
        put("both", 2, labels=["Beete", "Beete ", "Gehölze", "Gehölze"]),
    ),
    Plant("text-entity", NOTE, 1, "set 2 row 1 title", put_text(2, 1, "Gurke &amp; Co")),
    Plant("text-long", NOTE, 1, "set 2 row 1 text: 12000", put_text(2, 1, body="ab" * 6000)),
    Plant(
        "personal-data", ERROR, 1, "set 2 row 1 text: email",
        put_text(2, 1, body="fragt hilfe@garten.example danach."),
    ),
    Plant("set-figures", ERROR, 2, "set 2", keep(1, 3, 2, 4, 5), recounted=False),
    Plant("row-malformed", GATE, 3, "", refunnel(read=14, dropped={"no_text": 3, "malformed": 3})),
    Plant("funnel-sum", ERROR, 1, "documents: 12 read, 11", refunnel(read=12)),
    Plant("funnel-reason", ERROR, 1, "dropped as 'Kein Text'", refunnel(dropped={"Kein Text": 3})),
]  # fmt: skip


def test_a_healthy_config_has_no_finding() -> None:
    assert found(healthy()) == {}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.code} {plant.example}")
def test_a_planted_fault_is_found_and_nothing_else(plant: Plant) -> None:
    assert_found(plant)


def test_examples_of_personal_data_do_not_repeat_it() -> None:
    subject = put_text(2, 1, body="fragt hilfe@garten.example danach.")(healthy())
    assert not [line for line in found(subject)["personal-data"].examples if "garten.example" in line]


def test_a_lock_without_figures_is_told() -> None:
    assert set(found(replace(healthy(), clustering=None))) == {"set-figures"}


def test_a_waiver_covers_what_could_not_be_read() -> None:
    subject = refunnel(read=14, dropped={"no_text": 3, "malformed": 3})(healthy())
    waiver = Waiver("row-malformed", "three books without an end", at_most=3)
    (finding,) = apply_waivers(list(found(subject).values()), [waiver])
    assert finding.waived == waiver.reason


def lay_out(out: Path, subject: Sets) -> None:
    tables = [Table(SPEC.name, kind, "test", splits["test"]) for kind, splits in subject.tables.items()]
    encoded = {table.path: encode(table) for table in tables}
    for path, (data, _) in encoded.items():
        files.write_bytes(out / SPEC.release / path, data)
    lock = Lock(
        config=SPEC.name, release=SPEC.release, licence=SPEC.licence, sources=(), parameters={"limit": 3},
        tools={}, funnels=subject.funnels, splits={}, facts={}, personal={}, clustering=subject.clustering,
        files=tuple(sorted((file for _, file in encoded.values()), key=lambda file: file.path)),
    )  # fmt: skip
    files.write_json(work_folder(out, SPEC.name) / "lock.json", lock.model_dump(mode="json"))
    write_manifest(out, SPEC.release)


def test_a_built_tree_is_read_and_checked(tmp_path: Path) -> None:
    lay_out(tmp_path, healthy())
    assert check_tree(tmp_path, load=lambda _: SPEC, configs=tmp_path) == []


def test_a_tree_that_was_changed_is_told(tmp_path: Path) -> None:
    lay_out(tmp_path, put("both", 2, labels=["Beete"] * 4)(healthy()))
    codes = {finding.code for finding in check_tree(tmp_path, load=lambda _: SPEC, configs=tmp_path)}
    assert codes == {"set-one-label", "set-figures"}


def of_upstream(**changes: object) -> Sets:
    """The healthy subject, as if all of the real upstream had been built."""
    known = replace(KNOWN, **changes)  # type: ignore[arg-type]
    return replace(healthy(), spec=replace(SPEC, published=known), upstream=True)


def test_what_agrees_with_the_published_sets_has_no_finding() -> None:
    assert found(of_upstream()) == {}


PUBLISHED = [
    ("published-sizes", {"sizes": {"coarse": (8, 5), "fine": (6,)}}, "coarse 2: 4 rows, published 5"),
    ("published-sizes", {"sizes": {"coarse": (8, 4, 3), "fine": (6,)}}, "coarse 3: no rows, published 3"),
    ("published-sizes", {"sizes": {"coarse": (8,), "fine": (6,)}}, "coarse 2: 4 rows, published no"),
    ("published-sizes", {"sizes": {"medium": (5,)}}, "medium 1: no rows, published 5"),
    ("published-labels", {"labels": {"genre": frozenset({"Beete", "Moor"})}}, "genre: 'Moor' is missing"),
    (
        "published-labels",
        {"labels": {"topic": frozenset({"Frucht", "Hülse", "Obst"})}},
        "topic: 'Strauch' is not published",
    ),
    (
        "published-lengths",
        {"texts": {"s2s": replace(KNOWN.texts["s2s"], mean=10.0)}},
        "s2s mean: 9.75, published 10",
    ),
    (
        "published-lengths",
        {"texts": {"p2p": replace(KNOWN.texts["p2p"], unique=9)}},
        "p2p distinct texts: 8, published 9",
    ),
    (
        "published-lengths",
        {"texts": {"p2p": replace(KNOWN.texts["p2p"], longest=32)}},
        "p2p longest: 29, published 32",
    ),
]


@pytest.mark.parametrize(("code", "changes", "example"), PUBLISHED)
def test_a_deviation_from_the_published_sets_is_a_gate(
    code: str, changes: dict[str, object], example: str
) -> None:
    findings = found(of_upstream(**changes))
    assert set(findings) == {code}
    assert findings[code].severity is GATE
    assert example in findings[code].examples


@pytest.mark.parametrize(("code", "changes", "example"), PUBLISHED)
def test_a_stand_in_is_not_held_against_published_sets(
    code: str, changes: dict[str, object], example: str
) -> None:
    assert found(replace(of_upstream(**changes), upstream=False)) == {}


def test_lengths_within_the_tolerance_agree() -> None:
    near = {"s2s": replace(KNOWN.texts["s2s"], mean=9.9, shortest=7, longest=13)}
    assert found(of_upstream(texts=near)) == {}

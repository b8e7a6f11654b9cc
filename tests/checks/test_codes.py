from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from random import Random

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from builders import checks
from builders.checks import run
from builders.checks.finding import Code, note
from tests.checks import (
    test_card_and_croissant,
    test_clustering,
    test_funnel,
    test_ids,
    test_negatives,
    test_qrels,
    test_reddit_ids,
    test_release,
    test_scale,
    test_schema,
    test_splits,
    test_text,
)
from tests.checks.kit import Plant, healthy, unhurried

KINDS = (
    test_schema,
    test_ids,
    test_text,
    test_qrels,
    test_splits,
    test_negatives,
    test_scale,
    test_funnel,
)
ALONE = {
    "components-committed",
    "split-moved",
    "splits-uncommitted",
    "twins-committed",
    "unused-waiver",
    "waiver-refused",
}
"""Codes whose tests need another recipe, a committed assignment or waivers."""


def codes() -> list[Code]:
    """Every code of the room, from whatever module holds it."""
    modules = [import_module(f"builders.checks.{found.name}") for found in iter_modules(checks.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    graded = [code for value in values if isinstance(value, tuple) for code in value]
    return [code for code in (*values, *graded) if isinstance(code, Code)]


def plants() -> list[Plant]:
    return [plant for module in KINDS for plant in module.PLANTS]


def test_every_code_has_a_planted_fault() -> None:
    planted = {plant.code for plant in plants()} | {plant.code for plant in test_clustering.PLANTS}
    planted |= {plant.code for plant in (*test_reddit_ids.PLANTS, *test_reddit_ids.SEVERAL)}
    for others in (test_release.PLANTS, test_card_and_croissant.PLANTS, test_clustering.PUBLISHED):
        planted |= {plant[0] for plant in others}
    assert planted | ALONE == {code.name for code in codes()}
    assert not planted & ALONE


def test_codes_are_stable_words_with_a_hint_and_unique() -> None:
    for code in codes():
        assert re.fullmatch(r"[a-z]+(-[a-z]+)+", code.name)
        assert code.meaning and not code.meaning.endswith(".")
        assert code.hint.endswith(".")
    assert len({code.name for code in codes()}) == len(codes()) > 90


def test_the_public_names_are_there() -> None:
    assert all(hasattr(checks, name) for name in checks.__all__)


def test_errors_come_first_and_findings_name_their_config() -> None:
    subject = healthy()
    for plant in plants():
        if plant.code in {"split-ratio", "qrels-score", "text-entity"}:
            subject = plant.change(subject)
    findings = run(subject)
    order = ["error", "gate", "note"]
    assert [f.severity for f in findings] == sorted((f.severity for f in findings), key=order.index)
    assert {f.severity.value for f in findings} == set(order)
    assert {f.config for f in findings} == {"garten"}


@unhurried
@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(random: Random) -> None:
    subject = healthy()
    for plant in plants():
        if plant.code in {
            "dangling-qrels-query",
            "duplicate-passage",
            "negative-twin",
            "text-not-normalised",
        }:
            subject = plant.change(subject)
    seed = random.getrandbits(32)
    tables = {
        kind: {split: frame.sample(fraction=1, shuffle=True, seed=seed) for split, frame in splits_.items()}
        for kind, splits_ in subject.tables.items()
    }
    assert run(replace(subject, tables=tables)) == run(subject)


def test_at_most_five_examples_are_kept_in_sorted_order() -> None:
    frame = pl.DataFrame({"id": [f"q{n}" for n in range(9, 0, -1)]})
    (finding,) = note("kit-row", "rows of the kit", "Read.").rows(frame, "{id}!")
    assert finding.examples == ("q1!", "q2!", "q3!", "q4!", "q5!")
    assert finding.count == 9


@unhurried
@given(st.text(max_size=120))
def test_a_shown_value_is_one_short_printable_line(value: str) -> None:
    (finding,) = note("kit-row", "rows", "Read.").rows(pl.DataFrame({"value": [value]}), "{value}")
    (text_,) = finding.examples
    assert len(text_) <= 60
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u200e\u202e]", text_)
    if value.isascii() and value.isprintable() and len(value) <= 60:
        assert text_ == value

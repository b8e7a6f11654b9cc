"""The figures that cards cite are those of the committed sentences with invented people."""

from __future__ import annotations

import json

import pytest

from builders.personal.replacements import PEOPLE, people_facts
from scripts.bench import people


@pytest.fixture(scope="module")
def measured() -> dict[str, dict[str, int]]:
    return people.stored()


def test_the_stored_figures_are_what_the_script_measures(measured: dict[str, dict[str, int]]) -> None:
    assert json.loads(PEOPLE.read_text("utf-8")) == measured, "run: python -m scripts.bench.people --store"


def test_most_held_out_names_are_found(measured: dict[str, dict[str, int]]) -> None:
    held_out = measured["heldout"]
    assert held_out["full_found"] / held_out["full_marked"] >= 0.9
    assert held_out["first_found"] / held_out["first_marked"] >= 0.8
    assert held_out["right"] / held_out["replaced"] >= 0.99


def test_cards_cite_the_held_out_set_alone(measured: dict[str, dict[str, int]]) -> None:
    held_out = measured["heldout"]
    wanted = (f"{group}_{what}" for group in ("full", "first", "plain") for what in ("marked", "found"))
    assert people_facts() == {f"personal_{figure}": held_out[figure] for figure in wanted}


def test_the_sets_have_no_name_and_no_sentence_in_common() -> None:
    mine, other = people.names("development"), people.names("heldout")
    assert list(mine) == list(other)
    for part in (0, 1):
        one, two = ({name for both in origins.values() for name in both[part]} for origins in (mine, other))
        assert len(one) > 200
        assert not one & two
    assert not set(people.templates("development")) & set(people.templates("heldout"))


def test_a_name_counts_only_whole() -> None:
    sentence = people.sentences("development")[0]
    [(group, start, end)] = sentence.names
    assert group == "full"
    assert " " in sentence.text[start:end]

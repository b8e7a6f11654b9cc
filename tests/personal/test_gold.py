from __future__ import annotations

import pytest

from builders.spec import ALL_KINDS, PersonalKind
from scripts.bench.gold_set import Marked, Score, compare, read_set, score

_NAMES = {PersonalKind.PERSON, PersonalKind.FULL_NAME}


@pytest.fixture(scope="module")
def gold() -> Score:
    return score("gold")


@pytest.mark.parametrize("kind", [kind for kind in ALL_KINDS if kind not in _NAMES])
def test_recall_of_every_kind_but_names(gold: Score, kind: PersonalKind) -> None:
    tally = gold.by_kind[kind]
    assert tally.marked >= 14
    assert tally.found / tally.marked >= 0.98, gold.missed


def test_recall_of_names_with_a_cue(gold: Score) -> None:
    tally = gold.by_kind[PersonalKind.PERSON]
    assert tally.found / tally.marked >= 0.95, gold.missed


def test_precision(gold: Score) -> None:
    assert gold.precision >= 0.97, gold.wrong


def test_the_gold_set_has_one_known_miss(gold: Score) -> None:
    assert gold.missed == ("person: Ohlsen",)
    assert gold.wrong == ()


def test_names_titles_and_brands() -> None:
    names = score("names")
    assert names.recall >= 0.98, names.missed
    assert names.precision >= 0.98, names.wrong
    assert sum(marked.titles for marked in read_set("names")) >= 40


def test_the_sets_have_nothing_in_common() -> None:
    sets = [{marked.text for marked in read_set(name)} for name in ("gold", "heldout", "names")]
    assert sum(map(len, sets)) == len(set.union(*sets))


def test_the_held_out_set_is_measured() -> None:
    held_out = score("heldout")
    assert set(held_out.by_kind) == set(ALL_KINDS)
    assert held_out.recall >= 0.95


def test_a_span_counts_as_found_only_whole() -> None:
    texts = (Marked("Tel. 0221 4710", ((PersonalKind.PHONE, 5, 14),)),)
    assert compare(texts, [[("phone", 5, 14, "r")]]).recall == 1
    half = compare(texts, [[("phone", 5, 9, "r")]])
    assert (half.recall, half.precision, half.missed) == (0, 1, ("phone: 0221 4710",))
    wrong = compare(texts, [[("person", 0, 4, "r")]])
    assert (wrong.recall, wrong.precision, wrong.wrong) == (0, 0, ("r: Tel.",))

from __future__ import annotations

import hashlib

import polars as pl
import pytest

from builders.checks.finding import Severity
from builders.checks.subject import Pairs
from tests.checks.kit import (
    Plant,
    append,
    assert_found,
    chain,
    found,
    healthy,
    put_value,
    recount,
    respec,
    table,
    with_beside,
    with_table,
)

ERROR = Severity.ERROR
LEFT_BEHIND = frozenset({"dangling-qrels-query", "query-without-qrels"})
PLANTS = [
    Plant(
        "id-empty",
        ERROR,
        1,
        "queries/train",
        put_value("queries/train", "q07", "query_id", ""),
        also=LEFT_BEHIND,
    ),
    Plant(
        "id-malformed",
        ERROR,
        1,
        "queries/train q 07",
        put_value("queries/train", "q07", "query_id", "q 07"),
        also=LEFT_BEHIND,
    ),
    Plant(
        "id-malformed",
        ERROR,
        1,
        "queries/train q07�",
        put_value("queries/train", "q07", "query_id", "q07\u200b"),
        also=LEFT_BEHIND,
    ),
    Plant(
        "id-duplicate",
        ERROR,
        1,
        "corpus/corpus d07: 2 times",
        append("corpus/corpus", ("d07", "", "Im Herbst wird der Rasen gekalkt.")),
    ),
    Plant(
        "id-across-splits",
        ERROR,
        1,
        "q07: train, test",
        chain(append("queries/test", ("q07", "Was ist Mulch?")), append("qrels/test", ("q07", "d08", 1))),
        also=frozenset({"test-positives-in-train"}),
    ),
    Plant(
        "id-shared",
        ERROR,
        1,
        "q07",
        append("corpus/corpus", ("q07", "", "Im Herbst wird der Rasen gekalkt.")),
        also=frozenset({"passage-never-relevant"}),
    ),
    Plant("id-content", ERROR, 22, "d01: d-", respec(ids="content")),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.code)
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def derived(subject: Pairs) -> Pairs:
    """Give the kit ids that follow from its texts."""

    def name(prefix: str, text: str) -> str:
        return prefix + hashlib.blake2b(text.encode()).hexdigest()[:16]

    corpus = table(subject, "corpus/corpus")
    new = {row: name("d-", f"{title} {text}".strip()) for row, title, text in corpus.iter_rows()}
    for split in ("train", "dev", "test"):
        new |= {
            row: name("q-", text.casefold()) for row, text in table(subject, f"queries/{split}").iter_rows()
        }
    for kind, splits in subject.tables.items():
        for split, frame in splits.items():
            ids = pl.col([name for name in ("query_id", "passage_id") if name in frame.columns])
            subject = with_table(subject, f"{kind}/{split}", frame.with_columns(ids.replace_strict(new)))
    undecided = subject.beside["undecided"]
    assert undecided is not None
    return with_beside(subject, undecided=undecided.select(pl.all().replace_strict(new)))


def test_derived_ids_follow_from_title_text_and_key() -> None:
    subject = respec(ids="content")(derived(healthy()))
    assert found(subject) == {}
    assert (
        table(subject, "corpus/corpus").item(0, "passage_id")
        == "d-"
        + hashlib.blake2b(b"Tomaten Tomaten brauchen viel Sonne und einen Schutz vor Regen.").hexdigest()[:16]
    )


def test_a_text_changed_after_its_id_was_made_is_found() -> None:
    subject = respec(ids="content")(derived(healthy()))
    first = table(subject, "corpus/corpus").item(4, "passage_id")
    changed = put_value("corpus/corpus", first, "text", "Schnecken meiden rauen Kies.")(subject)
    finding = found(changed)["id-content"]
    assert finding.count == 1
    assert first in finding.examples[0]


def test_the_displayed_form_of_a_query_does_not_enter_its_id() -> None:
    subject = respec(ids="content")(derived(healthy()))
    first = table(subject, "queries/train").item(0, "query_id")
    assert found(put_value("queries/train", first, "text", "was BRAUCHEN tomaten?")(subject)) == {}


def test_nulls_neither_raise_nor_hide() -> None:
    subject = recount(put_value("queries/train", "q07", "query_id", None)(healthy()))
    assert {"null-value", "dangling-qrels-query"} <= set(found(subject))

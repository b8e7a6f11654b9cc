from __future__ import annotations

import unicodedata

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders.checks.finding import Severity
from builders.prepare.scrub_merges import SCRUB_MERGES
from builders.spec import ALL_KINDS, PersonalKind
from builders.text.normalise import normalise
from tests.checks.kit import (
    Change,
    Plant,
    append,
    assert_found,
    chain,
    found,
    healthy,
    put_value,
    recount,
    respec,
    unhurried,
    with_beside,
)

ERROR, NOTE = Severity.ERROR, Severity.NOTE
UNUSED_PASSAGE = frozenset({"passage-never-relevant"})


def passage(text: str, title: str = "") -> Plant:
    """Not a fault yet: a thirteenth passage, relevant to q08."""
    rows = chain(append("corpus/corpus", ("d13", title, text)), append("qrels/train", ("q08", "d13", 1)))
    return Plant("", ERROR, 1, "", rows)


def scrub_merges(*rows: tuple[str, int, bool]) -> Change:
    """Say which queries scrubbing made of several titles."""
    frame = pl.DataFrame(rows, schema=SCRUB_MERGES, orient="row")
    return lambda subject: with_beside(subject, scrub_merges=frame)


PLANTS = [
    Plant(
        "titles-merged",
        NOTE,
        1,
        "q03: Wann sind Radieschen reif?, of 4 titles",
        scrub_merges(("q03", 4, True)),
    ),
    Plant(
        "titles-merged-uncued",
        Severity.GATE,
        1,
        "q01: Was brauchen Tomaten?, of 2 titles",
        scrub_merges(("q01", 2, False), ("q03", 4, True)),
        also=frozenset({"titles-merged"}),
    ),
    Plant("text-empty", ERROR, 1, "corpus/corpus d13 text", passage("", title="Nur ein Titel").change),
    Plant("text-empty", ERROR, 1, "queries/train q07 text", put_value("queries/train", "q07", "text", "")),
    Plant(
        "text-empty",
        ERROR,
        10,
        "queries/train q01 key: Was brauchen Tomaten?",
        respec(query_key=lambda _: "", relevance_key=str),
        also=frozenset({"duplicate-query", "twins-across-splits"}),
    ),
    Plant("text-not-normalised", ERROR, 1, "d13 text", passage("Ein  doppelter Zwischenraum.").change),
    Plant("text-not-normalised", ERROR, 1, "d13 title", passage("Ein Text.", title="Titel ").change),
    Plant("text-entity", NOTE, 1, "Kraut &amp; Rüben", passage("Kraut &amp; Rüben.").change),
    Plant("text-long", NOTE, 1, f"d13 text: {10_000 + 1} characters", passage("a" * (10_000 + 1)).change),
    Plant(
        "duplicate-passage",
        ERROR,
        2,
        "d13: Radieschen sind",
        passage("Radieschen sind nach vier Wochen reif.").change,
    ),
    Plant(
        "duplicate-passage",
        ERROR,
        2,
        "d13: Tomaten Tomaten brauchen",
        passage("Tomaten brauchen viel Sonne und einen Schutz vor Regen.", title="Tomaten").change,
    ),
    Plant(
        "duplicate-query",
        ERROR,
        2,
        "queries/train q08: WANN sind Radieschen reif?",
        put_value("queries/train", "q08", "text", "WANN sind Radieschen reif?"),
    ),
    Plant(
        "query-is-passage",
        NOTE,
        1,
        "q08: Wer sät",
        chain(
            passage("Wer sät, der erntet.").change,
            put_value("queries/train", "q08", "text", "Wer sät, der erntet."),
        ),
    ),
    Plant(
        "personal-data",
        ERROR,
        1,
        "corpus/corpus d13 text: email at 18-40",
        passage("Samen gibt es bei post@gartenbeispiel.de im Mai.").change,
    ),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.code}-{plant.example}")
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_an_example_of_personal_data_names_the_place_and_never_the_value() -> None:
    subject = recount(passage("Samen gibt es bei post@gartenbeispiel.de im Mai.").change(healthy()))
    finding = found(subject)["personal-data"]
    assert "gartenbeispiel" not in repr(finding)


def test_only_the_kinds_of_the_config_count() -> None:
    change = passage("Samen gibt es bei post@gartenbeispiel.de im Mai.").change
    for kinds in ((), (PersonalKind.PHONE,)):
        assert found(recount(chain(change, respec(personal=kinds))(healthy()))) == {}
    assert "personal-data" in found(recount(chain(change, respec(personal=(PersonalKind.EMAIL,)))(healthy())))


def test_queries_that_are_titles_of_jobs_have_stricter_cues() -> None:
    title = put_value("queries/train", "q07", "text", "Teamleiter: Vogelsang")
    for change in (title, passage("Teamleiter: Vogelsang").change):
        subject = recount(chain(change, respec(personal=ALL_KINDS))(healthy()))
        assert "personal-data" in found(subject)
    titles = respec(personal=ALL_KINDS, titles=True)
    assert "personal-data" not in found(recount(chain(title, titles)(healthy())))
    assert "personal-data" in found(
        recount(chain(passage("Teamleiter: Vogelsang").change, titles)(healthy()))
    )


def test_a_placeholder_is_not_personal_data() -> None:
    assert found(recount(passage("Samen gibt es bei <EMAIL> oder unter <PHONE>.").change(healthy()))) == {}


@pytest.mark.parametrize(
    "text",
    [
        " vorn",
        "hinten ",
        "zwei  Zwischenräume",
        "Tabulator\thier",
        "Zeile\nZeile",
        "geschützt\u00a0hier",
        "Nullbyte\x00",
        "Zeilentrenner\u2028hier",
        "C1\u0085hier",
        "zerlegt a\u0308",
        "breitenlos\u200bhier",
        "weiches\u00adTrennzeichen",
        "\ufeffMarke",
        "umgekehrt \u202ehier",
    ],
)
def test_what_is_not_normalised(text: str) -> None:
    assert "text-not-normalised" in found(put_value("queries/train", "q07", "text", text)(healthy()))


@unhurried
@given(st.text(max_size=60))
@example("&shy;&amp;shy;")
@example("a\u200d b")
def test_whatever_was_normalised_passes(text: str) -> None:
    value = normalise(text)
    subject = put_value("queries/train", "q07", "text", value)(healthy())
    assert "text-not-normalised" not in found(subject)


@unhurried
@given(st.text(st.sampled_from("aä \u0308\t\n\u00a0\u2003\u0000"), max_size=12))
def test_a_text_passes_only_if_normalising_leaves_it(text: str) -> None:
    subject = put_value("queries/train", "q07", "text", text)(healthy())
    plain = " ".join(unicodedata.normalize("NFC", text).replace("\0", "").split()) == text
    assert ("text-not-normalised" not in found(subject)) == plain


def test_an_example_is_cut_and_holds_no_control_character() -> None:
    hostile = "\x1b[31mRot\n" + "lang " * 100
    finding = found(put_value("queries/train", "q07", "text", hostile)(healthy()))["text-not-normalised"]
    (shown,) = finding.examples
    assert len(shown) < 100
    assert shown.isprintable()

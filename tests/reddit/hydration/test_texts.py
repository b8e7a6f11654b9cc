from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.configs.subreddit import CONFIG
from builders.reddit.submission import Status
from builders.reddit.texts import texts_of
from tests.fixtures.submissions import entry


def texts(**fields: Any) -> tuple[str, str] | None:
    """Title and whole text of one submission; None where it was dropped."""
    rows = texts_of(CONFIG, [entry("aaaaa", **fields)]).documents.select("s2s", "p2p").rows()
    return (rows[0][0], rows[0][1]) if rows else None


@pytest.mark.parametrize(
    ("title", "body", "expected"),
    [
        ("Läuse am Basilikum?", "Was hilft?", ("Läuse am Basilikum?", "Läuse am Basilikum? Was hilft?")),
        ("Nur ein Titel", "", ("Nur ein Titel", "Nur ein Titel")),
        ("NA", "null", ("NA", "NA null")),
        ("nan", "NaN", ("nan", "nan NaN")),
        ("  Viel   Raum ", "\n\n Zeile\n\nZeile ", ("Viel Raum", "Viel Raum Zeile Zeile")),
        ("Bild", "https://verlag.example/bild_(1).jpg", ("Bild", "Bild")),
        (
            "Titel",
            "siehe [hier](https://verlag.example/a_(b)) und [da](c)",
            ("Titel", "Titel siehe hier und da"),
        ),
        ("Titel", "**fett** und 2*3*4", ("Titel", "Titel fett und 2*3*4")),
        ("Titel", "Null\u200bbreite", ("Titel", "Titel Nullbreite")),
    ],
)
def test_texts_are_cleaned_and_joined(title: str, body: str, expected: tuple[str, str]) -> None:
    assert texts(title=title, body=body) == expected


@pytest.mark.parametrize("title", ["https://verlag.example/nur-ein-link", "\u200b", "   "])
def test_a_title_of_which_nothing_is_left_is_dropped_with_its_reason(title: str) -> None:
    made = texts_of(CONFIG, [entry("aaaaa", title=title, body="Ein Text."), entry("bbbbb")])
    assert made.documents["id"].to_list() == ["bbbbb"]
    assert made.dropped.rows() == [("aaaaa", "no_title")]


def test_personal_data_is_replaced_and_counted() -> None:
    body = "Fragen an hanna@beispiel.example, sagt u/hilft_gern_42, oder +49 30 23125 017."
    made = texts_of(CONFIG, [entry("aaaaa", title="Termin bei Frau Sabine Muster", body=body)])
    ((text,),) = made.documents.select("p2p").rows()
    for secret in ("hanna@", "hilft_gern_42", "23125", "Muster"):
        assert secret not in text, text
    assert "<EMAIL>" in text
    assert made.personal.kinds["email"] == 1 and made.personal.changed >= 1


def test_what_is_not_there_is_passed_over() -> None:
    gone = [entry("bbbbb", Status.REMOVED), entry("ccccc", Status.MISSING, subreddit="")]
    assert texts_of(CONFIG, [entry("aaaaa"), *gone]).documents["id"].to_list() == ["aaaaa"]
    assert texts_of(CONFIG, gone).documents.is_empty()


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_every_submission_is_a_document_or_dropped_whatever_the_order(
    titles: list[str], order: random.Random
) -> None:
    entries = [entry(f"id{number:04}", title=title, body=title[::-1]) for number, title in enumerate(titles)]
    made = texts_of(CONFIG, entries)
    order.shuffle(entries)
    again = texts_of(CONFIG, entries)
    assert made.documents.equals(again.documents) and made.dropped.equals(again.dropped)
    assert sorted([*made.documents["id"], *made.dropped["id"]]) == sorted(one.id for one in entries)
    for title, text in made.documents.select("s2s", "p2p").iter_rows():
        assert title and (text == title or text.startswith(f"{title} "))

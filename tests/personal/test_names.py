"""Names of people: what announces them, what looks like one and is none, and titles of jobs."""

from __future__ import annotations

import polars as pl
import pytest

from builders.personal import scrub
from builders.personal.words import FIRST_NAMES, FIRST_NAMES_BY_CUE, SURNAMES, lines_of, words_of


def cleaned(text: str, *, titles: bool = False) -> str:
    once = scrub(pl.Series([text]), titles=titles).texts
    assert scrub(once, titles=titles).spans.is_empty()
    return str(once[0])


@pytest.mark.parametrize(
    "text",
    [
        "Ansprechperson ist {Heini Hornich} (",
        "Bewerbung an {Vittorio Heinz}, Waldweg",
        "Für Fragen steht Ihnen {Hulda Knappe} unter der Woche zur Verfügung",
        "Kontakt:\n{Maksim Kucera}\nTel.:",
        "ich bin {Yasemin} und 23",
        "Mein Name ist {Zdenko}.",
        "Ihre Ansprechpartnerin für Rückfragen ist {Dörte Ohlendiek}.",
        "Bitte senden Sie Ihre Unterlagen an {Ludovica Serafini}",
        "Meine Tante {Rita} und mein Bruder {Frank}",
        "Die 34-jährige {Tetjana Bondarenko} wohnt hier",
        "gestern kam {Alexander Van der Bellen} an",
        "{Elisabeth S.} schwieg",
        "lg {Anna}",
    ],
)
def test_names_behind_cues_go(text: str) -> None:
    before, *rest = text.split("{")
    pieces = [before, *(part.partition("}")[2] for part in rest)]
    assert cleaned(text.replace("{", "").replace("}", "")) == "<PERSON>".join(pieces)


@pytest.mark.parametrize(
    "text",
    [
        "Ich bin Student und 23",
        "Ich bin Vater, Lehrer und müde",
        "Mein Name ist Programm",
        "Kontakt ist Voraussetzung",
        "Leitung: Neue Medien",
        "Foto: Deutsche Bahn",
        "Das gibt Ihnen Kraft",
        "Danke, Leute!",
        "Wenden Sie sich an Deutsche Rentenversicherung",
        "Lehrer Deutsch Geschichte",
        "Interview mit Experten",
        "Export, Hilfe, Regierung und Exfreund",
    ],
)
def test_nouns_behind_cues_stay(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize(
    "name",
    ["Mustermann, Erika", "MUSTERMANN, ERIKA", "von der Heide, Anna", "Nowak, Dr. Katarzyna", "Uhl, Eva M."],
)
def test_a_surname_before_a_listed_first_name_goes(name: str) -> None:
    assert cleaned(name) == "<PERSON>"
    assert cleaned(f"{name}; {name}") == "<PERSON>; <PERSON>"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Müller, Hans\nSchmidt, Anna", "<PERSON>\n<PERSON>"),
        ("Mustermann, Erika und Müller, Hans", "<PERSON> und <PERSON>"),
        ("Müller, Hans (Vorsitz)", "<PERSON> (Vorsitz)"),
        ("Müller, Anna, 12.03.1980", "<PERSON>, 12.03.1980"),
    ],
)
def test_turned_names_side_by_side_all_go(text: str, clean: str) -> None:
    assert cleaned(text) == clean


@pytest.mark.parametrize("text", ["Berlin, Hamburg", "Köln, Anna kommt", "Schrauben, Muttern", "Rat, Wolf"])
def test_other_words_around_a_comma_stay(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize(
    "title",
    [
        *(f"Projektleiter: {field} (m/w/d)" for field in ("Chemie", "Automotive", "Gastronomie", "Bauer")),
        "Teamleiter: Vertrieb",
        "Teamleiter: Küche",
        "Leitung: Koch",
        "Dr.-Ing. Maschinenbau",
        "Dr.-Ing. Chemie (m/w/d)",
        "Dipl.-Ing. Bauer",
        "Fahrer Mo. - Fr. Frühschicht",
        "Mo., Di. und Fr. Spätdienst",
        "Fr. Koch",
        "Autor: Technische Redaktion",
        "Verkäufer Hugo Boss",
        "Verkäufer Tom Tailor",
        "Verkäufer CHRISTIAN DIOR",
        "Berater Peter Hahn",
    ],
)
def test_titles_of_jobs_stay(title: str) -> None:
    assert cleaned(title, titles=True) == title


@pytest.mark.parametrize(
    ("title", "clean"),
    [
        ("Ansprechpartner Herr Max Mustermann", "Ansprechpartner Herr <PERSON>"),
        ("Koch – Herr Thomas Müller", "Koch – Herr <PERSON>"),
        ("Pfleger z.Hd. Frau Nowak", "Pfleger z.Hd. Frau <PERSON>"),
        ("Projektleiter: Anna Seidel", "Projektleiter: <PERSON>"),
        ("Assistenz Dr. Weber", "Assistenz Dr. <PERSON>"),
    ],
)
def test_names_in_titles_of_jobs_go(title: str, clean: str) -> None:
    assert cleaned(title, titles=True) == clean


def test_titles_ask_for_more_than_other_texts() -> None:
    assert cleaned("Sachbearbeitung: Vogelsang") == "Sachbearbeitung: <PERSON>"
    assert cleaned("Sachbearbeitung: Vogelsang", titles=True) == "Sachbearbeitung: Vogelsang"


@pytest.mark.parametrize(
    "text", ["Projektleiter: Chemie", "Dr.-Ing. Maschinenbau", "Mo. - Fr. Frühschicht", "Jacke von Hugo Boss"]
)
def test_fields_days_and_brands_stay_in_any_text(text: str) -> None:
    assert cleaned(text) == text


def test_a_brand_behind_a_salutation_is_a_person() -> None:
    assert cleaned("Herr Peter Hahn ruft an") == "Herr <PERSON> ruft an"


def test_names_do_not_depend_on_the_rows_around() -> None:
    rows = [
        "lg Anna",
        "Weber",
        "Hugo",
        "Mustermann, Erika",
        "ich bin",
        "Yasemin",
        "Sprecherin",
        "Wenke Hartmann",
    ]
    alone = [cleaned(row) for row in rows]
    assert scrub(pl.Series(rows)).texts.to_list() == alone


def test_the_lists_do_not_contradict_each_other() -> None:
    no_names, brands = words_of("no_names"), lines_of("brands")
    assert min(map(len, (FIRST_NAMES, SURNAMES, no_names, brands))) > 50
    assert not FIRST_NAMES & no_names
    assert FIRST_NAMES < FIRST_NAMES_BY_CUE
    assert all(" " in brand for brand in brands)


@pytest.mark.parametrize(
    "name",
    [
        "Nguyễn Thị Mai",
        "Thị Mai Nguyễn",
        "Phạm Văn Đồng",
        "Ḥanān al-Ṣabbāḥ",
        "Ali Hassan al-Sabah",
        "Minh Anh Phạm",
    ],
)
def test_no_half_of_a_name_is_left(name: str) -> None:
    assert cleaned(f"Ansprechpartnerin ist {name} (Personal)") == "Ansprechpartnerin ist <PERSON> (Personal)"
    assert cleaned(f"Kontakt: {name}") == "Kontakt: <PERSON>"

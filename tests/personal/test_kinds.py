from __future__ import annotations

import polars as pl
import pytest

from builders.personal import scrub
from builders.personal.words import words_of
from builders.spec import ALL_KINDS, CONTACT, PersonalKind


def cleaned(text: str, kinds: tuple[PersonalKind, ...] = ALL_KINDS) -> str:
    return str(scrub(pl.Series([text]), kinds).texts[0])


CALLED = [
    ("Rentenversicherungsnummer {}", "65170839J008", "<SOCIAL_SECURITY>"),
    ("Rentenversicherungsnummer: {}", "65170839J08", "<SOCIAL_SECURITY>"),
    ("SV-Nummer lautet {}.", "15 070649 C 104", "<SOCIAL_SECURITY>"),
    ("AHV-Nr. {} gilt", "756.9217.0769.86", "<SOCIAL_SECURITY>"),
    ("SVNR {} in Linz", "1238 010180", "<SOCIAL_SECURITY>"),
    ("IBAN: {}", "DE12 3456 7890 1234 5678 90", "<IBAN>"),
    ("Meine IBAN lautet {}.", "DE1234567890123456789", "<IBAN>"),
    ("IBAN {} BIC COBADEFF", "NL91 ABNA 9417 1643 01", "<IBAN>"),
    ("Kreditkarte {}", "4111 1111 1111 1112", "<PAYMENT_CARD>"),
    ("Kreditkartennummer: {}, gültig bis 12/29", "1234 5678 9012 3456", "<PAYMENT_CARD>"),
    ("USt-IdNr.: {}", "DE123456789", "<VAT_ID>"),
    ("UID {}.", "ATU1358562", "<VAT_ID>"),
    ("Krankenversichertennummer: {}", "A123456789", "<HEALTH_INSURANCE>"),
    ("Steuer-ID: {}", "1234567890", "<TAX_ID>"),
    ("Steuernummer: {}", "99/999/99999", "<TAX_NUMBER>"),
    ("Personalausweisnummer: {}", "L01X00T472", "<ID_CARD>"),
    ("Führerschein {} liegt vor", "B072RRE2I55", "<ID_CARD>"),
    ("Führerscheinnummer: {}", "B072RRE2I55", "<ID_CARD>"),
    ("Geburtsdatum: {}", "19800112", "<BIRTH_DATE>"),
    ("Sie ist geb. {} in Ulm", "12031985", "<BIRTH_DATE>"),
    ("geboren im {}", "Mai 1970", "<BIRTH_DATE>"),
    ("im {} geboren", "Mai 1970", "<BIRTH_DATE>"),
    ("Geburtsdatum {}", "05/1970", "<BIRTH_DATE>"),
]
"""What a word of its own calls a number or date whose check digits or form are not right."""


def changed_digits(number: str) -> list[str]:
    """Return the number with its last digit changed, in all nine ways."""
    place = max(place for place, character in enumerate(number) if character.isdigit())
    digits = [digit for digit in "0123456789" if digit != number[place]]
    return [number[:place] + digit + number[place + 1 :] for digit in digits]


@pytest.mark.parametrize("number", ["15070649C103", "15 070649 C 103", "65180539W001"])
def test_pension_insurance_vectors(number: str) -> None:
    assert cleaned(f"Nummer {number}") == "Nummer <SOCIAL_SECURITY>"
    assert not any("<" in cleaned(f"Nummer {wrong}") for wrong in changed_digits(number))


@pytest.mark.parametrize("number", ["15320649C103", "15071349C103"])
def test_pension_insurance_holds_a_day_and_a_month(number: str) -> None:
    assert not any("<" in cleaned(f"Nummer {candidate}") for candidate in [number, *changed_digits(number)])


@pytest.mark.parametrize("number", ["A000500015", "A123456780"])
def test_health_insurance_vectors(number: str) -> None:
    assert cleaned(f"Krankenkasse {number}") == "Krankenkasse <HEALTH_INSURANCE>"
    assert not any("<" in cleaned(f"Krankenkasse {wrong}") for wrong in changed_digits(number))


@pytest.mark.parametrize("number", ["T220001293", "L01X00T471", "C01X00T478", "1220000016D", "C01X00T478D"])
def test_id_document_vectors(number: str) -> None:
    assert cleaned(f"Ausweis {number}") == "Ausweis <ID_CARD>"
    assert not any("<" in cleaned(f"Ausweis {wrong}") for wrong in changed_digits(number))


@pytest.mark.parametrize(
    ("text", "number", "placeholder"),
    [
        ("Konto {}, danke", "DE89 3704 0044 0532 0130 00", "<IBAN>"),
        ("Konto {}, danke", "AT611904300234573201", "<IBAN>"),
        ("Konto {}, danke", "CH93 0076 2011 6238 5295 7", "<IBAN>"),
        ("Firma {}.", "DE136695976", "<VAT_ID>"),
        ("Firma {}.", "ATU13585627", "<VAT_ID>"),
        ("Firma {}.", "CHE-107.787.577", "<VAT_ID>"),
        ("Nummer {} gilt", "15 070649 C 103", "<SOCIAL_SECURITY>"),
        ("Nummer {} gilt", "756.9217.0769.85", "<SOCIAL_SECURITY>"),
        ("Versicherung (Österreich) {} in Linz", "1237 010180", "<SOCIAL_SECURITY>"),
        ("Krankenkasse {}", "A000500015", "<HEALTH_INSURANCE>"),
        ("Steuerdaten: {}", "36 574 261 809", "<TAX_ID>"),
        ("Nummer {}", "65929970489", "<TAX_ID>"),
        ("Ausweis {}", "L01X00T471", "<ID_CARD>"),
    ],
)
def test_check_digits_decide(text: str, number: str, placeholder: str) -> None:
    assert cleaned(text.format(number)) == text.format(placeholder)
    for wrong in changed_digits(number):
        assert placeholder not in cleaned(text.format(wrong)), wrong


@pytest.mark.parametrize(("text", "number", "placeholder"), CALLED)
def test_what_its_own_word_announces_needs_no_check_digit_and_no_form(
    text: str, number: str, placeholder: str
) -> None:
    assert placeholder in cleaned(text.format(number))
    assert number not in cleaned(text.format(number))
    assert cleaned(f"Zeichen: {number}") == f"Zeichen: {number}"
    assert cleaned(text.format("folgt")) == text.format("folgt")


@pytest.mark.parametrize(
    "text",
    [
        "IBAN: folgt, BIC: folgt. Führerschein Klasse B. Kreditkarte wird akzeptiert: 24 Stunden.",
        "Führerschein C1E 123456, Führerschein KLASSEBE, Führerscheinklassen B, BE und C1",
        "Kundenkarte 4111 1111 1111 1112, Versicherung 1234567890",
        "geboren 1985, geb. Mai, 1970 eingeschult, zum Geburtstag im Mai 2014, Auftrag 19800112",
        "geb. Vogt, Kundennummer 12031985",
    ],
)
def test_words_of_numbers_without_one_announce_nothing(text: str) -> None:
    assert cleaned(text) == text


@pytest.mark.parametrize(
    ("text", "number", "placeholder"),
    [
        ("Krankenkasse: {}", "A000500015", "<HEALTH_INSURANCE>"),
        ("Steuernummer {}", "133/8150/8159", "<TAX_NUMBER>"),
        ("Personalausweis {}", "T22000129", "<ID_CARD>"),
        ("Kennzeichen {}", "K AB 1234", "<PLATE>"),
        ("Kennzeichen {}", "W-12345A", "<PLATE>"),
        ("Durchwahl {}", "-214", "<PHONE>"),
        ("Telefon: {}", "471123", "<PHONE>"),
        ("geboren am {}", "3. Mai 1987", "<BIRTH_DATE>"),
        ("wohnhaft {}", "Am Weiher 27", "<ADDRESS>"),
        ("Frau {}", "Tolkmitt", "<PERSON>"),
    ],
)
def test_words_decide_where_a_shape_alone_would_not(text: str, number: str, placeholder: str) -> None:
    assert cleaned(text.format(number)) == text.format(placeholder)
    assert placeholder not in cleaned(f"Es folgt {number} im Text")


@pytest.mark.parametrize(
    "text",
    [
        "Die Referenznummer 86095742719 und die Bestellnummer DE136695976 bleiben.",
        "Am 24.12.2023, 08.00-12.00 Uhr, 346.000 Euro, Gleis 7, ISBN 978-3-16-148410-0.",
        "r/de und r/Finanzen, und/oder, asp.net, README.md, laut golem.de",
        "hosted-eu-20260812-09, 550e8400-e29b-41d4-a716-446655440000, 192.168.178.1",
        "DIN-EN 1090, EU-VO 2016/679, STD-B24, TV-L E 13, Golf 7, iPhone 15",
        "Herr der Ringe, die Frau war Lehrerin, eine Frau Mitte 30, Liebe Eltern, viele Grüße aus Köln",
        "Geschäftsführer (m/w/d), Leitung Einkauf, Dipl.-Ing. Maschinenbau, Kontakt: Formular",
        "Bundesstraße 9, Platz 3, Anstieg 2015, Arbeitsplatz 12, die Straße 5 km lang",
        "geb. Vogt, geboren 1985, am 3. Mai 1987 geschlossen, 2 * 4.5.2000",
    ],
)
def test_traps_stay(text: str) -> None:
    assert cleaned(text) == text


def test_contact_leaves_names_dates_and_streets() -> None:
    text = "Frau Weber, geb. 3.5.1980, Lindenstraße 12, Tel. 0221/4710123, weber@beispiel.de, K-AB 1234"
    assert cleaned(text, CONTACT) == (
        "Frau Weber, geb. 3.5.1980, Lindenstraße 12, Tel. <PHONE>, <EMAIL>, K-AB 1234"
    )


def test_full_names_are_a_tier_of_their_own() -> None:
    text = "Gestern kam Petra von Stein mit Herrn Kunz."
    assert cleaned(text) == "Gestern kam <PERSON> mit Herrn <PERSON>."
    without = tuple(kind for kind in ALL_KINDS if kind is not PersonalKind.FULL_NAME)
    assert cleaned(text, without) == "Gestern kam Petra von Stein mit Herrn <PERSON>."


def test_names_of_companies_and_schools_stay() -> None:
    text = "Christian Meier GmbH, Anna Seidel Schule, Otto Lang & Söhne"
    assert cleaned(text) == text


def test_the_longest_url_ends_where_it_should() -> None:
    path = "/seite" * 20_000
    assert (
        cleaned(f"Siehe https://beispiel.de{path}. Dann (www.beispiel.de/a_(b)).")
        == "Siehe <URL>. Dann (<URL>)."
    )


def test_placeholders_are_constant_and_in_capitals() -> None:
    placeholders = {kind.placeholder for kind in ALL_KINDS}
    assert placeholders == {f"<{kind.value.upper()}>" for kind in ALL_KINDS if kind != "full_name"}


def test_plate_codes_have_the_official_form() -> None:
    assert all(0 < len(code) < 4 and code.isupper() for code in words_of("plate_codes"))
    assert {"B", "HH", "M", "K", "GAP", "WOB", "LÖ", "RÜD", "Ü"} - {"Ü"} <= words_of("plate_codes")


@pytest.mark.parametrize("cue", ["Steuer-ID", "Steuer-ID:", "Steuerliche Identifikationsnummer:", "IdNr."])
@pytest.mark.parametrize("number", ["12 345 678 901", "12345678901", "86 095 742 719"])
def test_a_tax_id_that_is_called_one_needs_no_check_digit(cue: str, number: str) -> None:
    assert cleaned(f"Ihre {cue} {number}, danke") == f"Ihre {cue} <TAX_ID>, danke"
    assert cleaned("Auftrag 12 345 678 901") == "Auftrag 12 345 678 901"

from __future__ import annotations

import polars as pl
import pytest
from stdnum import luhn

from builders.personal import scrub
from builders.spec import ALL_KINDS, CONTACT, PersonalKind


def cleaned(text: str, *, titles: bool = False) -> str:
    return str(scrub(pl.Series([text]), titles=titles).texts[0])


_AT = ("@", "(at)", " (at) ", "[@]", " [ät] ", " @ ", "{at}")
_DOT = (".", "[punkt]", " punkt ", "(dot)", " (punkt) ", "[.]", " DOT ", "..", " . ")


@pytest.mark.parametrize(
    ("at", "dot"), [(at, dot) for at in _AT for dot in _DOT] + [("(a)", "."), (" (a) ", ".")]
)
def test_each_sign_goes_with_each_dot(at: str, dot: str) -> None:
    assert cleaned(f"Post: max.muster{at}beispiel{dot}de!") == "Post: <EMAIL>!"


@pytest.mark.parametrize(
    "address",
    [
        "max[@]beispiel[.de]",
        "max (a) beispiel.de",
        "max@192.0.2.1",
        "max@[192.0.2.1]",
        "{max,moritz}@beispiel.de",
        "{max, moritz; mia}@beispiel.de",
        '"max muster"@beispiel.de',
        "max.muster@\nbeispiel.de",
        "max.muster@beispiel.\nde",
        "max@beispiel-\nverein.de",
        "max@mail.beispiel[dot]de",
        "max@beispiel(dot)co(dot)uk",
    ],
)
def test_an_address_goes_whole(address: str) -> None:
    assert cleaned(f"Post: {address}, danke") == "Post: <EMAIL>, danke"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Musterstr.12, 12345 Musterstadt", "<ADDRESS>"),
        ("Musterstr.12,12345 Musterstadt", "<ADDRESS>"),
        ("Musterstr 5", "<ADDRESS>"),
        ("MUSTERSTRASSE 12, 12345 MUSTERSTADT", "<ADDRESS>"),
        ("AM MARKT 5, 12345 MUSTERSTADT", "<ADDRESS>"),
        ("Musterstraße\t12", "<ADDRESS>"),
        ("Musterstraße12", "<ADDRESS>"),
        ("Lindenstraße 12 Köln", "<ADDRESS> Köln"),
        ("Lindenstraße 12 Bremen", "<ADDRESS> Bremen"),
        ("Lindenstraße 12 Dieter Kunz", "<ADDRESS> <PERSON>"),
        ("Reichsstraße 14, klingeln", "<ADDRESS>, klingeln"),
        ("Kennz.K-AB 1234, K-AB 1235/K-AB 1236", "Kennz.<PLATE>, <PLATE>/<PLATE>"),
        ("St.-Nr.133/8150/8159", "St.-Nr.<TAX_NUMBER>"),
        ("Steuernummer133/8150/8159", "Steuernummer<TAX_NUMBER>"),
        ("IdNr.65929970489", "IdNr.<TAX_ID>"),
        ("SVNR15070649C103", "SVNR<SOCIAL_SECURITY>"),
    ],
)
def test_a_value_right_behind_its_label_goes(text: str, clean: str) -> None:
    assert cleaned(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "Parkweg 30 Minuten entfernt",
        "Gipfelsteig 800 Höhenmeter",
        "Die Lindenallee 5 Bäume",
        "Reichsstraße 1 gesperrt",
        "Parkallee 12 Wohnungen im Bau",
        "In der Lindenstraße 3 neue Häuser",
        "Fahrer Klasse C-CE 95",
        "LKW-Fahrer CE-C 95, Führerschein B-BE 96",
        "Treffen @ Halle 5. Das Ende ist offen",
    ],
)
def test_counted_things_and_classes_stay(text: str) -> None:
    assert cleaned(text) == text


def test_a_plate_in_a_title_needs_a_word() -> None:
    assert cleaned("Techniker M-IT 24", titles=True) == "Techniker M-IT 24"
    assert cleaned("Fahrer, Kennzeichen M-IT 24", titles=True) == "Fahrer, Kennzeichen <PLATE>"
    assert cleaned("Halter von M-IT 24") == "Halter von <PLATE>"


@pytest.mark.parametrize(
    "text", ["Schraube M-K 10 nach Norm", "Gebäude K-B 12", "Linie S-MM 47", "M-IT 24 Stunden"]
)
def test_a_plate_of_one_or_two_digits_needs_a_word_about_cars(text: str) -> None:
    assert cleaned(text) == text
    assert cleaned(f"{text}, geparkt der PKW") != text


@pytest.mark.parametrize(
    "first", ["4", "51", "55", "2221", "2720", "34", "37", "36", "300", "6011", "65", "3530"]
)
def test_a_card_is_its_brand_its_length_and_its_check_digit(first: str) -> None:
    length = {"34": 15, "37": 15, "36": 14, "300": 14}.get(first, 16)
    stem = (first + "20473118820655")[: length - 1].ljust(length - 1, "7")
    number = stem + luhn.calc_check_digit(stem)
    grouped = " ".join(number[place : place + 4] for place in range(0, length, 4))
    assert cleaned(f"Bitte {number} belasten") == "Bitte <PAYMENT_CARD> belasten"
    assert cleaned(f"{grouped}, {grouped} {grouped}") == "<PAYMENT_CARD>, <PAYMENT_CARD> <PAYMENT_CARD>"
    for digit in set("0123456789") - {number[-1]}:
        assert "<PAYMENT_CARD>" not in cleaned(f"Bitte {number[:-1]}{digit} belasten")
    assert cleaned(f"Bestellnummer {number}") == f"Bestellnummer {number}"
    assert "<PAYMENT_CARD>" not in cleaned(f"Bitte {number[:-3]} belasten")


@pytest.mark.parametrize(
    "address",
    ["203.0.113.17", "8.8.4.4", "2001:db8:85a3::8a2e:370:7334", "2001:0db8:85a3:0000:0000:8a2e:0370:7334"],
)
def test_ip_addresses_go_and_versions_stay(address: str) -> None:
    assert cleaned(f"Zugriff von der IP {address}, gesperrt") == "Zugriff von der IP <IP_ADDRESS>, gesperrt"
    if "." in address:
        assert cleaned(f"Version {address} ist da") == f"Version {address} ist da"


@pytest.mark.parametrize(
    "text",
    [
        "Version 1.2.3.4, Abschnitt 3.2.1.4, Kapitel 12.1.3.2",
        "192.168.178.1, 10.0.0.1, 172.16.3.4, 127.0.0.1, 255.255.255.0, ::1, fe80::1",
        "Stand 256.300.1.2 und 1.2.3.4.5",
        "Um 10:30:15, 00:1A:2B:3C:4D:5E, std::vector, 1:2:3:4:5:6:7:8",
    ],
)
def test_what_looks_like_an_ip_address_stays(text: str) -> None:
    assert cleaned(f"Server: {text}") == f"Server: {text}"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Kto. 532013000, BLZ 37040044", "Kto. <BANK_ACCOUNT>, BLZ <BANK_ACCOUNT>"),
        ("BLZ 370 400 44, Konto 4711", "BLZ <BANK_ACCOUNT>, Konto <BANK_ACCOUNT>"),
        ("532013000 (BLZ 37040044)", "<BANK_ACCOUNT> (BLZ <BANK_ACCOUNT>)"),
        ("Spendenkonto 532013000", "Spendenkonto <BANK_ACCOUNT>"),
        ("Kontonummer: 12345", "Kontonummer: <BANK_ACCOUNT>"),
        ("Bankleitzahl 10000000", "Bankleitzahl <BANK_ACCOUNT>"),
        ("Auf Konto 4400 buchen", "Auf Konto 4400 buchen"),
        ("Das Konto hat 250000 Euro", "Das Konto hat 250000 Euro"),
        ("Konto 250000 Euro", "Konto 250000 Euro"),
        ("Die BLZ hat 8 Stellen", "Die BLZ hat 8 Stellen"),
    ],
)
def test_account_numbers_go_by_their_words(text: str, clean: str) -> None:
    assert cleaned(text) == clean


def test_accounts_are_contact_data_and_ip_addresses_are_not() -> None:
    assert {PersonalKind.PAYMENT_CARD, PersonalKind.BANK_ACCOUNT} <= set(CONTACT)
    text = pl.Series(["Konto 532013000, Karte 4111 1111 1111 1111, Server 203.0.113.17"])
    contact = "Konto <BANK_ACCOUNT>, Karte <PAYMENT_CARD>, Server 203.0.113.17"
    assert scrub(text, CONTACT).texts[0] == contact
    assert scrub(text, ALL_KINDS).texts[0] == contact.replace("203.0.113.17", "<IP_ADDRESS>")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("skype: maxmuster", "skype: <HANDLE>"),
        ("Skype: live:max.muster_1.", "Skype: <HANDLE>."),
        ("Skype-Name: max.muster, Tel. 0171 3920012", "Skype-Name: <HANDLE>, Tel. <PHONE>"),
        ("Telegram: @maxmuster oder Threema: A1B2C3D4", "Telegram: <HANDLE> oder Threema: <HANDLE>"),
        ("Skype: gerne nach Absprache", "Skype: gerne nach Absprache"),
        ("Gespräch per Skype: Termine folgen", "Gespräch per Skype: Termine folgen"),
    ],
)
def test_handles_behind_the_name_of_a_messenger(text: str, clean: str) -> None:
    assert cleaned(text) == clean

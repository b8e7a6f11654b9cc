from __future__ import annotations

import datetime
import json
import os
import re
from pathlib import Path

import polars as pl
import pytest

from builders.personal import scrub
from builders.spec import ALL_KINDS, CONTACT

_DATA = Path(os.environ.get("MTEB_DE_DATA", Path(__file__).parents[2] / "../shared/data"))
_SPELLINGS = (
    "{0:%d.%m.}-{1:%d.%m.}",
    "{0:%d.%m.}–{1:%d.%m.}",
    "{0:%d.%m.} - {1:%d.%m.}",
    "{0:%d.%m.}-{1:%d.%m}",
    "{0:%d.%m.}/{1:%d.%m}",
)


def cleaned(*texts: str) -> list[str]:
    return [str(text) for text in scrub(pl.Series(texts)).texts]


@pytest.mark.parametrize("spelling", _SPELLINGS)
@pytest.mark.parametrize("kinds", [ALL_KINDS, CONTACT])
def test_no_range_of_dates_is_a_number(spelling: str, kinds: tuple[str, ...]) -> None:
    first = datetime.date(2016, 1, 1)
    starts = [first + datetime.timedelta(days=days) for days in range(372)]
    ranges = [spelling.format(start, start + datetime.timedelta(days=3)) for start in starts]
    texts = pl.Series([f"Das Festival läuft vom {text} in Berlin." for text in ranges])
    assert len(set(ranges)) == 366
    assert scrub(texts, [kind for kind in ALL_KINDS if kind in kinds]).texts.to_list() == texts.to_list()


@pytest.mark.parametrize("mark", ["-", "–", " - ", "/", " bis ", ", ", " und "])
def test_no_list_of_days_times_or_months_is_a_number(mark: str) -> None:
    days = [f"{day:02}.{month:02}.2016" for day in range(1, 32) for month in range(1, 13)]
    times = [f"{hour:02}.{minute:02}" for hour in range(24) for minute in (0, 15, 30, 45)]
    months = [f"{month:02}/{year}" for month in range(1, 13) for year in range(2001, 2021)]
    texts = [
        f"Gilt {mark.join(values[place : place + 3])}, dann nicht mehr."
        for values in (days, times, months)
        for place in range(len(values) - 2)
    ]
    assert cleaned(*texts) == texts


@pytest.mark.parametrize("between", [" ", ", ", ",", "; ", ";", " / ", "/", " oder ", " und ", " bzw. "])
@pytest.mark.parametrize(
    "numbers",
    [
        ("030 23125010", "030 23125011"),
        ("030/23125010", "0171/3920012", "040/66969100"),
        ("0171 3920012", "0171 3920013", "0171 3920014", "0171 3920015"),
        ("030 231 25 010", "030 231 25 011"),
        ("(030) 23125010", "(030) 23125011"),
        ("+49 30 23125010", "+49 171 3920012"),
    ],
)
def test_numbers_side_by_side_all_go(numbers: tuple[str, ...], between: str) -> None:
    [text] = cleaned(f"Erreichbar: {between.join(numbers)}.")
    assert re.sub("<PHONE>", "", text).strip() == f"Erreichbar: {between * (len(numbers) - 1)}."


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Tel.030/23125010, Fax.030/23125011", "Tel.<PHONE>, Fax.<PHONE>"),
        ("Tel030/23125010 FAX030/23125011", "Tel<PHONE> FAX<PHONE>"),
        ("Tel.471123", "Tel.<PHONE>"),
        ("+49 [0] 171 3920012", "<PHONE>"),
        ("++49 171 3920012", "<PHONE>"),
        ("00 49 30 23125010", "<PHONE>"),
        ("phone 49 30 23125010", "phone <PHONE>"),
        ("unter 00746947136", "unter <PHONE>"),
        ("030/23125-0 oder -15", "<PHONE> oder <PHONE>"),
        ("030/23125010, 23125011", "<PHONE>, <PHONE>"),
        ("+49 30 23125010 ext. 12", "<PHONE> ext. <PHONE>"),
        ("Am 04.06. 030 23125010", "Am 04.06. <PHONE>"),
        ("Tel. 030/23125010, -20 Grad", "Tel. <PHONE>, -20 Grad"),
    ],
)
def test_forms_of_a_number(text: str, clean: str) -> None:
    assert cleaned(text) == [clean]


@pytest.mark.parametrize(
    "text",
    [
        "Waren der Warennummern 0105 11 11 bis 0105 99 50, 0207 11 10",
        "Zolltarif 0203 19 59 00 und 0203 19 59 10",
        "Handy 12345 Euro, Service 24000 Kunden",
        "Seite 0172-345",
        "Rechnung 2021 0304 0506 0708",
        "Ziehung 03 07 12 19 33 41",
        "Servicenummer 116117, Notruf 112",
        "49 800 000 Euro, 49 30 000 Besucher",
        ".005 - 1599.995 MHz",
        "Die Vorwahlen 0171, 0172, 0173, 0174 und 0175",
    ],
)
def test_other_numbers_stay(text: str) -> None:
    assert cleaned(text) == [text]


@pytest.mark.data
@pytest.mark.skipif(not (_DATA / "scrub").is_dir(), reason="the spellings are not there")
def test_spellings_of_the_data() -> None:
    lines = (_DATA / "scrub" / "phone_spellings.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    clean = dict(zip((row["text"] for row in rows), cleaned(*(row["text"] for row in rows)), strict=True))
    must = {row["text"]: row["must"] for row in rows}
    assert not [text for text, what in must.items() if what == "go" and re.search(r"\d", clean[text])]
    assert not [text for text, what in must.items() if what == "stay" and clean[text] != text]


@pytest.mark.parametrize(
    "text",
    [
        "Tel:030 23125010Fax:030 23125011",
        "Tel. 030 23125010Mo-Fr",
        "0171 3920012Mail: x@y.de",
        "Tel. 030 23125010bis 18 Uhr",
    ],
)
def test_a_number_before_a_word_without_a_blank_goes(text: str) -> None:
    assert not re.search("[0-9]{4}", "".join(cleaned(text)))


def test_no_range_of_dates_without_dots_is_a_number() -> None:
    first = [datetime.date(2023, 1, 1) + datetime.timedelta(day) for day in range(365)]
    ranges = [
        f"{day:%d%m%Y}-{day + datetime.timedelta(length):%d%m%Y}" for day in first for length in (1, 3, 9)
    ]
    assert cleaned(*ranges) == ranges
    assert cleaned("Tel. 02012023") == ["Tel. <PHONE>"]


@pytest.mark.parametrize("cell", ["491711234567", "00491711234567", "+491711234567", "493023125010"])
def test_a_cell_of_a_table_may_be_a_number_without_its_plus(cell: str) -> None:
    assert cleaned(cell, "x") == ["<PHONE>", "x"]


@pytest.mark.parametrize("text", ["4901234567894", "49171123", "Artikel 491711234567", "491711234567 Stück"])
def test_other_numbers_that_begin_with_49_stay(text: str) -> None:
    assert cleaned(text) == [text]

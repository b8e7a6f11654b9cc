"""Made-up job postings in the upstream's schema, with the faults that the real ones have."""

from __future__ import annotations

import csv
import datetime as dt
import html
import random
import re
import unicodedata
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

_MOST_POSTED = 36  # the first occupation: more than 20 of one group, in which a wrong mapping is rare
_VAGUELY_POSTED = 7
_FIRST_DAY = dt.date(2026, 6, 5)

_MARKERS = (" (m/w/d)",) * 4 + (" (w/m/d)", " m/w/d", " (d/m/w)", " (gn)", "")
_MANNERS = ("",) * 25 + (
    " in Teilzeit",
    " in Vollzeit",
    " im Schichtdienst",
    " mit Berufserfahrung",
    " befristet",
)
_PLACES = (" in {}", " in {}", " - {}", " ({})", " im Raum {}")
_CITIES = ("Köln", "Leipzig", "Kiel", "Würzburg", "Saarbrücken", "Görlitz", "Fürth", "Ulm", "Potsdam", "Jena")
_REFERENCES = (" - Ref. {}/A", " (Kennziffer {})", " | Job-ID {}")
# Numbers that the Bundesnetzagentur keeps free for fiction, and domains that nobody can own.
_CONTACTS = (
    ", Tel. 0221 4710815",
    ", Tel. 030 23125-042",
    ", Mobil 0171 39200 55",
    " - WhatsApp 0152 28817386",
    " - jobs@muster-gmbh.example",
    ", Bewerbung an bewerbung@probe-klinikum.example",
    " https://muster.example/j/12?a=b",
    ", Bewerbung an Frau Sommer",
    ", Ansprechpartner: Jonas Musterfreund",
    " z. Hd. Herrn Dr. Probst",
)
_EMPTY = ("", "   ", "(m/w/d)", "&nbsp;")
_TITLE_FORMS: tuple[tuple[int, Callable[[str, random.Random], str]], ...] = (
    (120, lambda text, _: text),
    (26, lambda text, rng: text + rng.choice(_PLACES).format(rng.choice(_CITIES))),
    (12, lambda text, rng: text + rng.choice(_REFERENCES).format(rng.randint(10_000, 99_999))),
    (4, lambda text, _: html.escape(f"{text} & Co. KG")),
    (4, lambda text, _: f"{text}&nbsp;&ndash;&nbsp;ab sofort"),
    (6, lambda text, _: f"  {text.replace(' ', '  ')} "),
    (6, lambda text, _: text.upper()),
    (8, lambda text, _: unicodedata.normalize("NFD", f"{text} in München")),
    (10, lambda text, rng: text + rng.choice(_CONTACTS)),
    (4, lambda _, rng: rng.choice(_EMPTY)),
)
_REGIONS: tuple[tuple[int, str | None, str | None], ...] = (
    (80, "Bayern", "DE2"),
    (9, "Nordrhein-Westfalen", "DEA"),
    (6, "Sachsen", "DED"),
    (3, "Oberösterreich", None),
    (2, None, None),
)
_SENIORITIES = ("unknown",) * 44 + ("senior", "senior", "junior", "lead", "intern", "mid")
_EMPLOYERS = ("Muster GmbH", "Beispiel AG", "Probe Klinikum", "Inh. Erika Mustermann", None)

_CONCEPT = pa.struct([("uri", pa.string()), ("label", pa.string())])
_SALARY = pa.struct([("min_eur", pa.float64()), ("max_eur", pa.float64()), ("period", pa.string())])
_TYPES: dict[str, pa.DataType] = {
    "fetched_at": pa.timestamp("us", "UTC"),
    "posted_date": pa.date32(),
    "esco_occupation": _CONCEPT,
    "esco_skills": pa.list_(_CONCEPT),
    "is_green": pa.bool_(),
    "salary_range": _SALARY,
}
_COLUMNS = (
    "id source source_url license provenance fetched_at posted_date lang title employer description_derived "
    "region nuts_code esco_occupation esco_skills is_green kldb_2010 seniority salary_range"
).split()
SCHEMA = pa.schema([pa.field(name, _TYPES.get(name, pa.string())) for name in _COLUMNS])


class Occupation(NamedTuple):
    """An occupation of the sample.

    Attributes:
        title: German, in one of the forms that name both genders.
        focus: What may stand behind the title, or nothing.
        kldb: KldB 2010 code of five digits.
        label: English, as ESCO's are upstream.
        skills: English.
    """

    title: str
    focus: str
    kldb: str
    label: str
    skills: tuple[str, ...]


_VAGUE = Occupation("Aushilfe", "", "", "", ())  # says nothing, and is mapped to all kinds of occupations


def occupations() -> tuple[Occupation, ...]:
    """Return the occupations that postings are made of, the one that is posted most first."""
    text = (Path(__file__).parent / "occupations.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return tuple(
        Occupation(
            title=row["title"],
            focus=row["focus"],
            kldb=row["kldb"],
            label=row["occupation"],
            skills=tuple(row["skills"].split("; ")),
        )
        for row in rows
    )


def postings(count: int, rng: random.Random) -> pa.Table:
    """Return postings with the 19 columns of the upstream.

    Args:
        count: How many.
        rng: Decides everything; the same state gives the same postings.

    Returns:
        A table whose faults are those of the upstream: empty titles, double white space, entities, decomposed
        umlauts, capitals, places, contact data and reference numbers in titles; regions, codes and skills
        that are missing; occupations that are wrong, in one title nearly always.
    """
    mapped = _mapped(occupations(), count, rng)
    rows = [_posting(number, advertised, mapping, rng) for number, (advertised, mapping) in enumerate(mapped)]
    return pa.Table.from_pylist(rows, SCHEMA)


def _mapped(
    known: tuple[Occupation, ...], count: int, rng: random.Random
) -> list[tuple[Occupation, Occupation]]:
    """Draw what each posting is for, and what it was mapped to; every occupation comes once and more."""
    first, others = known[0], known[1:]
    fixed = [(first, first)] * _MOST_POSTED
    fixed += [(first, occupation) for occupation in rng.sample(others, 2)]
    fixed += [(_VAGUE, occupation) for occupation in rng.sample(others, _VAGUELY_POSTED)]
    drawn = [*others, *rng.choices(others, k=max(0, count - len(fixed) - len(others)))]
    wrong = {index: rng.choice(others) for index in rng.sample(range(len(drawn)), len(drawn) // 50)}
    pairs = fixed + [(one, wrong.get(index, one)) for index, one in enumerate(drawn)]
    rng.shuffle(pairs)
    return pairs[:count]


def _posting(number: int, advertised: Occupation, mapping: Occupation, rng: random.Random) -> dict[str, Any]:
    reference = f"10000-{number * 7919:010}-S"
    _, region, nuts = rng.choices(_REGIONS, [weight for weight, *_ in _REGIONS])[0]
    wage = 14.0 + rng.randrange(16)
    salary = {"min_eur": wage, "max_eur": wage + 4, "period": "hour"}
    return {
        "id": reference,
        "source": "sample",
        "source_url": f"https://jobs.example/jobdetail/{reference}",
        "license": "CC-BY-4.0",
        "provenance": "made up for the sample",
        "fetched_at": dt.datetime(2026, 6, 5, 22, tzinfo=dt.UTC) + dt.timedelta(seconds=number),
        "posted_date": _FIRST_DAY - dt.timedelta(days=rng.randrange(60)),
        "lang": "de",
        "title": _title(advertised, rng),
        "employer": rng.choice(_EMPLOYERS),
        "description_derived": None,
        "region": region,
        "nuts_code": nuts,
        "is_green": rng.random() < 0.07,
        "seniority": rng.choice(_SENIORITIES),
        "salary_range": salary if rng.random() < 0.02 else None,
        **_profile(mapping, rng),
    }


def _profile(occupation: Occupation, rng: random.Random) -> dict[str, Any]:
    """Return the mapped columns; of 100 postings 2 lack skills, 1 the code, and 1 occupation and skills."""
    roll = rng.random()
    skills = occupation.skills[: 1 if roll > 0.94 else None]
    return {
        "esco_occupation": None if roll < 0.01 else _concept("occupation", occupation.label),
        "esco_skills": [] if roll < 0.03 else [_concept("skill", skill) for skill in skills],
        "kldb_2010": None if 0.03 < roll < 0.04 else occupation.kldb,
    }


def _concept(kind: str, label: str) -> dict[str, str]:
    return {"uri": f"http://esco.example/{kind}/{uuid.uuid5(uuid.NAMESPACE_URL, label)}", "label": label}


def _title(occupation: Occupation, rng: random.Random) -> str:
    title = occupation.title
    if rng.random() < 0.3:
        title = re.sub(r"/\S+", "", title)
    if occupation.focus and rng.random() < 0.5:
        title += f" {occupation.focus}"
    ((_, form),) = rng.choices(_TITLE_FORMS, [weight for weight, _ in _TITLE_FORMS])
    return form(title + rng.choice(_MANNERS) + rng.choice(_MARKERS), rng)

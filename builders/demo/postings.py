"""Made-up job postings in the upstream's schema, with the faults that the real ones have."""

from __future__ import annotations

import csv
import datetime as dt
import html
import random
import re
import unicodedata
import uuid
from importlib import resources
from typing import Any, NamedTuple

import pyarrow as pa

_MARKERS = (" (m/w/d)",) * 4 + (" (w/m/d)", " m/w/d", " (d/m/w)", " (gn)", "")
_MANNERS = (
    "",
    "",
    "",
    " in Teilzeit",
    " in Vollzeit",
    " für die Nachtschicht",
    " mit Berufserfahrung",
    " als Quereinstieg",
)
_CITIES = ("Köln", "Leipzig", "Kiel", "Würzburg", "Saarbrücken", "Görlitz", "Fürth", "Ulm", "Potsdam", "Jena")
_REGIONS = (
    ("Baden-Württemberg", "DE1"),
    ("Bayern", "DE2"),
    ("Sachsen", "DED"),
)
_SENIORITIES = ("unknown",) * 22 + ("senior", "junior", "lead", "intern")
_FIRST_DAY = dt.date(2026, 6, 5)
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
    """An occupation of the sample: German title, KldB 2010 code, English label and skills."""

    title: str
    kldb: str
    label: str
    skills: tuple[str, ...]


def occupations() -> tuple[Occupation, ...]:
    """Return the occupations that postings are made of."""
    text = resources.files("builders.demo").joinpath("sample/occupations.tsv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines(), delimiter="\t")
    return tuple(
        Occupation(row["title"], row["kldb"], row["occupation"], tuple(row["skills"].split("; ")))
        for row in rows
    )


def postings(count: int, rng: random.Random) -> pa.Table:
    """Return postings with the 19 columns of the upstream.

    Args:
        count: How many.
        rng: Decides everything; the same state gives the same postings.

    Returns:
        A table whose faults are those of the upstream: empty titles, double white space, entities, decomposed
        umlauts, contact data and reference numbers in titles, missing regions and codes, wrong occupations.
    """
    known = occupations()
    rows = [_posting(number, known, rng) for number in range(count)]
    return pa.Table.from_pylist(rows, SCHEMA)


def _posting(number: int, known: tuple[Occupation, ...], rng: random.Random) -> dict[str, Any]:
    (occupation,) = rng.choices(known, [1 / (rank + 8) for rank in range(len(known))])
    mapped = rng.choice(known) if rng.random() < 0.02 else occupation
    reference = f"10000-{1_100_000_000 + number * 7919}-S"
    region, code = rng.choice(_REGIONS)
    return {
        "id": reference,
        "source": "bundesagentur",
        "source_url": f"https://www.arbeitsagentur.de/jobsuche/jobdetail/{reference}",
        "license": "CC-BY-4.0",
        "provenance": "made up for the sample",
        "fetched_at": dt.datetime(2026, 6, 5, 22, tzinfo=dt.UTC) + dt.timedelta(seconds=number),
        "posted_date": _FIRST_DAY - dt.timedelta(days=rng.randrange(60)),
        "lang": "de",
        "title": _title(occupation.title, rng),
        "employer": rng.choice(("Muster GmbH", "Beispiel AG", "Probe Klinikum", None)),
        "description_derived": None,
        "region": None if rng.random() < 0.02 else region,
        "nuts_code": code,
        "esco_occupation": _concept("occupation", mapped.label),
        "esco_skills": [
            _concept("skill", skill) for skill in mapped.skills[: rng.randint(1, len(mapped.skills))]
        ],
        "is_green": rng.random() < 0.07,
        "kldb_2010": None if rng.random() < 0.01 else mapped.kldb,
        "seniority": rng.choice(_SENIORITIES),
        "salary_range": None,
    }


def _concept(kind: str, label: str) -> dict[str, str]:
    return {
        "uri": f"http://data.europa.eu/esco/{kind}/{uuid.uuid5(uuid.NAMESPACE_URL, label)}",
        "label": label,
    }


def _title(title: str, rng: random.Random) -> str:
    if rng.random() < 0.3:
        title = re.sub(r"/\S+", "", title)
    text = title + rng.choice(_MANNERS) + rng.choice(_MARKERS)
    roll = rng.random()
    if roll < 0.15:
        return f"{text} in {rng.choice(_CITIES)}"
    if roll < 0.20:
        return f"{text} - Ref. {rng.randint(10_000, 99_999)}/{rng.choice('ABC')}"
    if roll < 0.23:
        return html.escape(f"{text} & Co")
    if roll < 0.26:
        return f"  {text.replace(' ', '  ')} "
    if roll < 0.28:
        return text.upper()
    if roll < 0.32:
        return unicodedata.normalize("NFD", text)
    if roll < 0.34:
        return text + rng.choice((
            ", Tel. 0221 4710815",
            " jobs@muster-gmbh.example",
            " https://muster.example/j/12?a=b",
        ))
    if roll < 0.35:
        return rng.choice(("", "   ", "(m/w/d)"))
    return text

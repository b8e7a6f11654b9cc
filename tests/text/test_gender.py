from __future__ import annotations

import pytest

from builders.text.gender import without_paired_forms


@pytest.mark.parametrize(
    ("masculine", "feminine"),
    [
        ("imker", "imkerin"),
        ("koch", "köchin"),
        ("arzt", "ärztin"),
        ("bauer", "bäuerin"),
        ("psychologe", "psychologin"),
        ("beamter", "beamtin"),
        ("steuerer", "steuerin"),
        ("kaufmann", "kauffrau"),
        ("geprüfter", "geprüfte"),
        ("masseur", "masseuse"),
        ("imker", "imkerinnen"),
        ("croupier", "croupière"),
        ("steward", "stewardess"),
    ],
)
def test_pairs(masculine: str, feminine: str) -> None:
    assert without_paired_forms(f"{masculine}/{feminine} für alles") == f"{masculine} für alles"
    assert without_paired_forms(f"{feminine}/{masculine} für alles") == f"{masculine} für alles"


@pytest.mark.parametrize(
    ("one", "other"), [("imker", "winzer"), ("maler", "malerei"), ("koch", "koch"), ("arzt", "assistent")]
)
def test_other_words_are_no_pairs(one: str, other: str) -> None:
    assert without_paired_forms(f"{one} oder {other}") == f"{one} oder {other}"


@pytest.mark.parametrize(
    ("title", "reduced"),
    [
        ("imker/in", "imker"),
        ("imker/-in", "imker"),
        ("imker / -in", "imker"),
        ("imker*in", "imker"),
        ("imker:in", "imker"),
        ("imker_in", "imker"),
        ("imker(in)", "imker"),
        ("imker/innen", "imker"),
        ("imker*innen", "imker"),
        ("imker (bio)/in", "imker (bio)"),
        ("imker/imkerin/in", "imker"),
        ("psycholog*in", "psychologe"),
        ("köch*in", "koch"),
        ("ärzt:in", "arzt"),
        ("kaufmann/-frau im handel", "kaufmann im handel"),
        ("kauffrau/-mann im handel", "kaufmann im handel"),
        ("beauftragte/r", "beauftragter"),
        ("beauftragte(r)", "beauftragter"),
        ("technische*r zeichner*in", "technischer zeichner"),
        ("geprüfter imker/geprüfte imkerin", "geprüfter imker"),
        ("imker in der heide/imkerin in der heide", "imker in der heide"),
        ("tonmeister/toningenieur / tonmeisterin/toningenieurin", "tonmeister/toningenieur"),
        ("sekretär, assistent/sekretärin, assistentin", "sekretär, assistent"),
        ("korb- und stuhlflechter/korb- und stuhlflechterin", "korb- und stuhlflechter"),
        ("imker oder imkerin (vollzeit)", "imker (vollzeit)"),
        ("imkerin und imker", "imker"),
        ("au-pair/au-pair", "au-pair"),
    ],
)
def test_paired_forms_become_the_masculine_one(title: str, reduced: str) -> None:
    assert without_paired_forms(title) == reduced


@pytest.mark.parametrize(
    "title",
    [
        "imker",
        "imkerin",
        "helfer in teilzeit",
        "fahrer c/ce",
        "maler und lackierer",
        "sozialarbeiter/sozialpädagoge",
        "berater für verkehr/logistik",
        "mitarbeiter/r",
        "imker (in teilzeit)",
        "imker/innendienst",
        "fach/frau",
        "vereins-/verbandsleiter",
        "koch und koch",
        "/",
        "",
    ],
)
def test_everything_else_stays(title: str) -> None:
    assert without_paired_forms(title) == title

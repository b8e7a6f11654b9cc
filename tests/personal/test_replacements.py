from __future__ import annotations

import polars as pl

from builders.personal import scrub
from builders.personal.replacements import masked, report, together


def test_figures_and_masked_examples() -> None:
    texts = pl.Series([
        "Frau Weber, Tel. 0221 4710-123",
        None,
        "nichts",
        "Tel. 0221 4710-124 und Mu\u0308ller@beispiel.de",
    ])
    summed = report(texts.to_list(), scrub(texts).spans)
    assert (summed.texts, summed.changed) == (3, 2)
    assert summed.kinds == {"email": 1, "person": 1, "phone": 2}
    assert summed.rules == {"email": 1, "person.mister": 1, "phone.cue": 2}
    assert summed.examples == {
        "email": ("Xxxxxx@xxxxxxxx.xx",),
        "person.mister": ("Xxxxx",),
        "phone.cue": ("0000 0000-000",),
    }


def test_parts_add_up_to_the_whole() -> None:
    texts = pl.Series([
        "u/abc",
        "Frau Weber",
        "",
        "Frau Öz und Herr Li",
        "a@beispiel.de",
        "Frau Kurz-Lang",
        "Frau Uhl",
    ])
    parts = [report(part.to_list(), scrub(part).spans) for part in (texts[:3], texts[3:])]
    assert together(parts) == report(texts.to_list(), scrub(texts).spans)


def test_no_value_can_be_read_from_its_form() -> None:
    assert masked("Ayşe 0171/٣ ß") == "Xxxx 0000/0 x"
    assert masked("a" * 100) == "x" * 60 + "…"

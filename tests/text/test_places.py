from __future__ import annotations

from importlib import resources

import pytest

from builders.text.places import without_trailing_place


@pytest.mark.parametrize(
    "tail",
    [
        " in köln",
        " in 50667 köln",
        " in d-50667 köln",
        " in frankfurt am main",
        " in frankfurt a. m.",
        " in frankfurt a.m.",
        " in neuburg a. d. donau",
        " in frankfurt/main",
        " in frankfurt (oder)",
        " in halle (saale)",
        " in halle",
        " in essen",
        " in giessen",
        " in berlin-mitte",
        " in neumarkt in der oberpfalz",
        " in weil am rhein",
        " in st. gallen",
        " in köln und bonn",
        " in köln/bonn",
        " in köln, bonn oder aachen",
        " in der schweiz",
        " im saarland",
        " raum köln",
        " im raum köln",
        " für den raum köln",
        " am standort leipzig",
        " bei münchen",
        "/in köln",
        "*in köln",
        " - köln",
        " – 50667 köln",
        ", köln",
        " | köln",
        " (köln)",
        " (bayern)",
    ],
)
def test_a_known_place_goes(tail: str) -> None:
    assert without_trailing_place(f"imker{tail}").rstrip(" (/*") == "imker"


@pytest.mark.parametrize(
    "title",
    [
        "ingenieur in elektrotechnik",
        "verkäufer in teilzeit",
        "helfer in der küche",
        "lehrer in horn",
        "bauleiter in neubau",
        "planer in mitte",
        "koch - essen",
        "musiklehrer, singen",
        "verkäufer für köln",
        "köln-experte",
        "stadtführer köln",
        "in köln",
        "köln",
        "leiter in köln gesucht",
        "imker in köln in teilzeit",
        "imker in köln (teilzeit)",
        "lehrer in köln an der grundschule",
        "fachkraft (teilzeit)",
        "imker in",
        "imker in ",
        "imker, ",
        "",
    ],
)
def test_anything_else_stays(title: str) -> None:
    assert without_trailing_place(title) == title


def test_only_the_place_at_the_end_goes() -> None:
    assert without_trailing_place("helfer in der küche in köln").rstrip() == "helfer in der küche"
    assert without_trailing_place("imker/in in halle").rstrip() == "imker/in"


def test_the_list_names_its_source_and_is_sorted_without_doubles() -> None:
    text = resources.files("builders.text").joinpath("places.txt").read_text(encoding="utf-8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    names = [line for line in text.splitlines() if not line.startswith("#")]
    assert "GeoNames" in "".join(head) and "CC BY 4.0" in "".join(head)
    assert names == sorted(set(names), key=lambda name: (name.casefold(), name))
    assert {"Köln", "Wien", "Zürich", "Halle", "Halle (Saale)", "Bayern", "Tirol"} <= set(names)
    assert not {"Neubau", "Mitte", "Teilzeit", "Munich", "Vienna"} & set(names)

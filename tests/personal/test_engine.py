from __future__ import annotations

import os
import subprocess
import sys
import unicodedata

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.personal import Scrubbed, scrub
from builders.spec import ALL_KINDS, CONTACT, PersonalKind
from scripts.bench.gold_set import read_set

_PLACEHOLDERS = sorted({kind.placeholder for kind in PersonalKind})
_MARKED = [*read_set("gold"), *read_set("heldout")]
_VALUES = sorted({marked.text[start:end] for marked in _MARKED for _, start, end in marked.spans})
_WORDS = sorted({word for marked in _MARKED for word in marked.text.split()})
_GLUE = [
    " ",
    "",
    "\n",
    ", ",
    ": ",
    ". ",
    "-",
    "/",
    "(",
    ") ",
    "<",
    "> ",
    "\u0301",
    "\u0338",
    "\0",
    "\x01",
    "@",
    "\u00a0",
    "\u00ad",
    "\u200b",
    "\u200d",
    "\u202f",
    "\t \n",
    "&amp;",
    "&#64;",
    "&commat;",
    "&amp;#46;",
    "&lt;",
    "&fjlig;",
    "＠",
    "０",
    "☎",
    ".",
    ",",
    ";",
    "\t",
    " oder ",
]
_CUES = [
    "Frau ",
    "Herr ",
    "Dr. ",
    "geb. ",
    "Tel. ",
    "Kontakt: ",
    "LG ",
    "Name: ",
    "Liebe ",
    "IBAN ",
    "u/",
    "* ",
    "am ",
    "Kto. ",
    "BLZ ",
    "Konto ",
    "IP ",
    "Version ",
    "unter ",
    "04.06.-",
    "Kennz.",
    "Straße",
    "::",
    "0",
]

texts = st.one_of(
    st.lists(
        st.one_of(*(st.sampled_from(part) for part in (_VALUES, _WORDS, _GLUE, _CUES, _PLACEHOLDERS))),
        max_size=16,
    ).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
)


def run(*rows: str | None, kinds: tuple[PersonalKind, ...] = ALL_KINDS) -> Scrubbed:
    return scrub(pl.Series("text", rows, dtype=pl.String), kinds)


def rebuilt(row: int, text: str, spans: pl.DataFrame) -> str:
    """Put the placeholders in by the spans alone."""
    pieces, position = [], 0
    for kind, start, end in spans.filter(row=row).select("kind", "start", "end").iter_rows():
        assert position <= start < end <= len(text)
        pieces += [text[position:start], PersonalKind(kind).placeholder]
        position = end
    return "".join([*pieces, text[position:]])


@given(st.lists(texts, min_size=1, max_size=6))
@settings(max_examples=300)
def test_scrubbing_again_changes_nothing(rows: list[str]) -> None:
    once = run(*rows)
    twice = run(*once.texts)
    assert twice.texts.to_list() == once.texts.to_list()
    assert twice.spans.is_empty()


@given(st.lists(texts, min_size=1, max_size=6), st.sets(st.sampled_from(ALL_KINDS)))
@settings(max_examples=200)
def test_scrubbing_titles_again_changes_nothing(rows: list[str], kinds: set[PersonalKind]) -> None:
    once = scrub(pl.Series(rows, dtype=pl.String), kinds, titles=True).texts
    assert scrub(once, kinds, titles=True).spans.is_empty()


@given(st.lists(texts, min_size=1, max_size=6), st.sets(st.sampled_from(ALL_KINDS)))
@settings(max_examples=300)
def test_only_the_spans_are_replaced(rows: list[str], kinds: set[PersonalKind]) -> None:
    found = run(*rows, kinds=tuple(kinds))
    assert set(found.spans["kind"]) <= {kind.value for kind in kinds}
    for row, text in enumerate(rows):
        assert found.texts[row] == rebuilt(row, text, found.spans)


@given(st.lists(st.one_of(st.none(), texts), min_size=1, max_size=6))
@settings(max_examples=200)
def test_a_row_does_not_depend_on_its_neighbours(rows: list[str | None]) -> None:
    assert run(*rows).texts.to_list() == [run(row).texts[0] for row in rows]


@given(texts)
@settings(max_examples=200)
def test_no_placeholder_lies_in_a_span(text: str) -> None:
    for start, end in run(text).spans.select("start", "end").iter_rows():
        assert not any(placeholder in text[start:end] for placeholder in _PLACEHOLDERS)


@pytest.mark.parametrize("kinds", [ALL_KINDS, CONTACT])
def test_text_outside_marked_spans_stays(kinds: tuple[PersonalKind, ...]) -> None:
    rows = [marked.text for marked in _MARKED]
    found = run(*rows, kinds=kinds)
    assert [rebuilt(row, text, found.spans) for row, text in enumerate(rows)] == found.texts.to_list()


def test_a_second_look_finds_what_the_first_uncovers() -> None:
    # The handle stands behind a letter until the name before it is a placeholder.
    once = run("Danke, Ute Lange@nachbarin!")
    assert once.texts[0] == "Danke, <PERSON><HANDLE>!"
    assert once.spans.select("start", "end").rows() == [(7, 16), (16, 26)]
    assert run(once.texts[0]).spans.is_empty()


def test_nulls_and_empty_texts_stay() -> None:
    found = run(None, "", "nichts", None)
    assert found.texts.to_list() == [None, "", "nichts", None]
    assert found.spans.schema == {
        "row": pl.UInt32,
        "kind": pl.String,
        "start": pl.Int64,
        "end": pl.Int64,
        "rule": pl.String,
    }
    assert run().texts.to_list() == []
    assert run(None, None).texts.dtype == pl.String


def test_offsets_are_those_of_the_row_as_it_was_given() -> None:
    decomposed = unicodedata.normalize("NFD", "Grüße an Frau Müller, grün")
    span = run(decomposed).spans.row(0, named=True)
    assert (span["start"], span["end"]) == (15, 22)
    assert run(decomposed).texts[0] == unicodedata.normalize("NFD", "Grüße an Frau <PERSON>, grün")


def test_existing_placeholders_are_not_matched_into() -> None:
    text = "Tel. <PHONE>, Fax <PHONE>, Frau <PERSON>, siehe https://beispiel.de/<EMAIL> und <PHONE>5"
    assert run(text).texts[0] == "Tel. <PHONE>, Fax <PHONE>, Frau <PERSON>, siehe <URL><EMAIL> und <PHONE>5"


def test_adjacent_values_are_all_found() -> None:
    assert run("a@beispiel.de b@beispiel.de,c@beispiel.de").texts[0] == "<EMAIL> <EMAIL>,<EMAIL>"


def test_a_combining_mark_does_not_join_the_placeholder() -> None:
    assert run("Tel. 0221/4710123\u0338").texts[0] == "Tel. <PHONE>"


def test_the_first_kind_wins_an_overlap() -> None:
    found = run("https://beispiel.de/?mail=max@beispiel.de&tel=02214710123")
    assert found.texts[0] == "<URL>"
    assert found.spans["kind"].to_list() == ["url"]


def test_batches_are_joined_without_a_seam() -> None:
    row = "Lorem ipsum " * 2000 + "Tel. 0221/4710123 " + "dolor sit " * 2000
    found = run(*[row] * 60)  # more than two batches
    assert found.spans["row"].to_list() == list(range(60))
    assert set(found.texts) == {run(row).texts[0]}


def test_the_hash_seed_changes_nothing() -> None:
    text = "Frau Dr. Uhl, Ansprechpartner: Frau Prof. Dr. Anna Weber, i. A. Dr. Otto Lang"
    script = f"import polars, builders.personal as p; print(p.scrub(polars.Series([{text!r}])).spans.rows())"
    said = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]

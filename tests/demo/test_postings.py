"""The traps of the real postings are in the sample: each is counted in its rows."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.configs import jobs
from builders.personal import scrub
from builders.prepare.retrieval import Prepared, prepare
from builders.text.places import without_trailing_place
from builders.text.titles import merge_key, relevance_key
from scripts.make_sample.postings import occupations
from tests.demo.conftest import POSTINGS


@pytest.fixture(scope="module")
def titles(rows: pl.DataFrame) -> list[str]:
    return [str(title) for title in rows["title"]]


@pytest.fixture(scope="module")
def plain(titles: list[str]) -> list[str]:
    """The titles as a person reads them."""
    return [" ".join(unicodedata.normalize("NFC", html.unescape(title)).split()) for title in titles]


@pytest.fixture(scope="module")
def prepared(sample: Path) -> Prepared:
    return prepare(jobs.CONFIG, jobs.CONFIG.read({"postings": [sample / POSTINGS]}))


def count(texts: list[str], pattern: str) -> int:
    return sum(bool(re.search(pattern, text, re.IGNORECASE)) for text in texts)


def test_gender_markers_in_several_forms(plain: list[str]) -> None:
    forms = (r"\(m/w/d\)", r"\(w/m/d\)", r"\(d/m/w\)", r"(?<!\()m/w/d(?!\))", r"\(gn\)")
    assert all(count(plain, form) >= 20 for form in forms)
    assert count(plain, "|".join(forms)) < len(plain) - 40


def test_paired_forms_beside_single_ones(plain: list[str]) -> None:
    paired = [occupation.title for occupation in occupations() if "/" in occupation.title]
    single = [re.sub(r"/\S+", "", title) for title in paired]
    assert sum(text.startswith(tuple(paired)) for text in plain) >= 150
    assert sum(text.startswith(tuple(single)) and "/" not in text.split(" (")[0] for text in plain) >= 60
    groups = [
        {relevance_key(merge_key(form)) for form in forms} for forms in zip(paired, single, strict=True)
    ]
    assert sum(len(group) == 1 for group in groups) / len(groups) > 0.95


def test_reference_numbers_that_the_merge_key_drops(plain: list[str]) -> None:
    numbered = [
        text for text in plain if re.search(r"(?:Ref\. |Kennziffer |Job-ID )\d{5}", text, re.IGNORECASE)
    ]
    assert len(numbered) >= 15
    assert not any(re.search(r"\d{5}", merge_key(text)) for text in numbered)


def test_trailing_places_that_the_group_key_drops(plain: list[str]) -> None:
    keys = [merge_key(text) for text in plain]
    placed = [key for key in keys if without_trailing_place(key) != key]
    assert len(placed) >= 45
    assert (
        len(
            {relevance_key(key) for key in placed} & {relevance_key(key) for key in keys if key not in placed}
        )
        >= 20
    )


@pytest.mark.parametrize(
    ("trap", "at_least"),
    [
        (lambda title: "&amp;" in title, 3),
        (lambda title: "&nbsp;&ndash;" in title, 3),
        (lambda title: unicodedata.normalize("NFC", title) != title, 10),
        (lambda title: title.isupper() and len(title) > 12, 6),
        (lambda title: "  " in title.strip(), 6),
        (lambda title: title != title.strip(), 6),
        (lambda title: title.strip() in {"", "&nbsp;"}, 6),
        (lambda title: title.strip() == "(m/w/d)", 1),
    ],
    ids=["escaped", "entity", "decomposed", "capitals", "spaces", "padded", "empty", "marker only"],
)  # fmt: skip
def test_faults_in_the_writing_of_titles(
    titles: list[str], trap: Callable[[str], bool], at_least: int
) -> None:
    found = sum(map(trap, titles))
    assert at_least <= found <= len(titles) // 10


def test_contact_data_and_names_of_every_kind(plain: list[str]) -> None:
    found = Counter(scrub(pl.Series(plain)).spans["kind"].to_list())
    assert set(found) == {"email", "person", "phone", "url"}
    assert min(found.values()) >= 2
    assert all(count(plain, cue) for cue in (" an Frau ", "Ansprechpartner: ", r"z\. Hd\. Herrn "))


def test_contact_data_does_not_outlive_preparing(prepared: Prepared) -> None:
    published = "\n".join([*prepared.queries["text"], *prepared.corpus["text"]])
    assert "<PERSON>" in published
    assert not re.search(r"@|\.example|0\d{3}[ \d/-]{6}|Sommer\b|Musterfreund|Probst|Mustermann", published)


def test_some_occupations_are_wrong(rows: pl.DataFrame, plain: list[str]) -> None:
    labels = {
        form.casefold(): occupation.label
        for occupation in occupations()
        for form in (occupation.title, re.sub(r"/\S+", "", occupation.title))
    }
    wrong = 0
    for title, mapped in zip(plain, rows["esco_occupation"].struct.field("label"), strict=True):
        named = max((form for form in labels if title.casefold().startswith(form)), key=len, default="")
        wrong += bool(named and mapped) and mapped != labels[named]
    assert 5 <= wrong <= rows.height // 20


def test_a_vague_title_is_mapped_to_several_occupations(rows: pl.DataFrame, plain: list[str]) -> None:
    vague = rows.filter(pl.Series(plain).str.to_lowercase().str.starts_with("aushilfe"))
    assert vague["esco_occupation"].struct.field("label").n_unique() >= 3


def test_columns_have_their_gaps(rows: pl.DataFrame) -> None:
    total = rows.height
    assert 3 <= rows["region"].null_count() <= total // 20
    assert 3 <= rows["kldb_2010"].null_count() <= total // 20
    assert 3 <= rows.filter(pl.col("esco_skills").list.len() == 0).height <= total // 20
    assert 1 <= rows.filter(pl.col("esco_occupation").struct.field("label").is_null()).height <= total // 20
    assert rows["description_derived"].null_count() == total
    assert 0 < total - rows["salary_range"].null_count() <= total // 20
    assert rows["employer"].null_count() > 0
    assert (rows["esco_skills"].list.len() <= 5).all()


def test_regions_abroad_have_no_nuts_code(rows: pl.DataFrame) -> None:
    abroad = rows.filter(pl.col("nuts_code").is_null() & pl.col("region").is_not_null())
    assert abroad.height >= 3
    assert set(abroad["region"]) == {"Oberösterreich"}
    assert set(rows["nuts_code"].drop_nulls().str.slice(0, 2)) == {"DE"}


def test_codes_are_strings_that_keep_their_zeros(rows: pl.DataFrame) -> None:
    assert rows["kldb_2010"].drop_nulls().str.contains(r"^\d{4}[1-4]$").all()
    assert rows["kldb_2010"].str.starts_with("0").sum() >= 2


def test_seniority_is_mostly_unknown(rows: pl.DataFrame) -> None:
    assert 0.8 < rows.filter(pl.col("seniority") == "unknown").height / rows.height < 0.95
    assert rows["seniority"].n_unique() == 6


def test_ids_are_unique_and_shaped_as_upstream(rows: pl.DataFrame) -> None:
    assert rows["id"].is_unique().all()
    assert rows["id"].str.contains(r"^\d{5}-\d{10}-S$").all()


def test_a_rare_code_is_undecided_in_the_one_large_group(prepared: Prepared) -> None:
    assert set(prepared.relations.undecided["reason"]) == {"rare", "occupation_is_title"}
    undecided = prepared.relations.undecided.filter(pl.col("reason") == "rare")
    groups = prepared.queries.join(undecided, on="query_id", how="semi")["group"]
    assert set(groups) == {"pflegefachkraft"}
    assert undecided.join(prepared.relations.qrels, on=["query_id", "passage_id"], how="semi").is_empty()
    members = prepared.queries.filter(pl.col("group") == "pflegefachkraft")["query_id"]
    assert prepared.provenance.filter(pl.col("id").is_in(members.to_list())).height >= 20


def test_every_reason_of_the_funnel_occurs(prepared: Prepared) -> None:
    dropped = {funnel.table: funnel.dropped for funnel in prepared.funnels}
    assert set(dropped["rows"]) == {"empty_profile", "empty_query", "no_query_words"}
    assert set(dropped["queries"]) == set()
    assert set(dropped["pairs"]) == {"row_dropped"}
    merged = {funnel.table: funnel.merged for funnel in prepared.funnels}
    assert min(merged["queries"], merged["passages"], merged["pairs"]) > 20

"""The traps of the real postings are in the sample: each is counted in its rows, not taken from what made them."""

from __future__ import annotations

import html
import re
import unicodedata

import polars as pl
import pytest

from builders.configs import jobs
from builders.demo.postings import occupations
from builders.personal import counts, scrub
from builders.prepare import Prepared, each, prepare
from builders.spec import Records
from builders.text.places import without_trailing_place
from builders.text.titles import group_key, merge_key


@pytest.fixture(scope="module")
def titles(rows: pl.DataFrame) -> list[str]:
    return [str(title) for title in rows["title"]]


@pytest.fixture(scope="module")
def plain(titles: list[str]) -> list[str]:
    """The titles as a person reads them."""
    return [" ".join(unicodedata.normalize("NFC", html.unescape(title)).split()) for title in titles]


@pytest.fixture(scope="module")
def prepared(rows: pl.DataFrame) -> Prepared:
    return prepare(jobs.CONFIG, _records(rows))


def _records(rows: pl.DataFrame) -> Records:
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "postings.parquet"
        rows.write_parquet(path)
        return jobs.CONFIG.read({"postings": [path]})


def count(texts: list[str], pattern: str) -> int:
    return sum(bool(re.search(pattern, text, re.IGNORECASE)) for text in texts)


def test_gender_markers_in_several_forms(plain: list[str]) -> None:
    forms = (r"\(m/w/d\)", r"\(w/m/d\)", r"\(d/m/w\)", r"(?<!\()m/w/d(?!\))", r"\(gn\)")
    assert all(count(plain, form) >= 20 for form in forms)
    assert count(plain, "|".join(forms)) < len(plain) - 40


def test_paired_forms_beside_single_ones(plain: list[str]) -> None:
    assert count(plain, r"\w/(?:in\b|\w{3,}in\b|-?frau|\w+frau|r\b)") >= 100
    assert count(plain, r"^[^/]*(?:\((?:m/w/d|w/m/d|d/m/w|gn)\)|$)") >= 100


def test_reference_numbers_that_the_merge_key_drops(plain: list[str]) -> None:
    numbered = [text for text in plain if re.search(r"(?:Ref\. |Kennziffer |Job-ID )\d{5}", text, re.IGNORECASE)]
    assert len(numbered) >= 15
    assert not any(re.search(r"\d{5}", merge_key(text)) for text in numbered)


def test_trailing_places_that_the_group_key_drops(plain: list[str]) -> None:
    keys = [merge_key(text) for text in plain]
    placed = [key for key in keys if without_trailing_place(key) != key]
    assert len(placed) >= 60
    assert len({group_key(key) for key in placed} & {group_key(key) for key in keys if key not in placed}) >= 30


@pytest.mark.parametrize(
    ("trap", "at_least"),
    [
        (lambda title: html.unescape(title) != title, 10),
        (lambda title: unicodedata.normalize("NFC", title) != title, 10),
        (lambda title: title.isupper() and len(title) > 12, 6),
        (lambda title: "  " in title.strip(), 6),
        (lambda title: title != title.strip(), 6),
        (lambda title: title.strip() in {"", "&nbsp;"}, 6),
        (lambda title: title.strip() == "(m/w/d)", 1),
    ],
    ids=["entity", "decomposed", "capitals", "spaces", "padded", "empty", "marker only"],
)  # fmt: skip
def test_faults_in_the_writing_of_titles(titles: list[str], trap: object, at_least: int) -> None:
    assert callable(trap)
    found = sum(bool(trap(title)) for title in titles)
    assert at_least <= found <= len(titles) // 10


def test_contact_data_and_names_of_every_kind(plain: list[str]) -> None:
    found = counts(scrub(pl.Series(plain)).spans)
    assert set(found) == {"email", "person", "phone", "url"}
    assert min(found.values()) >= 3


def test_contact_data_does_not_outlive_preparing(prepared: Prepared) -> None:
    published = "\n".join([*prepared.queries["text"], *prepared.corpus["text"]])
    assert "<PERSON>" in published
    assert not re.search(r"@|\.example|0\d{3}[ \d/-]{6}|Sommer\b|Musterfreund|Probst|Mustermann", published)


def test_some_occupations_are_wrong(rows: pl.DataFrame, plain: list[str]) -> None:
    labels: dict[str, set[str]] = {}
    for occupation in occupations():
        labels.setdefault(_core_word(occupation.title), set()).add(occupation.label)
    wrong = 0
    for title, mapped in zip(plain, rows["esco_occupation"].struct.field("label"), strict=True):
        expected = labels.get(_core_word(title))
        wrong += expected is not None and mapped is not None and mapped not in expected
    assert 3 <= wrong <= 30


def _core_word(title: str) -> str:
    return re.split(r"[/ ]", group_key(merge_key(title)))[0] if " " not in title else group_key(merge_key(title))


def test_a_vague_title_is_mapped_to_many_occupations(rows: pl.DataFrame, plain: list[str]) -> None:
    vague = rows.filter(pl.Series(plain).str.to_lowercase().str.starts_with("aushilfe"))
    assert vague["esco_occupation"].struct.field("label").n_unique() > 20


def test_columns_have_their_gaps(rows: pl.DataFrame) -> None:
    total = rows.height
    assert 3 <= rows["region"].null_count() <= total // 20
    assert 3 <= rows["kldb_2010"].null_count() <= total // 20
    assert 3 <= rows.filter(pl.col("esco_skills").list.len() == 0).height <= total // 20
    assert 1 <= rows.filter(pl.col("esco_occupation").struct.field("label").is_null()).height <= total // 20
    assert rows["description_derived"].null_count() == total
    assert 0 < total - rows["salary_range"].null_count() <= total // 20
    assert rows["employer"].null_count() > 0
    assert rows["esco_skills"].list.len().max() <= 5


def test_regions_abroad_have_no_nuts_code(rows: pl.DataFrame) -> None:
    abroad = rows.filter(pl.col("nuts_code").is_null() & pl.col("region").is_not_null())
    assert abroad.height >= 3
    assert set(abroad["region"]) == {"Oberösterreich"}
    assert set(rows["nuts_code"].drop_nulls().str.slice(0, 2)) == {"DE"}


def test_codes_are_strings_that_keep_their_zeros(rows: pl.DataFrame) -> None:
    assert rows["kldb_2010"].drop_nulls().str.contains(r"^\d{4}[1-4]$").all()
    assert rows["kldb_2010"].str.starts_with("0").sum() >= 2


def test_seniority_is_mostly_unknown(rows: pl.DataFrame) -> None:
    assert 0.8 < (rows["seniority"] == "unknown").mean() < 0.95
    assert rows["seniority"].n_unique() == 6


def test_ids_are_unique_and_shaped_as_upstream(rows: pl.DataFrame) -> None:
    assert rows["id"].is_unique().all()
    assert rows["id"].str.contains(r"^\d{5}-\d{10}-S$").all()


def test_a_rare_core_is_undecided_in_the_one_large_group(rows: pl.DataFrame, prepared: Prepared) -> None:
    keys = each(prepared.queries["text"], lambda text: group_key(merge_key(text)))
    undecided = prepared.relations.undecided
    groups = prepared.queries.with_columns(key=keys).join(undecided, left_on="_id", right_on="query-id")
    assert set(groups["key"]) == {"pflegefachkraft"}
    assert undecided.height > 0
    assert undecided.join(prepared.relations.qrels, on=["query-id", "corpus-id"], how="semi").is_empty()
    size = sum(group_key(merge_key(title)) == "pflegefachkraft" for title in _scrubbed(rows))
    assert size >= 20


def _scrubbed(rows: pl.DataFrame) -> list[str]:
    return [text for text in scrub(rows["title"].map_elements(html.unescape, return_dtype=pl.String)).texts if text]


def test_every_reason_of_the_funnel_occurs(prepared: Prepared) -> None:
    dropped = {funnel.table: funnel.dropped for funnel in prepared.funnels}
    assert set(dropped["rows"]) == {"empty_profile", "empty_query", "no_query_words"}
    assert set(dropped["queries"]) == {"no_positive"}
    assert set(dropped["pairs"]) == {"row_dropped"}
    merged = {funnel.table: funnel.merged for funnel in prepared.funnels}
    assert min(merged["queries"], merged["passages"], merged["pairs"]) > 20

"""Titles that scrubbing makes one query are seen whatever the scrubber replaces."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.configs.jobs import CONFIG, read
from builders.personal.engine import Scrubbed, scrub
from builders.prepare.retrieval import Prepared, prepare
from builders.prepare.scrub_merges import SCRUB_MERGES, scrub_merges
from tests.fixtures import hub
from tests.fixtures.upstream import upstream


def merges(rows: Sequence[tuple[str, str, str, str | None]]) -> list[tuple[str, int, bool]]:
    """Give rows of query, merge key before and after scrubbing, occupation."""
    frame = pl.DataFrame(rows, schema=["query_id", "unscrubbed", "key", "occupation"], orient="row")
    frame = frame.with_row_index().with_columns(upstream_id=pl.format("p{}", "index"))
    pairs = frame.select(query="upstream_id", passage="upstream_id")
    found = scrub_merges(frame.drop("occupation"), pairs, frame.select("upstream_id", "occupation"))
    assert found.schema == pl.Schema(SCRUB_MERGES)
    return found.rows()


HEAD = "projektleiter: "


def test_titles_of_different_occupations_without_a_cue_are_told() -> None:
    rows = [(HEAD + trade, HEAD + "<person>", occupation) for trade, occupation in (
        ("automotive", "o:sales"), ("chemie", "o:chemist"), ("gastronomie", "o:cook"))]  # fmt: skip
    assert merges([("q1", *row) for row in rows]) == [("q1", 3, False)]


def test_titles_behind_a_cue_are_told_apart() -> None:
    rows = [(f"ingenieur, tel. {number}", "ingenieur, tel. <phone>", f"o:{number}") for number in (1, 2)]
    assert merges([("q1", *row) for row in rows]) == [("q1", 2, True)]


@pytest.mark.parametrize(
    ("number", "cue"), [("+49 30 231250", True), ("0049 30 231250", True), ("030 231250", False)]
)
def test_a_country_code_announces_a_number(number: str, cue: bool) -> None:
    rows = [(f"koch {number}{end}", "koch <phone>", f"o:{end}") for end in (1, 2)]
    assert merges([("q1", *row) for row in rows]) == [("q1", 2, cue)]
    with_name = [(f"koch {number}{end} a", "koch <phone> <person>", f"o:{end}") for end in (1, 2)]
    assert merges([("q1", *row) for row in with_name]) == [("q1", 2, False)]


@pytest.mark.upstream
@pytest.mark.long
def test_no_titles_of_the_stand_in_become_one_without_a_cue() -> None:
    files = sorted((upstream() / "hub/datasets/mischeiwiller/german-job-postings/data").glob("*.parquet"))
    found = prepare(CONFIG, read({"postings": files})).scrub_merges
    assert found.height > 0
    assert found["cue"].all()


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [("koch a", "koch <person>", "o:1"), ("koch b", "koch <person>", "o:1")],
        [("koch a", "koch <person>", "o:1"), ("koch a", "koch <person>", "o:2")],
        [("koch a", "koch <person>", "o:1"), ("koch b", "koch <person>", None)],
        [(name, "koch <person>", code) for name in ("koch a", "koch b") for code in ("o:1", "o:2")],
    ],
)
def test_equal_occupations_equal_titles_and_unknown_ones_are_no_finding(
    rows: list[tuple[str, str, str]],
) -> None:
    columns = ["query_id", "unscrubbed", "key", "occupation"]
    frame = pl.DataFrame(
        [("q1", *row) for row in rows], schema=dict.fromkeys(columns, pl.String), orient="row"
    )
    assert merges(frame.rows()) == []


def test_a_config_without_occupations_has_none() -> None:
    empty = pl.DataFrame(schema={"upstream_id": pl.String})
    assert scrub_merges(empty, empty, empty).rows() == []


@given(
    st.lists(st.tuples(*[st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from("123")]), max_size=12)
)
def test_a_query_is_told_exactly_if_no_occupation_is_common_to_its_titles(
    rows: list[tuple[str, str, str]],
) -> None:
    expected = set()
    for query in {query for query, _, _ in rows}:
        seen = {
            title: {o for q, t, o in rows if (q, t) == (query, title)} for q, title, _ in rows if q == query
        }
        if len(seen) > 1 and not set.intersection(*seen.values()):
            expected.add((query, len(seen), False))
    frame = [(query, title, f"{query} <person>", occupation) for query, title, occupation in rows]
    assert not rows or set(merges(frame)) == expected


def planted(folder: Path, titles: dict[str, str]) -> Prepared:
    """Prepare postings of these titles, each of an occupation of its own."""
    model = hub.load("jobs")[0]
    rows = [
        hub.posting({
            **model,
            "id": f"x-{number}",
            "title": title,
            "occupation": job,
        })
        for number, (title, job) in enumerate(titles.items())
    ]
    path = hub.write_jobs(folder)["postings"][0]
    hub.write(path, rows, hub.POSTINGS)
    return prepare(CONFIG, read({"postings": [path]}))


def test_the_build_finds_what_its_own_scrubber_merged(tmp_path: Path) -> None:
    contacts = {f"Ingenieur (m/w/d), Tel. 0171 39200{n}2": f"job {n}" for n in range(3)}
    prepared = planted(tmp_path, contacts | {"Imker (m/w/d)": "beekeeper"})
    (query,) = prepared.queries.filter(pl.col("text").str.contains("<PHONE>"))["query_id"]
    assert prepared.scrub_merges.rows() == [(query, 3, True)]


def test_a_scrubber_that_takes_trades_for_names_is_found_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a scrubber replaces: this one takes two trades for names, and a number that stands alone."""

    def blind(texts: pl.Series, *_args: object, **_options: object) -> Scrubbed:
        scrubbed = texts.str.replace("Chemie|Automotive", "<PERSON>").str.replace("CE 9[56]", "<PLATE>")
        return Scrubbed(scrubbed, scrub(pl.Series([""])).spans)

    monkeypatch.setattr("builders.prepare.retrieval.scrub", blind)
    titles = ("Leiter: Chemie", "Leiter: Automotive", "Fahrer C-CE 95", "Fahrer C-CE 96", "Imker")
    prepared = planted(tmp_path, {title: f"job of {title}" for title in titles})
    told = prepared.scrub_merges.join(prepared.queries, on="query_id")
    assert set(told.select("text", "titles", "cue").rows()) == {
        ("Leiter: <PERSON>", 2, False),
        ("Fahrer C-<PLATE>", 2, False),
    }


def test_nothing_unscrubbed_is_kept(tmp_path: Path) -> None:
    prepared = planted(tmp_path, {f"Koch, Tel. 0171 39200{n}2": f"job {n}" for n in range(3)})
    frames = [prepared.queries, prepared.scrub_merges, prepared.dropped, prepared.provenance]
    assert not any("39200" in frame.write_json() for frame in frames)

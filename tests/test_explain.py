"""Where an id comes from, and what became of a row that is not published."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.errors import UsageError
from builders.explain import explain as explain_id
from builders.files import write_json
from builders.lock.lock import Lock
from builders.prepare.retrieval import prepare
from builders.tables import Kind, published, published_path
from tests.prepare.test_prepare import TABLES, replace_queries, strings

TOY = replace(TABLES, name="toy")


def explain(out: Path, wanted: str) -> list[dict[str, Any]]:
    return [found.facts for found in explain_id(out, wanted, load=lambda _: TOY)]


PUBLISHED = {
    "config",
    "table",
    "id",
    "split",
    "text",
    "upstream_ids",
    "relevant",
    "negatives",
    "v0",
    "undecided",
}
DROPPED = {"config", "table", "id", "reason", "meaning"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Two questions with one text, two with another for which nothing is relevant, and an empty one."""
    queries = strings(
        upstream_id=["q1", "q2", "q6", "q7", "q8"],
        text=["Wer backt?", " Wer  backt?", "Ohne Antwort?", " Ohne  Antwort?", " "],
    )
    prepared = prepare(TOY, replace_queries(queries))
    lock = Lock(
        config="toy",
        release="mteb-de",
        licence="cc-by-4.0",
        sources=(),
        parameters={},
        tools={},
        funnels=prepared.funnels,
        splits={},
        facts={},
        personal={},
        files=(),
    )
    work = tmp_path / "work/toy"
    write_json(work / "lock.json", lock.model_dump(mode="json"))
    prepared.dropped.write_parquet(work / "dropped.parquet")
    published("provenance", prepared.provenance).write_parquet(work / "provenance.parquet")
    qrels = prepared.relations.qrels
    for kind, split, frame in (
        (Kind.CORPUS, "corpus", prepared.corpus),
        (Kind.QUERIES, "test", prepared.queries),
        (Kind.QRELS, "test", qrels),
    ):
        path = tmp_path / "mteb-de" / published_path("toy", kind, split)
        path.parent.mkdir(parents=True, exist_ok=True)
        published(kind, frame).write_parquet(path)
    return tmp_path


def test_merged_rows_lead_to_the_published_one(out: Path) -> None:
    (row,) = explain(out, "q2")
    assert row.keys() == PUBLISHED
    assert (row["id"], row["split"], row["upstream_ids"], row["relevant"]) == (
        "q1",
        "test",
        ["q1", "q2"],
        ["d1"],
    )


@pytest.mark.parametrize(
    ("wanted", "listed", "reason"),
    [("q6", "q6", "no_positive"), ("q7", "q6", "no_positive"), ("q8", "q8", "empty_query")],
)
def test_a_row_that_is_not_published_has_its_reason_also_where_it_was_merged_first(
    out: Path, wanted: str, listed: str, reason: str
) -> None:
    (row,) = explain(out, wanted)
    assert row.keys() == DROPPED
    assert (row["table"], row["id"], row["reason"]) == ("queries", listed, reason)


def test_the_missing_end_of_a_dangling_pair_is_found(out: Path) -> None:
    frame = pl.read_parquet(out / "work/toy/dropped.parquet")
    more = pl.DataFrame(
        [("pairs", pair, "upstream pair", "dangling") for pair in ("q1 → d77", "q77 → d1")],
        frame.schema,
        orient="row",
    )
    pl.concat([frame, more]).write_parquet(out / "work/toy/dropped.parquet")
    (passage,), (query,) = explain(out, "d77"), explain(out, "q77")
    assert passage.keys() == query.keys() == DROPPED
    assert (passage["table"], passage["id"], passage["reason"]) == ("pairs", "q1 → d77", "dangling")
    assert query["id"] == "q77 → d1"
    assert [row.keys() for row in explain(out, "q1")] == [PUBLISHED]


def test_an_id_that_is_nowhere(out: Path) -> None:
    with pytest.raises(UsageError, match="'q9'"):
        explain(out, "q9")


def test_nothing_is_told_twice(out: Path) -> None:
    dropped = pl.read_parquet(out / "work/toy/dropped.parquet")
    assert {len(explain(out, name)) for name in dropped["id"]} == {1}


def test_an_id_that_names_two_things_in_two_spaces_is_not_mixed_up(out: Path) -> None:
    """An upstream row may be called as a published one is, and have nothing to do with it."""
    work = out / "work/toy"
    dropped = pl.read_parquet(work / "dropped.parquet")
    namesake = pl.DataFrame(
        [("queries", "q1", "upstream", "empty_query"), ("queries", "q6", "upstream", "empty_query")],
        schema=dropped.schema,
        orient="row",
    )
    pl.concat([dropped, namesake]).write_parquet(work / "dropped.parquet")
    assert [row.keys() for row in explain(out, "q2")] == [PUBLISHED], "q2 became q1, and was not dropped"
    (row,) = explain(out, "q7")
    assert row["reason"] == "no_positive", "q7 became q6, and had text"
    assert sorted(row["reason"] for row in explain(out, "q6")) == ["empty_query", "no_positive"]


def test_the_facts_are_worded_in_a_few_lines(out: Path) -> None:
    (found,) = explain_id(out, "q2", load=lambda _: TOY)
    assert found.lines == [
        "q1: toy-queries, split test",
        "  text       Wer backt?",
        "  upstream   q1, q2",
        "  relevant   d1",
        "  negatives  none",
    ]
    (found,) = explain_id(out, "q8", load=lambda _: TOY)
    assert found.lines[0].startswith("q8: dropped from toy queries: empty_query (")


def test_undecided_pairs_are_listed_from_both_ends(out: Path) -> None:
    query, passage = explain(out, "q1")[0]["id"], explain(out, "d1")[0]["id"]
    pairs = pl.DataFrame({"query_id": [query], "passage_id": [passage]})
    published("undecided", pairs).write_parquet(out / "work/toy/undecided.parquet")
    assert explain(out, "q1")[0]["undecided"] == [passage]
    (found,) = explain_id(out, "d1", load=lambda _: TOY)
    assert found.facts["undecided"] == [query]
    assert f"  undecided  {query}" in found.lines

"""From upstream rows to published rows: planted faults are counted one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import registry
from builders.errors import SourceSchema
from builders.lock.lock import Funnel
from builders.prepare.decisions import Decision
from builders.prepare.retrieval import Prepared, limit, prepare
from builders.spec import CONTACT, Files, Records, Relations, Retrieval
from builders.text.normalise import each
from tests.fixtures.hub import write_jobs


def unread(files: Files) -> Records:
    raise AssertionError(files)


TABLES = Retrieval(
    name="toy",
    release="mteb-de",
    title="Toy",
    licence="cc-by-4.0",
    languages=("deu",),
    sources=(),
    read=unread,
    ids="upstream",
    personal=CONTACT,
)


def strings(**columns: Sequence[str | None]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def records() -> Records:
    """Planted: 2 queries empty, 1 merged, 1 without positive; 1 passage empty, 1 merged; 1 pair dangling."""
    return Records(
        queries=strings(
            upstream_id=["q1", "q2", "q3", "q4", "q5", "q6"],
            text=["Wer backt?", " Wer  backt? ", None, " \u200b ", "Wer&amp;wo?", "Ohne Antwort?"],
        ),
        passages=strings(
            upstream_id=["d1", "d2", "d3", "d4"],
            title=["", None, "", ""],
            text=["Der Bäcker.", "Der B\u0061\u0308cker.", "", "Ruf an: 030 1234567."],
        ),
        pairs=strings(
            query=["q1", "q2", "q3", "q5", "q5", "q6"],
            passage=["d1", "d2", "d1", "d4", "d9", "d3"],
        ),
    )


def by_table(prepared: Prepared) -> dict[str, Funnel]:
    return {funnel.table: funnel for funnel in prepared.funnels}


def test_every_planted_fault_has_its_reason_and_count() -> None:
    funnels = by_table(prepare(TABLES, records()))
    assert funnels["queries"] == Funnel(
        table="queries", read=6, dropped={"empty_query": 2, "no_positive": 1}, merged=1, out=2
    )
    assert funnels["passages"] == Funnel(table="passages", read=4, dropped={"empty_text": 1}, merged=1, out=2)
    assert funnels["pairs"] == Funnel(
        table="pairs", read=6, dropped={"dangling": 1, "row_dropped": 2}, merged=1, out=2
    )


def test_dropped_rows_are_named() -> None:
    dropped = prepare(TABLES, records()).dropped
    assert dropped.select("table", "id", "reason").rows() == [
        ("pairs", "q5 → d9", "dangling"),
        ("pairs", "q3 → d1", "row_dropped"),
        ("pairs", "q6 → d3", "row_dropped"),
        ("passages", "d3", "empty_text"),
        ("queries", "q3", "empty_query"),
        ("queries", "q4", "empty_query"),
        ("queries", "q6", "no_positive"),
    ]
    spaces = dict(dropped.select("reason", "space").rows())
    assert spaces == {
        "dangling": "upstream pair",
        "row_dropped": "upstream pair",
        "empty_text": "upstream",
        "empty_query": "upstream",
        "no_positive": "published",
    }


def test_rows_are_normalised_scrubbed_merged_and_remapped() -> None:
    prepared = prepare(TABLES, records())
    assert prepared.queries.select("query_id", "text").rows() == [("q1", "Wer backt?"), ("q5", "Wer&wo?")]
    assert prepared.corpus.rows() == [("d1", "", "Der Bäcker."), ("d4", "", "Ruf an: <PHONE>.")]
    assert prepared.relations.qrels.rows() == [("q1", "d1", False), ("q5", "d4", False)]
    assert {table: told.kinds for table, told in prepared.personal.items()} == {
        "queries": {},
        "corpus": {"phone": 1},
    }
    assert ("queries", "q1", "q2") in prepared.provenance.rows()


def postings() -> Records:
    ids = [f"p{number}" for number in range(6)]
    return Records(
        queries=strings(upstream_id=ids, text=["Koch", "Koch", "", "(m/w/d)", "Bäcker", "Maurer"]),
        passages=strings(
            upstream_id=ids, title=[""] * 6, text=["kocht", "kocht", "nichts", "leer", None, "mauert"]
        ),
        pairs=strings(query=ids, passage=ids),
    )


PAIRS = replace(
    TABLES,
    ids="content",
    rows="pair",
    empty_passage="empty_profile",
    query_key=lambda text: text.replace("(m/w/d)", "").casefold(),
)


def test_a_row_that_is_query_and_passage_goes_as_a_whole() -> None:
    prepared = prepare(PAIRS, postings())
    funnels = by_table(prepared)
    assert funnels["rows"] == Funnel(
        table="rows", read=6, dropped={"empty_profile": 1, "empty_query": 1, "no_query_words": 1}, out=3
    )
    assert funnels["queries"] == Funnel(table="queries", read=3, merged=1, out=2)
    assert funnels["passages"] == Funnel(table="passages", read=3, merged=1, out=2)
    assert funnels["pairs"] == Funnel(table="pairs", read=6, dropped={"row_dropped": 3}, merged=1, out=2)
    assert set(prepared.corpus["text"]) == {"kocht", "mauert"}
    assert set(prepared.queries["query_id"].str.slice(0, 2)) == {"q-"}


@given(st.permutations(range(6)), st.permutations(range(4)), st.permutations(range(6)))
def test_the_order_of_upstream_rows_does_not_matter(q: list[int], d: list[int], p: list[int]) -> None:
    straight, rows = prepare(TABLES, records()), records()
    mixed = prepare(TABLES, Records(rows.queries[q], rows.passages[d], rows.pairs[p]))
    assert mixed.queries.equals(straight.queries)
    assert mixed.corpus.equals(straight.corpus)
    assert mixed.relations.qrels.equals(straight.relations.qrels)
    assert mixed.dropped.equals(straight.dropped)
    assert mixed.provenance.equals(straight.provenance)
    assert mixed.funnels == straight.funnels


def test_undecided_pairs_of_unanswered_queries_go_with_them() -> None:
    def nothing_but_doubt(pairs: pl.DataFrame) -> Relations:
        keys = pairs.select("query_id", "passage_id").unique()
        sure = keys.filter(pl.col("query_id") == "q5").with_columns(extended=pl.lit(value=False))
        return Relations(sure, keys.filter(pl.col("query_id") != "q5"))

    prepared = prepare(replace(TABLES, relate=nothing_but_doubt), records())
    assert prepared.queries["query_id"].to_list() == ["q5"]
    assert prepared.relations.undecided.is_empty()
    assert by_table(prepared)["queries"].dropped == {"empty_query": 2, "no_positive": 2}


def test_every_pair_ends_somewhere() -> None:
    """Three queries: one with a positive and an undecided pair, one with doubts alone, one excluded."""

    def doubtful(pairs: pl.DataFrame) -> Relations:
        keys = pairs.select("query_id", "passage_id").unique()
        sure = pl.struct("query_id", "passage_id").is_in([
            {"query_id": "q1", "passage_id": "d1"},
            {"query_id": "q3", "passage_id": "d1"},
        ])
        doubtful = keys.filter(~sure).with_columns(reason=pl.lit("doubt"))
        return Relations(keys.filter(sure).with_columns(extended=pl.lit(value=False)), doubtful)

    rows = Records(
        queries=strings(upstream_id=["q1", "q2", "q3"], text=["a", "b", "c"]),
        passages=strings(upstream_id=["d1", "d2"], title=["", ""], text=["Eins.", "Zwei."]),
        pairs=strings(
            query=["q1", "q1", "q1", "q2", "q3", "q9"], passage=["d1", "d1", "d2", "d2", "d1", "d1"]
        ),
    )
    spec = replace(TABLES, relate=doubtful)
    decision = Decision.model_validate({"query-id": "q3", "corpus-id": "d1", "decision": "excluded"})
    before, after = by_table(prepare(spec, rows))["pairs"], by_table(prepare(spec, rows, [decision]))["pairs"]
    assert before == Funnel(
        table="pairs", read=6, dropped={"dangling": 1, "no_positive": 1}, merged=1, undecided=1, out=2
    )
    assert after == Funnel(
        table="pairs",
        read=6,
        dropped={"dangling": 1, "excluded": 1, "no_positive": 1},
        merged=1,
        undecided=1,
        out=1,
    )


@pytest.mark.parametrize(
    ("ids", "word"),
    [(["q1", None], "row 1"), (["q1", "q1"], "2 of the queries have no id of their own, first row 0, 'q1'")],
)
def test_ids_must_be_there_and_unique(ids: list[str | None], word: str) -> None:
    rows = replace_queries(strings(upstream_id=ids, text=["a", "b"]))
    with pytest.raises(SourceSchema, match=word):
        prepare(TABLES, rows)


def replace_queries(queries: pl.DataFrame) -> Records:
    return Records(queries, records().passages, records().pairs)


def test_limit_keeps_whole_rows_and_does_not_depend_on_order() -> None:
    some = limit(postings(), 3, whole=True)
    rows = postings()
    assert some.queries.height == some.passages.height == some.pairs.height == 3
    again = limit(
        Records(rows.queries.reverse(), rows.passages.reverse(), rows.pairs.reverse()), 3, whole=True
    )
    assert set(again.queries["upstream_id"]) == set(some.queries["upstream_id"])


def test_limit_keeps_all_passages_where_they_are_rows_of_their_own() -> None:
    some = limit(records(), 2, whole=False)
    assert some.queries.height == 2
    assert some.passages.height == 4


def test_each_applies_once_per_distinct_text() -> None:
    calls: list[str] = []

    def shout(text: str) -> str:
        calls.append(text)
        return text.upper()

    assert each(pl.Series(["a", None, "b", "a"]), shout).to_list() == ["A", None, "B", "A"]
    assert sorted(calls) == ["a", "b"]
    assert each(pl.Series([], dtype=pl.String), shout).to_list() == []


def test_upstreams_of_several_files_can_be_composed(tmp_path: Path) -> None:
    spec = registry.load_retrieval("jobs")
    records = spec.read(write_jobs(tmp_path))
    pieces = [records.passages[:2], records.passages[2:]]
    chunked = Records(records.queries, pl.concat(pieces, rechunk=False), records.pairs)
    assert prepare(spec, chunked).corpus.equals(prepare(spec, records).corpus)

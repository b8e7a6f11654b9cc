from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders.configs.germandpr import CONFIG, read
from builders.errors import SourceError, SourceSchema
from builders.prepare.retrieval import prepare
from builders.prepare.splits import assign
from builders.registry import load
from builders.spec import Files, HubSource, PersonalKind, Records
from builders.text.merge import merge_passages, merge_queries
from builders.text.normalise import each, normalise_frame
from tests.fixtures import hub, upstream


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return hub.write_germandpr(tmp_path)


def _rewrite(files: Files, part: str, **columns: pa.Array[Any] | None) -> None:
    """Replace columns of a part; None drops one."""
    path = files[part][0]
    table = pq.read_table(path)
    for name, values in columns.items():
        table = table.drop_columns([name]) if name in table.column_names else table
        table = table if values is None else table.append_column(name, values)
    pq.write_table(table, path)


def test_the_fixture_is_read_as_it_is(files: Files) -> None:
    records, fixture = read(files), hub.load("germandpr")
    assert records.queries.to_dicts() == [
        {"upstream_id": row["_id"], "text": row["text"]} for row in fixture["queries"]
    ]
    assert records.passages.to_dicts() == [
        {"upstream_id": row["_id"], "title": row["title"], "text": row["text"]} for row in fixture["corpus"]
    ]
    assert records.pairs.rows() == [(row["query-id"], row["corpus-id"]) for row in fixture["qrels"]]


def test_twins_merge_under_the_smallest_upstream_id(files: Files) -> None:
    records = read(files)
    queries = normalise_frame(records.queries, keep=["upstream_id"])
    merged = merge_queries(queries.with_columns(key=queries["text"]), CONFIG.ids)
    assert dict(merged.ids.rows())["q_2"] == "q_0"
    assert dict(merged.rows.select("query_id", "text").rows())["q_4"] == "Was schützt vor der Flut?"
    passages = CONFIG.compose(normalise_frame(records.passages, keep=["upstream_id"]))
    kept = merge_passages(passages, CONFIG.ids)
    assert dict(kept.ids.rows())["doc_3_p_0"] == "doc_0_p_0"
    assert kept.rows.filter(passage_id="doc_2_n_0").item(0, "title") == ""
    assert kept.rows.filter(passage_id="doc_0_p_0").item(0, "title") == "Leuchtturm"


def test_the_id_column_may_be_named_id_and_the_title_may_be_missing(files: Files) -> None:
    before = read(files)
    for part in ("corpus", "queries"):
        path = files[part][0]
        table = pq.read_table(path)
        pq.write_table(
            table.rename_columns(["id" if name == "_id" else name for name in table.column_names]), path
        )
    _rewrite(files, "corpus", title=None)
    after = read(files)
    assert after.queries.equals(before.queries)
    assert after.passages.drop("title").equals(before.passages.drop("title"))
    assert CONFIG.compose(after.passages)["title"].to_list() == [""] * 5


def test_every_positive_is_a_qrel_and_nothing_else() -> None:
    pairs = pl.DataFrame({
        "query_id": ["a", "a", "b"],
        "passage_id": ["x", "x", "y"],
        "group": ["a", "a", "b"],
    })
    relations = CONFIG.relate(pairs)
    assert sorted(relations.qrels.rows()) == [("a", "x", False), ("b", "y", False)]
    assert relations.undecided.is_empty()


@pytest.mark.parametrize("dtype", [pa.int32(), pa.int8(), pa.float64()])
def test_scores_may_be_of_any_number_type(files: Files, dtype: pa.DataType) -> None:
    _rewrite(files, "qrels", score=pa.array([1] * 5).cast(dtype))
    assert read(files).pairs.height == 5


@pytest.mark.parametrize("score", [0, -1, 2, None])
def test_another_score_is_refused_with_its_row(files: Files, score: int | None) -> None:
    _rewrite(files, "qrels", score=pa.array([1, 1, score, 1, score], pa.int64()))
    with pytest.raises(
        SourceError, match=rf"test-00000-of-00001\.parquet, row 3: .*'score' is {score}, not 1.* 1 more"
    ):
        read(files)


@pytest.mark.parametrize(
    ("part", "column", "values", "message"),
    [
        ("queries", "_id", ["a", "b", "a", "d", "e"], r"queries-00000.*, row 3: column '_id' holds 'a'"),
        ("corpus", "_id", [None] * 5, r"corpus-00000.*: no row has an id in column '_id'"),
        ("qrels", "corpus-id", [None] * 5, r"test-00000.*: no row has an id in column .* or 'corpus-id'"),
    ],
)
def test_a_bad_id_is_named_with_file_and_row(
    files: Files, part: str, column: str, values: list[str | None], message: str
) -> None:
    _rewrite(files, part, **{column: pa.array(values, pa.string())})
    with pytest.raises(SourceError, match=message):
        read(files)


@pytest.mark.parametrize(
    ("part", "column", "values", "table", "place"),
    [
        ("corpus", "_id", ["a", "b", None, "d", "e"], "passages", r"corpus-00000-of-00001\.parquet, row 3"),
        ("queries", "_id", ["a", "b", "c", "", "e"], "queries", r"queries-00000-of-00001\.parquet, row 4"),
        ("qrels", "query-id", ["a", None, "c", "d", "e"], "pairs", r"test-00000-of-00001\.parquet, row 2"),
    ],
)
def test_a_row_without_an_id_is_dropped_for_a_reason(
    files: Files, part: str, column: str, values: list[str | None], table: str, place: str
) -> None:
    _rewrite(files, part, **{column: pa.array(values, pa.string())})
    records = read(files)
    ((where, row),) = records.nameless.rows()
    assert where == table and re.fullmatch(place, row)
    prepared = prepare(CONFIG, records)
    assert (table, row, "place", "no_id") in prepared.dropped.rows()
    for funnel in prepared.funnels:
        assert funnel.read == 5
        assert funnel.dropped.get("no_id", 0) == (funnel.table == table)
        assert funnel.read == funnel.out + funnel.merged + sum(funnel.dropped.values())


def test_questions_that_differ_in_case_and_punctuation_lie_in_one_split() -> None:
    texts = [f"Wann wurde Haus {number} in Köln-Porz gebaut?" for number in range(60)]
    ids = [f"q{number}" for number in range(120)]
    records = Records(
        queries=pl.DataFrame({"upstream_id": ids, "text": texts + [text.upper()[:-1] for text in texts]}),
        passages=pl.DataFrame({"upstream_id": ["d"], "title": [""], "text": ["Im Jahr 1900."]}),
        pairs=pl.DataFrame({"query": ids, "passage": ["d"] * 120}),
    )
    queries = prepare(CONFIG, records).queries
    assert queries["group"].n_unique() == 120 and queries["leak"].n_unique() == 60
    dealt = assign(queries.select("query_id", "group", "leak")).join(
        queries.select("query_id", "leak"), on="query_id"
    )
    assert set(dealt.group_by("leak").agg(pl.col("split").n_unique())["split"]) == {1}
    assert dealt["split"].n_unique() == 3


@pytest.mark.parametrize(
    ("part", "columns"),
    [
        ("corpus", {"text": None}),
        ("corpus", {"text": pa.array([1] * 5)}),
        ("corpus", {"title": pa.array([1] * 5)}),
        ("corpus", {"_id": pa.array([1] * 5)}),
        ("queries", {"_id": None}),
        ("qrels", {"score": pa.array(["1"] * 5)}),
        ("qrels", {"query-id": None}),
    ],
)
def test_another_schema_is_refused(files: Files, part: str, columns: dict[str, Any]) -> None:
    _rewrite(files, part, **columns)
    with pytest.raises(SourceSchema) as caught:
        read(files)
    assert files[part][0].name in caught.value.message
    assert any(name in caught.value.message for name in columns)


def test_the_spec_says_what_it_is() -> None:
    assert load("germandpr") is CONFIG
    assert CONFIG.mining is None
    assert CONFIG.languages == ("deu",) and CONFIG.licence == "cc-by-4.0" and CONFIG.release == "mteb-de"
    source = CONFIG.sources[0]
    assert isinstance(source, HubSource) and source.revision == "64a4860e55ba6d8fcb923d5306d08e08b1c72794"
    assert PersonalKind.PERSON not in CONFIG.personal and PersonalKind.EMAIL in CONFIG.personal
    assert CONFIG.query_key("Wo?") == CONFIG.relevance_key("Wo?") == "Wo?"
    assert CONFIG.leak_key("Wo - ist ÖL?") == "woistöl"
    assert CONFIG.leak_key("?!") == "?!"


@pytest.mark.upstream
def test_the_stand_in_gives_the_known_counts() -> None:
    records = read(upstream.germandpr())
    assert (records.passages.height, records.queries.height, records.pairs.height) == (240, 1190, 1190)
    queries = normalise_frame(records.queries, keep=["upstream_id"])
    merged = merge_queries(queries.with_columns(key=queries["text"]), CONFIG.ids)
    passages = CONFIG.compose(normalise_frame(records.passages, keep=["upstream_id"]))
    assert merged.rows.height == 1181
    assert merge_passages(passages, CONFIG.ids).rows.height == 240
    leak = each(merged.rows["key"], CONFIG.leak_key)
    dealt = assign(merged.rows.select("query_id", group="key").with_columns(leak=leak))
    assert dict(dealt.group_by("split").len().rows()) == {"train": 944, "dev": 118, "test": 119}

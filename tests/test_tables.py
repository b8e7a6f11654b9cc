"""Bytes of published files: the same rows give the same bytes, and a hash that no writer changes."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.tables import SCHEMAS, Kind, Table, content_hash, encode, inside, published, rowless, to_bytes

QUERIES = pl.DataFrame({"query_id": ["q2", "q1", "q3"], "text": ["Bäcker", "Koch", ""]})


def queries(frame: pl.DataFrame) -> Table:
    return Table("jobs", Kind.QUERIES, "train", frame)


def test_rows_are_sorted_and_the_schema_is_exact() -> None:
    data, lock = encode(queries(QUERIES))
    read = pq.read_table(io.BytesIO(data))
    assert read.schema.equals(SCHEMAS[Kind.QUERIES])
    assert not read.schema.metadata
    assert read.column("_id").to_pylist() == ["q1", "q2", "q3"]
    assert (lock.path, lock.config, lock.rows, lock.size) == (
        "jobs/queries/train.parquet",
        "jobs-queries",
        3,
        len(data),
    )


def test_ids_have_one_name_inside_and_the_published_ones_in_files() -> None:
    assert rowless(Kind.QUERIES).columns == ["query_id", "text"]
    assert rowless(Kind.CORPUS).columns == ["passage_id", "title", "text"]
    assert rowless(Kind.QRELS).columns == ["query_id", "passage_id", "score"]
    for kind, schema in SCHEMAS.items():
        assert published(kind, rowless(kind)).columns == schema.names
    provenance = pl.DataFrame({"table": ["queries"], "id": ["q1"], "upstream_id": ["u1"]})
    assert published("provenance", provenance).columns == ["table", "_id", "upstream_id"]
    assert published("dropped", provenance).columns == provenance.columns


def test_reading_mends_no_column_that_has_the_wrong_name_in_its_file() -> None:
    wrong = pl.DataFrame({"query_id": ["q1"], "_id": ["x"], "text": ["Koch"]})
    assert inside(Kind.QUERIES, wrong.drop("_id")).columns == ["_id", "text"]
    assert inside(Kind.QUERIES, wrong).columns == ["_id", "query_id", "text"]
    assert published(Kind.QUERIES, inside(Kind.QUERIES, wrong)).equals(wrong)


@given(st.permutations(list(range(6))), st.integers(1, 5))
def test_order_and_chunks_in_memory_do_not_reach_the_bytes(order: list[int], cut: int) -> None:
    frame = pl.DataFrame({"query_id": [f"q{i}" for i in range(6)], "text": [f"Satz {i}" for i in range(6)]})
    shuffled = frame[order]
    chunked = pl.concat([shuffled[:cut], shuffled[cut:]], rechunk=False)
    assert encode(queries(chunked)) == encode(queries(frame))


def test_page_index_and_chunking_are_on() -> None:
    data, _ = encode(queries(QUERIES))
    column = pq.ParquetFile(io.BytesIO(data)).metadata.row_group(0).column(1)
    assert column.has_offset_index
    assert column.has_column_index
    assert column.compression == "ZSTD"


def test_large_tables_get_row_groups_below_the_viewers_limit() -> None:
    rows = pa.table({"text": pa.array(["x" * 1_000_000] * 150)})
    metadata = pq.ParquetFile(io.BytesIO(to_bytes(rows))).metadata
    assert metadata.num_row_groups == 3
    assert max(metadata.row_group(i).total_byte_size for i in range(3)) < 100 << 20


def test_content_hash_ignores_how_rows_lie_in_memory() -> None:
    plain = pa.table({"a": pa.array(["ä", "bc"]), "n": pa.array([1, 2], pa.int32())})
    wide = pa.table({
        "a": pa.array(["", "ä", "bc"], pa.large_string())[1:],
        "n": pa.array([1, 2], pa.int32()),
    })
    assert content_hash(plain) == content_hash(wide)
    assert content_hash(plain) == content_hash(pa.concat_tables([plain[:1], plain[1:]]))


def test_content_hash_is_fixed_across_versions() -> None:
    rows = pa.table({"a": pa.array(["ä", "bc"]), "n": pa.array([1, -2], pa.int32())})
    assert content_hash(rows) == "9e80b43d9036a0d58fcc679e07a5cd5c36f564f8cce1f4d030e45ec61c126231"


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"a": pa.array(["äb", "c"])}),
        pa.table({"a": pa.array(["bc", "ä"])}),
        pa.table({"b": pa.array(["ä", "bc"])}),
        pa.table({"a": pa.array(["ä", "bc", ""])}),
    ],
)
def test_content_hash_sees_every_change(other: pa.Table) -> None:
    assert content_hash(pa.table({"a": pa.array(["ä", "bc"])})) != content_hash(other)


def test_content_hash_of_lists_sees_where_one_ends() -> None:
    one = pa.table({"s": pa.array([["a", "b"], ["c"]])})
    two = pa.table({"s": pa.array([["a"], ["b", "c"]])})
    assert content_hash(one) != content_hash(two)
    assert content_hash(one) == content_hash(pa.table({"s": pa.array([["x"], ["a", "b"], ["c"]])[1:]}))


def test_nulls_are_refused() -> None:
    with pytest.raises(ValueError, match="1 nulls"):
        content_hash(pa.table({"a": pa.array(["x", None])}))
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        encode(
            queries(
                pl.DataFrame(
                    {"query_id": ["q1"], "text": [None]}, schema={"query_id": pl.String, "text": pl.String}
                )
            )
        )

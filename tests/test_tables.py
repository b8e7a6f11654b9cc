"""Bytes of published files: the same rows give the same bytes, and a hash that no writer changes."""

from __future__ import annotations

import io

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.tables import SCHEMAS, Kind, Table, content_hash, encode, to_bytes

QUERIES = pl.DataFrame({"_id": ["q2", "q1", "q3"], "text": ["Bäcker", "Koch", ""]})


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


@given(st.permutations(list(range(6))), st.integers(1, 5))
def test_order_and_chunks_in_memory_do_not_reach_the_bytes(order: list[int], cut: int) -> None:
    frame = pl.DataFrame({"_id": [f"q{i}" for i in range(6)], "text": [f"Satz {i}" for i in range(6)]})
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
                pl.DataFrame({"_id": ["q1"], "text": [None]}, schema={"_id": pl.String, "text": pl.String})
            )
        )

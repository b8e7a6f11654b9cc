"""Published tables stay within what the Hub's viewer can show: row groups, page index, nesting."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builders import registry
from builders.build.order import Options, build
from builders.cli.output import Lines
from builders.demo.bundled import lay_out
from builders.tables import SCHEMAS, Kind, Table, config_name, encode, kind_of, published_path, splits_of
from tests.vectors import sharing_vectors

LARGEST_GROUP = 100 << 20
"""Uncompressed: what `datasets` writes at most, and well below the 286 MiB at which the viewer gives up."""
_LEAVES = {pa.string(), pa.int32(), pa.float32()}


def broken_limits(data: bytes) -> list[str]:
    """Return what of a file the viewer would not show well."""
    file = pq.ParquetFile(io.BytesIO(data))
    metadata, schema = file.metadata, file.schema_arrow
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [group.column(number) for group in groups for number in range(metadata.num_columns)]
    faults = [
        f"row group of {group.total_byte_size:,} bytes"
        for group in groups
        if group.total_byte_size > LARGEST_GROUP and group.num_rows > 1
    ]
    if not all(column.has_offset_index and column.has_column_index for column in columns):
        faults.append("a column without page index")
    for field in schema:
        leaf = field.type.value_type if isinstance(field.type, pa.ListType) else field.type
        if leaf not in _LEAVES:
            faults.append(f"column {field.name}: {field.type}")
        if not re.fullmatch(r"[a-z_][a-z_-]*", field.name):
            faults.append(f"column name {field.name!r}")
    if schema.metadata:
        faults.append("metadata of a writer")
    return faults


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every config of the bundled sample, of `jobs` a small part."""
    folder = tmp_path_factory.mktemp("limits")
    lay_out(folder / "sample")
    for name in registry.names():
        options = Options(
            out=folder / "dist",
            encoder="offline",
            offline=True,
            sources=(str(folder / "sample"),),
            limit=120 if name == "jobs" else None,
            home=sharing_vectors(folder / "home"),
            committed=folder / "none",
        )
        build(registry.load(name), options, Lines(quiet=True))
    return folder / "dist"


def test_every_published_table_of_a_build_is_within_the_limits(built: Path) -> None:
    found = set()
    for path in sorted(built.glob("*-de/**/*.parquet")):
        dataset, kind, split = path.parts[-3], Kind(path.parts[-2]), path.stem
        found.add((dataset, kind))
        assert broken_limits(path.read_bytes()) == [], path
        assert re.fullmatch(r"[a-z0-9_.-]+", config_name(dataset, kind))
        assert kind_of(config_name(dataset, kind)) is kind
        assert re.fullmatch(r"\w+", split) and split != "all" and split in splits_of(kind)
        assert path.as_posix().endswith(published_path(dataset, kind, split))
    assert {dataset for dataset, _ in found} == set(registry.names())
    assert {kind for _, kind in found} == set(Kind)


def _distinct(count: int, characters: int, rng: np.random.Generator) -> list[str]:
    """Texts of which no two are alike, so that no dictionary makes them small."""
    letters = rng.integers(97, 123, size=(count, characters), dtype=np.uint8)
    return [row.tobytes().decode() for row in letters]


def _groups(data: bytes) -> list[int]:
    metadata = pq.ParquetFile(io.BytesIO(data)).metadata
    return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]


def test_a_corpus_that_needs_several_row_groups_is_within_the_limits() -> None:
    texts = _distinct(70_000, 2_000, np.random.default_rng(1))
    frame = pl.DataFrame({"passage_id": [f"d{n:06}" for n in range(len(texts))], "title": "", "text": texts})
    data, lock = encode(Table("gross", Kind.CORPUS, "corpus", frame))
    assert lock.arrow_bytes > LARGEST_GROUP
    assert broken_limits(data) == []
    assert len(_groups(data)) == 3 and sum(_groups(data)) == len(texts)


@pytest.mark.long
def test_a_large_clustering_set_does_not_make_a_large_row_group() -> None:
    sizes = [50] * 25 + [15_000] * 6
    texts = _distinct(sum(sizes), 2_000, np.random.default_rng(2))
    ends = np.cumsum(sizes)
    frame = pl.DataFrame({
        "sentences": [texts[end - size : end] for size, end in zip(sizes, ends, strict=True)],
        "labels": [["a", "b"] * (size // 2) for size in sizes],
        "level": ["coarse"] * len(sizes),
    })
    data, _ = encode(Table("gross", Kind.CLUSTERING_P2P, "test", frame))
    assert broken_limits(data) == []
    assert _groups(data) == [27, 2, 2]
    rows = pq.read_table(io.BytesIO(data))
    assert rows.schema.equals(SCHEMAS[Kind.CLUSTERING_P2P])
    assert pl.Series(rows["sentences"]).list.len().to_list() == sizes
    assert rows["sentences"][30].as_py() == texts[-15_000:]


def test_the_limits_are_noticed() -> None:
    def written(columns: dict[str, pa.Array[Any]], **options: Any) -> list[str]:
        sink = io.BytesIO()
        pq.write_table(pa.table(columns), sink, **options)
        return broken_limits(sink.getvalue())

    texts = pa.array(_distinct(60_000, 2_000, np.random.default_rng(3)))
    (large,) = written({"text": texts}, write_page_index=True, use_dictionary=False)
    assert large.startswith("row group of 12")
    few = pa.array(["a"])
    assert written({"text": few}) == ["a column without page index"]
    assert written({"text": pa.array([[["a"]]])}, write_page_index=True) == [
        "column text: list<element: list<element: string>>"
    ]
    assert written({"Ein Text": few}, write_page_index=True) == ["column name 'Ein Text'"]

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import SourceError, SourceMissing, SourceSchema, StorageError
from builders.sources.parquet import first_column, read_rows
from builders.tables import read_frame

SKILL = pa.struct([("label", pa.string()), ("uri", pa.string())])


def write(path: Path, columns: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def read_parquet(paths: list[Path], columns: dict[str, Any], **options: Any) -> pl.DataFrame:
    """Read the columns without the places of the rows."""
    return read_rows(paths, columns, **options).drop("row", "file")


def test_only_the_named_columns_in_their_order(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"text": ["Brot"], "company": ["Muster GmbH"], "_id": ["p1"]})
    frame = read_parquet([path], {"_id": pa.string(), "text": pa.string()})
    assert frame.rows() == [("p1", "Brot")]
    assert frame.columns == ["_id", "text"]


def test_a_row_is_named_by_its_file_and_number(tmp_path: Path) -> None:
    first = write(tmp_path / "b.parquet", {"_id": ["1", "2"]})
    second = write(tmp_path / "a.parquet", {"_id": ["3"]})
    places = read_rows([first, second], {"_id": pa.string()}).select("file", "row").rows()
    assert places == [(str(first), 1), (str(first), 2), (str(second), 1)]


def test_files_follow_each_other_in_the_given_order(tmp_path: Path) -> None:
    first = write(tmp_path / "b.parquet", {"score": pa.array([1, 2], pa.int32())})
    second = write(tmp_path / "a.parquet", {"score": pa.array([3], pa.int64())})
    frame = read_parquet([first, second], {"score": (pa.int32(), pa.int64())})
    assert frame.to_series().to_list() == [1, 2, 3]
    assert frame.schema["score"] == pl.Int64


@pytest.mark.parametrize("width", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("wrap", [pa.list_, pa.large_list])
def test_widths_of_string_and_list_are_equal(tmp_path: Path, width: pa.DataType, wrap: Any) -> None:
    columns = {"text": pa.array(["ä"], width), "tags": pa.array([["x", None]], wrap(pa.large_string()))}
    path = write(tmp_path / "a.parquet", columns)
    frame = read_parquet([path], {"text": pa.string(), "tags": pa.list_(pa.string())})
    assert frame.rows() == [("ä", ["x", None])]


def test_structs_agree_by_name_and_lose_further_fields(tmp_path: Path) -> None:
    wider = pa.struct([("uri", pa.string()), ("rank", pa.int64()), ("label", pa.large_string())])
    one = write(
        tmp_path / "a.parquet",
        {"skills": pa.array([[{"uri": "u", "rank": 1, "label": "Backen"}]], pa.list_(wider))},
    )
    two = write(
        tmp_path / "b.parquet",
        {"skills": pa.array([[{"label": "Löten", "uri": "v"}], None], pa.list_(SKILL))},
    )
    frame = read_parquet([one, two], {"skills": pa.list_(SKILL)})
    assert frame["skills"].to_list() == [
        [{"label": "Backen", "uri": "u"}],
        [{"label": "Löten", "uri": "v"}],
        None,
    ]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (pa.array([1]), pa.string()),
        (pa.array(["1"]), pa.int64()),
        (pa.array(["1"], pa.dictionary(pa.int32(), pa.string())), pa.string()),
        (pa.array([1], pa.int32()), pa.int64()),
        (pa.array([["x"]]), pa.string()),
        (pa.array(["x"]), pa.list_(pa.string())),
        (pa.array([[1]]), pa.list_(pa.string())),
        (pa.array([{"label": "x"}]), SKILL),
        (pa.array([{"label": "x", "uri": 1}]), SKILL),
        (pa.array([None, None]), pa.string()),
        (pa.array([[], []], pa.list_(pa.null())), pa.list_(pa.string())),
        (pa.array([b"x"]), pa.string()),
    ],
    ids=lambda value: str(getattr(value, "type", value)),
)
def test_a_wrong_type_names_file_column_and_both_types(
    tmp_path: Path, found: pa.Array[Any], expected: pa.DataType
) -> None:
    path = write(tmp_path / "corpus-0.parquet", {"column": found})
    with pytest.raises(SourceSchema) as error:
        read_parquet([path], {"column": expected})
    for part in (str(path), "'column'", str(pq.read_schema(path).field(0).type), str(expected)):
        assert part in error.value.message
    assert error.value.hint


def test_a_missing_column_says_what_is_there(tmp_path: Path) -> None:
    good = write(tmp_path / "0.parquet", {"_id": ["1"]})
    bad = write(tmp_path / "1.parquet", {"id": ["1"], "Text": ["x"]})
    with pytest.raises(SourceSchema) as error:
        read_parquet([good, bad], {"_id": pa.string()})
    for part in (str(bad), "'_id'", "missing", "string", "'id', 'Text'"):
        assert part in error.value.message


def test_a_column_that_stands_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array(["1"]), pa.array(["2"])], names=["_id", "_id"]), path)
    with pytest.raises(SourceSchema, match="2 times"):
        read_parquet([path], {"_id": pa.string()})


def test_an_optional_column_is_null_where_it_is_absent(tmp_path: Path) -> None:
    one = write(tmp_path / "a.parquet", {"_id": ["1", "2"]})
    two = write(tmp_path / "b.parquet", {"_id": ["3"], "title": ["Titel"]})
    wanted = {"title": pa.string(), "_id": pa.string()}
    frame = read_parquet([one, two], wanted, optional=["title"])
    assert frame.rows() == [(None, "1"), (None, "2"), ("Titel", "3")]
    assert frame.schema["title"] == pl.String
    assert read_parquet([one], {"title": pa.string()}, optional=["title"]).rows() == [(None,), (None,)]


def test_an_optional_column_of_a_wrong_type_is_still_wrong(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"title": [1]})
    with pytest.raises(SourceSchema, match="int64"):
        read_parquet([path], {"title": pa.string()}, optional=["title"])


@settings(deadline=None)
@given(cut=st.integers(min_value=0, max_value=99))
def test_a_truncated_file_is_named(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = write(tmp_path_factory.mktemp("cut") / "corpus.parquet", {"_id": [str(i) for i in range(500)]})
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * cut // 100])
    with pytest.raises(SourceError, match=r"corpus\.parquet") as error:
        read_parquet([path], {"_id": pa.string()})
    assert "again" in error.value.hint


def test_damage_inside_the_pages_is_an_error_of_the_source(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"_id": [f"Zeile {i}" for i in range(5000)]})
    whole = bytearray(path.read_bytes())
    whole[4:2000] = bytes(1996)
    path.write_bytes(bytes(whole))
    with pytest.raises(SourceError, match=r"a\.parquet"):
        read_parquet([path], {"_id": pa.string()})


SKILLS = pa.list_(pa.struct([("uri", pa.string()), ("label", pa.string())]))


@settings(deadline=None, max_examples=60)
@given(changes=st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=4))
def test_whatever_bytes_are_changed_it_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    """Names that are no UTF-8 made polars panic, which is no `Exception`."""
    skills = pa.array([[{"uri": f"u{i}", "label": "x"}] * (i % 3) for i in range(40)], SKILLS)
    path = write(
        tmp_path_factory.mktemp("damaged") / "a.parquet", {"id": [*map(str, range(40))], "s": skills}
    )
    data = bytearray(path.read_bytes())
    for place, byte in changes:
        data[-1 - place % len(data)] = byte
    path.write_bytes(data)
    with contextlib.suppress(SourceError):
        read_parquet([path], {"id": pa.string(), "s": SKILLS})
    with contextlib.suppress(StorageError):
        read_frame(path)


@pytest.mark.parametrize("name", [b"uri", b"extra", b"other"])
def test_a_name_that_is_not_utf8_is_an_error(tmp_path: Path, name: bytes) -> None:
    fields = {"uri": pa.array(["u"]), "extra": pa.array(["e"])}
    struct = pa.StructArray.from_arrays(list(fields.values()), list(fields))
    path = write(tmp_path / "a.parquet", {"s": struct, "other": ["o"]})
    path.write_bytes(path.read_bytes().replace(name, b"\xfc" + name[1:]))
    with pytest.raises(SourceError, match=r"a\.parquet: not a whole parquet file"):
        read_parquet([path], {"s": pa.struct([("uri", pa.string())])})
    with pytest.raises(StorageError, match=r"a\.parquet: not a parquet file"):
        read_frame(path)


def test_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    buffers = pa.array([b"\xff\xfe\xfd"]).buffers()
    broken = pa.Array.from_buffers(pa.string(), 1, [None, buffers[1], buffers[2]])
    path = write(tmp_path / "a.parquet", {"text": broken})
    with pytest.raises(SourceError, match=r"a\.parquet"):
        read_parquet([path], {"text": pa.string()})


@pytest.mark.parametrize("content", [b"", b"<!doctype html><title>Anmeldung</title>", b"PAR1PAR1"])
def test_what_is_not_parquet_is_an_error_of_the_source(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "corpus.parquet"
    path.write_bytes(content)
    for read in (lambda: read_parquet([path], {"_id": pa.string()}), lambda: first_column([path], ["_id"])):
        with pytest.raises(SourceError, match=r"corpus\.parquet"):
            read()


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot be read \(Is a directory\)"):
        read_parquet([tmp_path], {"_id": pa.string()})


def test_a_file_that_is_not_there_is_missing(tmp_path: Path) -> None:
    paths = [tmp_path / "nowhere.parquet"]
    with pytest.raises(SourceMissing):
        read_parquet(paths, {"_id": pa.string()})
    with pytest.raises(SourceMissing):
        first_column(paths, ["_id"])


def test_the_first_name_that_every_file_has(tmp_path: Path) -> None:
    both = write(tmp_path / "a.parquet", {"id": ["1"], "_id": ["1"]})
    plain = write(tmp_path / "b.parquet", {"id": ["1"]})
    other = write(tmp_path / "c.parquet", {"key": ["1"]})
    assert first_column([both], ("_id", "id")) == "_id"
    assert first_column([both, plain], ("_id", "id")) == "id"
    with pytest.raises(SourceSchema) as error:
        first_column([plain, other], ("_id", "id"))
    for part in (str(other), "'_id' or 'id'", "'key'"):
        assert part in error.value.message

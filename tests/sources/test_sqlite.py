from __future__ import annotations

import contextlib
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders.errors import SourceError, SourceMissing, SourceSchema
from builders.sources.containers import read_table

CREATE = "CREATE TABLE Obst (Nummer INTEGER, Name TEXT, Ort TEXT, Preis REAL)"
ROWS: list[tuple[object, ...]] = [(2, "Apfel", "Köln", 1.5), (1, "Birne", None, 2.0), (3, "", "Kiel", None)]


def write(folder: Path, *statements: str, rows: list[tuple[object, ...]] = ROWS) -> Path:
    path = folder / "obst ?#%.sqlite3"
    with closing(sqlite3.connect(path)) as database:
        for statement in statements or (CREATE,):
            database.execute(statement)
        if rows:
            database.executemany("INSERT INTO Obst VALUES (?, ?, ?, ?)", rows)
        database.commit()
    return path


def read(path: Path) -> list[tuple[object, ...]]:
    return read_table(path, "Obst", key="Nummer", texts=("Name", "Ort"))[0].rows()


def test_columns_in_the_order_of_the_key(tmp_path: Path) -> None:
    assert read(write(tmp_path)) == [(1, "Birne", None), (2, "Apfel", "Köln"), (3, "", "Kiel")]


def test_the_file_is_not_written_and_nothing_appears_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    before = path.read_bytes()
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        assert len(read(path)) == 3
    finally:
        tmp_path.chmod(0o755)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_transaction_that_was_cut_is_left_as_it_is(tmp_path: Path) -> None:
    """Opened for writing, SQLite would roll it back: it would change the file."""
    path = write(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA cache_size = 1")
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO Obst VALUES (?, ?, '', 1.0)", [(n, "x" * 500) for n in range(9, 500)]
        )
        cut = tmp_path / "cut.sqlite3"
        journal = cut.with_name(f"{cut.name}-journal")
        cut.write_bytes(path.read_bytes())
        journal.write_bytes(path.with_name(f"{path.name}-journal").read_bytes())
    before = cut.read_bytes(), journal.read_bytes()
    assert len(before[0]) > len(path.read_bytes())
    with contextlib.suppress(SourceError):
        read(cut)
    assert (cut.read_bytes(), journal.read_bytes()) == before


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html><body>Umgezogen</body></html>", "is a web page, not an SQLite database"),
        (b"\n <!doctype HTML>", "is a web page"),
        (b"PK\x03\x04", "is not an SQLite database"),
        (b"", "is not an SQLite database"),
        (b"SQLite format 3\0" + bytes(84), "not a whole SQLite database"),
    ],
)
def test_what_is_no_database(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "obst.sqlite3"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=message) as error:
        read(path)
    assert str(path) in error.value.message
    assert error.value.hint


def test_a_truncated_database_is_told_before_a_row_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, rows=[(number, "Apfel" * 100, None, 1.0) for number in range(500)])
    data = path.read_bytes()
    path.write_bytes(data[:-4096])
    with pytest.raises(SourceError, match=rf"truncated: {len(data) - 4096:,} of {len(data):,} bytes"):
        read(path)


def test_a_damaged_page(tmp_path: Path) -> None:
    path = write(tmp_path, rows=[(number, "Apfel" * 100, None, 1.0) for number in range(500)])
    data = bytearray(path.read_bytes())
    data[4096:8192] = bytes(4096)
    path.write_bytes(data)
    with pytest.raises(SourceError, match="not a whole SQLite database"):
        read(path)


def test_a_missing_table_names_those_that_are_there(tmp_path: Path) -> None:
    path = write(tmp_path, "CREATE TABLE Gemüse (Nummer INTEGER)", rows=[])
    with pytest.raises(SourceSchema, match="no table 'Obst'; found 'Gemüse'"):
        read(path)


def test_a_view_is_no_table(tmp_path: Path) -> None:
    path = write(tmp_path, "CREATE VIEW Obst AS SELECT 1 AS Nummer, 'a' AS Name, 'b' AS Ort", rows=[])
    with pytest.raises(SourceSchema, match="no table 'Obst'; found none"):
        read(path)


def test_a_missing_column_names_those_that_are_there(tmp_path: Path) -> None:
    path = write(tmp_path, "CREATE TABLE Obst (Nummer INTEGER, Name TEXT)", rows=[])
    with pytest.raises(SourceSchema, match="no column 'Ort'; found 'Nummer', 'Name'"):
        read(path)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ((4, b"Apfel", None, 1.0), '"Name", row 4: not text'),
        ((4, "Apfel", b"\xff", 1.0), '"Ort", row 4: not text'),
        (("vier", "Apfel", None, 1.0), '"Nummer", row vier: not a whole number'),
        ((None, "Apfel", None, 1.0), '"Nummer", row None: not a whole number'),
        ((1, "Apfel", None, 1.0), "holds 1 twice"),
    ],
)
def test_values_of_another_type_are_named_by_row(
    row: tuple[object, ...], message: str, tmp_path: Path
) -> None:
    with pytest.raises(SourceSchema, match=message):
        read(write(tmp_path, rows=[*ROWS, row]))


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path, rows=[])
    with closing(sqlite3.connect(path)) as database:
        database.execute("INSERT INTO Obst VALUES (1, CAST(X'4772FC6E' AS TEXT), 'ß', 1.0)")
        database.execute(
            "INSERT INTO Obst VALUES (2, 'grün', CAST(X'FF' AS TEXT), 1.0), (3, 'grün', 'ß', 1.0)"
        )
        database.commit()
    rows, malformed = read_table(path, "Obst", key="Nummer", texts=("Name", "Ort"))
    assert rows.rows() == [(3, "grün", "ß")]
    assert malformed.rows() == [
        (f"{path.name}, table 'Obst', Nummer 1", "column 'Name' is not UTF-8 (byte 0xfc at 2)"),
        (f"{path.name}, table 'Obst', Nummer 2", "column 'Ort' is not UTF-8 (byte 0xff at 0)"),
    ]


def test_what_stands_in_a_log_beside_the_database_is_not_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("INSERT INTO Obst VALUES (4, 'Quitte', '', 1.0)")
        with pytest.raises(SourceError, match=r"stands in obst \?#%\.sqlite3-wal") as caught:
            read(path)
        assert "wal_checkpoint" in caught.value.hint
    assert len(read(path)) == 4


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no such file"):
        read(tmp_path / "nichts.sqlite3")
    assert list(tmp_path.iterdir()) == []


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.integers(0, 8191), st.binary(min_size=1, max_size=8))
def test_damage_is_an_error_of_ours_or_harmless(tmp_path: Path, at: int, junk: bytes) -> None:
    (tmp_path / "obst ?#%.sqlite3").unlink(missing_ok=True)
    path = write(tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[:at] + junk + data[at + len(junk) :])
    try:
        read(path)
    except SourceError:
        pass

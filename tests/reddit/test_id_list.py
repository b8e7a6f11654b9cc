from __future__ import annotations

from pathlib import Path

import pytest

from builders.errors import SourceMissing, SourceSchema
from builders.reddit.sets import read_ids
from tests.fixtures.upstream import upstream


def written(folder: Path, data: bytes) -> Path:
    path = folder / "submission_ids.txt"
    path.write_bytes(data)
    return path


def test_ids_come_once_in_the_order_of_their_first_line(tmp_path: Path) -> None:
    path = written(tmp_path, b"id\nzz9xy1\nabc12\nzz9xy1\nabc12\n0a0a0a0a\n")
    read = read_ids(path)
    assert read.ids == ("zz9xy1", "abc12", "0a0a0a0a")
    assert (read.lines, len(read.ids), read.repeated) == (5, 3, 2)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfid\r\nabc12\r\nabc13", b"id\nabc12\n\nabc13\n\n"])
def test_byte_order_mark_and_line_breaks_do_not_matter(tmp_path: Path, data: bytes) -> None:
    assert read_ids(written(tmp_path, data)).ids == ("abc12", "abc13")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (b"1,23E+05", "spreadsheet"),
        (b"1.23e+11", "spreadsheet"),
        (b"123456.0", "5 to 8"),
        (b"ABC12", "lower-case"),
        (b"t3_abc12", "prefix t3_"),
        (b"abc 12", "blanks"),
        (b" abc12", "blanks"),
        (b"abc12 ", "blanks"),
        (b"abc\x0012", "5 to 8"),
        (b'"abc12"', "quotes"),
        (b"abcd", "5 to 8"),
        (b"abcdefghi", "5 to 8"),
        ("abcdé".encode(), "5 to 8"),
        ("١٢٣٤٥".encode(), "5 to 8"),
        ("abc12\u2028abc13".encode(), "5 to 8"),
        (b"abc12\rabc13", "5 to 8"),
        (b"9" * 100_000 + b"e", "5 to 8"),
    ],
)
def test_a_mangled_id_is_named_with_its_line(tmp_path: Path, line: bytes, hint: str) -> None:
    path = written(tmp_path, b"id\nabc11\n" + line + b"\nabc14\n")
    with pytest.raises(SourceSchema, match=r"submission_ids\.txt, line 3: ") as caught:
        read_ids(path)
    assert hint in caught.value.hint
    assert len(caught.value.message) < 300 + len(str(path))


@pytest.mark.parametrize("data", [b"", b"abc12\nabc13\n", b"ID\nabc12\n", b'{"id": "abc12"}\n'])
def test_a_file_without_the_header_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(SourceSchema, match="line 1: the header"):
        read_ids(written(tmp_path, data))


def test_text_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceSchema, match="not UTF-8"):
        read_ids(written(tmp_path, "id\nabc12\n".encode("utf-16")))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"nirgends\.txt"):
        read_ids(tmp_path / "nirgends.txt")


@pytest.mark.upstream
def test_the_stand_in_repeats_300_lines() -> None:
    read = read_ids(upstream() / "reddit/submission_ids.txt")
    assert (read.lines, len(read.ids), read.repeated) == (7744, 7444, 300)

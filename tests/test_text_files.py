from __future__ import annotations

from pathlib import Path

import pytest

from builders.errors import UsageError
from builders.text_files import numbered, numbered_lines, parse_json, source_lines, whole


def test_marks_and_blank_lines_are_passed_over_and_numbers_stay() -> None:
    lines = [b"\xef\xbb\xbfa\r\n", b"\r\n", b" \t\n", b"\xef\xbb\xbfb", b""]
    assert list(numbered(lines)) == [(1, b"a\r\n"), (4, b"\xef\xbb\xbfb")]


def test_lines_of_a_text_lose_their_ends_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf\na\r\n \nb ")
    assert source_lines(path, absent="", form="") == [(2, "a"), (4, "b ")]
    path.write_bytes(b"")
    assert source_lines(path, absent="", form="") == []


def test_json_that_cannot_be_read_is_one_kind_of_error() -> None:
    for line in (b"{", b"\xff", b"[" * 200_000, b"\0\0{}"):
        with pytest.raises(ValueError, match=r"."):
            parse_json(line)
    assert parse_json(b' {"a": "\\ud800"}\r\n') == {"a": "\ud800"}
    assert whole("a\ud800b") == "ab"


def test_halves_of_characters_are_dropped_from_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": "x\\ud83d"}\r\n\r\n{"b": "\\uD83D\\uDE00 \\\\ud83d"}\n{"c\\udc00\n')
    assert list(numbered_lines(path)) == [
        (1, '{"a": "x"}'),
        (3, '{"b": "😀 \\\\ud83d"}'),
        (4, '{"c\\udc00'),
    ]


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{}\n\n\xff")
    with pytest.raises(UsageError, match="byte 4"):
        list(numbered_lines(path))

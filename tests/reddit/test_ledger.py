from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import Busy, SourceSchema, StorageError
from builders.reddit.ledger import Ledger
from builders.reddit.submission import Status, Submission
from tests.reddit import kit


def entry(name: str, status: Status = Status.OK, **fields: Any) -> Submission:
    return Submission(id=name, status=status, checked=kit.TODAY, origin="api", **fields)


A = entry("abc12", title="Erster Zug", body="Größe?\n\u2028Ende", subreddit="bahn")
B = entry("abc13", title="Zweiter Zug")


def test_the_last_answer_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "neu/ledger.jsonl")
    assert ledger.latest() == {}
    ledger.append([A, B])
    ledger.append([])
    ledger.append([entry("abc12", Status.DELETED)])
    assert list(ledger.latest().values()) == [entry("abc12", Status.DELETED), B]
    assert ledger.path.stat().st_mode & 0o777 == 0o600


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(exclude_categories=["Cs"])),
            st.text(st.characters(exclude_categories=["Cs"])),
        )
    )
)
def test_any_text_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[tuple[str, str]]) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.jsonl")
    entries = [entry(f"abc{number:03}", title=a, body=b) for number, (a, b) in enumerate(texts)]
    ledger.append(entries)
    assert list(ledger.latest().values()) == entries


@pytest.mark.parametrize("torn", [b'{"id": "abc1', b"{", b'{"id":"abc14"}', b"\x00\x00\x00", b"x" * 200_000])
def test_a_torn_last_line_is_taken_away(tmp_path: Path, torn: bytes) -> None:
    said: list[str] = []
    ledger = Ledger(tmp_path / "ledger.jsonl", say=said.append)
    ledger.append([A])
    whole = ledger.path.read_bytes()
    ledger.path.write_bytes(whole + torn)
    assert list(ledger.latest()) == ["abc12"]
    assert ledger.path.read_bytes() == whole + torn  # reading alone changes nothing
    ledger.append([B])
    assert list(ledger.latest().values()) == [A, B]
    assert ledger.path.read_bytes().startswith(whole)
    assert [f"{len(torn):,} bytes" in message for message in said] == [True]


def test_a_ledger_of_one_torn_line_is_empty(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(b'{"id": "ab')
    ledger.append([B])
    assert list(ledger.latest().values()) == [B]


def test_what_an_editor_adds_is_forgiven(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append([A])
    ledger.path.write_bytes(b"\xef\xbb\xbf" + ledger.path.read_bytes().replace(b"\n", b"\r\n\r\n"))
    ledger.append([B])
    assert ledger.latest() == {A.id: A, B.id: B}


@pytest.mark.parametrize(
    "line",
    [
        b"{}",
        b"[]",
        b'{"id": "abc1',
        b'{"id":"ABC12","status":"ok","checked":"2024-05-17","origin":"api"}',
        b'{"id":"abc12","status":"weg","checked":"2024-05-17","origin":"api"}',
        b'{"id":"abc12","status":"ok","checked":"gestern","origin":"api"}',
        b'{"id":"abc12","status":"ok","checked":"2024-05-17","origin":"api","subreddit":"zwei worte"}',
        b'{"id":"abc12","status":"ok","checked":"2024-05-17","origin":"api","author":"x"}',
        b"\xff\xfe",
    ],
)
def test_any_other_line_that_is_no_answer_is_named(tmp_path: Path, line: bytes) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append([A])
    ledger.path.write_bytes(ledger.path.read_bytes() + line + b"\n" + ledger.path.read_bytes())
    with pytest.raises(SourceSchema, match=r"ledger\.jsonl, line 2: ") as caught:
        ledger.latest()
    assert caught.value.hint
    assert "Erster Zug" not in caught.value.message


def test_rewriting_leaves_nothing_else_in_the_folder(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append([A, B])
    (tmp_path / ".ledger.jsonl.tmp").write_text("Erster Zug")  # of a run that was killed
    ledger.rewrite([B])
    assert list(ledger.latest().values()) == [B]
    assert ledger.path.stat().st_mode & 0o777 == 0o600
    assert not [path for path in tmp_path.iterdir() if b"Erster Zug" in path.read_bytes()]


def test_purging_takes_the_texts_of_what_is_gone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append([A, B])
    untouched = ledger.path.stat().st_mtime_ns
    assert ledger.purge() == 0
    assert ledger.path.stat().st_mtime_ns == untouched
    ledger.append([entry("abc12", Status.REMOVED, subreddit="bahn")])
    assert b"Erster Zug" in ledger.path.read_bytes()
    assert ledger.purge() == 1
    assert b"Erster Zug" not in ledger.path.read_bytes()
    assert list(ledger.latest().values()) == [entry("abc12", Status.REMOVED, subreddit="bahn"), B]


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    with Ledger(path).exclusive():
        other = (
            "import sys, pathlib; from builders.reddit.ledger import Ledger\n"
            "with Ledger(pathlib.Path(sys.argv[1])).exclusive(): pass"
        )
        ended = subprocess.run(
            [sys.executable, "-c", other, str(path)], capture_output=True, text=True, check=False
        )
        assert "Busy" in ended.stderr
        assert "another run holds this ledger" in ended.stderr
        with pytest.raises(Busy):
            Ledger(path).append([A])
    Ledger(path).append([A])


def test_a_folder_in_the_ledgers_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger.jsonl").mkdir()
    with pytest.raises(StorageError, match="cannot be"):
        Ledger(tmp_path / "ledger.jsonl").append([A])


def test_a_folder_in_the_place_of_what_is_written_anew_is_told(tmp_path: Path) -> None:
    (tmp_path / ".ledger.jsonl.tmp").mkdir()
    with pytest.raises(StorageError, match="cannot be"):
        Ledger(tmp_path / "ledger.jsonl").append([A])


def test_a_ledger_without_the_newer_fields_is_read(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_text('{"id":"abc12","status":"ok","checked":"2024-05-17","origin":"api"}\n')
    assert list(ledger.latest().values()) == [entry("abc12")]


def test_the_lines_are_json_with_sorted_keys(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append([A])
    line = ledger.path.read_text(encoding="utf-8")
    assert "Größe" in line
    assert list(json.loads(line)) == sorted(json.loads(line))
    assert datetime.date.fromisoformat(json.loads(line)["checked"]) == kit.TODAY

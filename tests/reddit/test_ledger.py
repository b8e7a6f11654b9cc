from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import Busy, SourceSchema, StorageError, UsageError
from builders.reddit.ledger import Ledger
from builders.reddit.submission import Status, Submission
from tests.reddit import kit


def entry(name: str, status: Status = Status.OK, **fields: Any) -> Submission:
    return Submission(id=name, status=status, checked=kit.TODAY, origin="api", **fields)


A = entry("abc12", title="Erster Zug", body="Größe?\n\u2028Ende", subreddit="bahn")
B = entry("abc13", title="Zweiter Zug")


def test_the_last_answer_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "neu/ledger.sqlite")
    assert ledger.latest() == {}
    ledger.append([A, B])
    ledger.append([])
    ledger.append([entry("abc12", Status.DELETED)])
    assert list(ledger.latest().values()) == [entry("abc12", Status.DELETED), B]
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_a_ledger_that_others_may_read_is_closed_to_them_when_it_is_opened(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.append([A])
    ledger.path.chmod(0o644)  # as one that was copied back from a backup
    assert list(ledger.latest()) == [A.id]
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
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    entries = [entry(f"abc{number:03}", title=a, body=b) for number, (a, b) in enumerate(texts)]
    ledger.append(entries)
    assert list(ledger.latest().values()) == entries


def tampered(path: Path, statement: str, *values: Any) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("id", "ABC12"),
        ("status", "weg"),
        ("checked", "gestern"),
        ("subreddit", "zwei worte"),
        ("title", None),
    ],
)
def test_a_row_that_is_no_answer_is_named(tmp_path: Path, column: str, value: Any) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.append([A, B])
    tampered(ledger.path, f"UPDATE submissions SET {column} = ? WHERE id = 'abc13'", value)
    with pytest.raises(SourceSchema, match=r"ledger\.sqlite, row 2: ") as caught:
        ledger.latest()
    assert caught.value.hint
    assert "Zug" not in caught.value.message


@pytest.mark.parametrize(
    "damage", [b"PK\x03\x04" * 300, b"SQLite format 3\x00" + b"x" * 4096, b'{"id": "abc1']
)
def test_another_file_in_the_ledgers_place_is_refused(tmp_path: Path, damage: bytes) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.path.write_bytes(damage)
    for act in (ledger.latest, lambda: ledger.append([A])):
        with pytest.raises(SourceSchema, match="not a ledger, or a damaged one") as caught:
            act()
        assert "Remove the file" in caught.value.hint


def test_a_database_of_other_tables_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    tampered(ledger.path, "CREATE TABLE submissions (id, text)")
    with pytest.raises(SourceSchema, match="not a ledger"):
        ledger.latest()


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([0, 10, 300, 3_000, 30_000])), min_size=1, max_size=60
    )
)
@settings(max_examples=25)
def test_no_byte_of_a_replaced_text_is_left(
    tmp_path_factory: pytest.TempPathFactory, answers: list[tuple[int, int]]
) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")
    last: dict[int, int] = {}
    for turn, (number, length) in enumerate(answers):
        body = f"<{turn:03}>" * length
        ledger.append([entry(f"abc{number:03}", Status.OK if length else Status.DELETED, body=body)])
        last[number] = turn
    held = b"".join(path.read_bytes() for path in ledger.path.parent.iterdir())
    for turn, (number, length) in enumerate(answers):
        assert (f"<{turn:03}>".encode() in held) is (last[number] == turn and length > 0)


def test_a_kill_leaves_whole_batches(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    entries = [entry(f"abc{number:03}", body="Erster Zug " * 50) for number in range(400)]
    ledger.append(entries)
    killed = (
        "import os, pathlib, signal, sys\n"
        "from builders.reddit.ledger import Ledger\n"
        "with Ledger(pathlib.Path(sys.argv[1]))._open() as database:\n"
        "    database.execute('PRAGMA cache_size = 1')\n"
        "    database.execute(\"UPDATE submissions SET status = 'deleted', body = ''\")\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    ended = subprocess.run([sys.executable, "-c", killed, str(ledger.path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert ledger.path.with_name("ledger.sqlite-journal").exists()
    assert list(ledger.latest().values()) == entries
    ledger.append([entry.model_copy(update={"status": Status.DELETED, "body": ""}) for entry in entries])
    assert not [path for path in tmp_path.iterdir() if b"Erster Zug" in path.read_bytes()]


def test_who_holds_the_ledger_reads_it_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with ledger.exclusive():
        ledger.append([A])
        assert ledger.latest() == {A.id: A}
        tampered(ledger.path, "UPDATE submissions SET title = 'Von fremder Hand'")
        ledger.append([B])
        assert ledger.latest() == {A.id: A, B.id: B}
    assert ledger.latest()[A.id].title == "Von fremder Hand"


def test_answers_of_reddit_and_of_a_stand_in_are_kept_apart(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.keep_apart(stand_in=False)
    ledger.keep_apart(stand_in=True)  # nothing was answered yet
    ledger.append([A])
    ledger.keep_apart(stand_in=True)
    with pytest.raises(UsageError, match="holds answers of a stand-in, and Reddit would be asked"):
        ledger.keep_apart(stand_in=False)


def test_two_runs_at_once_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
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


def test_a_ledger_that_another_program_holds_open_is_named_as_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.append([A])
    monkeypatch.setattr("sqlite3.connect", partial(sqlite3.connect, timeout=0))
    with contextlib.closing(sqlite3.connect(ledger.path)) as browser:
        browser.execute("BEGIN EXCLUSIVE")
        for act in (ledger.latest, lambda: ledger.append([B])):
            with pytest.raises(Busy, match="another program holds this ledger") as caught:
                act()
            assert caught.value.hint.startswith("Close the program")
    assert list(ledger.latest()) == [A.id]


def test_a_folder_in_the_ledgers_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(StorageError, match="cannot be"):
        Ledger(tmp_path / "ledger.sqlite").append([A])

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceMissing, SourceSchema
from builders.sources.reddit.ledger import read_statuses, statuses, write_statuses
from builders.sources.reddit.model import Status, Submission
from tests.sources.reddit import kit

HEADER = "id\tstatus\tsubreddit\tchecked\n"
GOOD = "abc12\tok\tbahn\t2024-05-17\n"


def frame() -> pl.DataFrame:
    entries = [
        Submission(id="zz1aa", status=Status.MISSING, checked=kit.TODAY, origin="api"),
        Submission(
            id="abc12",
            status=Status.OK,
            checked=kit.TOMORROW,
            origin="dump",
            subreddit="bahn",
            title="Mein Titel",
            body="Mein Text",
        ),
    ]
    return statuses(entries)


def test_a_dated_ledger_has_no_word_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "ledger.tsv"
    write_statuses(path, frame())
    assert (
        path.read_bytes() == HEADER.encode() + b"abc12\tok\tbahn\t2024-05-18\nzz1aa\tmissing\t\t2024-05-17\n"
    )
    assert read_statuses(path).equals(frame())


def test_equal_rows_are_equal_bytes(tmp_path: Path) -> None:
    write_statuses(tmp_path / "a.tsv", frame())
    write_statuses(tmp_path / "b.tsv", frame().reverse())
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()


def test_an_empty_ledger_has_its_header_alone(tmp_path: Path) -> None:
    write_statuses(tmp_path / "a.tsv", statuses([]))
    assert (tmp_path / "a.tsv").read_text(encoding="utf-8") == HEADER
    assert read_statuses(tmp_path / "a.tsv").equals(statuses([]))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: not the header"),
        ('{"abc12": "ok"}\n', "line 1: not the header"),
        ("id\tstatus\tchecked\nabc12\tok\t2024-05-17\n", "line 1: not the header"),
        (HEADER + GOOD + "abc13\tok\tbahn\n", "line 3: .*not 4 fields"),
        (HEADER + GOOD + "abc13\tok\tbahn\t2024-05-17\tmehr\n", "line 3: .*not 4 fields"),
        (HEADER + GOOD + "\n" + GOOD, "line 3: .*not 4 fields"),
        (HEADER + GOOD + '{"id": "abc13"}\n', "line 3: .*not 4 fields"),
        (HEADER + GOOD + "ABC13\tok\tbahn\t2024-05-17\n", r"line 3: 'ABC13' \(id\)"),
        (HEADER + "abc13 \tok\tbahn\t2024-05-17\n", r"line 2: 'abc13 ' \(id\)"),
        (HEADER + "abc13\tweg\tbahn\t2024-05-17\n", r"line 2: 'weg' \(status\)"),
        (HEADER + "abc13\tok\tzwei worte\t2024-05-17\n", r"line 2: 'zwei worte' \(subreddit\)"),
        (HEADER + "abc13\tok\tbahn\t17.5.2024\n", r"line 2: '17.5.2024' \(checked\)"),
        (HEADER + "abc13\tok\tbahn\t2024-02-30\n", r"line 2: '2024-02-30' \(checked\)"),
        (HEADER + GOOD + GOOD, r"line 3: 'abc12' \(id\): stands there twice"),
        (HEADER + GOOD.strip(), "cut off"),
        (HEADER + GOOD.replace("\n", "\r\n"), "line 2: .*checked"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "ledger.tsv"
    path.write_bytes(text.encode())
    with pytest.raises(SourceSchema, match=problem) as caught:
        read_statuses(path)
    assert caught.value.hint


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.tsv").write_bytes(HEADER.encode() + b"\xff\xfe\n")
    with pytest.raises(SourceSchema, match="not UTF-8"):
        read_statuses(tmp_path / "ledger.tsv")


def test_a_missing_ledger_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing) as caught:
        read_statuses(tmp_path / "ledger.tsv")
    assert "mteb-de hydrate subreddit" in caught.value.hint

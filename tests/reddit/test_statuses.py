from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders.errors import SourceMissing, SourceSchema
from builders.reddit.dated_ledger import is_stand_in, read_statuses, statuses, write_statuses
from builders.reddit.submission import Status, Submission
from tests.reddit import kit

HEADER = "id\tstatus\tsubreddit\tchecked\torigin\tarchive\n"
GOOD = "abc12\tok\tbahn\t2024-05-17\tapi\t\n"
ARCHIVE = f"RS_2024-05.zst@{'ab' * 32}"
KNOWN = {"ab" * 32: "RS_2024-05.zst"}


def frame() -> pl.DataFrame:
    entries = [
        Submission(id="zz1aa", status=Status.MISSING, checked=kit.TODAY, origin="api"),
        Submission(
            id="abc12",
            status=Status.OK,
            checked=kit.TOMORROW,
            origin="dump",
            archive=ARCHIVE,
            subreddit="bahn",
            title="Mein Titel",
            body="Mein Text",
        ),
    ]
    return statuses(entries, archives=KNOWN)


def test_a_dated_ledger_has_no_word_of_a_text(tmp_path: Path) -> None:
    path = tmp_path / "ledger.tsv"
    write_statuses(path, frame())
    rows = f"abc12\tok\tbahn\t2024-05-18\tdump\t{ARCHIVE}\nzz1aa\tmissing\t\t2024-05-17\tapi\t\n"
    assert path.read_bytes() == (HEADER + rows).encode()
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
        (HEADER + GOOD + "abc13\tok\tbahn\n", "line 3: .*not 6 fields"),
        (HEADER + GOOD + "abc13\tok\tbahn\t2024-05-17\tapi\t\tmehr\n", "line 3: .*not 6 fields"),
        (HEADER + GOOD + '{"id": "abc13"}\n', "line 3: .*not 6 fields"),
        (HEADER + GOOD + "ABC13\tok\tbahn\t2024-05-17\tapi\t\n", r"line 3: 'ABC13' \(id\)"),
        (HEADER + "abc13 \tok\tbahn\t2024-05-17\tapi\t\n", r"line 2: 'abc13 ' \(id\)"),
        (HEADER + "abc13\tweg\tbahn\t2024-05-17\tapi\t\n", r"line 2: 'weg' \(status\)"),
        (HEADER + "abc13\tok\tzwei worte\t2024-05-17\tapi\t\n", r"line 2: 'zwei worte' \(subreddit\)"),
        (HEADER + "abc13\tok\tbahn\t17.5.2024\tapi\t\n", r"line 2: '17.5.2024' \(checked\)"),
        (HEADER + "abc13\tok\tbahn\t2024-02-30\tapi\t\n", r"line 2: '2024-02-30' \(checked\)"),
        (HEADER + GOOD + GOOD, r"line 3: 'abc12' \(id\): stands there twice"),
        (HEADER + GOOD.strip(), "cut off"),
        (HEADER + "\n" + GOOD + "\r\n" + GOOD, r"line 5: 'abc12' \(id\): stands there twice"),
        (HEADER + "abc13\tok\tbahn\t2024-05-17\tirgendwoher\t\n", r"line 2: 'irgendwoher' \(origin\)"),
        (HEADER + "abc13\tok\tbahn\t2024-05-17\t\t\n", r"line 2: '' \(origin\)"),
        (HEADER + "abc13\tok\tbahn\t2024-05-17\tdump\tRS.zst\n", r"line 2: 'RS.zst' \(archive\)"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "ledger.tsv"
    path.write_bytes(text.encode())
    with pytest.raises(SourceSchema, match=problem) as caught:
        read_statuses(path)
    assert caught.value.hint


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_an_editor_adds_to_a_ledger_is_forgiven(tmp_path: Path, mark: str) -> None:
    (tmp_path / "a.tsv").write_bytes((mark + HEADER + "\n" + GOOD + " \n").replace("\n", "\r\n").encode())
    (tmp_path / "b.tsv").write_bytes((HEADER + GOOD).encode())
    assert read_statuses(tmp_path / "a.tsv").equals(read_statuses(tmp_path / "b.tsv"))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "ledger.tsv").write_bytes(HEADER.encode() + b"\xff\xfe\n")
    with pytest.raises(SourceSchema, match="not UTF-8"):
        read_statuses(tmp_path / "ledger.tsv")


def test_a_missing_ledger_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing) as caught:
        read_statuses(tmp_path / "ledger.tsv")
    assert "mteb-de hydrate subreddit" in caught.value.hint


def test_what_comes_from_a_stand_in_is_marked_line_by_line(tmp_path: Path) -> None:
    entries = [Submission(id="abc12", status=Status.MISSING, checked=kit.TODAY, origin="api")]
    made_up = statuses(entries, stand_in=True)
    assert made_up["origin"].to_list() == ["stand-in"]
    write_statuses(tmp_path / "a.tsv", frame())
    assert not is_stand_in(tmp_path / "a.tsv", KNOWN)
    write_statuses(tmp_path / "a.tsv", pl.concat([frame(), made_up.with_columns(id=pl.lit("qq1qq"))]))
    assert is_stand_in(tmp_path / "a.tsv", KNOWN)


@pytest.mark.parametrize("archive", ["", f"RS_2024-05.zst@{'cd' * 32}"])
def test_a_dump_of_an_unknown_hash_is_a_stand_in_however_it_is_written(tmp_path: Path, archive: str) -> None:
    made = Submission(id="abc12", status=Status.OK, checked=kit.TODAY, origin="dump", archive=archive)
    assert statuses([made], archives=KNOWN)["origin"].to_list() == ["stand-in"]
    write_statuses(tmp_path / "a.tsv", statuses([made]).with_columns(origin=pl.lit("dump")))
    assert is_stand_in(tmp_path / "a.tsv", KNOWN)


def test_what_could_not_be_read_again_is_never_written(tmp_path: Path) -> None:
    path = tmp_path / "ledger.tsv"
    write_statuses(path, frame())
    before = path.read_bytes()
    with pytest.raises(SourceSchema, match=r"line 2: 'zwei worte' \(subreddit\)"):
        write_statuses(path, frame().with_columns(subreddit=pl.lit("zwei worte")))
    assert path.read_bytes() == before

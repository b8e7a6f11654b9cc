from __future__ import annotations

import datetime
import gzip
import json
import random
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard

from builders.errors import SourceError, SourceMissing
from builders.reddit import dump
from builders.reddit.submission import Status, Submission
from tests.reddit import kit

IDS = kit.names(4000)


def packed(path: Path, data: bytes, **options: Any) -> Path:
    path.write_bytes(zstandard.ZstdCompressor(**options).compress(data))
    return path


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def read(path: Path, wanted: list[str]) -> list[Submission]:
    return list(dump.read_dump(path, wanted, checked=kit.TODAY))


def umlauts(name: str) -> dict[str, Any]:
    """Return a submission whose length in bytes varies, so that chunks end within characters."""
    length = int(name, 36) % 97
    return kit.submission(name, selftext="äöüß🚋" * length, title=f"Größe {length} &amp; Maß")


def test_no_character_is_torn_where_a_chunk_ends(tmp_path: Path) -> None:
    path = packed(tmp_path / "RS_2023-01.zst", lines([umlauts(name) for name in IDS]), level=1)
    found = read(path, IDS)
    assert [entry.id for entry in found] == IDS
    assert {entry.id: entry.body for entry in found} == {name: umlauts(name)["selftext"] for name in IDS}
    assert all(entry.title.endswith("& Maß") for entry in found)
    assert {(entry.origin, entry.checked) for entry in found} == {("dump", kit.TODAY)}


def test_only_what_is_wanted_comes_back(tmp_path: Path) -> None:
    path = packed(tmp_path / "RS.zst", lines([umlauts(name) for name in IDS[:50]]).rstrip(b"\n"))
    assert [entry.id for entry in read(path, [IDS[49], IDS[3], "zzzzzz"])] == [IDS[3], IDS[49]]


def test_long_windows_and_several_frames_are_read(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=31, enable_ldm=True)
    packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    long = packer.compress(lines([umlauts(name) for name in IDS[:20]])) + packer.flush()
    small = zstandard.ZstdCompressor().compress(lines([umlauts(name) for name in IDS[20:40]]))
    (tmp_path / "RS.zst").write_bytes(long + small)
    assert [entry.id for entry in read(tmp_path / "RS.zst", IDS)] == IDS[:40]


@pytest.mark.parametrize("share", [0.01, 0.3, 0.66, 0.9])
def test_a_dump_that_is_cut_off_is_an_error(tmp_path: Path, share: float) -> None:
    path = packed(tmp_path / "RS.zst", lines([umlauts(name) for name in IDS]))
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(SourceError, match=r"RS\.zst: the file is cut off"):
        read(path, IDS)


def test_a_cut_after_a_whole_line_is_found_as_well(tmp_path: Path) -> None:
    packer = zstandard.ZstdCompressor().compressobj()
    data = packer.compress(lines([umlauts(name) for name in IDS[:5]])) + packer.flush(
        zstandard.COMPRESSOBJ_FLUSH_BLOCK
    )
    (tmp_path / "RS.zst").write_bytes(data)
    with pytest.raises(SourceError, match="cut off"):
        read(tmp_path / "RS.zst", IDS)


BAD = [
    b"{",
    b"[]",
    b"7",
    b'{"title": "x"}',
    b'{"id": 7}',
    b'{"id": "abc12", "title": "\xff"}',
    b"[" * 200_000,
    b"\0" * 500 + b'{"id": "abc12"}',
]


@pytest.mark.parametrize("line", BAD)
def test_a_bad_line_is_passed_over_and_named(tmp_path: Path, line: bytes) -> None:
    good = [umlauts(name) for name in IDS[:150]]
    path = packed(tmp_path / "RS.zst", lines(good[:2]) + line + b"\n" + lines(good[2:]))
    said: list[str] = []
    found = list(dump.read_dump(path, IDS, checked=kit.TODAY, say=said.append))
    assert [entry.id for entry in found] == IDS[:150]
    (told,) = said
    assert told.startswith(f"{path}: 1 of 151 lines are no submissions: line 3 (")


def test_one_bad_line_of_a_few_is_passed_over_but_not_of_one(tmp_path: Path) -> None:
    path = packed(tmp_path / "RS.zst", BAD[0] + b"\n" + lines([umlauts(IDS[0])]))
    assert [entry.id for entry in read(path, IDS)] == IDS[:1]
    with pytest.raises(SourceError, match="1 of 1 lines are no submissions"):
        read(packed(tmp_path / "RS.zst", BAD[0] + b"\n"), IDS)


@pytest.mark.parametrize("field", ["title", "selftext", "subreddit"])
def test_a_dump_whose_fields_are_no_texts_is_refused_by_file_line_and_field(
    tmp_path: Path, field: str
) -> None:
    wrong = [umlauts(name) | {field: number} for number, name in enumerate(IDS[:50])]
    path = packed(tmp_path / "RS.zst", lines(wrong))
    with pytest.raises(
        SourceError, match=rf"RS\.zst: 50 of 50 .*line 1 \(its {field} is no text\)"
    ) as caught:
        list(dump.read_dump(path, IDS, checked=kit.TODAY, most_bad=1))
    assert "--bad-lines" not in caught.value.hint  # nothing of it is whole


def test_a_dump_of_comments_is_no_dump_in_which_submissions_are_missing(tmp_path: Path) -> None:
    comments = [{"id": name, "body": "Fährt nicht.", "subreddit": "fahrplan"} for name in IDS[:50]]
    with pytest.raises(SourceError, match=r"RC\.zst: none of its lines has a title"):
        read(packed(tmp_path / "RC.zst", lines(comments)), IDS)


def test_more_bad_lines_than_a_share_are_an_error_that_can_be_waived(tmp_path: Path) -> None:
    good = lines([umlauts(name) for name in IDS[:93]])
    path = packed(tmp_path / "RS.zst", b"\n".join(BAD[:7]) + b"\n" + good)
    with pytest.raises(
        SourceError, match=r"7 of 100 lines .*line 1 \(not JSON.*…; at most 1% may be"
    ) as caught:
        read(path, IDS)
    assert "--bad-lines" in caught.value.hint
    assert "will not help" in caught.value.hint
    found = list(dump.read_dump(path, IDS, checked=kit.TODAY, most_bad=1))
    assert [entry.id for entry in found] == IDS[:93]


def test_what_an_editor_adds_to_a_dump_is_forgiven(tmp_path: Path) -> None:
    rows = lines([umlauts(name) for name in IDS[:3]]).replace(b"\n", b"\r\n\r\n")
    said: list[str] = []
    path = packed(tmp_path / "RS.zst", b"\xef\xbb\xbf" + rows + b" \n")
    assert len(list(dump.read_dump(path, IDS, checked=kit.TODAY, say=said.append))) == 3
    assert said == []


def test_a_half_of_a_character_is_dropped(tmp_path: Path) -> None:
    row = json.dumps(kit.submission(IDS[0], title="Hallo \ud83d Welt", selftext="\udc00x")).encode()
    (found,) = read(packed(tmp_path / "RS.zst", row), IDS)
    assert (found.title, found.body) == ("Hallo  Welt", "x")


def test_a_wanted_line_without_a_title_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    rows = [umlauts(IDS[0]), {"id": IDS[1]}, {"id": IDS[2], "title": 7}, umlauts(IDS[3]), {"id": "zzzzz"}]
    found = read(packed(tmp_path / "RS.zst", lines(rows)), IDS)
    assert [entry.id for entry in found] == [IDS[0], IDS[1], IDS[3]]
    assert [entry.status for entry in found] == [Status.OK, Status.MISSING, Status.OK]


def test_a_dump_that_holds_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"RS\.zst: holds no submission"):
        read(packed(tmp_path / "RS.zst", b""), IDS)


@pytest.mark.parametrize(
    ("fields", "day"),
    [
        ({"retrieved_on": 1_700_000_000}, datetime.date(2023, 11, 14)),
        ({"retrieved_utc": 1_700_000_000.5}, datetime.date(2023, 11, 14)),
        (
            {"retrieved_on": 1_600_000_000, "_meta": {"retrieved_2nd_on": 1_700_000_000}},
            datetime.date(2023, 11, 14),
        ),
        ({"retrieved_on": 1_900_000_000}, kit.TODAY),
        ({"retrieved_on": -5}, kit.TODAY),
        ({"retrieved_on": 10**30}, kit.TODAY),
        ({"retrieved_on": "gestern", "_meta": []}, kit.TODAY),
        ({"retrieved_on": True}, kit.TODAY),
        ({"created_utc": 1_700_000_000}, kit.TODAY),
    ],
)
def test_a_submission_was_seen_on_the_day_of_the_dump_if_it_tells(
    tmp_path: Path, fields: dict[str, Any], day: datetime.date
) -> None:
    (found,) = read(packed(tmp_path / "RS.zst", lines([kit.submission(IDS[0], **fields)])), IDS)
    assert found.checked == day


def test_old_lines_lack_fields_and_new_ones_tell_of_deletions(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": IDS[0], "title": "Alt", "subreddit": "bahn", "author": "x"},
        kit.submission(IDS[1], _meta={"was_deleted_later": True, "removal_type": "deleted"}),
        kit.submission(IDS[2], _meta={"was_deleted_later": True, "removal_type": "removed by reddit"}),
        kit.submission(IDS[3], selftext="NA"),
    ]
    found = read(packed(tmp_path / "RS.zst", lines(rows)), IDS)
    assert [entry.status for entry in found] == [Status.OK, Status.DELETED, Status.REMOVED, Status.OK]
    assert [entry.body for entry in found] == ["", "", "", "NA"]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "the file is cut off"),
        (b'{"id": "abc12", "title": "x"}\n', "not a Zstandard file"),
        (b"PK\x03\x04" + b"x" * 100, "not a Zstandard file"),
        (gzip.compress(b'{"id": "abc12"}\n', mtime=0), "a gzip file, not a Zstandard file"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 100, "a damaged Zstandard file"),
    ],
)
def test_what_is_no_dump_is_refused(tmp_path: Path, data: bytes, what: str) -> None:
    (tmp_path / "RS.zst").write_bytes(data)
    with pytest.raises(SourceError, match=rf"RS\.zst: {what}"):
        read(tmp_path / "RS.zst", IDS)


def test_a_missing_dump_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"RS\.zst"):
        read(tmp_path / "RS.zst", IDS)


def test_memory_does_not_grow_with_the_dump(tmp_path: Path) -> None:
    rng = random.Random(1)
    peaks = []
    for copies in (200, 4000):
        rows = [kit.submission("abc12", selftext=rng.randbytes(2000).hex()) for _ in range(copies)]
        path = packed(tmp_path / f"RS_{copies}.zst", lines(rows))
        del rows
        tracemalloc.start()
        assert sum(1 for _ in dump.read_dump(path, ["abc12"], checked=kit.TODAY)) == copies
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2 * peaks[0]


def test_a_hostile_dump_is_unpacked_bit_by_bit(tmp_path: Path) -> None:
    path = packed(tmp_path / "RS.zst", b"x" * (100 << 20), level=1)
    tracemalloc.start()
    with pytest.raises(SourceError, match="a line has more than"):
        read(path, IDS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150 << 20

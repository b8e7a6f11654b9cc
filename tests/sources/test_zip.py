from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from builders.errors import SourceError, SourceMissing, StorageError
from builders.sources import containers
from builders.sources.containers import zip_lines

NAMES = ("eins.txt", "zwei.txt")
METHODS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
CONTENT = {"eins.txt": b"Kohl\nR\xc3\xbcbe", "zwei.txt": b"\nLauch\r\n"}


def packed(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as target:
        for name, data in members.items():
            target.writestr(zipfile.ZipInfo(name), data, method)
    return sink.getvalue()


def write(folder: Path, data: bytes) -> Path:
    path = folder / "sammlung.zip"
    path.write_bytes(data)
    return path


def read(path: Path) -> list[tuple[str, int, bytes]]:
    return list(zip_lines(path, NAMES))


def test_lines_of_the_named_members_in_order(tmp_path: Path) -> None:
    other = {"lies_mich.md": b"Text", **dict(reversed(CONTENT.items()))}
    assert read(write(tmp_path, packed(other))) == [
        ("eins.txt", 1, b"Kohl\n"),
        ("eins.txt", 2, b"R\xc3\xbcbe"),
        ("zwei.txt", 1, b"\n"),
        ("zwei.txt", 2, b"Lauch\r\n"),
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["sammlung.zip"]


def test_members_are_found_in_a_folder_of_the_archive(tmp_path: Path) -> None:
    members = {f"daten/{name}": data for name, data in CONTENT.items()} | {"daten/": b""}
    assert len(read(write(tmp_path, packed(members)))) == 4


def test_lines_come_before_the_rest_is_read(tmp_path: Path) -> None:
    data = packed({"eins.txt": b"gut\n" * 10, "zwei.txt": b"x" * 100_000}, zipfile.ZIP_STORED)
    damaged = data.replace(b"x" * 100, b"y" * 100, 1)
    lines = zip_lines(write(tmp_path, damaged), NAMES)
    assert next(lines) == ("eins.txt", 1, b"gut\n")
    with pytest.raises(SourceError, match="damaged zip archive"):
        list(lines)


_ENTRY = b"PK\x01\x02\x14\x03\x14\x00"  # of the central directory; the next two bytes are flags
_LINE = {**CONTENT, "zwei.txt": bytes(range(1, 10)) * 200_000}
BAD = {
    "a web page": b"<!DOCTYPE html>\n<html>404</html>",
    "not a zip archive": b"Kein Archiv",
    "is not a zip archive, or a part": packed(CONTENT)[:-30],
    "member 'eins.txt' is encrypted": packed(CONTENT).replace(_ENTRY + b"\x00\x00", _ENTRY + b"\x01\x00"),
    "does not stay inside": packed({**CONTENT, "../boese.txt": b"x"}),
    "'/etc/passwd' does not stay inside": packed({**CONTENT, "/etc/passwd": b"x"}),
    "looks like a bomb: .* would become 20,000,000": packed({**CONTENT, "zwei.txt": bytes(20_000_000)}),
    "damaged zip archive": packed(CONTENT, zipfile.ZIP_STORED).replace(b"Kohl", b"Kahl", 1),
    "line 1 has over 1,048,576 bytes": packed(_LINE, zipfile.ZIP_STORED),
    "1,003 members, more than 1,000": packed({**CONTENT, **{f"{n}.txt": b"" for n in range(1001)}}),
}  # fmt: skip


@pytest.mark.parametrize(("message", "data"), BAD.items(), ids=BAD)
def test_what_is_not_safe_to_read_is_refused(message: str, data: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, data)
    with pytest.raises(SourceError, match=message) as error:
        read(path)
    assert str(path) in error.value.message
    assert error.value.hint
    assert [file.name for file in tmp_path.iterdir()] == ["sammlung.zip"]


def test_nothing_is_read_from_an_archive_with_one_bad_member(tmp_path: Path) -> None:
    lines = zip_lines(write(tmp_path, packed({**CONTENT, "../boese.txt": b"x"})), NAMES)
    with pytest.raises(SourceError):
        next(lines)


def test_members_that_unpack_to_too_much_together_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "_LARGEST", 100)
    members = {"eins.txt": bytes(range(60)), "zwei.txt": bytes(range(60))}
    with pytest.raises(SourceError, match="unpacks to 120 bytes, more than 100"):
        read(write(tmp_path, packed(members)))


def test_a_member_that_is_larger_than_it_says_gives_no_more(tmp_path: Path) -> None:
    data = packed({"eins.txt": b"a\n" * 500_000, "zwei.txt": b"b"})
    size, told = (500_000 * 2).to_bytes(4, "little"), (10).to_bytes(4, "little")
    assert data.count(size) == 2
    with pytest.raises(SourceError, match="damaged"):
        read(write(tmp_path, data.replace(size, told)))


@pytest.mark.parametrize("members", [{"eins.txt": b""}, {**CONTENT, "kopie/eins.txt": b""}])
def test_a_member_must_be_there_once(members: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"has [02] members called '(eins|zwei)\.txt'; it holds 'eins"):
        read(write(tmp_path, packed(members)))


def test_a_missing_archive(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no such file"):
        read(tmp_path / "sammlung.zip")


def test_an_archive_that_cannot_be_opened_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot be read \(Is a directory\)"):
        read(tmp_path)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 300), st.binary(min_size=1, max_size=4), st.sampled_from(METHODS))
@example(at=48, junk=b"\xff\xff", method=zipfile.ZIP_LZMA)  # an error of lzma's own
def test_damage_is_an_error_of_ours_or_harmless(tmp_path: Path, at: int, junk: bytes, method: int) -> None:
    data = packed(CONTENT, method)
    at = min(at, len(data) - len(junk))
    path = write(tmp_path, data[:at] + junk + data[at + len(junk) :])
    try:
        lines = read(path)
    except SourceError:
        return
    assert zlib.crc32(b"".join(line for name, _, line in lines if name == "eins.txt")) == zlib.crc32(
        CONTENT["eins.txt"]
    )


@pytest.mark.parametrize("method", [9, 93])
def test_a_method_that_is_not_known_here_is_no_damage(tmp_path: Path, method: int) -> None:
    data = bytearray(packed(CONTENT))
    for signature, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = data.find(signature)
        data[start + place : start + place + 2] = method.to_bytes(2, "little")
    with pytest.raises(SourceError, match=f"cannot be read here .method {method} of member") as caught:
        read(write(tmp_path, bytes(data)))
    assert "damaged" not in caught.value.message
    assert "will not help" in caught.value.hint


def test_a_newer_form_of_zip_is_no_damage(tmp_path: Path) -> None:
    data = bytearray(packed(CONTENT))
    start = data.find(b"PK\x01\x02")
    data[start + 6] = 99  # the version that is needed to read the member
    with pytest.raises(SourceError, match="cannot be read here") as caught:
        read(write(tmp_path, bytes(data)))
    assert "will not help" in caught.value.hint

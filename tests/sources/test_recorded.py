"""Plain files whose hash stands in the committed lock."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from builders.errors import SourceChanged, SourceMissing
from builders.sources import fetch, verify_against
from builders.spec import RecordedFile
from tests.sources.loopback import Loopback

DATA = b"was heute dort liegt"
PATH = "/archiv/sammlung.zip"


@pytest.fixture
def source(server: Loopback) -> RecordedFile:
    server.files[PATH] = DATA
    return RecordedFile("sammlung.zip", server.url + PATH, "cc-by-nc-4.0")


@pytest.mark.parametrize("offline", [False, True])
def test_without_a_recorded_hash_nothing_is_fetched(
    source: RecordedFile, server: Loopback, home: Path, offline: bool
) -> None:
    with pytest.raises(SourceMissing, match="no hash of it is recorded") as error:
        fetch([source], offline=offline, root=home)
    assert source.url in error.value.message
    assert "--update-lock" in error.value.hint and "MTEB_DE_SOURCES" in error.value.hint
    assert server.log == []
    assert not home.exists()


def test_recording_fetches_once_and_pins_from_then_on(
    source: RecordedFile, server: Loopback, home: Path
) -> None:
    lines: list[str] = []
    recorded = fetch([source], offline=False, root=home, record=True, progress=lines.append)
    digest = hashlib.sha256(DATA).hexdigest()
    (lock,) = recorded.locks
    assert (lock.kind, lock.name, lock.licence) == ("http", "sammlung.zip", "cc-by-nc-4.0")
    assert [(file.path, file.sha256, file.size) for file in lock.files] == [(source.url, digest, len(DATA))]
    assert digest in lines[-1]

    server.log.clear()
    again = fetch([source], offline=True, root=home, recorded=recorded.locks)
    assert again == recorded
    assert server.log == []
    verify_against(again.locks, recorded.locks)


def test_other_bytes_than_recorded_are_refused(
    source: RecordedFile, server: Loopback, home: Path, tmp_path: Path
) -> None:
    recorded = fetch([source], offline=False, root=home, record=True)
    server.files[PATH] = DATA + b" und mehr"
    for record in (False, True):
        with pytest.raises(SourceChanged, match="is not the pinned file") as error:
            fetch([source], offline=False, root=tmp_path / "kalt", recorded=recorded.locks, record=record)
        assert recorded.locks[0].files[0].sha256 in error.value.message
        assert "committed lock" in error.value.hint


def test_offline_nothing_can_be_recorded(source: RecordedFile, server: Loopback, home: Path) -> None:
    with pytest.raises(SourceMissing, match="no hash of it is recorded"):
        fetch([source], offline=True, root=home, record=True)
    assert server.log == []


def test_a_folder_stands_in_without_any_hash(
    source: RecordedFile, server: Loopback, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "sammlung.zip").write_bytes(b"ein Ersatz")
    fetched = fetch([source], offline=True, sources_from=[str(tmp_path)], root=home)
    assert fetched.locks[0].kind == "folder"
    assert fetched.files["sammlung.zip"] == [tmp_path / "sammlung.zip"]
    assert server.log == []


def test_a_lock_of_a_stand_in_records_nothing(
    source: RecordedFile, server: Loopback, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "sammlung.zip").write_bytes(b"ein Ersatz")
    stand_in = fetch([source], offline=True, sources_from=[str(tmp_path)], root=home)
    with pytest.raises(SourceMissing, match="no hash of it is recorded"):
        fetch([source], offline=False, root=home, recorded=stand_in.locks)

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import files
from builders.errors import StorageError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@contextlib.contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond `size` bytes, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@given(data=st.binary())
def test_what_is_written_is_read_and_hashed(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("files") / "a" / "b"
    files.write_bytes(path, b"before")
    files.write_bytes(path, data)
    assert path.read_bytes() == data
    assert files.sha256(path) == hashlib.sha256(data).hexdigest()
    assert names(path.parent) == ["b"]


def test_a_file_larger_than_a_chunk_is_hashed_whole(tmp_path: Path) -> None:
    data = bytes(range(256)) * 5_000
    files.write_bytes(tmp_path / "large", data)
    assert files.sha256(tmp_path / "large") == hashlib.sha256(data).hexdigest()


@given(document=json_values)
def test_json_comes_back_and_order_of_keys_does_not_matter(document: object) -> None:
    data = files.json_bytes(document)
    assert json.loads(data) == document
    assert data.endswith(b"\n")
    if isinstance(document, dict):
        assert files.json_bytes(dict(reversed(document.items()))) == data


def test_json_keeps_umlauts_readable(tmp_path: Path) -> None:
    files.write_json(tmp_path / "x.json", {"b": "Prüfer", "a": 1})
    assert (tmp_path / "x.json").read_text(encoding="utf-8") == '{\n "a": 1,\n "b": "Prüfer"\n}\n'


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_everybody_may_read_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        files.write_bytes(tmp_path / "x", b"x")
    finally:
        os.umask(before)
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_a_write_that_is_given_up_leaves_what_was_there(tmp_path: Path, fault: type[BaseException]) -> None:
    path = tmp_path / "x"
    files.write_bytes(path, b"before")
    with pytest.raises(fault), files.atomic(path) as file:
        file.write(b"half")
        file.flush()
        assert path.read_bytes() == b"before"
        raise fault
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("size", [1, 5_000, 3_000_000])
def test_a_full_disk_leaves_what_was_there(tmp_path: Path, size: int) -> None:
    path = tmp_path / "x"
    files.write_bytes(path, b"before")
    with largest_file(size - 1), pytest.raises(StorageError, match="x: cannot be written") as told:
        files.write_bytes(path, b"x" * size)
    assert "Free some space" in told.value.hint
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["x"]


@pytest.mark.parametrize("place", ["file", "file/x", "file/x/y"])
def test_a_file_on_the_way_is_named_and_kept(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    path = tmp_path / place / "out"
    with pytest.raises(StorageError, match="cannot be written") as told:
        files.write_bytes(path, b"x")
    assert str(path) in told.value.message
    assert "a file, not a folder" in told.value.hint
    assert (tmp_path / "file").read_bytes() == b"mine"


def test_a_folder_in_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x" / "y").mkdir(parents=True)
    with pytest.raises(StorageError, match="cannot be written"):
        files.write_bytes(tmp_path / "x", b"x")
    with pytest.raises(StorageError, match="cannot be removed"):
        files.remove(tmp_path / "x")
    assert names(tmp_path) == ["x"]
    assert names(tmp_path / "x") == ["y"]


def test_removing_what_is_not_there_is_no_fault(tmp_path: Path) -> None:
    files.write_bytes(tmp_path / "x", b"x")
    for _ in range(2):
        files.remove(tmp_path / "x")
        assert names(tmp_path) == []
    files.remove(tmp_path / "nowhere" / "x")


def test_hashing_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StorageError, match="cannot be read"):
            files.sha256(path)


def test_killed_in_a_write_what_was_there_stays_and_the_rest_is_swept(tmp_path: Path) -> None:
    path = tmp_path / "x"
    files.write_bytes(path, b"before")
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom builders.files import atomic\n"
        "with atomic(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half')\n    file.flush()\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    root = Path(__file__).parents[1]
    ended = subprocess.run([sys.executable, "-c", program, str(path)], cwd=root, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"before"
    assert len(names(tmp_path)) == 2
    (tmp_path / "folder").mkdir()
    for kept in (".hidden", "x.tmp", "folder/.x.y.tmp"):
        (tmp_path / kept).write_bytes(b"mine")
    files.sweep(tmp_path)
    assert names(tmp_path) == [".hidden", "folder", "x", "x.tmp"]
    assert names(tmp_path / "folder") == [".x.y.tmp"]
    files.sweep(tmp_path / "nowhere")


def write_often(path: Path, byte: bytes) -> None:
    for _ in range(40):
        files.write_bytes(path, byte * 100_000)


def test_a_reader_sees_one_whole_file_while_others_write(tmp_path: Path) -> None:
    path = tmp_path / "x"
    files.write_bytes(path, b"0" * 100_000)
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write_often, args=(path, byte)) for byte in (b"1", b"2")]
    for writer in writers:
        writer.start()
    seen = set()
    while any(writer.is_alive() for writer in writers):
        data = path.read_bytes()
        assert len(data) == 100_000
        assert len(set(data)) == 1
        seen.add(data[:1])
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert seen >= {b"0"}
    assert names(tmp_path) == ["x"]

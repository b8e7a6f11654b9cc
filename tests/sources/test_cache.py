from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from builders.errors import StorageError
from builders.sources.cache import Cache, CacheMiss, Stored


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def put(cache: Cache, name: str, data: bytes) -> Stored:
    with cache.workspace("test", lambda _: None, keep=False) as folder:
        (folder / "part").write_bytes(data)
        return cache.adopt("files", name, folder / "part")


def test_a_file_is_found_under_its_hash_and_upstream_name(home: Path) -> None:
    cache = Cache(home)
    assert cache.find("files", digest(b"Brot"), "b.zip") is CacheMiss.ABSENT
    stored = put(cache, "b.zip", b"Brot")
    assert cache.find("files", digest(b"Brot"), "b.zip") == stored
    assert stored == Stored(home / "files" / digest(b"Brot") / "b.zip", digest(b"Brot"), 4)
    assert stored.path.read_bytes() == b"Brot"
    assert cache.find("stand-ins/x", digest(b"Brot"), "b.zip") is CacheMiss.ABSENT


def test_the_cache_can_be_moved(home: Path, tmp_path: Path) -> None:
    put(Cache(home), "1", b"x")
    home.rename(tmp_path / "elsewhere")
    found = Cache(tmp_path / "elsewhere").find("files", digest(b"x"), "1")
    assert isinstance(found, Stored) and found.path.read_bytes() == b"x"


def test_what_is_found_has_the_hash_of_its_folder(home: Path) -> None:
    cache = Cache(home)
    target = put(cache, "1", b"richtig").path
    target.chmod(0o644)
    target.write_bytes(b"falsch!")
    assert cache.find("files", digest(b"richtig"), "1") is CacheMiss.DAMAGED
    put(cache, "1", b"richtig")
    assert isinstance(cache.find("files", digest(b"richtig"), "1"), Stored)


def test_a_file_that_is_gone_or_no_file_is_absent(home: Path) -> None:
    cache = Cache(home)
    path = put(cache, "1", b"x").path
    path.unlink()
    assert cache.find("files", digest(b"x"), "1") is CacheMiss.ABSENT
    path.mkdir()
    assert cache.find("files", digest(b"x"), "1") is CacheMiss.ABSENT


def test_a_workspace_forgets_or_keeps(home: Path) -> None:
    cache = Cache(home)
    for keep in (False, True):
        with pytest.raises(RuntimeError), cache.workspace("w", lambda _: None, keep=keep) as folder:
            (folder / "part").write_bytes(b"x")
            raise RuntimeError
        assert (home / "partial/w/part").exists() == keep
    with cache.workspace("w", lambda _: None, keep=False) as folder:
        assert list(folder.iterdir()) == []


def test_another_process_waits_for_the_workspace_and_says_so(home: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom builders.sources.cache import Cache\n"
        "def say(line): print(line, flush=True)\n"
        "with Cache(Path(sys.argv[1])).workspace('w', say, keep=True) as folder:\n"
        "    print((folder / 'part').read_text())\n"
    )
    with Cache(home).workspace("w", lambda _: None, keep=True) as folder:
        other = subprocess.Popen(
            [sys.executable, "-c", program, str(home)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        assert other.stdout is not None
        assert "waiting" in other.stdout.readline()
        (folder / "part").write_text("fertig", encoding="utf-8")
    with other:
        assert other.stdout.read().strip() == "fertig"
    assert other.returncode == 0


def test_a_root_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    cache = Cache(tmp_path / "file" / "home")
    assert cache.find("files", digest(b"x"), "1") is CacheMiss.ABSENT
    with pytest.raises(StorageError, match="file") as error:
        put(cache, "1", b"x")
    assert "MTEB_DE_HOME" in error.value.hint


def test_finding_writes_nothing(home: Path) -> None:
    put(Cache(home), "1", b"x")
    before = {path: path.lstat().st_mtime_ns for path in home.rglob("*")}
    Cache(home).find("files", digest(b"x"), "1")
    assert {path: path.lstat().st_mtime_ns for path in home.rglob("*")} == before

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from builders.errors import StorageError
from builders.sources.cache import Cache, Lost, Stored
from builders.sources.hub import Resolved


def put(cache: Cache, place: str, data: bytes) -> Stored:
    with cache.workspace("test", lambda _: None, keep=False) as folder:
        (folder / "part").write_bytes(data)
        return cache.adopt(place, folder / "part", hashlib.sha256(data).hexdigest())


def found(cache: Cache, place: str) -> Stored:
    entry = cache.find(place)
    assert isinstance(entry, Stored)
    return entry


def test_a_file_is_found_under_its_upstream_name(home: Path) -> None:
    cache = Cache(home)
    assert cache.find("hub/x/y/a/b.parquet") is Lost.ABSENT
    stored = put(cache, "hub/x/y/a/b.parquet", b"Brot")
    assert found(cache, "hub/x/y/a/b.parquet") == stored
    assert stored.path == home / "views/hub/x/y/a/b.parquet"
    assert (stored.path.read_bytes(), stored.size, stored.sha256) == (
        b"Brot",
        4,
        hashlib.sha256(b"Brot").hexdigest(),
    )


def test_equal_bytes_are_kept_once(home: Path) -> None:
    cache = Cache(home)
    first, second = put(cache, "a/1", b"gleich"), put(cache, "b/2", b"gleich")
    assert first.path.resolve() == second.path.resolve()
    assert len([path for path in (home / "objects").rglob("*") if path.is_file()]) == 1


def test_the_cache_can_be_moved(home: Path, tmp_path: Path) -> None:
    put(Cache(home), "a/1", b"x")
    home.rename(tmp_path / "elsewhere")
    assert found(Cache(tmp_path / "elsewhere"), "a/1").path.read_bytes() == b"x"


def test_what_is_found_has_the_hash_of_its_name(home: Path) -> None:
    cache = Cache(home)
    target = put(cache, "a/1", b"richtig").path.resolve()
    target.chmod(0o644)
    target.write_bytes(b"falsch!")
    assert cache.find("a/1") is Lost.DAMAGED
    put(cache, "b/2", b"richtig")
    assert found(cache, "a/1").path.read_bytes() == b"richtig"


def test_a_link_to_anything_else_is_not_a_file_of_the_cache(home: Path, tmp_path: Path) -> None:
    cache = Cache(home)
    put(cache, "a/1", b"x")
    (tmp_path / "secret").write_text("x", encoding="utf-8")
    for target in (tmp_path / "secret", Path("nowhere"), tmp_path / ("0" * 64)):
        (home / "views/a/2").unlink(missing_ok=True)
        (home / "views/a/2").symlink_to(target)
        assert cache.find("a/2") is Lost.ABSENT
    (home / "views/a/3").write_text("a plain file", encoding="utf-8")
    assert cache.find("a/3") is Lost.ABSENT


def test_an_object_that_is_gone_is_absent(home: Path) -> None:
    cache = Cache(home)
    put(cache, "a/1", b"x").path.resolve().unlink()
    assert cache.find("a/1") is Lost.ABSENT


def test_notes_come_back_or_not_at_all(home: Path) -> None:
    cache, note = Cache(home), Resolved(commit="0" * 40, endpoint="")
    assert cache.note("a/b.json", Resolved) is None
    cache.write_note("a/b.json", note)
    assert cache.note("a/b.json", Resolved) == note
    (home / "notes/a/b.json").write_bytes(b'{"commit": "')
    assert cache.note("a/b.json", Resolved) is None


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
    assert cache.find("a/1") is Lost.ABSENT
    with pytest.raises(StorageError, match="file") as error:
        put(cache, "a/1", b"x")
    assert "MTEB_DE_HOME" in error.value.hint
    with pytest.raises(StorageError, match="file"):
        cache.write_note("a.json", Resolved(commit="", endpoint=""))


def test_finding_writes_nothing(home: Path) -> None:
    put(Cache(home), "a/1", b"x")
    before = {path: path.lstat().st_mtime_ns for path in home.rglob("*")}
    found(Cache(home), "a/1")
    Cache(home).note("a.json", Resolved)
    assert {path: path.lstat().st_mtime_ns for path in home.rglob("*")} == before

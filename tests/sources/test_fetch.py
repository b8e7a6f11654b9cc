from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from builders.errors import SourceChanged, SourceMissing, UsageError
from builders.lock.lock import LockedSource, SourceFile
from builders.sources import fetch, verify_against
from builders.spec import HttpSource
from tests.sources.loopback import Loopback
from tests.sources.samples import FILES, NAME, SOURCE, WANTED, lay_out, repo

PINNED = b"die gepinnte Datei"
OTHER = b"ein Ersatz"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def file_source(server: Loopback) -> HttpSource:
    server.files["/echt/sammlung.zip"] = PINNED
    url = f"{server.url}/echt/sammlung.zip"
    return HttpSource("sammlung.zip", url, digest(PINNED), len(PINNED), "cc0-1.0")


def test_several_sources_in_order(hub: Loopback, file_source: HttpSource, home: Path) -> None:
    hub.repos[NAME] = repo()
    lines: list[str] = []
    fetched = fetch([file_source, SOURCE], offline=False, root=home, progress=lines.append)
    assert [(lock.kind, lock.name) for lock in fetched.locks] == [("http", "sammlung.zip"), ("hub", NAME)]
    assert set(fetched.files) == {"sammlung.zip", "corpus", "qrels"}
    assert [line.split(" (")[0] for line in lines] == [
        "sammlung.zip",
        f"{NAME}: README.md",
        *(f"{NAME}: {path}" for paths in WANTED.values() for path in paths),
    ]


def test_folders_stand_in_for_both_kinds(
    hub: Loopback, file_source: HttpSource, home: Path, tmp_path: Path
) -> None:
    first, second = tmp_path / "dateien", lay_out(tmp_path / "hub")
    first.mkdir()
    (first / "sammlung.zip").write_bytes(OTHER)
    for offline in (False, True):
        fetched = fetch(
            [SOURCE, file_source], offline=offline, sources_from=[str(first), str(second)], root=home
        )
        assert [(lock.kind, lock.revision, lock.resolved) for lock in fetched.locks] == [
            ("folder", "", "")
        ] * 2
        assert fetched.locks[1].files == (
            SourceFile(part="sammlung.zip", path="sammlung.zip", sha256=digest(OTHER), size=len(OTHER)),
        )
        assert fetched.files["sammlung.zip"] == [first / "sammlung.zip"]
        assert fetched.files["corpus"][0].read_bytes() == FILES[WANTED["corpus"][0]]
    assert hub.log == [] and not home.exists()


def test_a_folder_without_the_source_leaves_it_to_the_upstream(
    hub: Loopback, file_source: HttpSource, home: Path, tmp_path: Path
) -> None:
    hub.repos[NAME] = repo()
    fetched = fetch([SOURCE, file_source], offline=False, sources_from=[str(tmp_path)], root=home)
    assert [lock.kind for lock in fetched.locks] == ["hub", "http"]


def test_a_base_url_stands_in_for_plain_files(server: Loopback, file_source: HttpSource, home: Path) -> None:
    server.files["/ersatz/sammlung.zip"] = OTHER
    for base in (f"{server.url}/ersatz", f"{server.url}/ersatz/"):
        fetched = fetch([file_source], offline=False, sources_from=[f"{server.url}/leer", base], root=home)
        assert fetched.files["sammlung.zip"][0].read_bytes() == OTHER
        assert (fetched.locks[0].kind, fetched.locks[0].files[0].sha256) == ("folder", digest(OTHER))
    server.files["/ersatz/sammlung.zip"] = OTHER + b", neu"
    again = fetch([file_source], offline=False, sources_from=[f"{server.url}/ersatz"], root=home)
    assert again.files["sammlung.zip"][0].read_bytes() == OTHER + b", neu"
    assert [path for path in (home / "partial").iterdir() if path.suffix != ".lock"] == []
    server.log.clear()
    assert fetch([file_source], offline=True, sources_from=[f"{server.url}/ersatz"], root=home) == again
    assert server.log == []


def test_what_stood_in_never_passes_for_the_pinned_file(
    server: Loopback, file_source: HttpSource, home: Path
) -> None:
    server.files["/ersatz/sammlung.zip"] = OTHER
    fetch([file_source], offline=False, sources_from=[f"{server.url}/ersatz"], root=home)
    with pytest.raises(SourceMissing, match=r"sammlung\.zip"):
        fetch([file_source], offline=True, root=home)
    assert fetch([file_source], offline=False, root=home).files["sammlung.zip"][0].read_bytes() == PINNED


def test_a_place_that_is_not_there_is_bad_usage(home: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nowhere") as error:
        fetch([], offline=True, sources_from=[str(tmp_path / "nowhere")], root=home)
    assert "MTEB_DE_SOURCES" in error.value.hint


def test_two_parts_of_one_name_are_refused(file_source: HttpSource, home: Path) -> None:
    with pytest.raises(UsageError, match=r"'sammlung\.zip'"):
        fetch([file_source, file_source], offline=True, root=home)


def test_the_default_cache_is_the_home(
    server: Loopback, file_source: HttpSource, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MTEB_DE_HOME", str(home))
    assert home in fetch([file_source], offline=False).files["sammlung.zip"][0].parents


def test_importing_loads_no_client() -> None:
    heavy = {"huggingface_hub", "httpx2", "pyarrow", "datasets", "requests"}
    program = f"import sys, builders.sources; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.strip() == "[]"


def lock(
    *files: tuple[str, bytes], kind: str = "hub", name: str = "x/y", resolved: str = "a" * 40
) -> LockedSource:
    return LockedSource.model_validate({
        "kind": kind,
        "name": name,
        "revision": resolved[:10],
        "resolved": resolved,
        "files": tuple(
            {"part": "rows", "path": path, "sha256": digest(data), "size": len(data)} for path, data in files
        ),
    })


def test_equal_sources_agree_with_the_lock() -> None:
    one, two = lock(("a", b"1"), ("b", b"2")), lock(("c", b"3"), kind="http", name="c", resolved="")
    verify_against([one, two], [two, one])
    verify_against([], [])


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ([lock(("a", b"1"), ("b", b"4"))], ["x/y: b:", digest(b"2"), digest(b"4")]),
        ([lock(("a", b"1"))], ["x/y: b (part rows) is gone"]),
        ([lock(("a", b"1"), ("b", b"2"), ("c", b""))], ["x/y: c (part rows) is new"]),
        ([lock(("a", b"1"), ("b", b"2"), resolved="b" * 40)], ["a" * 40, "b" * 40]),
        ([lock(("a", b"1"), ("b", b"2"), kind="http", resolved="")], ["a" * 40, "http"]),
        ([lock(name="z")], ["x/y: locked, and no longer", "z: a source that the lock does not know"]),
        ([], ["x/y: locked, and no longer"]),
    ],
)
def test_every_difference_is_named_with_what_to_do(now: list[LockedSource], words: list[str]) -> None:
    with pytest.raises(SourceChanged) as error:
        verify_against(now, [lock(("a", b"1"), ("b", b"2"))])
    assert all(word in error.value.message for word in words)
    assert "--update-lock" in error.value.hint


def test_stand_ins_are_not_compared() -> None:
    committed = [lock(("a", b"1"))]
    verify_against([lock(("a", b"2"), kind="folder", resolved="")], committed)

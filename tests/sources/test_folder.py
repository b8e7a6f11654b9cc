from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from builders.errors import SourceError, SourceMissing
from builders.sources import Fetched, fetch
from builders.spec import HubSource, Part
from tests.sources.samples import FILES, NAME, README, SOURCE, WANTED, lay_out


def get(root: Path, source: HubSource = SOURCE) -> Fetched:
    return fetch([source], offline=True, sources_from=[str(root)], root=root / "home")


def test_files_where_they_lie_and_a_lock_without_a_pin(tmp_path: Path) -> None:
    fetched = get(lay_out(tmp_path))
    files, (lock,) = fetched.files, fetched.locks
    base = tmp_path / "datasets" / NAME
    assert files == {part: [base / path for path in paths] for part, paths in WANTED.items()}
    assert (lock.kind, lock.name, lock.revision, lock.resolved, lock.licence) == (
        "folder",
        NAME,
        "",
        "",
        "cc-by-4.0",
    )
    assert [(file.part, file.path, file.sha256, file.size) for file in lock.files] == [
        (part, path, hashlib.sha256(FILES[path]).hexdigest(), len(FILES[path]))
        for part, paths in WANTED.items()
        for path in paths
    ]


@pytest.mark.parametrize("absent", ["README.md", "corpus/", "data/train-00.parquet"])
def test_what_is_missing_is_named(tmp_path: Path, absent: str) -> None:
    lay_out(tmp_path, {path: data for path, data in FILES.items() if not path.startswith(absent)})
    with pytest.raises(SourceMissing, match=absent.rstrip("/")):
        get(tmp_path)


@pytest.mark.parametrize("pattern", ["../../../../etc/passwd", "/etc/passwd", "../fragen/corpus/*"])
def test_a_readme_that_leaves_its_folder_is_refused(tmp_path: Path, pattern: str) -> None:
    lay_out(tmp_path, FILES | {"README.md": README.replace("corpus/corpus-*", pattern).encode()})
    with pytest.raises(SourceError, match="does not stay inside"):
        get(tmp_path)


def test_a_readme_beyond_all_measure_is_not_read(tmp_path: Path) -> None:
    lay_out(tmp_path)
    with (tmp_path / "datasets" / NAME / "README.md").open("wb") as file:
        os.truncate(file.fileno(), 5 << 20)
    with pytest.raises(SourceError, match=r"README\.md has more"):
        get(tmp_path)


@pytest.mark.upstream
def test_the_stand_in_upstreams_can_be_fetched() -> None:
    beside = Path(__file__).parents[2] / ".." / "shared" / "upstream"
    root = Path(os.environ.get("MTEB_DE_UPSTREAM", beside)) / "hub"
    if not root.is_dir():
        pytest.skip("no stand-in upstreams")
    parts = (Part("corpus", ("corpus",)), Part("queries", ("queries",)), Part("qrels", ("qrels", "default")))
    fetched = get(root, HubSource("mteb/GermanDPR", "64a4860e55", "cc-by-4.0", parts))
    files, (lock,) = fetched.files, fetched.locks
    assert {part: len(paths) for part, paths in files.items()} == {"corpus": 1, "queries": 1, "qrels": 1}
    assert {file.part: file.path.split("/")[0] for file in lock.files}["qrels"] == "data"
    jobs = HubSource(
        "mischeiwiller/german-job-postings", "d49f1e4243", "cc-by-4.0", (Part("rows", ("default",)),)
    )
    assert get(root, jobs).locks[0].files[0].size > 0

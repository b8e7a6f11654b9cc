from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders.release.plan import make_plan
from builders.release.rehearse import rehearse
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, TARGET, api_of, loopback, write_release


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyHub]:
    with loopback(monkeypatch) as running:
        yield running


@pytest.fixture(scope="session")
def _built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_release(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="session")
def _rehearsed(tmp_path_factory: pytest.TempPathFactory, _built: Path) -> Path:
    out = tmp_path_factory.mktemp("rehearsed") / "dist"
    shutil.copytree(_built, out)
    with pytest.MonkeyPatch.context() as patch, loopback(patch) as hub:
        make_plan(out, RELEASE, TARGET, api=api_of(hub))
    rehearse(out, RELEASE)
    return out


@pytest.fixture
def out(tmp_path: Path, _built: Path) -> Path:
    """A built release without a plan."""
    shutil.copytree(_built, tmp_path / "dist")
    return tmp_path / "dist"


@pytest.fixture
def rehearsed(tmp_path: Path, _rehearsed: Path) -> Path:
    """A built release with a plan for a repository that does not exist, and its receipt."""
    shutil.copytree(_rehearsed, tmp_path / "rehearsed")
    return tmp_path / "rehearsed"

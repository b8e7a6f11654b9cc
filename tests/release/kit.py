"""A built release on disk, and a Hub on loopback to publish it to."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import HfApi

from builders import files
from builders.describe import Target
from builders.lock.manifest import work_folder, write_manifest
from builders.lock.model import Lock
from builders.rehearsal import WRITE_TOKEN, Hub, Store, serve
from tests.describe.kit import build

RELEASE = "mteb-de"
REPO = "verein/mteb-de"
TARGET = Target(REPO, "1.0.0", datetime.date(2026, 1, 5))
CONFIGS = {
    "germandpr-corpus", "germandpr-queries", "germandpr-qrels",
    "jobs-corpus", "jobs-queries", "jobs-qrels", "jobs-hard_negatives",
}  # fmt: skip


def write_release(out: Path, change: Callable[[Lock], Lock] = lambda lock: lock) -> Path:
    """Write a small release with locks and manifest under `out`, as a build does."""
    for lock in build(out / RELEASE, dev_negatives=False).locks:
        files.write_json(work_folder(out, lock.config) / "lock.json", change(lock).model_dump(mode="json"))
    write_manifest(out, RELEASE)
    return out


@contextmanager
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Run a Hub whose maintainer belongs to the owner of `REPO`, for clients in this process."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    with serve(Store(orgs=[TARGET.owner])) as hub:
        yield hub


def api_of(hub: Hub, token: str = WRITE_TOKEN) -> HfApi:
    """Return a client of that Hub."""
    return HfApi(endpoint=hub.endpoint, token=token)

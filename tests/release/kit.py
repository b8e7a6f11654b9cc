"""A built release on disk, and a Hub on loopback to publish it to."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import huggingface_hub
import polars as pl
import pytest
from huggingface_hub import HfApi

from builders import files
from builders.describe import Target
from builders.lock.committed import splits_path
from builders.lock.lock import Lock, locks_of, read_lock, work_folder, write_manifest
from builders.prepare.splits import write_splits
from builders.rehearsal import WRITE_TOKEN, Hub, Store
from builders.rehearsal.store import Repo
from builders.release.plan import make_plan, read_plan, read_receipt, receipt_path
from builders.release.publish import Applied, push
from builders.tables import SPLITS, Kind, Table, encode, inside, published_path
from tests.describe.kit import build
from tests.rehearsal.kit import FaultyHub, serve

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


def commit_splits(out: Path, beside: Path) -> Path:
    """Commit the splits of what was built, as `build --update-lock` does; return the folder."""
    for lock in locks_of(out, RELEASE).values():
        paths = {split: out / RELEASE / published_path(lock.config, Kind.QUERIES, split) for split in SPLITS}
        tables = ((split, pl.read_parquet(path)) for split, path in paths.items())
        rows = [table.select(query_id="_id", split=pl.lit(split)) for split, table in tables]
        write_splits(
            splits_path(beside, lock.config), pl.concat(rows).with_columns(group_hash=pl.lit("0" * 16))
        )
    return beside


def rewrite(out: Path, path: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    """Change the rows of a built table as another build would: file, lock and manifest."""
    dataset, kind, name = path.split("/")
    rows = inside(kind, change(pl.read_parquet(out / RELEASE / path)))
    data, locked = encode(Table(dataset, Kind(kind), name.removesuffix(".parquet"), rows))
    files.write_bytes(out / RELEASE / path, data)
    relock(
        out,
        dataset,
        lambda lock: lock.model_copy(
            update={"files": tuple(locked if file.path == path else file for file in lock.files)}
        ),
    )


def relock(out: Path, dataset: str, change: Callable[[Lock], Lock]) -> None:
    """Change a lock, and the manifest with it."""
    path = work_folder(out, dataset) / "lock.json"
    files.write_json(path, change(read_lock(path)).model_dump(mode="json"))
    write_manifest(out, RELEASE)


def without(out: Path, dataset: str) -> None:
    """Take a dataset out of a built release, as if it had never been built."""
    shutil.rmtree(out / RELEASE / dataset)
    shutil.rmtree(work_folder(out, dataset))
    write_manifest(out, RELEASE)


def publish(hub: Hub, out: Path, version: str = "1.0.0") -> Applied:
    """Publish a built release without a rehearsal."""
    plan = make_plan(out, RELEASE, dataclasses.replace(TARGET, version=version), api=api_of(hub))
    return push(plan, out / RELEASE, api_of(hub))


def least(hub: Hub, out: Path) -> str:
    """Return the version that a plan gets by itself."""
    return make_plan(out, RELEASE, TARGET, least=True, api=api_of(hub)).version


def edit(path: Path, **changes: object) -> None:
    """Change fields of a JSON document on disk, and its seal with them if it has one."""
    fields = json.loads(path.read_bytes())
    has_seal = fields.pop("sha256", "")
    fields |= changes
    seal = {"sha256": hashlib.sha256(files.json_bytes(fields)).hexdigest()} if has_seal else {}
    files.write_json(path, fields | seal)


def forge_receipt(out: Path) -> None:
    """Let a receipt name the plan that is there, as if that one had been rehearsed."""
    plan, receipt = read_plan(out, RELEASE), read_receipt(out, RELEASE)
    files_read = {file.path: file.sha256 for file in plan.files}
    forged = receipt.model_copy(update={"plan": plan.seal, "tag": plan.tag, "files": files_read})
    forged.write(receipt_path(out, RELEASE))


def repo_of(hub: Hub) -> Repo:
    return hub.store.repo("dataset", REPO)


def writes(hub: Hub) -> list[str]:
    """Paths of the requests that could have changed something."""
    return [request.path for request in hub.log if request.method not in {"GET", "HEAD"}]


@contextmanager
def loopback(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultyHub]:
    """Run a Hub whose maintainer belongs to the owner of `REPO`, for clients in this process."""
    with serve(Store(orgs=[TARGET.owner])) as hub:
        turn_to(hub.endpoint, monkeypatch)
        yield hub


def turn_to(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Hub's client in this process, which has read its settings, talk to another endpoint."""
    constants = huggingface_hub.constants
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", WRITE_TOKEN)


def api_of(hub: Hub, token: str | bool = WRITE_TOKEN) -> HfApi:
    """Return a client of that Hub."""
    return HfApi(endpoint=hub.endpoint, token=token)

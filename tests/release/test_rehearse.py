from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from builders import files
from builders.errors import Drift, Refused, RemoteError
from builders.lock.lock import Lock
from builders.rehearsal import Hub, Request
from builders.release.plan import Plan, make_plan, plan_path, read_plan, read_receipt, receipt_path
from builders.release.rehearse import _check_wire, rehearse
from tests.release.kit import CONFIGS, RELEASE, REPO, TARGET, api_of, write_release


def test_the_receipt_names_the_plan_and_everything_that_was_read(rehearsed: Path) -> None:
    receipt, plan = read_receipt(rehearsed, RELEASE), read_plan(rehearsed, RELEASE)
    assert receipt.plan == json.loads(plan_path(rehearsed, RELEASE).read_bytes())["sha256"]
    assert receipt.files == {file.path: file.sha256 for file in plan.files}
    assert (receipt.repo, receipt.tag) == (REPO, "v1.0.0")
    assert set(receipt.rows) == CONFIGS
    assert receipt.rows["germandpr-queries"] == {"train": 5, "dev": 2, "test": 3}
    assert set(receipt.rows["jobs-hard_negatives"]) == {"train", "test"}, (
        "no client loads a split without rows"
    )
    assert receipt.requests > len(plan.files)
    assert set(receipt.tools) == {"datasets", "huggingface-hub", "pyarrow"}


def test_a_later_version_is_rehearsed_on_its_parent_and_other_values_leave_no_receipt(
    tmp_path: Path, hub: Hub
) -> None:
    def other_values(lock: Lock) -> Lock:
        changed = [
            file.model_copy(update={"content": "0" * 64} if "queries/dev" in file.path else {})
            for file in lock.files
        ]
        return lock.model_copy(update={"files": tuple(changed)})

    out = write_release(tmp_path, other_values)
    hub.store.add_files("dataset", REPO, {"README.md": b"alt", "v0/alter text.parquet": b"x"})
    hub.store.repo("dataset", REPO).private = True
    private = dataclasses.replace(TARGET, private=True)
    plan = make_plan(out, RELEASE, private, api=api_of(hub))
    assert (plan.delete, plan.private) == (("v0/alter text.parquet",), True)
    before = len(hub.log)
    with pytest.raises(Drift) as caught:
        rehearse(out, RELEASE)
    assert caught.value.message.splitlines()[1:] == [
        "germandpr-queries/dev: other values than the manifest's",
        "jobs-queries/dev: other values than the manifest's",
    ]
    assert "Nothing was published" in caught.value.hint
    assert not receipt_path(out, RELEASE).exists()
    assert len(hub.log) == before, "a rehearsal talks to its own Hub only"


def test_what_the_hub_would_refuse_is_refused_in_rehearsal(rehearsed: Path) -> None:
    folder, plan = rehearsed / RELEASE, read_plan(rehearsed, RELEASE)
    card = (folder / "README.md").read_bytes().replace(b"license: cc-by-4.0", b"license: cc-by-9.0", 1)
    files.write_bytes(folder / "README.md", card)
    with pytest.raises(Refused, match=r"README\.md"):
        rehearse(rehearsed, RELEASE)
    _replan(rehearsed, plan, card)
    with pytest.raises(RemoteError, match=r"refuses the card.*cc-by-9\.0"):
        rehearse(rehearsed, RELEASE)
    assert not receipt_path(rehearsed, RELEASE).exists()


def _replan(out: Path, plan: Plan, card: bytes) -> None:
    changes = {"sha256": hashlib.sha256(card).hexdigest(), "size": len(card)}
    planned = [file.model_copy(update=changes) if file.path == "README.md" else file for file in plan.files]
    changed = plan.model_copy(update={"files": tuple(planned)})
    changed.write(plan_path(out, RELEASE))


def _requests(plan: Plan, commit: str) -> list[Request]:
    def request(method: str, path: str, status: int) -> Request:
        return Request(method, path, status, authenticated=True)

    log = []
    for file in plan.files:
        page = f"/datasets/{REPO}/resolve/{commit}/{file.path}"
        if file.lfs:
            log += [
                request("HEAD", page, 302),
                request("GET", f"/storage/datasets/{REPO}/{commit}/{file.path}", 200),
            ]
        else:
            log += [request("HEAD", page, 200), request("GET", page, 200)]
    return log


@pytest.mark.parametrize("name", ["README.md", "jobs/qrels/test.parquet"])
def test_a_file_that_did_not_come_over_the_wire_is_found(rehearsed: Path, name: str) -> None:
    plan, commit = read_plan(rehearsed, RELEASE), "a" * 40
    log = _requests(plan, commit)
    _check_wire(plan, commit, log)

    def without(method: str) -> Sequence[Request]:
        return [request for request in log if not (request.method == method and request.path.endswith(name))]

    with pytest.raises(Drift, match=name):
        _check_wire(plan, commit, without("GET"))
    if name.endswith(".parquet"):
        with pytest.raises(Drift, match=name):
            _check_wire(plan, commit, without("HEAD"))
    with pytest.raises(Drift):
        _check_wire(plan, "b" * 40, log)

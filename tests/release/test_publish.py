from __future__ import annotations

import dataclasses
import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import HfApi

from builders.errors import MtebDeError, Refused, RemoteError, StorageError
from builders.hub import LONGEST_WAIT
from builders.rehearsal import READ_TOKEN, WRITE_TOKEN, Store, serve
from builders.rehearsal.store import Commit, Operation, Repo
from builders.release.plan import Plan, make_plan, plan_path, read_plan, receipt_path
from builders.release.publish import apply, push
from tests.marks import long_after
from tests.rehearsal.kit import FINE_GRAINED_TOKEN, STRANGER_TOKEN, FaultyHub
from tests.release.kit import RELEASE, REPO, TARGET, api_of, forge_receipt, repo_of, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

COMMIT = "/commit/main$"


def published(hub: FaultyHub) -> dict[str, str]:
    """Sha256 by path of the tagged commit."""
    repo = repo_of(hub)
    tree = repo.resolve("v1.0.0").tree
    data = {path: blob.data for path, blob in tree.items() if path != ".gitattributes"}
    return {path: hashlib.sha256(blob).hexdigest() for path, blob in data.items() if isinstance(blob, bytes)}


def planned(out: Path) -> dict[str, str]:
    return {file.path: file.sha256 for file in read_plan(out, RELEASE).files}


def assert_published_once(hub: FaultyHub, out: Path) -> None:
    assert published(hub) == planned(out)
    titles = [commit.title for commit in repo_of(hub).commits.values()]
    assert titles == ["initial commit", "mteb-de 1.0.0"]
    assert repo_of(hub).tags == {"v1.0.0": repo_of(hub).branches["main"]}


def replan(out: Path, **changes: Any) -> Plan:
    """Change the plan as a later version of it would, without a new receipt."""
    plan = read_plan(out, RELEASE).model_copy(update=changes)
    plan.write(plan_path(out, RELEASE))
    return plan


def replan_with_receipt(out: Path, **changes: Any) -> None:
    """Change plan and receipt alike, as if that plan had been rehearsed."""
    replan(out, **changes)
    forge_receipt(out)


def test_one_commit_one_tag_and_exactly_the_planned_bytes(rehearsed: Path, hub: FaultyHub) -> None:
    applied = apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)
    assert (applied.repo, applied.tag, applied.already) == (REPO, "v1.0.0", False)
    assert applied.commit == repo_of(hub).branches["main"]
    assert not repo_of(hub).private
    parents = [path for path in writes(hub) if path.endswith("/commit/main")]
    assert len(parents) == 1


def test_a_release_that_is_published_is_not_published_again(
    rehearsed: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    first = apply(rehearsed, RELEASE, api=api_of(hub))
    sent = writes(hub)
    shutil.copytree(rehearsed, tmp_path / "another maintainer's")
    for out, token in ((rehearsed, WRITE_TOKEN), (tmp_path / "another maintainer's", READ_TOKEN)):
        again = apply(out, RELEASE, api=api_of(hub, token))
        assert (again.commit, again.already) == (first.commit, True)
    hub.store.commit(repo_of(hub), "main", [], title="später")
    assert apply(rehearsed, RELEASE, api=api_of(hub)).commit == first.commit, "its tag stays where it is"
    assert writes(hub) == sent
    repo_of(hub).tags["v1.0.0"] = next(iter(repo_of(hub).commits))
    with pytest.raises(Refused, match=r"already has the tag v1\.0\.0 with other files") as caught:
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert repo_of(hub).tags["v1.0.0"] in caught.value.message and "higher version" in caught.value.hint
    assert writes(hub) == sent


def test_a_private_release_makes_a_private_repository(out: Path, hub: FaultyHub) -> None:
    plan = make_plan(out, RELEASE, dataclasses.replace(TARGET, private=True), api=api_of(hub))
    hub.store.create_repo("dataset", REPO)
    with pytest.raises(Refused, match="public"):
        push(plan, out / RELEASE, api_of(hub))
    hub.store.repos.clear()
    push(plan, out / RELEASE, api_of(hub))
    assert repo_of(hub).private


def test_a_later_version_replaces_the_files_and_deletes_what_is_gone(out: Path, hub: FaultyHub) -> None:
    hub.store.add_files("dataset", REPO, {"README.md": b"alt", "v0/alt.parquet": b"x", "v0/b.txt": b"b"})
    plan = make_plan(out, RELEASE, TARGET, api=api_of(hub))
    applied = push(plan, out / RELEASE, api_of(hub))
    assert published(hub) == planned(out)
    assert repo_of(hub).commits[applied.commit].parent == plan.parent
    assert ".gitattributes" in repo_of(hub).commits[applied.commit].tree


def test_without_a_plan_or_receipt_nothing_is_sent(rehearsed: Path, hub: FaultyHub) -> None:
    receipt_path(rehearsed, RELEASE).unlink()
    with pytest.raises(Refused, match="no receipt") as caught:
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert "rehearse" in caught.value.hint
    plan_path(rehearsed, RELEASE).unlink()
    with pytest.raises(StorageError, match="no plan"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert hub.log == []


def test_a_receipt_of_another_plan_is_refused(rehearsed: Path, hub: FaultyHub) -> None:
    replan(rehearsed, message="mteb-de 1.0.0, ein wenig anders")
    with pytest.raises(Refused, match="another plan"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert hub.log == []


@pytest.mark.parametrize("path", ["README.md", "jobs/qrels/test.parquet", "neu.txt"])
def test_bytes_changed_after_the_plan_are_refused(rehearsed: Path, hub: FaultyHub, path: str) -> None:
    with (rehearsed / RELEASE / path).open("ab") as file:
        file.write(b"\n")
    with pytest.raises(Refused, match=path):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert hub.log == []


def test_a_repository_that_moved_on_is_refused(rehearsed: Path, out: Path, hub: FaultyHub) -> None:
    hub.store.add_files("dataset", REPO, {"README.md": b"von jemand anderem"})
    with pytest.raises(Refused, match="has changed since"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    plan = make_plan(out, RELEASE, TARGET, api=api_of(hub))
    repo = repo_of(hub)
    hub.store.commit(repo, "main", [], title="dazwischen", parent=plan.parent)
    head = repo.branches["main"]
    with pytest.raises(Refused, match=head):
        push(plan, out / RELEASE, api_of(hub))
    assert (repo.branches["main"], repo.tags) == (head, {})
    assert writes(hub) == []


class Racing(Store):
    """A Hub where somebody else commits while our files are on their way."""

    def commit(self, repo: Repo, branch: str, operations: Iterable[Operation], **options: Any) -> Commit:
        if options["title"] != "dazwischen" and "dazwischen" not in {c.title for c in repo.commits.values()}:
            super().commit(repo, branch, [], title="dazwischen")
        return super().commit(repo, branch, operations, **options)


class Losing(Store):
    """A Hub that loses a file of every commit."""

    def commit(self, repo: Repo, branch: str, operations: Iterable[Operation], **options: Any) -> Commit:
        return super().commit(repo, branch, list(operations)[1:], **options)


@pytest.mark.parametrize(("kind", "error", "named"), [
    (Racing, Refused, "has changed since"),
    (Losing, RemoteError, r"LICENSE-CC-BY-4\.0\.txt: missing"),
])  # fmt: skip
def test_a_commit_that_is_not_the_planned_one_is_never_tagged(
    rehearsed: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Store],
    error: type[MtebDeError],
    named: str,
) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
    with serve(kind(orgs=[TARGET.owner])) as hub:
        with pytest.raises(error, match=named):
            apply(rehearsed, RELEASE, api=api_of(hub))
        assert repo_of(hub).tags == {}


@pytest.mark.parametrize("drop", [False, True])
def test_a_commit_whose_answer_was_lost_is_recognised(rehearsed: Path, hub: FaultyHub, drop: bool) -> None:
    hub.fault("POST", COMMIT, 504, after=True, drop=drop)
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


def test_a_commit_that_failed_is_an_error_and_can_be_applied_again(rehearsed: Path, hub: FaultyHub) -> None:
    hub.fault("POST", COMMIT, 503)
    with pytest.raises(RemoteError, match="503"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert repo_of(hub).tags == {} and len(repo_of(hub).commits) == 1
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


def test_a_tag_whose_answer_was_lost_and_a_tag_that_failed(rehearsed: Path, hub: FaultyHub) -> None:
    waited: list[float] = []
    hub.fault("POST", "/tag/", 503, times=3)
    with pytest.raises(
        RemoteError, match=r"main has moved to \w{40}.*tagging it v1\.0\.0: the Hub answered 503"
    ):
        apply(rehearsed, RELEASE, api=api_of(hub), sleep=waited.append)
    hub.fault("POST", "/tag/", 503)
    hub.fault("POST", "/tag/", 504, after=True)
    apply(rehearsed, RELEASE, api=api_of(hub), sleep=waited.append)
    assert_published_once(hub, rehearsed)
    assert len(waited) == 3


def test_a_tag_is_believed_only_when_it_is_read_back(rehearsed: Path, hub: FaultyHub) -> None:
    waited: list[float] = []
    hub.fault("POST", "/tag/", 200, times=3)
    with pytest.raises(RemoteError, match=r"main has moved.*does not list the tag") as caught:
        apply(rehearsed, RELEASE, api=api_of(hub), sleep=waited.append)
    assert "same command again" in caught.value.hint and waited
    assert repo_of(hub).tags == {}
    hub.fault("POST", "/tag/", 200)
    apply(rehearsed, RELEASE, api=api_of(hub), sleep=waited.append)
    assert_published_once(hub, rehearsed)


@pytest.mark.parametrize(
    ("method", "pattern"), [("GET", "whoami"), ("POST", "/repos/create$"), ("POST", COMMIT)]
)
def test_an_answer_that_no_hub_gives(rehearsed: Path, hub: FaultyHub, method: str, pattern: str) -> None:
    hub.fault(method, pattern, 200)
    with pytest.raises(RemoteError, match="does not answer as a Hub does"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


@pytest.mark.parametrize("status", [409, 412])
def test_a_conflict_although_main_has_not_moved_is_tried_again_and_told_as_what_it_is(
    rehearsed: Path, hub: FaultyHub, status: int
) -> None:
    waited: list[float] = []
    hub.fault("POST", COMMIT, status, times=3)
    with pytest.raises(RemoteError, match=rf"main is still at \w{{40}}: the Hub answered {status}") as caught:
        apply(rehearsed, RELEASE, api=api_of(hub), sleep=waited.append)
    assert "plan" not in caught.value.hint and len(waited) == 2
    hub.fault("POST", COMMIT, status)
    hub.fault("POST", "/api/repos/create$", status)
    apply(rehearsed, RELEASE, api=api_of(hub), sleep=waited.append)
    assert_published_once(hub, rehearsed)


def test_a_repository_that_somebody_else_makes_meanwhile_will_do(rehearsed: Path, hub: FaultyHub) -> None:
    hub.fault("POST", "/api/repos/create$", 409, meanwhile=lambda: hub.store.create_repo("dataset", REPO))
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


@pytest.mark.parametrize("status", long_after(2, [200, 500, 401, 404, 409]))
@pytest.mark.parametrize("pattern", ["/tree/", "/refs$"])
def test_whatever_fails_after_the_commit_says_that_main_has_moved(
    rehearsed: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch, pattern: str, status: int
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client repeats a listing that fails
    api = api_of(hub)
    made = api.create_commit

    def then_fails(*args: Any, **options: Any) -> Any:
        commit = made(*args, **options)
        hub.fault("GET", pattern, status, times=9)
        return commit

    api.create_commit = then_fails  # type: ignore[method-assign]  # the moment between two requests
    with pytest.raises(MtebDeError, match=r"main has moved to \w{40}") as caught:
        apply(rehearsed, RELEASE, api=api, sleep=lambda seconds: None)
    assert caught.value.exit_code == 2 and "same command again" in caught.value.hint
    hub.faults.clear()
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


def test_a_rate_limit_is_waited_for_within_bounds(rehearsed: Path, hub: FaultyHub) -> None:
    plan, api = read_plan(rehearsed, RELEASE), api_of(hub)
    waited: list[float] = []
    hub.fault("POST", COMMIT, 429, headers={"RateLimit": f'"api";r=0;t={LONGEST_WAIT}'})
    with pytest.raises(RemoteError, match="429") as caught:
        push(plan, rehearsed / RELEASE, api, sleep=waited.append)
    assert f"{LONGEST_WAIT + 1} s" in caught.value.hint and waited == []
    hub.fault("POST", COMMIT, 429, times=3, headers={"RateLimit": '"api";r=0;t=7'})
    with pytest.raises(RemoteError, match="429"):
        push(plan, rehearsed / RELEASE, api, sleep=waited.append)
    assert waited == [8, 8]
    hub.fault("POST", COMMIT, 429, headers={"Retry-After": "11"})
    push(plan, rehearsed / RELEASE, api, sleep=waited.append)
    assert waited == [8, 8, 12]
    assert_published_once(hub, rehearsed)


def test_a_hub_that_cannot_be_read_after_an_error(rehearsed: Path, hub: FaultyHub) -> None:
    hub.store.create_repo("dataset", REPO)
    hub.fault("POST", COMMIT, 504, after=True)

    def fail_reading(seconds: float) -> None:
        raise AssertionError(seconds)

    api = api_of(hub)
    made = api.create_commit

    def then_unreadable(*args: Any, **options: Any) -> Any:
        hub.fault("GET", f"/api/datasets/{REPO}$", 503)
        return made(*args, **options)

    api.create_commit = then_unreadable  # type: ignore[method-assign]  # the moment between two requests
    with pytest.raises(RemoteError, match="cannot be read") as caught:
        push(read_plan(rehearsed, RELEASE), rehearsed / RELEASE, api, sleep=fail_reading)
    assert "again" in caught.value.hint
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


def test_a_run_cut_after_creating_the_repository_goes_on(rehearsed: Path, hub: FaultyHub) -> None:
    hub.store.create_repo("dataset", REPO)
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)


@pytest.mark.parametrize("token", [READ_TOKEN, "hf_unknown"])
def test_a_token_that_may_not_write_sends_nothing(rehearsed: Path, hub: FaultyHub, token: str) -> None:
    with pytest.raises(RemoteError) as caught:
        apply(rehearsed, RELEASE, api=api_of(hub, token))
    assert caught.value.hint
    assert writes(hub) == [] and hub.store.repos == {}


def test_a_fine_grained_token_is_refused_by_the_hub_before_a_file_is_sent(
    rehearsed: Path, hub: FaultyHub
) -> None:
    for make in ("/api/repos/create", f"/api/datasets/{REPO}/preupload/main"):
        with pytest.raises(RemoteError, match="403") as caught:
            apply(rehearsed, RELEASE, api=api_of(hub, FINE_GRAINED_TOKEN))
        assert "write access" in caught.value.hint and writes(hub)[-1] == make
        if not hub.store.repos:
            hub.store.create_repo("dataset", REPO)
    assert len(repo_of(hub).commits) == 1 and repo_of(hub).objects == {}


def test_a_write_token_of_somebody_else(rehearsed: Path, hub: FaultyHub) -> None:
    with pytest.raises(RemoteError, match="not for verein"):
        apply(rehearsed, RELEASE, api=api_of(hub, STRANGER_TOKEN))
    assert writes(hub) == []


def test_shut_gates_are_refused_everywhere(rehearsed: Path, hub: FaultyHub) -> None:
    replan_with_receipt(rehearsed, gates=("jobs: mining-yield: 10 %",))
    with pytest.raises(Refused, match="mining-yield"):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert hub.log == []


def test_stand_ins_are_refused_on_the_real_hub_only(rehearsed: Path, hub: FaultyHub) -> None:
    replan_with_receipt(rehearsed, stand_ins=("jobs: mined with the offline encoder",))
    for endpoint in ("https://huggingface.co", "http://hub.example", "http://127.0.0.1.example"):
        with pytest.raises(Refused, match="offline encoder"):
            apply(rehearsed, RELEASE, api=HfApi(endpoint=endpoint, token="hf_x"))
    apply(rehearsed, RELEASE, api=api_of(hub))
    assert_published_once(hub, rehearsed)

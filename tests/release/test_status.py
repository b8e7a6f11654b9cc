"""Where a release stands, step by step."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from builders.errors import UsageError
from builders.rehearsal import Hub
from builders.release import apply
from builders.release.model import plan_path, read_plan
from builders.release.status import Status, _refused, status
from tests.cli.kit import call
from tests.release.kit import RELEASE, REPO, api_of, edit, publish, repo_of, rewrite, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def now(out: Path, hub: Hub, repo: str = REPO) -> Status:
    sent = writes(hub)
    found = status(out, RELEASE, repo, api=api_of(hub))
    assert writes(hub) == sent
    return found


def test_a_hub_on_this_machine_takes_stand_ins_and_the_real_one_does_not(rehearsed: Path, hub: Hub) -> None:
    edit(plan_path(rehearsed, RELEASE), stand_ins=["jobs: read from a folder"])
    plan = read_plan(rehearsed, RELEASE)
    assert _refused(plan, api_of(hub)) == ()
    assert _refused(plan, HfApi(endpoint="https://huggingface.co")) == ("jobs: read from a folder",)


def test_from_nothing_to_a_second_version(rehearsed: Path, hub: Hub) -> None:
    found = now(rehearsed, hub)
    assert (found.head, found.versions, found.state) == (None, {}, "rehearsed")
    assert found.next == "mteb-de release apply"
    commit = apply(rehearsed, RELEASE, api=api_of(hub)).commit
    found = now(rehearsed, hub)
    assert (found.head, found.head_is, found.versions) == (commit, ("v1.0.0",), {"v1.0.0": commit})
    assert (found.state, found.next) == ("applied", "mteb-de release verify")
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    second = publish(hub, rehearsed, "2.0.0").commit
    repo_of(hub).tags |= {"v1.10.0": commit, "alt": commit}
    repo_of(hub).gated = True
    found = now(rehearsed, hub)
    assert list(found.versions.items()) == [("v2.0.0", second), ("v1.10.0", commit), ("v1.0.0", commit)]
    assert (found.gated, found.private, found.state) == (True, False, "applied")


def test_a_plan_that_no_longer_fits(rehearsed: Path, hub: Hub, tmp_path: Path) -> None:
    assert now(tmp_path, hub).state == "none"
    other = now(rehearsed, hub, "verein/anders")
    assert (other.state, other.why) == ("stale", f"the plan is for {REPO}")
    head = hub.store.add_files("dataset", REPO, {"fremd.txt": b"x"})
    assert now(rehearsed, hub).why == f"v1.0.0: planned on no repository, the head is now {head}"
    repo_of(hub).tags["v1.0.0"] = head
    assert "tag of that name with other files" in now(rehearsed, hub).why
    hub.store.repos.clear()
    edit(plan_path(rehearsed, RELEASE), gates=["jobs: mining-yield: 10 %"])
    found = now(rehearsed, hub)
    assert (found.state, found.gates) == ("current", ("jobs: mining-yield: 10 %",))
    assert "of another plan" in found.why and found.next == "mteb-de release rehearse"
    refused = replace(found, state="rehearsed")
    assert "apply" in refused.next and refused.next != "mteb-de release apply"
    assert replace(refused, gates=()).next == "mteb-de release apply"
    (rehearsed / RELEASE / "README.md").write_bytes(b"anders")
    found = now(rehearsed, hub)
    assert found.state == "stale" and "README.md: other bytes" in found.why
    with pytest.raises(UsageError):
        now(rehearsed, hub, "kein/name/hier")


def test_the_command_says_it_in_words_and_in_json(
    rehearsed: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = apply(rehearsed, RELEASE, api=api_of(hub)).commit
    words = ("release", "status", RELEASE, "--repo", REPO, "--out", str(rehearsed))
    assert call(capsys, *words).out.splitlines() == [
        f"{REPO}: main is v1.0.0 ({commit})",
        f"  v1.0.0     {commit}",
        "plan: applied, v1.0.0: published as planned",
        "next: mteb-de release verify",
    ]
    document = json.loads(call(capsys, *words, "--json").out)
    assert (document["state"], document["versions"]) == ("applied", {"v1.0.0": commit})

"""Where a release stands, step by step."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from builders.errors import RemoteError, UsageError
from builders.rehearsal.store import Operation
from builders.release.plan import Plan, Receipt, plan_path, read_plan, read_receipt, receipt_path
from builders.release.publish import apply
from builders.release.rollback import plan_rollback, rollback
from builders.release.status import Status, _refused, status
from tests.cli.kit import call
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, REPO, api_of, edit, publish, repo_of, rewrite, without, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")


def now(out: Path, hub: FaultyHub, repo: str = REPO) -> Status:
    sent = writes(hub)
    found = status(out, RELEASE, repo, api=api_of(hub))
    assert writes(hub) == sent
    return found


def planning(out: Path) -> str:
    return f"mteb-de release plan mteb-de --repo {REPO} --out {out}"


def test_a_hub_on_this_machine_takes_stand_ins_and_the_real_one_does_not(
    rehearsed: Path, hub: FaultyHub
) -> None:
    edit(plan_path(rehearsed, RELEASE), stand_ins=["jobs: read from a folder"])
    plan = read_plan(rehearsed, RELEASE)
    assert _refused(plan, api_of(hub)) == ()
    assert _refused(plan, HfApi(endpoint="https://huggingface.co")) == ("jobs: read from a folder",)


def test_from_nothing_to_a_second_version(rehearsed: Path, hub: FaultyHub) -> None:
    found = now(rehearsed, hub)
    assert (found.head, found.versions, found.state) == (None, {}, "rehearsed")
    assert found.next == f"mteb-de release apply mteb-de --out {rehearsed}"
    commit = apply(rehearsed, RELEASE, api=api_of(hub)).commit
    found = now(rehearsed, hub)
    assert (found.head, found.head_is, found.versions) == (commit, ("v1.0.0",), {"v1.0.0": commit})
    assert (found.state, found.next) == ("applied", f"mteb-de release verify {REPO}@v1.0.0")
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    second = publish(hub, rehearsed, "2.0.0").commit
    repo_of(hub).tags |= {"v1.10.0": commit, "alt": commit}
    repo_of(hub).gated = True
    found = now(rehearsed, hub)
    assert list(found.versions.items()) == [("v2.0.0", second), ("v1.10.0", commit), ("v1.0.0", commit)]
    assert (found.gated, found.private, found.state) == (True, False, "applied")


def test_a_plan_that_no_longer_fits(rehearsed: Path, hub: FaultyHub, tmp_path: Path) -> None:
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
    assert "of another plan" in found.why
    assert found.next == f"mteb-de release rehearse mteb-de --out {rehearsed}"
    edit(receipt_path(rehearsed, RELEASE), plan=read_plan(rehearsed, RELEASE).seal)
    found = now(rehearsed, hub)
    assert (found.state, found.next) == ("rehearsed", planning(rehearsed)), "apply would refuse the gate"
    hub.store.create_repo("dataset", REPO)
    edit(plan_path(rehearsed, RELEASE), private=True)
    assert now(rehearsed, hub).why == f"{REPO} is public, and the release shall be private"
    edit(plan_path(rehearsed, RELEASE), private=False)
    (rehearsed / RELEASE / "README.md").write_bytes(b"anders")
    found = now(rehearsed, hub)
    assert found.state == "stale" and "README.md: other bytes" in found.why
    with pytest.raises(UsageError):
        now(rehearsed, hub, "kein/name/hier")


def test_the_command_says_it_in_words_and_in_json(
    rehearsed: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = apply(rehearsed, RELEASE, api=api_of(hub)).commit
    words = ("release", "status", RELEASE, "--repo", REPO, "--out", str(rehearsed))
    assert call(capsys, *words).out.splitlines() == [
        f"{REPO}: main is v1.0.0 ({commit})",
        f"  v1.0.0     {commit}",
        "plan: applied, v1.0.0: published as planned",
        "nothing is left but to read it back; a new version begins with a build and a plan",
        f"next: mteb-de release verify {REPO}@v1.0.0",
    ]
    document = json.loads(call(capsys, *words, "--json").out)
    assert (document["state"], document["versions"]) == ("applied", {"v1.0.0": commit})


def test_no_control_character_of_the_hub_reaches_a_terminal(
    out: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]
) -> None:
    head = hub.store.add_files("dataset", REPO, {"README.md": b"x"})
    repo_of(hub).tags["\x1b[31mrot\x9b"] = head
    status, back = ("status", RELEASE, "--out", str(out)), ("rollback", "--to", "v9.0.0", "--yes")
    for verb in (status, back, ("diff", RELEASE, "--revision", "\x1b[31m", "--out", str(out))):
        said = call(capsys, "release", *verb, "--repo", REPO)
        assert not {"\x1b", "\x9b"} & {*said.out, *said.err}
        assert r"\x1b[31mrot\x9b" in said.out + said.err


def test_tables_that_were_built_after_the_release_are_seen(rehearsed: Path, hub: FaultyHub) -> None:
    apply(rehearsed, RELEASE, api=api_of(hub))
    (rehearsed / RELEASE / "README.md").unlink()
    assert now(rehearsed, hub).state == "applied", "the card is written by the plan"
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    found = now(rehearsed, hub)
    assert (found.state, found.next) == ("rebuilt", planning(rehearsed))
    assert "published as planned" in found.why
    assert "jobs/qrels/dev.parquet: other bytes than planned" in found.why
    without(rehearsed, "jobs")
    assert "jobs/corpus/corpus.parquet: missing" in now(rehearsed, hub).why
    assert now(rehearsed, hub).gates == ()


def test_tables_that_were_built_before_the_tag_make_the_plan_stale(rehearsed: Path, hub: FaultyHub) -> None:
    hub.fault("POST", "/tag/", 401)
    with pytest.raises(RemoteError):
        apply(rehearsed, RELEASE, api=api_of(hub))
    assert now(rehearsed, hub).state == "unfinished"
    receipt = receipt_path(rehearsed, RELEASE).read_bytes()
    receipt_path(rehearsed, RELEASE).unlink()
    found = now(rehearsed, hub)
    assert (found.state, found.next) == ("current", f"mteb-de release rehearse mteb-de --out {rehearsed}")
    receipt_path(rehearsed, RELEASE).write_bytes(receipt)
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    found = now(rehearsed, hub)
    assert (found.state, found.next) == ("stale", planning(rehearsed)), "apply would refuse it"
    assert "jobs/qrels/dev.parquet" in found.why


def test_after_a_rollback_main_is_what_it_is(rehearsed: Path, hub: FaultyHub) -> None:
    publish(hub, rehearsed)
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    publish(hub, rehearsed, "2.0.0")
    assert now(rehearsed, hub).state == "applied"
    rollback(plan_rollback(REPO, "v1.0.0", api=api_of(hub)), api=api_of(hub))
    found = now(rehearsed, hub)
    assert (found.state, found.next) == ("superseded", f"mteb-de release verify {REPO}@v3.0.0")
    assert found.why == "v2.0.0: published as planned; main is now v3.0.0, with the files of v1.0.0"
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    found = now(rehearsed, hub)
    assert (found.state, found.next) == ("rebuilt", planning(rehearsed))
    assert "main is now v3.0.0, with the files of v1.0.0" in found.why
    head = hub.store.commit(repo_of(hub), "main", [Operation("neu.txt", b"x")], title="Eingriff").oid
    assert f"main is now {head}, which no version names" in now(rehearsed, hub).why


def test_every_next_command_can_be_typed_as_it_stands(
    rehearsed: Path,
    hub: FaultyHub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = []
    out = tmp_path / "mein ordner"
    shutil.move(rehearsed, out)
    kept = receipt_path(out, RELEASE).read_bytes()
    receipt_path(out, RELEASE).unlink()

    def rehearse(folder: Path, release: str) -> tuple[Plan, Receipt]:
        receipt_path(folder, release).write_bytes(kept)
        return read_plan(folder, release), read_receipt(folder, release)

    monkeypatch.setattr("builders.release.rehearse.rehearse", rehearse)
    for _ in range(4):
        words = ("release", "status", RELEASE, "--repo", REPO, "--out", str(out))
        last = call(capsys, *words).out.splitlines()[-1]
        assert last.startswith("next: mteb-de release ")
        typed = shlex.split(last.removeprefix("next: mteb-de "))
        seen.append(typed[1])
        if typed[1] == "verify":
            break
        said = call(capsys, *typed, *(["--yes"] if typed[1] == "apply" else []))
        assert said.code == 0, said.err
    assert seen == ["rehearse", "apply", "verify"]
    assert (
        call(capsys, "release", "status", RELEASE, "--repo", REPO)
        .out.splitlines()[-1]
        .endswith(f"mteb-de release plan mteb-de --repo {REPO}")
    ), "without a folder of its own"

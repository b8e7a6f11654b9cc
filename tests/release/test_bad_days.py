"""What goes wrong on the day of a release: through the command, with its exit codes and words."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from builders import files
from builders.rehearsal import READ_TOKEN
from builders.release.plan import plan_path, read_plan, receipt_path
from tests.cli.kit import Said, call
from tests.marks import long_after
from tests.rehearsal.kit import STRANGER_TOKEN, FaultyHub
from tests.release.kit import RELEASE, REPO, api_of, edit, forge_receipt, publish, repo_of, rewrite, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

Release = Callable[..., Said]
COMMIT = "/commit/main$"


@pytest.fixture
def release(rehearsed: Path, hub: FaultyHub, capsys: pytest.CaptureFixture[str]) -> Release:
    """Runs a verb of `mteb-de release` on a rehearsed release."""

    def run(verb: str, *words: str) -> Said:
        said = call(capsys, "release", verb, RELEASE, "--out", str(rehearsed), *words)
        assert "Traceback" not in said.err and "should not have happened" not in said.err
        assert said.code == 0 or said.out == ""
        return said

    return run


def nothing_published(hub: FaultyHub) -> bool:
    """No tag, and no commit but the Hub's own first one."""
    repo = hub.store.repos.get(("dataset", REPO))
    return repo is None or (not repo.tags and len(repo.commits) == 1)


def test_a_good_day(release: Release, rehearsed: Path, hub: FaultyHub) -> None:
    unasked = release("apply")
    assert unasked.code == 2 and "--yes" in unasked.err and writes(hub) == []
    said = release("apply", "--yes", "--json")
    assert said.code == 0
    assert json.loads(said.out)["commit"] == repo_of(hub).tags["v1.0.0"]
    said = release("plan", "--repo", REPO)
    assert said.code == 1 and "nothing has changed since 1.0.0" in said.err
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    said = release("plan", "--repo", REPO, "--version", "1.1.0")
    assert said.code == 1 and "jobs-qrels/dev: other rows" in said.err and "--version 2.0.0" in said.err
    said = release("plan", "--repo", REPO, "--private")
    assert said.code == 1 and "is public" in said.err
    said = release("plan", "--repo", REPO)
    assert said.code == 0 and f"planned {REPO}@v2.0.0" in said.out
    assert "since v1.0.0" in said.err and "jobs-qrels/dev: other rows" in said.err


@pytest.mark.parametrize(("token", "named"), [
    (READ_TOKEN, "may only read"),
    (STRANGER_TOKEN, "may write, but not for verein"),
    ("hf_unknown", "401"),
    ("", "no token"),
])  # fmt: skip
def test_a_token_that_may_not(
    release: Release, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token: str, named: str
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setenv("HF_TOKEN", token)
    said = release("apply", "--yes")
    assert said.code == 2 and named in said.err
    assert writes(hub) == [] and hub.store.repos == {}


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"status": 429, "times": 3, "headers": {"RateLimit": '"api";r=0;t=0'}}, "Too many requests"),
    ({"status": 429, "headers": {"RateLimit": '"api";r=0;t=3000'}}, "try again in 3001 s"),
    ({"status": 500}, "try again later"),
    ({"status": 503}, "try again later"),
    ({"status": 0, "drop": True}, "cannot be reached"),
    ({"status": 403}, "write access"),
]  # fmt: skip


@pytest.mark.parametrize(("fault", "named"), long_after(3, FAULTS))
def test_a_hub_that_refuses_the_commit_leaves_nothing_and_the_next_run_publishes(
    release: Release, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch, fault: dict[str, Any], named: str
) -> None:
    monkeypatch.setattr("builders.release.publish.LONGEST_WAIT", 2)
    hub.fault("POST", COMMIT, **fault)
    said = release("apply", "--yes")
    assert said.code == 2 and named in said.err
    assert nothing_published(hub)
    assert release("apply", "--yes").code == 0
    assert len(repo_of(hub).commits) == 2


def test_a_rate_limit_without_a_header_is_waited_for_as_long_as_a_window_may_last(
    rehearsed: Path, hub: FaultyHub
) -> None:
    from builders.release.publish import push

    waited: list[float] = []
    hub.fault("POST", COMMIT, 429, times=2)
    push(read_plan(rehearsed, RELEASE), rehearsed / RELEASE, api_of(hub), sleep=waited.append)
    assert waited == [60, 60]


@pytest.mark.parametrize("pattern", ["/api/repos/create$", "/preupload/", "objects/batch$", COMMIT, "/tag/"])
@pytest.mark.parametrize("drop", long_after(1, [True, False]))
def test_whatever_request_loses_its_answer_the_next_run_publishes_once(
    release: Release, hub: FaultyHub, pattern: str, drop: bool
) -> None:
    hub.fault("POST", pattern, 400, after=True, drop=drop)
    first = release("apply", "--yes")
    # a commit or tag that arrived is recognised; the client itself tries again where it may, after a drop
    recovered = pattern in {COMMIT, "/tag/"} or (drop and pattern in {"/preupload/", "objects/batch$"})
    assert first.code == (0 if recovered else 2), first.err
    if not recovered:
        assert nothing_published(hub)
        assert release("apply", "--yes").code == 0
    repo = repo_of(hub)
    assert [commit.title for commit in repo.commits.values()] == ["initial commit", "mteb-de 1.0.0"]
    assert repo.tags == {"v1.0.0": repo.branches["main"]}
    again = release("apply", "--yes")
    assert again.code == 0 and again.out.startswith(f"already published {REPO}@v1.0.0 (")


def test_a_kill_between_commit_and_tag_is_mended_by_the_next_run(
    release: Release, rehearsed: Path, hub: FaultyHub, tmp_path: Path
) -> None:
    started = threading.Event()
    child: list[subprocess.Popen[bytes]] = []

    def kill() -> None:
        assert started.wait(60)
        child[0].send_signal(signal.SIGKILL)
        child[0].wait()

    hub.fault("POST", "/tag/", 0, drop=True, meanwhile=kill)
    command = [
        sys.executable,
        "-m",
        "builders",
        "release",
        "apply",
        RELEASE,
        "--yes",
        "--out",
        str(rehearsed),
    ]
    with subprocess.Popen(command, env=hub.environment(tmp_path)) as process:
        child.append(process)
        started.set()
        assert process.wait(120) == -signal.SIGKILL
    repo = repo_of(hub)
    assert (len(repo.commits), repo.tags) == (2, {})
    said = release("status", "--repo", REPO)
    assert "plan: unfinished, v1.0.0: committed, but not tagged\nnext: mteb-de release apply" in said.out
    assert release("apply", "--yes").code == 0
    assert repo.tags == {"v1.0.0": repo.branches["main"]} and len(repo.commits) == 2


def test_somebody_else_was_there_between_plan_and_apply(release: Release, hub: FaultyHub) -> None:
    hub.store.add_files("dataset", REPO, {"fremd.txt": b"x"})
    before = dict(repo_of(hub).branches)
    said = release("apply", "--yes")
    assert said.code == 1 and "has changed since the plan was made" in said.err and "new plan" in said.err
    assert repo_of(hub).branches == before and writes(hub) == []


NOT_JSON = "not a plan (not JSON"
EDITED = "was edited since it was written"
BROKEN: list[tuple[str, Callable[[Path], object], int, str]] = [
    ("no plan", lambda out: plan_path(out, RELEASE).unlink(), 2, "first: mteb-de release plan mteb-de"),
    ("garbage", lambda out: files.write_bytes(plan_path(out, RELEASE), b"\x00\xff{"), 2, NOT_JSON),
    ("a list", lambda out: files.write_bytes(plan_path(out, RELEASE), b"[]"), 2, "not a plan"),
    ("cut", lambda out: cut(plan_path(out, RELEASE)), 2, NOT_JSON),
    ("old", lambda out: edit(plan_path(out, RELEASE), schema_version=0), 2, "schema version 0"),
    ("newer", lambda out: edit(plan_path(out, RELEASE), schema_version=2), 2, "schema version 2"),
    ("field", lambda out: edit(plan_path(out, RELEASE), neu=1), 2, "not a plan (neu:"),
    ("other plan", lambda out: edit(plan_path(out, RELEASE), message="anders"), 1, "of another plan"),
    ("by hand", lambda out: retype(plan_path(out, RELEASE)), 1, EDITED),
    ("receipt by hand", lambda out: retype(receipt_path(out, RELEASE)), 1, EDITED),
    ("no receipt", lambda out: receipt_path(out, RELEASE).unlink(), 1, "no receipt"),
    ("old receipt", lambda out: edit(receipt_path(out, RELEASE), schema_version=0), 1, "schema version 0"),
    ("receipt", lambda out: edit(receipt_path(out, RELEASE), plan="0" * 64), 1, "of another plan"),
    ("files", lambda out: edit(receipt_path(out, RELEASE), files={}), 1, "does not cover"),
    ("card", lambda out: cut(out / RELEASE / "README.md"), 1, "README.md: other bytes than planned"),
    ("table", lambda out: cut(out / RELEASE / "jobs/qrels/dev.parquet"), 1, "jobs/qrels/dev.parquet: other"),
    ("gone", lambda out: (out / RELEASE / "croissant.jsonld").unlink(), 1, "croissant.jsonld: missing"),
]  # fmt: skip


def retype(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert '"tag": "v1.0.0"' in text
    files.write_bytes(path, text.replace('"tag": "v1.0.0"', '"tag": "v1.0.1"').encode())


def cut(path: Path) -> None:
    files.write_bytes(path, path.read_bytes()[:-9])


@pytest.mark.parametrize(
    ("break_", "code", "named"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_plan_receipt_or_file_that_does_not_fit_sends_nothing(
    release: Release, rehearsed: Path, hub: FaultyHub, break_: Callable[[Path], object], code: int, named: str
) -> None:
    break_(rehearsed)
    said = release("apply", "--yes")
    assert said.code == code and named in said.err
    assert "mteb-de release" in said.err or "new plan" in said.err, "what to do next"
    assert hub.log == []
    said = release("status", "--repo", REPO)
    assert said.code == 0
    assert "next: mteb-de release plan" in said.out or "next: mteb-de release rehearse" in said.out


def test_a_work_folder_that_cannot_be_written(release: Release, rehearsed: Path, hub: FaultyHub) -> None:
    folder = plan_path(rehearsed, RELEASE).parent
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_bytes(b"in the way")
    for words in (("plan", "--repo", REPO), ("rehearse",), ("apply", "--yes")):
        said = release(*words)
        assert said.code == 2 and str(folder) in said.err
    assert writes(hub) == [] and folder.read_bytes() == b"in the way"


def test_a_repository_that_is_not_there(release: Release, rehearsed: Path, hub: FaultyHub) -> None:
    said = release("plan", "--repo", "verein/fehlt")
    assert said.code == 0 and "will be created, or the token may not see it" in said.err
    assert "not there, or the token may not see it" in release("status", "--repo", "verein/fehlt").out
    assert hub.store.repos == {}


def test_a_private_release_stays_private(
    release: Release, rehearsed: Path, hub: FaultyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = receipt_path(rehearsed, RELEASE).read_bytes()
    publish(hub, rehearsed)
    repo_of(hub).private = True
    said = release("status", "--repo", REPO, "--json")
    assert json.loads(said.out)["private"] is True
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    assert release("plan", "--repo", REPO, "--private").code == 0
    files.write_bytes(receipt_path(rehearsed, RELEASE), receipt)
    forge_receipt(rehearsed)
    repo_of(hub).private = False
    sent = writes(hub)
    said = release("apply", "--yes")
    assert said.code == 1 and "is public" in said.err and writes(hub) == sent
    repo_of(hub).private = True
    assert release("apply", "--yes").code == 0
    assert release("plan", "--repo", REPO).code == 1, (
        "nothing has changed, the card's words on access neither"
    )
    monkeypatch.setenv("HF_TOKEN", STRANGER_TOKEN)
    said = release("plan", "--repo", REPO)
    assert said.code == 0 and "the token may not see it" in said.err, "the Hub hides it"
    assert repo_of(hub).private


def test_a_list_that_is_cut_says_how_much_is_left(release: Release, rehearsed: Path, hub: FaultyHub) -> None:
    publish(hub, rehearsed)
    paths = [file.path for file in read_plan(rehearsed, RELEASE).files if file.path.endswith(".parquet")]
    changed = [path for path in paths if pq.read_metadata(rehearsed / RELEASE / path).num_rows]
    for path in changed:
        rewrite(rehearsed, path, lambda rows: rows[1:])
    said = release("plan", "--repo", REPO)
    assert said.code == 0
    reasons = [line for line in said.err.splitlines() if "other rows" in line or "split removed" in line]
    assert len(reasons) == 5 and len(changed) > 6
    assert f"… and {len(changed) - 5} more" in said.err
    low = release("plan", "--repo", REPO, "--version", "1.0.1")
    assert low.code == 1 and f"… and {len(changed) - 5} more" in low.err
    for number in range(12):
        (rehearsed / RELEASE / f"notiz-{number:02}.txt").write_bytes(b"")
    said = release("rehearse")
    assert said.code == 1 and "notiz-09.txt" in said.err
    assert "… and 2 more" in said.err and "notiz-10.txt" not in said.err

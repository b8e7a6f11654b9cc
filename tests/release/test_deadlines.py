"""A Hub that accepts and never answers: every verb ends within its limits, and says why."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants
from huggingface_hub.utils import close_session

from builders import hub as the_hub
from builders.encoders.hub import fetch_model, resolve
from builders.errors import RemoteError, UsageError
from builders.release.tree import read_remote
from builders.sources.plain import download
from tests.cli.kit import Said, call
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, REPO, api_of, publish, repo_of, rewrite, turn_to, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

LIMIT = "0.5"
IN_TIME = "did not answer in time (0.5 s for a connection, 0.5 s for an answer)"
SILENCE: dict[str, list[str]] = {
    "status": ["release", "status", RELEASE, "--repo", REPO, "--out", "OUT"],
    "diff": ["release", "diff", RELEASE, "--repo", REPO, "--out", "OUT"],
    "plan": ["release", "plan", RELEASE, "--repo", REPO, "--out", "OUT"],
    "apply": ["release", "apply", RELEASE, "--yes", "--out", "OUT"],
    "verify": ["release", "verify", f"{REPO}@v1.0.0"],
    "rollback": ["release", "rollback", "--repo", REPO, "--to", "v1.0.0", "--yes"],
    "build": ["build", "germandpr", "--out", "OUT"],
}


@pytest.fixture(scope="module")
def silent_hub() -> Iterator[str]:
    """A server that takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        kept: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    kept.append(listener.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in kept:
            connection.close()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Short limits, and a client that no other test has seen waiting."""
    monkeypatch.setenv(the_hub._SETTING, LIMIT)
    monkeypatch.setenv("MTEB_DE_HOME", str(tmp_path / "home"))
    close_session()
    yield
    close_session()


@pytest.fixture
def nobody(silent_hub: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The server that never answers, as the endpoint of this process and of its children."""
    turn_to(silent_hub, monkeypatch)
    monkeypatch.setenv("HF_ENDPOINT", silent_hub)
    return silent_hub


SLOW = {"build", "status", "verify"}
"""Verbs that try again or start a process; shorter tests below meet that silence, too."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if name in SLOW else ()) for name in SILENCE]
)
def test_every_verb_ends_on_a_hub_that_never_answers(
    rehearsed: Path, nobody: str, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    said = call(capsys, *(str(rehearsed) if word == "OUT" else word for word in SILENCE[name]))
    assert said.code == 2 and IN_TIME in said.err
    assert "Traceback" not in said.err and "should not have happened" not in said.err
    assert "\n       " in said.err, "what to do next"


@pytest.mark.long
def test_models_and_plain_files_do_not_wait_for_ever(
    nobody: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(RemoteError, match=re.escape(IN_TIME)):
        fetch_model("owner/modell", resolve("owner/modell", "0123456"))
    with pytest.raises(RemoteError, match="gave up after 6 attempts"):
        download(f"{nobody}/x", tmp_path / "x", size=None, pause=lambda seconds: None)


@pytest.mark.long
def test_a_build_ends_on_an_upstream_that_never_answers(nobody: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "builders", "build", "blurbs", "--out", str(tmp_path / "dist")]
    settings = os.environ | {"MTEB_DE_SOURCES": nobody}
    run = subprocess.run(command, env=settings, capture_output=True, text=True, check=False, timeout=240)
    assert run.returncode == 2 and "gave up after 6 attempts" in run.stderr
    assert "Traceback" not in run.stderr and "\n       " in run.stderr


@pytest.fixture
def hush(hub: FaultyHub) -> Iterator[threading.Event]:
    """Set it to let every request go that the Hub keeps waiting."""
    over = threading.Event()
    yield over
    over.set()


@pytest.fixture
def apply(rehearsed: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], Said]:
    def run() -> Said:
        said = call(capsys, "release", "apply", RELEASE, "--yes", "--out", str(rehearsed))
        assert "Traceback" not in said.err and "should not have happened" not in said.err
        return said

    return run


@pytest.mark.parametrize("pattern", ["/commit/main$", "/tag/"])
def test_what_arrived_without_an_answer_is_found(
    hub: FaultyHub, apply: Callable[[], Said], hush: threading.Event, pattern: str
) -> None:
    hub.fault("POST", pattern, 504, after=True, drop=True, meanwhile=hush.wait)
    said = apply()
    assert said.code == 0, said.err
    assert said.out.startswith(f"published {REPO}@v1.0.0 (")
    repo = repo_of(hub)
    assert repo.tags == {"v1.0.0": repo.branches["main"]} and len(repo.commits) == 2


@pytest.mark.long
def test_what_did_not_arrive_is_told_and_the_next_run_publishes(
    hub: FaultyHub, apply: Callable[[], Said], hush: threading.Event
) -> None:
    hub.fault("POST", "/commit/main$", 504, drop=True, meanwhile=hush.wait)
    said = apply()
    assert said.code == 2 and "main is still at" in said.err and IN_TIME in said.err
    assert repo_of(hub).tags == {} and len(repo_of(hub).commits) == 1
    hub.fault("POST", "/preupload/", 504, times=9, drop=True, meanwhile=hush.wait)
    said = apply()
    assert said.code == 2 and "requests to 127.0.0.1, several times" in said.err
    waited = [request for request in writes(hub) if "/preupload/" in request]
    hush.set()
    hub.faults.clear()
    assert len(waited) <= 1 + the_hub._SILENCES
    said = apply()
    assert said.code == 0, said.err


def test_a_tag_that_never_comes_says_that_main_has_moved(
    hub: FaultyHub, apply: Callable[[], Said], hush: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builders.cli.release._wait", lambda seconds: None)
    hub.fault("POST", "/tag/", 504, times=9, drop=True, meanwhile=hush.wait)
    said = apply()
    assert said.code == 2 and f"main has moved to {repo_of(hub).branches['main']}" in said.err
    assert IN_TIME in said.err and "Run the same command again" in said.err


@pytest.mark.long
def test_a_release_is_not_condemned_since_the_hub_fell_silent(
    rehearsed: Path,
    hub: FaultyHub,
    hush: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(the_hub._SETTING)
    publish(hub, rehearsed)
    monkeypatch.setenv(the_hub._SETTING, LIMIT)
    for method in ("GET", "HEAD"):
        hub.fault(method, "/resolve/.*parquet$", 504, times=99, drop=True, meanwhile=hush.wait)
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    said = call(capsys, "release", "verify", f"{REPO}@v1.0.0")
    assert said.code == 2 and "did not answer in time" in said.err
    assert "Do not use this tag" not in said.err and "Traceback" not in said.err


@pytest.mark.long
def test_a_rollback_whose_commit_has_no_answer_is_found(
    rehearsed: Path,
    hub: FaultyHub,
    hush: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv(the_hub._SETTING)
    publish(hub, rehearsed)
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    publish(hub, rehearsed, "2.0.0")
    monkeypatch.setenv(the_hub._SETTING, LIMIT)
    hub.fault("POST", "/commit/main$", 504, after=True, drop=True, meanwhile=hush.wait)
    said = call(capsys, "release", "rollback", "--repo", REPO, "--to", "v1.0.0", "--yes")
    assert said.code == 0, said.err
    assert said.out.startswith(f"published {REPO}@v3.0.0 (")


def test_a_rate_limit_beyond_our_patience_is_not_slept_through(
    hub: FaultyHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail(f"slept {seconds} s"))
    hub.store.create_repo("dataset", REPO)
    hub.fault("GET", "/tree/", 429, headers={"RateLimit": '"api";r=0;t=3000'})
    with pytest.raises(RemoteError, match="asks to wait for 3001 s") as caught:
        read_remote(api_of(hub), REPO)
    assert "try again in 3001 s" in caught.value.hint


def test_the_limits_and_their_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(the_hub._SETTING, raising=False)
    assert (the_hub.connect_seconds(), the_hub.answer_seconds()) == (10.0, 60.0)
    for text, connect, answer in (("", 10.0, 60.0), ("2.5", 2.5, 2.5), ("300", 10.0, 300.0)):
        monkeypatch.setenv(the_hub._SETTING, text)
        assert (the_hub.connect_seconds(), the_hub.answer_seconds()) == (connect, answer)
    for text in ("0", "0.0", "-1", "inf", "nan", "1e9", "bald", "٣"):
        monkeypatch.setenv(the_hub._SETTING, text)
        with pytest.raises(UsageError, match=the_hub._SETTING):
            the_hub.answer_seconds()


def test_no_caller_of_the_client_is_without_a_limit() -> None:
    code = """
import os, sys
from builders import hub
hub.client()
from huggingface_hub.utils import get_session
import httpx2
seen = []
class Stop(Exception): pass
def look(self, request):
    seen.append(request.extensions["timeout"])
    raise Stop
httpx2.HTTPTransport.handle_request = look
for given in ({}, {"timeout": None}, {"timeout": 100.0}, {"timeout": 3.0}):
    try:
        get_session().get("http://127.0.0.1:9/x", **given)
    except Stop:
        pass
sys.stdout.write(repr(seen))
"""
    kept = {name: value for name, value in os.environ.items() if name != the_hub._SETTING}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=kept)
    full = {"connect": 10.0, "read": 60.0, "write": 60.0, "pool": 60.0}
    assert run.stdout == repr([full, full, full, dict.fromkeys(full, 3.0)])

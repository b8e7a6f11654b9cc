"""A Hub that accepts and never answers: every verb ends within its limits, and says why."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from builders import hub as the_hub
from builders.errors import RemoteError, UsageError
from builders.rehearsal import WRITE_TOKEN, Hub
from builders.release.tree import read_remote
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import RELEASE, REPO, api_of, publish, repo_of, rewrite, writes

# the Hub's client sends files in a way that its HTTP library has deprecated
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

LIMIT = "0.5"
FETCH_MODEL = """
import sys
from builders.cli.output import complain
from builders.encoders.hub import fetch_model, resolve
from builders.errors import RemoteError
try:
    fetch_model("owner/modell", resolve("owner/modell", "0123456"))
except RemoteError as error:
    complain(error.message, error.hint)
    sys.exit(2)
"""
IN_TIME = "did not answer in time (0.5 s for a connection, 0.5 s for an answer)"
SILENCE: dict[str, tuple[list[str], str]] = {
    "status": (["release", "status", RELEASE, "--repo", REPO, "--out", "OUT"], IN_TIME),
    "diff": (["release", "diff", RELEASE, "--repo", REPO, "--out", "OUT"], IN_TIME),
    "plan": (["release", "plan", RELEASE, "--repo", REPO, "--out", "OUT"], IN_TIME),
    "apply": (["release", "apply", RELEASE, "--yes", "--out", "OUT"], IN_TIME),
    "verify": (["release", "verify", f"{REPO}@v1.0.0"], IN_TIME),
    "rollback": (["release", "rollback", "--repo", REPO, "--to", "v1.0.0", "--yes"], IN_TIME),
    "build from the Hub": (["build", "germandpr", "--out", "OUT"], "did not answer in time"),
    "build from a plain file": (["build", "blurbs", "--out", "OUT"], "gave up after 6 attempts"),
    "fetch a model": ([], IN_TIME),
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


def environment(endpoint: str, home: Path) -> dict[str, str]:
    return Hub(endpoint, None).environment(home) | {  # type: ignore[arg-type]  # it is never served
        "HF_TOKEN": WRITE_TOKEN,
        "MTEB_DE_HOME": str(home / "mteb-de"),
        "MTEB_DE_SOURCES": "",
        the_hub._SETTING: LIMIT,
    }


def start(words: list[str], settings: Mapping[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, *(["-m", "builders", *words] if words else ["-c", FETCH_MODEL])]
    return subprocess.Popen(
        command,
        env=settings,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def ended(
    silent_hub: str, _rehearsed: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[int, str]]:
    """Exit code and stderr of every verb; they wait beside each other."""
    running = {}
    for name, (words, _) in SILENCE.items():
        home = tmp_path_factory.mktemp("home")
        out = home / "dist"
        if "release" in words:
            shutil.copytree(_rehearsed, out)
        settings = environment(silent_hub, home)
        if name == "build from a plain file":
            settings["MTEB_DE_SOURCES"] = silent_hub
        running[name] = start([str(out) if word == "OUT" else word for word in words], settings)
    ended = {}
    for name, process in running.items():
        try:
            _, err = process.communicate(timeout=240)
        except subprocess.TimeoutExpired:
            process.kill()
            _, err = process.communicate()
        ended[name] = (process.returncode, err)
    return ended


@pytest.mark.parametrize("name", SILENCE)
def test_every_verb_ends_on_a_hub_that_never_answers(ended: dict[str, tuple[int, str]], name: str) -> None:
    code, err = ended[name]
    assert code == 2, err
    assert SILENCE[name][1] in err
    assert "Traceback" not in err and "should not have happened" not in err
    assert "\n       " in err, "what to do next"


@pytest.fixture
def hush(hub: FaultyHub) -> Iterator[threading.Event]:
    """Set it to let every request go that the Hub keeps waiting."""
    over = threading.Event()
    yield over
    over.set()


def run_apply(hub: FaultyHub, out: Path, home: Path) -> tuple[int, str, str]:
    process = start(
        ["release", "apply", RELEASE, "--yes", "--out", str(out)], environment(hub.endpoint, home)
    )
    said, err = process.communicate(timeout=240)
    assert "Traceback" not in err and "should not have happened" not in err
    return process.returncode, said, err


@pytest.mark.parametrize("pattern", ["/commit/main$", "/tag/"])
def test_what_arrived_without_an_answer_is_found(
    rehearsed: Path, hub: FaultyHub, hush: threading.Event, tmp_path: Path, pattern: str
) -> None:
    hub.fault("POST", pattern, 504, after=True, drop=True, meanwhile=hush.wait)
    code, said, err = run_apply(hub, rehearsed, tmp_path)
    assert code == 0, err
    assert said.startswith(f"published {REPO}@v1.0.0 (")
    repo = repo_of(hub)
    assert repo.tags == {"v1.0.0": repo.branches["main"]} and len(repo.commits) == 2


def test_what_did_not_arrive_is_told_and_the_next_run_publishes(
    rehearsed: Path, hub: FaultyHub, hush: threading.Event, tmp_path: Path
) -> None:
    hub.fault("POST", "/commit/main$", 504, drop=True, meanwhile=hush.wait)
    code, _, err = run_apply(hub, rehearsed, tmp_path)
    assert code == 2 and "main is still at" in err and IN_TIME in err
    assert repo_of(hub).tags == {} and len(repo_of(hub).commits) == 1
    hub.fault("POST", "/preupload/", 504, times=9, drop=True, meanwhile=hush.wait)
    code, _, err = run_apply(hub, rehearsed, tmp_path)
    assert code == 2 and "requests to 127.0.0.1, several times" in err
    waited = [request for request in writes(hub) if "/preupload/" in request]
    hush.set()
    hub.faults.clear()
    assert len(waited) <= 1 + the_hub._SILENCES
    code, _, err = run_apply(hub, rehearsed, tmp_path)
    assert code == 0, err


def test_a_tag_that_never_comes_says_that_main_has_moved(
    rehearsed: Path, hub: FaultyHub, hush: threading.Event, tmp_path: Path
) -> None:
    hub.fault("POST", "/tag/", 504, times=9, drop=True, meanwhile=hush.wait)
    code, _, err = run_apply(hub, rehearsed, tmp_path)
    assert code == 2 and f"main has moved to {repo_of(hub).branches['main']}" in err and IN_TIME in err
    assert "Run the same command again" in err


def test_a_release_is_not_condemned_since_the_hub_fell_silent(
    rehearsed: Path, hub: FaultyHub, hush: threading.Event, tmp_path: Path
) -> None:
    publish(hub, rehearsed)
    for method in ("GET", "HEAD"):
        hub.fault(method, "/resolve/.*parquet$", 504, times=99, drop=True, meanwhile=hush.wait)
    process = start(["release", "verify", f"{REPO}@v1.0.0"], environment(hub.endpoint, tmp_path))
    _, err = process.communicate(timeout=240)
    assert process.returncode == 2 and "did not answer in time" in err
    assert "Do not use this tag" not in err and "Traceback" not in err


def test_a_rollback_whose_commit_has_no_answer_is_found(
    rehearsed: Path, hub: FaultyHub, hush: threading.Event, tmp_path: Path
) -> None:
    publish(hub, rehearsed)
    rewrite(rehearsed, "jobs/qrels/dev.parquet", lambda rows: rows[1:])
    publish(hub, rehearsed, "2.0.0")
    hub.fault("POST", "/commit/main$", 504, after=True, drop=True, meanwhile=hush.wait)
    words = ["release", "rollback", "--repo", REPO, "--to", "v1.0.0", "--yes"]
    process = start(words, environment(hub.endpoint, tmp_path))
    said, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    assert said.startswith(f"published {REPO}@v3.0.0 (")


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

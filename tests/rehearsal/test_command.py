"""``python -m builders.rehearsal`` serves folders for scripts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from huggingface_hub import HfApi

from builders.errors import RemoteError, UsageError
from builders.rehearsal import WRITE_TOKEN, Store, serve
from tests.rehearsal.kit import write_folder

COMMAND = [sys.executable, "-W", "error", "-m", "builders.rehearsal", "--folder"]


def test_it_prints_the_endpoint_serves_a_folder_takes_a_release_and_ends_on_sigterm(tmp_path: Path) -> None:
    write_folder(tmp_path / "datasets" / "verein" / "orte")
    command = [*COMMAND, str(tmp_path), "--owner", "anderswo"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        endpoint = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{endpoint}/datasets/verein/orte/resolve/main/README.md") as response:
            assert response.read().startswith(b"---")
        api = HfApi(endpoint=endpoint, token=WRITE_TOKEN)
        api.create_repo("anderswo/neu", repo_type="dataset")
        assert api.repo_exists("anderswo/neu", repo_type="dataset")
        process.send_signal(signal.SIGTERM)
        assert (process.wait(30), process.stderr.read()) == (0, "")


def test_a_missing_folder_and_a_taken_port_are_errors_of_ours(tmp_path: Path) -> None:
    run = subprocess.run([*COMMAND, str(tmp_path / "fehlt")], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith(f"error: {tmp_path / 'fehlt'}: no such folder\nhint: ")
    with pytest.raises(UsageError, match="no such folder"):
        Store().add_folder("dataset", "verein/orte", tmp_path / "fehlt")
    for revision in ("main", "abcdef", "a" * 41):
        with pytest.raises(UsageError, match="not a commit id"):
            Store().add_files("dataset", "verein/orte", {}, revision)
    with serve() as hub, pytest.raises(RemoteError, match="cannot be used"):
        with serve(port=int(hub.endpoint.rsplit(":", maxsplit=1)[1])):
            raise AssertionError("two Hubs on one port")
    with pytest.raises(RemoteError, match="port 99999 of"), serve(port=99999):
        raise AssertionError("there is no such port")


def test_the_environment_leads_to_this_hub_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.setenv(name, "1")
    with serve() as hub:
        environment = hub.environment(tmp_path, None)
    clients = {name: value for name, value in environment.items() if name.startswith(("HF_", "HUGGING"))}
    assert clients == {
        "HF_ENDPOINT": hub.endpoint,
        "HF_HOME": str(tmp_path),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    }
    assert not hub.endpoint.endswith("/")
    assert environment["NO_PROXY"] == "127.0.0.1,localhost"
    assert environment["PATH"] == os.environ["PATH"]


def test_without_its_libraries_the_hub_says_what_to_install() -> None:
    code = """
import sys
sys.modules["uvicorn"] = None
from builders.errors import UsageError
from builders.rehearsal import serve
try:
    with serve():
        pass
except UsageError as error:
    sys.stdout.write(f"{error.message}|{error.hint}|{'starlette' in sys.modules}")
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    message, hint, loaded = run.stdout.split("|")
    assert (message, loaded) == ("a Hub on loopback needs uvicorn", "False")
    assert "'.[rehearsal]'" in hint

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import OfflineModeIsEnabled

from builders.errors import MtebDeError, RemoteError
from builders.hub import client, explain, hub_errors, is_loopback
from builders.release.model import ABSENT
from builders.release.remote import read_remote
from tests.rehearsal.kit import FaultyHub
from tests.release.kit import REPO, api_of


@pytest.mark.parametrize(("status", "error", "hint"), [
    (400, RemoteError, ""),
    (401, RemoteError, "hf auth login"),
    (403, RemoteError, "write access"),
    (404, RemoteError, "Check the name"),
    (409, RemoteError, "Try again in a minute"),
    (412, RemoteError, "Try again in a minute"),
    (429, RemoteError, "in 4 s"),
    (500, RemoteError, "try again later"),
    (504, RemoteError, "try again later"),
])  # fmt: skip
def test_each_status_says_what_to_do(
    hub: FaultyHub, status: int, error: type[MtebDeError], hint: str
) -> None:
    hub.fault("GET", "/refs$", status, headers={"RateLimit": '"api";r=0;t=3'})
    hub.store.create_repo("dataset", REPO)
    with pytest.raises(error, match=str(status)) as caught:
        read_remote(api_of(hub), REPO)
    assert hint in caught.value.hint


def test_a_repository_that_is_absent_empty_or_hidden(hub: FaultyHub) -> None:
    assert read_remote(api_of(hub), REPO) == ABSENT
    repo = hub.store.create_repo("dataset", REPO, private=True)
    remote = read_remote(api_of(hub), REPO)
    assert (remote.head, remote.private, dict(remote.files)) == (repo.branches["main"], True, {})
    assert read_remote(HfApi(endpoint=hub.endpoint, token=False), REPO) == ABSENT


def test_errors_of_the_client_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    offline = explain(OfflineModeIsEnabled("x"), "reading")
    assert isinstance(offline, RemoteError) and "HF_HUB_OFFLINE" in offline.hint
    assert explain(KeyError("x"), "reading") is None
    with pytest.raises(KeyError), hub_errors("reading"):
        raise KeyError("x")
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(RemoteError, match="no token"), hub_errors("asking"):
        HfApi(endpoint="http://127.0.0.1:9").whoami()


@pytest.mark.parametrize(("endpoint", "expected"), [
    ("http://127.0.0.1:1234", True),
    ("http://localhost:1", True),
    ("http://[::1]:80", True),
    ("https://huggingface.co", False),
    ("http://127.0.0.1.example", False),
    ("http://localhost.example", False),
    ("", False),
])  # fmt: skip
def test_what_is_loopback(endpoint: str, expected: bool) -> None:
    assert is_loopback(endpoint) is expected


def test_importing_the_release_code_imports_no_client() -> None:
    code = """
import sys
import builders.release, builders.rehearsal
heavy = {"datasets", "huggingface_hub", "starlette", "uvicorn", "mlcroissant", "torch"}
sys.stdout.write(",".join(sorted(heavy & sys.modules.keys())))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == ""


def test_a_client_of_a_hub_on_loopback_needs_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(constants, "ENDPOINT", "https://huggingface.co")
    client()
    assert not constants.HF_HUB_DISABLE_XET
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    client()
    assert constants.HF_HUB_DISABLE_XET


def test_a_connection_that_breaks_in_the_client_is_told() -> None:
    error = explain(ConnectionError("404 Not Found"), "pushing")
    assert isinstance(error, RemoteError)
    assert "cannot be reached" in error.message

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import HfApi
from huggingface_hub.errors import OfflineModeIsEnabled
from hypothesis import given
from hypothesis import strategies as st

from builders.errors import MtebDeError, RemoteError
from builders.hub import client, explain, hub_errors, is_loopback
from builders.release.tree import ABSENT, _card_splits, read_remote
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


@pytest.mark.parametrize("pattern", [f"/api/datasets/{REPO}$", "/refs$", "/tree/"])
def test_an_answer_that_no_hub_gives(hub: FaultyHub, pattern: str) -> None:
    hub.fault("GET", pattern, 200)
    hub.store.create_repo("dataset", REPO)
    with pytest.raises(RemoteError, match="does not answer as a Hub does") as caught:
        read_remote(api_of(hub), REPO)
    assert "HF_ENDPOINT" in caught.value.hint


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
    with pytest.raises(ZeroDivisionError), hub_errors("reading"):
        raise ZeroDivisionError
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
import builders.rehearsal
from builders.release import against, plan, publish, rehearse, rollback, status, verify
heavy = {"datasets", "huggingface_hub", "starlette", "uvicorn", "mlcroissant", "torch"}
sys.stdout.write(",".join(sorted(heavy & sys.modules.keys())))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == ""


@pytest.mark.parametrize("endpoint", ["https://huggingface.co", "http://127.0.0.1:9"])
def test_files_go_by_requests_that_are_bounded(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", False)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    client()
    assert constants.HF_HUB_DISABLE_XET


def test_a_connection_that_breaks_in_the_client_is_told() -> None:
    error = explain(ConnectionError("404 Not Found"), "pushing")
    assert isinstance(error, RemoteError)
    assert "cannot be reached" in error.message


PATHS = [
    "README.md",
    "orte/a-0.parquet",
    "orte/a-1.parquet",
    "orte/b.parquet",
    "orte/b.csv",
    "orte/alt/a-2.parquet",
    ".alt/x.parquet",
]


def card(configs: str) -> bytes:
    return f"---\nlicense: cc-by-4.0\nconfigs:\n{configs}\n---\n# Orte\n".encode()


def test_configs_splits_patterns_and_folders() -> None:
    configs = """
- config_name: no
  data_dir: orte
  data_files:
  - split: train
    path: a-*.parquet
  - split: test
    path: [b.parquet, b.csv]
- data_files:
  - {split: train, path: "**/b.parquet"}
"""
    found = {str(split): listed.paths for split, listed in _card_splits(card(configs), PATHS).items()}
    assert found == {
        "no/train": ("orte/a-0.parquet", "orte/a-1.parquet"),
        "no/test": ("orte/b.parquet",),
        "default/train": ("orte/b.parquet",),
    }


@pytest.mark.parametrize("readme", [
    b"", b"# Ohne Kopf", b"---\nconfigs: [", b"---\n- a\n---\n", b"---\nconfigs: 1\n---\n",
    b"\xff\xfe---\n---\n",
    card("- data_files: orte/b.parquet"), card("- data_files: [{split: 1}, 2, {split: a, path: {}}]"),
    card("- {config_name: [a], data_files: [{split: a, path: orte/b.parquet}]}"),
    card("- data_files: [{split: a, path: ../b.parquet}, {split: b, path: /b.parquet}]"),
    card("- data_files: [{split: a, path: fehlt.parquet}]"),
    card("- &a {data_files: [*a]}"),
    b"---\n" + b"a" * (200 << 10) + b": 1\n---\n",
])  # fmt: skip
def test_a_card_that_offers_nothing_readable(readme: bytes) -> None:
    assert _card_splits(readme, PATHS) == {}


@given(st.binary(max_size=200))
def test_no_bytes_upset_it(tail: bytes) -> None:
    _card_splits(b"---\nconfigs:\n" + tail, PATHS)
    _card_splits(tail, PATHS)


def test_many_splits_are_cut_off() -> None:
    configs = "\n".join(
        f"- {{config_name: c{n}, data_files: [{{split: a, path: orte/b.parquet}}]}}" for n in range(1200)
    )
    assert len(_card_splits(card(configs), PATHS)) == 1000

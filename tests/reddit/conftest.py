"""Credentials for the server on loopback, and none of this machine's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reddit_server import CLIENT_ID, CLIENT_SECRET, USER_AGENT


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("praw_client_id", CLIENT_ID)
    monkeypatch.setenv("praw_client_secret", CLIENT_SECRET)
    monkeypatch.setenv("praw_user_agent", USER_AGENT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
    for name in ("praw_site", "praw_username", "praw_password", "praw_refresh_token"):
        monkeypatch.delenv(name, raising=False)

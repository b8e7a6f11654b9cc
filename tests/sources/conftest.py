from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources.loopback import Loopback, serve


@pytest.fixture
def server() -> Iterator[Loopback]:
    with serve() as state:
        yield state


@pytest.fixture
def hub(server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """Make the Hub's client talk to the server, as `HF_ENDPOINT` does when it is set before the import."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", server.url)
    template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", True)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    return server


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reddit.hydration import kit


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[kit.World]:
    with kit.world(tmp_path, monkeypatch) as made:
        yield made

from __future__ import annotations

from collections.abc import Iterator

import pytest

from builders.encoders.offline import OfflineE5


@pytest.fixture(scope="session")
def offline() -> Iterator[OfflineE5]:
    encoder = OfflineE5(workers=2)
    yield encoder
    encoder.close()

from pathlib import Path

import pytest

from builders.describe import render
from builders.files import write_bytes
from tests.describe import kit


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> kit.Built:
    """The release on disk, described; read only."""
    return _described(tmp_path_factory.mktemp("release"), dev_negatives=True)


@pytest.fixture(scope="session")
def with_empty_split(tmp_path_factory: pytest.TempPathFactory) -> kit.Built:
    """The same release, where the split dev of the hard negatives has no rows."""
    return _described(tmp_path_factory.mktemp("empty"), dev_negatives=False)


def _described(root: Path, *, dev_negatives: bool) -> kit.Built:
    built = kit.build(root, dev_negatives=dev_negatives)
    for path, data in render(kit.RELEASE, built.locks, kit.TARGET, specs=built.specs).items():
        write_bytes(root / path, data)
    return built

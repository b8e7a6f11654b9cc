import datetime

import pytest

from builders.describe import Target
from builders.errors import UsageError

DATE = datetime.date(2026, 1, 5)


def test_tag_and_addresses() -> None:
    target = Target("verein/mteb-de", "1.2.0", DATE)

    assert target.tag == "v1.2.0"
    assert target.owner == "verein"
    expected = "https://huggingface.co/datasets/verein/mteb-de/resolve/v1.2.0/jobs/queries/test.parquet"
    assert target.file_url("jobs/queries/test.parquet") == expected


@pytest.mark.parametrize(
    "repo",
    [
        "mteb-de", "a/b/c", "/b", "a/", "a b/c", "a/b\n", "ä/b", "a/-b", "a/b.", "a/b--c", "a/b..c",
        "a/b.git", "a/" + "b" * 96, "a/b](https://x)", "",
    ],
)  # fmt: skip
def test_malformed_repositories_are_refused(repo: str) -> None:
    with pytest.raises(UsageError, match="not a Hub repository"):
        Target(repo, "1.0.0", DATE)


@pytest.mark.parametrize(
    "version", ["v1.0.0", "1.0", "1.0.0.0", "01.0.0", "1.0.0-rc1", "1.0.x", "1.0.0\n", ""]
)
def test_malformed_versions_are_refused(version: str) -> None:
    with pytest.raises(UsageError, match="not a version"):
        Target("verein/mteb-de", version, DATE)

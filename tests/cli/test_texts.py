from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builders import registry
from builders.built import read_hydrated
from builders.cli.texts import hydrated_texts
from builders.errors import StorageError
from builders.lock.lock import Lock
from tests.evaluation.hydrated import write_hydrated


@pytest.mark.parametrize(
    ("left", "why"),
    [
        ({}, ""),
        ({"there": 0.9}, ""),
        ({"there": 0.89}, "1 of 2 sets hold less than 90% of their ids"),
        ({"compared": False}, "the sets were drawn from what is there now"),
    ],
)
def test_texts_of_which_too_much_is_lost_are_not_compared(
    tmp_path: Path, left: dict[str, Any], why: str
) -> None:
    folder = write_hydrated(tmp_path / "hydrated", **left)
    assert hydrated_texts(tmp_path, None, [])["subreddit"].not_comparable == why
    assert hydrated_texts(tmp_path / "dist", folder, [])["subreddit"].folder == folder


def test_texts_of_a_stand_in_are_not_compared(tmp_path: Path) -> None:
    write_hydrated(tmp_path / "hydrated")
    lock = Lock(
        config="subreddit",
        release="tecb-de",
        licence="",
        sources=(),
        parameters={"stand_in": True},
        tools={},
        funnels=(),
        splits={},
        facts={},
        personal={},
        files=(),
    )
    found = hydrated_texts(tmp_path, None, [lock])
    assert found["subreddit"].not_comparable.startswith("a stand-in for Reddit")
    assert found["subreddit"].stand_in
    other = lock.model_copy(update={"config": "jobs"})
    expected = read_hydrated(tmp_path / "hydrated", registry.load("subreddit"))
    assert hydrated_texts(tmp_path, None, [other])["subreddit"] == expected


def test_no_texts_are_no_fault_unless_they_were_asked_for(tmp_path: Path) -> None:
    assert hydrated_texts(tmp_path, None, []) == {}
    with pytest.raises(StorageError, match="no hydrated texts"):
        hydrated_texts(tmp_path, tmp_path, [])
    folder = write_hydrated(tmp_path / "hydrated")
    (folder / "subreddit/clustering-p2p/test.parquet").unlink()
    assert hydrated_texts(tmp_path, None, []) == {}

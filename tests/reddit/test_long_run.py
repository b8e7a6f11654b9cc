"""As many submissions as the original has, on a bad day, by the command itself, which really waits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from builders.reddit.ledger import Ledger
from builders.reddit.sets import read_ids
from builders.reddit.submission import Status
from builders.tables import Kind, published_path
from tests import reddit_server
from tests.fixtures.submissions import write_list
from tests.reddit import kit
from tests.reddit_server import Server, serve

ROOT = Path(__file__).parents[2]
SUBREDDITS = 60


def started(server: Server, folder: Path, *, time_out: float) -> subprocess.Popen[bytes]:
    variables = server.environment() | {
        "MTEB_DE_HOME": str(folder / "home"),
        "MTEB_DE_SOURCES": str(folder),
        "PRAWCORE_TIMEOUT": str(time_out),
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "builders", "hydrate", "subreddit", "--offline", "--out", "texts"],
        cwd=folder,
        env=os.environ | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("unique", "lines", "smooth"),
    [(1_400, 1_600, 5), pytest.param(40_759, 47_794, 50, marks=pytest.mark.long)],
)
def test_no_fault_and_no_kill_loses_an_answer_or_asks_for_it_again(
    tmp_path: Path, unique: int, lines: int, smooth: int
) -> None:
    ids = kit.names(unique)
    path = write_list(tmp_path, ids + ids[: lines - unique])
    assert (read_ids(path).lines, len(read_ids(path).ids)) == (lines, unique)
    ledger = Ledger(tmp_path / "home/reddit/subreddit.submissions.sqlite")
    posts = {
        name: kit.submission(name, subreddit=f"Thema{number % SUBREDDITS}") for number, name in enumerate(ids)
    }
    with serve(posts) as server:
        server.vanish(ids[-400:])
        server.delete(ids[:40])

        server.faults += [None] * smooth
        server.faults += [reddit_server.too_many("2"), None, reddit_server.too_many_until(3), None]
        server.faults += [
            reddit_server.unavailable(),
            None,
            reddit_server.reset(),
            None,
            reddit_server.hang(120),
        ]
        process = started(server, tmp_path, time_out=100)
        try:
            assert server.hanging.wait(120)
            process.send_signal(signal.SIGKILL)
        finally:
            process.kill()
            process.wait()
        before = ledger.latest()
        assert len(server.answered) == len(before) == (smooth + 4) * 100
        assert (server.refused, server.early) == (2, 0)

        server.faults += [None, reddit_server.expired(), None, reddit_server.hang(120)]
        assert started(server, tmp_path, time_out=2).wait() == 0

        asked_twice = {name: times for name, times in Counter(server.answered).items() if times > 1}
        assert not asked_twice
        assert set(server.answered) == set(ids)
        latest = ledger.latest()
        assert Counter(entry.status for entry in latest.values()) == {
            Status.OK: unique - 440,
            Status.DELETED: 40,
            Status.MISSING: 400,
        }
        assert len(latest) == unique
        assert {name: latest[name] for name in before} == before
        sets = pl.read_parquet(tmp_path / "texts" / published_path("subreddit", Kind.CLUSTERING_IDS, "test"))
        assert set(sets["submission_ids"].explode()) <= set(ids[40:-400])

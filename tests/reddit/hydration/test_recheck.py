"""Rechecking: what is gone must be gone from every file, whatever happened before or happens meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from builders.configs.subreddit import CONFIG
from builders.errors import RemoteError, StorageError, UsageError
from builders.reddit.folder import NAME, TAKEDOWN
from builders.reddit.hydrate import hydrate
from builders.reddit.recheck import recheck
from builders.reddit.submission import Status
from builders.tables import Kind, published_path
from tests.fixtures.submissions import post, posts, write_list
from tests.marks import long_after
from tests.reddit.hydration.kit import GONE, QUIET, World
from tests.reddit_server import answers, hang, refuses

_KILLED = """
import os, pathlib, signal, sys
from builders.cli import main

rename = pathlib.Path.replace

def killed(self, target):
    if os.environ["KILL_AT"] in str(target):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)

pathlib.Path.replace = killed
sys.argv = ["mteb-de", *sys.argv[1:]]
main()
"""


def assert_gone(world: World, names: list[str]) -> None:
    """Neither titles nor bodies stand in any file of the world."""
    made, held = posts(), world.told()
    for name in names:
        for field in ("title", "selftext"):
            assert not [path for path, text in held.items() if made[name][field] in text]


def test_a_recheck_purges_texts_marks_sets_and_lists_ids_to_take_down(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.build()
    gone = [world.server.submissions[name] for name in GONE]
    world.server.delete(GONE[:30])
    world.server.remove(GONE[30:45])
    world.server.vanish(GONE[45:])
    found, record, takedown = recheck(CONFIG, world.options(), QUIET)

    assert Counter(found.gone.values()) == {"deleted": 30, "missing": 5, "removed": 15}
    ledger, texts = world.private.read_text(encoding="utf-8", errors="replace"), "\n".join(world.sentences())
    for data in gone:
        assert data["title"] not in ledger and data["title"] not in texts
    assert all(world.known()[name].title == "" for name in GONE)
    published = set(world.table(Kind.CLUSTERING_IDS)["submission_ids"].explode())
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8").split() == sorted(published & set(GONE))
    assert takedown == tuple(sorted(published & set(GONE))) and len(takedown) == 50
    record = json.loads((world.out / NAME).read_text(encoding="utf-8"))
    assert not any(
        one["comparable"] for one in record["sets"] if sum(one["gone"].values()) > 0.1 * one["published"]
    )
    assert record["sets"][0]["there"] == record["sets"][0]["published"] - 50

    lock = world.build()
    assert lock.funnels[0].dropped == {"deleted": 30, "missing": 6, "removed": 15}
    assert not set(pl.read_parquet(world.release / "subreddit/clustering-ids/test.parquet")["submission_ids"]
                   .explode()) & set(GONE)  # fmt: skip


@pytest.mark.parametrize(("status", "error"), [(404, RemoteError), (403, UsageError)])
def test_a_recheck_that_breaks_off_purges_what_it_found_until_then(
    world: World, status: int, error: type[Exception]
) -> None:
    made = posts() | {f"q{number:04}": post(f"q{number:04}", "Thema03") for number in range(150)}
    world.server.submissions = made
    write_list(world.sources, made)
    hydrate(CONFIG, world.options(), QUIET)
    recheck(CONFIG, world.options(), QUIET)
    first, last = (
        batch[0] for batch in world.server.asked[-3:-1]
    )  # a recheck asks in the same batches again
    world.server.delete([first, last])
    world.server.faults.extend([None, refuses(status), refuses(status)])
    with pytest.raises(error):
        recheck(CONFIG, world.options(), QUIET)
    assert made[first]["title"] not in "\n".join(world.sentences())
    assert made[last]["title"] in world.sentences_of(Kind.CLUSTERING_S2S)
    world.server.faults.clear()
    found, _, takedown = recheck(CONFIG, world.options(), QUIET)
    assert made[last]["title"] not in world.sentences_of(Kind.CLUSTERING_S2S)
    assert Counter(found.gone.values()) == {"deleted": 1} and takedown == tuple(sorted([first, last]))


def test_an_edited_text_is_held_in_its_new_form(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.submissions["p01x01"]["selftext"] = "Ganz anders."
    found, _, _ = recheck(CONFIG, world.options(), QUIET)
    assert (found.edited, found.gone) == (1, {})
    assert "Frage p01x01 zum Beet Ganz anders." in world.sentences()
    assert "Im Beet p01x01" not in world.private.read_text(encoding="utf-8", errors="replace")


def test_a_recheck_needs_something_to_check(world: World) -> None:
    with pytest.raises(UsageError, match="no submission there") as error:
        recheck(CONFIG, world.options(), QUIET)
    assert "mteb-de hydrate subreddit" in error.value.hint
    assert world.server.log == []
    assert not world.out.exists() and not world.home.exists()


def test_without_text_tables_a_recheck_still_purges_the_ledger(world: World, tmp_path: Path) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE[:3])
    found, record, _ = recheck(CONFIG, world.options(out=tmp_path / "nirgends"), QUIET)
    assert record is None and Counter(found.gone.values()) == {"deleted": 3}
    assert not (tmp_path / "nirgends" / TAKEDOWN).exists()


def test_texts_of_fifty_deletions_stand_in_no_file(world: World) -> None:
    made = posts()
    hydrate(CONFIG, world.options(), QUIET)
    assert len(world.files_with(made[GONE[0]]["title"])) == 3  # the ledger and both tables
    assert len(world.files_with(made[GONE[0]]["selftext"])) == 2
    sets = world.table(Kind.CLUSTERING_IDS)["submission_ids"].to_list()
    world.server.delete(GONE)
    _, record, _ = recheck(CONFIG, world.options(), QUIET)
    assert_gone(world, GONE)
    assert record is not None
    for one, ids in zip(record.sets, sets, strict=True):
        assert one.gone == {"deleted": len(set(ids) & set(GONE))}
        assert one.comparable is (one.there >= 0.9 * len(ids))


def test_what_was_missing_is_asked_again_and_comes_back(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    gone = {name: world.server.submissions[name] for name in GONE[:3]}
    world.server.vanish(gone)
    assert recheck(CONFIG, world.options(), QUIET)[2] == tuple(sorted(gone))
    world.server.submissions |= gone
    found, _, takedown = recheck(CONFIG, world.options(), QUIET)
    assert (found.back, takedown, found.gone) == (3, (), {})
    assert all(data["title"] in world.sentences_of(Kind.CLUSTERING_S2S) for data in gone.values())
    assert (world.out / TAKEDOWN).read_text(encoding="utf-8") == ""


def test_an_empty_answer_in_between_purges_nothing(world: World) -> None:
    made = posts() | {f"q{number:04}": post(f"q{number:04}", "Thema03") for number in range(150)}
    world.server.submissions = made
    write_list(world.sources, made)
    hydrate(CONFIG, world.options(), QUIET)
    before = world.sentences()
    world.server.faults.extend([None, answers({"kind": "Listing", "data": {"children": []}})])
    found, _, takedown = recheck(CONFIG, world.options(), QUIET)
    assert (found.gone, takedown) == ({}, ()) and world.sentences() == before


def test_an_interrupted_recheck_purges_what_it_found_until_then(world: World) -> None:
    made = posts() | {f"q{number:04}": post(f"q{number:04}", "Thema03") for number in range(150)}
    world.server.submissions = made
    write_list(world.sources, made)
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE)
    world.server.faults.extend([None, hang(60)])
    command = [sys.executable, "-m", "builders", "recheck", "subreddit"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        assert world.server.hanging.wait(60)
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    gone = [name for name, entry in world.known().items() if entry.status is Status.DELETED]
    assert gone and len(gone) < len(GONE)
    assert_gone(world, gone)
    assert not set(gone) & set(pl.read_parquet(_built(world))["submission_ids"].explode())
    assert set((world.out / TAKEDOWN).read_text(encoding="utf-8").split()) == set(gone)


def _built(world: World) -> Path:
    world.build()
    return world.release / published_path("subreddit", Kind.CLUSTERING_IDS, "test")


@pytest.mark.parametrize("when", long_after(1, ["later", "first"]))
@pytest.mark.parametrize("at", ["clustering-ids", "clustering-p2p", NAME])
def test_texts_that_a_killed_run_left_go_with_the_next_recheck(world: World, at: str, when: str) -> None:
    if when == "later":
        hydrate(CONFIG, world.options(), QUIET)
    command = [sys.executable, "-c", _KILLED, "hydrate", "subreddit", "--offline"]
    done = subprocess.run(command, env=os.environ | {"KILL_AT": at}, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    world.server.delete(GONE)
    _, record, takedown = recheck(CONFIG, world.options(), QUIET)
    assert_gone(world, GONE)
    assert (record is None) is (at == "clustering-ids" and when == "first")  # ids come before texts
    if when == "later":
        assert takedown == tuple(sorted(GONE))
    hydrate(CONFIG, world.options(), QUIET)
    assert_gone(world, GONE)


def test_a_killed_recheck_is_finished_by_hydrate(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE)
    command = [sys.executable, "-c", _KILLED, "recheck", "subreddit"]
    environment = os.environ | {"KILL_AT": CONFIG.ledger.name}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL and world.files_with(posts()[GONE[0]]["selftext"])
    hydrate(CONFIG, world.options(), QUIET)
    assert_gone(world, GONE)


@pytest.mark.parametrize("damage", [b"{", b"", b'{"schema_version": 1}'])
def test_a_damaged_record_keeps_no_text(world: World, damage: bytes) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE)
    (world.out / NAME).write_bytes(damage)
    _, record, takedown = recheck(CONFIG, world.options(), QUIET)
    assert record is not None and takedown == tuple(sorted(GONE))
    assert_gone(world, GONE)


def test_texts_without_their_ids_are_removed(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    ids = world.out / published_path("subreddit", Kind.CLUSTERING_IDS, "test")
    ids.unlink()
    world.server.delete(GONE)
    assert recheck(CONFIG, world.options(), QUIET)[1] is None
    assert_gone(world, GONE)
    hydrate(CONFIG, world.options(), QUIET)
    ids.write_bytes(b"PAR1 und dann nichts")
    with pytest.raises(StorageError, match="not a parquet file") as error:
        recheck(CONFIG, world.options(), QUIET)
    assert "--new-sets" in error.value.hint
    assert not list(world.out.rglob("clustering-?2?/*.parquet"))


def test_all_may_be_deleted(world: World) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(posts())
    _, record, takedown = recheck(CONFIG, world.options(), QUIET)
    assert record is not None and all(one.left_out for one in record.sets)
    assert takedown == tuple(sorted(posts()))
    assert_gone(world, list(posts()))


def test_without_credentials_nothing_is_written(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    hydrate(CONFIG, world.options(), QUIET)
    world.server.delete(GONE)
    recheck(
        CONFIG, world.options(out=world.dist / "nirgends"), QUIET
    )  # the ledger knows it, the texts not yet
    before = {path: path.read_bytes() for path in world.out.parent.rglob("*") if path.is_file()}
    with monkeypatch.context() as without:
        without.delenv("praw_client_id")
        with pytest.raises(UsageError, match="client_id is missing"):
            recheck(CONFIG, world.options(), QUIET)
    assert before == {path: path.read_bytes() for path in world.out.parent.rglob("*") if path.is_file()}
    recheck(CONFIG, world.options(), QUIET)
    assert_gone(world, GONE)

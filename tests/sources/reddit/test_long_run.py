"""As many submissions as the original has, on a bad day."""

from __future__ import annotations

import datetime
import email.utils
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from builders.sources.reddit.ids import read
from builders.sources.reddit.ledger import Ledger
from builders.sources.reddit.model import Status
from tests import reddit_server
from tests.reddit_server import Server, serve
from tests.sources.reddit import kit

ROOT = Path(__file__).parents[3]
UNIQUE = 40_759
LINES = 47_794
IDS = kit.names(UNIQUE)


def started(server: Server, folder: Path, *, time_out: float) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-W", "error", "-m", "tests.sources.reddit.process", server.url]
    return subprocess.Popen(
        [*command, str(folder / "ids.txt"), str(folder / "ledger.jsonl")],
        cwd=ROOT,
        env=os.environ | {"PRAWCORE_TIMEOUT": str(time_out)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def test_no_fault_and_no_kill_loses_an_answer_or_asks_for_it_again(tmp_path: Path) -> None:
    repeated = IDS + IDS[: LINES - UNIQUE]
    (tmp_path / "ids.txt").write_text("id\n" + "\n".join(repeated) + "\n", encoding="utf-8")
    assert (read(tmp_path / "ids.txt").lines, read(tmp_path / "ids.txt").unique) == (LINES, UNIQUE)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=30)
    with serve(kit.store(IDS)) as server:
        server.vanish(IDS[-400:])
        server.delete(IDS[:40])

        server.faults += [None] * 50
        server.faults += [reddit_server.too_many("2"), None]
        server.faults += [reddit_server.too_many(email.utils.format_datetime(soon, usegmt=True)), None]
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
        assert len(server.answered) == len(before) == 54 * 100

        torn = json.dumps({"id": IDS[-1], "status": "ok", "title": "Größe"}, ensure_ascii=False).encode()[:-3]
        ledger.path.write_bytes(ledger.path.read_bytes() + torn)  # as a kill within a write leaves it
        server.faults += [None, reddit_server.expired(), None, reddit_server.hang(120)]
        assert started(server, tmp_path, time_out=5).wait() == 0

        asked_twice = {name: times for name, times in Counter(server.answered).items() if times > 1}
        assert not asked_twice
        assert set(server.answered) == set(IDS)
        latest = ledger.latest()
        assert Counter(entry.status for entry in latest.values()) == {
            Status.OK: UNIQUE - 440,
            Status.DELETED: 40,
            Status.MISSING: 400,
        }
        assert len(ledger.path.read_bytes().splitlines()) == len(latest) == UNIQUE
        assert {name: latest[name] for name in before} == before

        requests = len(server.log)
        assert started(server, tmp_path, time_out=5).wait() == 0
        assert len(server.log) == requests

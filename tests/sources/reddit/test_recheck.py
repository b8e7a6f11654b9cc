from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from builders.errors import RemoteError, SourceError
from builders.sources.reddit import hydrate as hydration
from builders.sources.reddit.hydrate import Rechecked
from builders.sources.reddit.ledger import Ledger
from builders.sources.reddit.model import Status
from tests import reddit_server
from tests.reddit_server import Server, serve
from tests.sources.reddit import kit
from tests.sources.reddit.test_dump import lines

IDS = kit.names(250)
OK, REMOVED, DELETED, MISSING, ERROR = Status


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(kit.store(IDS)) as found:
        yield found


@pytest.fixture
def ledger(tmp_path: Path, server: Server) -> Ledger:
    """A ledger with the texts of all."""
    found = Ledger(tmp_path / "ledger.jsonl")
    with kit.client(server) as client:
        hydration.hydrate(IDS, found, client, today=kit.TODAY)
    server.log.clear()
    return found


def recheck(server: Server, ledger: Ledger) -> Rechecked:
    with kit.client(server) as client:
        return hydration.recheck(IDS, ledger, client, today=kit.TOMORROW)


def held(ledger: Ledger) -> set[str]:
    """The ids of which a word is left in the folder of the ledger."""
    data = b"".join(path.read_bytes() for path in ledger.path.parent.iterdir())
    return {name for name in IDS if f"Frage {name} ".encode() in data or f"Linie {name} ".encode() in data}


def test_the_texts_of_50_deletions_are_purged(server: Server, ledger: Ledger) -> None:
    server.delete(IDS[:30])
    server.remove(IDS[30:40])
    server.vanish(IDS[40:50])
    assert held(ledger) == set(IDS)
    found = recheck(server, ledger)
    gone = (
        dict.fromkeys(IDS[:30], DELETED)
        | dict.fromkeys(IDS[30:40], REMOVED)
        | dict.fromkeys(IDS[40:50], MISSING)
    )
    assert (found.asked, found.edited) == (250, 0)
    assert found.gone == gone
    assert found.counts == {OK: 200, DELETED: 30, REMOVED: 10, MISSING: 10}
    assert held(ledger) == set(IDS[50:])
    latest = ledger.latest()
    assert {name: latest[name].status for name in gone} == gone
    assert {entry.subreddit for entry in latest.values()} == {"fahrplan"}
    assert {entry.checked for entry in latest.values()} == {kit.TOMORROW}
    assert recheck(server, ledger).asked == 200
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_an_edit_replaces_the_text(server: Server, ledger: Ledger) -> None:
    server.submissions[IDS[0]] |= {"selftext": "Hat sich erledigt."}
    found = recheck(server, ledger)
    assert (found.edited, found.gone) == (1, {})
    assert ledger.latest()[IDS[0]].body == "Hat sich erledigt."
    assert f"Linie {IDS[0]} ".encode() not in ledger.path.read_bytes()


def test_a_recheck_that_is_cut_purges_what_it_has_found(server: Server, ledger: Ledger) -> None:
    server.delete(IDS)
    server.faults += [None, *[reddit_server.answers({})] * 6]
    with pytest.raises(RemoteError, match="83 ids are left"):
        recheck(server, ledger)
    counts = Counter(entry.status for entry in ledger.latest().values())
    assert counts == {DELETED: 167, OK: 83}  # nothing is known of the others, so they stay
    assert len(held(ledger)) == 83
    assert recheck(server, ledger).asked == 83
    assert not held(ledger)


def test_a_reddit_that_has_gone_blind_purges_nothing(server: Server, ledger: Ledger) -> None:
    server.faults += [reddit_server.answers({"kind": "Listing", "data": {"children": []}})] * 10
    with pytest.raises(RemoteError, match="not taken for an answer"):
        recheck(server, ledger)
    assert held(ledger) == set(IDS)
    assert Counter(entry.status for entry in ledger.latest().values()) == {OK: 250}


def dump(path: Path, ids: list[str], **fields: object) -> Path:
    path.write_bytes(
        zstandard.ZstdCompressor().compress(lines([kit.submission(name, **fields) for name in ids]))
    )
    return path


def test_dumps_fill_what_has_no_final_answer(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with serve(kit.store(IDS[:20], selftext="[deleted]")) as server, kit.client(server) as client:
        hydration.hydrate(IDS[:30], ledger, client, today=kit.TODAY)
    first = dump(tmp_path / "RS_1.zst", IDS[:100])
    second = dump(tmp_path / "RS_2.zst", IDS[90:110], selftext="[removed]")
    third = dump(tmp_path / "RS_3.zst", IDS[90:110])
    counts = hydration.from_dumps(IDS, ledger, [first, second, third], today=kit.TOMORROW)
    assert counts == {DELETED: 20, OK: 70, REMOVED: 20, MISSING: 140}
    latest = ledger.latest()
    assert not held(ledger) & set(IDS[:20])  # what Reddit says is deleted does not come back
    assert latest[IDS[20]].body == f"Fährt Linie {IDS[20]} & Co. auch nachts?"
    assert {entry.origin for name, entry in latest.items() if name not in IDS[:20]} == {"dump"}


def test_a_dump_that_is_cut_off_changes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    path = dump(tmp_path / "RS.zst", IDS)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(SourceError, match="cut off"):
        hydration.from_dumps(IDS, ledger, [path], today=kit.TODAY)
    assert ledger.latest() == {}

from __future__ import annotations

import datetime
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from builders.errors import RemoteError, SourceError
from builders.reddit.ledger import Ledger
from builders.reddit.lookup import Rechecked, ask, ask_again, read_from_dumps
from builders.reddit.submission import Status, Submission
from tests import reddit_server
from tests.reddit import kit
from tests.reddit.test_dump import lines
from tests.reddit_server import Server, serve

IDS = kit.names(250)
OK, REMOVED, DELETED, MISSING, ERROR = Status


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(kit.store(IDS)) as found:
        yield found


@pytest.fixture
def ledger(tmp_path: Path, server: Server) -> Ledger:
    """A ledger with the texts of all."""
    found = Ledger(tmp_path / "ledger.sqlite")
    with kit.client(server) as client:
        ask(IDS, found, client, today=kit.TODAY)
    server.log.clear()
    return found


def recheck(server: Server, ledger: Ledger, today: datetime.date = kit.TOMORROW, **options: Any) -> Rechecked:
    with kit.client(server) as client:
        return ask_again(ledger, client, today=today, **options)


def counts(ledger: Ledger) -> Counter[Status]:
    return Counter(entry.status for entry in ledger.latest().values())


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
    assert counts(ledger) == {OK: 200, DELETED: 30, REMOVED: 10, MISSING: 10}
    assert held(ledger) == set(IDS[50:])
    latest = ledger.latest()
    assert {name: latest[name].status for name in gone} == gone
    assert {entry.subreddit for entry in latest.values()} == {"fahrplan"}
    assert {entry.checked for entry in latest.values()} == {kit.TOMORROW}
    assert recheck(server, ledger).asked == 210  # what is missing may be found another day
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_an_edit_replaces_the_text(server: Server, ledger: Ledger) -> None:
    server.submissions[IDS[0]] |= {"selftext": "Hat sich erledigt."}
    found = recheck(server, ledger)
    assert (found.edited, found.gone) == (1, {})
    assert ledger.latest()[IDS[0]].body == "Hat sich erledigt."
    assert f"Linie {IDS[0]} ".encode() not in ledger.path.read_bytes()


def test_what_was_missing_is_asked_again_and_comes_back(server: Server, ledger: Ledger) -> None:
    back = {name: server.submissions.pop(name) for name in IDS[:20]}
    assert len(recheck(server, ledger).gone) == 20
    server.submissions |= dict(list(back.items())[:15])
    found = recheck(server, ledger)
    assert (found.asked, found.back, found.gone, found.edited) == (250, 15, {}, 0)
    assert counts(ledger) == {OK: 245, MISSING: 5}
    assert held(ledger) == set(IDS[:15] + IDS[20:])


def test_one_empty_answer_purges_nothing(server: Server, ledger: Ledger) -> None:
    server.faults += [None, reddit_server.empty()]
    found = recheck(server, ledger)
    assert (found.asked, found.gone, counts(ledger)) == (250, {}, {OK: 250})
    assert held(ledger) == set(IDS)


def test_whole_batches_that_have_vanished_are_purged(server: Server, ledger: Ledger) -> None:
    ids = list(ledger.latest())
    server.vanish([*ids[1::3], *ids[2::3]])  # what the first batch has shown to be there speaks for it
    assert len(recheck(server, ledger).gone) == 166
    assert held(ledger) == set(ids[::3])
    assert [len(batch) for batch in server.asked] == [84, 83, 83, 93, 93]


def test_a_title_that_is_gone_takes_the_text_with_it(server: Server, ledger: Ledger) -> None:
    server.submissions[IDS[0]] |= {"title": ""}
    assert recheck(server, ledger).gone == {IDS[0]: MISSING}
    assert held(ledger) == set(IDS[1:])


def test_a_recheck_that_is_cut_purges_what_it_has_found_and_goes_on_there(
    server: Server, ledger: Ledger
) -> None:
    server.delete(IDS[:120])
    server.vanish(IDS[120:150])
    server.faults += [None, *[reddit_server.answers({})] * 6]
    with pytest.raises(RemoteError, match="83 ids are left") as caught:
        recheck(server, ledger)
    assert "only what is left is asked" in caught.value.hint
    left = set(server.asked[1])
    assert len(left) == 83
    assert held(ledger) == set(IDS[150:]) | left  # nothing is known of the others, so they stay
    server.log.clear()
    assert recheck(server, ledger).asked == 83
    assert {name for batch in server.asked for name in batch} == left
    assert held(ledger) == set(IDS[150:])
    assert recheck(server, ledger).asked == 130  # one that was not cut looks at all again


def test_a_cut_of_another_day_is_forgotten(server: Server, ledger: Ledger) -> None:
    server.faults += [None, *[reddit_server.answers({})] * 6]
    with pytest.raises(RemoteError):
        recheck(server, ledger)
    assert recheck(server, ledger, kit.TOMORROW + datetime.timedelta(days=1)).asked == 250


def test_a_recheck_on_the_day_of_the_hydration_looks_at_all(server: Server, ledger: Ledger) -> None:
    assert recheck(server, ledger, kit.TODAY).asked == 250


def test_an_interrupt_purges_what_was_found_and_is_gone_on_from(server: Server, ledger: Ledger) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    server.delete(IDS)
    with pytest.raises(KeyboardInterrupt):
        recheck(server, ledger, progress=interrupt)
    assert counts(ledger) == {DELETED: 84, OK: 166}
    assert len(held(ledger)) == 166
    assert recheck(server, ledger).asked == 166
    assert not held(ledger)


def test_after_a_kill_only_what_is_left_is_asked(server: Server, ledger: Ledger) -> None:
    answered = [
        entry.model_copy(update={"checked": kit.TOMORROW, "recheck_open": True})
        for entry in list(ledger.latest().values())[:100]
    ]
    ledger.append(answered)  # as the killed run had
    assert recheck(server, ledger).asked == 150
    assert not any(entry.recheck_open for entry in ledger.latest().values())


def test_a_reddit_that_has_gone_blind_purges_nothing(server: Server, ledger: Ledger) -> None:
    server.faults += [reddit_server.empty()] * 10
    with pytest.raises(RemoteError, match=r"not taken for an answer.*; 250 ids are left") as caught:
        recheck(server, ledger)
    assert str(ledger.path) in caught.value.hint
    assert held(ledger) == set(IDS)
    assert counts(ledger) == {OK: 250}


def dump(path: Path, ids: list[str], **fields: object) -> Path:
    path.write_bytes(
        zstandard.ZstdCompressor().compress(lines([kit.submission(name, **fields) for name in ids]))
    )
    return path


def test_dumps_fill_what_has_no_final_answer(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with serve(kit.store(IDS[:20], selftext="[deleted]")) as server, kit.client(server) as client:
        ask(IDS[:30], ledger, client, today=kit.TODAY)
    first = dump(tmp_path / "RS_1.zst", IDS[:100])
    second = dump(tmp_path / "RS_2.zst", IDS[90:110], selftext="[removed]")
    third = dump(tmp_path / "RS_3.zst", IDS[90:110])
    read_from_dumps(IDS, ledger, [first, second, third], today=kit.TOMORROW)
    assert counts(ledger) == {DELETED: 20, OK: 60, REMOVED: 20, MISSING: 150}
    latest = ledger.latest()
    assert held(ledger) == set(IDS[30:90])  # what Reddit says is deleted, or does not know, stays away
    assert latest[IDS[30]].body == f"Fährt Linie {IDS[30]} & Co. auch nachts?"
    assert {entry.origin for name, entry in latest.items() if name not in IDS[:30]} == {"dump"}


def test_a_dump_that_is_cut_off_changes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    path = dump(tmp_path / "RS.zst", IDS)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(SourceError, match="cut off"):
        read_from_dumps(IDS, ledger, [path], today=kit.TODAY)
    assert ledger.latest() == {}


def test_no_dump_brings_back_what_a_recheck_has_purged(
    tmp_path: Path, server: Server, ledger: Ledger
) -> None:
    server.vanish(IDS[:30])
    server.delete(IDS[30:40])
    server.remove(IDS[40:50])
    recheck(server, ledger)
    before = ledger.latest()
    whole, empty = dump(tmp_path / "RS_1.zst", IDS), dump(tmp_path / "RS_2.zst", ["zzzzz1"])
    for path in (whole, empty):
        read_from_dumps(IDS, ledger, [path], today=kit.TOMORROW)
        assert counts(ledger) == {OK: 200, MISSING: 30, DELETED: 10, REMOVED: 10}
        assert ledger.latest() == before
    assert held(ledger) == set(IDS[50:])


def test_of_dumps_that_differ_one_with_the_text_fills_what_another_cannot_tell(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    broken = dump(tmp_path / "RS_1.zst", IDS[:20], title="")
    whole = dump(tmp_path / "RS_2.zst", IDS[:30])
    for paths in ([broken, whole], [whole, broken]):
        ledger.path.unlink(missing_ok=True)
        read_from_dumps(IDS[:30], ledger, paths, today=kit.TODAY)
        assert counts(ledger) == {OK: 30}


def test_a_text_that_a_later_dump_shows_deleted_is_purged(tmp_path: Path) -> None:
    whole = dump(tmp_path / "dumps_1.zst", IDS)
    later = dump(tmp_path / "dumps_2.zst", IDS[:20], title="[deleted]", selftext="[deleted]", subreddit=None)
    for number, paths in enumerate(([whole, later], [later, whole])):
        ledger = Ledger(tmp_path / f"folder {number}" / "ledger.sqlite")
        for path in [*paths, *paths]:
            read_from_dumps(IDS, ledger, [path], today=kit.TODAY)
        assert counts(ledger) == {DELETED: 20, OK: 230}
        assert held(ledger) == set(IDS[20:])
        assert {entry.subreddit for entry in ledger.latest().values()} == {"fahrplan"}


def test_a_dump_also_purges_what_reddit_gave_and_what_is_not_asked_for(
    tmp_path: Path, ledger: Ledger, server: Server
) -> None:
    day = int(datetime.datetime(2024, 5, 16, tzinfo=datetime.UTC).timestamp())
    gone = dump(tmp_path / "RS_1.zst", IDS[:20], selftext="[removed]")
    before = dump(tmp_path / "RS_2.zst", IDS[20:40], selftext="[removed]", retrieved_on=day)
    read_from_dumps(IDS[100:], ledger, [gone, before], today=kit.TOMORROW)
    assert held(ledger) == set(IDS[20:])  # of the second dump, Reddit knew better on the day after it
    found = recheck(server, ledger)  # Reddit shows all of them, and has the last word
    assert (found.back, counts(ledger)) == (20, {OK: 250})


def test_what_reddit_confirms_to_be_gone_is_asked_no_more(
    tmp_path: Path, ledger: Ledger, server: Server
) -> None:
    read_from_dumps(IDS, ledger, [dump(tmp_path / "RS.zst", IDS[:20], selftext="[removed]")], today=kit.TODAY)
    server.remove(IDS[:20])
    assert [recheck(server, ledger).asked for _ in range(2)] == [250, 230]


def test_a_dump_without_a_submission_takes_no_subreddit_away(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    failed = Submission(id=IDS[0], status=ERROR, checked=kit.TODAY, origin="api", subreddit="berlin")
    ledger.append([failed])
    read_from_dumps(IDS[:1], ledger, [dump(tmp_path / "RS.zst", IDS[1:])], today=kit.TOMORROW)
    (known,) = (entry for entry in ledger.latest().values() if entry.id == IDS[0])
    assert (known.status, known.subreddit) == (MISSING, "berlin")


def test_each_answer_names_its_dump_by_name_and_hash(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    first = dump(tmp_path / "RS 1\n.zst", IDS[:1])
    second = dump(tmp_path / f"RS_{'x' * 90}.zst", IDS[1:2])
    read_from_dumps(IDS[:2], ledger, [first, second], today=kit.TODAY)
    hashes = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (first, second)]
    known = ledger.latest()
    assert known[IDS[0]].archive == f"RS_1_.zst@{hashes[0]}"
    assert known[IDS[1]].archive == f"{'x' * 76}.zst@{hashes[1]}"

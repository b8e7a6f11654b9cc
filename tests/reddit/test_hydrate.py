from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.errors import Busy, RemoteError, UsageError
from builders.reddit.api import MOST_IDS
from builders.reddit.ledger import Ledger
from builders.reddit.lookup import ask, ask_again
from builders.reddit.sets import read_ids
from builders.reddit.submission import Status, Submission
from tests import reddit_server
from tests.fixtures.upstream import upstream
from tests.reddit import kit
from tests.reddit_server import Server, load, serve

IDS = kit.names(250)
OK, REMOVED, DELETED, MISSING, ERROR = Status


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(kit.store(IDS)) as found:
        yield found


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def hydrate(server: Server, ledger: Ledger, ids: list[str] = IDS, **options: Any) -> Counter[Status]:
    with kit.client(server) as client:
        ask(ids, ledger, client, today=kit.TODAY, **options)
    known = ledger.latest()
    return Counter(known[name].status for name in set(ids))


@pytest.mark.upstream
def test_the_stand_in_has_its_planted_counts(ledger: Ledger) -> None:
    folder = upstream() / "reddit"
    lines = (folder / "submission_ids.txt").read_text(encoding="utf-8").split()[1:]
    ids = list(read_ids(folder / "submission_ids.txt").ids)
    with serve(load(folder / "submissions.jsonl.gz")) as server:
        counts = hydrate(server, ledger, lines)
        assert counts == {OK: 5843, REMOVED: 227, DELETED: 174, MISSING: 1200}
        assert len(lines) == 7744
        assert Counter(name for batch in server.asked for name in batch) == dict.fromkeys(ids, 1)
        assert max(map(len, server.asked)) == MOST_IDS
        assert ledger.latest().keys() == set(ids)
        assert hydrate(server, ledger, ids) == counts
        assert len(server.asked) == -(-len(ids) // MOST_IDS)


def test_every_id_gets_a_status_and_is_asked_once(server: Server, ledger: Ledger) -> None:
    server.remove(IDS[:3])
    server.delete(IDS[3:5])
    server.vanish(IDS[5:9])
    seen: list[tuple[int, int]] = []
    counts = hydrate(server, ledger, IDS + IDS[:50], progress=lambda *done: seen.append(done))
    assert counts == {OK: 241, REMOVED: 3, DELETED: 2, MISSING: 4}
    assert sorted(name for batch in server.asked for name in batch) == sorted(IDS)
    assert {entry.checked for entry in ledger.latest().values()} == {kit.TODAY}
    assert len(seen) == 3
    assert seen[-1] == (250, 250)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert b"fahrgast_" not in ledger.path.read_bytes()  # the authors


def test_ids_that_stand_together_and_are_gone_need_no_second_look(server: Server, ledger: Ledger) -> None:
    server.vanish(IDS[100:])
    assert hydrate(server, ledger) == {OK: 100, MISSING: 150}
    assert len(server.asked) == 3


def test_what_was_missing_is_not_asked_again(server: Server, ledger: Ledger) -> None:
    back = {name: server.submissions.pop(name) for name in IDS[:20]}
    hydrate(server, ledger)
    server.submissions |= dict(list(back.items())[:15])
    server.log.clear()
    assert hydrate(server, ledger) == {OK: 230, MISSING: 20}
    assert server.log == []


def test_one_empty_answer_makes_nothing_missing(server: Server, ledger: Ledger) -> None:
    server.faults += [None, reddit_server.empty()]
    assert hydrate(server, ledger) == {OK: 250}
    assert [len(batch) for batch in server.asked] == [84, 83, 83, 93]
    again = Counter(server.answered)
    assert [again[name] for name in server.asked[1]] == [1] * 83
    assert len([name for name, times in again.items() if times == 2]) == 10  # the controls


def test_an_empty_answer_at_the_very_start_makes_nothing_missing(server: Server, ledger: Ledger) -> None:
    server.faults += [reddit_server.empty()]
    assert hydrate(server, ledger) == {OK: 250}


@pytest.mark.parametrize("number", [1, 3, 9])
@pytest.mark.parametrize("known", [0, 100])
def test_an_empty_answer_to_few_ids_is_not_believed_either(
    server: Server, ledger: Ledger, number: int, known: int
) -> None:
    hydrate(server, ledger, IDS[:known])
    server.faults += [reddit_server.empty()]
    assert hydrate(server, ledger, IDS[100 : 100 + number]) == {OK: number}


def test_a_batch_that_is_gone_is_believed_with_controls_in_the_same_request(
    server: Server, ledger: Ledger
) -> None:
    server.vanish(IDS[:150])
    hydrate(server, ledger, IDS[150:])
    ledger.append([
        Submission(id=name, status=MISSING, checked=kit.TODAY, origin="dump") for name in IDS[:150]
    ])
    server.log.clear()
    assert hydrate(server, ledger) == {OK: 100, MISSING: 150}
    batches = server.asked
    assert [len(batch) for batch in batches] == [75, 75, 85, 85]
    assert [len(set(batch) & set(IDS[150:])) for batch in batches] == [0, 0, 10, 10]


def test_two_empty_answers_to_the_same_ids_are_an_error(server: Server, ledger: Ledger) -> None:
    server.faults += [None, reddit_server.empty(), None, reddit_server.empty()]
    with pytest.raises(RemoteError, match=r"knows none of 93 ids.*; 83 ids are left"):
        hydrate(server, ledger)
    assert Counter(entry.status for entry in ledger.latest().values()) == {OK: 167, ERROR: 83}
    assert hydrate(server, ledger) == {OK: 250}


def test_an_answer_without_any_is_an_error_where_nothing_speaks_for_it(ledger: Ledger) -> None:
    with serve({}) as server, pytest.raises(RemoteError, match="not taken for an answer") as caught:
        hydrate(server, ledger)
    assert "250 ids are left without an answer" in caught.value.message
    assert set(entry.status for entry in ledger.latest().values()) == {ERROR}


def test_who_is_told_to_come_back_later_asks_for_nothing_more(server: Server, ledger: Ledger) -> None:
    server.faults += [None, reddit_server.too_many("5000")]
    with pytest.raises(RemoteError, match=r"asks to wait until .* UTC .*; 166 ids are left") as caught:
        hydrate(server, ledger)
    assert "again then" in caught.value.hint
    assert len(server.asked) == 2
    assert Counter(entry.status for entry in ledger.latest().values()) == {OK: 84}
    assert hydrate(server, ledger) == {OK: 250}


def test_a_reddit_that_has_gone_blind_makes_nothing_missing(server: Server, ledger: Ledger) -> None:
    hydrate(server, ledger, IDS[:100])
    server.faults += [reddit_server.empty()] * 10
    with pytest.raises(RemoteError, match="not taken for an answer"):
        hydrate(server, ledger)
    assert Counter(entry.status for entry in ledger.latest().values()) == {OK: 100, ERROR: 150}
    server.faults.clear()
    assert hydrate(server, ledger) == {OK: 250}


def test_few_ids_may_all_be_missing(server: Server, ledger: Ledger) -> None:
    assert hydrate(server, ledger, ["zzzzz1", "zzzzz2"]) == {MISSING: 2}
    hydrate(server, ledger)
    assert hydrate(server, ledger, ["zzzzz3"]) == {MISSING: 1}


def test_a_batch_that_fails_for_good_leaves_the_others_and_is_asked_again(
    server: Server, ledger: Ledger
) -> None:
    server.faults += [None, *[reddit_server.answers({})] * 6]
    with pytest.raises(RemoteError, match=r"not a Listing.*; 83 ids are left") as caught:
        hydrate(server, ledger)
    assert "Run the same command again" in caught.value.hint
    latest = ledger.latest()
    assert Counter(entry.status for entry in latest.values()) == {OK: 167, ERROR: 83}
    server.log.clear()
    assert hydrate(server, ledger) == {OK: 250}
    failed = sorted(name for name, entry in latest.items() if entry.status is ERROR)
    assert [sorted(batch) for batch in server.asked] == [failed]


def test_two_failures_in_a_row_end_the_run(server: Server, ledger: Ledger) -> None:
    server.faults += [reddit_server.answers([])] * 100
    with pytest.raises(RemoteError, match="; 250 ids are left"):
        hydrate(server, ledger)
    assert len(server.asked) == 12
    assert Counter(entry.status for entry in ledger.latest().values()) == {ERROR: 167}


def test_what_failed_is_asked_last(server: Server, ledger: Ledger) -> None:
    failed = [Submission(id=name, status=ERROR, checked=kit.TODAY, origin="api") for name in IDS[:50]]
    ledger.append(failed)
    hydrate(server, ledger)
    assert sorted(server.asked[-1]) == sorted(IDS[:50])


@pytest.mark.parametrize("fields", [{"title": None}, {"title": ""}, {"selftext": 7}])
def test_one_that_cannot_be_read_blocks_nothing_and_may_come_back(
    server: Server, ledger: Ledger, fields: dict[str, Any]
) -> None:
    whole = server.submissions[IDS[7]]
    server.submissions[IDS[7]] = whole | fields
    assert hydrate(server, ledger) == {OK: 249, MISSING: 1}
    server.log.clear()
    assert hydrate(server, ledger) == {OK: 249, MISSING: 1}
    assert server.log == []
    server.submissions[IDS[7]] = whole
    with kit.client(server) as client:
        assert ask_again(ledger, client, today=kit.TOMORROW).back == 1
    assert Counter(entry.status for entry in ledger.latest().values()) == {OK: 250}


def test_wrong_credentials_write_nothing(
    server: Server, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("praw_client_secret", "falsch")
    with pytest.raises(UsageError):
        hydrate(server, ledger)
    assert ledger.latest() == {}


def test_two_hydrations_at_once_are_refused(server: Server, ledger: Ledger) -> None:
    with Ledger(ledger.path).exclusive(), pytest.raises(Busy):
        hydrate(server, ledger)
    assert server.log == []


def test_an_interrupt_keeps_what_was_answered(server: Server, ledger: Ledger) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hydrate(server, ledger, progress=interrupt)
    known = len(ledger.latest())
    assert hydrate(server, ledger) == {OK: 250}
    assert known == 84
    assert Counter(server.answered).most_common(1)[0][1] == 1


def test_an_answer_that_a_submission_is_gone_takes_its_text_at_once(server: Server, ledger: Ledger) -> None:
    hydrate(server, ledger)
    assert f"Frage {IDS[0]} ".encode() in ledger.path.read_bytes()
    ledger.append([Submission(id=IDS[0], status=DELETED, checked=kit.TODAY, origin="api")])
    assert f"Frage {IDS[0]} ".encode() not in ledger.path.read_bytes()

from __future__ import annotations

import datetime
import email.utils
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import prawcore
import pytest

from builders.errors import MtebDeError, RemoteError, UsageError
from builders.reddit.api import ComeBackLater, connect
from tests import reddit_server
from tests.reddit import kit
from tests.reddit.kit import Pauses
from tests.reddit_server import CLIENT_SECRET, Fault, Server, serve

IDS = kit.names(3)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(kit.store(IDS)) as found:
        yield found


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let prawcore's own pauses, seconds by chance, take no time."""
    monkeypatch.setattr("prawcore.sessions.FiniteRetryStrategy.sleep", lambda _: None)


def ask(server: Server, sleep: Pauses | None = None, ids: list[str] = IDS) -> list[str]:
    with kit.client(server, sleep=sleep) as client:
        return [data["id"] for data in client.info(ids)]


def test_what_is_asked_and_what_comes_back(server: Server) -> None:
    text = "A &amp; B <c> &#x200B;"
    server.submissions[IDS[1]] |= {"selftext": text, "author": None}
    with kit.client(server) as client:
        found = client.info([IDS[1], "zzzzzz", IDS[0]])
    assert [data["id"] for data in found] == [IDS[1], IDS[0]]
    assert found[0]["selftext"] == text  # with raw_json=1 nothing is escaped
    assert server.asked == [(IDS[1], "zzzzzz", IDS[0])]
    assert [request.method for request in server.log] == ["POST", "GET"]


def test_one_login_serves_many_requests(server: Server) -> None:
    with kit.client(server) as client:
        for _ in range(3):
            client.info(IDS)
    assert [request.method for request in server.log] == ["POST", "GET", "GET", "GET"]


def test_a_429_is_waited_for_in_both_forms(server: Server) -> None:
    until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=120)
    server.faults += [
        reddit_server.too_many("7"),
        reddit_server.too_many(email.utils.format_datetime(until, usegmt=True)),
        reddit_server.too_many("bald"),
        Fault(429, headers=reddit_server.NO_LIMIT),
    ]
    pauses = Pauses()
    assert ask(server, pauses) == IDS
    assert pauses[0] == 7
    assert 100 < pauses[1] <= 120
    assert pauses[2:] == [60, 1]


@pytest.mark.parametrize("told", ["901", "86400", "250000"])
def test_who_is_told_to_wait_for_long_is_told_when_to_come_back(server: Server, told: str) -> None:
    before = datetime.datetime.now(datetime.UTC)
    server.faults += [reddit_server.too_many(told)]
    pauses = Pauses()
    with pytest.raises(ComeBackLater, match=r"too many requests \(429\)") as caught:
        ask(server, pauses)
    assert pauses == []
    assert len(server.asked) == 1
    (date,) = re.findall(r"until (\S+ \S+) UTC", caught.value.message)
    then = datetime.datetime.fromisoformat(f"{date}+00:00")
    assert 0 <= (then - before).total_seconds() - int(told) < 60  # never earlier than told
    assert "Run the same command again then" in caught.value.hint


def test_no_sum_of_pauses_is_endless_and_each_is_as_long_as_told(server: Server) -> None:
    server.faults += [reddit_server.too_many("900")] * 20
    pauses = Pauses()
    with pytest.raises(ComeBackLater, match="asks to wait until"):
        ask(server, pauses)
    assert pauses == [900] * 4


def test_pauses_that_take_long_are_told(server: Server) -> None:
    server.faults += [
        reddit_server.too_many("600"),
        reddit_server.too_many("9"),
        reddit_server.too_many(None),
    ]
    said: list[str] = []
    with kit.client(server, say=said.append) as client:
        client.info(IDS)
    assert [line.split(", until ")[0] for line in said] == ["waiting 600 seconds", "waiting 60 seconds"]
    assert all(re.search(r"until \d\d:\d\d:\d\d UTC: too many requests", line) for line in said)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    "fault",
    [
        reddit_server.answers({}),
        reddit_server.answers([]),
        reddit_server.answers(None),
        reddit_server.answers(b"<html>Wartung</html>"),
        reddit_server.answers(b""),
        reddit_server.answers({"kind": "Listing", "data": {}}),
        reddit_server.answers({"kind": "Listing", "data": {"children": {}}}),
        reddit_server.answers({"data": {"children": []}}),
        reddit_server.answers({"json": {"errors": [["RATELIMIT", "9 Minuten", "ratelimit"]]}}),
        reddit_server.answers({
            "kind": "Listing",
            "data": {"children": [{"kind": "t1", "data": {"id": IDS[0]}}]},
        }),
        reddit_server.answers({
            "kind": "Listing",
            "data": {"children": [{"kind": "t3", "data": {"id": "fremd1"}}]},
        }),
        reddit_server.answers({"kind": "Listing", "data": {"children": [{"kind": "t3"}]}}),
        reddit_server.answers({"kind": "Listing", "data": {"children": [None]}}),
        Fault(204, body=b""),
        Fault(408),
    ],
)
def test_a_foreign_answer_is_repeated_and_then_an_error(server: Server, fault: Fault) -> None:
    server.faults += [fault]
    pauses = Pauses()
    assert ask(server, pauses) == IDS
    server.faults += [fault] * 40
    with pytest.raises(RemoteError, match="gave up after 6 attempts"):
        ask(server, pauses)
    assert pauses[-5:] == [1, 2, 4, 8, 16]


def test_an_empty_listing_is_no_error_here(server: Server) -> None:
    assert ask(server, ids=["zzzzz1", "zzzzz2"]) == []


@pytest.mark.usefixtures("at_once")
def test_failures_of_server_and_network_are_repeated(server: Server) -> None:
    server.faults += [reddit_server.unavailable(), reddit_server.reset()]
    assert ask(server) == IDS
    assert len(server.asked) == 3


@pytest.mark.usefixtures("at_once")
def test_a_server_that_hangs_is_left_after_the_time_out(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = prawcore.Session.request.__kwdefaults__
    assert settings is not None
    monkeypatch.setitem(settings, "timeout", 0.3)
    server.faults += [reddit_server.hang(30)]
    with kit.client(server) as client:
        assert len(client.info(IDS)) == 3
    assert len(server.asked) == 2


@pytest.mark.usefixtures("at_once")
def test_a_server_that_is_not_there_is_an_error() -> None:
    with serve({}) as server:
        pass
    pauses = Pauses()
    with pytest.raises(RemoteError, match="no connection"):
        ask(server, pauses)
    assert pauses == [1, 2, 4, 8, 16]


@pytest.mark.usefixtures("at_once")
def test_an_expired_token_is_fetched_anew(server: Server) -> None:
    server.faults += [None, reddit_server.expired(), None]
    with kit.client(server) as client:
        client.info(IDS[:1])
        assert len(client.info(IDS)) == 3
    assert [request.method for request in server.log] == ["POST", "GET", "GET", "POST", "GET"]


def test_rate_limit_headers_that_praw_cannot_read_do_no_harm(server: Server) -> None:
    for limits in (
        {"x-ratelimit-remaining": "99.5", "x-ratelimit-used": "1", "x-ratelimit-reset": "0.5"},
        {"x-ratelimit-remaining": "99"},
        {"x-ratelimit-remaining": "viel", "x-ratelimit-used": "x", "x-ratelimit-reset": "-1"},
    ):
        server.limits = limits
        assert ask(server) == IDS


def test_when_nothing_remains_praw_waits_for_the_reset(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = Pauses()
    monkeypatch.setattr("prawcore.rate_limit.time.sleep", waited)
    server.limits = {"x-ratelimit-remaining": "0", "x-ratelimit-used": "100", "x-ratelimit-reset": "42"}
    said: list[str] = []
    with kit.client(server, say=said.append) as client:
        client.info(IDS)
        assert said == []
        client.info(IDS)
    assert [41 < seconds <= 42 for seconds in waited] == [True]
    assert [line.split(" UTC: ")[1] for line in said] == ["no request is left in this window"]


def test_a_reset_that_is_far_away_ends_the_run_before_praw_sleeps(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited = Pauses()
    monkeypatch.setattr("prawcore.rate_limit.time.sleep", waited)
    server.limits = {"x-ratelimit-remaining": "0", "x-ratelimit-used": "100", "x-ratelimit-reset": "3000"}
    with kit.client(server) as client:
        assert len(client.info(IDS)) == 3
        with pytest.raises(ComeBackLater, match="no request is left in this window"):
            client.info(IDS)
    assert waited == []
    assert len(server.asked) == 1


@pytest.mark.usefixtures("at_once")
def test_wrong_credentials_end_it_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("praw_client_secret", "falsches-Geheimnis")
    pauses = Pauses()
    with pytest.raises(UsageError, match="refused the credentials") as caught:
        ask(server, pauses)
    assert pauses == []
    assert server.asked == []
    assert "praw_client_id" in caught.value.hint
    assert "falsches-Geheimnis" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_of_the_api_is_one_of_the_credentials(server: Server, status: int) -> None:
    server.faults += [reddit_server.refuses(status)] * 3
    with pytest.raises(UsageError, match=f"refused the credentials .{status}"):
        ask(server)


@pytest.mark.parametrize("status", [400, 404, 418])
def test_other_refusals_are_final(server: Server, status: int) -> None:
    server.faults += [reddit_server.refuses(status)]
    pauses = Pauses()
    with pytest.raises(RemoteError):
        ask(server, pauses)
    assert pauses == []


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"<html>", b"null", b'{"access_token": "x"}', b'{"error": "invalid_grant"}']
)
def test_a_log_in_that_answers_nonsense_is_an_error(server: Server, body: bytes) -> None:
    server.logins += [Fault(body=body)] * 20
    with pytest.raises((RemoteError, UsageError)):
        ask(server)
    assert server.asked == []


def test_a_log_in_that_fails_is_repeated(server: Server) -> None:
    server.logins += [Fault(503), reddit_server.too_many("3")]
    pauses = Pauses()
    assert ask(server, pauses) == IDS
    assert pauses == [1, 3]


@pytest.mark.parametrize("name", ["client_id", "client_secret", "user_agent"])
def test_missing_credentials_say_what_to_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(f"praw_{name}")
    with pytest.raises(UsageError, match=f"{name} is missing") as caught, connect():
        pass
    assert "praw.ini" in caught.value.hint


@pytest.mark.parametrize("name", ["client_id", "client_secret", "user_agent"])
@pytest.mark.parametrize("value", ["geheim€1234", "geheim\u200b1234", "geheim\nX-Kopf: 1", " geheim1234"])
def test_credentials_that_cannot_be_sent_are_told_before_a_request(
    server: Server, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"praw_{name}", value)
    with pytest.raises(UsageError, match=f"^{name}: ") as caught, connect(url=server.url):
        pass
    assert "praw_client_secret" in caught.value.hint
    assert "geheim" not in f"{caught.value}{caught.value.hint}"
    assert server.log == []


def test_a_section_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("praw_site", "nirgends")
    with pytest.raises(UsageError, match="praw_site"), connect():
        pass


@pytest.mark.parametrize(
    "url",
    [
        "http://reddit.example",
        "http://10.0.0.1",
        "http://127.0.0.1.example",
        "http://127.0.0.1:99999",
        "ftp://127.0.0.1",
        "x",
        "",
        "https://",
    ],
)
def test_credentials_are_sent_to_this_machine_or_over_https_alone(url: str) -> None:
    with pytest.raises(UsageError, match="not an address"), connect(url=url):
        pass


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1", "http://localhost:1/", "http://[::1]:1", "https://x.example"]
)
def test_addresses_that_may_stand_in(url: str) -> None:
    with connect(url=url):
        pass


SCRIPT = """
import sys
from builders.errors import MtebDeError
from builders.reddit.api import connect
try:
    with connect(url=sys.argv[1]) as client:
        print([data["id"] for data in client.info(sys.argv[2:])])
except MtebDeError as error:
    print(type(error).__name__, error, error.hint)
"""


def from_ini(folder: Path, text: str, server: Server) -> str:
    """Ask in a process whose folder holds a praw.ini, and return what it says."""
    (folder / "praw.ini").write_text(text, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("praw_")}
    environment["PYTHONPATH"] = str(Path(__file__).parents[2])
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT, server.url, IDS[0]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return ended.stdout + ended.stderr


def test_credentials_come_from_praw_ini_whose_addresses_are_not_followed(
    server: Server, tmp_path: Path
) -> None:
    keys = {
        "client_id": reddit_server.CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "user_agent": "linux:tests:1",
    }
    settings = "".join(f"{key}={value}\n" for key, value in keys.items())
    planted = "oauth_url=http://127.0.0.1:9\nreddit_url=http://127.0.0.1:9\n"
    assert from_ini(tmp_path, f"[DEFAULT]\n{settings}{planted}", server) == f"['{IDS[0]}']\n"


def test_a_praw_ini_that_cannot_be_read_tells_none_of_it(server: Server, tmp_path: Path) -> None:
    said = from_ini(tmp_path, f"client_secret={CLIENT_SECRET}\n", server)
    assert said.startswith("UsageError praw.ini cannot be read")
    assert CLIENT_SECRET not in said


def test_a_setting_that_is_no_number_is_told(server: Server, tmp_path: Path) -> None:
    assert from_ini(tmp_path, "[DEFAULT]\ntimeout=bald\n", server).startswith(
        "UsageError PRAW does not accept a setting"
    )


@pytest.mark.usefixtures("at_once")
def test_no_log_and_no_message_holds_a_secret(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    tokens, said = [], []
    faults = [
        reddit_server.unavailable(),
        reddit_server.reset(),
        reddit_server.answers({}),
        reddit_server.refuses(404),
    ]
    for fault in faults:
        server.faults.clear()
        server.faults += [fault] * 40
        try:
            ask(server)
        except MtebDeError as error:
            said += [str(error), error.hint, str(error.__cause__)]
        tokens.append(server.token)
    secret = [CLIENT_SECRET, *filter(None, tokens)]
    assert len(said) == 3 * len(faults)
    assert "api/info" in caplog.text
    assert not [word for word in secret for text in [caplog.text, *said] if word in text]

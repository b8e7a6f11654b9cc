from __future__ import annotations

import datetime
import email.utils
import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from builders.errors import MtebDeError, RemoteError, SourceChanged, SourceMissing, StorageError, UsageError
from builders.sources import Fetched, fetch
from builders.sources.cache import Cache
from builders.sources.plain import download, fetch_pinned
from builders.spec import HttpSource
from tests.sources.loopback import Answer, Loopback

DATA = bytes(range(256)) * 4000
PATH = "/archiv/sammlung.zip"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def source(server: Loopback) -> HttpSource:
    server.files[PATH] = DATA
    return HttpSource("sammlung.zip", server.url + PATH, digest(DATA), len(DATA), "cc-by-4.0")


@pytest.fixture
def get(home: Path, source: HttpSource) -> Callable[..., Path]:
    def fetch_it(which: HttpSource = source, *, offline: bool = False) -> Path:
        return fetch_pinned(
            which, Cache(home), offline=offline, say=lambda _: None, pause=lambda _: None
        ).path

    return fetch_it


def part(home: Path, data: bytes = DATA) -> Path:
    return home / "partial" / f"http-{digest(data)}" / "part"


def test_the_pinned_file_and_its_lock(server: Loopback, source: HttpSource, home: Path) -> None:
    fetched = fetch([source], offline=False, root=home)
    (path,) = fetched.files["sammlung.zip"]
    assert path.read_bytes() == DATA and path.name == "sammlung.zip"
    (lock,) = fetched.locks
    assert (lock.kind, lock.name, lock.revision, lock.resolved, lock.licence) == (
        "http",
        "sammlung.zip",
        "",
        "",
        "cc-by-4.0",
    )
    (file,) = lock.files
    assert (file.path, file.sha256, file.size) == (source.url, digest(DATA), len(DATA))
    server.log.clear()
    assert fetch([source], offline=False, root=home) == fetched == fetch([source], offline=True, root=home)
    assert server.log == []


def test_dropped_connections_are_resumed_where_they_broke(server: Loopback, get: Callable[..., Path]) -> None:
    server.faults[PATH] = [Answer(body=DATA, drop_after=300_000), Answer(body=DATA, drop_after=1)]
    assert get().read_bytes() == DATA
    starts = [int(asked.removeprefix("bytes=").removesuffix("-") or 0) for _, _, asked in server.log]
    assert starts[0] == 0 and 0 < starts[1] <= 300_000 and starts[2] == starts[1] + 1


def test_a_killed_download_is_resumed_by_the_next(
    server: Loopback, get: Callable[..., Path], home: Path
) -> None:
    part(home).parent.mkdir(parents=True)
    part(home).write_bytes(DATA[:1000])
    assert get().read_bytes() == DATA
    assert [asked for _, _, asked in server.log] == ["bytes=1000-"]
    assert not part(home).exists()


@pytest.mark.parametrize(
    "kept", [b"other bytes", DATA + b"more", bytes(len(DATA))], ids=["less", "more", "same"]
)
def test_a_part_of_another_file_is_thrown_away(get: Callable[..., Path], home: Path, kept: bytes) -> None:
    part(home).parent.mkdir(parents=True)
    part(home).write_bytes(kept)
    assert get().read_bytes() == DATA


@pytest.mark.parametrize("lengths", [True, False])
def test_a_server_without_ranges_starts_again(
    server: Loopback, get: Callable[..., Path], lengths: bool
) -> None:
    server.ranges, server.lengths = False, lengths
    server.faults[PATH] = [Answer(body=DATA, drop_after=300_000)]
    assert get().read_bytes() == DATA


def test_attempts_count_since_the_last_byte_that_arrived(server: Loopback, get: Callable[..., Path]) -> None:
    """A line that drops every few bytes is slow, not broken."""
    server.faults[PATH] = [Answer(body=DATA, drop_after=len(DATA) // 50) for _ in range(49)]
    assert get().read_bytes() == DATA
    assert len(server.log) == 50


def test_a_server_that_sends_no_new_byte_is_given_up_and_resumed_later(
    server: Loopback, get: Callable[..., Path], home: Path
) -> None:
    drops = [Answer(body=DATA, drop_after=1000) for _ in range(8)]
    busy = [Answer(503) for _ in range(5)]
    server.faults[PATH] = [*busy, *drops, *busy, Answer(503)]
    with pytest.raises(RemoteError, match="gave up after 6 attempts without a new byte") as error:
        get()
    assert "kept" in error.value.hint
    kept = part(home).stat().st_size
    assert kept == 8000
    assert get().read_bytes() == DATA
    assert server.log[-1][2] == "bytes=8000-"


@pytest.mark.parametrize("size", [None, len(DATA)])
def test_bytes_that_had_arrived_before_are_no_progress(
    server: Loopback, tmp_path: Path, size: int | None
) -> None:
    """A server that begins anew and drops at one place each time is given up."""
    server.files[PATH], server.ranges = DATA, False
    server.faults[PATH] = [Answer(body=DATA, drop_after=1000) for _ in range(20)]
    with pytest.raises(RemoteError, match="gave up after 6 attempts"):
        download(server.url + PATH, tmp_path / "part", size=size, pause=lambda _: None)
    assert len(server.log) == 1 + 6


def test_other_bytes_under_the_pin_are_fetched_again_or_named(
    server: Loopback, get: Callable[..., Path], home: Path
) -> None:
    """The cache files what it holds under the pin; whole bytes of another file are not the pinned ones."""
    path = get()
    (home / "other").write_bytes(b"other")
    (home / "other").replace(path)
    server.log.clear()
    with pytest.raises(SourceMissing, match="damaged"):
        get(offline=True)
    assert get().read_bytes() == DATA
    assert len(server.log) == 1


def test_a_busy_server_is_asked_again_after_the_time_it_names(
    server: Loopback, source: HttpSource, home: Path
) -> None:
    soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=40)
    server.faults[PATH] = [
        Answer(503, headers={"Retry-After": email.utils.format_datetime(soon, usegmt=True)}),
        Answer(503, headers={"Retry-After": "7"}),
        Answer(429, headers={"Retry-After": "99999"}),
        Answer(500, headers={"Retry-After": "Thu, 01 Jan 1970 00:00:00 GMT"}),
    ]
    pauses: list[float] = []
    fetch_pinned(source, Cache(home), offline=False, say=lambda _: None, pause=pauses.append)
    assert 30 < pauses[0] <= 40
    assert pauses[1:] == [7.0, 60.0, 4.0]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (Answer(404), SourceMissing, "404"),
        (Answer(410), SourceMissing, "410"),
        (Answer(401), RemoteError, "401"),
        (Answer(403), RemoteError, "403"),
        (Answer(302, headers={"Location": PATH}), None, ""),
        (Answer(302, headers={"Location": "ftp://example.org/x"}), RemoteError, "ftp"),
    ],
)
def test_answers_that_another_attempt_would_not_change(
    server: Loopback, get: Callable[..., Path], answer: Answer, kind: type[MtebDeError] | None, words: str
) -> None:
    server.faults[PATH] = [answer]
    if kind is None:
        assert get().read_bytes() == DATA
        return
    with pytest.raises(kind, match=words) as error:
        get()
    assert error.value.hint
    assert len(server.log) == 1


@pytest.mark.parametrize(
    "body",
    [b"<!DOCTYPE html><title>Anmeldung</title>", DATA[:-1], DATA + b"!", DATA[::-1], b""],
    ids=["page", "shorter", "longer", "other", "empty"],
)
def test_other_bytes_are_shown_with_both_hashes(
    server: Loopback, get: Callable[..., Path], home: Path, body: bytes
) -> None:
    server.files[PATH] = body
    with pytest.raises(SourceChanged) as error:
        get()
    for words in ("sammlung.zip", digest(DATA), digest(body), str(len(DATA)), str(len(body))):
        assert words in error.value.message
    assert ("web page" in error.value.message) == body.startswith(b"<!")
    assert "--update-lock" in error.value.hint
    assert not part(home).exists() and not (home / "files").exists()
    server.files[PATH] = DATA
    assert get().read_bytes() == DATA


def test_a_flood_is_not_read_to_its_end(
    server: Loopback, get: Callable[..., Path], source: HttpSource
) -> None:
    server.files[PATH] = bytes(40 << 20)
    with pytest.raises(SourceChanged, match="more than") as error:
        get(replace(source, size=10))
    assert str(40 << 20) not in error.value.message


def test_offline_says_what_is_missing_and_asks_nobody(
    server: Loopback, get: Callable[..., Path], source: HttpSource
) -> None:
    with pytest.raises(SourceMissing, match=r"sammlung\.zip.*not in the cache") as error:
        get(replace(source, url="http://unknown.invalid/sammlung.zip"), offline=True)
    assert "--offline" in error.value.hint
    assert server.log == []


def test_a_damaged_object_is_fetched_again_or_named(server: Loopback, get: Callable[..., Path]) -> None:
    path = get().resolve()
    path.chmod(0o644)
    path.write_bytes(DATA[:-1] + b"!")
    with pytest.raises(SourceMissing, match=r"sammlung\.zip.*damaged"):
        get(offline=True)
    assert get().read_bytes() == DATA


def test_nobody_listens(get: Callable[..., Path], source: HttpSource) -> None:
    with pytest.raises(RemoteError, match=r"http://127\.0\.0\.1:9/x.*gave up") as error:
        get(replace(source, url="http://user:geheim@127.0.0.1:9/x?token=geheim"))
    assert "geheim" not in error.value.message


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/x", "x", "http://[::1/x", "http://"]
)
def test_only_web_addresses_are_asked(get: Callable[..., Path], source: HttpSource, url: str) -> None:
    with pytest.raises((UsageError, RemoteError)):
        get(replace(source, url=url))


def test_a_home_that_cannot_be_written(source: HttpSource, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="file"):
        fetch([source], offline=False, root=tmp_path / "file" / "home")


def test_a_second_fetch_waits_for_the_first_and_downloads_nothing(
    server: Loopback, source: HttpSource, home: Path
) -> None:
    waiting = threading.Event()
    results: list[Fetched] = []

    def second() -> None:
        results.append(fetch([source], offline=False, root=home, progress=lambda _: waiting.set()))

    thread = threading.Thread(target=second)

    def first_says(_line: str) -> None:
        thread.start()
        assert waiting.wait(60)

    results.append(fetch([source], offline=False, root=home, progress=first_says))
    thread.join()
    assert results[0] == results[1]
    assert len(server.log) == 1


@pytest.mark.parametrize("told", ["bytes 500-1023999/1024000", "bytes 1000-1023998/1023999", "rubbish", ""])
def test_a_range_that_was_not_asked_for_starts_again(
    server: Loopback, get: Callable[..., Path], home: Path, told: str
) -> None:
    part(home).parent.mkdir(parents=True)
    part(home).write_bytes(DATA[:1000])
    server.faults[PATH] = [Answer(206, DATA[500:], {"Content-Range": told})]
    assert get().read_bytes() == DATA
    assert [asked for _, _, asked in server.log] == ["bytes=1000-", ""]


def test_a_server_that_refuses_a_range_nobody_asked_for_is_asked_again(
    server: Loopback, get: Callable[..., Path]
) -> None:
    server.faults[PATH] = [Answer(416)]
    assert get().read_bytes() == DATA
    assert [asked for _, _, asked in server.log] == ["", ""]

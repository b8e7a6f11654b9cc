"""Plain files over HTTP, pinned by hash: resumed where they broke off, repeated while the server is busy.

The client is httpx2, which the Hub's own client uses: one set of proxy and certificate settings for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from builders import __version__, hub
from builders.errors import RemoteError, SourceChanged, SourceError, SourceMissing, UsageError
from builders.files import safe_path, sha256
from builders.hub import shown_url
from builders.lock.lock import LockedSource, SourceFile
from builders.sources.cache import Cache, Say, Stored, writing

if TYPE_CHECKING:
    import httpx2

    from builders.spec import HttpSource, RecordedFile

Pause = Callable[[float], None]
_ATTEMPTS = 6
_LONGEST_PAUSE = 60.0
_WORTH_ANOTHER = frozenset({408, 425, 429, 500, 502, 503, 504})
_SURPLUS = 16 << 20
_AGAIN = "Run the same command again later; what has arrived is kept."


def fetch_http(
    source: HttpSource, cache: Cache, *, offline: bool, say: Say, pause: Pause = time.sleep
) -> tuple[Path, LockedSource]:
    """Fetch a pinned file.

    Args:
        source: The pin.
        cache: Where the file lands; what it holds is not asked for again.
        offline: Never touch the network.
        say: Told when the download begins.
        pause: Waits the given seconds before a request is repeated.

    Returns:
        The file and the source's lock.

    Raises:
        SourceMissing: The server does not have it; or, offline, the cache does not.
        SourceChanged: Other bytes than the pinned ones arrived; both hashes are shown.
        RemoteError: The server refused, failed several times, or could not be reached.
        StorageError: The cache cannot be written.
    """
    name = safe_name(source.name)
    place = f"http/{source.sha256}/{name}"
    entry = cache.find(place, pinned=source.sha256)
    if not isinstance(entry, Stored):
        if offline:
            raise SourceMissing(
                f"{name}: offline, and the file {entry} ({source.size:,} bytes from {shown_url(source.url)})",
                hint="Run the same command once without `--offline`.",
            )
        with cache.workspace(f"http-{source.sha256}", say, keep=True) as folder:
            entry = cache.find(place, pinned=source.sha256)  # another process may have been faster
            if not isinstance(entry, Stored):
                say(f"{name} ({source.size:,} bytes from {shown_url(source.url)})")
                part = folder / "part"
                _download_pinned(source, part, pause)
                entry = cache.adopt(place, part, source.sha256)
    file = SourceFile(part=name, path=source.url, sha256=entry.sha256, size=entry.size)
    return entry.path, LockedSource(kind="http", name=name, licence=source.licence, files=(file,))


def record_http(
    source: RecordedFile, cache: Cache, *, say: Say, pause: Pause = time.sleep
) -> tuple[Path, LockedSource]:
    """Fetch a file of which no hash is known yet, so that the lock can keep the one that arrives.

    Args:
        source: The file.
        cache: Where it lands, under the hash that it turns out to have.
        say: Told when the download begins, and which hash arrived.
        pause: Waits the given seconds before a request is repeated.

    Returns:
        The file and the source's lock.

    Raises:
        SourceMissing: The server does not have it.
        RemoteError: The server refused, failed several times, or could not be reached.
        StorageError: The cache cannot be written.
    """
    name = safe_name(source.name)
    key = blake2b(source.url.encode(), digest_size=16).hexdigest()
    with cache.workspace(f"record-{key}", say, keep=False) as folder:
        say(f"{name} (no hash is recorded yet; from {shown_url(source.url)})")
        part = folder / "part"
        download(source.url, part, size=None, pause=pause)
        digest = sha256(part)
        entry = cache.adopt(f"http/{digest}/{name}", part, digest)
    say(f"{name}: {entry.size:,} bytes, sha256 {digest}")
    file = SourceFile(part=name, path=source.url, sha256=digest, size=entry.size)
    return entry.path, LockedSource(kind="http", name=name, licence=source.licence, files=(file,))


def download(url: str, part: Path, *, size: int | None, pause: Pause = time.sleep) -> None:
    """Download a file, with several attempts since the last byte that arrived.

    Args:
        url: An http or https address.
        part: Where the bytes land. What it holds is resumed where `size` is given, else overwritten.
        size: Expected bytes, or None. No more than 16 MiB beyond it are read.
        pause: Waits the given seconds before the next attempt.

    Raises:
        UsageError: `url` is not an http or https address.
        SourceMissing: The server says that there is no such file.
        RemoteError: The server refused, failed several times, or could not be reached.
        StorageError: `part` cannot be written.
    """
    import httpx2

    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{shown_url(url)}: not an http or https address")
    reason = ""
    timeout = httpx2.Timeout(min(30.0, hub.answer_seconds()), connect=hub.connect_seconds())
    headers = {"User-Agent": f"mteb-de/{__version__}", "Accept-Encoding": "identity"}
    with httpx2.Client(follow_redirects=True, timeout=timeout, headers=headers) as client:
        attempt, furthest = 0, _size(part) if size is not None else 0
        while attempt < _ATTEMPTS:
            wait = min(float(2**attempt) / 2, _LONGEST_PAUSE)
            try:
                with writing(part):
                    asked = _attempt(client, url, part, size)
            except (httpx2.UnsupportedProtocol, httpx2.TooManyRedirects, httpx2.InvalidURL) as error:
                raise RemoteError(
                    f"{shown_url(url)}: {error}", hint="Check the address of this source."
                ) from error
            except httpx2.HTTPError as error:
                reason = str(error) or type(error).__name__
            else:
                if asked is None:
                    return
                reason, wait = asked[0], max(wait, min(asked[1], _LONGEST_PAUSE))
            # an attempt that brings the file further than any before it has not failed for nothing
            attempt = 0 if _size(part) > furthest else attempt + 1
            furthest = max(furthest, _size(part))
            if attempt < _ATTEMPTS:
                pause(wait)
    raise RemoteError(
        f"{shown_url(url)}: gave up after {_ATTEMPTS} attempts without a new byte ({reason}); "
        f"{_size(part):,} bytes have arrived",
        hint=_AGAIN if size is not None else "Check the network and the address.",
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def safe_name(name: str) -> str:
    """Return a file name that is one path segment.

    Raises:
        SourceError: It is not.
    """
    if "/" in name:
        raise SourceError(f"{name!r}: a source's file name has no folder")
    return safe_path(name, what="file name", repo="sources")


def _attempt(client: httpx2.Client, url: str, part: Path, size: int | None) -> tuple[str, float] | None:
    """Ask once. Return None when all has arrived, else why not and how long the server wants us to wait."""
    offset = _size(part) if size is not None else 0
    if size is not None and offset >= size:
        return None
    with client.stream("GET", url, headers={"Range": f"bytes={offset}-"} if offset else {}) as response:
        status = response.status_code
        if (
            status == 206
            and response.headers.get("Content-Range") == f"bytes {offset}-{(size or 0) - 1}/{size}"
        ):
            mode = "ab"
        elif status == 200:
            mode, offset = "wb", 0
        elif status in {206, 416}:  # the file there is another one by now
            part.unlink(missing_ok=True)
            return "the server's file has another size than ours", 0.0
        else:
            return _refused(response, url)
        limit = None if size is None else size + _SURPLUS
        with part.open(mode) as file:
            for chunk in response.iter_raw():  # no chunk size: what it holds back is lost in a drop
                offset += file.write(chunk)
                if limit is not None and offset > limit:
                    return None  # its hash will tell
        if size is not None and offset < size and "Content-Length" not in response.headers:
            return f"the answer ended after {offset:,} of {size:,} bytes", 0.0
    return None


def _refused(response: httpx2.Response, url: str) -> tuple[str, float]:
    status = response.status_code
    if status in {404, 410}:
        raise SourceMissing(
            f"{shown_url(url)}: no such file ({status})", hint="Check the address of this source."
        )
    if status not in _WORTH_ANOTHER:
        raise RemoteError(
            f"{shown_url(url)}: the server answered {status}", hint="Check the address and the proxy."
        )
    after = response.headers.get("Retry-After", "")
    return f"the server answered {status}", float(after) if after.isascii() and after.isdigit() else 0.0


def _download_pinned(source: HttpSource, part: Path, pause: Pause) -> None:
    """Leave the pinned bytes in `part`, or nothing."""
    resumed = part.is_file()
    download(source.url, part, size=source.size, pause=pause)
    if resumed and sha256(part) != source.sha256:  # what was kept may be of an older file
        part.unlink()
        download(source.url, part, size=source.size, pause=pause)
    found, size = sha256(part), part.stat().st_size
    if (found, size) == (source.sha256, source.size):
        return
    with part.open("rb") as file:
        start = file.read(512).lstrip().lower()
    part.unlink()
    more = "more than " if size > source.size + _SURPLUS else ""
    page = start.startswith((b"<!doctype html", b"<html"))
    raise SourceChanged(
        f"{source.name}: {shown_url(source.url)} is not the pinned file"
        + (" but a web page" if page else "")
        + f":\n  pinned  {source.sha256}, {source.size} bytes\n  arrived {found}, {more}{size} bytes",
        hint="Look at the upstream. If it is meant, change the pin, or remove the committed lock where that "
        "holds it, and build with --update-lock.",
    )

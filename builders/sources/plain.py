"""Plain files over HTTP, pinned by hash: resumed where they broke off, repeated while the server is busy.

The client is that of the Hub's own client, httpx2: one set of proxy and certificate settings for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from builders import __version__, hub
from builders.errors import RemoteError, SourceChanged, SourceMissing, UsageError
from builders.files import sha256, writing
from builders.hub import shown_url
from builders.sources.cache import Cache, Say, Stored
from builders.sources.containers import looks_like_page

if TYPE_CHECKING:
    import httpx2

    from builders.spec import HttpSource, RecordedFile

_Pause = Callable[[float], None]
_FILES = "files"
"""Shelf of the cache."""
_ATTEMPTS = 6
_LONGEST_PAUSE = 60.0
_RETRY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_EXTRA_BYTES = 16 << 20


def fetch_pinned(
    source: HttpSource, cache: Cache, *, offline: bool, say: Say, pause: _Pause = time.sleep
) -> Stored:
    """Fetch a file whose hash is known. What the cache holds is not asked for again.

    Raises:
        SourceMissing: Offline, the cache does not have it.
    """
    found = cache.find(_FILES, source.sha256, source.name)
    if isinstance(found, Stored):
        return found
    where = f"{source.size:,} bytes from {shown_url(source.url)}"
    if offline:
        hint = "Run the same command once without `--offline`."
        raise SourceMissing(f"{source.name}: offline, and the file {found} ({where})", hint=hint)
    with cache.workspace(f"http-{source.sha256}", say, keep=True) as folder:
        found = cache.find(_FILES, source.sha256, source.name)  # another process may have been faster
        if isinstance(found, Stored):
            return found
        say(f"{source.name} ({where})")
        _download_pinned(source, folder / "part", pause)
        return cache.adopt(_FILES, source.name, folder / "part")


def fetch_unpinned(source: RecordedFile, cache: Cache, *, say: Say) -> Stored:
    """Fetch a file of which no hash is known yet, so that the lock can keep the one that arrives."""
    key = blake2b(source.url.encode(), digest_size=16).hexdigest()
    with cache.workspace(f"record-{key}", say, keep=False) as folder:
        say(f"{source.name} (no hash is recorded yet; from {shown_url(source.url)})")
        download(source.url, folder / "part", size=None)
        stored = cache.adopt(_FILES, source.name, folder / "part")
    say(f"{source.name}: {stored.size:,} bytes, sha256 {stored.sha256}")
    return stored


def download(url: str, part: Path, *, size: int | None, pause: _Pause = time.sleep) -> None:
    """Download a file, with several attempts since the last byte that arrived.

    Args:
        url: An http or https address.
        part: Where the bytes land. What it holds is resumed where `size` is given, else overwritten.
        size: Expected bytes, or None. No more than 16 MiB beyond it are read.
        pause: Waits the given seconds before the next attempt.

    Raises:
        UsageError: `url` is not an http or https address.
        RemoteError: The server failed several times, or could not be reached.
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
                    failure = _attempt(client, url, part, size)
            except (httpx2.UnsupportedProtocol, httpx2.TooManyRedirects, httpx2.InvalidURL) as error:
                hint = "Check the address of this source."
                raise RemoteError(f"{shown_url(url)}: {error}", hint=hint) from error
            except httpx2.HTTPError as error:
                reason = str(error) or type(error).__name__
            else:
                if failure is None:
                    return
                reason, wait = failure[0], max(wait, min(failure[1], _LONGEST_PAUSE))
            # an attempt that brings the file further than any before it has not failed for nothing
            attempt = 0 if _size(part) > furthest else attempt + 1
            furthest = max(furthest, _size(part))
            if attempt < _ATTEMPTS:
                pause(wait)
    kept = "Run the same command again later; what has arrived is kept."
    raise RemoteError(
        f"{shown_url(url)}: gave up after {_ATTEMPTS} attempts without a new byte ({reason}); "
        f"{_size(part):,} bytes have arrived",
        hint="Check the network and the address." if size is None else kept,
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _attempt(client: httpx2.Client, url: str, part: Path, size: int | None) -> tuple[str, float] | None:
    """Ask once. Return None when all has arrived, else why not and how long the server wants us to wait."""
    offset = _size(part) if size is not None else 0
    if size is not None and offset >= size:
        return None
    with client.stream("GET", url, headers={"Range": f"bytes={offset}-"} if offset else {}) as response:
        status = response.status_code
        expected = f"bytes {offset}-{(size or 0) - 1}/{size}"
        if status == 206 and response.headers.get("Content-Range") == expected:
            mode = "ab"
        elif status == 200:
            mode, offset = "wb", 0
        elif status in {206, 416}:  # the file there is another one by now
            part.unlink(missing_ok=True)
            return "the server's file has another size than ours", 0.0
        else:
            return _refused(response, url)
        with part.open(mode) as file:
            for chunk in response.iter_raw():  # no chunk size: what it holds back is lost in a drop
                offset += file.write(chunk)
                if size is not None and offset > size + _MAX_EXTRA_BYTES:
                    return None  # its hash will tell
        if size is not None and offset < size and "Content-Length" not in response.headers:
            return f"the answer ended after {offset:,} of {size:,} bytes", 0.0
    return None


def _refused(response: httpx2.Response, url: str) -> tuple[str, float]:
    status = response.status_code
    if status in {404, 410}:
        hint = "Check the address of this source."
        raise SourceMissing(f"{shown_url(url)}: no such file ({status})", hint=hint)
    if status not in _RETRY_STATUSES:
        hint = "Check the address and the proxy."
        raise RemoteError(f"{shown_url(url)}: the server answered {status}", hint=hint)
    after = hub.retry_after(response.headers.get("Retry-After", ""))
    return f"the server answered {status}", after or 0.0


def _download_pinned(source: HttpSource, part: Path, pause: _Pause) -> None:
    """Leave the pinned bytes in `part`, or nothing.

    Raises:
        SourceChanged: Other bytes arrived; both hashes are shown.
    """
    resumed = part.is_file()
    download(source.url, part, size=source.size, pause=pause)
    if resumed and sha256(part) != source.sha256:  # what was kept may be of an older file
        part.unlink()
        download(source.url, part, size=source.size, pause=pause)
    found, size = sha256(part), part.stat().st_size
    if (found, size) == (source.sha256, source.size):
        return
    page = " but a web page" if looks_like_page(part) else ""
    part.unlink()
    more = "more than " if size > source.size + _MAX_EXTRA_BYTES else ""
    raise SourceChanged(
        f"{source.name}: {shown_url(source.url)} is not the pinned file{page}:\n"
        f"  pinned  {source.sha256}, {source.size} bytes\n  arrived {found}, {more}{size} bytes",
        hint="Look at the upstream. If it is meant, change the pin, or remove the committed lock where that "
        "holds it, and build with --update-lock.",
    )

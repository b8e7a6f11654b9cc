"""Dumps of submissions: Pushshift and Arctic Shift, `RS_*.zst`, one submission a line."""

import datetime
import re
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from builders.errors import SourceError
from builders.files import readable, sha256
from builders.reddit.submission import Submission, submission
from builders.text_files import numbered, parse_json

MOST_BAD = 0.01
"""Share of the lines of a dump that may be no submissions: one of 2011 has a line that begins with NULs."""
_LONGEST_WINDOW = 1 << 31
_CHUNK = 1 << 10
"""Small, since a hostile file unpacks each chunk to up to 32,000 times its size at once."""
_LONGEST_LINE = 1 << 26
_EARLIEST, _LATEST = 1_100_000_000, 10_000_000_000
"""Seconds since 1970 that can be the time of a dump: Reddit is younger than 2004."""
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]")
_LONGEST_NAME = 80
_ZSTANDARD = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")
"""How a frame begins, or one that is to be passed over (RFC 8878, 3.1)."""
_PACK = "Name a dump as it was published, packed by zstd; lines of your own are packed by `zstd FILE`."
_FETCH = "Fetch it again; nothing of an incomplete dump is used."
_LOOK = "Fetching it again will not help if it was published so: look at the file."
_OTHER = "Name a dump of submissions, such as RS_2023-01.zst; comments are in others."
_WAIVE = f"{_LOOK} To read what is whole nevertheless, pass --bad-lines."
_SHOWN = 5
_TEXTS = ("title", "selftext", "subreddit")


def read_dump(
    path: Path,
    wanted: Container[str],
    *,
    checked: datetime.date,
    say: Callable[[str], None] = lambda _: None,
    most_bad: float = MOST_BAD,
) -> Iterator[Submission]:
    """Yield the wanted submissions of a dump, in its order; one may come several times.

    The memory needed does not grow with the dump. Every line is looked at, also of what is not wanted. Lines
    that are no submission are counted and passed over, since published dumps have such; blank ones are not.

    Args:
        path: A Zstandard file of ndjson, with windows of up to 2 GiB, of one frame or several.
        wanted: Ids without the prefix "t3_".
        checked: The day of reading, which the answers get where the dump does not tell when it was made.
        say: Gets a line on what was passed over: how many lines, and which.
        most_bad: Share of the lines that may be passed over.

    Raises:
        SourceError: It is no Zstandard file, is cut off, holds nothing or no title, or more of its lines than
            `most_bad` (one line aside), or all, are no objects of JSON with an id and texts.
    """
    lines = bad = 0
    shown: list[str] = []
    titled = False
    for number, line in numbered(_lines(path)):
        lines += 1
        data = _parsed(line)
        if isinstance(data, str):
            bad += 1
            if bad <= _SHOWN:
                shown.append(f"line {number:,} ({data})")
            continue
        titled = titled or "title" in data
        if data["id"] in wanted:
            yield submission(data, origin="dump", checked=_day(data, checked))
    if not lines:
        raise SourceError(f"{path}: holds no submission", hint=_FETCH)
    if bad:
        told = f"{path}: {bad:,} of {lines:,} lines are no submissions: {', '.join(shown)}"
        told += ", …" * (bad > _SHOWN)
        if bad == lines:
            raise SourceError(told, hint=_OTHER)
        if bad > max(1, most_bad * lines):
            raise SourceError(f"{told}; at most {most_bad:.0%} may be", hint=_WAIVE)
        say(f"{told}; passed over")
    if not titled:
        raise SourceError(f"{path}: none of its lines has a title, as submissions have", hint=_OTHER)


def archive_of(path: Path) -> str:
    """Return the name and sha256 of a dump, as `Submission` keeps them."""
    return f"{_NO_NAME.sub('_', path.name)[-_LONGEST_NAME:]}@{sha256(path)}"


def _day(data: Mapping[str, Any], read: datetime.date) -> datetime.date:
    """Return the day on which a submission was fetched for a dump, which was before the dump is read."""
    meta = data.get("_meta")
    later = meta.get("retrieved_2nd_on") if isinstance(meta, Mapping) else None
    for seconds in (later, data.get("retrieved_on"), data.get("retrieved_utc")):
        if isinstance(seconds, int | float) and _EARLIEST <= seconds <= _LATEST:
            return min(read, datetime.datetime.fromtimestamp(seconds, datetime.UTC).date())
    return read


def _parsed(line: bytes) -> dict[str, Any] | str:
    """Return the object of a line, or what is wrong with it."""
    try:
        data = parse_json(line)
    except ValueError:
        return "not JSON in UTF-8"
    if not isinstance(data, dict):
        return "not an object"
    if not isinstance(data.get("id"), str):
        return "without an id"
    wrong = [name for name in _TEXTS if not isinstance(data.get(name, ""), str | None)]
    return f"its {wrong[0]} is no text" if wrong else data


def _lines(path: Path) -> Iterator[bytes]:
    """Split at line breaks of bytes, so that no character is torn where a chunk ends."""
    pending: list[bytes] = []
    size = 0
    for piece in _unpacked(path):
        first, *others = piece.split(b"\n")
        pending.append(first)
        size += len(first)
        if size > _LONGEST_LINE:
            raise SourceError(f"{path}: a line has more than {_LONGEST_LINE:,} bytes", hint=_LOOK)
        if others:
            yield b"".join(pending)
            yield from others[:-1]
            pending, size = [others[-1]], len(others[-1])
    if size:
        yield b"".join(pending)


def _unpacked(path: Path) -> Iterator[bytes]:
    """Unpack frame by frame: the library's own reader ends a file that is cut off without a word."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=_LONGEST_WINDOW)
    frame = None
    empty = True
    try:
        with readable(path, absent=_OTHER), path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                if empty and not _ZSTANDARD.match(chunk):
                    what = "a gzip file, not a" if chunk.startswith(b"\x1f\x8b") else "not a"
                    raise SourceError(f"{path}: {what} Zstandard file", hint=_PACK)
                empty = False
                while chunk:
                    frame = frame or unpacker.decompressobj()
                    yield frame.decompress(chunk)
                    chunk = frame.unused_data if frame.eof else b""
                    if frame.eof:
                        frame = None
    except zstandard.ZstdError as error:
        raise SourceError(f"{path}: a damaged Zstandard file ({error})", hint=_FETCH) from error
    if frame is not None or empty:
        raise SourceError(f"{path}: the file is cut off", hint=_FETCH)

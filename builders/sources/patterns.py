"""Paths and file patterns of a Hub repository. Both come from outside, so both are checked."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from builders.errors import SourceError

_LONGEST_PATH = 1024
_LONGEST_SEGMENT = 255
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\]")
_WILD = re.compile(r"[*?\[]")


def safe_path(path: str, *, what: str, repo: str) -> str:
    """Return `path` if it stays inside its repository.

    Args:
        path: With forward slashes, as the README or the file list gives it.
        what: What it is, for the message: "file", "pattern".
        repo: For the message.

    Raises:
        SourceError: It is absolute, a URL, too long or not UTF-8, or has an empty, ".", ".." part, a
            backslash or a control character.
    """
    if _stays_inside(path):
        return path
    raise SourceError(
        f"{repo}: the {what} {path[:200]!r} does not stay inside the repository",
        hint="Nothing was read from it. Look at the repository before you trust it.",
    )


def shown(url: str) -> str:
    """Return a URL without user, password and query, for messages."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an invalid URL"
    return f"{parts.scheme}://{host}{port}{parts.path}"


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a `data_files` pattern of a README names, sorted.

    As on the Hub, `*`, `?` and `[…]` stay inside one folder and a part `**` spans folders; names that begin
    with a dot, and folders that begin with two underscores, are found only by a pattern that says so. The
    time for a path is at most its length times the pattern's: `fnmatch` does not backtrack since Python 3.9.

    Args:
        pattern: Relative to the repository, checked by `safe_path`.
        paths: Files of the repository.
    """
    wanted = pattern.split("/")
    return sorted(path for path in paths if _matches(wanted, path.split("/")))


def _stays_inside(path: str) -> bool:
    segments = path.split("/")
    try:
        lengths = [len(segment.encode()) for segment in segments]
    except UnicodeEncodeError:
        return False
    return (
        sum(lengths) <= _LONGEST_PATH
        and max(lengths) <= _LONGEST_SEGMENT
        and not _FORBIDDEN.search(path)
        and not {"", ".", ".."} & set(segments)
        and ":" not in segments[0]
    )


def _matches(pattern: list[str], path: list[str]) -> bool:
    """Match part by part; on a mismatch the last `**` takes one part more."""
    last = len(path) - 1
    at, position = 0, 0
    retry: tuple[int, int] | None = None
    while position <= last:
        if pattern[at : at + 1] == ["**"]:
            at += 1
            retry = at, position
        elif at < len(pattern) and _fits(pattern[at], path[position], folder=position < last):
            at, position = at + 1, position + 1
        elif retry is not None and not _mark(path[retry[1]], folder=retry[1] < last):
            at, position = retry[0], retry[1] + 1
            retry = at, position
        else:
            return False
    return at == len(pattern)


def _fits(pattern: str, name: str, *, folder: bool) -> bool:
    if not _WILD.search(pattern):
        return pattern == name
    return pattern.startswith(_mark(name, folder=folder)) and fnmatch.fnmatchcase(name, pattern)


def _mark(name: str, *, folder: bool) -> str:
    """Return the prefix that hides a name from wildcards, or nothing."""
    if name.startswith("."):
        return "."
    return "__" if folder and name.startswith("__") else ""

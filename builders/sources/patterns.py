"""File patterns of a Hub repository's README."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable

_WILD = re.compile(r"[*?\[]")


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

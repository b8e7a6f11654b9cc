"""Submissions invented by code, and a client for the server on loopback."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from builders.reddit.api import RedditClient, connect
from tests.reddit_server import Server

TODAY = datetime.date(2024, 5, 17)
TOMORROW = datetime.date(2024, 5, 18)
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def names(number: int, *, start: int = 36**5) -> list[str]:
    """Return ids, one after the other."""
    return [_base36(start + 7 * step) for step in range(number)]


def submission(name: str, **fields: Any) -> dict[str, Any]:
    """Return a submission as the API gives it."""
    return {
        "id": name,
        "name": f"t3_{name}",
        "title": f"Frage {name} zur Straßenbahn",
        "selftext": f"Fährt Linie {name} & Co. auch nachts?",
        "subreddit": "fahrplan",
        "author": f"fahrgast_{name}",
        "is_self": True,
        "removed_by_category": None,
    } | fields


def store(ids: list[str], **fields: Any) -> dict[str, dict[str, Any]]:
    return {name: submission(name, **fields) for name in ids}


class Pauses(list[float]):
    """A sleep that takes no time and remembers what was asked of it."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def client(
    server: Server,
    *,
    sleep: Pauses | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> AbstractContextManager[RedditClient]:
    """Connect; the variables of `server.environment()` are set."""
    return connect(url=server.url, sleep=Pauses() if sleep is None else sleep, say=say)


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits

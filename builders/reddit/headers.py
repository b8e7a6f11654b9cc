"""Reddit's headers in the one form that PRAW can read, and how long they ask to wait.

prawcore takes numbers alone: a Retry-After with an HTTP date, a fraction in x-ratelimit-reset, a missing one
among the three headers of x-ratelimit, or a 401 without a reason end a run with a ValueError or KeyError.
"""

from __future__ import annotations

import datetime
import email.utils
import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests

_RATE_LIMIT = ("x-ratelimit-remaining", "x-ratelimit-used", "x-ratelimit-reset")
_LONGEST = 30 * 86_400.0


def repaired(response: requests.Response, *_: object, **__: object) -> requests.Response:
    """Rewrite the headers of an answer: a response hook of requests."""
    headers = response.headers
    if "retry-after" in headers:
        seconds = retry_after(headers["retry-after"], now=datetime.datetime.now(datetime.UTC))
        del headers["retry-after"]
        if seconds is not None:
            headers["retry-after"] = f"{math.ceil(10 * seconds) / 10:.1f}"  # never earlier than told
    headers.pop("www-authenticate", None)
    if response.status_code == 401:
        headers["www-authenticate"] = 'Bearer error="invalid_token"'
    limits = [_number(headers.get(name, "")) for name in _RATE_LIMIT]
    for name, value in zip(_RATE_LIMIT, limits, strict=True):
        headers.pop(name, None)
        if value is not None and None not in limits:
            headers[name] = str(math.ceil(value) if name == "x-ratelimit-reset" else math.floor(value))
    return response


class Pace:
    """How long the last answer asks to wait; prawcore does so before the next request, without a word."""

    def __init__(self) -> None:
        self._until = 0.0

    def note(self, response: requests.Response, *_: object, **__: object) -> requests.Response:
        """Take note of an answer whose headers are repaired: a response hook of requests."""
        remaining = response.headers.get("x-ratelimit-remaining")
        if remaining is not None:
            reset = float(response.headers["x-ratelimit-reset"])
            self._until = time.monotonic() + reset if float(remaining) <= 0 else 0.0
        return response

    def left(self) -> float:
        """Return how many seconds are left until a request is allowed again; 0 where one is."""
        return max(0.0, self._until - time.monotonic())


def retry_after(value: str, *, now: datetime.datetime) -> float | None:
    """Return how many seconds a Retry-After asks to wait.

    Args:
        value: A number of seconds, or an HTTP date.
        now: With a time zone.

    Returns:
        Seconds, 0 for a date that has passed, at most 30 days; None where the value is neither.
    """
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        until = email.utils.parsedate_to_datetime(value[:64])
        aware = until if until.tzinfo else until.replace(tzinfo=datetime.UTC)
        return min(max(0.0, (aware - now).total_seconds()), _LONGEST)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _number(value: str) -> float | None:
    try:
        number = float(value[:32])
    except ValueError:
        return None
    return min(number, _LONGEST) if math.isfinite(number) and number >= 0 else None

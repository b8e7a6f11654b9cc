"""Reddit's headers in the one form that PRAW can read.

prawcore takes numbers alone: a Retry-After with an HTTP date, a fraction in x-ratelimit-reset, a missing one
among the three headers of x-ratelimit, or a 401 without a reason end a run with a ValueError or KeyError.
"""

from __future__ import annotations

import datetime
import email.utils
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import requests

_RATE_LIMIT = ("x-ratelimit-remaining", "x-ratelimit-used", "x-ratelimit-reset")
_LONGEST = 86_400.0


def repaired(response: requests.Response, *_: object, **__: object) -> requests.Response:
    """Rewrite the headers of an answer: a response hook of requests."""
    headers = response.headers
    if "retry-after" in headers:
        seconds = retry_after(headers["retry-after"], now=datetime.datetime.now(datetime.UTC))
        del headers["retry-after"]
        if seconds is not None:
            headers["retry-after"] = f"{seconds:.1f}"
    headers.pop("www-authenticate", None)
    if response.status_code == 401:
        headers["www-authenticate"] = 'Bearer error="invalid_token"'
    limits = [_number(headers.get(name, "")) for name in _RATE_LIMIT]
    for name, value in zip(_RATE_LIMIT, limits, strict=True):
        headers.pop(name, None)
        if value is not None and None not in limits:
            headers[name] = str(math.ceil(value) if name == "x-ratelimit-reset" else math.floor(value))
    return response


def retry_after(value: str, *, now: datetime.datetime) -> float | None:
    """Return how many seconds a Retry-After asks to wait.

    Args:
        value: A number of seconds, or an HTTP date.
        now: With a time zone.

    Returns:
        Seconds, 0 for a date that has passed, at most a day; None where the value is neither.
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

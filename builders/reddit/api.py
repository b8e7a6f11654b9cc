"""Asking Reddit for submissions by id, through the real PRAW, with patience.

prawcore keeps to the rate limit of Reddit's headers, refreshes tokens, and repeats a request twice. Here it
waits after 429 and for longer, and an answer is checked. Credentials are PRAW's own; no message holds one.
"""

from __future__ import annotations

import configparser
import contextlib
import datetime
import math
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from builders.errors import RemoteError, UsageError
from builders.hub import header_number, is_loopback, retry_after, shown_url

if TYPE_CHECKING:
    import praw
    import requests

MOST_IDS = 100
"""As many ids as Reddit answers in one request."""
_ATTEMPTS = 6
_LONGEST_PAUSE = 900.0
"""Seconds; a longer one ends the run, with the time at which to come back."""
_LONGEST_IN_ALL = 3600.0
_LONG_PAUSE = 10.0
"""Seconds from which on a pause is reported."""
_RATE_LIMIT = ("x-ratelimit-remaining", "x-ratelimit-used", "x-ratelimit-reset")
_UNTOLD_PAUSE = 60.0
"""Seconds to wait after a 429 that does not say how long."""
_WORTH_ANOTHER = frozenset({408, 500, 502, 503, 504, 520, 522})
_CREDENTIALS = (
    "Create an app at https://www.reddit.com/prefs/apps and set praw_client_id, praw_client_secret and "
    "praw_user_agent (such as `linux:mteb-de:1.0 (by u/NAME)`), or write them into praw.ini."
)
_RESUME = "Run the same command again later; what has been answered is kept."
_SENT = ("client_id", "client_secret", "user_agent")
"""Settings that travel in headers, which hold no line break and nothing outside Latin-1."""
_Say = Callable[[str], None]


class ComeBackLater(RemoteError):
    """Reddit asks to wait for longer than a run waits; another request now would be against its word."""


@dataclass(frozen=True, slots=True)
class RedditClient:
    """A connection to Reddit, which `connect` opens."""

    reddit: praw.Reddit
    pace: _Pace
    sleep: Callable[[float], None]
    say: _Say

    def info(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """Ask for submissions.

        Args:
            ids: 1 to `MOST_IDS`, without the prefix "t3_".

        Returns:
            The fields of each submission that Reddit knows, in its order. The others are not in the answer;
            an answer that holds none at all is for the caller to judge.

        Raises:
            UsageError: The credentials are wrong, or may not be used for this.
            ComeBackLater: Reddit asks to wait for longer than 15 minutes, or an hour in all.
            RemoteError: Reddit could not be reached, failed several times, or answered something else.
        """
        waited = 0.0
        for attempt in range(_ATTEMPTS):
            self._mind("no request is left in this window", self.pace.left(), 0.0)  # prawcore waits for it
            try:
                return _children(self._ask(ids), frozenset(ids))
            except _Again as failure:
                reason = failure.reason
                pause = float(2**attempt) if failure.pause is None else failure.pause
            if attempt < _ATTEMPTS - 1:
                self._mind(reason, pause, waited)
                self.sleep(pause)
                waited += pause
        raise RemoteError(f"Reddit: gave up after {_ATTEMPTS} attempts ({reason})", hint=_RESUME)

    def _mind(self, reason: str, pause: float, waited: float) -> None:
        """Report a long pause, or end the run where it would be too long."""
        if pause < _LONG_PAUSE:
            return
        then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=pause + 1)
        if pause > _LONGEST_PAUSE or waited + pause > _LONGEST_IN_ALL:
            problem = f"Reddit asks to wait until {then:%Y-%m-%d %H:%M:%S} UTC ({reason})"
            hint = "Run the same command again then; what has been answered is kept."
            raise ComeBackLater(problem, hint=hint)
        self.say(f"waiting {pause:,.0f} seconds, until {then:%H:%M:%S} UTC: {reason}")

    def _ask(self, ids: Sequence[str]) -> object:
        import praw.exceptions
        import prawcore

        params: dict[str, str | int] = {"id": ",".join(f"t3_{name}" for name in ids)}
        try:
            return self.reddit.request(method="GET", path="api/info/", params=params)
        except prawcore.OAuthException:
            raise UsageError("Reddit refused the credentials", hint=_CREDENTIALS) from None
        except prawcore.RequestException as error:
            raise _Again(_network(error.original_exception)) from None
        except prawcore.ResponseException as error:
            raise _meaning(error.response) from None
        except (prawcore.PrawcoreException, praw.exceptions.PRAWException) as error:
            raise RemoteError(f"Reddit's client failed: {type(error).__name__}", hint=_RESUME) from None
        except (KeyError, TypeError, ValueError, AttributeError, AssertionError):  # PRAW trusts what it reads
            raise _Again("the answer is not one of Reddit's") from None


class _Again(Exception):
    """A request failed in a way that may pass."""

    def __init__(self, reason: str, pause: float | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.pause = pause


@contextlib.contextmanager
def connect(
    *,
    url: str | None = None,
    sleep: Callable[[float], None] = time.sleep,
    say: _Say = lambda _: None,
) -> Iterator[RedditClient]:
    """Open a connection to Reddit; nothing is asked yet.

    Args:
        url: What stands in for both of Reddit's addresses; https, or http on this machine.
        sleep: Waits the given seconds before a request is repeated.
        say: Gets a line for each pause of 10 seconds and more.

    Raises:
        UsageError: PRAW has no credentials, one holds a character that cannot be sent, its settings cannot be
            read, or `url` is no address for them.
    """
    import requests

    if url is not None:
        _refuse_foreign(url)
    pace = _Pace()
    with requests.Session() as session:
        session.trust_env = url is None  # a stand-in is reached without a proxy
        session.hooks["response"].append(pace.note)
        yield RedditClient(_praw(url, session), pace, sleep, say)


def _praw(url: str | None, session: requests.Session) -> praw.Reddit:
    import praw
    import praw.exceptions
    import prawcore

    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The praw.ini in the current working directory")
            reddit = praw.Reddit(
                check_for_updates=False,
                requestor_kwargs={"session": session},
                # Always given, so that no praw.ini in the current folder leads the credentials elsewhere.
                oauth_url="https://oauth.reddit.com" if url is None else url.rstrip("/"),
                reddit_url="https://www.reddit.com" if url is None else url.rstrip("/"),
            )
    except praw.exceptions.MissingRequiredAttributeException as error:
        missing = next((name for name in _SENT if repr(name) in str(error)), "a setting")
        raise UsageError(f"no credentials for Reddit: {missing} is missing", hint=_CREDENTIALS) from None
    except configparser.NoSectionError:
        hint = "Correct the variable praw_site, or unset it."
        raise UsageError("praw.ini has no section of the name that praw_site gives", hint=hint) from None
    except (configparser.Error, UnicodeDecodeError, OSError) as error:  # their texts may hold a secret
        problem = f"praw.ini cannot be read ({type(error).__name__})"
        raise UsageError(problem, hint=_CREDENTIALS) from None
    except (prawcore.InvalidInvocation, ValueError):
        raise UsageError("PRAW does not accept a setting of praw.ini", hint=_CREDENTIALS) from None
    for name in _SENT:
        value = str(getattr(reddit.config, name) or "")
        latin = value.encode("latin-1", "ignore").decode("latin-1") == value
        if not (latin and value.isprintable() and value == value.strip()):
            problem = f"{name}: a line break, a blank at an end, or a character that cannot be sent"
            raise UsageError(problem, hint=_CREDENTIALS)
    return reddit


def _refuse_foreign(url: str) -> None:
    with contextlib.suppress(ValueError):
        parts = urlsplit(url)
        safe = parts.scheme == "https" or (parts.scheme == "http" and is_loopback(url))
        if safe and parts.hostname and parts.port != 0:  # a port that is no number is a ValueError
            return
    hint = "Give an https address, or an http one on this machine: the credentials are sent there."
    raise UsageError(f"{shown_url(url)}: not an address for Reddit's stand-in", hint=hint)


def _network(error: BaseException) -> str:
    import requests

    match error:
        case requests.Timeout():
            return "no answer in time"
        case requests.ConnectionError():
            return "no connection, or it was cut"
    return f"the request failed: {type(error).__name__}"


def _meaning(response: requests.Response) -> Exception:
    """Return what a refusal means: worth another attempt, wrong credentials, or final."""
    status = response.status_code
    if status == 429:
        told = response.headers.get("retry-after") or response.headers.get("x-ratelimit-reset")
        return _Again("too many requests (429)", _UNTOLD_PAUSE if told is None else float(told))
    if status in _WORTH_ANOTHER:
        return _Again(f"the server failed ({status})")
    if status in {200, 201, 202}:
        return _Again("the answer is not JSON")
    if status in {401, 403}:
        return UsageError(f"Reddit refused the credentials ({status})", hint=_CREDENTIALS)
    hint = "Check the address and the proxy; then run it again."
    return RemoteError(f"Reddit answered {status}", hint=hint)


def _children(body: object, asked: Collection[str]) -> list[dict[str, Any]]:
    """Return the submissions of a Listing; another answer must never pass for "all missing"."""
    match body:
        case {"kind": "Listing", "data": {"children": list(children)}}:
            pass
        case _:
            raise _Again("the answer is not a Listing")
    found = []
    for child in children:
        match child:
            case {"kind": "t3", "data": {"id": str(name), **_fields} as data} if name in asked:
                found.append(data)
            case _:
                raise _Again("the answer holds what was not asked for")
    return found


class _Pace:
    """How long the last answer asks to wait; prawcore does so before the next request, without a word."""

    until = 0.0

    def note(self, response: requests.Response, *_: object, **__: object) -> requests.Response:
        """Note an answer, and rewrite the headers that prawcore could not read: a hook of requests."""
        headers = response.headers
        seconds = retry_after(headers.pop("retry-after", ""))
        if seconds is not None:
            headers["retry-after"] = f"{math.ceil(10 * seconds) / 10:.1f}"  # never earlier than told
        headers.pop("www-authenticate", None)
        if response.status_code == 401:
            headers["www-authenticate"] = 'Bearer error="invalid_token"'
        remaining, used, reset = (header_number(headers.pop(name, "")) for name in _RATE_LIMIT)
        if remaining is not None and used is not None and reset is not None:
            whole = (math.floor(remaining), math.floor(used), math.ceil(reset))
            headers.update(zip(_RATE_LIMIT, map(str, whole), strict=True))
            self.until = time.monotonic() + whole[2] if whole[0] <= 0 else 0.0
        return response

    def left(self) -> float:
        """Return how many seconds are left until a request is allowed again; 0 where one is."""
        return max(0.0, self.until - time.monotonic())

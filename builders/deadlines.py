"""How long the Hub may be silent: one set of limits for every request that its client sends.

The client itself waits without end. `install` gives it a factory whose clients bound every request, whatever
its caller asked for; the modules that turn the client's failures into errors of ours call it.
"""

from __future__ import annotations

import functools
import os
import re
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from builders.errors import RemoteError, UsageError

if TYPE_CHECKING:
    import httpx2

SETTING = "MTEB_DE_HUB_TIMEOUT"
"""The environment variable that sets the seconds of `ANSWER`."""
CONNECT = 10.0
"""Seconds until a connection must stand."""
ANSWER = 60.0
"""Seconds without a byte, in either direction, that end a request."""
SILENCES = 3
"""Requests without an answer, one after the other, that end a verb: the client repeats some of them."""
LONGEST_WAIT = 300
"""Seconds that a rate limit may ask for before we give up; the Hub's window is five minutes."""
CHILD = 7200.0
"""Seconds until a child process that pushes or reads a release must be done."""
_RESET = re.compile(r"\bt=(\d{1,6})")


def answer() -> float:
    """Return the seconds without a byte that end a request.

    Raises:
        UsageError: The setting is no number of seconds.
    """
    text = os.environ.get(SETTING, "")
    if not text:
        return ANSWER
    if not re.fullmatch(r"\d{1,5}(\.\d{1,3})?", text, re.ASCII) or float(text) == 0:
        raise UsageError(
            f"{SETTING}={text[:40]!a} is no number of seconds", hint="Write a number such as 60."
        )
    return float(text)


def connect() -> float:
    """Return the seconds until a connection must stand."""
    return min(CONNECT, answer())


def silent(doing: str) -> RemoteError:
    """Return the error of a Hub that did not answer.

    Args:
        doing: What was being done, "reading OWNER/NAME".
    """
    waited = f"{connect():g} s for a connection, {answer():g} s for an answer"
    hint = f"Try again later; {SETTING} gives it more seconds."
    return RemoteError(f"{doing}: the Hub did not answer in time ({waited})", hint=hint)


def wait_seconds(headers: Mapping[str, str], default: int = 60) -> int:
    """Return how long a rate limit asks to wait, from its ``RateLimit`` or ``Retry-After`` header."""
    reset = _RESET.search(headers.get("RateLimit", ""))
    after = headers.get("Retry-After", "")
    if reset:
        return int(reset[1]) + 1
    return int(after) + 1 if re.fullmatch(r"\d{1,6}", after, re.ASCII) else default


@functools.cache
def install() -> None:
    """Bound every request of the Hub's client in this process, once.

    Raises:
        UsageError: The setting is no number of seconds.
    """
    from huggingface_hub import set_client_factory

    answer()
    set_client_factory(_client)


def _client() -> httpx2.Client:
    import httpx2
    from huggingface_hub.utils._http import hf_request_event_hook

    silences = threading.local()  # the client uploads in threads: one that stalls says nothing of the others
    given_up = threading.Event()  # but once one has given up, the others do not begin to count anew

    class Bounded(httpx2.Client):
        """A client that bounds what its callers leave open, since most of them pass no limit on purpose."""

        def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:  # noqa: ANN401  as they are
            request.extensions["timeout"] = _bounded(request.extensions.get("timeout"))
            try:
                response = super().send(request, **options)
            except httpx2.TimeoutException as error:
                silences.count = getattr(silences, "count", 0) + 1
                if silences.count < SILENCES and not given_up.is_set():
                    raise  # the client may try again
                given_up.set()
                silences.count = 0
                raise silent(f"requests to {request.url.host}, several times") from error
            silences.count = 0
            given_up.clear()
            _refuse_long_wait(response)
            return response

    limits = httpx2.Timeout(answer(), connect=connect())
    return Bounded(event_hooks={"request": [hf_request_event_hook]}, follow_redirects=True, timeout=limits)


def _bounded(asked: Mapping[str, float | None] | None) -> dict[str, float]:
    limits = {"connect": connect(), "read": answer(), "write": answer(), "pool": answer()}
    given = {name: (asked or {}).get(name) for name in limits}
    return {name: min(limit, given[name] or limit) for name, limit in limits.items()}


def _refuse_long_wait(response: httpx2.Response) -> None:
    """Give up where a rate limit asks for more than we wait: the client would sleep for as long as that."""
    if response.status_code != 429:
        return
    seconds = wait_seconds(response.headers)
    if seconds > LONGEST_WAIT:
        response.close()
        message = f"{response.url.host}: the Hub answered 429 and asks to wait for {seconds} s"
        raise RemoteError(message, hint=f"Too many requests; try again in {seconds} s.")

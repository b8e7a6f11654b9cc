"""A Hub on loopback that the unmodified clients push to and load from."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import RemoteError, UsageError
from builders.rehearsal.store import WRITE_TOKEN, Store

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_START_LIMIT = 30.0


@dataclass(frozen=True, slots=True)
class Request:
    """A request that was answered.

    Attributes:
        method: "GET".
        path: As it was sent, still quoted.
        query: Without the question mark.
        status: Of the answer; 0 where the connection was broken off.
        user_agent: Of the client.
        authenticated: Whether a token was sent.
    """

    method: str
    path: str
    query: str
    status: int
    user_agent: str
    authenticated: bool


@dataclass(slots=True)
class _Fault:
    method: str
    pattern: re.Pattern[str]
    status: int
    times: int
    headers: Mapping[str, str]
    after: bool
    drop: bool
    meanwhile: Callable[[], object] | None


@dataclass(slots=True)
class Hub:
    """A running Hub.

    Attributes:
        endpoint: "http://127.0.0.1:PORT".
        store: What it holds.
        log: The requests, in the order of their answers.
    """

    endpoint: str
    store: Store
    log: list[Request] = field(default_factory=list)
    _faults: list[_Fault] = field(default_factory=list)

    def fault(
        self,
        method: str,
        pattern: str,
        status: int,
        times: int = 1,
        headers: Mapping[str, str] | None = None,
        *,
        after: bool = False,
        drop: bool = False,
        meanwhile: Callable[[], object] | None = None,
    ) -> None:
        """Answer the next matching requests with an error.

        Args:
            method: "POST".
            pattern: Regular expression, searched in the path.
            status: Of the answer.
            times: How many requests.
            headers: Of the answer, such as ``{"RateLimit": '"api";r=0;t=1'}``.
            after: Do what was asked first, and lose only the answer.
            drop: Break the connection off instead of answering.
            meanwhile: Called before the answer, while the client waits.
        """
        fault = _Fault(method, re.compile(pattern), status, times, headers or {}, after, drop, meanwhile)
        self._faults.append(fault)

    def environment(self, home: Path, token: str | None = WRITE_TOKEN) -> dict[str, str]:
        """Return the environment of a child process whose clients talk to this Hub and to no other.

        The clients read it when they are imported, so it cannot serve the calling process.

        Args:
            home: A fresh folder for the clients' caches.
            token: None sends no token.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        local = "127.0.0.1,localhost"
        settings = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "CROISSANT_CACHE": str(home / "croissant"),
            "NO_PROXY": local,
            "no_proxy": local,
        }
        return kept | settings | ({"HF_TOKEN": token} if token else {})

    def _take_fault(self, method: str, path: str) -> _Fault | None:
        for fault in self._faults:
            if fault.times > 0 and fault.method == method and fault.pattern.search(path):
                fault.times -= 1
                return fault
        return None


@contextlib.contextmanager
def serve(store: Store | None = None, *, port: int = 0) -> Iterator[Hub]:
    """Run a Hub in a thread of this process until the block ends.

    Args:
        store: What it serves; a new one by default.
        port: 0 takes a free one.

    Yields:
        The running Hub.

    Raises:
        UsageError: Starlette or uvicorn is not installed.
        RemoteError: The port is taken.
    """
    try:
        import uvicorn

        from builders.rehearsal.routes import application
    except ModuleNotFoundError as error:
        raise UsageError(
            f"a Hub on loopback needs {error.name}",
            hint="From a checkout: pip install -c constraints.txt -e '.[rehearsal]'",
        ) from error
    store = store or Store()
    listener = _listen(port)
    hub = Hub(f"http://127.0.0.1:{listener.getsockname()[1]}", store)
    config = uvicorn.Config(
        _Front(hub, application(store)),
        log_config=None,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        loop="asyncio",
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(
        target=server.run, kwargs={"sockets": [listener]}, name="loopback-hub", daemon=True
    )
    thread.start()
    try:
        _await_start(server, thread)
        yield hub
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        listener.close()
        raise RemoteError(
            f"port {port} of 127.0.0.1 cannot be used ({error.strerror})", hint="Choose another port, or 0."
        ) from error
    return listener


def _await_start(server: uvicorn.Server, thread: threading.Thread) -> None:
    deadline = time.monotonic() + _START_LIMIT
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise RemoteError(
                "the Hub on loopback did not start", hint="Try again; is the machine overloaded?"
            )
        time.sleep(0.01)


class _Front:
    """The outermost ASGI application: routes on the raw path, injects faults, and keeps the log."""

    def __init__(self, hub: Hub, app: ASGIApp) -> None:
        self._hub = hub
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        raw = scope["raw_path"].decode("ascii", "replace")
        scope = {**scope, "path": raw}
        fault = self._hub._take_fault(scope["method"], raw)
        if fault is None:

            async def recorded(message: Message) -> None:
                # logged before it is sent: whoever has the answer finds the request in the log
                if message["type"] == "http.response.start":
                    self._record(scope, message["status"])
                await send(message)

            await self._app(scope, receive, recorded)
            return
        await (self._app(scope, receive, _discard) if fault.after else _drain(receive))
        if fault.meanwhile is not None:
            await asyncio.to_thread(fault.meanwhile)  # other clients are served all the while
        await self._fail(fault, scope, send)

    async def _fail(self, fault: _Fault, scope: Scope, send: Send) -> None:
        self._record(scope, 0 if fault.drop else fault.status)
        body = b'{"error": "injected fault"}'
        # a longer body is promised than sent where the connection shall break off: the server closes it then
        length = len(body) + (1 if fault.drop else 0)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
        headers += [(name.encode(), value.encode()) for name, value in fault.headers.items()]
        status = 200 if fault.drop else fault.status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": fault.drop})

    def _record(self, scope: Scope, status: int) -> None:
        headers = dict(scope["headers"])
        self._hub.log.append(
            Request(
                method=scope["method"],
                path=scope["path"],
                query=scope["query_string"].decode("ascii", "replace"),
                status=status,
                user_agent=headers.get(b"user-agent", b"").decode("latin-1"),
                authenticated=b"authorization" in headers,
            )
        )


async def _discard(_: Message) -> None:
    """Lose an answer."""


async def _drain(receive: Receive) -> None:
    """Read the body: a client that is still sending would see a broken pipe instead of the fault."""
    while (await receive()).get("more_body"):
        pass

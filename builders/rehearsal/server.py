"""A Hub on loopback that the unmodified clients push to and load from."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import RemoteError, UsageError
from builders.rehearsal.store import WRITE_TOKEN, Store

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_START_LIMIT = 30.0
_LOCAL = "127.0.0.1,localhost"


@dataclass(frozen=True, slots=True)
class Request:
    """A request with its path as it was sent, still quoted, and the status of its answer, 0 for none."""

    method: str
    path: str
    status: int
    authenticated: bool


@dataclass(slots=True)
class Hub:
    """A running Hub at "http://127.0.0.1:PORT", with its requests in the order of their answers."""

    endpoint: str
    store: Store
    log: list[Request] = field(default_factory=list)

    def environment(self, home: Path, token: str | None = WRITE_TOKEN) -> dict[str, str]:
        """Return the environment of a child process whose clients talk to this Hub alone.

        They read it when they are imported. `home` is a fresh folder for their caches.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
        settings = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "CROISSANT_CACHE": str(home / "croissant"),
            "NO_PROXY": _LOCAL,
            "no_proxy": _LOCAL,
        }
        return kept | settings | ({"HF_TOKEN": token} if token else {})

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the application answer a request, and log it."""

        async def logged(message: Message) -> None:
            # before it is sent: whoever has the answer finds the request in the log
            if message["type"] == "http.response.start":
                self.record(scope, message["status"])
            await send(message)

        await app(scope, receive, logged)

    def record(self, scope: Scope, status: int) -> None:
        """Put a request into the log."""
        authenticated = b"authorization" in dict(scope["headers"])
        self.log.append(Request(scope["method"], scope["path"], status, authenticated))


@contextlib.contextmanager
def serve(store: Store | None = None, *, port: int = 0, kind: type[Hub] = Hub) -> Iterator[Hub]:
    """Run a Hub in a thread of this process until the block ends; by default on a free port."""
    try:
        import uvicorn

        from builders.rehearsal.app import Application
    except ModuleNotFoundError as error:
        hint = "From a checkout: pip install -c constraints.txt -e '.[rehearsal]'"
        raise UsageError(f"a Hub on loopback needs {error.name}", hint=hint) from error
    store = store or Store()
    listener = _listen(port)
    hub, app = kind(f"http://127.0.0.1:{listener.getsockname()[1]}", store), Application(store)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        # routes match the path as it was sent
        await hub.answer(app, {**scope, "path": scope["raw_path"].decode("ascii", "replace")}, receive, send)

    config = uvicorn.Config(
        answer,
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
    options = {"sockets": [listener]}
    thread = threading.Thread(target=server.run, kwargs=options, name="loopback-hub", daemon=True)
    thread.start()
    try:
        deadline = time.monotonic() + _START_LIMIT
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline:
                hint = "Try again; is the machine overloaded?"
                raise RemoteError("the Hub on loopback did not start", hint=hint)
            time.sleep(0.01)
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
    except (OSError, OverflowError) as error:
        listener.close()
        message = f"port {port} of 127.0.0.1 cannot be used ({error})"
        raise RemoteError(message, hint="Choose another port, or 0.") from error
    return listener

"""A Reddit on loopback that the real PRAW talks to: log-in, and submissions by id.

In a process of its own: `python -m tests.reddit_server submissions.jsonl.gz`; it prints its address.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import email.utils
import gzip
import json
import secrets
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

CLIENT_ID = "loopback-client"
CLIENT_SECRET = "loopback-Geheimnis-4711"
USER_AGENT = "linux:mteb-de-tests:1.0 (by u/niemand)"
NO_LIMIT = {"x-ratelimit-remaining": "990.0", "x-ratelimit-used": "10", "x-ratelimit-reset": "1"}
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True)
class Fault:
    """What a request for submissions gets instead of its answer.

    Attributes:
        wait: Seconds to wait, told as an HTTP date when it is sent.
    """

    status: int = 200
    body: bytes = b'{"message": "Fault", "error": 1}'
    headers: Mapping[str, str] = field(default_factory=dict)
    reset: bool = False
    seconds: float = 0.0
    expires: bool = False
    wait: float | None = None


def too_many(retry_after: str | None) -> Fault:
    """429, with seconds, an HTTP date, or no word of how long."""
    return Fault(429, headers={} if retry_after is None else {"Retry-After": retry_after})


def too_many_until(seconds: float) -> Fault:
    """429, with the HTTP date of so many seconds later."""
    return Fault(429, wait=seconds)


def empty() -> Fault:
    """200 with a Listing that holds none of what was asked for."""
    return answers({"kind": "Listing", "data": {"children": []}})


def unavailable() -> Fault:
    return Fault(503)


def reset() -> Fault:
    """The connection is cut before the answer."""
    return Fault(reset=True)


def hang(seconds: float) -> Fault:
    """No answer for so long, then a cut."""
    return Fault(reset=True, seconds=seconds)


def answers(body: object) -> Fault:
    """200 with this JSON, or with these bytes."""
    return Fault(body=body if isinstance(body, bytes) else json.dumps(body).encode())


def refuses(status: int) -> Fault:
    return Fault(status)


def expired() -> Fault:
    """401, and the token is worth nothing from now on."""
    return Fault(401, expires=True)


@dataclass(frozen=True)
class Request:
    """A request as it came; `answered` tells whether it got a true answer."""

    method: str
    path: str
    ids: tuple[str, ...]
    answered: bool


class Server:
    """What is served, what was asked, and what will go wrong.

    Attributes:
        faults: Taken one for each request for submissions; None stands for a true answer.
        limits: The x-ratelimit headers of each answer.
        token: What a log-in gets.
        refused: How many requests were told to wait.
        early: How many came before they were told to.
    """

    def __init__(self, submissions: Mapping[str, Mapping[str, Any]]) -> None:
        self.submissions = {name: dict(data) for name, data in submissions.items()}
        self.log: list[Request] = []
        self.faults: deque[Fault | None] = deque()
        self.limits: Mapping[str, str] = NO_LIMIT
        self.logins: deque[Fault | None] = deque()
        self.hanging = threading.Event()
        self.closing = threading.Event()
        self.token = ""
        self.url = ""
        self.refused = 0
        self.early = 0
        self.not_before = 0.0

    @property
    def asked(self) -> list[tuple[str, ...]]:
        """The ids of each request for submissions."""
        return [request.ids for request in self.log if request.method == "GET"]

    @property
    def answered(self) -> list[str]:
        """Each id that got a true answer, as often as it got one."""
        return [name for request in self.log if request.answered for name in request.ids]

    def environment(self) -> dict[str, str]:
        """The variables with which praw and the command talk to this server."""
        return {
            "praw_client_id": CLIENT_ID,
            "praw_client_secret": CLIENT_SECRET,
            "praw_user_agent": USER_AGENT,
            "MTEB_DE_REDDIT_URL": self.url,
        }

    def delete(self, ids: Iterable[str]) -> None:
        """Their authors delete them."""
        for name in ids:
            self.submissions[name] |= {"selftext": "[deleted]", "author": "[deleted]"}

    def remove(self, ids: Iterable[str]) -> None:
        """A moderator removes them."""
        for name in ids:
            self.submissions[name] |= {"selftext": "[removed]", "removed_by_category": "moderator"}

    def vanish(self, ids: Iterable[str]) -> None:
        """They are in no answer any more."""
        for name in ids:
            del self.submissions[name]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    state: Server

    def log_message(self, format: str, *args: object) -> None:
        """Nothing on stderr."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = urlsplit(self.path).path
        self.state.log.append(Request("POST", path, (), answered=False))
        expected = "Basic " + base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        fault = self.state.logins.popleft() if self.state.logins else None
        if fault is not None:
            self._fault(fault)
        elif path != "/api/v1/access_token":
            self._send(404, {"message": "Not Found", "error": 404})
        elif self.headers.get("Authorization") != expected:
            self._send(401, {"message": "Unauthorized", "error": 401})
        else:
            self.state.token = secrets.token_hex(8)
            answer = {
                "access_token": self.state.token,
                "expires_in": 86400,
                "scope": "*",
                "token_type": "bearer",
            }
            self._send(200, answer)

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        names = tuple(name.removeprefix("t3_") for name in query.get("id", [""])[0].split(","))
        self.state.early += time.monotonic() < self.state.not_before
        fault = self.state.faults.popleft() if self.state.faults else None
        right_path = parts.path.rstrip("/") == "/api/info"
        right_token = self.headers.get("Authorization") == f"bearer {self.state.token}"
        answered = fault is None and right_path and right_token
        self.state.log.append(Request("GET", parts.path, names, answered))
        if fault is not None:
            self._fault(fault)
        elif not right_path:
            self._send(404, {"message": "Not Found", "error": 404})
        elif not right_token:
            self._send(401, {"message": "Unauthorized", "error": 401})
        else:
            full = [name for name in query["id"][0].split(",") if name.startswith("t3_")]
            self._send(200, self._listing(full, raw=query.get("raw_json") == ["1"]), self.state.limits)

    def _listing(self, names: Iterable[str], *, raw: bool) -> dict[str, Any]:
        store = self.state.submissions
        found = [store[name.removeprefix("t3_")] for name in names if name.removeprefix("t3_") in store]
        if not raw:
            found = [
                {
                    key: value.translate(_ESCAPES) if isinstance(value, str) else value
                    for key, value in data.items()
                }
                for data in found
            ]
        children = [{"kind": "t3", "data": data} for data in found]
        return {
            "kind": "Listing",
            "data": {"after": None, "before": None, "dist": len(found), "children": children},
        }

    def _fault(self, fault: Fault) -> None:
        if fault.expires:
            self.state.token = ""
        headers = dict(fault.headers)
        if fault.wait is not None:
            until = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=fault.wait)
            headers["Retry-After"] = email.utils.format_datetime(until.replace(microsecond=0), usegmt=True)
            self._refuse_until(until.replace(microsecond=0).timestamp() - time.time())
        elif headers.get("Retry-After", "").isdecimal():
            self._refuse_until(float(headers["Retry-After"]))
        if fault.seconds:
            self.state.hanging.set()
            self.state.closing.wait(fault.seconds)
        if fault.reset:
            # With a linger of 0 seconds the kernel cuts the connection instead of ending it.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        self._send(fault.status, fault.body, headers)

    def _refuse_until(self, seconds: float) -> None:
        self.state.refused += 1
        self.state.not_before = time.monotonic() + seconds

    def _send(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:  # PRAW asks for it after the log-in
            self.send_header("Connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed is no fault of ours."""


@contextlib.contextmanager
def serve(submissions: Mapping[str, Mapping[str, Any]]) -> Iterator[Server]:
    """Serve submissions by id on a free port."""
    state = Server(submissions)
    handler = type("StatefulHandler", (Handler,), {"state": state})
    with _Listener(("127.0.0.1", 0), handler) as listener:
        state.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield state
        finally:
            state.closing.set()
            listener.shutdown()
            thread.join()


def load(path: Path) -> dict[str, dict[str, Any]]:
    """Read submissions, one a line, by id."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {row["id"]: row for row in rows}


def main() -> None:
    """Serve a file until the process is ended."""
    with serve(load(Path(sys.argv[1]))) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()

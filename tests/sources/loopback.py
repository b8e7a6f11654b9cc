"""A server on loopback: plain files with ranges, and of a Hub what reading needs. Every request is logged."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class Repo:
    """A dataset with one commit."""

    commit: str
    files: dict[str, bytes]
    refs: tuple[str, ...] = ()
    lfs: frozenset[str] = frozenset()
    false_sha256: dict[str, str] = field(default_factory=dict)


@dataclass
class Answer:
    """What to say instead of the usual, once for each entry of `Loopback.faults`."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    drop_after: int | None = None


@dataclass
class Loopback:
    """A running server, what it serves, and its log of ("GET", "/path", range)."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    repos: dict[str, Repo] = field(default_factory=dict)
    faults: dict[str, list[Answer]] = field(default_factory=dict)
    ranges: bool = True
    lengths: bool = True
    log: list[tuple[str, str, str]] = field(default_factory=list)

    def paths(self) -> list[str]:
        return [path for _method, path, _range in self.log]


@contextlib.contextmanager
def serve() -> Iterator[Loopback]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    state = Loopback(f"http://127.0.0.1:{server.server_address[1]}")
    server.state = state  # type: ignore[attr-defined]  # the handler finds it there
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    @property
    def state(self) -> Loopback:
        state: Loopback = self.server.state  # type: ignore[attr-defined]
        return state

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        self.state.log.append((self.command, path, self.headers.get("Range", "")))
        faults = self.state.faults.get(path, [])
        answer = faults.pop(0) if faults else self._usual(path)
        self._send(answer, body=body)

    def _send(self, answer: Answer, *, body: bool) -> None:
        data, headers, status = answer.body, dict(answer.headers), answer.status
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and self.state.ranges and status == 200:
            start = int(wanted[1])
            if start >= len(data):
                status, headers, data = 416, {"Content-Range": f"bytes */{len(data)}"}, b""
            else:
                headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
                status, data = 206, data[start:]
        self.send_response(status)
        if self.state.lengths:
            self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data if answer.drop_after is None else data[: answer.drop_after])
        if answer.drop_after is not None:
            self.close_connection = True

    def _usual(self, path: str) -> Answer:
        if path in self.state.files:
            return Answer(body=self.state.files[path])
        api = re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/(revision|tree)/([^/]+)", path)
        if api:
            return self._hub(api[1], api[3], listing=api[2] == "tree")
        resolve = re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if resolve:
            return self._resolve(resolve[1], resolve[2], resolve[3])
        return Answer(404)

    def _repo(self, name: str, revision: str) -> Repo | Answer:
        repo = self.state.repos.get(name)
        if repo is None:
            return Answer(
                404, headers={"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            )
        if not repo.commit.startswith(revision) and revision not in repo.refs:
            return Answer(
                404, headers={"X-Error-Code": "RevisionNotFound", "X-Error-Message": "Invalid rev id"}
            )
        return repo

    def _hub(self, name: str, revision: str, *, listing: bool) -> Answer:
        repo = self._repo(name, revision)
        if isinstance(repo, Answer):
            return repo
        if not listing:
            return _json({"id": name, "sha": repo.commit, "private": False, "siblings": [], "tags": []})
        return _json([_listed(repo, path) for path in repo.files])

    def _resolve(self, name: str, revision: str, path: str) -> Answer:
        repo = self._repo(name, revision)
        if isinstance(repo, Answer):
            return repo
        if path not in repo.files:
            return Answer(
                404, headers={"X-Error-Code": "EntryNotFound", "X-Error-Message": "Entry not found"}
            )
        data = repo.files[path]
        headers = {"X-Repo-Commit": repo.commit, "ETag": f'"{hashlib.sha256(data).hexdigest()}"'}
        return Answer(body=data, headers=headers)


def _listed(repo: Repo, path: str) -> dict[str, Any]:
    data = repo.files[path]
    item: dict[str, Any] = {
        "type": "file",
        "path": path,
        "size": len(data),
        "oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest(),
    }
    if path in repo.lfs:
        digest = repo.false_sha256.get(path, hashlib.sha256(data).hexdigest())
        item["lfs"] = {"oid": digest, "size": len(data), "pointerSize": 131}
    return item


def _json(document: Any) -> Answer:
    return Answer(body=json.dumps(document).encode(), headers={"Content-Type": "application/json"})

"""A Hub on loopback that fails when it is asked to, and the real clients in a child process against it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from builders import rehearsal
from builders.rehearsal import READ_TOKEN, WRITE_TOKEN, Hub, Store
from builders.rehearsal.store import Account

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

STRANGER_TOKEN = "hf_loopbackstranger"
FINE_GRAINED_TOKEN = "hf_loopbackfine"
"""Of the maintainer, for other repositories than the released ones."""

REPO = "maintainer/buecher"
CARD = """---
license: cc-by-4.0
language:
- de
size_categories:
- n<1K
configs:
- config_name: orte-corpus
  data_files:
  - split: corpus
    path: orte/corpus/corpus.parquet
- config_name: orte-queries
  data_files:
  - split: train
    path: orte/queries/train.parquet
  - split: test
    path: orte/queries/test.parquet
---
# Orte
"""
CORPUS = {
    "_id": ["d1", "d2"],
    "title": ["Aachen", "Ulm"],
    "text": ["Der Dom steht hier.", "Das Münster auch."],
}
QUERIES = {"_id": ["q1"], "text": ["Wo steht der Dom?"]}

PRELUDE = """
import json, os, sys
from huggingface_hub import CommitOperationAdd as Add, CommitOperationCopy as Copy
from huggingface_hub import CommitOperationDelete as Remove, HfApi, hf_hub_download, snapshot_download
from huggingface_hub.errors import HfHubHTTPError
api, repo, kind = HfApi(), "maintainer/buecher", {"repo_type": "dataset"}
folder = os.environ["TEST_FOLDER"]
def status(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except HfHubHTTPError as error:
        return error.response.status_code
    return 200
def name_of_error(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return ""
def commit(operations, parent=None, message="Commit"):
    return api.create_commit(repo, operations, commit_message=message, parent_commit=parent, **kind).oid
def files():
    names = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    return [Add(os.path.relpath(name, folder), name) for name in sorted(names)]
def answer(value):
    sys.stdout.write(json.dumps(value))
"""


@dataclass(slots=True)
class Fault:
    """An error that a Hub answers instead of, or after, what was asked."""

    method: str
    pattern: re.Pattern[str]
    status: int
    times: int
    headers: Mapping[str, str]
    after: bool
    drop: bool
    meanwhile: Callable[[], object] | None

    def takes(self, scope: Scope) -> bool:
        """Whether the request is one of those that fail; it counts as one."""
        found = self.times > 0 and self.method == scope["method"] and self.pattern.search(scope["path"])
        self.times -= bool(found)
        return bool(found)


@dataclass(slots=True)
class FaultyHub(Hub):
    """A Hub that answers some requests with an error, and keeps strangers from the files of gated repos."""

    faults: list[Fault] = field(default_factory=list)

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
        fault = Fault(method, re.compile(pattern), status, times, headers or {}, after, drop, meanwhile)
        self.faults.append(fault)

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        fault = next((fault for fault in self.faults if fault.takes(scope)), None)
        if fault is None:
            refused = self._gate(scope)
            if refused is None:
                await Hub.answer(self, app, scope, receive, send)
            else:
                message = "Access to this dataset is restricted."
                headers = {"X-Error-Code": "GatedRepo", "X-Error-Message": message}
                await self._send(scope, send, refused, headers, message)
            return
        await (app(scope, receive, _discard) if fault.after else _drain(receive))
        if fault.meanwhile is not None:
            await asyncio.to_thread(fault.meanwhile)  # other clients are served all the while
        await self._send(scope, send, fault.status, fault.headers, "injected fault", drop=fault.drop)

    def _gate(self, scope: Scope) -> int | None:
        """Return the status for a caller who may not read the file of a gated repo."""
        parts = scope["path"].split("/")
        repo = self.store.repos.get(("dataset", "/".join(parts[2:4])))
        if repo is None or not repo.gated or parts[4:5] != ["resolve"]:
            return None
        token = dict(scope["headers"]).get(b"authorization", b"").decode().removeprefix("Bearer ")
        account = self.store.accounts.get(token)
        if account is None:
            return 401
        return None if account.belongs(repo.owner) else 403

    async def _send(
        self,
        scope: Scope,
        send: Send,
        status: int,
        headers: Mapping[str, str],
        message: str,
        *,
        drop: bool = False,
    ) -> None:
        self.record(scope, 0 if drop else status)
        body = json.dumps({"error": message}).encode()
        # a longer body is promised than sent where the connection shall break off: the server closes it then
        length = len(body) + (1 if drop else 0)
        sent = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
        sent += [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200 if drop else status, "headers": sent})
        await send({"type": "http.response.body", "body": body, "more_body": drop})


async def _discard(_: Message) -> None:
    """Lose an answer."""


async def _drain(receive: Receive) -> None:
    """Read the body: a client that is still sending would see a broken pipe instead of the fault."""
    while (await receive()).get("more_body"):
        pass


@contextmanager
def serve(store: Store | None = None) -> Iterator[FaultyHub]:
    """Run a Hub that can fail, and that knows a stranger and a fine-grained token too."""
    with rehearsal.serve(store, kind=FaultyHub) as hub:
        assert isinstance(hub, FaultyHub)
        orgs = hub.store.accounts[READ_TOKEN].orgs
        hub.store.accounts |= {
            STRANGER_TOKEN: Account("stranger", "write"),
            FINE_GRAINED_TOKEN: Account("maintainer", "fineGrained", orgs),
        }
        yield hub


def client(hub: Hub, code: str, *, folder: Path | None = None, token: str | None = WRITE_TOKEN) -> Any:
    """Run `code` after `PRELUDE` with fresh caches; return what it passed to `answer`."""
    with tempfile.TemporaryDirectory() as home:
        environment = hub.environment(Path(home), token) | {"TEST_FOLDER": str(folder or "")}
        command = [sys.executable, "-c", PRELUDE + code]
        run = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=120
        )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def write_folder(folder: Path) -> Path:
    """Write a small dataset repo with a card, a corpus and queries; returns the folder."""
    for path, columns in (
        ("orte/corpus/corpus.parquet", CORPUS),
        ("orte/queries/train.parquet", QUERIES),
        ("orte/queries/test.parquet", {"_id": ["q2"], "text": ["Wo steht das Münster?"]}),
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), folder / path)
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    return folder

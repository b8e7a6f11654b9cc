"""Rehearsing a plan: the same push and the same verification, against a Hub on loopback."""

from __future__ import annotations

import importlib.metadata
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from builders import files
from builders.errors import Drift
from builders.printable import shortened
from builders.release import child
from builders.release.plan import Plan, Receipt, check_bytes, read_plan, receipt_path
from builders.release.verify import verify

if TYPE_CHECKING:
    from builders.rehearsal import Request, Store

_CLIENTS = ("datasets", "huggingface-hub", "pyarrow")


def rehearse(out: Path, release: str) -> tuple[Plan, Receipt]:
    """Push a plan to a Hub on loopback with the real clients, read everything back, and write a receipt."""
    from builders.rehearsal import serve

    read_plan(out, release)  # a folder without one is not made
    with files.exclusive(out), tempfile.TemporaryDirectory(prefix="mteb-de-rehearsal-") as home:
        files.remove(receipt_path(out, release))
        plan, dist = read_plan(out, release), out / release
        check_bytes(plan, dist)
        with serve(_as_planned(plan)) as hub:
            request = {"do": "push", "out": str(out), "release": release, "plan": plan.seal}
            child.ask(request, hub.environment(Path(home) / "push"))
            before = len(hub.log)
            try:
                environment = hub.environment(Path(home) / "read")
                verified = verify(plan.repo, plan.tag, dist=dist, environment=environment)
            except Drift as error:
                hint = "Nothing was published. Build and plan again; if it stays, please report it."
                raise Drift(error.message, hint=hint) from error
            _check_wire(plan, verified.commit, hub.log[before:])
        receipt = Receipt(
            plan=plan.seal,
            repo=plan.repo,
            tag=plan.tag,
            files=verified.files,
            rows=verified.rows,
            requests=len(hub.log),
            tools={name: importlib.metadata.version(name) for name in _CLIENTS},
            citations=plan.citations,
        )
        receipt.write(receipt_path(out, release))
    return plan, receipt


def _as_planned(plan: Plan) -> Store:
    """Return a Hub that holds the parent commit of the plan, with the files to delete."""
    from builders.rehearsal import Store

    store = Store(orgs=[plan.repo.partition("/")[0]])
    if plan.parent is not None:
        store.add_files("dataset", plan.repo, dict.fromkeys(plan.delete, b""), plan.parent)
        store.repo("dataset", plan.repo).private = plan.private
    return store


def _check_wire(plan: Plan, commit: str, log: Sequence[Request]) -> None:
    """Refuse a log that lacks a published file, which came from this disk then; equal bytes are sent once."""
    answered = {request.path for request in log if request.status in {200, 302}}
    sent = {request.path for request in log if request.method == "GET" and request.status == 200}
    pages = {file.path: f"/datasets/{plan.repo}/resolve/{commit}/{quote(file.path)}" for file in plan.files}
    stored = {path: f"/storage/datasets/{plan.repo}/{commit}/{quote(path)}" for path in pages}
    fetched = {file.sha256 for file in plan.files if sent & {pages[file.path], stored[file.path]}}
    missed = [
        file.path for file in plan.files if file.sha256 not in fetched or pages[file.path] not in answered
    ]
    if missed:
        message = f"not read over the wire at {plan.tag}: {', '.join(shortened(missed))}"
        raise Drift(message, hint="This should not happen; please report it.")

"""Applying a plan: one commit and one tag, after its rehearsal."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from builders import files
from builders.errors import Refused, StorageError
from builders.hub import client, is_loopback
from builders.release.commands import command
from builders.release.local import planned_bytes
from builders.release.model import (
    Plan,
    Receipt,
    read_plan,
    read_plan_and_digest,
    read_receipt,
    receipt_path,
)
from builders.release.plan import check_visibility
from builders.release.publish import Applied, Change, publish

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi


def apply(
    out: Path,
    release: str,
    *,
    api: HfApi | None = None,
    ask: Callable[[Plan], None] = lambda plan: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Applied:
    """Publish a plan that has been rehearsed.

    The folder is held against builds and plans meanwhile. Where the tag is there with the planned files,
    nothing is sent.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        api: The Hub's client; by default with the client's own settings.
        ask: Raises where somebody does not want this plan published, before anything is read from the Hub.
        sleep: Waits the given seconds before a request is repeated.

    Raises:
        Refused: There is no receipt of this very plan, the bytes on disk are not the planned ones, a gate is
            open, the build is not from the real upstreams, the repository has moved on, or the tag exists
            with other files.
        RemoteError: The Hub refused, failed, or was not reachable. Running it again is safe.
        Busy: A build or a plan holds the folder.
        StorageError: There is no plan, or a file cannot be read.
    """
    read_plan(out, release)  # a folder without one is not made
    with files.exclusive(out):
        plan, digest = read_plan_and_digest(out, release)
        check_receipt(out, release, plan, digest)
        api = api or client()
        if plan.gates:
            message = f"{release} has open gates:\n" + "\n".join(plan.gates)
            raise Refused(message, hint="Mend the cause, or waive it in the config; then build again.")
        if plan.stand_ins and not is_loopback(api.endpoint):
            reasons = "\n".join(plan.stand_ins)
            message = f"this build may be rehearsed, but not published at {api.endpoint}:\n{reasons}"
            raise Refused(message, hint="Build from the real upstreams with the pinned encoder.")
        ask(plan)
        return push(plan, out / release, api, sleep=sleep)


def push(plan: Plan, folder: Path, api: HfApi, *, sleep: Callable[[float], None] = time.sleep) -> Applied:
    """Commit the files of a plan and tag the commit; `apply` and the rehearsal both do it.

    What is sent is a private copy, made of the bytes that were compared with the plan.

    Args:
        plan: What to publish.
        folder: The folder of the release.
        api: The Hub's client.
        sleep: Waits the given seconds before a request is repeated.

    Raises:
        Refused: The bytes on disk are not the planned ones, the repository has moved on, or the tag exists
            with other files.
        RemoteError: The token may not write, or the Hub refused, failed, or was not reachable.
    """
    with planned_bytes(plan, folder) as copy:
        change = Change(
            repo=plan.repo,
            tag=plan.tag,
            message=plan.message,
            parent=plan.parent,
            private=plan.private,
            wanted={file.path: file for file in plan.files},
            operations=lambda: _operations(plan, copy),
        )
        return publish(
            change, api, check=lambda remote: check_visibility(plan.repo, plan.private, remote), sleep=sleep
        )


def check_receipt(out: Path, release: str, plan: Plan, digest: str) -> Receipt:
    """Return the receipt of a plan.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        plan: As it was read.
        digest: sha256 of the bytes that it was read from.

    Raises:
        Refused: There is none, or it is of another plan.
    """
    again = f"Rehearse the plan again: {command('rehearse', release, out=out)}"
    try:
        receipt = read_receipt(out, release)
    except StorageError as error:
        raise Refused(
            f"the plan of {release} {plan.version} has no receipt: {error.message}",
            hint=f"Rehearse it first: {command('rehearse', release, out=out)}",
        ) from error
    if receipt.plan != digest:
        message = f"{receipt_path(out, release)} is of another plan ({receipt.plan}, now {digest})"
        raise Refused(message, hint=again)
    if receipt.files != {file.path: file.sha256 for file in plan.files}:
        message = f"{receipt_path(out, release)} does not cover the files of the plan"
        raise Refused(message, hint=again)
    return receipt


def _operations(plan: Plan, copy: Path) -> list[CommitOperationAdd | CommitOperationDelete]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    return [
        *(CommitOperationAdd(file.path, str(copy / file.path)) for file in plan.files),
        *(CommitOperationDelete(path, is_folder=False) for path in plan.delete),
    ]

"""Applying a plan: one commit and one tag, never sent twice without looking."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from builders import files
from builders.errors import Refused, RemoteError, StorageError
from builders.release.model import (
    Plan,
    Receipt,
    Remote,
    differences,
    plan_path,
    read_plan,
    read_receipt,
    receipt_path,
)
from builders.release.plan import check_bytes, check_visibility
from builders.release.remote import explain, explained, is_loopback, read_remote, read_tree, wait_seconds

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

ATTEMPTS = 3
LONGEST_WAIT = 300
"""Seconds that a rate limit may ask for before we give up; the Hub's window is five minutes."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A release that is published.

    Attributes:
        repo: "OWNER/NAME".
        tag: "v1.0.0".
        commit: Full id of the tagged commit.
        recognised: Whether the commit had already arrived, and only its answer was lost.
    """

    repo: str
    tag: str
    commit: str
    recognised: bool


def apply(out: Path, release: str, *, api: HfApi | None = None) -> Applied:
    """Publish a plan that has been rehearsed.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        api: The Hub's client; by default with the client's own settings.

    Raises:
        Refused: There is no receipt of this very plan, the bytes on disk are not the planned ones, a gate is
            open, the build is not from the real upstreams, the repository has moved on, or the tag exists.
        RemoteError: The Hub refused, failed, or was not reachable. Running it again is safe.
        StorageError: There is no plan, or a file cannot be read.
    """
    plan = read_plan(out, release)
    _check_receipt(out, release, plan)
    if api is None:
        from huggingface_hub import HfApi

        api = HfApi()
    if plan.gates:
        message = f"{release} has open gates:\n" + "\n".join(plan.gates)
        raise Refused(message, hint="Mend the cause, or waive it in the config; then build again.")
    if plan.stand_ins and not is_loopback(api.endpoint):
        reasons = "\n".join(plan.stand_ins)
        message = f"this build may be rehearsed, but not published at {api.endpoint}:\n{reasons}"
        raise Refused(message, hint="Build from the real upstreams with the pinned encoder.")
    return push(plan, out / release, api)


def push(plan: Plan, folder: Path, api: HfApi, *, sleep: Callable[[float], None] = time.sleep) -> Applied:
    """Commit the files of a plan and tag the commit; `apply` and the rehearsal both do it.

    A commit that was applied although an error came back is recognised by its tree.

    Args:
        plan: What to publish.
        folder: The folder of the release.
        api: The Hub's client.
        sleep: Waits for a rate limit, in seconds.

    Raises:
        Refused: The bytes on disk are not the planned ones, the repository has moved on, or the tag exists.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    check_bytes(plan, folder)
    _hide_bars_off_terminals()
    check_token(api, plan.repo)
    remote = read_remote(api, plan.repo)
    check_visibility(plan.repo, plan.private, remote)
    if plan.tag in remote.tags:
        raise Refused(f"{plan.repo} already has the tag {plan.tag}", hint="Plan a higher version.")
    recognised = remote.head is not None and not differences(plan, remote.files)
    if recognised:
        assert remote.head is not None
        commit = remote.head
    else:
        parent = _parent(plan, remote, api)
        commit, recognised = _commit(plan, folder, api, parent, sleep)
    wrong = differences(plan, read_tree(api, plan.repo, commit))
    if wrong:
        message = f"{plan.repo}@{commit} differs from the plan, and was not tagged:\n" + "\n".join(wrong[:10])
        raise RemoteError(message, hint="Make a new plan.")
    _tag(plan, api, commit)
    return Applied(plan.repo, plan.tag, commit, recognised)


def _hide_bars_off_terminals() -> None:
    if not sys.stderr.isatty():
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()


def check_token(api: HfApi, repo: str) -> None:
    """Make sure that the token may write, before anything is sent.

    Raises:
        RemoteError: There is no token, it is not valid, or it may only read.
    """
    with explained("checking the token"):
        who: dict[str, Any] = api.whoami()
    token = who.get("auth", {}).get("accessToken", {})
    role = token.get("role", "write")
    scopes = token.get("fineGrained", {}).get("scoped", [])
    owner = repo.partition("/")[0]
    may_write = role in {"write", "admin"} or any(
        "repo.write" in scope.get("permissions", []) and scope.get("entity", {}).get("name") in {owner, repo}
        for scope in scopes
    )
    if not may_write:
        message = f"the token of {who.get('name')} ({role}) may not write {repo}"
        raise RemoteError(
            message, hint="Use a token with write access: https://huggingface.co/settings/tokens."
        )


def _check_receipt(out: Path, release: str, plan: Plan) -> Receipt:
    try:
        receipt = read_receipt(out, release)
    except StorageError as error:
        raise Refused(
            f"the plan of {release} {plan.version} has no receipt: {error.message}",
            hint="Rehearse it first: mteb-de release rehearse.",
        ) from error
    found = files.sha256(plan_path(out, release))
    if receipt.plan != found:
        message = f"{receipt_path(out, release)} is of another plan ({receipt.plan}, now {found})"
        raise Refused(message, hint="Rehearse the plan again: mteb-de release rehearse.")
    if receipt.files != {file.path: file.sha256 for file in plan.files}:
        message = f"{receipt_path(out, release)} does not cover the files of the plan"
        raise Refused(message, hint="Rehearse the plan again: mteb-de release rehearse.")
    return receipt


def _parent(plan: Plan, remote: Remote, api: HfApi) -> str:
    """Return the commit to build on; makes the repository where the plan expects none."""
    if plan.parent is not None and remote.head == plan.parent:
        return plan.parent
    if plan.parent is not None or remote.files:
        raise _stale(plan, remote)
    if remote.head is not None:
        return remote.head  # made by an earlier run that was cut before its commit: it holds nothing yet
    with explained(f"creating {plan.repo}"):
        api.create_repo(plan.repo, repo_type="dataset", private=plan.private)
    created = read_remote(api, plan.repo)
    if created.head is None or created.files:
        raise _stale(plan, created)
    return created.head


def _stale(plan: Plan, remote: Remote) -> Refused:
    planned = plan.parent or "no repository"
    message = f"{plan.repo} has changed since the plan was made: planned on {planned}, now {remote.head}"
    return Refused(message, hint="Make a new plan and rehearse it.")


def _commit(
    plan: Plan, folder: Path, api: HfApi, parent: str, sleep: Callable[[float], None]
) -> tuple[str, bool]:
    """Return the commit's id, and whether it was recognised after an error."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            made = api.create_commit(
                plan.repo,
                _operations(plan, folder),
                commit_message=plan.message,
                repo_type="dataset",
                parent_commit=parent,
            )
        except Exception as error:
            arrived = _arrived(plan, api, parent, error)
            if arrived is not None:
                return arrived, True
            _wait_or_raise(plan, error, attempt, sleep)
        else:
            return made.oid, False
    raise AssertionError("the last attempt returns or raises")


def _operations(plan: Plan, folder: Path) -> list[CommitOperationAdd | CommitOperationDelete]:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    return [
        *(CommitOperationAdd(file.path, str(folder / file.path)) for file in plan.files),
        *(CommitOperationDelete(path, is_folder=False) for path in plan.delete),
    ]


def _arrived(plan: Plan, api: HfApi, parent: str, error: Exception) -> str | None:
    """Return the head if it holds the plan although `error` came back, None if nothing has changed."""
    try:
        remote = read_remote(api, plan.repo)
    except RemoteError as second:
        message = f"{plan.repo}: committing failed ({error}), and the Hub cannot be read: {second.message}"
        raise RemoteError(message, hint="Run apply again: it looks first at what has arrived.") from error
    if remote.head is not None and not differences(plan, remote.files):
        return remote.head
    if remote.head != parent:
        raise _stale(plan, remote) from error
    return None


def _wait_or_raise(plan: Plan, error: Exception, attempt: int, sleep: Callable[[float], None]) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError) and error.response.status_code == 429 and attempt < ATTEMPTS:
        seconds = wait_seconds(error)
        if seconds <= LONGEST_WAIT:
            sleep(seconds)
            return
    _raise(error, f"committing to {plan.repo}")


def _raise(error: Exception, doing: str) -> NoReturn:
    known = explain(error, doing)
    if known is None:
        raise error
    raise known from error


def _tag(plan: Plan, api: HfApi, commit: str) -> None:
    try:
        api.create_tag(plan.repo, tag=plan.tag, revision=commit, repo_type="dataset")
    except Exception as error:
        if read_remote(api, plan.repo).tags.get(plan.tag) == commit:
            return
        _raise(error, f"the commit is there, its tag is not; tagging {plan.repo}@{commit} as {plan.tag}")

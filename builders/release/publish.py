"""One commit and one tag, never sent twice without looking."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from builders.errors import Refused, RemoteError
from builders.release.model import Bytes, Remote, differences
from builders.release.remote import (
    explain,
    explained,
    hide_bars_off_terminals,
    read_remote,
    read_tree,
    wait_seconds,
)
from builders.release.rights import check_token

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi

    Operations = Sequence[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete]

ATTEMPTS = 3
LONGEST_WAIT = 300
"""Seconds that a rate limit may ask for before we give up; the Hub's window is five minutes."""


@dataclass(frozen=True, slots=True)
class Change:
    """What shall be published.

    Attributes:
        repo: "OWNER/NAME".
        tag: "v1.0.0".
        message: Of the commit.
        parent: The commit that must still be the head; None where there must be no repository yet.
        private: Whether a repository that has to be made becomes private.
        wanted: All files of the tag by path.
        operations: Makes the operations of the commit; called anew for each attempt.
    """

    repo: str
    tag: str
    message: str
    parent: str | None
    private: bool
    wanted: Mapping[str, Bytes]
    operations: Callable[[], Operations]


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


def publish(
    change: Change,
    api: HfApi,
    *,
    check: Callable[[Remote], None] = lambda remote: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Applied:
    """Commit a change and tag the commit.

    A commit that was applied although an error came back, or before an earlier run was cut, is recognised by
    its tree.

    Args:
        change: What to publish.
        api: The Hub's client.
        check: Refuses a repository by what it holds, before anything is sent.
        sleep: Waits for a rate limit, in seconds.

    Raises:
        Refused: The repository has moved on, or the tag exists.
        RemoteError: The token may not write, or the Hub refused, failed, or was not reachable.
    """
    hide_bars_off_terminals()
    remote = read_remote(api, change.repo)
    check_token(api, change.repo, exists=remote.head is not None)
    check(remote)
    if change.tag in remote.tags:
        raise Refused(f"{change.repo} already has the tag {change.tag}", hint="Plan a higher version.")
    recognised = remote.head is not None and not differences(change.wanted, remote.files)
    if recognised:
        assert remote.head is not None
        commit = remote.head
    else:
        commit, recognised = _commit(change, api, _parent(change, remote, api), sleep)
    wrong = differences(change.wanted, read_tree(api, change.repo, commit))
    if wrong:
        where = f"{change.repo}@{commit}"
        message = f"{where} differs from the plan, and was not tagged:\n" + "\n".join(wrong[:10])
        raise RemoteError(message, hint="Make a new plan.")
    _tag(change, api, commit)
    return Applied(change.repo, change.tag, commit, recognised)


def _parent(change: Change, remote: Remote, api: HfApi) -> str:
    """Return the commit to build on; makes the repository where none is expected."""
    if change.parent is not None and remote.head == change.parent:
        return change.parent
    if change.parent is not None or remote.files:
        raise _stale(change, remote)
    if remote.head is not None:
        return remote.head  # made by an earlier run that was cut before its commit: it holds nothing yet
    with explained(f"creating {change.repo}"):
        api.create_repo(change.repo, repo_type="dataset", private=change.private)
    created = read_remote(api, change.repo)
    if created.head is None or created.files:
        raise _stale(change, created)
    return created.head


def _stale(change: Change, remote: Remote) -> Refused:
    planned = change.parent or "no repository"
    message = f"{change.repo} has changed since the plan was made: planned on {planned}, now {remote.head}"
    return Refused(message, hint="Make a new plan and rehearse it.")


def _commit(change: Change, api: HfApi, parent: str, sleep: Callable[[float], None]) -> tuple[str, bool]:
    """Return the commit's id, and whether it was recognised after an error."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            made = api.create_commit(
                change.repo,
                change.operations(),
                commit_message=change.message,
                repo_type="dataset",
                parent_commit=parent,
            )
        except Exception as error:
            arrived = _arrived(change, api, parent, error)
            if arrived is not None:
                return arrived, True
            _wait_or_raise(change, error, attempt, sleep)
        else:
            return made.oid, False
    raise AssertionError("the last attempt returns or raises")


def _arrived(change: Change, api: HfApi, parent: str, error: Exception) -> str | None:
    """Return the head if it is the change although `error` came back, None if nothing has changed."""
    try:
        remote = read_remote(api, change.repo)
    except RemoteError as second:
        message = f"{change.repo}: committing failed ({error}), and the Hub cannot be read: {second.message}"
        raise RemoteError(
            message, hint="Run the same command again: it looks at what has arrived."
        ) from error
    if remote.head is not None and not differences(change.wanted, remote.files):
        return remote.head
    if remote.head != parent:
        raise _stale(change, remote) from error
    return None


def _wait_or_raise(change: Change, error: Exception, attempt: int, sleep: Callable[[float], None]) -> None:
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError) and error.response.status_code == 429 and attempt < ATTEMPTS:
        seconds = wait_seconds(error)
        if seconds <= LONGEST_WAIT:
            sleep(seconds)
            return
    _raise(error, f"committing to {change.repo}")


def _raise(error: Exception, doing: str) -> NoReturn:
    known = explain(error, doing)
    if known is None:
        raise error
    raise known from error


def _tag(change: Change, api: HfApi, commit: str) -> None:
    try:
        api.create_tag(change.repo, tag=change.tag, revision=commit, repo_type="dataset")
    except Exception as error:
        where = f"{change.repo}@{commit}"
        try:
            there = read_remote(api, change.repo).tags.get(change.tag)
        except RemoteError:
            there = None
        if there != commit:
            _raise(error, f"the commit is there, its tag is not; tagging {where} as {change.tag}")

"""One commit and one tag, never sent twice without looking."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from builders.errors import MtebDeError, Refused, RemoteError
from builders.hub import LONGEST_WAIT, explain, hub_errors, wait_seconds
from builders.printable import listed
from builders.release.commands import command
from builders.release.model import Bytes, Remote, differences
from builders.release.remote import (
    hide_bars_off_terminals,
    read_remote,
    read_tags,
    read_tree,
)
from builders.release.rights import check_token

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete, HfApi

    Operations = Sequence[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete]

ATTEMPTS = 3
_PAUSE = 2.0
_CONFLICTS = frozenset({409, 412})
_BUSY = frozenset({0, 500, 502, 503, 504})
_AGAIN = "Run the same command again: it looks at what has arrived."


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
        already: Whether the tag was there with these very files, so that nothing was sent.
    """

    repo: str
    tag: str
    commit: str
    recognised: bool
    already: bool = False


def publish(
    change: Change,
    api: HfApi,
    *,
    check: Callable[[Remote], None] = lambda remote: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Applied:
    """Commit a change and tag the commit.

    A commit that was applied although an error came back, or before an earlier run was cut, is recognised by
    its tree; so is a tag, and then there is nothing to do.

    Args:
        change: What to publish.
        api: The Hub's client.
        check: Refuses a repository by what it holds, before anything is sent.
        sleep: Waits the given seconds before a request is repeated.

    Raises:
        Refused: The repository has moved on, or the tag exists with other files.
        RemoteError: The token may not write, or the Hub refused, failed, or was not reachable.
    """
    hide_bars_off_terminals()
    remote = read_remote(api, change.repo)
    check(remote)
    if change.tag in remote.tags:
        commit = _tagged_alike(change, api, remote.tags[change.tag])
        return Applied(change.repo, change.tag, commit, recognised=True, already=True)
    check_token(api, change.repo)
    if remote.head is not None and not differences(change.wanted, remote.files):
        commit, recognised = remote.head, True
    else:
        commit, recognised = _commit(change, api, _parent(change, remote, api), sleep)
    with _moved(change, commit):
        wrong = differences(change.wanted, read_tree(api, change.repo, commit))
    if wrong:
        message = (
            f"{change.repo}: main has moved to {commit}, which differs from the plan and was not tagged:\n"
            f"{listed(wrong)}"
        )
        back = command("rollback", "--repo", change.repo, "--to", "TAG")
        hint = f"Make a new plan; or bring an earlier version back: {back}"
        raise RemoteError(message, hint=hint)
    with _moved(change, commit):
        commit = _tag(change, api, commit, sleep)
    return Applied(change.repo, change.tag, commit, recognised)


def _tagged_alike(change: Change, api: HfApi, commit: str) -> str:
    """Return the commit that a tag of the change's name stands at, if it holds the wanted files.

    Raises:
        Refused: It holds others.
    """
    wrong = differences(change.wanted, read_tree(api, change.repo, commit))
    if wrong:
        message = (
            f"{change.repo} already has the tag {change.tag} with other files, at {commit}:\n{listed(wrong)}"
        )
        raise Refused(message, hint="Plan a higher version.")
    return commit


@contextmanager
def _moved(change: Change, commit: str) -> Iterator[None]:
    """Make every error say that `main` has moved, since what went wrong came after that."""
    where = f"{change.repo}: main has moved to {commit}, and the release is not finished"
    try:
        yield
    except MtebDeError as error:
        hint = error.hint if isinstance(error, Refused) else f"{error.hint} {_AGAIN}".strip()
        raise type(error)(f"{where}: {error.message}", hint=hint) from error
    except Exception as error:
        raise RemoteError(f"{where}: {type(error).__name__}: {error!s:.300}", hint=_AGAIN) from error


def _parent(change: Change, remote: Remote, api: HfApi) -> str:
    """Return the commit to build on; makes the repository where none is expected."""
    if change.parent is not None and remote.head == change.parent:
        return change.parent
    if change.parent is not None or remote.files:
        raise _stale(change, remote)
    if remote.head is not None:
        return remote.head  # made by an earlier run that was cut before its commit: it holds nothing yet
    return _created(change, api)


def _created(change: Change, api: HfApi) -> str:
    """Make the repository and return its first commit; one that somebody else has just made will do."""
    from huggingface_hub.errors import HfHubHTTPError

    refused: HfHubHTTPError | None = None
    with hub_errors(f"creating {change.repo}"):
        try:
            api.create_repo(change.repo, repo_type="dataset", private=change.private)
        except HfHubHTTPError as error:
            if error.response.status_code != 409:
                raise
            refused = error
    created = read_remote(api, change.repo)
    if created.head is None:
        message = f"{change.repo} {'is there' if refused else 'was made'}, but the token may not see it"
        raise RemoteError(message, hint="Use a token that may read and write it.") from refused
    if created.files or (refused and created.private != change.private):
        raise _stale(change, created) from refused
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
            doing = f"committing to {change.repo}, whose main is still at {parent}"
            _wait_or_raise(error, doing, attempt, sleep, _CONFLICTS)
        else:
            return made.oid, False
    raise AssertionError("the last attempt returns or raises")


def _arrived(change: Change, api: HfApi, parent: str, error: Exception) -> str | None:
    """Return the head if it is the change although `error` came back, None if nothing has changed."""
    try:
        remote = read_remote(api, change.repo)
    except RemoteError as second:
        message = (
            f"{change.repo}: committing failed ({_reason(error)}), and whether main has moved is not known, "
            f"since the Hub cannot be read: {second.message}"
        )
        raise RemoteError(message, hint=_AGAIN) from error
    if remote.head is not None and not differences(change.wanted, remote.files):
        return remote.head
    if remote.head != parent:
        raise _stale(change, remote) from error
    return None


def _tag(change: Change, api: HfApi, commit: str, sleep: Callable[[float], None]) -> str:
    """Tag a commit, and return the commit that the tag is read back at: another run may have been faster."""
    doing = f"tagging it {change.tag}"
    for attempt in range(1, ATTEMPTS + 1):
        failed: Exception | None = None
        try:
            api.create_tag(change.repo, tag=change.tag, revision=commit, repo_type="dataset")
        except Exception as error:
            failed = error
        try:
            there = read_tags(api, change.repo).get(change.tag)
        except RemoteError as error:
            first = f" failed ({_reason(failed)}), and" if failed else ":"
            message = f"{doing}{first} whether the tag is there is not known: {error.message}"
            raise RemoteError(message, hint=error.hint) from failed or error
        if there is not None:
            return commit if there == commit else _tagged_alike(change, api, there)
        if failed is not None:
            _wait_or_raise(failed, doing, attempt, sleep, _CONFLICTS | _BUSY)
        else:
            sleep(_PAUSE)
    raise RemoteError(f"{doing}: the Hub said that it did, and does not list the tag")


def _wait_or_raise(
    error: Exception, doing: str, attempt: int, sleep: Callable[[float], None], worth_another: frozenset[int]
) -> None:
    """Wait where another attempt may help.

    Args:
        error: Of this attempt, which had no effect.
        doing: What was being done.
        attempt: Its number, from 1.
        sleep: Waits the given seconds.
        worth_another: Statuses after which it is tried again, beside a rate limit; 0 for no answer at all.
    """
    seconds = _pause(error, worth_another)
    if attempt < ATTEMPTS and seconds is not None:
        sleep(seconds)
        return
    known = explain(error, doing)
    if known is None:
        raise error
    raise known from error


def _pause(error: Exception, worth_another: frozenset[int]) -> float | None:
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    if isinstance(error, HfHubHTTPError):
        status = error.response.status_code
        if status == 429:
            seconds = wait_seconds(error.response.headers)
            return seconds if seconds <= LONGEST_WAIT else None
        return _PAUSE if status in worth_another else None
    return _PAUSE if isinstance(error, httpx2.TransportError) and 0 in worth_another else None


def _reason(error: Exception) -> str:
    known = explain(error, "")
    return known.message.removeprefix(": ") if known else f"{type(error).__name__}: {error!s:.300}"

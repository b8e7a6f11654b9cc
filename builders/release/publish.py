"""Publishing a rehearsed plan: one commit and one tag, never sent twice without looking."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders import files
from builders.errors import MtebDeError, Refused, RemoteError, StorageError
from builders.files import FileIds
from builders.hub import (
    HUB,
    LONGEST_WAIT,
    Api,
    client,
    explain,
    hub_errors,
    is_loopback,
    reason,
    wait_seconds,
)
from builders.printable import listed
from builders.release.plan import (
    Plan,
    check_bytes,
    check_visibility,
    command,
    read_plan,
    read_receipt,
    receipt_path,
)
from builders.release.tree import Remote, differences, read_files, read_remote, read_tags

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, CommitOperationCopy, CommitOperationDelete

    Operations = Sequence[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete]

_ATTEMPTS = 3
_PAUSE = 2.0
_CONFLICTS = frozenset({409, 412})
_BUSY = frozenset({0, 500, 502, 503, 504})
_AGAIN = "Run the same command again: it looks at what has arrived."


@dataclass(frozen=True, slots=True)
class Change:
    """One commit and one tag that shall be published.

    Attributes:
        parent: The commit that must still be the head; None where there must be no repository yet.
        private: Whether the repository has to be private; one that has to be made becomes so.
        wanted: All files of the tag by path.
        operations: Function that makes the operations of the commit, called anew for each attempt.
    """

    repo: str
    tag: str
    message: str
    parent: str | None
    private: bool
    wanted: Mapping[str, FileIds]
    operations: Callable[[], Operations]


@dataclass(frozen=True, slots=True)
class Applied:
    """A release that is published; `already` where its tag held these very files, and nothing was sent."""

    repo: str
    tag: str
    commit: str
    already: bool = False


def apply(
    out: Path,
    release: str,
    *,
    api: Api | None = None,
    ask: Callable[[Plan], None] = lambda plan: None,
    sleep: Callable[[float], None] = time.sleep,
) -> Applied:
    """Publish a plan that has been rehearsed; running it again is safe.

    Nobody builds or plans in the folder meanwhile. `ask` raises where somebody does not want this plan
    published, before anything is read from the Hub; `sleep` waits the seconds until a request is repeated.

    Raises:
        Refused: A gate is shut, or the build is not from the real upstreams.
    """
    read_plan(out, release)  # a folder without one is not made
    with files.exclusive(out):
        plan = read_plan(out, release)
        check_receipt(out, release, plan)
        api = api or client()
        if plan.gates:
            message = f"{release} has shut gates:\n" + "\n".join(plan.gates)
            raise Refused(message, hint="Mend the cause, or waive it in the config; then build again.")
        if plan.stand_ins and not is_loopback(api.endpoint):
            reasons = "\n".join(plan.stand_ins)
            message = f"this build may be rehearsed, but not published at {api.endpoint}:\n{reasons}"
            raise Refused(message, hint="Build from the real upstreams with the pinned encoder.")
        ask(plan)
        return push(plan, out / release, api, sleep=sleep)


def check_receipt(out: Path, release: str, plan: Plan) -> None:
    """Refuse a plan without a receipt of its own."""
    rehearse, path = command("rehearse", release, out=out), receipt_path(out, release)
    try:
        receipt = read_receipt(out, release)
    except StorageError as error:
        message = f"the plan of {release} {plan.version} has no receipt: {error.message}"
        raise Refused(message, hint=f"Rehearse it first: {rehearse}") from error
    fault = ""
    if receipt.plan != plan.seal:
        fault = f"{path} is of another plan ({receipt.plan}, now {plan.seal})"
    elif receipt.files != {file.path: file.sha256 for file in plan.files}:
        fault = f"{path} does not cover the files of the plan"
    if fault:
        raise Refused(fault, hint=f"Rehearse the plan again: {rehearse}")


def push(plan: Plan, folder: Path, api: Api, *, sleep: Callable[[float], None] = time.sleep) -> Applied:
    """Commit the files of a plan in its folder and tag the commit; `apply` and the rehearsal both do it.

    A private copy is sent, made of the bytes that were compared with the plan.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    with tempfile.TemporaryDirectory(prefix="mteb-de-upload-") as copy:
        check_bytes(plan, folder, Path(copy))
        change = Change(
            repo=plan.repo,
            tag=plan.tag,
            message=plan.message,
            parent=plan.parent,
            private=plan.private,
            wanted=plan.wanted,
            operations=lambda: [
                *(CommitOperationAdd(file.path, str(Path(copy, file.path))) for file in plan.files),
                *(CommitOperationDelete(path, is_folder=False) for path in plan.delete),
            ],
        )
        return publish(change, api, sleep=sleep)


def publish(change: Change, api: Api, *, sleep: Callable[[float], None] = time.sleep) -> Applied:
    """Commit a change and tag the commit.

    A commit that was applied although an error came back, or before an earlier run was cut, is recognised by
    its tree; so is a tag, and then there is nothing to do.
    """
    return _Publication(change, api, sleep).run()


@dataclass(frozen=True, slots=True)
class _Publication:
    change: Change
    api: Api
    sleep: Callable[[float], None]

    def run(self) -> Applied:
        repo, tag, wanted = self.change.repo, self.change.tag, self.change.wanted
        remote = read_remote(self.api, repo)
        check_visibility(repo, self.change.private, remote)
        if tag in remote.tags:
            return Applied(repo, tag, self._tagged_alike(remote.tags[tag]), already=True)
        _check_token(self.api, repo)
        if remote.head is not None and not differences(wanted, remote.files):
            commit = remote.head
        else:
            commit = self._commit(self._parent(remote))
        with self._moved(commit):
            wrong = differences(wanted, read_files(self.api, repo, commit))
        if wrong:
            moved = f"{repo}: main has moved to {commit}, which differs from the plan and was not tagged"
            back = command("rollback", "--repo", repo, "--to", "TAG")
            hint = f"Make a new plan; or bring an earlier version back: {back}"
            raise RemoteError(f"{moved}:\n{listed(wrong)}", hint=hint)
        with self._moved(commit):
            return Applied(repo, tag, self._tag(commit))

    def _tagged_alike(self, commit: str) -> str:
        """Return the commit that a tag of the change's name stands at, if it holds the wanted files."""
        wrong = differences(self.change.wanted, read_files(self.api, self.change.repo, commit))
        if wrong:
            there = f"{self.change.repo} already has the tag {self.change.tag} with other files, at {commit}"
            raise Refused(f"{there}:\n{listed(wrong)}", hint="Plan a higher version.")
        return commit

    @contextmanager
    def _moved(self, commit: str) -> Iterator[None]:
        """Make every error say that `main` has moved, since what went wrong came after that."""
        where = f"{self.change.repo}: main has moved to {commit}, and the release is not finished"
        try:
            yield
        except MtebDeError as error:
            hint = error.hint if isinstance(error, Refused) else f"{error.hint} {_AGAIN}".strip()
            raise type(error)(f"{where}: {error.message}", hint=hint) from error
        except Exception as error:
            raise RemoteError(f"{where}: {reason(error)}", hint=_AGAIN) from error

    def _parent(self, remote: Remote) -> str:
        """Return the commit to build on; makes the repository where none is expected."""
        planned = self.change.parent
        if planned is not None and remote.head == planned:
            return planned
        if planned is not None or remote.files:
            raise self._stale(remote)
        # one made by an earlier run that was cut before its commit holds nothing yet
        return remote.head or self._created()

    def _created(self) -> str:
        """Make the repository and return its first commit; one that somebody else has just made will do."""
        from huggingface_hub.errors import HfHubHTTPError

        repo, private = self.change.repo, self.change.private
        with hub_errors(f"creating {repo}"):
            try:
                self.api.create_repo(repo, repo_type="dataset", private=private)
            except HfHubHTTPError as error:
                if error.response.status_code != 409:
                    raise
        created = read_remote(self.api, repo)
        if created.head is None:
            message = f"{repo} is there, but the token may not see it"
            raise RemoteError(message, hint="Use a token that may read and write it.")
        if created.files or created.private != private:
            raise self._stale(created)
        return created.head

    def _stale(self, remote: Remote) -> Refused:
        planned = self.change.parent or "no repository"
        moved = f"planned on {planned}, now {remote.head}"
        message = f"{self.change.repo} has changed since the plan was made: {moved}"
        return Refused(message, hint="Make a new plan and rehearse it.")

    def _commit(self, parent: str) -> str:
        """Return the id of the commit, which may have arrived although an error came back."""
        doing = f"committing to {self.change.repo}, whose main is still at {parent}"
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self.api.create_commit(
                    self.change.repo,
                    self.change.operations(),
                    commit_message=self.change.message,
                    repo_type="dataset",
                    parent_commit=parent,
                ).oid
            except Exception as error:
                arrived = self._arrived(parent, error)
                if arrived is not None:
                    return arrived
                self._wait_or_raise(error, doing, attempt, _CONFLICTS)
        raise AssertionError("the last attempt returns or raises")

    def _arrived(self, parent: str, error: Exception) -> str | None:
        """Return the head if it is the change although `error` came back, None if nothing has changed."""
        repo = self.change.repo
        try:
            remote = read_remote(self.api, repo)
        except RemoteError as second:
            unknown = f"whether main has moved is not known, since the Hub cannot be read: {second.message}"
            message = f"{repo}: committing failed ({_reason(error)}), and {unknown}"
            raise RemoteError(message, hint=_AGAIN) from error
        if remote.head is not None and not differences(self.change.wanted, remote.files):
            return remote.head
        if remote.head != parent:
            raise self._stale(remote) from error
        return None

    def _tag(self, commit: str) -> str:
        """Tag a commit, and return the commit that the tag is read back at: another run may be faster."""
        repo, tag = self.change.repo, self.change.tag
        doing = f"tagging it {tag}"
        for attempt in range(1, _ATTEMPTS + 1):
            failed: Exception | None = None
            try:
                self.api.create_tag(repo, tag=tag, revision=commit, repo_type="dataset")
            except Exception as error:
                failed = error
            try:
                there = read_tags(self.api, repo).get(tag)
            except RemoteError as error:
                first = f" failed ({_reason(failed)}), and" if failed else ":"
                message = f"{doing}{first} whether the tag is there is not known: {error.message}"
                raise RemoteError(message, hint=error.hint) from failed or error
            if there is not None:
                return commit if there == commit else self._tagged_alike(there)
            if failed is not None:
                self._wait_or_raise(failed, doing, attempt, _CONFLICTS | _BUSY)
            else:
                self.sleep(_PAUSE)
        raise RemoteError(f"{doing}: the Hub said that it did, and does not list the tag")

    def _wait_or_raise(self, error: Exception, doing: str, attempt: int, worth: frozenset[int]) -> None:
        """Wait where another attempt may help: after a rate limit, or a status worth one (0: no answer)."""
        import httpx2
        from huggingface_hub.errors import HfHubHTTPError

        status = 0 if isinstance(error, httpx2.TransportError) else None
        seconds: float = _PAUSE
        if isinstance(error, HfHubHTTPError):
            status = error.response.status_code
            seconds = wait_seconds(error.response.headers) if status == 429 else _PAUSE
        if attempt < _ATTEMPTS and status in {*worth, 429} and seconds <= LONGEST_WAIT:
            self.sleep(seconds)
            return
        with hub_errors(doing):
            raise error


def _check_token(api: Api, repo: str) -> None:
    """Refuse a token that only reads, or of no member of the owner; others are left to the Hub's 403."""
    owner = repo.partition("/")[0]
    with hub_errors("checking the token"):
        who = api.whoami()
        name = str(who["name"])
        role = who.get("auth", {}).get("accessToken", {}).get("role")
        members = {name, *(org["name"] for org in who.get("orgs", []) if org.get("roleInOrg") != "read")}
    if role == "read":
        hint = f"Use a token with the role write: {HUB}/settings/tokens."
        raise RemoteError(f"the token of {name:.96} may only read", hint=hint)
    if role == "write" and owner not in members:
        hint = f"Log in as {owner} or as one of its members who may write, or choose another --repo."
        raise RemoteError(f"the token of {name:.96} may write, but not for {owner}", hint=hint)


def _reason(error: Exception) -> str:
    known = explain(error, "")
    return known.message.removeprefix(": ") if known else reason(error)

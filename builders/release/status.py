"""Where a release stands: what the repository holds, and whether plan and receipt still fit it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from builders.errors import Refused, StorageError
from builders.hub import check_repo, client, is_loopback
from builders.printable import listed
from builders.release import versions
from builders.release.apply import check_receipt
from builders.release.commands import command, plan_command
from builders.release.local import changes, check_bytes
from builders.release.model import Plan, Remote, differences, plan_path, read_plan_and_digest
from builders.release.remote import read_remote, read_tree

if TYPE_CHECKING:
    from huggingface_hub import HfApi

State = Literal["none", "current", "rehearsed", "unfinished", "applied", "superseded", "rebuilt", "stale"]
_PLAN = frozenset({"none", "rebuilt", "stale"})
_APPLY = frozenset({"rehearsed", "unfinished"})


@dataclass(frozen=True, slots=True)
class Status:
    """Where a release stands.

    Attributes:
        repo: "OWNER/NAME".
        head: The commit of `main`; None where there is no repository, or the token may not see it.
        private: Whether it is private.
        gated: Whether its files are handed out only to those who were let in.
        versions: Commits by tag, the highest version first; other tags are left out.
        head_is: The tags of the head.
        state: Of the plan: "none"; "current", not rehearsed yet; "rehearsed"; "unfinished", committed but not
            tagged; "applied", published, and what `main` holds; "superseded", published, and `main` has moved
            on since; "rebuilt", published, and other rows were built since; "stale", it no longer fits.
        why: What the plan is, or why it no longer fits.
        gates: What `apply` would refuse.
        next: The command that comes next, whole. Where `apply` would refuse, what it refuses has to be mended
            and built before.
    """

    repo: str
    head: str | None
    private: bool
    gated: bool
    versions: dict[str, str]
    head_is: tuple[str, ...]
    state: State
    why: str
    gates: tuple[str, ...]
    next: str


def status(out: Path, release: str, repo: str, *, api: HfApi | None = None) -> Status:
    """Say where a release stands; reads only.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        repo: "OWNER/NAME".
        api: The Hub's client; by default with the client's own settings.

    Raises:
        UsageError: `repo` is no name of a repository.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    check_repo(repo)
    api = api or client()
    remote = read_remote(api, repo)
    numbered = sorted(filter(None, map(versions.of_tag, remote.tags)), reverse=True)
    state, why, gates = _plan_state(out, release, repo, remote, api)
    head_is = tuple(sorted(tag for tag, commit in remote.tags.items() if commit == remote.head))
    return Status(
        repo=repo,
        head=remote.head,
        private=remote.private,
        gated=remote.gated,
        versions={version.tag: remote.tags[version.tag] for version in numbered},
        head_is=head_is,
        state=state,
        why=why,
        gates=gates,
        next=_next(out, release, repo, state, head_is, gates),
    )


def _next(
    out: Path, release: str, repo: str, state: State, head_is: tuple[str, ...], gates: tuple[str, ...]
) -> str:
    if state in _APPLY and not gates:
        return command("apply", release, out=out)
    if state == "current":
        return command("rehearse", release, out=out)
    numbered = sorted(filter(None, map(versions.of_tag, head_is)))
    if state in _PLAN or state in _APPLY or not numbered:
        return plan_command(release, out, repo)
    return command("verify", f"{repo}@{numbered[-1].tag}")


def _plan_state(
    out: Path, release: str, repo: str, remote: Remote, api: HfApi
) -> tuple[State, str, tuple[str, ...]]:
    if not plan_path(out, release).exists():
        return "none", f"there is no plan in {out}", ()
    try:
        plan, digest = read_plan_and_digest(out, release)
        if plan.repo != repo:
            return "stale", f"the plan is for {plan.repo}", ()
        state, why = _against_remote(plan, remote, api)
        if state in {"current", "unfinished"}:
            check_bytes(plan, out / release)
        if state == "current":
            state, why = _rehearsed(out, release, plan, digest)
        elif state in {"applied", "superseded"}:
            state, why = _rebuilt(plan, out / release, state, why)
    except (StorageError, Refused) as error:
        return "stale", error.message, ()
    published = state in {"applied", "superseded", "rebuilt"}
    return state, f"{plan.tag}: {why}", () if published else _refused(plan, api)


def _refused(plan: Plan, api: HfApi) -> tuple[str, ...]:
    """Return what `apply` would refuse on this Hub: one on this machine takes stand-ins."""
    return plan.gates if is_loopback(api.endpoint) else (*plan.gates, *plan.stand_ins)


def _against_remote(plan: Plan, remote: Remote, api: HfApi) -> tuple[State, str]:
    wanted = {file.path: file for file in plan.files}
    if plan.tag in remote.tags:
        commit = remote.tags[plan.tag]
        tree = remote.files if commit == remote.head else read_tree(api, plan.repo, commit)
        if differences(wanted, tree):
            return "stale", "the repository has a tag of that name with other files"
        if commit == remote.head:
            return "applied", "published as planned"
        return "superseded", f"published as planned; {_main(plan.repo, remote, api)}"
    if remote.head is not None and not differences(wanted, remote.files):
        return "unfinished", "committed, but not tagged"
    if remote.head != plan.parent and (plan.parent is not None or remote.files):
        return "stale", f"planned on {plan.parent or 'no repository'}, the head is now {remote.head}"
    return "current", "not rehearsed yet"


def _main(repo: str, remote: Remote, api: HfApi) -> str:
    """Say what `main` holds: a version, and after a rollback the earlier one whose files these are."""
    numbered = sorted(filter(None, map(versions.of_tag, remote.tags)))
    here = [version.tag for version in numbered if remote.tags[version.tag] == remote.head]
    main = f"main is now {here[-1]}" if here else f"main is now {remote.head}, which no version names"
    for version in reversed(numbered):
        commit = remote.tags[version.tag]
        if commit != remote.head and not differences(read_tree(api, repo, commit), remote.files):
            return f"{main}, with the files of {version.tag}"
    return main


def _rebuilt(plan: Plan, folder: Path, state: State, why: str) -> tuple[State, str]:
    """Return the state of a published plan beside the tables that lie in its folder now."""
    if not folder.exists():
        return state, why
    found = changes(plan, folder, tables_only=True)  # a build leaves card and plots of an earlier plan alone
    if not found:
        return state, why
    return "rebuilt", f"{why}; {folder} holds other tables since:\n{listed(found)}"


def _rehearsed(out: Path, release: str, plan: Plan, digest: str) -> tuple[State, str]:
    try:
        check_receipt(out, release, plan, digest)
    except Refused as error:
        return "current", f"not rehearsed yet ({error.message})"
    return "rehearsed", "rehearsed, not published yet"

"""Where a release stands: what the repository holds, and whether plan and receipt still fit it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builders.errors import Refused, StorageError
from builders.files import reading
from builders.hub import Api, check_repo, client, is_loopback
from builders.printable import listed
from builders.release.plan import Plan, changes, check_bytes, check_visibility, command, plan_path, read_plan
from builders.release.publish import check_receipt
from builders.release.tree import Remote, differences, read_files, read_remote

_State = Literal["none", "current", "rehearsed", "unfinished", "applied", "superseded", "rebuilt", "stale"]
_PUBLISHED = frozenset({"applied", "superseded", "rebuilt"})


@dataclass(frozen=True, slots=True)
class Status:
    """Where a release stands; `head`, `private` and `gated` as of `Remote`.

    Attributes:
        versions: Commits by tag, the highest version first; other tags are left out.
        head_is: Tags of the head.
        state: Of the plan: "none"; "current", not rehearsed yet; "rehearsed"; "unfinished", committed but not
            tagged; "applied", published, and what `main` holds; "superseded", published, and `main` has moved
            on since; "rebuilt", published, and other rows were built since; "stale", it no longer fits.
        why: What the plan is, or why it no longer fits.
        gates: Findings that `apply` would refuse on this Hub: one on this machine takes stand-ins.
        next: The whole command that comes next; what `apply` would refuse has to be mended before.
    """

    repo: str
    head: str | None
    private: bool
    gated: bool
    versions: dict[str, str]
    head_is: tuple[str, ...]
    state: _State
    why: str
    gates: tuple[str, ...]
    next: str


def status(out: Path, release: str, repo: str, *, api: Api | None = None) -> Status:
    """Return where a release stands; reads only."""
    check_repo(repo)
    api = api or client()
    with reading(out):
        remote = read_remote(api, repo)
        state, why, gates = _plan_state(out, release, repo, remote, api)
    following = command("plan", release, "--repo", repo, out=out)
    if state == "current" or (state in {"rehearsed", "unfinished"} and not gates):
        following = command("rehearse" if state == "current" else "apply", release, out=out)
    elif state in {"applied", "superseded"} and (here := _version_of_head(remote)):
        following = command("verify", f"{repo}@{here}")
    return Status(
        repo=repo,
        head=remote.head,
        private=remote.private,
        gated=remote.gated,
        versions={version.tag: remote.tags[version.tag] for version in remote.versions},
        head_is=remote.head_is,
        state=state,
        why=why,
        gates=gates,
        next=following,
    )


def _plan_state(
    out: Path, release: str, repo: str, remote: Remote, api: Api
) -> tuple[_State, str, tuple[str, ...]]:
    if not plan_path(out, release).exists():
        return "none", f"there is no plan in {out}", ()
    folder = out / release
    try:
        plan = read_plan(out, release)
        if plan.repo != repo:
            return "stale", f"the plan is for {plan.repo}", ()
        state, why = _against_remote(plan, remote, api)
        if state in {"current", "unfinished"}:
            check_visibility(repo, plan.private, remote)
            check_bytes(plan, folder)
            try:
                check_receipt(out, release, plan)
            except Refused as error:
                state, why = "current", f"not rehearsed yet ({error.message})"
            else:
                if state == "current":
                    state, why = "rehearsed", "rehearsed, not published yet"
        # a build leaves card and plots of an earlier plan alone
        elif state in _PUBLISHED and folder.exists() and (found := changes(plan, folder, tables_only=True)):
            state, why = "rebuilt", f"{why}; {folder} holds other tables since:\n{listed(found)}"
    except (StorageError, Refused) as error:
        return "stale", error.message, ()
    return state, f"{plan.tag}: {why}", () if state in _PUBLISHED else _refused(plan, api)


def _refused(plan: Plan, api: Api) -> tuple[str, ...]:
    return plan.gates if is_loopback(api.endpoint) else (*plan.gates, *plan.stand_ins)


def _against_remote(plan: Plan, remote: Remote, api: Api) -> tuple[_State, str]:
    if plan.tag in remote.tags:
        commit = remote.tags[plan.tag]
        tree = remote.files if commit == remote.head else read_files(api, plan.repo, commit)
        if differences(plan.wanted, tree):
            return "stale", "the repository has a tag of that name with other files"
        if commit == remote.head:
            return "applied", "published as planned"
        return "superseded", f"published as planned; {_main(plan.repo, remote, api)}"
    if remote.head is not None and not differences(plan.wanted, remote.files):
        return "unfinished", "committed, but not tagged"
    if remote.head != plan.parent and (plan.parent is not None or remote.files):
        return "stale", f"planned on {plan.parent or 'no repository'}, the head is now {remote.head}"
    return "current", ""


def _main(repo: str, remote: Remote, api: Api) -> str:
    """Return what `main` holds: a version, and after a rollback the earlier one whose files these are."""
    main = f"main is now {_version_of_head(remote) or f'{remote.head}, which no version names'}"
    for version in remote.versions:
        commit = remote.tags[version.tag]
        if commit != remote.head and not differences(read_files(api, repo, commit), remote.files):
            return f"{main}, with the files of {version.tag}"
    return main


def _version_of_head(remote: Remote) -> str:
    return next((one.tag for one in remote.versions if one.tag in remote.head_is), "")

"""Where a release stands: what the repository holds, and whether plan and receipt still fit it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from builders.errors import Refused, StorageError
from builders.release import versions
from builders.release.apply import check_receipt
from builders.release.local import check_bytes
from builders.release.model import Plan, Remote, differences, plan_path, read_plan
from builders.release.remote import check_repo, hub_client, is_loopback, read_remote, read_tree

if TYPE_CHECKING:
    from huggingface_hub import HfApi

State = Literal["none", "current", "rehearsed", "unfinished", "applied", "stale"]
_APPLY = "mteb-de release apply"
_NEXT: dict[State, str] = {
    "none": "mteb-de release plan",
    "current": "mteb-de release rehearse",
    "rehearsed": _APPLY,
    "unfinished": _APPLY,
    "applied": "mteb-de release verify",
    "stale": "mteb-de release plan",
}


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
            tagged; "applied"; "stale", it no longer fits.
        why: What the plan is, or why it no longer fits.
        gates: What `apply` would refuse.
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

    @property
    def next(self) -> str:
        """The command that comes next; where `apply` would refuse, what has to be done before it."""
        if self.gates and _NEXT[self.state] == _APPLY:
            return "mend what apply would refuse, build again, and mteb-de release plan"
        return _NEXT[self.state]


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
    api = api or hub_client()
    remote = read_remote(api, repo)
    numbered = sorted(filter(None, map(versions.of_tag, remote.tags)), reverse=True)
    state, why, gates = _plan_state(out, release, repo, remote, api)
    return Status(
        repo=repo,
        head=remote.head,
        private=remote.private,
        gated=remote.gated,
        versions={version.tag: remote.tags[version.tag] for version in numbered},
        head_is=tuple(sorted(tag for tag, commit in remote.tags.items() if commit == remote.head)),
        state=state,
        why=why,
        gates=gates,
    )


def _plan_state(
    out: Path, release: str, repo: str, remote: Remote, api: HfApi
) -> tuple[State, str, tuple[str, ...]]:
    if not plan_path(out, release).exists():
        return "none", f"there is no plan in {out}", ()
    try:
        plan = read_plan(out, release)
        if plan.repo != repo:
            return "stale", f"the plan is for {plan.repo}", ()
        state, why = _against_remote(plan, remote, api)
        if state == "current":
            check_bytes(plan, out / release)
            state, why = _rehearsed(out, release, plan)
    except (StorageError, Refused) as error:
        return "stale", error.message, ()
    return state, f"{plan.tag}: {why}", () if state == "applied" else _refused(plan, api)


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
        return "applied", "published as planned"
    if remote.head is not None and not differences(wanted, remote.files):
        return "unfinished", "committed, but not tagged"
    if remote.head != plan.parent and (plan.parent is not None or remote.files):
        return "stale", f"planned on {plan.parent or 'no repository'}, the head is now {remote.head}"
    return "current", "not rehearsed yet"


def _rehearsed(out: Path, release: str, plan: Plan) -> tuple[State, str]:
    try:
        check_receipt(out, release, plan)
    except Refused as error:
        return "current", f"not rehearsed yet ({error.message})"
    return "rehearsed", "rehearsed, not published yet"

"""Going back to an earlier version: one forward commit that restores its files, under a tag of its own.

Card and Croissant come back too, and keep naming the earlier version, whose tag stays as all others do.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from builders.describe.target import parse_version
from builders.errors import Refused, UsageError
from builders.hub import Api, check_repo, client
from builders.release.diff import Bump, compare_trees, least_after
from builders.release.publish import Applied, Change, publish
from builders.release.tree import read_files, read_remote, remote_tree, same_bytes


@dataclass(frozen=True, slots=True)
class _Rollback:
    """The change that restores and deletes files of `main`, and the bump since the highest version."""

    change: Change
    latest: str
    bump: Bump
    restore: tuple[str, ...]
    delete: tuple[str, ...]


def plan_rollback(repo: str, to: str, *, version: str | None = None, api: Api | None = None) -> _Rollback:
    """Return what going back to a tag would change; reads only.

    The version of the restored files is by default the least that may follow the highest one.

    Raises:
        UsageError: There is no such repository or tag.
        Refused: `main` is that tag already, or `version` is too low.
    """
    from huggingface_hub import CommitOperationCopy, CommitOperationDelete

    check_repo(repo)
    api = api or client()
    remote = read_remote(api, repo)
    latest = remote.latest
    if remote.head is None or to not in remote.tags or latest is None:
        known = ", ".join(sorted(remote.tags)) or "none"
        raise UsageError(f"{repo} has no version {to!r} to go back to", hint=f"Tags there: {known}.")
    commit, there = remote.tags[to], remote.files
    wanted = read_files(api, repo, commit)
    restore = sorted(
        path for path in wanted if path not in there or not same_bytes(wanted[path], there[path])
    )
    delete = sorted(there.keys() - wanted.keys())
    if remote.head_is and not restore and not delete:
        message = f"{repo}: main holds the files of {to} already, as {', '.join(remote.head_is)}"
        raise Refused(message, hint="There is nothing to go back to.")
    with tempfile.TemporaryDirectory(prefix="mteb-de-rollback-") as folder:
        trees = [remote_tree(api, repo, remote, remote.tags[tag], Path(folder)) for tag in (latest.tag, to)]
        bump = compare_trees(*trees, differing=False, unknown=True).bump
    least = least_after(latest, bump)
    following = parse_version(version) if version else least
    if following < least:
        hint = f"Choose --version {least} or higher."
        raise Refused(f"version {version} is below {least}: going back is a {bump} change", hint=hint)
    change = Change(
        repo=repo,
        tag=following.tag,
        message=f"Go back to {to} as {following}",
        parent=remote.head,
        private=False,
        wanted=wanted,
        operations=lambda: [
            *(CommitOperationCopy(path, path, src_revision=commit) for path in restore),
            *(CommitOperationDelete(path, is_folder=False) for path in delete),
        ],
    )
    return _Rollback(change, str(latest), bump, tuple(restore), tuple(delete))


def rollback(
    planned: _Rollback, *, api: Api | None = None, sleep: Callable[[float], None] = time.sleep
) -> Applied:
    """Go back as planned, with one commit and one tag. Planning and running it again is safe."""
    return publish(planned.change, api or client(), sleep=sleep)

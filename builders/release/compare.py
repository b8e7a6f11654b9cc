"""Comparing what was built with what is published, and the versions that may follow."""

from __future__ import annotations

import datetime
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders import describe
from builders.describe.target import Target
from builders.errors import Refused
from builders.hub import check_repo, client
from builders.lock.beside import citations_path, read_citations
from builders.lock.committed import FOLDER
from builders.lock.lock import locks_of
from builders.printable import listed
from builders.release import versions
from builders.release.diff import Difference, Split, difference, uncertain
from builders.release.local import check_tree
from builders.release.model import Remote
from builders.release.published import By, Side, built, nothing, published, revision_of
from builders.release.remote import hide_bars_off_terminals, read_remote
from builders.release.rows import row_changes
from builders.spec import RELEASES

if TYPE_CHECKING:
    from huggingface_hub import HfApi

REASONS = 5
"""How many reasons of a bump are shown."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was built, held against what is published.

    Attributes:
        repo: "OWNER/NAME".
        revision: The tag that was compared with, "main" where there is no version yet, "" where there is
            nothing at all.
        commit: Its full id, "" where there is nothing.
        by: What the published side was known by.
        release: Whose manifest is published there; "" where there is none of ours.
        latest: The highest published version, "" where there is none.
        least: The lowest version that may follow; "" where `revision` is not the latest version, since the
            difference does not tell it then.
        difference: All that differs.
    """

    repo: str
    revision: str
    commit: str
    by: By
    release: str
    latest: str
    least: str
    difference: Difference


def diff(
    out: Path,
    release: str,
    repo: str,
    *,
    revision: str | None = None,
    beside: Path = FOLDER,
    api: HfApi | None = None,
) -> Comparison:
    """Compare a built release with the published one, row by row where their contents differ.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        repo: "OWNER/NAME".
        revision: A tag, or "main"; by default the highest version, else "main".
        beside: Folder of the citations.
        api: The Hub's client; by default with the client's own settings.

    Raises:
        UsageError: There is no such release or tag, or `repo` is no name of a repository.
        StorageError: Nothing was built, or a file cannot be read.
        Refused: The tree differs from its locks.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    check_repo(repo)
    check_tree(out, release)
    api = api or client()
    remote = read_remote(api, repo)
    return compare(out, release, repo, remote, api, revision=revision, rows=True, beside=beside)


def compare(
    out: Path,
    release: str,
    repo: str,
    remote: Remote,
    api: HfApi,
    *,
    revision: str | None = None,
    rows: bool = False,
    changelog: str = "",
    beside: Path = FOLDER,
) -> Comparison:
    """Compare a built release with a published one.

    Card and Croissant are compared as they would be for the published version and date, since a new version
    alone changes both.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        repo: "OWNER/NAME".
        remote: What it holds.
        api: The Hub's client.
        revision: A tag, or "main"; by default the highest version, else "main".
        rows: Whether to read the rows of splits whose content is known to differ. Those whose content is not
            known are read where a version depends on it, too.
        changelog: As for `make_plan`.
        beside: Folder of the citations.

    Raises:
        UsageError: There is no such tag.
        StorageError: A file cannot be read.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    hide_bars_off_terminals()
    latest = versions.latest(remote.tags)
    base = revision or (latest.tag if latest else "main" if remote.head else "")
    commit = revision_of(repo, remote, base) if base else ""
    with tempfile.TemporaryDirectory(prefix="mteb-de-diff-") as folder:
        before = published(api, repo, remote, commit, Path(folder)) if commit else nothing()
        version = versions.of_tag(f"v{before.version}") or versions.FIRST
        target = Target(repo, str(version), before.date or datetime.date.min, remote.private)
        locks = [lock for _, lock in sorted(locks_of(out, release).items())]
        citations = {lock.config: read_citations(citations_path(beside, lock.config)) for lock in locks}
        rendered = describe.render(RELEASES[release], locks, target, changelog=changelog, citations=citations)
        after = built(out / release, rendered)
        found = compare_sides(before, after, differing=rows, unknown=rows or latest is not None)
    return Comparison(
        repo=repo,
        revision=base,
        commit=commit,
        by=before.by,
        release=before.release,
        latest=str(latest or ""),
        least=str(versions.least(latest, found.bump)) if latest is None or base == latest.tag else "",
        difference=found,
    )


def compare_sides(before: Side, after: Side, *, differing: bool, unknown: bool) -> Difference:
    """Compare two sides by what is known of them, and by their rows where that is asked for.

    Args:
        before: The published one.
        after: The new one.
        differing: Whether to read splits whose content is known to differ.
        unknown: Whether to read splits whose content is not known.

    Raises:
        StorageError: A file cannot be read.
        RemoteError: The Hub refused, failed, or was not reachable.
    """

    def wanted(split: Split) -> bool:
        known = before.tables[split].content and after.tables[split].content
        return differing if known else unknown

    found = {
        split: row_changes(before.frame(split), after.frame(split))
        for split in uncertain(before.tables, after.tables)
        if wanted(split)
    }
    return difference(before.tables, after.tables, found, before.files, after.files)


def next_version(
    out: Path, release: str, repo: str, *, beside: Path = FOLDER, api: HfApi | None = None
) -> str:
    """Return the lowest version under which a built release may be published.

    Raises:
        Refused: Nothing has changed since the latest version: publishing that again must be asked for.
        UsageError: `repo` is no name of a repository.
        StorageError: Nothing was built, or a file cannot be read.
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    check_repo(repo)
    check_tree(out, release)
    api = api or client()
    comparison = compare(out, release, repo, read_remote(api, repo), api, beside=beside)
    if comparison.latest and comparison.difference.bump == "none":
        message = f"{release}: nothing has changed since {comparison.latest} of {repo}"
        raise Refused(
            message, hint=f"There is nothing to publish; --version {comparison.least} does so again."
        )
    return comparison.least


def check_version(target: Target, comparison: Comparison) -> None:
    """Hold a version against what has changed.

    Args:
        target: What shall be published.
        comparison: Of the build with the latest version.

    Raises:
        Refused: The version is too low.
    """
    version, least = versions.of_tag(target.tag), versions.of_tag(f"v{comparison.least}")
    assert version is not None and least is not None
    if version >= least:
        return
    message = f"version {version} is below {least}, "
    if versions.of_tag(f"v{comparison.latest}") is None or least == versions.FIRST:
        raise Refused(f"{message}the first one", hint=f"Choose --version {least} or higher.")
    found = comparison.difference
    raise Refused(
        f"{message}the least after {comparison.latest} of {target.repo} ({found.bump}):\n"
        + listed(found.reasons or ["nothing has changed"], REASONS),
        hint=f"Choose --version {least} or higher; mteb-de release diff shows the rows.",
    )

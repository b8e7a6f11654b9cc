"""The plan of a release: what would be committed and tagged, checked against what was built and published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from builders import describe, files
from builders.describe.target import Target
from builders.errors import Refused
from builders.hub import client
from builders.lock.beside import Citations, citations_path, read_citations
from builders.lock.committed import FOLDER, stand_ins
from builders.lock.lock import Lock, locks_of
from builders.plots.svg import is_plot
from builders.printable import shortened
from builders.release.compare import Comparison, check_version, compare
from builders.release.local import check_tree, file_digests, published_paths
from builders.release.model import Plan, PlannedFile, Remote, plan_path, receipt_path, same_bytes
from builders.release.remote import read_remote
from builders.spec import RELEASES

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def make_plan(
    out: Path,
    release: str,
    target: Target,
    *,
    changelog: str = "",
    beside: Path = FOLDER,
    api: HfApi | None = None,
) -> Plan:
    """Check a built release, render its card and Croissant for the target, and write plan.json.

    Changes the folder of the release and nothing remote.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        target: Repository, version and date. For a repository that is private the release is, too.
        changelog: What changed, as Markdown, for the card.
        beside: Folder of the citations.
        api: The Hub's client; by default with the client's own settings.

    Raises:
        UsageError: There is no such release.
        Busy: A build holds the folder.
        StorageError: Nothing was built, or a file cannot be read or written.
        Refused: The tree differs from its locks, a licence is not admitted, the version is below what the
            changes since the latest one ask for, the repository holds another release, or it is public and
            the target private.
        RemoteError: The repository cannot be read.
    """
    with files.exclusive(out):
        files.sweep(out / release)
        return _make_plan(out, release, target, changelog, beside, api or client())


def _make_plan(out: Path, release: str, target: Target, changelog: str, beside: Path, api: HfApi) -> Plan:
    check_tree(out, release)
    remote = read_remote(api, target.repo)
    target = replace(target, private=target.private or remote.private)
    comparison = compare(out, release, target.repo, remote, api, changelog=changelog, beside=beside)
    _check_target(release, target, remote, comparison)
    locks = [lock for _, lock in sorted(locks_of(out, release).items())]
    folder = out / release
    citations = {lock.config: read_citations(citations_path(beside, lock.config)) for lock in locks}
    rendered = describe.render(RELEASES[release], locks, target, changelog=changelog, citations=citations)
    published = {file.path for lock in locks for file in lock.files} | rendered.keys() | {"manifest.json"}
    for stale in filter(is_plot, published_paths(folder) - published):
        files.remove(folder / stale)  # of an earlier plan, which had something else to show
    _refuse_unknown(folder, published)
    _refuse_links(folder, published)
    for path in (receipt_path(out, release), plan_path(out, release)):
        files.remove(path)
    for name, data in rendered.items():
        files.write_bytes(folder / name, data)
    plan = Plan(
        release=release,
        repo=target.repo,
        version=target.version,
        tag=target.tag,
        date=target.date,
        private=target.private,
        parent=remote.head,
        message=f"{release} {target.version}",
        base=comparison.revision if comparison.latest else "",
        bump=comparison.difference.bump,
        reasons=comparison.difference.reasons,
        files=tuple(_planned(folder, path, remote) for path in sorted(published)),
        delete=tuple(sorted(remote.files.keys() - published)),
        gates=tuple(_gates(locks)),
        stand_ins=tuple(reason for lock in locks for reason in stand_ins(lock)),
        citations={
            config: files.sha256(path)
            for config in citations
            if (path := citations_path(beside, config)).exists()
        },
        uncited=tuple(_uncited(locks, citations)),
    )
    files.write_json(plan_path(out, release), plan.model_dump(mode="json"))
    return plan


def check_visibility(repo: str, private: bool, remote: Remote) -> None:
    """Keep a release that shall be private out of a public repository.

    Raises:
        Refused: The repository exists and is public.
    """
    if private and remote.head is not None and not remote.private:
        message = f"{repo} is public, and the release shall be private"
        raise Refused(message, hint="Make the repository private first, or plan without --private.")


def _check_target(release: str, target: Target, remote: Remote, comparison: Comparison) -> None:
    if target.tag in remote.tags:
        raise Refused(f"{target.repo} already has the tag {target.tag}", hint="Choose a higher --version.")
    if comparison.release not in {"", release}:
        message = f"{target.repo} holds the release {comparison.release}, and this is {release}"
        raise Refused(message, hint="Choose the repository of this release.")
    check_version(target, comparison)
    check_visibility(target.repo, target.private, remote)


def _refuse_unknown(folder: Path, published: set[str]) -> None:
    unknown = sorted(published_paths(folder) - published)
    if unknown:
        message = f"{folder} holds files that this release does not publish: {', '.join(shortened(unknown))}"
        raise Refused(message, hint="Remove them, and make the plan again.")


def _refuse_links(folder: Path, published: set[str]) -> None:
    links = sorted(path for path in published if (folder / path).is_symlink())
    if links:
        message = f"{folder} holds links in place of files: {', '.join(shortened(links))}"
        raise Refused(message, hint="Build again, or put the files there.")


def _planned(folder: Path, path: str, remote: Remote) -> PlannedFile:
    ids = file_digests(folder / path)
    file = PlannedFile(
        path=path,
        size=ids.size,
        sha256=ids.sha256,
        oid=ids.oid,
        lfs=path.endswith(".parquet"),
        change="added",
    )
    there = remote.files.get(path)
    if there is None:
        return file
    change: Literal["unchanged", "changed"] = "unchanged" if same_bytes(there, file) else "changed"
    return file.model_copy(update={"change": change})


def _gates(locks: list[Lock]) -> Iterator[str]:
    for lock in locks:
        for finding in lock.findings:
            if finding.severity == "gate" and not finding.waived:
                yield f"{lock.config}: {finding.code}: {finding.message}"


def _uncited(locks: list[Lock], citations: Mapping[str, Citations]) -> Iterator[str]:
    """Yield what is committed beside a config and was measured on other rows."""
    for lock in locks:
        found, cited = citations[lock.config], citations[lock.config].of_rows(lock.rows_id)
        if found.audit and not cited.audit:
            yield f"{lock.config}: the audit is of other rows, and is left out: audit the build"
        if len(found.scores) > len(cited.scores):
            yield f"{lock.config}: scores are of other rows, and are left out: run mteb-de eval --cite again"

"""The plan of a release: what would be committed and tagged, checked against what was built and published."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from builders import checks, describe, files
from builders.checks.model import Severity
from builders.describe.target import Target
from builders.errors import Refused, StorageError
from builders.lock.committed import stand_ins
from builders.lock.manifest import locks_of
from builders.lock.model import Lock
from builders.release.model import Plan, PlannedFile, Remote, plan_path, receipt_path
from builders.release.remote import read_remote
from builders.spec import RELEASES

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_TAG = re.compile(r"v(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_CHUNK = 1 << 20


def make_plan(
    out: Path, release: str, target: Target, *, changelog: str = "", api: HfApi | None = None
) -> Plan:
    """Check a built release, render its card and Croissant for the target, and write plan.json.

    Changes the folder of the release and nothing remote.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        target: Repository, version and date.
        changelog: What changed, as Markdown, for the card.
        api: The Hub's client; by default with the client's own settings.

    Raises:
        UsageError: There is no such release.
        StorageError: Nothing was built, or a file cannot be read or written.
        Refused: The tree differs from its locks, a licence is not admitted, the version is not above the
            published ones, or the repository is public and the target private.
        RemoteError: The repository cannot be read.
    """
    _check_tree(out, release)
    if api is None:
        from huggingface_hub import HfApi

        api = HfApi()
    remote = read_remote(api, target.repo)
    _check_target(target, remote)
    locks = [lock for _, lock in sorted(locks_of(out, release).items())]
    folder = out / release
    rendered = describe.render(RELEASES[release], locks, target, changelog=changelog)
    published = {file.path for lock in locks for file in lock.files} | rendered.keys() | {"manifest.json"}
    _refuse_unknown(folder, published)
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
        files=tuple(_planned(folder, path, remote) for path in sorted(published)),
        delete=tuple(sorted(remote.files.keys() - published)),
        gates=tuple(_gates(locks)),
        stand_ins=tuple(reason for lock in locks for reason in stand_ins(lock)),
    )
    files.write_json(plan_path(out, release), plan.model_dump(mode="json"))
    return plan


def check_bytes(plan: Plan, folder: Path) -> None:
    """Hold a folder against the plan that was made of it.

    Raises:
        Refused: A file was changed, removed or added since.
        StorageError: A file cannot be read.
    """
    wanted = {file.path: file for file in plan.files}
    found = published_paths(folder)
    faults = [f"{path}: not planned" for path in found - wanted.keys()]
    faults += [f"{path}: missing" for path in wanted.keys() - found]
    faults += [
        f"{path}: other bytes than planned"
        for path in found & wanted.keys()
        if files.sha256(folder / path) != wanted[path].sha256
    ]
    if faults:
        message = f"{folder} has changed since the plan was made:\n" + "\n".join(sorted(faults)[:10])
        raise Refused(message, hint="Make a new plan and rehearse it.")


def check_visibility(repo: str, private: bool, remote: Remote) -> None:
    """Keep a release that shall be private out of a public repository.

    Raises:
        Refused: The repository exists and is public.
    """
    if private and remote.head is not None and not remote.private:
        message = f"{repo} is public, and the release shall be private"
        raise Refused(message, hint="Make the repository private first, or plan without --private.")


def published_paths(folder: Path) -> set[str]:
    """Return the paths of all files in a folder, with forward slashes."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _check_tree(out: Path, release: str) -> None:
    findings = [
        finding for finding in checks.check_release(out, release) if finding.severity is Severity.ERROR
    ]
    if findings:
        lines = (
            f"{finding.code}: {finding.message}\n  " + "\n  ".join(finding.examples) for finding in findings
        )
        raise Refused(f"{release} cannot be planned:\n" + "\n".join(lines), hint=findings[0].hint)


def _check_target(target: Target, remote: Remote) -> None:
    if target.tag in remote.tags:
        raise Refused(f"{target.repo} already has the tag {target.tag}", hint="Choose a higher --version.")
    published = sorted(_numbers(tag) for tag in remote.tags if _TAG.fullmatch(tag))
    if published and _numbers(target.tag) < published[-1]:
        latest = ".".join(map(str, published[-1]))
        message = f"version {target.version} is below {latest}, which {target.repo} already has"
        raise Refused(message, hint="Choose a higher --version.")
    check_visibility(target.repo, target.private, remote)


def _numbers(tag: str) -> tuple[int, ...]:
    match = _TAG.fullmatch(tag)
    assert match is not None
    return tuple(map(int, match.groups()))


def _refuse_unknown(folder: Path, published: set[str]) -> None:
    unknown = sorted(published_paths(folder) - published)
    if unknown:
        message = f"{folder} holds files that this release does not publish: {', '.join(unknown[:10])}"
        raise Refused(message, hint="Remove them, and make the plan again.")


def _planned(folder: Path, path: str, remote: Remote) -> PlannedFile:
    size, sha256, oid = _digests(folder / path)
    file = PlannedFile(
        path=path, size=size, sha256=sha256, oid=oid, lfs=path.endswith(".parquet"), change="added"
    )
    there = remote.files.get(path)
    if there is None:
        return file
    change: Literal["unchanged", "changed"] = "unchanged" if there.holds(file) else "changed"
    return file.model_copy(update={"change": change})


def _digests(path: Path) -> tuple[int, str, str]:
    try:
        size = path.stat().st_size
        whole, blob = hashlib.sha256(), hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                whole.update(chunk)
                blob.update(chunk)
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    return size, whole.hexdigest(), blob.hexdigest()


def _gates(locks: list[Lock]) -> Iterator[str]:
    for lock in locks:
        for finding in lock.findings:
            if finding.severity == "gate" and not finding.waived:
                yield f"{lock.config}: {finding.code}: {finding.message}"

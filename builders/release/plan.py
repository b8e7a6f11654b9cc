"""The plan of a release, one commit and one tag byte for byte, and the receipt of its rehearsal."""

from __future__ import annotations

import dataclasses
import datetime
import errno
import functools
import hashlib
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from builders import describe, files, registry
from builders.built import read_built
from builders.checks.finding import apply_waivers
from builders.checks.splits import MOVED, uncommitted
from builders.describe.target import Target
from builders.errors import Refused, StorageError
from builders.files import FileIds
from builders.hub import Api, client
from builders.lock.beside import Citations, citations_path, read_citations
from builders.lock.committed import FOLDER, stand_ins
from builders.lock.lock import Frozen, Lock, first_fault, locks_of
from builders.plots.svg import is_plot
from builders.prepare.splits import committed_splits
from builders.printable import listed, printable, shortened
from builders.release.diff import Bump, Comparison, SplitMoves, check_version, compare
from builders.release.tree import Remote, paths_in, same_bytes
from builders.spec import RELEASES
from builders.tables import Kind, config_name
from builders.text_files import parse_json

_SCHEMA_VERSION = 1
_SEAL = "sha256"
_DIST = Path("dist")
_CHUNK = 1 << 20
_ONCE = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Follows no link, and waits for no pipe."""


class _PlannedFile(Frozen):
    """A file that the tag will hold: its `oid` in git, and whether an LFS object is expected."""

    path: str
    size: int
    sha256: str
    oid: str
    lfs: bool
    change: Literal["added", "changed", "unchanged"]


class _Sealed(Frozen):
    """A document that is known to be as it was written by the sha256 of its fields."""

    schema_version: int = _SCHEMA_VERSION

    @property
    def seal(self) -> str:
        """The sha256 of the fields as JSON."""
        return hashlib.sha256(files.json_bytes(self.model_dump(mode="json"))).hexdigest()

    def write(self, path: Path) -> None:
        """Write the fields and their seal."""
        files.write_json(path, self.model_dump(mode="json") | {_SEAL: self.seal})


class Plan(_Sealed):
    """One commit and one tag, byte for byte. It names no Hub: the rehearsal pushes the same plan.

    Attributes:
        private: Whether a new repository becomes private.
        parent: The commit that must still be the head; None where there is no repository yet.
        base: The published tag that the version was weighed against; "" where there is none.
        bump: The least that the version had to rise, with its `reasons`.
        delete: Files of the repository that are no longer published.
        gates: Findings that stop `apply`, since no waiver covers them.
        stand_ins: Why this build may be rehearsed, but not applied to the real Hub.
        citations: sha256 of the file of citations of each config that has one.
        uncited: What those files hold of other rows, which the card leaves out.
    """

    release: str
    repo: str
    version: str
    tag: str
    date: datetime.date
    private: bool
    parent: str | None
    message: str
    base: str
    bump: Bump
    reasons: tuple[str, ...]
    files: tuple[_PlannedFile, ...]
    delete: tuple[str, ...]
    gates: tuple[str, ...]
    stand_ins: tuple[str, ...]
    citations: dict[str, str] = Field(default_factory=dict)
    uncited: tuple[str, ...] = ()

    @property
    def wanted(self) -> dict[str, FileIds]:
        """Size and ids of all files by path."""
        return {file.path: FileIds(file.size, file.oid, file.sha256) for file in self.files}


class Receipt(_Sealed):
    """Proof that a plan was rehearsed.

    Attributes:
        plan: Seal of the plan.
        files: sha256 of every file as it was read back over the wire, by path.
        rows: Number of rows that `load_dataset` gave and that equal the built ones, by config and split.
        tools: Versions of the clients.
    """

    plan: str
    repo: str
    tag: str
    files: dict[str, str]
    rows: dict[str, dict[str, int]]
    requests: int
    tools: dict[str, str]
    citations: dict[str, str] = Field(default_factory=dict)


def command(verb: str, *words: str, out: Path = _DIST) -> str:
    """Return a command of `mteb-de release` as a shell takes it, with its folder if it is not "dist"."""
    named = [] if out == _DIST else ["--out", str(out)]
    return shlex.join(["mteb-de", "release", verb, *words, *named])


def plan_path(out: Path, release: str) -> Path:
    """Return the path of a plan."""
    return out / "work" / release / "plan.json"


def receipt_path(out: Path, release: str) -> Path:
    """Return the path of the receipt of a rehearsal."""
    return out / "work" / release / "receipt.json"


def read_plan(out: Path, release: str) -> Plan:
    """Read the plan of a release."""
    return _read(plan_path(out, release), Plan, command("plan", release, "--repo", "OWNER/NAME", out=out))


def read_receipt(out: Path, release: str) -> Receipt:
    """Read the receipt of a rehearsal."""
    return _read(receipt_path(out, release), Receipt, command("rehearse", release, out=out))


_Document = TypeVar("_Document", Plan, Receipt)


def _read(path: Path, kind: type[_Document], verb: str) -> _Document:
    """Read a sealed document; `verb` is the command that writes it."""
    name, again = kind.__name__.lower(), f"Run this again: {verb}"
    try:
        with files.readable(path):
            if not path.exists():
                raise StorageError(f"{path}: no {name} there", hint=f"Run this first: {verb}")
            document = parse_json(path.read_bytes())
    except ValueError as error:
        raise StorageError(f"{path}: not a {name} (not JSON: {error})", hint=again) from error
    fields = document if isinstance(document, dict) else {}
    found, seal = fields.get("schema_version", _SCHEMA_VERSION), fields.pop(_SEAL, "")
    if found != _SCHEMA_VERSION:
        message = f"{path}: a {name} of schema version {found!r}, and this mteb-de knows {_SCHEMA_VERSION}"
        raise StorageError(message, hint=again)
    try:
        read = kind.model_validate(document)
    except ValidationError as error:
        raise StorageError(f"{path}: not a {name} ({first_fault(error)})", hint=again) from error
    if seal != read.seal:
        raise Refused(f"{path} was edited since it was written", hint=again)
    return read


def make_plan(
    out: Path,
    release: str,
    target: Target,
    *,
    least: bool = False,
    beside: Path = FOLDER,
    api: Api | None = None,
) -> Plan:
    """Check a built release, render its card and Croissant for the target, and write plan.json.

    Nothing remote changes. For a private repository the release is private, too. `least` takes the lowest
    version that may follow in place of the target's; `beside` holds citations and splits.

    Raises:
        Refused: Nothing has changed and `least` is asked for, the folder holds links or unknown files, or the
            target does not fit what the repository holds.
    """
    with files.exclusive(out):
        files.sweep(out / release)
        return _make_plan(out, release, target, least, beside, api or client())


def _make_plan(out: Path, release: str, target: Target, least: bool, beside: Path, api: Api) -> Plan:
    ids = functools.cache(files.ids_of)
    remote, comparison = compare(out, release, target.repo, api, ids, beside=beside)
    difference = comparison.difference
    if least and comparison.latest and difference.bump == "none":
        hint = f"There is nothing to publish; --version {comparison.least} does so again."
        message = f"{release}: nothing has changed since {comparison.latest} of {target.repo}"
        raise Refused(message, hint=hint)
    version = comparison.least if least else target.version
    target = dataclasses.replace(target, version=version, private=target.private or remote.private)
    _check_target(release, target, remote, comparison)
    locks, folder = [lock for _, lock in sorted(locks_of(out, release).items())], out / release
    moves = {moved.config: moved for moved in difference.moves}
    citations = {lock.config: read_citations(citations_path(beside, lock.config)) for lock in locks}
    rendered = describe.render(RELEASES[release], locks, target, citations=citations)
    published = {file.path for lock in locks for file in lock.files} | rendered.keys() | {"manifest.json"}
    for stale in filter(is_plot, paths_in(folder) - published):
        files.remove(folder / stale)  # of an earlier plan, which had something else to show
    if unknown := sorted(paths_in(folder) - published):
        message = f"{folder} holds files that this release does not publish: {', '.join(shortened(unknown))}"
        raise Refused(message, hint="Remove them, and make the plan again.")
    if links := sorted(path for path in published if (folder / path).is_symlink()):
        message = f"{folder} holds links in place of files: {', '.join(shortened(links))}"
        raise Refused(message, hint="Build again, or put the files there.")
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
        bump=difference.bump,
        reasons=difference.reasons,
        files=tuple(_planned(path, ids(folder / path), remote) for path in sorted(published)),
        delete=tuple(sorted(remote.files.keys() - published)),
        gates=tuple(gate for lock in locks for gate in _gates(lock, moves)),
        stand_ins=tuple(reason for lock in locks for reason in _stand_ins(out, lock, beside)),
        citations={
            config: files.sha256(path)
            for config in citations
            if (path := citations_path(beside, config)).exists()
        },
        uncited=tuple(_uncited(locks, citations)),
    )
    plan.write(plan_path(out, release))
    return plan


def check_visibility(repo: str, private: bool, remote: Remote) -> None:
    """Refuse to put a release that shall be private into a public repository."""
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


def _planned(path: str, file: FileIds, remote: Remote) -> _PlannedFile:
    there, is_lfs = remote.files.get(path), path.endswith(".parquet")
    change: Literal["added", "changed", "unchanged"] = "added"
    if there is not None:
        change = "unchanged" if same_bytes(there, file) else "changed"
    return _PlannedFile(path=path, lfs=is_lfs, change=change, **dataclasses.asdict(file))


def _gates(lock: Lock, moves: Mapping[str, SplitMoves]) -> Iterator[str]:
    """Yield what the build found, then published queries that left their split without a waiver."""
    found = [one for one in lock.findings if one.severity == "gate" and not one.waived]
    yield from (f"{lock.config}: {one.code}: {one.message}" for one in found)
    moved = moves.get(config_name(lock.config, Kind.QUERIES))
    waivers = [one for one in registry.load(lock.config).waivers if one.code == MOVED.name]
    findings = list(MOVED.counted(moved.queries, message=moved.line())) if moved else []
    for finding in apply_waivers(findings, waivers):
        if not finding.waived:
            yield f"{lock.config}: {finding.code}: {finding.message}"


def _stand_ins(out: Path, lock: Lock, beside: Path) -> Iterator[str]:
    """Yield why a config may be rehearsed only: what it was built from, or splits that are not committed."""
    yield from stand_ins(lock)
    if lock.splits:
        queries = read_built(out, registry.load(lock.config)).stacked(Kind.QUERIES)
        for finding in uncommitted(queries, committed_splits(beside, lock.config)):
            yield f"{lock.config}: {finding.message}"


def _uncited(locks: list[Lock], citations: Mapping[str, Citations]) -> Iterator[str]:
    """Yield what is committed beside a config and was measured on other rows."""
    for lock in locks:
        found, cited = citations[lock.config], citations[lock.config].of_rows(lock.rows_id)
        if found.audit and not cited.audit:
            yield f"{lock.config}: the audit is of other rows, and is left out: audit the build"
        if len(found.scores) > len(cited.scores):
            yield f"{lock.config}: scores are of other rows, and are left out: run mteb-de eval --cite again"


def check_bytes(plan: Plan, folder: Path, copy: Path | None = None) -> None:
    """Refuse a folder that differs from its plan, and write the compared bytes to `copy`, if it is given.

    Each file is opened once, and hashed while it is copied: later changes of the folder change nothing.
    """
    if faults := changes(plan, folder, copy):
        message = f"{folder} has changed since the plan was made:\n{listed(faults)}"
        raise Refused(message, hint="Make a new plan and rehearse it.")


def changes(plan: Plan, folder: Path, copy: Path | None = None, *, tables_only: bool = False) -> list[str]:
    """Return the files, or tables only, in which the folder of a release differs from its plan, sorted."""
    ending = ".parquet" if tables_only else ""
    wanted = {file.path: file.sha256 for file in plan.files if file.path.endswith(ending)}
    found = {path for path in paths_in(folder) if path.endswith(ending)}
    faults = {path: "not planned" for path in found - wanted.keys()}
    faults |= {path: "missing" for path in wanted.keys() - found}
    for path in found & wanted.keys():
        fault = _fault(folder / path, wanted[path], copy / path if copy else None)
        faults |= {path: fault} if fault else {}
    return [f"{printable(path)}: {fault}" for path, fault in sorted(faults.items())]


def _fault(path: Path, sha256: str, target: Path | None) -> str:
    """Return why a file is not the planned one, "" if it is; writes what was read to `target`."""
    digest = hashlib.sha256()
    hint = f"Copies go to {tempfile.gettempdir()}; TMPDIR names another folder." if target else ""
    with files.readable(path, hint=hint):
        try:
            descriptor = os.open(path, _ONCE)
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            if error.errno == errno.ELOOP:
                return "a link, not a file"
            raise
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return "not a regular file"
            if target:
                target.parent.mkdir(parents=True, exist_ok=True)
            with Path(target or os.devnull).open("wb") as copy:
                while chunk := file.read(_CHUNK):
                    digest.update(chunk)
                    copy.write(chunk)
    return "" if digest.hexdigest() == sha256 else "other bytes than planned"

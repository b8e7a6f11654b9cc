"""What a release is planned as, and the receipt of its rehearsal."""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import Field, ValidationError

from builders.errors import StorageError
from builders.hub import RemoteFile
from builders.lock.lock import Frozen
from builders.printable import printable
from builders.release.commands import command, plan_command
from builders.release.versions import Bump

SCHEMA_VERSION = 1


class PlannedFile(Frozen):
    """A file that the tag will hold.

    Attributes:
        path: In the repository, with forward slashes.
        size: Bytes.
        sha256: Of the bytes, lower-case hex.
        oid: The id under which git stores these bytes.
        lfs: Whether the Hub is expected to keep it as an LFS object.
        change: Against what the repository held when the plan was made.
    """

    path: str
    size: int
    sha256: str
    oid: str
    lfs: bool
    change: Literal["added", "changed", "unchanged"]


class Plan(Frozen):
    """One commit and one tag, byte for byte. It names no Hub: the rehearsal pushes the same plan.

    Attributes:
        schema_version: Of this document.
        release: "mteb-de".
        repo: "OWNER/NAME".
        version: "1.0.0".
        tag: "v1.0.0".
        date: Of the release, as in card and Croissant.
        private: Whether a new repository becomes private.
        parent: The commit that must still be the head; None where there is no repository yet.
        message: Of the commit.
        base: The published tag that the version was weighed against; "" where there is none.
        bump: The least that the version had to rise.
        reasons: What asks for that much.
        files: All files of the tag, sorted by path.
        delete: Files of the repository that are no longer published.
        gates: Findings that stop `apply`, since no waiver covers them.
        stand_ins: Why this build may be rehearsed, but not applied to the real Hub.
        citations: sha256 of the file of citations of each config that has one.
        uncited: What those files hold of other rows, which the card leaves out.
    """

    schema_version: int = SCHEMA_VERSION
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
    files: tuple[PlannedFile, ...]
    delete: tuple[str, ...]
    gates: tuple[str, ...]
    stand_ins: tuple[str, ...]
    citations: dict[str, str] = Field(default_factory=dict)
    uncited: tuple[str, ...] = ()


class Receipt(Frozen):
    """Proof that a plan was rehearsed.

    Attributes:
        schema_version: Of this document.
        plan: sha256 of the plan.json that was rehearsed.
        repo: As in the plan.
        tag: As in the plan.
        files: sha256 of every file as it was read back over the wire, by path.
        rows: Rows that `load_dataset` gave and that equal the built ones, by config and split.
        requests: How many requests the rehearsal took.
        tools: Versions of the clients.
        citations: As in the plan.
    """

    schema_version: int = SCHEMA_VERSION
    plan: str
    repo: str
    tag: str
    files: dict[str, str]
    rows: dict[str, dict[str, int]]
    requests: int
    tools: dict[str, str]
    citations: dict[str, str] = Field(default_factory=dict)


Bytes = PlannedFile | RemoteFile
"""What tells a file's bytes: its size, sha256 and git id. For an LFS object git's id is that of a pointer."""


def same_bytes(one: Bytes, other: Bytes) -> bool:
    """Whether two files hold the same bytes, as far as their ids tell."""
    equal_ids = one.sha256 == other.sha256 if one.sha256 and other.sha256 else one.oid == other.oid
    return one.size == other.size and equal_ids


@dataclass(frozen=True, slots=True)
class Remote:
    """What a repository holds now.

    Attributes:
        head: The commit of `main`; None where there is no repository, or the token may not see it.
        private: Whether it is private.
        gated: Whether its files are handed out only to those who were let in.
        tags: Commits by tag.
        files: By path, without the Hub's own `.gitattributes`.
    """

    head: str | None
    private: bool
    tags: Mapping[str, str]
    files: Mapping[str, RemoteFile]
    gated: bool = False


ABSENT = Remote(None, private=False, tags={}, files={})


def plan_path(out: Path, release: str) -> Path:
    """Return where a plan lies."""
    return out / "work" / release / "plan.json"


def receipt_path(out: Path, release: str) -> Path:
    """Return where the receipt of a rehearsal lies."""
    return out / "work" / release / "receipt.json"


def read_plan(out: Path, release: str) -> Plan:
    """Read the plan of a release.

    Raises:
        StorageError: It is not there, or not a plan.
    """
    return read_plan_and_digest(out, release)[0]


def read_plan_and_digest(out: Path, release: str) -> tuple[Plan, str]:
    """Read the plan of a release once, and return it with the sha256 of the bytes that were read.

    Raises:
        StorageError: It is not there, or not a plan.
    """
    return _read(plan_path(out, release), Plan, "plan", plan_command(release, out))


def read_receipt(out: Path, release: str) -> Receipt:
    """Read the receipt of a rehearsal.

    Raises:
        StorageError: It is not there, or not a receipt.
    """
    return _read(receipt_path(out, release), Receipt, "receipt", command("rehearse", release, out=out))[0]


_Document = TypeVar("_Document", Plan, Receipt)


def _read(path: Path, kind: type[_Document], name: str, verb: str) -> tuple[_Document, str]:
    try:
        data = path.read_bytes()
        document = json.loads(data)
    except OSError as error:
        raise StorageError(f"{path}: no {name} there", hint=f"Run this first: {verb}") from error
    except ValueError as error:
        message = f"{path}: not a {name} (not JSON: {error})"
        raise StorageError(message, hint=f"Run this again: {verb}") from error
    found = document.get("schema_version", SCHEMA_VERSION) if isinstance(document, dict) else SCHEMA_VERSION
    if found != SCHEMA_VERSION:
        message = f"{path}: a {name} of schema version {found!r}, and this mteb-de knows {SCHEMA_VERSION}"
        raise StorageError(message, hint=f"Run this again: {verb}")
    try:
        return kind.model_validate(document), hashlib.sha256(data).hexdigest()
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"{path}: not a {name} ({where}: {first['msg']})"
        raise StorageError(message, hint=f"Run this again: {verb}") from error


def differences(wanted: Mapping[str, Bytes], found: Mapping[str, Bytes]) -> list[str]:
    """Return in which paths a tree differs from what is wanted, sorted."""
    faults = {path: "missing" for path in wanted.keys() - found.keys()}
    faults |= {path: "not planned" for path in found.keys() - wanted.keys()}
    common = wanted.keys() & found.keys()
    faults |= {path: "other bytes" for path in common if not same_bytes(wanted[path], found[path])}
    return [f"{printable(path)}: {fault}" for path, fault in sorted(faults.items())]

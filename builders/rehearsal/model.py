"""The values that a Hub is made of: accounts, blobs, commits, operations and repos."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Literal

RepoType = Literal["dataset", "model"]
REGULAR_LIMIT = 10 * 1024 * 1024
"""Bytes above which the Hub takes a file as an LFS object only."""


class HubError(Exception):
    """A refusal, as the Hub answers it: HTTP status, message, and the value of ``X-Error-Code``."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a token stands for.

    Attributes:
        name: The user.
        role: Of the token.
        orgs: Organisations whose repos the user may write.
        permissions: What a fine-grained token may do.
        scopes: Where it may do so, as type and name: ("dataset", "OWNER/NAME"); by default in the user's and
            the organisations' namespaces.
    """

    name: str
    role: Literal["write", "read", "fineGrained"]
    orgs: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    scopes: tuple[tuple[str, str], ...] | None = None

    def scoped(self) -> tuple[tuple[str, str], ...]:
        """Return where the permissions hold."""
        return self.scopes or (("user", self.name), *(("org", org) for org in self.orgs))

    def belongs(self, owner: str) -> bool:
        """Whether the user is `owner` or a member of it."""
        return owner == self.name or owner in self.orgs

    def may_write(self, owner: str, repo: tuple[str, str] | None = None) -> bool:
        """Whether this token may change a repo of `owner` (type and id), or without one make new ones."""
        if not self.belongs(owner):
            return False
        if self.role == "fineGrained" and "repo.write" in self.permissions:
            return bool({("user", owner), ("org", owner), repo} & {*self.scoped()})
        return self.role == "write"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a tree.

    Attributes:
        size: Bytes of the file.
        oid: Git object id, of the LFS pointer where the file is an LFS object.
        data: The bytes, or where they lie on disk.
        lfs: sha256 of the file where it is an LFS object, else "".
    """

    size: int
    oid: str
    data: bytes | Path
    lfs: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A tree with its history."""

    oid: str
    parent: str | None
    tree: Mapping[str, Blob]
    title: str
    message: str
    author: str
    date: str


@dataclass(frozen=True, slots=True)
class AddFile:
    """Write a regular file."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class AddLfs:
    """Point to an LFS object that was uploaded before."""

    path: str
    oid: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove a file, or everything under a folder."""

    path: str
    folder: bool = False


Operation = AddFile | AddLfs | Delete


@dataclass(slots=True)
class Repo:
    """A repository and the LFS objects that were uploaded to it, by sha256.

    Where it is gated, everybody may see it, and only its owner and members of it may read its files.
    """

    type: RepoType
    id: str
    private: bool
    gated: bool = False
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    commits: dict[str, Commit] = field(default_factory=dict)
    objects: dict[str, bytes | Path] = field(default_factory=dict)

    @property
    def owner(self) -> str:
        """The namespace."""
        return self.id.split("/", maxsplit=1)[0]

    @property
    def url_path(self) -> str:
        """The path of its pages: "datasets/OWNER/NAME", "OWNER/NAME" for a model."""
        return f"datasets/{self.id}" if self.type == "dataset" else self.id

    def resolve(self, revision: str, *, short: bool = False) -> Commit:
        """Return the commit of a branch, a tag or a full commit id; with `short`, of a unique prefix too.

        Raises:
            HubError: 404 RevisionNotFound.
        """
        oid = self.branches.get(revision) or self.tags.get(revision) or revision
        if oid in self.commits:
            return self.commits[oid]
        if short and re.fullmatch(r"[0-9a-f]{7,39}", revision):
            found = [commit for oid, commit in self.commits.items() if oid.startswith(revision)]
            if len(found) == 1:
                return found[0]
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def takes_lfs(self, commit: Commit, path: str, size: int) -> bool:
        """Whether the Hub wants that file as an LFS object: by `.gitattributes`, or by size in bytes."""
        attributes = commit.tree.get(".gitattributes")
        text = attributes.data.decode() if attributes and isinstance(attributes.data, bytes) else ""
        patterns = [line.split()[0] for line in text.splitlines() if "filter=lfs" in line]
        name = PurePosixPath(path).name
        return size > REGULAR_LIMIT or any(fnmatchcase(name, pattern) for pattern in patterns)


def pointer(oid: str, size: int) -> bytes:
    """Return the LFS pointer that git stores in place of the object (git-lfs specification, v1)."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n".encode()


def git_oid(content: bytes) -> str:
    """Return the id under which git stores these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def regular(content: bytes) -> Blob:
    """Return a regular file."""
    return Blob(len(content), git_oid(content), content)


def lfs_object(oid: str, size: int, data: bytes | Path) -> Blob:
    """Return a file that is an LFS object."""
    return Blob(size, git_oid(pointer(oid, size)), data, oid)

"""What a Hub holds, in memory: accounts, repos, commits, tags and LFS objects.

Files of an imported folder that a Hub would keep as LFS objects stay on disk.
"""

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal

from builders.errors import UsageError
from builders.files import ids_of, sha256
from builders.rehearsal.refusals import HubError, card_errors

_RepoType = Literal["dataset", "model"]
TYPES: dict[str, _RepoType] = {"datasets": "dataset", "models": "model"}
"""The types of repos by the part of a path that holds them."""
WRITE_TOKEN = "hf_loopbackwrite"
READ_TOKEN = "hf_loopbackread"
MAIN = "main"

_REGULAR_LIMIT = 10 * 1024 * 1024
"""Bytes above which the Hub takes a file as an LFS object only."""
_LFS_SUFFIXES = (
    "7z arrow bin bz2 ckpt gz h5 model npy npz onnx parquet pickle pkl pt pth safetensors tar tgz xz zip zst"
).split()
_GITATTRIBUTES = "".join(f"*.{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in _LFS_SUFFIXES)


@dataclass(frozen=True, slots=True)
class Account:
    """The user of a token, the token's role, and the organisations whose repos the user may write."""

    name: str
    role: Literal["write", "read", "fineGrained"]
    orgs: tuple[str, ...] = ()

    def belongs(self, owner: str) -> bool:
        """Return whether the user is `owner` or a member of it."""
        return owner == self.name or owner in self.orgs

    def may_write(self, owner: str) -> bool:
        """Return whether this token may make and change repos of `owner`."""
        return self.belongs(owner) and self.role == "write"


@dataclass(frozen=True, slots=True)
class Blob:
    """A file of a tree: its bytes or their place on disk, and its git id.

    Of an LFS object `oid` is that of the pointer, and `lfs` the sha256; else it is "".
    """

    size: int
    oid: str
    data: bytes | Path
    lfs: str = ""

    @property
    def pointer_size(self) -> int:
        """Bytes of the LFS pointer."""
        return len(_pointer(self.lfs, self.size))


@dataclass(frozen=True, slots=True)
class Commit:
    """A tree with its history."""

    oid: str
    parent: str | None
    tree: Mapping[str, Blob]
    title: str
    date: str


@dataclass(frozen=True, slots=True)
class Operation:
    """Write a file of that content, or of an uploaded LFS object; with neither remove a file or folder."""

    path: str
    content: bytes | None = None
    lfs: str | None = None
    size: int | None = None
    folder: bool = False


@dataclass(slots=True)
class Repo:
    """A repository, with the LFS objects that were uploaded to it by their sha256."""

    type: _RepoType
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
        return self.id.partition("/")[0]

    @property
    def path(self) -> str:
        """The type and id as parts of a path: "datasets/OWNER/NAME"."""
        return f"{self.type}s/{self.id}"

    def resolve(self, revision: str, *, short: bool = False) -> Commit:
        """Return the commit of a branch, tag or full commit id; with `short`, of a unique prefix too."""
        oid = self.branches.get(revision) or self.tags.get(revision) or revision
        if short and re.fullmatch(r"[0-9a-f]{7,39}", oid):
            found = [whole for whole in self.commits if whole.startswith(oid)]
            oid = found[0] if len(found) == 1 else oid
        if oid not in self.commits:
            raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[oid]

    def lfs_object(self, oid: str) -> Blob:
        """Return an uploaded object as a file."""
        data = self.objects.get(oid)
        if data is None:
            raise HubError(404, f"LFS object not found: {oid}")
        return _lfs_blob(oid, data.stat().st_size if isinstance(data, Path) else len(data), data)


class Store:
    """All repos of a Hub; the user "maintainer" of both tokens belongs to `orgs`, too."""

    def __init__(self, orgs: Sequence[str] = ()) -> None:
        self.repos: dict[tuple[_RepoType, str], Repo] = {}
        name, of = "maintainer", tuple(orgs)
        self.accounts = {WRITE_TOKEN: Account(name, "write", of), READ_TOKEN: Account(name, "read", of)}
        self._commits = itertools.count()

    def repo(self, repo_type: _RepoType, repo_id: str) -> Repo:
        """Return a repo."""
        found = self.repos.get((repo_type, repo_id))
        if found is None:
            raise HubError(404, "Repository not found", "RepoNotFound")
        return found

    def create_repo(self, repo_type: _RepoType, repo_id: str, *, private: bool = False) -> Repo:
        """Make a repo whose first commit holds `.gitattributes`."""
        if (repo_type, repo_id) in self.repos:
            raise HubError(409, f"You already created this {repo_type} repo: {repo_id}")
        repo = Repo(repo_type, repo_id, private)
        self._record(repo, MAIN, _first_tree(), "initial commit")
        self.repos[repo_type, repo_id] = repo
        return repo

    def add_folder(self, repo_type: _RepoType, repo_id: str, folder: Path, revision: str = "") -> str:
        """Import a folder as one commit of `main`, and return its id; the repo is made if it is not there.

        LFS objects are read from the folder at every request: it must stay as it is. The id begins with
        `revision` and is otherwise derived from the files.
        """
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder", hint="Name a folder that holds a repo's files.")
        return self._import(repo_type, repo_id, dict(_read_tree(folder)), revision)

    def add_files(
        self, repo_type: _RepoType, repo_id: str, contents: Mapping[str, bytes], revision: str = ""
    ) -> str:
        """Import small files by path, as `add_folder` does a folder."""
        tree = {path: _regular(content) for path, content in contents.items()}
        return self._import(repo_type, repo_id, tree, revision)

    def _import(self, repo_type: _RepoType, repo_id: str, files: Mapping[str, Blob], pin: str) -> str:
        if pin and not re.fullmatch(r"[0-9a-f]{7,40}", pin):
            raise UsageError(f"{repo_id}@{pin}: not a commit id", hint="Use 7 to 40 hex digits.")
        tree = _first_tree() | dict(files)
        oid = pin + _digest([repo_id, _listed(tree)])[: 40 - len(pin)]
        repo = self.repos.setdefault((repo_type, repo_id), Repo(repo_type, repo_id, private=False))
        repo.objects.update({blob.lfs: blob.data for blob in tree.values() if blob.lfs})
        return self._record(repo, MAIN, tree, "Import", oid=oid).oid

    def put_object(self, repo: Repo, oid: str, size: int, data: bytes) -> None:
        """Keep an uploaded LFS object."""
        if len(data) != size or hashlib.sha256(data).hexdigest() != oid:
            raise HubError(400, f"The uploaded bytes are not the announced object {oid} of {size} bytes")
        repo.objects[oid] = data

    def commit(
        self,
        repo: Repo,
        branch: str,
        operations: Iterable[Operation],
        *,
        title: str,
        parent: str | None = None,
    ) -> Commit:
        """Apply operations to the head of a branch, all or none."""
        head = _head(repo, branch)
        if parent is not None and not head.oid.startswith(parent):
            raise HubError(412, "A commit has happened since. Please refresh and try again.")
        tree = dict(head.tree)
        for operation in operations:
            _apply(repo, tree, operation)
        return self._record(repo, branch, tree, title)

    def remove_objects(self, repo: Repo, oids: set[str], *, rewrite: bool) -> None:
        """Remove LFS objects, all or none; `rewrite` removes their files from every commit, too."""
        for oid in oids:
            repo.lfs_object(oid)
        repo.objects = {oid: data for oid, data in repo.objects.items() if oid not in oids}
        for oid, commit in repo.commits.items() if rewrite else ():
            tree = {path: blob for path, blob in commit.tree.items() if blob.lfs not in oids}
            repo.commits[oid] = replace(commit, tree=tree)

    def squash(self, repo: Repo, branch: str, *, title: str) -> None:
        """Replace the history of a branch by one commit with the same files."""
        head = _head(repo, branch)
        del repo.branches[branch]
        self._record(repo, branch, head.tree, title)

    def _record(
        self, repo: Repo, branch: str, tree: Mapping[str, Blob], title: str, *, oid: str = ""
    ) -> Commit:
        parent = repo.branches.get(branch)
        oid = oid or _digest([repo.id, parent, title, next(self._commits), _listed(tree)])
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        commit = Commit(oid, parent if parent != oid else None, tree, title, date)
        repo.commits[oid] = commit
        repo.branches[branch] = oid
        return commit


def _head(repo: Repo, branch: str) -> Commit:
    if branch not in repo.branches:
        raise HubError(404, f"Invalid rev id: {branch}", "RevisionNotFound")
    return repo.commits[repo.branches[branch]]


def _listed(tree: Mapping[str, Blob]) -> list[tuple[str, str]]:
    return sorted((path, blob.oid) for path, blob in tree.items())


def _digest(identity: object) -> str:
    return hashlib.sha1(json.dumps(identity).encode(), usedforsecurity=False).hexdigest()


def _pointer(oid: str, size: int) -> bytes:
    """Return the LFS pointer that git stores in place of the object (git-lfs specification, v1)."""
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize {size}\n".encode()


def _regular(content: bytes) -> Blob:
    return Blob(len(content), ids_of(content).oid, content)


def _lfs_blob(oid: str, size: int, data: bytes | Path) -> Blob:
    return Blob(size, ids_of(_pointer(oid, size)).oid, data, oid)


def takes_lfs(path: str, size: int) -> bool:
    """Return whether the Hub wants a file of that size in bytes as an LFS object."""
    return PurePosixPath(path).suffix.removeprefix(".") in _LFS_SUFFIXES or size > _REGULAR_LIMIT


def _first_tree() -> dict[str, Blob]:
    return {".gitattributes": _regular(_GITATTRIBUTES.encode())}


def _read_tree(folder: Path) -> Iterator[tuple[str, Blob]]:
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name, size = path.relative_to(folder).as_posix(), path.stat().st_size
        if takes_lfs(name, size):
            yield name, _lfs_blob(sha256(path), size, path.resolve())
        else:
            yield name, _regular(path.read_bytes())


def _apply(repo: Repo, tree: dict[str, Blob], operation: Operation) -> None:
    parts = operation.path.rstrip("/").split("/")
    if any(part in {"", ".", "..", ".git"} for part in parts):
        raise HubError(400, f"Invalid path: {operation.path!r}")
    path, content = operation.path, operation.content
    if content is not None:
        if len(content) > _REGULAR_LIMIT:
            raise HubError(400, f"Files larger than 10 MiB must be LFS objects: {path}")
        if path == "README.md" and (errors := card_errors(content)):
            raise HubError(400, f"Invalid metadata in README.md: {'; '.join(errors)}")
        tree[path] = _regular(content)
    elif operation.lfs is not None:
        if operation.lfs not in repo.objects:
            raise HubError(400, f"LFS pointer pointed to a file that does not exist: {path}")
        stored = repo.lfs_object(operation.lfs)
        if operation.size not in {None, stored.size}:
            message = f"LFS pointer of {path} says {operation.size} bytes, the object has {stored.size}"
            raise HubError(400, message)
        tree[path] = stored
    else:
        prefix = path.rstrip("/") + "/"
        inside = [name for name in tree if (name.startswith(prefix) if operation.folder else name == path)]
        if not inside:
            kind = "folder" if operation.folder else "file"
            raise HubError(404, f"A {kind} with this name doesn't exist: {path}", "EntryNotFound")
        for name in inside:
            del tree[name]

"""What a Hub holds: accounts, repos, commits, branches, tags and LFS objects, in memory.

Knows nothing of HTTP but the status with which the Hub would refuse. Files of an imported folder that a Hub
would keep as LFS objects stay on disk.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from builders.errors import UsageError
from builders.files import sha256
from builders.rehearsal.metadata import card_errors
from builders.rehearsal.model import (
    REGULAR_LIMIT,
    Account,
    AddFile,
    AddLfs,
    Blob,
    Commit,
    Delete,
    HubError,
    Operation,
    Repo,
    RepoType,
    lfs_object,
    regular,
)

MAIN = "main"

WRITE_TOKEN = "hf_loopbackwrite"
READ_TOKEN = "hf_loopbackread"
FINE_GRAINED_READ_TOKEN = "hf_loopbackfineread"
FINE_GRAINED_WRITE_TOKEN = "hf_loopbackfinewrite"
STRANGER_TOKEN = "hf_loopbackstranger"

_LFS_SUFFIXES = (
    "7z arrow bin bz2 ckpt gz h5 model npy npz onnx parquet pickle pkl pt pth safetensors tar tgz xz zip zst"
)
GITATTRIBUTES = "".join(
    f"*.{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in _LFS_SUFFIXES.split()
).encode()


class Store:
    """All repos of a Hub. Its methods may be called from any thread.

    Args:
        orgs: Organisations that the user of `WRITE_TOKEN` belongs to, beside its own namespace "maintainer".
    """

    def __init__(self, orgs: Sequence[str] = ()) -> None:
        self.lock = threading.RLock()
        self.repos: dict[tuple[RepoType, str], Repo] = {}
        self.accounts = _accounts(tuple(orgs))
        self._commits = itertools.count()

    def repo(self, repo_type: RepoType, repo_id: str) -> Repo:
        """Return a repo.

        Raises:
            HubError: 404 RepoNotFound.
        """
        found = self.repos.get((repo_type, repo_id))
        if found is None:
            raise HubError(404, "Repository not found", "RepoNotFound")
        return found

    def create_repo(self, repo_type: RepoType, repo_id: str, *, private: bool = False) -> Repo:
        """Make a repo whose first commit holds `.gitattributes`.

        Raises:
            HubError: 409, it exists.
        """
        with self.lock:
            if (repo_type, repo_id) in self.repos:
                raise HubError(409, f"You already created this {repo_type} repo: {repo_id}")
            repo = Repo(repo_type, repo_id, private)
            self._record(
                repo, MAIN, {".gitattributes": regular(GITATTRIBUTES)}, "initial commit", "", "system"
            )
            self.repos[repo_type, repo_id] = repo
            return repo

    def add_folder(self, repo_type: RepoType, repo_id: str, folder: Path, revision: str | None = None) -> str:
        """Import a folder as one commit of `main`; the repo is made where it does not exist.

        Args:
            repo_type: "dataset" or "model".
            repo_id: "OWNER/NAME".
            folder: Its files become the whole tree. What a Hub keeps as LFS objects is read from disk at
                every request, so the folder must stay as it is.
            revision: The commit's id. A shorter pin is completed to 40 digits, always to the same ones for
                the same files; without one the id is derived from the files.

        Returns:
            The commit's id, 40 hex digits.

        Raises:
            UsageError: No such folder, or `revision` is not hex digits.
        """
        if not folder.is_dir():
            raise UsageError(f"{folder}: no such folder", hint="Name a folder that holds a repo's files.")
        return self._import(repo_type, repo_id, dict(_read_tree(folder)), revision)

    def add_files(
        self, repo_type: RepoType, repo_id: str, contents: Mapping[str, bytes], revision: str | None = None
    ) -> str:
        """Import small files by path, as `add_folder` does a folder."""
        tree = {path: regular(content) for path, content in contents.items()}
        return self._import(repo_type, repo_id, {".gitattributes": regular(GITATTRIBUTES)} | tree, revision)

    def _import(self, repo_type: RepoType, repo_id: str, tree: dict[str, Blob], revision: str | None) -> str:
        if revision is not None and not re.fullmatch(r"[0-9a-f]{7,40}", revision):
            raise UsageError(f"{repo_id}@{revision}: not a commit id", hint="Use 7 to 40 hex digits.")
        identity = json.dumps([repo_id, sorted((path, blob.oid) for path, blob in tree.items())])
        pin = revision or ""
        oid = pin + hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()[: 40 - len(pin)]
        with self.lock:
            repo = self.repos.setdefault((repo_type, repo_id), Repo(repo_type, repo_id, private=False))
            repo.objects.update({blob.lfs: blob.data for blob in tree.values() if blob.lfs})
            return self._record(repo, MAIN, tree, "Import", "", "system", oid=oid).oid

    def put_object(self, repo: Repo, oid: str, size: int, data: bytes) -> None:
        """Keep an uploaded LFS object.

        Raises:
            HubError: 400, the bytes do not have that sha256 and size.
        """
        if len(data) != size or hashlib.sha256(data).hexdigest() != oid:
            raise HubError(400, f"The uploaded bytes are not the announced object {oid} of {size} bytes")
        with self.lock:
            repo.objects[oid] = data

    def commit(
        self,
        repo: Repo,
        branch: str,
        operations: Iterable[Operation],
        *,
        title: str,
        message: str = "",
        author: str = "",
        parent: str | None = None,
    ) -> Commit:
        """Apply operations to the head of a branch, all or none.

        Raises:
            HubError: 404 no such branch, or nothing to delete; 412 the head is no longer `parent`; 400 a
                path, an LFS object or the card's metadata is bad.
        """
        with self.lock:
            if branch not in repo.branches:
                raise HubError(404, f"Invalid rev id: {branch}", "RevisionNotFound")
            head = repo.commits[repo.branches[branch]]
            if parent is not None and not head.oid.startswith(parent):
                raise HubError(412, "A commit has happened since. Please refresh and try again.")
            tree = dict(head.tree)
            for operation in operations:
                _apply(repo, tree, operation)
            return self._record(repo, branch, tree, title, message, author)

    def squash(self, repo: Repo, branch: str, *, title: str, author: str) -> Commit:
        """Replace the history of a branch by one commit with the same files.

        Raises:
            HubError: 404, no such branch.
        """
        with self.lock:
            if branch not in repo.branches:
                raise HubError(404, f"Invalid rev id: {branch}", "RevisionNotFound")
            head = repo.commits[repo.branches.pop(branch)]
            return self._record(repo, branch, head.tree, title, "", author)

    def _record(
        self,
        repo: Repo,
        branch: str,
        tree: Mapping[str, Blob],
        title: str,
        message: str,
        author: str,
        oid: str = "",
    ) -> Commit:
        parent = repo.branches.get(branch)
        files = sorted((path, blob.oid) for path, blob in tree.items())
        identity = json.dumps([repo.id, parent, title, message, next(self._commits), files])
        oid = oid or hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        commit = Commit(oid, parent if parent != oid else None, tree, title, message, author, date)
        repo.commits[oid] = commit
        repo.branches[branch] = oid
        return commit


def _accounts(orgs: tuple[str, ...]) -> dict[str, Account]:
    read = ("repo.content.read", "discussion.write")
    return {
        WRITE_TOKEN: Account("maintainer", "write", orgs),
        READ_TOKEN: Account("maintainer", "read", orgs),
        FINE_GRAINED_READ_TOKEN: Account("maintainer", "fineGrained", orgs, read),
        FINE_GRAINED_WRITE_TOKEN: Account("maintainer", "fineGrained", orgs, (*read, "repo.write")),
        STRANGER_TOKEN: Account("stranger", "write"),
    }


def _read_tree(folder: Path) -> Iterator[tuple[str, Blob]]:
    patterns = [f".{suffix}" for suffix in _LFS_SUFFIXES.split()]
    if not (folder / ".gitattributes").exists():
        yield ".gitattributes", regular(GITATTRIBUTES)
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        name, size = path.relative_to(folder).as_posix(), path.stat().st_size
        if path.suffix in patterns or size > REGULAR_LIMIT:
            yield name, lfs_object(sha256(path), size, path.resolve())
        else:
            yield name, regular(path.read_bytes())


def _apply(repo: Repo, tree: dict[str, Blob], operation: Operation) -> None:
    parts = operation.path.rstrip("/").split("/")
    if any(part in {"", ".", "..", ".git"} for part in parts):
        raise HubError(400, f"Invalid path: {operation.path!r}")
    match operation:
        case AddFile(path, content):
            if len(content) > REGULAR_LIMIT:
                raise HubError(400, f"Files larger than 10 MiB must be LFS objects: {path}")
            if path == "README.md" and (errors := card_errors(content, repo.type)):
                raise HubError(400, f"Invalid metadata in README.md: {'; '.join(errors)}")
            tree[path] = regular(content)
        case AddLfs(path, oid, size):
            data = repo.objects.get(oid)
            if data is None:
                raise HubError(400, f"LFS pointer pointed to a file that does not exist: {path}")
            stored = data.stat().st_size if isinstance(data, Path) else len(data)
            if size is not None and size != stored:
                raise HubError(400, f"LFS pointer of {path} says {size} bytes, the object has {stored}")
            tree[path] = lfs_object(oid, stored, data)
        case Delete(path, folder=False):
            if tree.pop(path, None) is None:
                raise HubError(404, f"A file with this name doesn't exist: {path}", "EntryNotFound")
        case Delete(path):
            inside = [name for name in tree if name.startswith(path.rstrip("/") + "/")]
            if not inside:
                raise HubError(404, f"A folder with this name doesn't exist: {path}", "EntryNotFound")
            for name in inside:
                del tree[name]

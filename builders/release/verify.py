"""Reading a release back as a consumer does, by tag and over the wire, and comparing every value."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders import files, hub
from builders.errors import Drift, RemoteError, SourceMissing, StorageError, UsageError
from builders.lock.lock import MANIFEST, Manifest, PublishedFile, read_manifest
from builders.printable import listed
from builders.release import child
from builders.release.tree import paths_in, read_files
from builders.tables import content_hash

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 20


@dataclass(frozen=True, slots=True)
class _Verified:
    """A release that reads back as it was built: sha256 by path, and rows by config and split."""

    repo: str
    tag: str
    commit: str
    files: dict[str, str]
    rows: dict[str, dict[str, int]]


def verify(
    repo: str, tag: str, *, dist: Path | None = None, environment: Mapping[str, str] | None = None
) -> _Verified:
    """Load every config and split of a release by its tag, with fresh caches, and compare all values.

    The values are compared with the published manifest, and the files with those in `dist`, if it is given.
    The child process that reads has the environment of this process and fresh caches, or `environment`.
    """
    hub.check_repo(repo)
    if dist and not dist.is_dir():
        raise UsageError(f"{dist}: no such folder", hint="Name that of the release, such as dist/mteb-de.")
    request = {"do": "verify", "repo": repo, "tag": tag, "dist": str(dist or "")}
    with tempfile.TemporaryDirectory(prefix="mteb-de-verify-") as home:
        return _Verified(**child.ask(request, environment or _fresh(Path(home))))


def _fresh(home: Path) -> dict[str, str]:
    """Return this process's environment with empty caches and the same token."""
    from huggingface_hub import get_token

    caches = re.compile(r"(HF|HUGGINGFACE)_(\w+_CACHE|TOKEN_PATH)")
    kept = {name: value for name, value in os.environ.items() if not caches.fullmatch(name)}
    token = get_token()
    return kept | {"HF_HOME": str(home)} | ({"HF_TOKEN": token} if token else {})


def read_back(repo: str, tag: str, dist: Path | None) -> _Verified:
    """Verify in this process, whose caches of the clients must be fresh.

    Raises:
        Drift: A file, a config, a split or a value differs.
        RemoteError: The tag holds no release of ours.
    """
    from huggingface_hub import constants

    api = hub.client()
    commit = hub.resolve(api, repo, tag)
    paths = sorted(read_files(api, repo, commit))
    if MANIFEST not in paths:
        message = f"{repo}@{tag} has no {MANIFEST}"
        raise RemoteError(message, hint="Only releases made by this command can be verified.")

    def fetch(path: str) -> Path:
        return hub.download(api, repo, path, commit, Path(constants.HF_HUB_CACHE))

    if "README.md" in paths:
        fetch("README.md")  # load_dataset asks for it by the tag, and here it must come by the commit
    try:
        manifest = read_manifest(fetch(MANIFEST))
    except StorageError as error:
        raise RemoteError(f"{repo}@{tag}: {error.message}") from error
    rows: dict[str, dict[str, int]] = {}
    faults = list(_tables(repo, tag, manifest, rows))
    # the others after load_dataset, so that its own requests are not answered by files fetched here
    found = {path: files.sha256(fetch(path)) for path in paths}
    faults = [*_files(manifest, found), *faults]
    apart = list(_local(found, dist)) if dist else []
    if faults:
        message = f"{repo}@{tag} differs from what was built:\n" + listed([*faults, *apart], _MOST)
        raise Drift(message, hint="Do not use this tag; publish a higher version.")
    if apart:
        message = f"{repo}@{tag} is whole, and differs from {dist}:\n" + listed(apart, _MOST)
        raise Drift(message, hint="Another build or plan lies in that folder; leave --dist out.")
    return _Verified(repo, tag, commit, found, rows)


def _tables(repo: str, tag: str, manifest: Manifest, rows: dict[str, dict[str, int]]) -> Iterator[str]:
    """Load all configs, count their rows into `rows`, and yield what the manifest has otherwise."""
    from datasets import get_dataset_config_names, load_dataset

    expected: dict[str, dict[str, PublishedFile]] = {}
    for file in manifest.files:
        if file.rows:  # no card offers a split without rows
            expected.setdefault(file.config, {})[file.split] = file
    offered: list[str] = []
    try:
        offered = get_dataset_config_names(repo, revision=tag)
    except Exception as error:
        yield f"README.md: does not load ({_fault(error, 'README.md')})"
    for config in sorted(expected.keys() ^ {*offered}):
        yield f"{config}: {'not offered by the card' if config in expected else 'not in the manifest'}"
    for config, wanted in sorted(expected.items()):
        try:
            splits = load_dataset(repo, config, revision=tag)
        except Exception as error:
            yield f"{config}: does not load ({_fault(error, config)})"
            continue
        rows[config] = {split: table.num_rows for split, table in splits.items()}
        if splits.keys() != wanted.keys():
            yield f"{config}: splits {sorted(splits)}, the manifest says {sorted(wanted)}"
        for split in sorted(splits.keys() & wanted.keys()):
            fault = _difference(splits[split].data.table, wanted[split])
            if fault:
                yield f"{config}/{split}: {fault}"


def _difference(rows: pa.Table, file: PublishedFile) -> str:
    try:
        content = content_hash(rows)
    except ValueError as error:
        return str(error)
    if rows.num_rows != file.rows:
        return f"{rows.num_rows} rows, the manifest says {file.rows}"
    return "" if content == file.content else "other values than the manifest's"


def _fault(error: Exception, what: str) -> str:
    """Return why something does not load; a Hub that fails or refuses is no fault of the release."""
    known = hub.explain(error, f"loading {what}", hub.Advice(missing=SourceMissing))
    if known is not None and not isinstance(known, SourceMissing):
        raise known from error
    return hub.reason(error)


def _files(manifest: Manifest, found: Mapping[str, str]) -> Iterator[str]:
    locked = {file.path: file.sha256 for file in manifest.files}
    yield from (
        f"{path}: in the manifest, not in the repository" for path in sorted(locked.keys() - found.keys())
    )
    for path, sha256 in found.items():
        if path in locked and sha256 != locked[path]:
            yield f"{path}: sha256 {sha256}, the manifest says {locked[path]}"
        if path not in locked and path.endswith(".parquet"):
            yield f"{path}: in the repository, not in the manifest"


def _local(found: Mapping[str, str], dist: Path) -> Iterator[str]:
    paths = paths_in(dist)
    for path in sorted(paths | found.keys()):
        if path not in paths or path not in found:
            yield f"{path}: {'not in the repository' if path in paths else f'not in {dist}'}"
        elif files.sha256(dist / path) != found[path]:
            yield f"{path}: other bytes than in {dist}"

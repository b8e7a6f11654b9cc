"""Reading a release as a consumer does: by tag, with `load_dataset`, over the wire."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from builders import files, hub
from builders.errors import RemoteError, StorageError
from builders.lock.lock import MANIFEST, Frozen, Manifest, PublishedFile, read_manifest
from builders.release.remote import read_tree
from builders.tables import content_hash

if TYPE_CHECKING:
    import pyarrow as pa
    from huggingface_hub import HfApi


class TableRead(Frozen):
    """A split as `load_dataset` gives it.

    Attributes:
        rows: Number of rows.
        content: Hash of the rows; "" where they cannot be hashed.
        fault: Why not.
    """

    rows: int
    content: str
    fault: str = ""


class ReadBack(Frozen):
    """Everything that a tag gives.

    Attributes:
        commit: The tagged commit.
        manifest: As published.
        files: sha256 by path, without the Hub's `.gitattributes`.
        configs: The names that the card offers.
        tables: By config and split.
        faults: What does not load, by config; "README.md" where the card itself cannot be read.
    """

    commit: str
    manifest: Manifest
    files: dict[str, str]
    configs: tuple[str, ...]
    tables: dict[str, dict[str, TableRead]]
    faults: dict[str, str]


def read_back(repo: str, tag: str) -> ReadBack:
    """Read a whole release from the Hub. It fills the clients' caches: call it where they are fresh.

    Args:
        repo: "OWNER/NAME".
        tag: "v1.0.0".

    Raises:
        RemoteError: Repository, tag or manifest is missing, or the Hub refused, failed, or was not reachable.
    """
    api = hub.client()
    commit = hub.resolve(api, repo, tag)
    paths = sorted(read_tree(api, repo, commit))
    if MANIFEST not in paths:
        message = f"{repo}@{tag} has no {MANIFEST}"
        raise RemoteError(message, hint="Only releases made by this command can be verified.")
    local = {path: _download(api, repo, path, commit) for path in [MANIFEST, "README.md"] if path in paths}
    try:
        manifest = read_manifest(local[MANIFEST])
    except StorageError as error:
        raise RemoteError(f"{repo}@{tag}: {error.message}") from error
    tables, faults = _load(repo, tag, loadable(manifest.files))
    configs = _offered(repo, tag, faults)
    # after load_dataset, so that its own requests are not answered by files fetched here
    local |= {path: _download(api, repo, path, commit) for path in paths if path not in local}
    return ReadBack(
        commit=commit,
        manifest=manifest,
        files={path: files.sha256(file) for path, file in local.items()},
        configs=configs,
        tables=tables,
        faults=faults,
    )


def loadable(locked: Iterable[PublishedFile]) -> dict[str, dict[str, PublishedFile]]:
    """Return the files that clients can load, by config and split; no card offers a split without rows."""
    found: dict[str, dict[str, PublishedFile]] = {}
    for file in locked:
        if file.rows:
            found.setdefault(file.config, {})[file.split] = file
    return found


def _download(api: HfApi, repo: str, path: str, commit: str) -> Path:
    from huggingface_hub import constants

    return hub.download(api, repo, path, commit, Path(constants.HF_HUB_CACHE))


def _load(
    repo: str, tag: str, configs: Iterable[str]
) -> tuple[dict[str, dict[str, TableRead]], dict[str, str]]:
    from datasets import load_dataset

    tables: dict[str, dict[str, TableRead]] = {}
    faults: dict[str, str] = {}
    for config in configs:
        try:
            splits = load_dataset(repo, config, revision=tag)
        except Exception as error:
            faults[config] = _fault(error, config)
            continue
        tables[config] = {split: _table(rows.data.table) for split, rows in splits.items()}
    return tables, faults


def _offered(repo: str, tag: str, faults: dict[str, str]) -> tuple[str, ...]:
    from datasets import get_dataset_config_names

    try:
        return tuple(get_dataset_config_names(repo, revision=tag))
    except Exception as error:
        faults["README.md"] = _fault(error, "README.md")
        return ()


def _fault(error: Exception, what: str) -> str:
    """Return why something does not load; a Hub that fails is no fault of the release.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    import httpx2

    silence = next((cause for cause in hub.causes(error) if isinstance(cause, httpx2.TimeoutException)), None)
    known = hub.explain(silence or error, f"loading {what}")
    if known is not None:
        raise known from error
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def _table(rows: pa.Table) -> TableRead:
    try:
        return TableRead(rows=rows.num_rows, content=content_hash(rows))
    except ValueError as error:
        return TableRead(rows=rows.num_rows, content="", fault=str(error))

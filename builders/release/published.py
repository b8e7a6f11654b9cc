"""A release as a thing to compare: what is published on the Hub, and what was built here."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from builders.errors import RemoteError, StorageError, UsageError
from builders.hub import RemoteFile, download
from builders.lock.lock import MANIFEST, MANIFEST_VERSION, Manifest, read_manifest
from builders.printable import printable
from builders.release.diff import Listed, Listing, Split
from builders.release.layout import card_layout
from builders.release.local import digests, file_digests
from builders.release.model import Bytes, Remote, same_bytes
from builders.release.remote import read_tree
from builders.tables import read_frame

if TYPE_CHECKING:
    from huggingface_hub import HfApi

CARD = "README.md"
CROISSANT = "croissant.jsonld"
By = Literal["manifest", "parquet", "nothing"]
"""What a side is known by before rows are read: content hashes, or its parquet files."""


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared.

    Attributes:
        tables: Its splits.
        files: All its files by path.
        frame: Reads the rows of a split.
        by: What it is known by.
        release: Whose manifest it is; "" where there is none of ours.
        version: That its Croissant names; "" where there is none. A release that went back names another than
            its tag does.
        date: When it was published, by its Croissant.
    """

    tables: Listing
    files: Mapping[str, Bytes]
    frame: Callable[[Split], pl.DataFrame]
    by: By
    release: str = ""
    version: str = ""
    date: datetime.date | None = None


def built(folder: Path, rendered: Mapping[str, bytes]) -> Side:
    """Return what was built as a side.

    Args:
        folder: Of the release, with its manifest.
        rendered: Card, Croissant and licences by path; what lies there of an earlier plan does not count.

    Raises:
        StorageError: Manifest or a file cannot be read.
    """
    manifest = read_manifest(folder / MANIFEST)
    paths = [MANIFEST, *(file.path for file in manifest.files)]
    on_disk = {path: file_digests(folder / path) for path in paths}
    tables = _listed(manifest)

    def frame(split: Split) -> pl.DataFrame:
        return pl.read_parquet([folder / path for path in tables[split].paths], glob=False)

    files = on_disk | {path: digests(data) for path, data in rendered.items()}
    return Side(tables, files, frame, "manifest", manifest.release)


def in_folder(folder: Path) -> Side:
    """Return a release that lies in a folder as a side; its manifest counts where it names the very bytes.

    Raises:
        StorageError: Manifest or a file cannot be read.
    """
    manifest = read_manifest(folder / MANIFEST)
    on_disk = {file.path: file_digests(folder / file.path) for file in manifest.files}
    tables = _trusted(manifest, on_disk)

    def frame(split: Split) -> pl.DataFrame:
        return pl.concat(read_frame(folder / path) for path in tables[split].paths)

    return Side(tables, on_disk, frame, "manifest", manifest.release)


def revision_of(repo: str, remote: Remote, revision: str) -> str:
    """Return the commit of a tag, or of "main".

    Raises:
        UsageError: There is no such tag.
    """
    if revision in remote.tags:
        return remote.tags[revision]
    if revision == "main" and remote.head is not None:
        return remote.head
    known = ", ".join(sorted(remote.tags)) or "none"
    raise UsageError(f"{repo} has no tag {revision!r}", hint=f"Tags there: {known}.")


def published(api: HfApi, repo: str, remote: Remote, commit: str, folder: Path) -> Side:
    """Return a published commit as a side. Only what must be read is downloaded.

    A manifest's entry counts where the repository holds the very bytes that it names; other files are read.

    Args:
        api: The Hub's client.
        repo: "OWNER/NAME".
        remote: What the repository holds.
        commit: Full id.
        folder: Where downloads go.

    Raises:
        RemoteError: The Hub refused, failed, or was not reachable.
    """
    tree = remote.files if commit == remote.head else read_tree(api, repo, commit)

    def fetch(path: str) -> Path:
        target = download(api, repo, path, commit, folder)
        if not same_bytes(file_digests(target), tree[path]):
            message = f"{path} of {repo}@{commit} came otherwise than the Hub lists it"
            raise RemoteError(message, hint="Try again.")
        return target

    manifest = _manifest(fetch(MANIFEST)) if MANIFEST in tree else None
    if manifest is not None:
        tables: Listing = _trusted(manifest, tree)
    else:
        tables = card_layout(fetch(CARD).read_bytes(), tree) if CARD in tree else {}

    def frame(split: Split) -> pl.DataFrame:
        paths = [fetch(path) for path in tables[split].paths]
        try:
            return pl.read_parquet(paths, glob=False)
        except (pl.exceptions.PolarsError, OSError) as error:
            where = f"{printable(str(split))} of {repo}@{commit}"
            message = f"{where} cannot be read as parquet ({type(error).__name__})"
            raise RemoteError(message, hint="Compare with another --revision.") from error

    if manifest is None:
        return Side(tables, tree, frame, "parquet")
    version, date = _described(fetch(CROISSANT)) if CROISSANT in tree else ("", None)
    return Side(tables, tree, frame, "manifest", manifest.release, version, date)


def nothing() -> Side:
    """Return the side of a repository that is not there."""

    def frame(split: Split) -> pl.DataFrame:
        raise KeyError(split)

    return Side({}, {}, frame, "nothing")


def _listed(manifest: Manifest) -> dict[Split, Listed]:
    return {
        Split(file.config, file.split): Listed((file.path,), file.rows, file.content)
        for file in manifest.files
    }


def _trusted(manifest: Manifest, tree: Mapping[str, RemoteFile]) -> dict[Split, Listed]:
    held = {file.path: tree[file.path].sha256 == file.sha256 for file in manifest.files if file.path in tree}
    listed = {split: table for split, table in _listed(manifest).items() if table.paths[0] in held}
    return {split: table if held[table.paths[0]] else Listed(table.paths) for split, table in listed.items()}


def _manifest(path: Path) -> Manifest | None:
    """Return a manifest that this code understands, None for another's file of that name or a newer one."""
    try:
        manifest = read_manifest(path)
    except StorageError:
        return None
    return manifest if manifest.schema_version == MANIFEST_VERSION else None


def _described(path: Path) -> tuple[str, datetime.date | None]:
    """Return version and date of a Croissant document, as far as it has them."""
    try:
        document = json.loads(path.read_bytes())
        return str(document["version"]), datetime.date.fromisoformat(document["datePublished"])
    except (ValueError, KeyError, TypeError):
        return "", None

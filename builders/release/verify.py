"""Reading a release back and comparing every value with what was built."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from builders import files
from builders.errors import Drift
from builders.printable import listed
from builders.release import child
from builders.release.consumer import ReadBack, loadable
from builders.release.local import published_paths

_MOST = 20
_CACHES = frozenset({
    "HF_ASSETS_CACHE",
    "HF_DATASETS_CACHE",
    "HF_HUB_CACHE",
    "HF_MODULES_CACHE",
    "HF_TOKEN_PATH",
    "HF_XET_CACHE",
    "HUGGINGFACE_HUB_CACHE",
})


@dataclass(frozen=True, slots=True)
class Verified:
    """A release that reads back as it was built.

    Attributes:
        repo: "OWNER/NAME".
        tag: "v1.0.0".
        commit: Full id of the tagged commit.
        files: sha256 by path.
        rows: Rows by config and split, as `load_dataset` gave them.
    """

    repo: str
    tag: str
    commit: str
    files: dict[str, str]
    rows: dict[str, dict[str, int]]


def verify(
    repo: str, tag: str, *, dist: Path | None = None, environment: Mapping[str, str] | None = None
) -> Verified:
    """Load every config and split of a release by its tag, with fresh caches, and compare all values.

    Args:
        repo: "OWNER/NAME".
        tag: "v1.0.0".
        dist: The local folder of the release; every file must equal its own there. Without it the published
            manifest is what the rows are held against.
        environment: Of the child process that reads; None for this process's own with fresh caches.

    Raises:
        Drift: A file, a config, a split or a value differs.
        RemoteError: The Hub refused, failed, or was not reachable, or the tag holds no release of ours.
    """
    request = {"do": "read", "repo": repo, "tag": tag}
    if environment is not None:
        found = child.ask(request, environment)
    else:
        with tempfile.TemporaryDirectory(prefix="mteb-de-verify-") as home:
            found = child.ask(request, _fresh(Path(home)))
    read = ReadBack.model_validate(found)
    faults = [*_files(read), *_tables(read), *(_local(read, dist) if dist else ())]
    if faults:
        message = f"{repo}@{tag} differs from what was built:\n" + listed(faults, _MOST)
        raise Drift(message, hint="Do not use this tag; publish a higher version.")
    rows = {
        config: {split: table.rows for split, table in splits.items()}
        for config, splits in read.tables.items()
    }
    return Verified(repo, tag, read.commit, read.files, rows)


def _fresh(home: Path) -> dict[str, str]:
    """Return this process's environment with empty caches and the same token."""
    from huggingface_hub import get_token

    kept = {name: value for name, value in os.environ.items() if name not in _CACHES}
    token = get_token()
    return kept | {"HF_HOME": str(home)} | ({"HF_TOKEN": token} if token else {})


def _files(read: ReadBack) -> Iterator[str]:
    locked = {file.path: file.sha256 for file in read.manifest.files}
    for path in sorted(locked.keys() - read.files.keys()):
        yield f"{path}: in the manifest, not in the repository"
    for path, sha256 in sorted(read.files.items()):
        if path in locked and sha256 != locked[path]:
            yield f"{path}: sha256 {sha256}, the manifest says {locked[path]}"
        if path not in locked and path.endswith(".parquet"):
            yield f"{path}: in the repository, not in the manifest"


def _tables(read: ReadBack) -> Iterator[str]:
    expected = loadable(read.manifest.files)
    for config in sorted(expected.keys() ^ set(read.configs)):
        yield f"{config}: {'not offered by the card' if config in expected else 'not in the manifest'}"
    for config, fault in sorted(read.faults.items()):
        yield f"{config}: does not load ({fault})"
    for config, splits in sorted(read.tables.items()):
        if splits.keys() != expected[config].keys():
            yield f"{config}: splits {sorted(splits)}, the manifest says {sorted(expected[config])}"
        for split in sorted(splits.keys() & expected[config].keys()):
            table, file = splits[split], expected[config][split]
            if table.fault:
                yield f"{config}/{split}: {table.fault}"
            elif table.rows != file.rows:
                yield f"{config}/{split}: {table.rows} rows, the manifest says {file.rows}"
            elif table.content != file.content:
                yield f"{config}/{split}: other values than the manifest's"


def _local(read: ReadBack, dist: Path) -> Iterator[str]:
    paths = published_paths(dist)
    for path in sorted(paths ^ read.files.keys()):
        yield f"{path}: {'not in the repository' if path in paths else f'not in {dist}'}"
    for path in sorted(paths & read.files.keys()):
        if files.sha256(dist / path) != read.files[path]:
            yield f"{path}: other bytes than in {dist}"

"""Rules on a release as a whole: licences, and the files on disk against locks and manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders import files
from builders.checks.described import check_described
from builders.checks.findings import Code, ordered
from builders.checks.model import Finding, Severity
from builders.errors import StorageError, UsageError
from builders.lock.lock import MANIFEST, Lock, PublishedFile, locks_of, read_manifest, work_folder
from builders.plots.svg import is_plot
from builders.spec import RELEASES
from builders.tables import SCHEMAS, SORT_KEYS, kind_of

_REBUILD = "Build the config again; nothing in the release folder is edited by hand."

LICENCE = Code(
    "licence-refused",
    Severity.ERROR,
    "configs whose licence the release does not admit",
    "Move the config to a release with a licence that allows it.",
)
TOP_RANKED = Code(
    "config-top-ranked",
    Severity.ERROR,
    "files of a config named *-top_ranked, which turns retrieval into reranking in mteb",
    "Name the table hard_negatives.",
)
MISSING = Code("file-missing", Severity.ERROR, "files of a lock that are not there", _REBUILD)
CHANGED = Code("file-changed", Severity.ERROR, "files whose bytes differ from their lock", _REBUILD)
EXTRA = Code(
    "file-extra",
    Severity.ERROR,
    "files that no lock knows",
    "Remove them, or build the config they belong to: all of the folder would be published.",
)
SCHEMA = Code("file-schema", Severity.ERROR, "files with another Arrow schema than published", _REBUILD)
ORDER = Code("file-order", Severity.ERROR, "files whose rows are not sorted", _REBUILD)
NO_MANIFEST = Code("manifest-missing", Severity.ERROR, "manifests that are missing or unreadable", _REBUILD)
STALE = Code("manifest-stale", Severity.ERROR, "entries in which manifest and locks differ", _REBUILD)
CODES = (LICENCE, TOP_RANKED, MISSING, CHANGED, EXTRA, SCHEMA, ORDER, NO_MANIFEST, STALE)

_BESIDE = {"README.md", "croissant.jsonld", MANIFEST}


def check_release(out: Path, release: str, *, rendered: bool = True) -> list[Finding]:
    """Compare the folder of a release with the locks of its configs.

    Args:
        out: The folder that was built into.
        release: "mteb-de".
        rendered: Whether card and Croissant are looked at too; a plan is about to render them anew.

    Returns:
        Findings, sorted by severity and code.

    Raises:
        UsageError: There is no such release.
        StorageError: Nothing of it was built, or a lock or file cannot be read.
    """
    if release not in RELEASES:
        raise UsageError(f"unknown release {release!r}", hint=f"Releases: {', '.join(sorted(RELEASES))}.")
    locks = locks_of(out, release)
    if not locks:
        raise StorageError(f"{out}: nothing of {release} was built there", hint=f"mteb-de build --out {out}")
    folder = out / release
    locked = {file.path: file for lock in locks.values() for file in lock.files}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    return ordered([
        *_licences(locks, release),
        *_names(folder, locked, found),
        *_contents(folder, {path: file for path, file in locked.items() if path in found}),
        *_manifest(out, release, locks),
        *(check_described(folder, locks) if rendered else ()),
    ])


def _licences(locks: Mapping[str, Lock], release: str) -> Iterator[Finding]:
    admitted = RELEASES[release].admits
    refused = {name: lock.licence for name, lock in locks.items() if lock.licence not in admitted}
    examples = (
        f"{name}: {licence!a}, {release} admits {', '.join(admitted)}" for name, licence in refused.items()
    )
    yield from LICENCE.counted(len(refused), examples)


def _names(folder: Path, locked: Mapping[str, PublishedFile], found: set[str]) -> Iterator[Finding]:
    missing = sorted(f"{folder.name}/{path}" for path in set(locked) - found)
    yield from MISSING.counted(len(missing), missing)
    extra = sorted(f"{folder.name}/{path}" for path in found - set(locked) if not _beside(path))
    yield from EXTRA.counted(len(extra), map(ascii, extra))
    of_config = {path for path, file in locked.items() if file.config.endswith("top_ranked")}
    reranking = of_config | {path for path in found if "top_ranked" in Path(path).parent.name}
    named = sorted(f"{folder.name}/{path}" for path in reranking)
    yield from TOP_RANKED.counted(len(named), map(ascii, named))


def _beside(path: str) -> bool:
    return path in _BESIDE or (path.startswith("LICENSE") and "/" not in path) or is_plot(path)


def _contents(folder: Path, locked: Mapping[str, PublishedFile]) -> Iterator[Finding]:
    changed, schemas, orders = [], [], []
    for path, lock in sorted(locked.items()):
        kind, named = kind_of(lock.config), f"{folder.name}/{path}"
        digest = files.sha256(folder / path)
        if digest != lock.sha256:
            changed.append(f"{named}: sha256 {digest}, locked {lock.sha256}")
        elif not _has_schema(folder / path, SCHEMAS[kind]):
            schemas.append(named)
        elif not _is_sorted(folder / path, SORT_KEYS[kind]):
            orders.append(f"{named}: not by {', '.join(SORT_KEYS[kind])}")
    yield from CHANGED.counted(len(changed), changed)
    yield from SCHEMA.counted(len(schemas), schemas)
    yield from ORDER.counted(len(orders), orders)


def _has_schema(path: Path, expected: pa.Schema) -> bool:
    """Whether clients see the published columns and types; a large_string would reach them as such."""
    try:
        found = pq.read_schema(path)
    except pa.ArrowException:
        return False
    return [(field.name, field.type) for field in found] == [(field.name, field.type) for field in expected]


def _is_sorted(path: Path, keys: tuple[str, ...]) -> bool:
    if not keys:
        return True
    rows = pl.read_parquet(path, columns=list(keys))
    return rows.equals(rows.sort(keys))


def _manifest(out: Path, release: str, locks: Mapping[str, Lock]) -> Iterator[Finding]:
    try:
        written = read_manifest(out / release / MANIFEST)
    except StorageError as error:
        yield from NO_MANIFEST.counted(1, [error.message])
        return
    hashes = {name: files.sha256(work_folder(out, name) / "lock.json") for name in locks}
    stale = [f"lock of {name}" for name, _ in sorted(set(written.locks.items()) ^ set(hashes.items()))]
    locked = {file for lock in locks.values() for file in lock.files}
    stale += [f"file {file.path}" for file in sorted(set(written.files) ^ locked, key=lambda file: file.path)]
    names = [f"{release}: {name}" for name in dict.fromkeys(stale)]
    if written.release != release:
        names.append(f"{release}: release {written.release!a}")
    yield from STALE.counted(len(names), names)

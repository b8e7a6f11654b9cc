"""Rules on a release: licences, and files, manifest, card and Croissant against the locks."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from builders import files
from builders.checks.finding import Finding, error, ordered
from builders.errors import StorageError, UsageError
from builders.lock.lock import MANIFEST, Lock, Manifest, PublishedFile, locks_of, manifest_of, read_manifest
from builders.plots.svg import is_plot
from builders.spec import RELEASES
from builders.tables import DAMAGE, SCHEMAS, SORT_KEYS, kind_of, read_frame
from builders.text_files import parse_json

_REBUILD = "Build the config again; nothing in the release folder is edited by hand."

_LICENCE = error(
    "licence-refused",
    "configs whose licence the release does not admit",
    "Move the config to a release with a licence that allows it.",
)
_TOP_RANKED = error(
    "config-top-ranked",
    "files of a config named *-top_ranked, which turns retrieval into reranking in mteb",
    "Name the table hard_negatives.",
)
_MISSING = error("file-missing", "files of a lock that are not there", _REBUILD)
_CHANGED = error("file-changed", "files whose bytes differ from their lock", _REBUILD)
_EXTRA = error(
    "file-extra",
    "files that no lock knows",
    "Remove them, or build the config they belong to: all of the folder would be published.",
)
_SCHEMA = error("file-schema", "files with another Arrow schema than published", _REBUILD)
_ORDER = error("file-order", "files whose rows are not sorted", _REBUILD)
_NO_MANIFEST = error("manifest-missing", "manifests that are missing or unreadable", _REBUILD)
_STALE = error("manifest-stale", "entries in which manifest and locks differ", _REBUILD)
_PLAN = "Make the plan again: it renders card and Croissant from the locks."

_CARD = error("card-differs", "places in which the card differs from the tables", _PLAN)
_CROISSANT = error("croissant-differs", "places in which Croissant differs from the files", _PLAN)

_BESIDE = {"README.md", "croissant.jsonld", MANIFEST}


def check_release(
    out: Path, release: str, *, rendered: bool = True, sha256: Callable[[Path], str] = files.sha256
) -> list[Finding]:
    """Compare the folder of a release with the locks of its configs.

    Card and Croissant are compared too where they are `rendered`; a plan is about to render them anew.

    Raises:
        UsageError: There is no such release.
        StorageError: Nothing of it was built.
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
        *_contents(folder, {path: file for path, file in locked.items() if path in found}, sha256),
        *_manifest(out, release),
        *(_card_and_croissant(folder, locks) if rendered else ()),
    ])


def _licences(locks: Mapping[str, Lock], release: str) -> Iterator[Finding]:
    admitted = RELEASES[release].admits
    refused = {name: lock.licence for name, lock in locks.items() if lock.licence not in admitted}
    admits = f"{release} admits {', '.join(admitted)}"
    yield from _LICENCE.lines([f"{name}: {licence!a}, {admits}" for name, licence in refused.items()])


def _names(folder: Path, locked: Mapping[str, PublishedFile], found: set[str]) -> Iterator[Finding]:
    yield from _MISSING.lines(sorted(f"{folder.name}/{path}" for path in set(locked) - found))
    beside = {p for p in found if is_plot(p) or (p.startswith("LICENSE") and "/" not in p)} | _BESIDE
    extra = sorted(f"{folder.name}/{path}" for path in found - set(locked) - beside)
    yield from _EXTRA.lines([*map(ascii, extra)])
    of_config = {path for path, file in locked.items() if file.config.endswith("top_ranked")}
    reranking = of_config | {path for path in found if "top_ranked" in Path(path).parent.name}
    named = sorted(f"{folder.name}/{path}" for path in reranking)
    yield from _TOP_RANKED.lines([*map(ascii, named)])


def _contents(
    folder: Path, locked: Mapping[str, PublishedFile], sha256: Callable[[Path], str]
) -> Iterator[Finding]:
    changed, schemas, orders = [], [], []
    for path, lock in sorted(locked.items()):
        kind, named = kind_of(lock.config), f"{folder.name}/{path}"
        digest = sha256(folder / path)
        if digest != lock.sha256:
            changed.append(f"{named}: sha256 {digest}, locked {lock.sha256}")
        elif not _has_schema(folder / path, SCHEMAS[kind]):
            schemas.append(named)
        elif not _is_sorted(folder / path, SORT_KEYS[kind]):
            orders.append(f"{named}: not by {', '.join(SORT_KEYS[kind])}")
    yield from _CHANGED.lines(changed)
    yield from _SCHEMA.lines(schemas)
    yield from _ORDER.lines(orders)


def _has_schema(path: Path, expected: pa.Schema) -> bool:
    """Return whether clients see the published columns and types; a large_string would reach them so."""
    try:
        found = pq.read_schema(path)
    except DAMAGE:
        return False
    return [(field.name, field.type) for field in found] == [(field.name, field.type) for field in expected]


def _is_sorted(path: Path, keys: tuple[str, ...]) -> bool:
    if not keys:
        return True
    rows = read_frame(path, list(keys))
    return rows.equals(rows.sort(keys))


def _manifest(out: Path, release: str) -> Iterator[Finding]:
    try:
        written = read_manifest(out / release / MANIFEST)
    except StorageError as error:
        yield from _NO_MANIFEST.lines([error.message])
        return
    wanted = manifest_of(out, release)
    if (out / release / MANIFEST).read_bytes() != files.json_bytes(wanted.model_dump(mode="json")):
        faults = sorted(_differences("", _entries(written), _entries(wanted)))
        faults = faults or ["other bytes than the locks give"]
        yield from _STALE.lines([f"{release}: {fault}" for fault in faults])


def _entries(manifest: Manifest) -> dict[str, Any]:
    """Return the fields of a manifest under the names that a fault shows."""
    fields = manifest.model_dump(mode="json")
    by_path = {file["path"]: file for file in fields.pop("files")}
    return {"lock of": fields.pop("locks"), "recipe of": fields.pop("recipes"), "file": by_path} | fields


def _card_and_croissant(folder: Path, locks: Mapping[str, Lock]) -> Iterator[Finding]:
    """Compare README.md and croissant.jsonld, where they are rendered already, with the locks."""
    locked = [file for lock in locks.values() for file in lock.files]
    hashes = {file.path: (file.sha256, f"{file.size} B") for file in locked}
    splits: dict[str, dict[str, Any]] = {}
    for file in locked:
        if file.rows:
            facts = {"path": file.path, "num_examples": file.rows, "num_bytes": file.arrow_bytes}
            splits.setdefault(file.config, {})[file.split] = facts
    yield from _CARD.lines(_faults(folder / "README.md", _splits_of_card, splits))
    yield from _CROISSANT.lines(_faults(folder / "croissant.jsonld", _hashes_of_croissant, hashes))


def _faults(path: Path, read: Callable[[str], object], wanted: object) -> list[str]:
    if not path.is_file():
        return []
    try:
        found = read(path.read_text(encoding="utf-8", errors="replace"))
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError, yaml.YAMLError) as error:
        return [f"it cannot be read ({type(error).__name__})"]
    return sorted(_differences("", found, wanted))


def _splits_of_card(text: str) -> dict[str, dict[str, Any]]:
    metadata = yaml.safe_load(text.split("---\n", 2)[1])
    found: dict[str, dict[str, Any]] = {
        config["config_name"]: {entry["split"]: {"path": entry["path"]} for entry in config["data_files"]}
        for config in metadata["configs"]
    }
    for info in metadata["dataset_info"]:
        for split in info["splits"]:
            facts = {name: split[name] for name in ("num_examples", "num_bytes")}
            found.setdefault(info["config_name"], {}).setdefault(split["name"], {}).update(facts)
    return found


def _hashes_of_croissant(text: str) -> dict[str, tuple[str, str]]:
    files = parse_json(text.encode())["distribution"]
    return {entry["@id"]: (entry["sha256"], entry["contentSize"]) for entry in files}


def _differences(where: str, found: object, wanted: object) -> Iterator[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in found.keys() | wanted.keys():
            yield from _differences(f"{where} {name}".strip(), found.get(name), wanted.get(name))
    elif found != wanted:
        yield f"{where}: says {_short(found)}, and the lock {_short(wanted)}"


def _short(value: object) -> str:
    return "nothing" if value is None else "a split" if isinstance(value, dict) else ascii(value)

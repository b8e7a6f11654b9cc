"""Fetching all sources of a config, and comparing them with a lock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from builders.errors import SourceChanged, SourceMissing, UsageError
from builders.files import sha256
from builders.home import home
from builders.hub import shown_url
from builders.lock.committed import is_pinned
from builders.lock.lock import LockedSource, SourceFile
from builders.sources.cache import Cache, Say, Stored
from builders.sources.folder import dataset_folder, fetch_folder
from builders.sources.http import download, fetch_http, record_http, safe_name
from builders.sources.hub import fetch_hub
from builders.sources.model import Fetched
from builders.spec import HttpSource, LocalFile, RecordedFile

if TYPE_CHECKING:
    from builders.spec import HubSource

PlainFile = HttpSource | RecordedFile | LocalFile
Found = tuple[dict[str, list[Path]], LockedSource]


def fetch(
    sources: Sequence[HubSource | PlainFile],
    *,
    offline: bool,
    sources_from: Sequence[str] = (),
    root: Path | None = None,
    progress: Say | None = None,
    recorded: Sequence[LockedSource] = (),
    record: bool = False,
) -> Fetched:
    """Fetch every source, and say what was fetched.

    Args:
        sources: Pinned upstreams.
        offline: Never touch the network, not even to look up a name.
        sources_from: Folders and base URLs that are looked into before the upstreams (`MTEB_DE_SOURCES`).
            Each holds plain files by name; a folder with ``datasets/OWNER/NAME`` also serves that Hub
            dataset. What is found there is locked as it is, as kind "folder", and compared with no pin.
        root: Folder of the cache; None for the default.
        progress: Told of each download, in one line.
        recorded: Sources of the committed lock: they pin each `RecordedFile`.
        record: Fetch a `RecordedFile` that is not recorded, so that the lock to be written keeps its hash.

    Returns:
        The files by part (a plain file is a part of its own, under its name), and a lock for each source
        in the order of `sources`.

    Raises:
        UsageError: Two parts have one name, or a folder of `sources_from` is not there.
        SourceMissing: A file is not at its upstream; or, offline, not in the cache; or no hash of it is
            recorded. It says which.
        SourceChanged: Bytes differ from the pin.
        SourceError: An upstream cannot be read, or names files outside itself.
        RemoteError: A server refused, failed, or could not be reached.
        StorageError: The cache cannot be written.
    """
    _refuse_equal_names(sources)
    places = [_place(place) for place in sources_from]
    cache = Cache((root or home()).absolute())
    say = progress or (lambda _line: None)
    files: dict[str, list[Path]] = {}
    locks: list[LockedSource] = []
    for source in sources:
        if isinstance(source, LocalFile):
            stand_in = _stand_in(source, places, cache, offline=offline, say=say)
            found = stand_in or _local_file(source, cache.root)
        elif isinstance(source, PlainFile):
            stand_in = _stand_in(source, places, cache, offline=offline, say=say)
            pinned = _pinned(source, recorded)
            found = stand_in or _fetch_file(source, pinned, cache, offline=offline, record=record, say=say)
        else:
            found = _fetch_dataset(source, places, cache, offline=offline, say=say)
        files |= found[0]
        locks.append(found[1])
    return Fetched(files, tuple(locks))


def verify_against(locks: Sequence[LockedSource], committed: Sequence[LockedSource]) -> None:
    """Compare what was fetched with a committed lock.

    Folders stand in, and are not compared; a file that was made on this machine is.

    Raises:
        SourceChanged: A source or file is new, gone or different; it names both hashes.
    """
    known = {lock.name: lock for lock in committed}
    fetched = {lock.name: lock for lock in locks}
    differences = [f"{name}: locked, and no longer a source" for name in known.keys() - fetched.keys()]
    for name, lock in fetched.items():
        if not is_pinned(lock):
            continue
        if name in known:
            differences += _differences(lock, known[name])
        else:
            differences.append(f"{name}: a source that the lock does not know")
    if differences:
        raise SourceChanged(
            "sources differ from the lock:\n" + "\n".join(f"  {line}" for line in sorted(differences)),
            hint="Look at what changed upstream; if it is meant, build with --update-lock.",
        )


def _refuse_equal_names(sources: Sequence[HubSource | PlainFile]) -> None:
    names = Counter(
        name
        for source in sources
        for name in ([source.name] if isinstance(source, PlainFile) else [p.name for p in source.parts])
    )
    twice = sorted(name for name, count in names.items() if count > 1)
    if twice:
        raise UsageError(f"two parts of the sources are called {', '.join(map(repr, twice))}")


def _place(place: str) -> Path | str:
    if place.startswith(("http://", "https://")):
        return place.rstrip("/")
    folder = Path(place)
    if not folder.is_dir():
        raise UsageError(
            f"{place}: not a folder", hint="MTEB_DE_SOURCES takes folders and base URLs, separated by commas."
        )
    return folder


def _fetch_dataset(
    source: HubSource, places: Sequence[Path | str], cache: Cache, *, offline: bool, say: Say
) -> Found:
    for place in places:
        if isinstance(place, Path) and dataset_folder(place, source.repo).is_dir():
            return fetch_folder(source, place)
    return fetch_hub(source, cache, offline=offline, say=say)


def _stand_in(
    source: PlainFile, places: Sequence[Path | str], cache: Cache, *, offline: bool, say: Say
) -> Found | None:
    """Return the file as a folder or base URL of the user's has it, or None."""
    name = safe_name(source.name)
    for place in places:
        if isinstance(place, str):
            stored = _from_base_url(place, name, cache, offline=offline, say=say)
        elif (path := place / name).is_file():
            stored = Stored(path, sha256(path), path.stat().st_size)
        else:
            stored = None
        if stored is not None:
            file = SourceFile(part=name, path=name, sha256=stored.sha256, size=stored.size)
            lock = LockedSource(kind="folder", name=name, licence=source.licence, files=(file,))
            return {name: [stored.path]}, lock
    return None


def _local_file(source: LocalFile, root: Path) -> Found:
    """Return a file that was made on this machine; unless it is a stand-in, its own hash pins it."""
    path = root / source.folder / safe_name(source.name)
    if not path.is_file():
        raise SourceMissing(f"{source.name}: not in {path.parent}", hint=source.hint)
    file = SourceFile(part=source.name, path=source.name, sha256=sha256(path), size=path.stat().st_size)
    revision = "" if source.is_stand_in(path) else file.sha256
    lock = LockedSource(
        kind="folder", name=source.name, revision=revision, licence=source.licence, files=(file,)
    )
    return {source.name: [path]}, lock


def _pinned(source: HttpSource | RecordedFile, recorded: Sequence[LockedSource]) -> HttpSource | None:
    """Return the source with its pin, or None where none is recorded."""
    if isinstance(source, HttpSource):
        return source
    for lock in recorded:
        if lock.kind == "http" and lock.name == source.name and len(lock.files) == 1:
            (file,) = lock.files
            return HttpSource(source.name, source.url, file.sha256, file.size, source.licence)
    return None


def _fetch_file(
    source: HttpSource | RecordedFile,
    pinned: HttpSource | None,
    cache: Cache,
    *,
    offline: bool,
    record: bool,
    say: Say,
) -> Found:
    if pinned is not None:
        path, lock = fetch_http(pinned, cache, offline=offline, say=say)
    elif isinstance(source, RecordedFile) and record and not offline:
        path, lock = record_http(source, cache, say=say)
    else:
        raise SourceMissing(
            f"{source.name}: no hash of it is recorded, so it is not fetched from {shown_url(source.url)}",
            hint="A maintainer records it with `mteb-de build CONFIG --update-lock`, which keeps it in the "
            "committed lock. A copy of yours is read from a folder that MTEB_DE_SOURCES names.",
        )
    return {source.name: [path]}, lock


def _from_base_url(base: str, name: str, cache: Cache, *, offline: bool, say: Say) -> Stored | None:
    """Return the file that stands in at a base URL, or None. It has no pin: it is fetched each time."""
    url = f"{base}/{quote(name)}"
    key = blake2b(url.encode(), digest_size=16).hexdigest()
    place = f"stand-in/{key}/{name}"
    if offline:
        entry = cache.find(place)
        return entry if isinstance(entry, Stored) else None
    with cache.workspace(f"stand-in-{key}", say, keep=False) as folder:
        try:
            download(url, folder / "part", size=None)
        except SourceMissing:
            return None
        return cache.adopt(place, folder / "part", sha256(folder / "part"))


def _differences(lock: LockedSource, known: LockedSource) -> list[str]:
    if (lock.kind, lock.resolved) != (known.kind, known.resolved):
        return [f"{lock.name}: locked at {known.resolved or known.kind}, now {lock.resolved or lock.kind}"]
    old = {(file.part, file.path): file for file in known.files}
    new = {(file.part, file.path): file for file in lock.files}
    lines = [f"{lock.name}: {path} (part {part}) is gone" for part, path in old.keys() - new.keys()]
    lines += [f"{lock.name}: {path} (part {part}) is new" for part, path in new.keys() - old.keys()]
    lines += [
        f"{lock.name}: {path}: locked {old[part, path].sha256}, {old[part, path].size} bytes; "
        f"now {file.sha256}, {file.size} bytes"
        for (part, path), file in new.items()
        if (part, path) in old and file.sha256 != old[part, path].sha256
    ]
    return lines

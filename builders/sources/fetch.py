"""Fetching all sources of a config, and comparing them with a lock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from builders.errors import SourceChanged, SourceMissing, UsageError
from builders.home import home
from builders.hub import shown_url
from builders.lock.committed import is_pinned
from builders.lock.lock import LockedSource, SourceFile
from builders.sources import repository
from builders.sources.cache import Cache, Say, Stored, stored_at
from builders.sources.plain import download, fetch_pinned, fetch_unpinned
from builders.spec import Files, HttpSource, HubSource, LocalFile, RecordedFile

_PlainFile = HttpSource | RecordedFile | LocalFile


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a config's sources, and the locks of those sources."""

    files: Files
    locks: tuple[LockedSource, ...]


def fetch(
    sources: Sequence[HubSource | _PlainFile],
    *,
    offline: bool,
    sources_from: Sequence[str] = (),
    root: Path | None = None,
    progress: Say | None = None,
    recorded: Sequence[LockedSource] = (),
    record: bool = False,
) -> Fetched:
    """Fetch every source, and lock what was fetched.

    Args:
        sources: Pinned upstreams.
        offline: Never touch the network, not even to look up a name.
        sources_from: Folders and base URLs that are looked into before the upstreams (`MTEB_DE_SOURCES`).
            Each holds plain files by name; a folder with ``datasets/OWNER/NAME`` also serves that Hub
            dataset. What is found there is locked as it is, as kind "folder", and compared with no pin.
        root: Folder of the cache; None for the default.
        progress: Called with a line for each download.
        recorded: Sources of the committed lock: they pin each `RecordedFile`.
        record: Fetch a `RecordedFile` that is not recorded, so that the lock to be written keeps its hash.

    Returns:
        The files by part (a plain file is a part of its own, under its name), and locks, in their order.
    """
    _refuse_equal_names(sources)
    places = tuple(_place(place) for place in sources_from)
    cache = Cache((root or home()).absolute())
    way = _Way(places, cache, offline, progress or (lambda _line: None), recorded, record)
    files: dict[str, list[Path]] = {}
    locks: list[LockedSource] = []
    for source in sources:
        if isinstance(source, LocalFile) and source.optional and not way.has(source):
            continue
        by_part, lock = way.dataset(source) if isinstance(source, HubSource) else way.file(source)
        files |= by_part
        locks.append(lock)
    return Fetched(files, tuple(locks))


def verify_against(locks: Sequence[LockedSource], committed: Sequence[LockedSource]) -> None:
    """Compare what was fetched with a committed lock; stand-ins are not compared.

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


def _refuse_equal_names(sources: Iterable[HubSource | _PlainFile]) -> None:
    parts = [source.parts if isinstance(source, HubSource) else [source] for source in sources]
    names = [part.name for several in parts for part in several]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"two parts of the sources are called {', '.join(map(repr, twice))}")


def _place(place: str) -> Path | str:
    if place.startswith(("http://", "https://")):
        return place.rstrip("/")
    folder = Path(place)
    if not folder.is_dir():
        hint = "MTEB_DE_SOURCES takes folders and base URLs, separated by commas."
        raise UsageError(f"{place}: not a folder", hint=hint)
    return folder


@dataclass(frozen=True, slots=True)
class _Way:
    """How sources are fetched; the attributes are the arguments of `fetch`, and where its files lie."""

    places: tuple[Path | str, ...]
    cache: Cache
    offline: bool
    say: Say
    recorded: Sequence[LockedSource]
    record: bool

    def dataset(self, source: HubSource) -> tuple[dict[str, list[Path]], LockedSource]:
        """Return the files of a dataset by part, from a folder that stands in or from the Hub."""
        here = [place for place in self.places if isinstance(place, Path)]
        folders = [repository.dataset_folder(place, source.repo) for place in here]
        folder = next((folder for folder in folders if folder.is_dir()), None)
        if folder is not None:
            commit, stored = "", repository.in_folder(source, folder)
        else:
            hub = self.cache.root / "hub"
            commit, stored = repository.on_the_hub(source, hub, offline=self.offline, say=self.say)
        lock = LockedSource(
            kind="hub" if commit else "folder",
            name=source.repo,
            revision=source.revision if commit else "",
            resolved=commit,
            licence=source.licence,
            files=tuple(
                SourceFile(part=part, path=path, sha256=file.sha256, size=file.size)
                for part, files in stored.items()
                for path, file in files.items()
            ),
        )
        return {part: [file.path for file in files.values()] for part, files in stored.items()}, lock

    def file(self, source: _PlainFile) -> tuple[dict[str, list[Path]], LockedSource]:
        """Return a plain file under its name: a stand-in, the user's own, or that of the upstream."""
        stored = self._stand_in(source.name)
        path, revision = source.name, ""
        if stored is None and isinstance(source, LocalFile):
            stored = _local_file(source, self.cache.root)
            revision = "" if source.is_stand_in(stored.path) else stored.sha256  # its own hash pins it
        elif stored is None:
            assert not isinstance(source, LocalFile)
            path, stored = source.url, self._of_the_upstream(source)
        return {source.name: [stored.path]}, LockedSource(
            kind="folder" if path == source.name else "http",
            name=source.name,
            revision=revision,
            licence=source.licence,
            files=(SourceFile(part=source.name, path=path, sha256=stored.sha256, size=stored.size),),
        )

    def has(self, source: LocalFile) -> bool:
        """Return whether a file lies on this machine, or where stand-ins do."""
        return _local_path(source, self.cache.root).is_file() or self._stand_in(source.name) is not None

    def _of_the_upstream(self, source: HttpSource | RecordedFile) -> Stored:
        pinned = source if isinstance(source, HttpSource) else _recorded_pin(source, self.recorded)
        if pinned is not None:
            return fetch_pinned(pinned, self.cache, offline=self.offline, say=self.say)
        if isinstance(source, RecordedFile) and self.record and not self.offline:
            return fetch_unpinned(source, self.cache, say=self.say)
        raise SourceMissing(
            f"{source.name}: no hash of it is recorded, so it is not fetched from {shown_url(source.url)}",
            hint="A maintainer records it with `mteb-de build CONFIG --update-lock`, which keeps it in "
            "the committed lock. A copy of yours is read from a folder that MTEB_DE_SOURCES names.",
        )

    def _stand_in(self, name: str) -> Stored | None:
        """Return the file as the first folder or base URL of the user's has it, or None."""
        for place in self.places:
            if isinstance(place, str):
                stored = self._from_base_url(place, name)
            else:
                stored = stored_at(place / name) if (place / name).is_file() else None
            if stored is not None:
                return stored
        return None

    def _from_base_url(self, base: str, name: str) -> Stored | None:
        """Return the file that stands in at a base URL, or None. It has no pin: it is fetched each time."""
        url = f"{base}/{quote(name)}"
        key = blake2b(url.encode(), digest_size=16).hexdigest()
        shelf = f"stand-ins/{key}"
        if self.offline:
            kept = sorted((self.cache.root / shelf).glob("*/*"), key=lambda path: path.stat().st_mtime_ns)
            found = self.cache.find(shelf, kept[-1].parent.name, name) if kept else None
            return found if isinstance(found, Stored) else None
        with self.cache.workspace(f"stand-in-{key}", self.say, keep=False) as folder:
            try:
                download(url, folder / "part", size=None)
            except SourceMissing:
                return None
            return self.cache.adopt(shelf, name, folder / "part")


def _local_path(source: LocalFile, root: Path) -> Path:
    return root / source.folder / source.name


def _local_file(source: LocalFile, root: Path) -> Stored:
    path = _local_path(source, root)
    if not path.is_file():
        raise SourceMissing(f"{source.name}: not in {path.parent}", hint=source.hint)
    return stored_at(path)


def _recorded_pin(source: RecordedFile, recorded: Iterable[LockedSource]) -> HttpSource | None:
    for lock in recorded:
        if lock.kind == "http" and lock.name == source.name and len(lock.files) == 1:
            (file,) = lock.files
            return HttpSource(source.name, source.url, file.sha256, file.size, source.licence)
    return None


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

"""Datasets on the Hub, at a pinned commit. What a commit holds cannot change, so it is asked for once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders import hub
from builders.errors import SourceChanged, SourceError, SourceMissing
from builders.files import safe_path, sha256
from builders.hub import RemoteFile, shown_url
from builders.lock.lock import Frozen, LockedSource, SourceFile
from builders.sources.cache import Cache, Lost, Say, Stored, meets
from builders.sources.readme import LARGEST, README, select

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from builders.spec import HubSource

_FETCH = "Run the same command once without `--offline`."
_ADVICE = hub.Advice(
    SourceMissing,
    check="Check the pin of this source.",
    network="Check the network, HF_ENDPOINT and the proxy; `--offline` builds from the cache.",
    busy="Run the same command again later; what is fetched is kept.",
)


class Resolved(Frozen):
    """The commit that a pin means, and the server that said so."""

    commit: str
    endpoint: str


class ListedFile(Frozen):
    """A file of a commit; `sha256` is empty where the Hub does not tell it, and `blob` is git's id there."""

    path: str
    size: int
    sha256: str
    blob: str


class Listing(Frozen):
    """All files of a commit."""

    files: tuple[ListedFile, ...]


def fetch_hub(
    source: HubSource,
    cache: Cache,
    *,
    offline: bool,
    say: Say,
) -> tuple[dict[str, list[Path]], LockedSource]:
    """Fetch the files of a pinned Hub dataset's parts, and no others but its README.

    Args:
        source: The pin.
        cache: Where the files land; what it holds is not asked for again.
        offline: Never touch the network.
        say: Told of each file that is downloaded.

    Returns:
        The files by part, in the order of the README's patterns, and the source's lock.

    Raises:
        SourceMissing: Dataset, revision, README config or file is not there; or, offline, not in the cache.
        SourceChanged: The pin no longer names the commit, or bytes differ from the listed hash.
        SourceError: README or file list cannot be read, or leaves the repository.
        RemoteError: The Hub refused, failed, or could not be reached.
        StorageError: The cache cannot be written.
    """
    snapshot = _Snapshot(source, cache, say, None if offline else hub.client())
    commit = snapshot.commit()
    listed = {file.path: file for file in snapshot.listing(commit).files}
    if README not in listed:
        raise SourceMissing(f"{source.repo}@{commit[:12]}: no {README}", hint="Check the pin of this source.")
    if listed[README].size > LARGEST:
        raise SourceError(f"{source.repo}: {README} has {listed[README].size} bytes, more than {LARGEST}")
    readme = snapshot.files(commit, [listed[README]])[README]
    selection = select(source.repo, source.parts, readme.path.read_bytes(), listed)
    wanted = {path: listed[path] for paths in selection.values() for path in paths}
    stored = snapshot.files(commit, wanted.values())
    return {part: [stored[path].path for path in paths] for part, paths in selection.items()}, LockedSource(
        kind="hub",
        name=source.repo,
        revision=source.revision,
        resolved=commit,
        licence=source.licence,
        files=tuple(
            SourceFile(part=part, path=path, sha256=stored[path].sha256, size=stored[path].size)
            for part, paths in selection.items()
            for path in paths
        ),
    )


@dataclass(frozen=True, slots=True)
class _Snapshot:
    """A pinned dataset, in the cache first and on the Hub (where `api` is given) second."""

    source: HubSource
    cache: Cache
    say: Say
    api: HfApi | None

    def commit(self) -> str:
        """Return the commit that the pin means."""
        repo, pin = self.source.repo, self.source.revision
        place = f"{self._place()}/pins/{safe_path(pin, what='revision', repo=repo)}.json"
        note = self.cache.note(place, Resolved)
        asked = note and (self.api is None or note.endpoint == shown_url(hub.endpoint()))
        if note and asked and note.commit.startswith(pin):
            return note.commit
        commit = hub.resolve(self._online("its commit"), repo, pin, advice=_ADVICE)
        if not commit.startswith(pin):
            raise SourceChanged(
                f"{repo}: pinned at {pin}, which now means {commit}",
                hint="A pin is a commit hash. Look at what changed, pin a new one, build with --update-lock.",
            )
        self.cache.write_note(place, Resolved(commit=commit, endpoint=shown_url(hub.endpoint())))
        return commit

    def listing(self, commit: str) -> Listing:
        """Return the files of the commit."""
        place = f"{self._place()}/{commit}.json"
        listing = self.cache.note(place, Listing)
        if listing is None:
            tree = hub.tree(self._online("its file list"), self.source.repo, commit, advice=_ADVICE)
            listing = Listing(files=tuple(_listed(path, file) for path, file in sorted(tree.items())))
            self.cache.write_note(place, listing)
        return listing

    def files(self, commit: str, wanted: Iterable[ListedFile]) -> dict[str, Stored]:
        """Return the wanted files by path; those that the cache lacks are downloaded."""
        found = {file: self._find(commit, file) for file in wanted}
        stored = {file.path: entry for file, entry in found.items() if isinstance(entry, Stored)}
        lost = {file: entry for file, entry in found.items() if isinstance(entry, Lost)}
        if lost:
            stored |= self._downloaded(commit, lost)
        return stored

    def _downloaded(self, commit: str, lost: dict[ListedFile, Lost]) -> dict[str, Stored]:
        first, reason = next(iter(lost.items()))
        size = sum(file.size for file in lost)
        api = self._online(f"{first.path} ({reason}; {len(lost)} files of {size:,} bytes are wanted)")
        stored: dict[str, Stored] = {}
        name = f"{self._place().replace('/', '-')}-{commit}"
        with self.cache.workspace(name, self.say, keep=False) as folder:
            for file in lost:
                entry = self._find(commit, file)  # another process may have been faster
                if not isinstance(entry, Stored):
                    self.say(f"{self.source.repo}: {file.path} ({file.size:,} bytes)")
                    entry = self._download(api, commit, file, folder)
                stored[file.path] = entry
        return stored

    def _download(self, api: HfApi, commit: str, file: ListedFile, folder: Path) -> Stored:
        local = hub.download(api, self.source.repo, file.path, commit, folder, advice=_ADVICE).resolve()
        digest, size = sha256(local), local.stat().st_size
        if size != file.size or not meets(local, digest, pinned=file.sha256 or None, blob=file.blob):
            local.unlink()
            raise SourceChanged(
                f"{self.source.repo}@{commit[:12]}: {file.path} is not what its commit lists:\n"
                f"  listed  {file.sha256 or f'git {file.blob}'}, {file.size} bytes\n"
                f"  arrived {digest}, {size} bytes",
                hint="Run the same command again; if it stays so, the upstream is broken.",
            )
        return self.cache.adopt(self._view(commit, file), local, digest)

    def _find(self, commit: str, file: ListedFile) -> Stored | Lost:
        return self.cache.find(self._view(commit, file), pinned=file.sha256 or None, blob=file.blob)

    def _online(self, what: str) -> HfApi:
        if self.api is None:
            raise SourceMissing(
                f"{self.source.repo}@{self.source.revision[:12]}: offline, and the cache lacks {what}",
                hint=_FETCH,
            )
        return self.api

    def _place(self) -> str:
        # What a stand-in serves under a commit's name must never pass for the Hub's.
        server = "stand-in" if hub.is_stand_in() else "hub"
        return f"{server}/{safe_path(self.source.repo, what='repository', repo=self.source.repo)}"

    def _view(self, commit: str, file: ListedFile) -> str:
        return f"{self._place()}/{commit}/{file.path}"


def _listed(path: str, file: RemoteFile) -> ListedFile:
    return ListedFile(path=path, size=file.size, sha256=file.sha256, blob="" if file.sha256 else file.oid)

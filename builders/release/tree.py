"""A release as a tree of files and splits: on this disk, or as a commit of a repository on the Hub."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from builders import checks, hub
from builders.checks.finding import Severity
from builders.describe.target import Version, version_of
from builders.errors import Refused, RemoteError, SourceError, StorageError, UsageError
from builders.files import FileIds, ids_of
from builders.hub import Api, hub_errors
from builders.lock.lock import MANIFEST, Manifest, read_manifest
from builders.printable import printable
from builders.sources.repository import card_configs, matching
from builders.tables import read_frame
from builders.text_files import parse_json

_CARD = "README.md"
_CROISSANT = "croissant.jsonld"
_GITATTRIBUTES = ".gitattributes"
_MOST_SPLITS = 1000


class Split(NamedTuple):
    """A split of a config, as `load_dataset` names it."""

    config: str
    split: str

    def __str__(self) -> str:
        """Return "jobs-qrels/test"."""
        return f"{self.config}/{self.split}"


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """The files of a split, and number and content hash of its rows: None and "" where they are not known."""

    paths: tuple[str, ...]
    rows: int | None = None
    content: str = ""

    def equals(self, other: SplitFiles) -> bool:
        """Return whether both are known to hold the same rows."""
        return bool(self.content) and self.content == other.content


@dataclass(frozen=True, slots=True)
class Tree:
    """All files of a release by path, and the splits that they hold.

    Attributes:
        read: Function that reads the rows of a split.
        by: Source of the splits: our manifest, or the card and its parquet files.
        release: The release whose manifest it holds; "" where there is none of ours.
        version: Version in its Croissant, "" where there is none. After a rollback it is not that of the tag.
        date: Day of publication in its Croissant.
    """

    splits: Mapping[Split, SplitFiles]
    files: Mapping[str, FileIds]
    read: Callable[[Split], pl.DataFrame]
    by: Literal["manifest", "parquet", "nothing"]
    release: str = ""
    version: str = ""
    date: datetime.date | None = None


NOTHING = Tree({}, {}, lambda split: pl.DataFrame(), "nothing")
"""The tree of a repository that is not there."""


@dataclass(frozen=True, slots=True)
class Remote:
    """What a repository holds now: its commits by tag, and its files by path as of `read_files`.

    Attributes:
        head: The commit of `main`; None where there is no repository, or the token may not see it.
        gated: Whether its files are handed out only to those who were let in.
    """

    head: str | None
    private: bool
    tags: Mapping[str, str]
    files: Mapping[str, FileIds]
    gated: bool = False

    @property
    def versions(self) -> list[Version]:
        """The versions among the tags, the highest first; tags that name none are left out."""
        return sorted(filter(None, map(version_of, self.tags)), reverse=True)

    @property
    def latest(self) -> Version | None:
        """The highest version."""
        return next(iter(self.versions), None)

    @property
    def head_is(self) -> tuple[str, ...]:
        """The tags of the head."""
        return tuple(sorted(tag for tag, commit in self.tags.items() if commit == self.head))

    def commit(self, repo: str, revision: str) -> str:
        """Return the commit of a tag, or of "main"; refuse another name."""
        if revision in self.tags:
            return self.tags[revision]
        if revision == "main" and self.head is not None:
            return self.head
        known = ", ".join(sorted(self.tags)) or "none"
        raise UsageError(f"{repo} has no tag {revision!r}", hint=f"Tags there: {known}.")


ABSENT = Remote(None, private=False, tags={}, files={})


def read_remote(api: Api, repo: str) -> Remote:
    """Return what a dataset repository holds now; reads only."""
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    if not sys.stderr.isatty():
        disable_progress_bars()
    with hub_errors(f"reading {repo}"):
        try:
            info = api.repo_info(repo, repo_type="dataset")
        except GatedRepoError:
            raise
        except RepositoryNotFoundError:
            return ABSENT
        assert info.sha is not None
    files = read_files(api, repo, info.sha)
    return Remote(info.sha, bool(info.private), read_tags(api, repo), files, gated=bool(info.gated))


def read_tags(api: Api, repo: str) -> dict[str, str]:
    """Return the commits by tag."""
    with hub_errors(f"reading the tags of {repo}"):
        tags = api.list_repo_refs(repo, repo_type="dataset").tags
        return {tag.name: tag.target_commit for tag in tags}


def read_files(api: Api, repo: str, commit: str) -> dict[str, FileIds]:
    """Return the files of a commit by path, without the Hub's own `.gitattributes`."""
    return {path: file for path, file in hub.tree(api, repo, commit).items() if path != _GITATTRIBUTES}


def same_bytes(one: FileIds, other: FileIds) -> bool:
    """Return whether two files hold the same bytes by their ids: git has none of an LFS object itself."""
    equal_ids = one.sha256 == other.sha256 if one.sha256 and other.sha256 else one.oid == other.oid
    return one.size == other.size and equal_ids


def differences(wanted: Mapping[str, FileIds], found: Mapping[str, FileIds]) -> list[str]:
    """Return the sorted paths whose files differ from the wanted ones, with what differs."""
    faults = {path: "missing" for path in wanted.keys() - found.keys()}
    faults |= {path: "not planned" for path in found.keys() - wanted.keys()}
    common = wanted.keys() & found.keys()
    faults |= {path: "other bytes" for path in common if not same_bytes(wanted[path], found[path])}
    return [f"{printable(path)}: {fault}" for path, fault in sorted(faults.items())]


def paths_in(folder: Path) -> set[str]:
    """Return the paths of all files in a folder, with forward slashes."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def check_tree(out: Path, release: str, ids: Callable[[Path], FileIds]) -> None:
    """Refuse a release whose files are other than locked, or whose licences are not admitted."""
    found = checks.check_release(out, release, rendered=False, sha256=lambda path: ids(path).sha256)
    errors = [finding for finding in found if finding.severity is Severity.ERROR]
    if errors:
        lines = [f"{error.code}: {error.message}\n  " + "\n  ".join(error.examples) for error in errors]
        raise Refused(f"{release} is not as it was built:\n" + "\n".join(lines), hint=errors[0].hint)


def local_tree(
    folder: Path, rendered: Mapping[str, bytes] | None = None, ids: Callable[[Path], FileIds] = ids_of
) -> Tree:
    """Return the tree of a release in a folder; its manifest counts where it names the very bytes.

    Card, Croissant and licences are those rendered, not what lies there of an earlier plan.
    """
    manifest = read_manifest(folder / MANIFEST)
    files = {path: ids(folder / path) for path in (MANIFEST, *(file.path for file in manifest.files))}
    files |= {path: ids_of(data) for path, data in (rendered or {}).items()}
    splits = _manifest_splits(manifest, files)

    def read(split: Split) -> pl.DataFrame:
        return pl.concat(read_frame(folder / path) for path in splits[split].paths)

    return Tree(splits, files, read, "manifest", manifest.release)


def remote_tree(api: Api, repo: str, remote: Remote, commit: str, folder: Path) -> Tree:
    """Return the tree of a published commit; only what must be read is downloaded, to `folder`.

    An entry of the manifest counts where the repository holds the very bytes that it names.
    """
    files = remote.files if commit == remote.head else read_files(api, repo, commit)

    def fetch(path: str) -> Path:
        target = hub.download(api, repo, path, commit, folder)
        if not same_bytes(ids_of(target), files[path]):
            message = f"{path} of {repo}@{commit} came otherwise than the Hub lists it"
            raise RemoteError(message, hint="Try again.")
        return target

    manifest = _our_manifest(fetch(MANIFEST)) if MANIFEST in files else None
    if manifest is not None:
        splits = _manifest_splits(manifest, files)
    else:
        splits = _card_splits(fetch(_CARD).read_bytes(), files) if _CARD in files else {}

    def read(split: Split) -> pl.DataFrame:
        paths = [fetch(path) for path in splits[split].paths]
        try:
            return pl.concat(map(read_frame, paths))
        except (StorageError, pl.exceptions.PolarsError) as error:
            what = f"{printable(str(split))} of {repo}@{commit}"
            message = f"{what} cannot be read as parquet ({type(error).__name__})"
            raise RemoteError(message, hint="Compare with another --revision.") from error

    if manifest is None:
        return Tree(splits, files, read, "parquet")
    version, date = _version_and_date(fetch(_CROISSANT)) if _CROISSANT in files else ("", None)
    return Tree(splits, files, read, "manifest", manifest.release, version, date)


def _manifest_splits(manifest: Manifest, files: Mapping[str, FileIds]) -> dict[Split, SplitFiles]:
    found = {}
    for file in manifest.files:
        if file.path in files:
            held = files[file.path].sha256 == file.sha256
            known = SplitFiles((file.path,), file.rows, file.content) if held else SplitFiles((file.path,))
            found[Split(file.config, file.split)] = known
    return found


def _our_manifest(path: Path) -> Manifest | None:
    """Return a manifest that this code understands, None for another's file of that name or a newer one."""
    try:
        return read_manifest(path)
    except StorageError:
        return None


def _version_and_date(path: Path) -> tuple[str, datetime.date | None]:
    """Return version and date of a Croissant document, as far as it has them."""
    try:
        document = parse_json(path.read_bytes())
        return str(document["version"]), datetime.date.fromisoformat(document["datePublished"])
    except (ValueError, KeyError, TypeError):
        return "", None


def _card_splits(readme: bytes, paths: Iterable[str]) -> dict[Split, SplitFiles]:
    """Return the splits that a card offers and whose files are parquet and there.

    `datasets` guesses splits from file names where a card names none, and a guess is no ground for a version.
    """
    try:
        configs = card_configs(_CARD, readme)
    except SourceError:
        return {}
    parquet = [path for path in paths if path.endswith(".parquet")]
    found: dict[Split, SplitFiles] = {}
    for name, config in configs.items():
        for split, patterns in _offered(config):
            files = tuple(dict.fromkeys(path for pattern in patterns for path in matching(pattern, parquet)))
            if files and len(found) < _MOST_SPLITS:
                found.setdefault(Split(name, split), SplitFiles(files))
    return found


def _offered(config: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """Yield the splits that a config of a card names, with their patterns."""
    entries, folder = config.get("data_files"), config.get("data_dir")
    prefix = f"{folder}/" if isinstance(folder, str) else ""
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and isinstance(entry.get("split"), str):
            value = entry.get("path")
            patterns = value if isinstance(value, list) else [value]
            yield entry["split"], [prefix + text for text in patterns if isinstance(text, str)]

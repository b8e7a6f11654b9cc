"""Datasets laid out as on the Hub: the README says which files are which part.

The Hub is asked once: files lie in a cache of its client's layout, each held against the hash that the commit
lists. `datasets` would resolve the README's patterns only over files that are all there, or the network.
"""

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import hub
from builders.errors import SourceChanged, SourceError, SourceMissing
from builders.files import FileIds, ids_of, readable, safe_path, write_bytes
from builders.printable import quoted
from builders.sources.cache import CacheMiss, Say, Stored, stored_at
from builders.spec import HubSource, Part

_Selection = dict[str, dict[str, Stored]]
"""The files of a dataset: by part, then by path in the order of the README's patterns."""
_README = "README.md"
_LARGEST = 4 << 20
_LARGEST_HEADER = 128 << 10
_LOOK = "Look at the README of the dataset: the pinned revision may be the wrong one."
_ADVICE = hub.Advice(
    SourceMissing,
    check="Check the pin of this source.",
    network="Check the network, HF_ENDPOINT and the proxy; `--offline` builds from the cache.",
    busy="Run the same command again later; what is fetched is kept.",
)


def dataset_folder(root: Path, repo: str) -> Path:
    """Return where a Hub dataset lies under `root`, whether it is there or not."""
    return root / "datasets" / repo


def in_folder(source: HubSource, folder: Path) -> _Selection:
    """Find the files of a dataset's parts in a folder of the user's, whatever the pin."""
    readme = folder / _README
    needed = "The folder needs the dataset's README: its `configs` say which files are which."
    with readable(readme, absent=needed), readme.open("rb") as file:
        data = file.read(_LARGEST + 1)
    paths = [file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()]
    selected = _select(source.repo, source.parts, data, paths)
    return {part: {path: stored_at(folder / path) for path in paths} for part, paths in selected.items()}


def on_the_hub(source: HubSource, cache: Path, *, offline: bool, say: Say) -> tuple[str, _Selection]:
    """Fetch the files of a pinned dataset's parts, and no others but its README.

    Args:
        source: The pin.
        cache: Folder of the Hub's files; another endpoint gets a folder beside it.
        offline: Never touch the network.
        say: Called with a line for each file that is downloaded.

    Returns:
        The commit, and the files.

    Raises:
        SourceChanged: The pin no longer names the commit, or bytes differ from the listed hash.
        SourceMissing: The README is not there.
        SourceError: The README is too large.
    """
    repo, pin, cache = source.repo, source.revision, hub.cache_folder(cache)
    api = hub.client()
    commit = hub.resolve(api, repo, pin, advice=_ADVICE, cache=cache, offline=offline)
    if not commit.startswith(pin):
        raise SourceChanged(
            f"{repo}: pinned at {pin}, which now means {commit}",
            hint="A pin is a commit hash. Look at what changed, pin a new one, build with --update-lock.",
        )
    dataset = _Dataset(api, repo, commit, cache, offline, say)
    listed = dataset.listed()
    if _README not in listed:
        raise SourceMissing(f"{repo}@{commit[:12]}: no {_README}", hint=_ADVICE.check)
    if listed[_README].size > _LARGEST:
        raise SourceError(f"{repo}: {_README} has more than {_LARGEST} bytes", hint=_LOOK)
    readme = dataset.files({_README: listed[_README]})[_README].path.read_bytes()
    selected = _select(repo, source.parts, readme, listed)
    stored = dataset.files({path: listed[path] for paths in selected.values() for path in paths})
    return commit, {part: {path: stored[path] for path in paths} for part, paths in selected.items()}


@dataclass(frozen=True, slots=True)
class _Dataset:
    """A commit of a dataset on the Hub, of which `cache` holds files."""

    api: hub.Api
    repo: str
    commit: str
    cache: Path
    offline: bool
    say: Say

    def listed(self) -> dict[str, FileIds]:
        """Return all files of the commit, sorted by path; the list is kept in the cache."""
        from pydantic import TypeAdapter, ValidationError

        kind = TypeAdapter(dict[str, FileIds])
        kept = self.cache / "listings" / self.repo / f"{self.commit}.json"
        try:
            return kind.validate_json(kept.read_bytes())
        except (OSError, ValidationError):
            if self.offline:
                raise self._not_cached("its file list") from None
        tree = dict(sorted(hub.tree(self.api, self.repo, self.commit, advice=_ADVICE).items()))
        write_bytes(kept, kind.dump_json(tree))
        return tree

    def files(self, wanted: Mapping[str, FileIds]) -> dict[str, Stored]:
        """Return files by path, after hashing each; those that the cache lacks are downloaded."""
        from huggingface_hub.file_download import repo_folder_name

        folder = self.cache / repo_folder_name(repo_id=self.repo, repo_type="dataset")
        snapshot = folder / "snapshots" / self.commit
        found = {path: _cached(snapshot / path, file) for path, file in wanted.items()}
        misses = {path: miss for path, miss in found.items() if isinstance(miss, CacheMiss)}
        if self.offline and misses:
            first, size = next(iter(misses)), sum(wanted[path].size for path in misses)
            raise self._not_cached(f"{first} ({misses[first]}; {len(misses)} files of {size:,} bytes)")
        stored = {path: file for path, file in found.items() if isinstance(file, Stored)}
        for path, miss in misses.items():
            self.say(f"{self.repo}: {path} ({wanted[path].size:,} bytes)")
            damaged = miss is CacheMiss.DAMAGED
            if damaged:  # the client would leave a link that leads elsewhere
                (snapshot / path).unlink()
            local = hub.download(
                self.api, self.repo, path, self.commit, self.cache, advice=_ADVICE, again=damaged
            )
            stored[path] = self._checked(path, wanted[path], local)
        return stored

    def _checked(self, path: str, listed: FileIds, local: Path) -> Stored:
        """Return a downloaded file; one that is not what its commit lists is removed."""
        stored = stored_at(local)
        if _is(stored, listed):
            return stored
        local.resolve().unlink()
        local.unlink(missing_ok=True)
        raise SourceChanged(
            f"{self.repo}@{self.commit[:12]}: {path} is not what its commit lists:\n"
            f"  listed  {listed.sha256 or f'git {listed.oid}'}, {listed.size} bytes\n"
            f"  arrived {stored.sha256}, {stored.size} bytes",
            hint="Run the same command again; if it stays so, the upstream is broken.",
        )

    def _not_cached(self, what: str) -> SourceMissing:
        return SourceMissing(
            f"{self.repo}@{self.commit[:12]}: offline, and the cache lacks {what}",
            hint="Run the same command once without `--offline`.",
        )


def _cached(path: Path, listed: FileIds) -> Stored | CacheMiss:
    if not path.is_file():
        return CacheMiss.ABSENT
    stored = stored_at(path)
    return stored if _is(stored, listed) else CacheMiss.DAMAGED


def _is(stored: Stored, listed: FileIds) -> bool:
    if listed.sha256:
        return (stored.sha256, stored.size) == (listed.sha256, listed.size)
    return stored.size == listed.size and ids_of(stored.path).oid == listed.oid


def _select(repo: str, parts: Sequence[Part], readme: bytes, paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of each part's first config that exists, in the order of the README's patterns."""
    configs = card_configs(f"{repo}: {_README}", readme)
    names = list(paths)
    selection: dict[str, list[str]] = {}
    for part in parts:
        config = next((name for name in part.configs if name in configs), None)
        if config is None:
            found = quoted(configs) or "none"
            wanted = f"{' or '.join(map(repr, part.configs))} (part {part.name!r})"
            raise SourceMissing(f"{repo}: {_README} has no config {wanted}; found {found}", hint=_LOOK)
        files: dict[str, None] = {}
        for pattern in _patterns(f"{repo}: {_README}, config {config!r}", repo, configs[config]):
            matched = matching(pattern, names)
            if not matched:
                problem = f"config {config!r}: no file matches {pattern!r} ({len(names)} files)"
                raise SourceMissing(f"{repo}: {problem}", hint=_LOOK)
            files |= dict.fromkeys(matched)
        selection[part.name] = list(files)
    return selection


def matching(pattern: str, paths: Iterable[str]) -> list[str]:
    """Return the paths that a `data_files` pattern of a README names, sorted, as on the Hub.

    `*`, `?` and `[…]` stay inside one folder and a part `**` spans folders; names that begin with a dot, and
    folders that begin with two underscores, are found only by a pattern that says so. The time for a path is
    at most its length times the pattern's: `fnmatch` does not backtrack since Python 3.9.
    """
    wanted = pattern.split("/")
    return sorted(path for path in paths if _matches(wanted, path.split("/")))


def card_configs(where: str, readme: bytes) -> dict[str, Mapping[str, Any]]:
    """Return the README's `configs` by name."""
    entries = _header(where, readme).get("configs")
    if entries is None:
        raise SourceMissing(f"{where} names no configs", hint=_LOOK)
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise SourceError(f"{where}: `configs` is not a list of mappings", hint=_LOOK)
    configs: dict[str, Mapping[str, Any]] = {}
    for entry in entries:
        name = entry.get("config_name", "default")
        if not isinstance(name, str) or name in configs:
            raise SourceError(f"{where}: config_name {str(name)[:100]!r} is not a name or not unique")
        configs[name] = entry
    return configs


def _header(where: str, readme: bytes) -> Mapping[str, Any]:
    """Return the YAML between the first two lines of three dashes."""
    import yaml

    if len(readme) > _LARGEST:
        raise SourceError(f"{where} has more than {_LARGEST} bytes", hint=_LOOK)
    try:
        lines = readme.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise SourceError(f"{where} is not UTF-8 (byte {error.start})", hint=_LOOK) from error
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"][:2]
    if len(fences) < 2 or fences[0] != 0:
        raise SourceMissing(f"{where} has no YAML header, so it names no configs", hint=_LOOK)
    header = "\n".join(lines[1 : fences[1]])
    if len(header) > _LARGEST_HEADER:
        raise SourceError(f"{where}: the YAML header is longer than {_LARGEST_HEADER} characters", hint=_LOOK)
    try:
        # BaseLoader is the safe loader without its types: no merge keys that grow, no numbers, and a
        # config called `no` or `2020` keeps its name.
        document = yaml.load(header, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 2}" if mark else ""
        problem = str(getattr(error, "problem", None) or type(error).__name__)[:100]
        raise SourceError(f"{where}{line}: not YAML ({problem})", hint=_LOOK) from error
    if not isinstance(document, dict):
        raise SourceError(f"{where}: the YAML header is not a mapping", hint=_LOOK)
    return document


def _patterns(where: str, repo: str, config: Mapping[str, Any]) -> list[str]:
    """Return the patterns of all splits: a string, strings, or mappings with `path` (a string or strings)."""
    data_files = config.get("data_files")
    if data_files is None:
        raise SourceMissing(f"{where} names no data_files", hint=_LOOK)
    patterns: list[Any] = []
    for entry in data_files if isinstance(data_files, list) else [data_files]:
        value = entry.get("path") if isinstance(entry, dict) else entry
        patterns += value if isinstance(value, list) else [value]
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise SourceError(f"{where}: data_files is not a list of paths", hint=_LOOK)
    folder = config.get("data_dir")
    prefix = f"{folder}/" if isinstance(folder, str) else ""
    return [safe_path(prefix + pattern, what="pattern", repo=repo) for pattern in patterns]


def _matches(pattern: list[str], path: list[str]) -> bool:
    """Match part by part; on a mismatch the last `**` takes one part more."""
    last = len(path) - 1
    at, position = 0, 0
    retry: tuple[int, int] | None = None
    while position <= last:
        if pattern[at : at + 1] == ["**"]:
            at += 1
            retry = at, position
        elif at < len(pattern) and _fits(pattern[at], path[position], folder=position < last):
            at, position = at + 1, position + 1
        elif retry is not None and not _mark(path[retry[1]], folder=retry[1] < last):
            at, position = retry[0], retry[1] + 1
            retry = at, position
        else:
            return False
    return at == len(pattern)


def _fits(pattern: str, name: str, *, folder: bool) -> bool:
    if not re.search(r"[*?\[]", pattern):
        return pattern == name
    return pattern.startswith(_mark(name, folder=folder)) and fnmatch.fnmatchcase(name, pattern)


def _mark(name: str, *, folder: bool) -> str:
    """Return the prefix that hides a name from wildcards, or nothing."""
    if name.startswith("."):
        return "."
    return "__" if folder and name.startswith("__") else ""

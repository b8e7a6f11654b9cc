"""What a dataset's README says about its files. Pure: bytes and file names in, file names out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from builders.errors import SourceError, SourceMissing
from builders.files import safe_path
from builders.sources.patterns import matching

if TYPE_CHECKING:
    from builders.spec import Part

README = "README.md"
LARGEST = 4 << 20
_LARGEST_HEADER = 128 << 10
_MOST_PATTERNS = 1000
_LOOK = "Look at the README of the dataset: the pinned revision may be the wrong one."


def select(repo: str, parts: Sequence[Part], readme: bytes, paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the files of each part, in the order of the README's patterns, each pattern's sorted.

    Args:
        repo: For messages.
        parts: For each, the first README config that exists is taken, with all its splits.
        readme: The README's bytes.
        paths: Files of the repository.

    Raises:
        SourceMissing: No README config has a wanted name, or a pattern matches no file.
        SourceError: The README cannot be read, or a pattern leaves the repository.
    """
    configs = _configs(repo, readme)
    names = list(paths)
    selection: dict[str, list[str]] = {}
    for part in parts:
        config = next((name for name in part.configs if name in configs), None)
        if config is None:
            raise SourceMissing(
                f"{repo}: {README} has no config {' or '.join(map(repr, part.configs))} "
                f"(part {part.name!r}); found {', '.join(map(repr, list(configs)[:20])) or 'none'}",
                hint=_LOOK,
            )
        files: dict[str, None] = {}
        for pattern in _patterns(f"{repo}: {README}, config {config!r}", repo, configs[config]):
            found = matching(pattern, names)
            if not found:
                raise SourceMissing(
                    f"{repo}: config {config!r}: no file matches {pattern!r} ({len(names)} files)", hint=_LOOK
                )
            files |= dict.fromkeys(found)
        selection[part.name] = list(files)
    return selection


def _configs(repo: str, readme: bytes) -> dict[str, Mapping[str, Any]]:
    """Return the README's `configs` by name."""
    where = f"{repo}: {README}"
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
    if len(readme) > LARGEST:
        raise SourceError(f"{where} has {len(readme)} bytes, more than {LARGEST}", hint=_LOOK)
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
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f", line {mark.line + 2}" if mark else ""
        raise SourceError(f"{where}{line}: not YAML ({str(error.problem)[:100]})", hint=_LOOK) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise SourceError(
            f"{where}: not YAML that can be read ({type(error).__name__})", hint=_LOOK
        ) from error
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
        if len(patterns) > _MOST_PATTERNS:
            raise SourceError(f"{where}: more than {_MOST_PATTERNS} patterns in data_files", hint=_LOOK)
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise SourceError(f"{where}: data_files is not a list of paths", hint=_LOOK)
    folder = config.get("data_dir")
    prefix = f"{folder}/" if isinstance(folder, str) else ""
    return [safe_path(prefix + pattern, what="pattern", repo=repo) for pattern in patterns]

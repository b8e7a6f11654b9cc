"""Which files a dataset repository offers as which split, for one that has no manifest. Pure.

Only what the card says counts: `datasets` guesses splits from file names where a card names none, and a guess
is no ground for a version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from builders.errors import SourceError
from builders.files import safe_path
from builders.release.diff import Listed, Listing, Split
from builders.sources.patterns import matching

_LARGEST = 4 << 20
_LONGEST_HEADER = 128 << 10
_MOST_SPLITS = 1000


def card_layout(readme: bytes, paths: Iterable[str]) -> Listing:
    """Return the splits that a card offers and whose files are parquet and there.

    Args:
        readme: The README.md; one without readable `configs` offers nothing.
        paths: The files of the repository.
    """
    parquet = [path for path in paths if path.endswith(".parquet")]
    found: dict[Split, Listed] = {}
    for number, (split, patterns) in enumerate(_splits(_header(readme))):
        if number == _MOST_SPLITS:
            break
        files = dict.fromkeys(path for pattern in patterns for path in matching(pattern, parquet))
        if files and split not in found:
            found[split] = Listed(tuple(files))
    return found


def _header(readme: bytes) -> Mapping[Any, Any]:
    """Return the card's YAML with every scalar as text, or nothing where it cannot be read."""
    lines = readme[:_LARGEST].decode("utf-8-sig", errors="replace").split("\n")
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"][:2]
    header = "\n".join(lines[1 : fences[1]]) if len(fences) == 2 and fences[0] == 0 else ""
    if len(header) > _LONGEST_HEADER:
        return {}
    try:
        # as the safe loader, but a config called `no` or `2020` keeps its name
        document = yaml.load(header, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _splits(header: Mapping[Any, Any]) -> Iterator[tuple[Split, list[str]]]:
    for config in _mappings(header.get("configs")):
        name, folder = config.get("config_name", "default"), config.get("data_dir")
        prefix = f"{folder}/" if isinstance(folder, str) else ""
        for entry in _mappings(config.get("data_files")):
            split, value = entry.get("split"), entry.get("path")
            paths = value if isinstance(value, list) else [value]
            patterns = [prefix + path for path in paths if isinstance(path, str)]
            if isinstance(name, str) and isinstance(split, str):
                yield Split(name, split), [pattern for pattern in patterns if _stays_inside(pattern)]


def _mappings(value: object) -> list[dict[Any, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _stays_inside(pattern: str) -> bool:
    try:
        return bool(safe_path(pattern, what="pattern", repo=""))
    except SourceError:
        return False

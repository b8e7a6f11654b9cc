"""Why a Hub refuses something: its answer, and the metadata of a card judged as strictly as it does, or more.

The Hub's validator is not public. Errors here are what it is known to refuse; what it only warns of is an
error too, since a warning would be lost in a rehearsal.
"""

import importlib.util
import json
from collections import Counter
from collections.abc import Hashable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

_CREATORS = frozenset("found crowdsourced expert-generated machine-generated other".split())
_ENUMS: dict[str, frozenset[str]] = {
    "license": frozenset(
        "cc0-1.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-4.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 "
        "apache-2.0 mit odbl odc-by other".split()
    ),
    "size_categories": frozenset("n<1K 1K<n<10K 10K<n<100K 100K<n<1M 1M<n<10M 10M<n<100M 100M<n<1B".split()),
    "task_categories": frozenset(
        "feature-extraction question-answering sentence-similarity text-classification text-ranking "
        "text-retrieval zero-shot-classification other".split()
    ),
    "annotations_creators": _CREATORS | {"no-annotation"},
    "language_creators": _CREATORS,
    "multilinguality": frozenset("monolingual multilingual translation other".split()),
}
"""The Hub's values by field, as far as a benchmark of texts can need them."""
_LISTS = ("tags", "task_ids", "source_datasets", "task_categories")


class HubError(Exception):
    """A refusal, as the Hub answers it: HTTP status, message, ``X-Error-Code`` and ``X-Repo-Commit``."""

    def __init__(self, status: int, message: str, code: str = "", commit: str = "") -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.commit = status, message, code, commit


def card_errors(content: bytes) -> list[str]:
    """Return the faults in the metadata of a README.md."""
    try:
        data = yaml.load(_front_matter(content.decode()), Loader=_Loader)
    except UnicodeDecodeError as error:
        return [f"README.md is not UTF-8 ({error.reason} at byte {error.start})"]
    except yaml.YAMLError as error:
        return [f"bad YAML: {' '.join(str(error).split())}"]
    if data is None or isinstance(data, dict):
        return list(_faults(data or {}))
    return ["the metadata must be a mapping"]


class _Loader(yaml.SafeLoader):
    """The safe loader, which refuses a mapping with a key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        twice = [key for key, count in keys.items() if count > 1]
        if twice:
            raise yaml.YAMLError(f"duplicated mapping key {twice[0]!r}")
        return super().construct_mapping(node, deep=deep)


def _front_matter(text: str) -> str:
    lines = [line.rstrip() for line in text.removeprefix("\ufeff").lstrip().splitlines()]
    if not lines or lines[0] != "---":
        return ""
    if "---" not in lines[1:]:
        raise yaml.YAMLError("the block that --- opens is not closed")
    return "\n".join(lines[1 : lines.index("---", 1)])


@cache
def _language_codes() -> frozenset[str]:
    spec = importlib.util.find_spec("datasets")
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders or [""]))) / "utils" / "resources" / "languages.json"
    return frozenset(json.loads(path.read_bytes())) | {"code", "multilingual"}


def _not_in(data: dict[Any, Any], key: str, allowed: frozenset[str]) -> Iterator[str]:
    for value in _many(data.get(key, [])):
        if not isinstance(value, str) or value not in allowed:
            yield f'"{key}" must be one of the Hub\'s lower-case values, not {value!r}'


def _many(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _faults(data: dict[Any, Any]) -> Iterator[str]:
    for key, allowed in (_ENUMS | {"language": _language_codes()}).items():
        yield from _not_in(data, key, allowed)
    if data.get("license") == "other" and not data.get("license_name"):
        yield '"license_name" is required where "license" is other'
    for key in _LISTS:
        if not _are_all(data.get(key, []), str):
            yield f'"{key}" must be a list of strings'
    if not isinstance(data.get("pretty_name", ""), str):
        yield '"pretty_name" must be a string'
    for key in ("configs", "dataset_info"):
        entries = data.get(key, [])
        if not _are_all(entries, dict):
            yield f'"{key}" must be a list of mappings'
            continue
        names = [entry.get("config_name") for entry in entries]
        if not all(isinstance(name, str) and name for name in names):
            yield f'"{key}" must name its config_name as a string'
        elif len(set(names)) != len(names):
            yield f'"{key}" has a config_name twice'
        found = [entry["data_files"] for entry in entries if entry.get("data_files") is not None]
        if not all(_is_data_file(file) for files in found for file in _many(files)):
            yield f'"{key}": data_files must be paths, or pairs of split and path'


def _are_all(values: object, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(value, kind) for value in values)


def _is_data_file(entry: object) -> bool:
    if not isinstance(entry, dict):
        return isinstance(entry, str)
    paths = _many(entry.get("path"))
    return isinstance(entry.get("split"), str) and bool(paths) and _are_all(paths, str)

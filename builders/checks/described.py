"""Rules on what describes a release: card and Croissant against the files they speak of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from builders.checks.findings import Code
from builders.checks.model import Finding, Severity
from builders.lock.lock import Lock, PublishedFile

_PLAN = "Make the plan again: it renders card and Croissant from the locks."

CARD = Code("card-differs", Severity.ERROR, "places in which the card differs from the tables", _PLAN)
CROISSANT = Code(
    "croissant-differs", Severity.ERROR, "places in which Croissant differs from the files", _PLAN
)
CODES = (CARD, CROISSANT)

Splits = dict[str, dict[str, Any]]
"""What is known of each split, by config and split."""


def check_described(folder: Path, locks: Mapping[str, Lock]) -> Iterator[Finding]:
    """Compare README.md and croissant.jsonld, where they are rendered already, with the locks.

    Args:
        folder: The folder of the release.
        locks: The locks of its configs.
    """
    files = [file for lock in locks.values() for file in lock.files]
    card, croissant = folder / "README.md", folder / "croissant.jsonld"
    if card.is_file():
        faults = sorted(_card_faults(card.read_text(encoding="utf-8", errors="replace"), files))
        yield from CARD.counted(len(faults), faults)
    if croissant.is_file():
        faults = sorted(_croissant_faults(croissant.read_bytes(), files))
        yield from CROISSANT.counted(len(faults), faults)


def _card_faults(text: str, files: list[PublishedFile]) -> Iterator[str]:
    wanted: Splits = {}
    for file in files:
        if file.rows:
            facts = {"path": file.path, "num_examples": file.rows, "num_bytes": file.arrow_bytes}
            wanted.setdefault(file.config, {})[file.split] = facts
    try:
        told = _told_by_card(text)
    except (AttributeError, IndexError, KeyError, TypeError, yaml.YAMLError) as error:
        yield f"its metadata cannot be read ({type(error).__name__})"
        return
    yield from _differences("", told, wanted)


def _told_by_card(text: str) -> Splits:
    metadata = yaml.safe_load(text.split("---\n", 2)[1])
    told: Splits = {
        config["config_name"]: {entry["split"]: {"path": entry["path"]} for entry in config["data_files"]}
        for config in metadata["configs"]
    }
    for info in metadata["dataset_info"]:
        for split in info["splits"]:
            facts = {name: split[name] for name in ("num_examples", "num_bytes")}
            told.setdefault(info["config_name"], {}).setdefault(split["name"], {}).update(facts)
    return told


def _differences(where: str, told: object, wanted: object) -> Iterator[str]:
    if isinstance(told, dict) and isinstance(wanted, dict):
        for name in told.keys() | wanted.keys():
            yield from _differences(f"{where} {name}".strip(), told.get(name), wanted.get(name))
    elif told != wanted:
        yield f"{where}: says {_short(told)}, and the lock {_short(wanted)}"


def _short(value: object) -> str:
    return "nothing" if value is None else "a split" if isinstance(value, dict) else ascii(value)


def _croissant_faults(data: bytes, files: list[PublishedFile]) -> Iterator[str]:
    wanted = {file.path: (file.sha256, f"{file.size} B") for file in files}
    try:
        told = {
            entry["@id"]: (entry["sha256"], entry["contentSize"])
            for entry in json.loads(data)["distribution"]
        }
    except (KeyError, TypeError, ValueError) as error:
        yield f"it cannot be read ({type(error).__name__})"
        return
    for path in told.keys() | wanted.keys():
        if path not in told:
            yield f"{path}: is not in it"
        elif path not in wanted:
            yield f"{path}: is no file of the release"
        elif told[path] != wanted[path]:
            yield f"{path}: has another sha256 or size"

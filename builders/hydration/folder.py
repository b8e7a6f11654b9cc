"""The folder of hydrated texts: tables in the published layout, a card, and what is left of each set."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import yaml
from pydantic import ValidationError

from builders import files
from builders.errors import StorageError, UsageError
from builders.hydration.shares import Filled, SetShare
from builders.lock import manifest
from builders.lock.model import Frozen, PersonalReport
from builders.parquet import encode, read_frame
from builders.tables import CLUSTERING, SCHEMAS, Kind, Table, config_name, published_path

NAME = "hydrated.json"
TAKEDOWN = "takedown.txt"
_KINDS = (*CLUSTERING.values(), Kind.CLUSTERING_IDS)
_SPLIT = "test"
_BODY = """
# Hydrated texts of {name}

Posts of users of Reddit, fetched on this machine. They belong to those who wrote them: do not publish them,
and do not pass them on. Run `mteb-de recheck {name}` from time to time; it takes out what has been deleted.

`{record}` says which share of each set is left.
"""


class Hydrated(Frozen):
    """What a folder of hydrated texts holds.

    Attributes:
        schema_version: Of this document.
        config: The builder's name.
        origin: Where the sets come from: a repository and tag, "a release folder", or "the upstream's list".
        date: The day on which the texts were written.
        sets: What is left of each published set.
        gone: How many published ids have no text, by reason.
        personal: What was replaced in the texts.
    """

    schema_version: int = 1
    config: str
    origin: str
    date: datetime.date
    sets: tuple[SetShare, ...]
    gone: dict[str, int]
    personal: PersonalReport


def refuse_release(out: Path) -> None:
    """Keep texts out of what is published.

    Raises:
        UsageError: A folder is, or lies in, the folder of a release.
    """
    absolute = out.absolute()
    for folder in (absolute, *absolute.parents):
        if (folder / manifest.NAME).exists():
            raise UsageError(
                f"{out} lies in the release {folder}, and texts must never be published",
                hint="Choose another folder with --out.",
            )


def write_folder(out: Path, record: Hydrated, published: pl.DataFrame, filled: Filled) -> None:
    """Write the tables of a config, the card, and what is left; the record goes first and comes last.

    Args:
        out: The folder.
        record: What the tables hold.
        published: ``submission_ids``, ``labels``: the published sets, kept beside the texts for `recheck`.
        filled: The text tables.

    Raises:
        StorageError: Something cannot be written.
    """
    files.remove(out / NAME)
    files.sweep(out)
    frames = {kind: filled.tables[variant] for variant, kind in CLUSTERING.items()}
    for kind, frame in (frames | {Kind.CLUSTERING_IDS: published}).items():
        data, _ = encode(Table(record.config, kind, _SPLIT, frame))
        files.write_bytes(out / published_path(record.config, kind, _SPLIT), data)
    files.write_bytes(out / "README.md", _card(record.config).encode())
    files.write_json(out / NAME, record.model_dump(mode="json"))


def read_record(out: Path) -> Hydrated | None:
    """Return what a folder says of itself, or None where nothing was hydrated, or the writing was cut.

    Raises:
        StorageError: It is no such record.
    """
    try:
        return Hydrated.model_validate_json((out / NAME).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        hint = "Hydrate again."
        raise StorageError(f"{out / NAME}: not the record of hydrated texts", hint=hint) from error


def sets_in(folder: Path, config: str) -> pl.DataFrame | None:
    """Return the published sets of ids that a folder holds, or None.

    Raises:
        StorageError: The table is damaged.
    """
    path = folder / published_path(config, Kind.CLUSTERING_IDS, _SPLIT)
    return checked_sets(path) if path.is_file() else None


def checked_sets(path: Path) -> pl.DataFrame:
    """Read a table of published ids.

    Raises:
        StorageError: It is damaged, or another table.
    """
    frame = read_frame(path)
    if frame.schema != pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]):
        columns = ", ".join(SCHEMAS[Kind.CLUSTERING_IDS].names)
        raise StorageError(f"{path}: not a table of {columns}", hint="Look whether it is the right file.")
    return frame


def write_takedown(out: Path, ids: Sequence[str]) -> Path:
    """Write the published ids whose submissions are gone, one a line.

    Raises:
        StorageError: It cannot be written.
    """
    files.write_bytes(out / TAKEDOWN, "".join(f"{one}\n" for one in ids).encode())
    return out / TAKEDOWN


def _card(name: str) -> str:
    configs = [
        {
            "config_name": config_name(name, kind),
            "data_files": [{"split": _SPLIT, "path": published_path(name, kind, _SPLIT)}],
        }
        for kind in _KINDS
    ]
    head = yaml.safe_dump({"configs": configs}, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{head}---\n{_BODY.format(name=name, record=NAME)}"

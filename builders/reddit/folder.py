"""The folder of hydrated texts: tables in the published layout, a card, and what is left of each set."""

import datetime
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from builders import files
from builders.errors import StorageError, UsageError
from builders.lock.lock import MANIFEST, Frozen, PersonalReport
from builders.reddit.submission import SUBMISSION_ID
from builders.spec import RELEASES
from builders.tables import CLUSTERING, SCHEMAS, Kind, Table, config_name, encode, published_path, read_frame
from builders.text_files import parse_json

NAME = "hydrated.json"
TAKEDOWN = "takedown.txt"
_LOCK = ".lock"
_README = "README.md"
_KINDS = (*CLUSTERING.values(), Kind.CLUSTERING_IDS)
_OWNER_ONLY = 0o700
_OF_A_RELEASE = frozenset({"release", "locks", "files"})
_SPLIT = "test"
_BODY = """
# Hydrated texts of {name}

Posts of users of Reddit, fetched on this machine. They belong to those who wrote them: do not publish them,
and do not pass them on. Run `mteb-de recheck {name}` from time to time; it takes out what has been deleted.

`{record}` says which share of each set is left.
"""
_MADE_UP = """
A stand-in for Reddit, or a dump that is not known as an archive of it, gave texts: they tell nothing of
Reddit.
"""
COMPARABLE = 0.9
"""A set of which less is left is another set: its scores must not stand beside those of others."""


class SetShare(Frozen):
    """What is left of a set.

    Attributes:
        number: Number of the published set, from 1.
        published: How many ids it has.
        there: How many of them have a text now.
        share: `there` by `published`.
        comparable: Whether that is enough to compare scores.
        left_out: Whether the text tables lack it, as fewer than two labels are left.
        gone: How many ids have no text, by reason.
    """

    number: int
    published: int
    there: int
    share: float
    comparable: bool
    left_out: bool
    gone: dict[str, int]


class Hydrated(Frozen):
    """What a folder of hydrated texts holds.

    Attributes:
        origin: Source of the sets: repository, tag and commit, "a release folder" or "the upstream's list".
        date: The day on which the texts were written.
        compared: Whether the sets were there before. Shares of sets just drawn say nothing.
        stand_in: Whether a stand-in for Reddit, or a dump that is not known as an archive of it, gave texts.
        sets: What is left of each published set.
        gone: How many published ids have no text, by reason.
        personal: What was replaced in the texts.
    """

    schema_version: int = 1
    config: str
    origin: str
    date: datetime.date
    compared: bool = True
    stand_in: bool = False
    sets: tuple[SetShare, ...]
    gone: dict[str, int]
    personal: PersonalReport


def refuse_release(out: Path) -> None:
    """Keep texts out of what is published, also where a link leads there.

    Raises:
        UsageError: A folder is, lies in, or is called like, the folder of a release.
    """
    real = Path(os.path.realpath(out))
    lies_in = [
        folder
        for place in (real, out.absolute())
        for folder in (place, *place.parents)
        if _is_release(folder / MANIFEST)
    ]
    if lies_in or real.name in RELEASES:
        problem = f"{out} lies in the release {lies_in[0] if lies_in else real}"
        hint = "Choose another folder with --out."
        raise UsageError(f"{problem}, and texts must never be published", hint=hint)


def _is_release(path: Path) -> bool:
    """Say whether a file is the manifest of a release, of any version; others have files of that name too.

    One that cannot be opened counts: rather no texts than texts in a release.
    """
    try:
        told = parse_json(path.read_bytes())
    except (FileNotFoundError, IsADirectoryError, ValueError):
        return False
    except OSError:
        return True
    return isinstance(told, dict) and _OF_A_RELEASE <= told.keys()


def refuse_foreign(out: Path, config: str) -> None:
    """Keep other people's files from being overwritten, and texts from lying among them.

    Raises:
        UsageError: The folder holds something, and nothing that hydrating left there.
    """
    if any((out / name).exists() for name in (NAME, TAKEDOWN, *_tables(config))):
        return
    foreign = {*_names(out) - {_LOCK, config}, *_names(out / config) - set(_KINDS)}
    if foreign:
        problem = f"{out} holds {min(foreign)!r}, and no hydrated texts: it is not a folder for them"
        hint = "Choose another folder with --out: a new one, an empty one, or that of an earlier run."
        raise UsageError(problem, hint=hint)


def make_ready(out: Path, config: str) -> None:
    """Close a folder that is held to others, and take away the parts of texts that a killed run has left."""
    with files.writing(out):
        out.chmod(_OWNER_ONLY)
    files.sweep(out)
    for table in _tables(config):
        files.sweep((out / table).parent)


def remove_texts(out: Path, config: str) -> bool:
    """Remove text tables, and what a killed run has left of them; say whether there were any."""
    tables = [out / published_path(config, kind, _SPLIT) for kind in CLUSTERING.values()]
    found = [table for table in tables if table.exists()]
    for table in tables:
        files.sweep(table.parent)
    for table in found:
        files.remove(table)
    return bool(found)


def write_folder(
    out: Path, record: Hydrated, published: pl.DataFrame, tables: Mapping[Kind, pl.DataFrame]
) -> None:
    """Write the published sets, the text tables, the card, and the record, which goes first and comes last.

    The ids come before the texts: where there are texts, a later run can say of which posts they are.
    """
    files.remove(out / NAME)
    make_ready(out, record.config)
    for kind, frame in {Kind.CLUSTERING_IDS: published, **tables}.items():
        data, _ = encode(Table(record.config, kind, _SPLIT, frame))
        files.write_bytes(out / published_path(record.config, kind, _SPLIT), data)
    files.write_bytes(out / _README, _card(record).encode())
    files.write_json(out / NAME, record.model_dump(mode="json"))


def read_record(out: Path) -> Hydrated | None:
    """Return what a folder says of itself, or None where nothing was hydrated, or the writing was cut.

    Raises:
        StorageError: It is no such record.
    """
    path, hint = out / NAME, "Hydrate again."
    if not path.exists():
        return None
    try:
        with files.readable(path, hint=hint):
            return Hydrated.model_validate_json(path.read_bytes())
    except ValidationError as error:
        raise StorageError(f"{path}: not the record of hydrated texts", hint=hint) from error


def sets_in(folder: Path, config: str) -> pl.DataFrame | None:
    """Return the published sets of ids that a folder holds, or None."""
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


def read_takedown(out: Path) -> set[str]:
    """Return the ids that were listed to be taken down; there may be none."""
    path = out / TAKEDOWN
    if not path.exists():
        return set()
    with files.readable(path):
        text = path.read_text(encoding="utf-8", errors="replace")
    return set(filter(SUBMISSION_ID.fullmatch, re.split(r"\s", text)))


def write_takedown(out: Path, ids: Iterable[str]) -> None:
    """Write the published ids whose submissions are gone, one a line."""
    files.write_bytes(out / TAKEDOWN, "".join(f"{one}\n" for one in ids).encode())


def _tables(config: str) -> list[str]:
    return [published_path(config, kind, _SPLIT) for kind in _KINDS]


def _names(folder: Path) -> set[str]:
    if not folder.exists():
        return set()
    with files.readable(folder, hint="Choose another folder with --out."):
        return {path.name for path in folder.iterdir()}


def _card(record: Hydrated) -> str:
    name = record.config
    configs = "".join(
        f"- config_name: {config_name(name, kind)}\n  data_files:\n"
        f"  - split: {_SPLIT}\n    path: {published_path(name, kind, _SPLIT)}\n"
        for kind in _KINDS
    )
    body = _BODY.format(name=name, record=NAME) + (_MADE_UP if record.stand_in else "")
    return f"---\nconfigs:\n{configs}---\n{body}"

"""What differs between two releases, and the least version bump that follows. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from builders.lock.lock import Frozen
from builders.printable import printable
from builders.release.model import Bytes, same_bytes
from builders.release.rows import RowChanges
from builders.release.versions import BUMPS, Bump


class Split(NamedTuple):
    """A split of a config, as `load_dataset` names it."""

    config: str
    split: str

    def __str__(self) -> str:
        """Return "jobs-qrels/test"."""
        return f"{self.config}/{self.split}"


@dataclass(frozen=True, slots=True)
class Listed:
    """A split as it is known before its rows are read.

    Attributes:
        paths: Its files.
        rows: Number of rows; None where nobody has counted.
        content: Hash of the rows; "" where it is not known.
    """

    paths: tuple[str, ...]
    rows: int | None = None
    content: str = ""


Listing = Mapping[Split, Listed]


class TableChange(Frozen):
    """A split that is other than before.

    Attributes:
        config: Name on the Hub.
        split: Its split.
        change: What happened to it; "unknown" where its rows would have to be read, and were not.
        rows_before: None where it was not there, or nobody has counted.
        rows_after: None where it is gone.
        rows: Which rows differ; None where they were not compared, or there is nothing to compare with.
        moved: "old path → new path" where the file has another name.
    """

    config: str
    split: str
    change: Literal["added", "removed", "changed", "unknown"]
    rows_before: int | None
    rows_after: int | None
    rows: RowChanges | None = None
    moved: str = ""


class FileChange(Frozen):
    """A file beside the tables that is other than before, or a table's that was rewritten with equal rows."""

    path: str
    change: Literal["added", "removed", "changed", "rewritten"]


class Difference(Frozen):
    """All that differs.

    Attributes:
        bump: The least that the version must rise.
        reasons: What asks for that much, one line each.
        configs_added: Names of configs that were not there.
        configs_removed: Names of configs that are gone.
        tables: Splits whose rows, columns or path differ, by config and split.
        files: Card, metadata and rewritten files, by path.
    """

    bump: Bump
    reasons: tuple[str, ...]
    configs_added: tuple[str, ...]
    configs_removed: tuple[str, ...]
    tables: tuple[TableChange, ...]
    files: tuple[FileChange, ...]


def uncertain(before: Listing, after: Listing) -> list[Split]:
    """Return the splits on both sides whose content differs, or is not known on one side."""
    common = sorted(before.keys() & after.keys())
    return [split for split in common if not _same_content(before[split], after[split])]


def difference(
    before: Listing,
    after: Listing,
    rows: Mapping[Split, RowChanges],
    files_before: Mapping[str, Bytes],
    files_after: Mapping[str, Bytes],
) -> Difference:
    """Compare two releases by content.

    Args:
        before: The splits of the published one.
        after: The splits of the new one.
        rows: What a comparison of rows found, for those of `uncertain` that were read. A split that was not
            read counts as changed.
        files_before: All files of the published one, by path.
        files_after: All files of the new one, by path.
    """
    tables = tuple(_tables(before, after, rows))
    files = tuple(_files(before, after, tables, files_before, files_after))
    old, new = ({split.config for split in listing} for listing in (before, after))
    added, removed = tuple(sorted(new - old)), tuple(sorted(old - new))
    weighed = [_weigh(table, added, removed) for table in tables]
    weighed += [("patch", f"{file.path}: {file.change}") for file in files]
    weights = {weight for weight, _ in weighed}
    bump = next((bump for bump in reversed(BUMPS) if bump in weights), BUMPS[0])
    return Difference(
        bump=bump,
        reasons=tuple(printable(reason) for weight, reason in weighed if weight == bump),
        configs_added=added,
        configs_removed=removed,
        tables=tables,
        files=files,
    )


def _tables(before: Listing, after: Listing, rows: Mapping[Split, RowChanges]) -> Iterator[TableChange]:
    for split in sorted(before.keys() | after.keys()):
        old, new, found = before.get(split), after.get(split), rows.get(split)
        moved = _moved(old, new) if old and new else ""
        same = old and new and (_same_content(old, new) or (found is not None and not found.any))
        if same and not moved:
            continue
        yield TableChange(
            config=split.config,
            split=split.split,
            change=_change(old, new, known=found is not None),
            rows_before=found.before if found else old.rows if old else None,
            rows_after=found.after if found else new.rows if new else None,
            rows=found,
            moved=moved,
        )


def _change(
    old: Listed | None, new: Listed | None, *, known: bool
) -> Literal["added", "removed", "changed", "unknown"]:
    if old is None or new is None:
        return "added" if old is None else "removed"
    return "changed" if known or (old.content and new.content) else "unknown"


def _moved(old: Listed, new: Listed) -> str:
    return "" if old.paths == new.paths else f"{', '.join(old.paths)} → {', '.join(new.paths)}"


def _same_content(old: Listed, new: Listed) -> bool:
    return bool(old.content) and old.content == new.content


def _files(
    before: Listing,
    after: Listing,
    tables: tuple[TableChange, ...],
    files_before: Mapping[str, Bytes],
    files_after: Mapping[str, Bytes],
) -> Iterator[FileChange]:
    told = {(table.config, table.split) for table in tables}
    of_tables = {path for listing in (before, after) for listed in listing.values() for path in listed.paths}
    skipped = {
        path
        for listing in (before, after)
        for split, listed in listing.items()
        if split in told
        for path in listed.paths
    }
    for path in sorted((files_before.keys() | files_after.keys()) - skipped):
        old, new = files_before.get(path), files_after.get(path)
        if old is None or new is None:
            yield FileChange(path=path, change="added" if old is None else "removed")
        elif not same_bytes(old, new):
            yield FileChange(path=path, change="rewritten" if path in of_tables else "changed")


def _weigh(table: TableChange, added: tuple[str, ...], removed: tuple[str, ...]) -> tuple[Bump, str]:
    """Return the bump that a changed split asks for, and why."""
    where = f"{table.config}/{table.split}"
    if table.config in added:
        return "minor", f"{where}: new config, {_count(table.rows_after)}"
    if table.config in removed:
        return "major", f"{where}: the config is gone, {_count(table.rows_before)}"
    if table.change in {"added", "removed"}:
        rows = table.rows_after if table.change == "added" else table.rows_before
        # no client sees a split without rows: cards do not offer it
        return "patch" if rows == 0 else "major", f"{where}: split {table.change}, {_count(rows)}"
    if table.rows is not None:
        differing = table.rows.summary()
    else:
        differing = "rows not compared" if table.change == "unknown" else "" if table.moved else "other rows"
    return "major", f"{where}: {', '.join(filter(None, (differing, table.moved)))}"


def _count(rows: int | None) -> str:
    return "rows not counted" if rows is None else f"{rows:,} row{'' if rows == 1 else 's'}"

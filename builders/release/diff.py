"""What differs between two releases, by rows where contents differ, and the version that must follow."""

from __future__ import annotations

import datetime
import functools
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from builders import describe
from builders.describe.target import Target, Version, parse_version, version_of
from builders.errors import Refused
from builders.files import FileIds, ids_of, reading
from builders.hub import Api, check_repo, client
from builders.lock.beside import citations_path, read_citations
from builders.lock.committed import FOLDER
from builders.lock.lock import Frozen, locks_of
from builders.printable import counted, label, listed, printable
from builders.release.tree import (
    NOTHING,
    Remote,
    Split,
    SplitFiles,
    Tree,
    check_tree,
    local_tree,
    read_remote,
    remote_tree,
    same_bytes,
)
from builders.spec import RELEASES
from builders.tables import Kind

Bump = Literal["none", "patch", "minor", "major"]
_BUMPS: tuple[Bump, ...] = ("none", "patch", "minor", "major")
FIRST = Version(1, 0, 0)
REASONS = 5
"""How many reasons of a bump are shown."""
_EXAMPLES = 5
_KEYS = (("_id",), ("query-id", "corpus-id"))
"""What names a row, in the order in which it is looked for; a table with none is matched by row number."""
_LONGEST = 60


class _RowChanges(Frozen):
    """Counts of rows that differ between two tables, with the keys of the first `_EXAMPLES` of each kind.

    A row is changed where both tables have its key, and a column that both have holds another value. Columns
    are named where they were added, removed, or are of another type.
    """

    before: int
    after: int
    added: int
    removed: int
    changed: int
    columns: tuple[str, ...]
    examples_added: tuple[str, ...]
    examples_removed: tuple[str, ...]
    examples_changed: tuple[str, ...]

    @property
    def examples(self) -> dict[str, tuple[str, ...]]:
        """The keys of rows by what became of them."""
        return {
            "added": self.examples_added,
            "removed": self.examples_removed,
            "changed": self.examples_changed,
        }

    def summary(self) -> str:
        """Return the counts in one line, "" where nothing differs but the order of rows and columns."""
        counts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        parts = [f"{counted(count, 'row')} {name}" for name, count in counts.items() if count]
        return ", ".join([*parts, *self.columns])


class TableChange(Frozen):
    """A split that is other than before; "unknown" where its rows would have to be read, and were not.

    Attributes:
        rows_before: Number of rows; None where it was not there, or nobody has counted.
        rows_after: Number of rows; None where it is gone.
        rows: Rows that differ; None where they were not compared, or there is nothing to compare with.
        moved: "old path → new path" where the file has another name.
    """

    config: str
    split: str
    change: Literal["added", "removed", "changed", "unknown"]
    rows_before: int | None
    rows_after: int | None
    rows: _RowChanges | None = None
    moved: str = ""


class _FileChange(Frozen):
    """A file beside the tables that is other than before, or a table's that was rewritten with equal rows."""

    path: str
    change: Literal["added", "removed", "changed", "rewritten"]


class SplitMoves(Frozen):
    """Queries of a config that lie in another split than before, with the first `_EXAMPLES`, "q-1: a → b"."""

    config: str
    queries: int
    examples: tuple[str, ...]

    def line(self) -> str:
        """Return the count and the examples in one line."""
        more = ["…"] if self.queries > len(self.examples) else []
        return (
            f"{counted(self.queries, 'row')} left the split of before ({', '.join([*self.examples, *more])})"
        )


class Difference(Frozen):
    """All that differs, the least that the version must rise, and a line for each change that asks for it."""

    bump: Bump
    reasons: tuple[str, ...]
    configs_added: tuple[str, ...]
    configs_removed: tuple[str, ...]
    tables: tuple[TableChange, ...]
    files: tuple[_FileChange, ...]
    moves: tuple[SplitMoves, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was built, compared with what is published; `by` and `release` as of its `Tree`.

    Attributes:
        revision: The tag that was compared with, "main" where there is no version yet, "" where there is
            nothing at all; so is `commit` then.
        latest: The highest published version, "" where there is none.
        least: The lowest version that may follow; "" where `revision` is not the latest version.
    """

    repo: str
    revision: str
    commit: str
    by: str
    release: str
    latest: str
    least: str
    difference: Difference


def diff(
    out: Path,
    release: str,
    repo: str,
    *,
    revision: str | None = None,
    beside: Path = FOLDER,
    api: Api | None = None,
) -> Comparison:
    """Compare a built release, row by row, with a tag or "main"; `beside` holds the citations.

    `revision` is by default the highest version there, else "main".
    """
    check_repo(repo)
    api, ids = api or client(), functools.cache(ids_of)
    with reading(out):
        return compare(out, release, repo, api, ids, revision=revision, rows=True, beside=beside)[1]


def compare(
    out: Path,
    release: str,
    repo: str,
    api: Api,
    ids: Callable[[Path], FileIds],
    *,
    revision: str | None = None,
    rows: bool = False,
    beside: Path = FOLDER,
) -> tuple[Remote, Comparison]:
    """Check a built release, and compare it with what a repository holds.

    `ids` reads size and ids of a file, `rows` the rows of splits whose content differs; those of unknown
    content are read where a version depends on them, too. Card and Croissant are compared as they would be
    for the published version and date, since a new version alone changes both.
    """
    check_tree(out, release, ids)
    remote = read_remote(api, repo)
    latest = remote.latest
    base = revision or (latest.tag if latest else "main" if remote.head else "")
    commit = remote.commit(repo, base) if base else ""
    with tempfile.TemporaryDirectory(prefix="mteb-de-diff-") as folder:
        before = remote_tree(api, repo, remote, commit, Path(folder)) if commit else NOTHING
        version = version_of(f"v{before.version}") or FIRST
        target = Target(repo, str(version), before.date or datetime.date.min, remote.private)
        locks = list(locks_of(out, release).values())
        citations = {lock.config: read_citations(citations_path(beside, lock.config)) for lock in locks}
        rendered = describe.render(RELEASES[release], locks, target, citations=citations)
        after = local_tree(out / release, rendered, ids)
        found = compare_trees(before, after, differing=rows, unknown=rows or latest is not None)
    least = str(least_after(latest, found.bump)) if latest is None or base == latest.tag else ""
    highest = str(latest or "")
    return remote, Comparison(repo, base, commit, before.by, before.release, highest, least, found)


def compare_trees(before: Tree, after: Tree, *, differing: bool, unknown: bool) -> Difference:
    """Compare two trees, and read the rows of splits whose content is known to differ, or is not known.

    Queries of known content are read in any case, so that none changes its split unseen.
    """
    rows = {}
    for split in sorted(before.splits.keys() & after.splits.keys()):
        old, new = before.splits[split], after.splits[split]
        if not old.equals(new) and (differing if old.content and new.content else unknown):
            rows[split] = row_changes(before.read(split), after.read(split))
    tables = tuple(_tables(before.splits, after.splits, rows))
    files = tuple(_files(before, after, {Split(table.config, table.split) for table in tables}))
    old_configs, new_configs = ({split.config for split in tree.splits} for tree in (before, after))
    added, removed = new_configs - old_configs, old_configs - new_configs
    moves = tuple(_moves(before, after, unknown=unknown))
    weighed: list[tuple[Bump, str]] = [("major", f"{moved.config}: {moved.line()}") for moved in moves]
    weighed += [_weigh(table, added, removed) for table in tables]
    weighed += [("patch", f"{file.path}: {file.change}") for file in files]
    bump = max((weight for weight, _ in weighed), key=_BUMPS.index, default=_BUMPS[0])
    return Difference(
        bump=bump,
        reasons=tuple(printable(reason) for weight, reason in weighed if weight == bump),
        configs_added=tuple(sorted(added)),
        configs_removed=tuple(sorted(removed)),
        tables=tables,
        files=files,
        moves=moves,
    )


def least_after(published: Version | None, bump: Bump) -> Version:
    """Return the lowest version that may follow the highest published one, which rises in any case."""
    if published is None or published < FIRST:
        return FIRST
    major, minor, patch = published
    if bump == "major":
        return Version(major + 1, 0, 0)
    return Version(major, minor + 1, 0) if bump == "minor" else Version(major, minor, patch + 1)


def check_version(target: Target, comparison: Comparison) -> None:
    """Refuse a version that is lower than the changes since the latest one ask for."""
    version, least = parse_version(target.version), parse_version(comparison.least)
    if version >= least:
        return
    below, hint = f"version {version} is below {least}", f"Choose --version {least} or higher"
    if not comparison.latest or least == FIRST:
        raise Refused(f"{below}, the first one", hint=f"{hint}.")
    found = comparison.difference
    why = f"the least after {comparison.latest} of {target.repo} ({found.bump})"
    reasons = listed(found.reasons or ["nothing has changed"], REASONS)
    raise Refused(f"{below}, {why}:\n{reasons}", hint=f"{hint}; mteb-de release diff shows the rows.")


def _tables(
    before: Mapping[Split, SplitFiles], after: Mapping[Split, SplitFiles], rows: Mapping[Split, _RowChanges]
) -> Iterator[TableChange]:
    for split in sorted(before.keys() | after.keys()):
        old, new, found = before.get(split), after.get(split), rows.get(split)
        change: Literal["added", "removed", "changed", "unknown"] = "changed"
        moved = ""
        if old is None or new is None:
            change = "added" if old is None else "removed"
        elif old.paths != new.paths:
            moved = f"{', '.join(old.paths)} → {', '.join(new.paths)}"
        elif old.equals(new) or (found is not None and not found.summary()):
            continue
        if old and new and found is None and not (old.content and new.content):
            change = "unknown"
        yield TableChange(
            config=split.config,
            split=split.split,
            change=change,
            rows_before=found.before if found else old.rows if old else None,
            rows_after=found.after if found else new.rows if new else None,
            rows=found,
            moved=moved,
        )


def _files(before: Tree, after: Tree, named: set[Split]) -> Iterator[_FileChange]:
    """Yield the changed files but those of the splits that are named as changed already."""
    splits = [*before.splits.items(), *after.splits.items()]
    listed_by = [(split, path) for split, at in splits for path in at.paths]
    of_tables = {path for _, path in listed_by}
    skipped = {path for split, path in listed_by if split in named}
    for path in sorted((before.files.keys() | after.files.keys()) - skipped):
        old, new = before.files.get(path), after.files.get(path)
        if old is None or new is None:
            yield _FileChange(path=path, change="added" if old is None else "removed")
        elif not same_bytes(old, new):
            yield _FileChange(path=path, change="rewritten" if path in of_tables else "changed")


def _moves(before: Tree, after: Tree, *, unknown: bool) -> Iterator[SplitMoves]:
    """Yield, by config, the queries that both trees have in different splits."""
    changed: dict[str, set[Split]] = {}
    for split in before.splits.keys() | after.splits.keys():
        old, new = before.splits.get(split), after.splits.get(split)
        if split.config.endswith(f"-{Kind.QUERIES}") and not (old and new and old.equals(new)):
            changed.setdefault(split.config, set()).add(split)
    for config, splits in sorted(changed.items()):
        there = [before.splits[split] for split in splits & before.splits.keys()]
        if splits.isdisjoint(after.splits) or not (unknown or all(at.content for at in there)):
            continue
        earlier, now = (_queries(tree, splits & tree.splits.keys()) for tree in (before, after))
        left = earlier.join(now, on=["_id", "split"], how="anti")
        moved = left.join(now, on="_id", suffix=" now").sort("_id")
        if moved.height:
            first = moved.head(_EXAMPLES).iter_rows()
            examples = tuple(f"{label(name, _LONGEST)}: {one} → {other}" for name, one, other in first)
            yield SplitMoves(config=config, queries=moved.height, examples=examples)


def _queries(tree: Tree, splits: Collection[Split]) -> pl.DataFrame:
    """Return ``_id`` and ``split`` of the queries in splits; a table without ids has none."""
    frames = [pl.DataFrame(schema={"_id": pl.String, "split": pl.String})]
    for split in sorted(splits):
        rows = tree.read(split)
        if "_id" in rows.columns:
            frames.append(rows.select(pl.col("_id").cast(pl.String), split=pl.lit(split.split)))
    return pl.concat(frames)


def _weigh(table: TableChange, added: set[str], removed: set[str]) -> tuple[Bump, str]:
    """Return the bump that a changed split asks for, and why."""
    where = f"{table.config}/{table.split}"
    rows = table.rows_before if table.rows_after is None else table.rows_after
    count = "rows not counted" if rows is None else counted(rows, "row")
    if table.config in added:
        return "minor", f"{where}: new config, {count}"
    if table.config in removed:
        return "major", f"{where}: the config is gone, {count}"
    if table.change in {"added", "removed"}:
        # no client sees a split without rows: cards do not offer it
        return "patch" if rows == 0 else "major", f"{where}: split {table.change}, {count}"
    differing = "rows not compared" if table.change == "unknown" else "" if table.moved else "other rows"
    if table.rows is not None:
        differing = table.rows.summary()
    return "major", f"{where}: {', '.join(filter(None, (differing, table.moved)))}"


def row_changes(before: pl.DataFrame, after: pl.DataFrame) -> _RowChanges:
    """Compare two tables of any columns row by row.

    Rows are matched by the first of `_KEYS` that both have, else by number; those of one key in the order of
    their values. Numbers of different types are compared as numbers; a column whose types cannot be compared
    counts as a change of columns, not of rows.
    """
    old_types, new_types = before.schema, after.schema
    types = {name: (old_types[name], kind) for name, kind in new_types.items() if name in old_types}
    key = next((key for key in _KEYS if {*key} <= types.keys()), ())
    values = []
    for name in (name for name in types if name not in key):
        if types[name][0] == types[name][1]:
            values.append(pl.col(name))
        elif all(dtype.is_numeric() for dtype in types[name]):
            values.append(pl.col(name).cast(pl.Float64))
    old, new = (_matchable(frame, key, values) for frame in (before, after))
    on = [name for name in new.columns if not name.startswith("value ")]
    differs = [pl.col(f"value {n}").ne_missing(pl.col(f"value {n} before")) for n in range(len(values))]
    both = new.join(old, on=on, suffix=" before", nulls_equal=True)
    added = new.join(old, on=on, how="anti", nulls_equal=True)
    removed = old.join(new, on=on, how="anti", nulls_equal=True)
    changed = both.filter(pl.any_horizontal(differs)) if differs else both.clear()
    return _RowChanges(
        before=before.height,
        after=after.height,
        added=added.height,
        removed=removed.height,
        changed=changed.height,
        columns=tuple(_columns(before.schema, after.schema)),
        examples_added=_examples(added, on),
        examples_removed=_examples(removed, on),
        examples_changed=_examples(changed, on),
    )


def _matchable(frame: pl.DataFrame, key: tuple[str, ...], values: list[pl.Expr]) -> pl.DataFrame:
    """Return keys, their occurrence and values under names of our own: columns from outside may have any."""
    keys = {f"key {n}": pl.col(name).cast(pl.String) for n, name in enumerate(key)}
    keys = keys or {"row": pl.int_range(1, pl.len() + 1)}
    named = frame.select(**keys, **{f"value {n}": value for n, value in enumerate(values)})
    order = [name for name, dtype in named.schema.items() if not dtype.is_nested()]
    return named.sort(order).with_columns(occurrence=pl.int_range(pl.len()).over(list(keys)))


def _columns(before: pl.Schema, after: pl.Schema) -> Iterator[str]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old != new:
            what = "added" if old is None else "removed" if new is None else f"{old} → {new}"
            yield f"column {label(name, _LONGEST)}: {what}"


def _examples(rows: pl.DataFrame, on: list[str]) -> tuple[str, ...]:
    first = rows.sort(on).head(_EXAMPLES).select(on).drop("occurrence")
    prefix = "row " if "row" in on else ""
    return tuple(prefix + " ".join(label(str(part), _LONGEST) for part in key) for key in first.iter_rows())

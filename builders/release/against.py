"""A rebuilt config held against the tables of another machine: the same rows, and nearly the same scores."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.errors import UsageError
from builders.files import reading
from builders.hub import Api, check_repo, client
from builders.lock.committed import drift
from builders.lock.lock import MANIFEST, Lock, read_manifest
from builders.release.diff import row_changes
from builders.release.tree import Split, Tree, local_tree, read_remote, remote_tree
from builders.tables import SCHEMAS, kind_of, read_frame, score_columns

_TOLERANCE = 1e-3
"""By how much a score may differ on another machine: other kernels give other last bits."""
_TAGGED = re.compile(r"([^/@\s]+/[^/@\s]+)@([^@\s]+)")
_TAKES = "--against takes a folder that was built into, or OWNER/NAME@TAG of a published release."


@dataclass(frozen=True, slots=True)
class Reference:
    """What a build is held against: the name that the user typed, and the tree of each release."""

    name: str
    trees: Mapping[str, Tree]


def open_reference(
    name: str, releases: Collection[str], out: Path, downloads: Path, *, api: Api | None = None
) -> Reference:
    """Find the tables to compare with, before anything of these releases is built into `out`, another folder.

    The name is that of a folder of builds or of one release, else "OWNER/NAME@TAG", read to `downloads`.
    """
    if Path(name).is_dir():
        return Reference(name, {release: _built(Path(name), release, out) for release in sorted(releases)})
    parts = _TAGGED.fullmatch(name)
    if parts is None:
        raise UsageError(f"{name}: neither a folder nor a published release", hint=_TAKES)
    repo, tag = parts.groups()
    check_repo(repo)
    api = api or client()
    remote = read_remote(api, repo)
    tree = remote_tree(api, repo, remote, remote.commit(repo, tag), downloads)
    others = sorted(release for release in releases if tree.release not in {release, ""})
    if others:
        hint = f"Name configs of {tree.release} only."
        raise UsageError(f"{name} is a release of {tree.release}, not of {', '.join(others)}", hint=hint)
    return Reference(name, dict.fromkeys(releases, tree))


def _built(folder: Path, release: str, out: Path) -> Tree:
    for place in (folder / release, folder):
        if (place / MANIFEST).is_file() and read_manifest(place / MANIFEST).release == release:
            if place.resolve() == (out / release).resolve():
                hint = "Build into another folder with --out, so that there are two to compare."
                raise UsageError(f"{folder}: the build would write over what it is held against", hint=hint)
            return local_tree(place)
    raise UsageError(f"{folder}: nothing of {release} was built there", hint=_TAKES)


def hold_against(lock: Lock, out: Path, reference: Reference) -> tuple[str, ...]:
    """Compare the tables of a config that was built under `out` with the same ones elsewhere.

    Returns:
        A line for each table whose scores differ by no more than `_TOLERANCE`; what else differs is drift.
    """
    tree = reference.trees[lock.release]
    ours = {Split(file.config, file.split): file for file in lock.files}
    theirs = {split for split in tree.splits if split.config.startswith(f"{lock.config}-")}
    faults = [f"{split}: not there" for split in sorted(ours.keys() - theirs)]
    faults += [f"{split}: there, and not built" for split in sorted(theirs - ours.keys())]
    notes: list[str] = []
    for split in sorted(ours.keys() & theirs):
        if ours[split].content == tree.splits[split].content:
            continue
        with reading(out):
            mine = read_frame(out / lock.release / ours[split].path)
        for is_fault, line in _differences(split, mine, tree.read(split)):
            (faults if is_fault else notes).append(f"{split}: {line}")
    if faults:
        hint = "Compare encoder, recipe and sources in both manifests; scores may differ, rows may not."
        raise drift(f"{lock.config} differs from {reference.name}", faults, hint=hint)
    return tuple(notes)


def _differences(split: Split, mine: pl.DataFrame, theirs: pl.DataFrame) -> Iterator[tuple[bool, str]]:
    """Yield what differs, and whether it is more than a score may."""
    scores = [name for name in score_columns(SCHEMAS[kind_of(split.config)]) if name in theirs.columns]
    rows = row_changes(theirs.drop(scores), mine.drop(scores))
    if rows.summary():
        yield True, rows.summary()
        yield from ((True, f"{what}: {row}") for what, keys in rows.examples.items() for row in keys)
        return
    keys = [name for name in mine.columns if name not in scores]
    pairs = mine.sort(keys).hstack(theirs.sort(keys).select(pl.col(scores).name.suffix(" there")))
    for name in scores:
        apart = pairs.with_columns(apart=_apart(pl.col(name), pl.col(f"{name} there")))
        differing = apart.filter(pl.col("apart") > 0).sort("apart", descending=True)
        if differing.is_empty():
            continue
        largest = differing.row(0, named=True)
        where = " ".join(str(largest[key]) for key in keys)
        beyond = differing.filter(pl.col("apart") > _TOLERANCE).height
        limit = f"{beyond:,} of {mine.height:,} rows by more than" if beyond else "within"
        values = f"{largest[f'{name} there']} there, {largest[name]} here"
        how_far = f"by {largest['apart']:.1e} at most ({where}: {values})"
        yield bool(beyond), f"equal rows, and {name} differs, {limit} {_TOLERANCE:g}: {how_far}"


def _apart(mine: pl.Expr, theirs: pl.Expr) -> pl.Expr:
    """Return how far two scores lie apart; infinitely where one is no number and the other is."""
    one, other = mine.cast(pl.Float64), theirs.cast(pl.Float64, strict=False)
    distance = (one - other).abs().fill_nan(None).fill_null(float("inf"))
    return pl.when(one.eq_missing(other)).then(0.0).otherwise(distance)

"""The difference of two listings and the bump it asks for, without a Hub."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from builders.hub import RemoteFile
from builders.release.diff import FileChange, Listed, Listing, Split, difference, uncertain
from builders.release.rows import RowChanges
from builders.release.versions import Bump

CORPUS = Split("orte-corpus", "corpus")
TRAIN, TEST, DEV = (Split("orte-qrels", split) for split in ("train", "test", "dev"))
NEW = Split("berge-corpus", "corpus")


def listed(path: str, content: str = "c", rows: int | None = 3) -> Listed:
    return Listed((f"{path}.parquet",), rows, content)


BASE: dict[Split, Listed] = {split: listed(str(split)) for split in (CORPUS, TRAIN, TEST)}


def files(listing: Listing, **beside: str) -> dict[str, RemoteFile]:
    """Files whose ids tell their content."""
    tables = {path: table.content for table in listing.values() for path in table.paths}
    return {path: RemoteFile(1, "", content or "?") for path, content in (tables | beside).items()}


def rows(**counts: int) -> RowChanges:
    return RowChanges.model_validate(
        {"before": 3, "after": 3, "added": 0, "removed": 0, "changed": 0} | counts
    )


def bump_of(after: Listing, found: Mapping[Split, RowChanges] | None = None) -> tuple[Bump, list[str]]:
    compared = difference(BASE, after, found or {}, files(BASE, card="x"), files(after, card="x"))
    return compared.bump, list(compared.reasons)


def test_nothing_differs() -> None:
    found = difference(BASE, BASE, {}, files(BASE, card="x"), files(BASE, card="x"))
    assert (found.bump, found.reasons, found.tables, found.files) == ("none", (), (), ())


@pytest.mark.parametrize(("after", "expected", "named"), [
    (BASE | {NEW: listed("neu")}, "minor", "berge-corpus/corpus: new config, 3 rows"),
    ({CORPUS: BASE[CORPUS]}, "major", "orte-qrels/test: the config is gone, 3 rows"),
    ({split: BASE[split] for split in (CORPUS, TRAIN)}, "major", "orte-qrels/test: split removed, 3 rows"),
    (BASE | {DEV: listed("dev")}, "major", "orte-qrels/dev: split added, 3 rows"),
    (BASE | {DEV: listed("dev", rows=0)}, "patch", "orte-qrels/dev: split added, 0 rows"),
    (BASE | {TEST: listed("orte-qrels/test", "d")}, "major", "orte-qrels/test: other rows"),
    (BASE | {TEST: listed("orte-qrels/test", "")}, "major", "orte-qrels/test: rows not compared"),
    (BASE | {TEST: listed("dort")}, "major", "orte-qrels/test: orte-qrels/test.parquet → dort.parquet"),
    ({NEW: listed("neu")}, "major", "orte-corpus/corpus: the config is gone, 3 rows"),
])  # fmt: skip
def test_each_change_has_its_weight(after: Listing, expected: Bump, named: str) -> None:
    bump, reasons = bump_of(after)
    assert bump == expected
    assert named in reasons


@pytest.mark.parametrize(("found", "expected"), [
    (rows(added=1), "major"),
    (rows(removed=1), "major"),
    (rows(changed=2), "major"),
    (RowChanges(before=3, after=3, added=0, removed=0, changed=0, columns=("column x: added",)), "major"),
    (rows(), "patch"),
])  # fmt: skip
def test_rows_that_were_read_decide_over_hashes(found: RowChanges, expected: Bump) -> None:
    after = BASE | {TEST: listed("orte-qrels/test", "d")}
    assert uncertain(BASE, after) == [TEST]
    bump, reasons = bump_of(after, {TEST: found})
    assert bump == expected
    assert reasons == [
        f"orte-qrels/test: {found.summary()}" if found.any else "orte-qrels/test.parquet: rewritten"
    ]


def test_what_is_not_known_must_be_read() -> None:
    unknown: Listing = {split: listed(str(split), "") for split in BASE}
    assert uncertain(unknown, BASE) == uncertain(unknown, unknown) == sorted(BASE)
    assert uncertain(BASE, BASE | {NEW: listed("neu", "")}) == []


def test_equal_rows_in_other_bytes_and_files_beside_the_tables_are_a_patch() -> None:
    old = files(BASE, card="x", alt="x", gleich="x")
    new = files(BASE, card="y", neu="x", gleich="x") | {"orte-qrels/test.parquet": RemoteFile(2, "", "z")}
    found = difference(BASE, BASE, {}, old, new)
    assert found.bump == "patch" and found.tables == ()
    assert found.files == (
        FileChange(path="alt", change="removed"),
        FileChange(path="card", change="changed"),
        FileChange(path="neu", change="added"),
        FileChange(path="orte-qrels/test.parquet", change="rewritten"),
    )
    assert found.reasons == (
        "alt: removed",
        "card: changed",
        "neu: added",
        "orte-qrels/test.parquet: rewritten",
    )


def test_a_file_is_told_once() -> None:
    after = {TEST: listed("orte-qrels/test", "d"), NEW: listed("neu")}
    found = difference(BASE, after, {}, files(BASE), files(after))
    assert found.files == ()
    assert (found.configs_added, found.configs_removed) == (("berge-corpus",), ("orte-corpus",))
    changes = [(table.config, table.split, table.change) for table in found.tables]
    assert changes == [
        ("berge-corpus", "corpus", "added"),
        ("orte-corpus", "corpus", "removed"),
        ("orte-qrels", "test", "changed"),
        ("orte-qrels", "train", "removed"),
    ]

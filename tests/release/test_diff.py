"""The difference of two trees and the bump it asks for, without a Hub."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.files import FileIds
from builders.release.diff import _EXAMPLES, Bump, Difference, _FileChange, compare_trees, row_changes
from builders.release.tree import Split, SplitFiles, Tree

Listing = Mapping[Split, SplitFiles]

CORPUS = Split("orte-corpus", "corpus")
TRAIN, TEST, DEV = (Split("orte-qrels", split) for split in ("train", "test", "dev"))
NEW = Split("berge-corpus", "corpus")


def listed(path: str, content: str = "c", rows: int | None = 3) -> SplitFiles:
    return SplitFiles((f"{path}.parquet",), rows, content)


BASE: dict[Split, SplitFiles] = {split: listed(str(split)) for split in (CORPUS, TRAIN, TEST)}


ROWS = pl.DataFrame({"_id": ["a", "b", "c"], "text": ["x", "y", "z"]})


def files(listing: Listing, **beside: str) -> dict[str, FileIds]:
    """Files whose ids tell their content."""
    tables = {path: table.content for table in listing.values() for path in table.paths}
    return {path: FileIds(1, "", content or "?") for path, content in (tables | beside).items()}


def tree(listing: Listing, found: Mapping[str, FileIds] | None = None, rows: pl.DataFrame = ROWS) -> Tree:
    return Tree(listing, files(listing, card="x") if found is None else found, lambda split: rows, "manifest")


def unread(before: Tree, after: Tree) -> Difference:
    return compare_trees(before, after, differing=False, unknown=False)


def test_nothing_differs() -> None:
    found = compare_trees(tree(BASE), tree(BASE), differing=True, unknown=True)
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
    found = unread(tree(BASE), tree(after))
    assert found.bump == expected
    assert named in found.reasons


@pytest.mark.parametrize(("rows", "named"), [
    (pl.concat([ROWS, ROWS.with_columns(_id=pl.col("_id") + "2")]), "3 rows added"),
    (ROWS[1:], "1 row removed"),
    (ROWS.with_columns(text=pl.lit("z")), "2 rows changed"),
    (ROWS.with_columns(x=pl.lit(1)), "column x: added"),
    (ROWS.reverse(), ""),
])  # fmt: skip
def test_rows_that_were_read_decide_over_hashes(rows: pl.DataFrame, named: str) -> None:
    after = BASE | {TEST: listed("orte-qrels/test", "d")}
    found = compare_trees(tree(BASE), tree(after, rows=rows), differing=True, unknown=False)
    assert found.bump == ("major" if named else "patch")
    assert found.reasons == (f"orte-qrels/test: {named}" if named else "orte-qrels/test.parquet: rewritten",)


def test_what_is_not_known_must_be_read() -> None:
    unknown: Listing = {split: listed(str(split), "") for split in BASE}
    for before, after, reading, expected in (
        (unknown, BASE, True, set(BASE)),
        (unknown, unknown, True, set(BASE)),
        (unknown, BASE, False, set()),
        (BASE, BASE | {NEW: listed("neu", "")}, True, set()),
    ):
        read = set[Split]()

        def rows(split: Split, read: set[Split] = read) -> pl.DataFrame:
            read.add(split)
            return ROWS

        sides = [Tree(listing, {}, rows, "parquet") for listing in (before, after)]
        compare_trees(*sides, differing=False, unknown=reading)
        assert read == expected


def dealt(**splits: str) -> Tree:
    """A release whose splits hold the queries that a word names by its letters."""
    held = {Split("orte-queries", split): list(letters) for split, letters in splits.items()}
    listing = {split: listed(str(split), "".join(ids), len(ids)) for split, ids in held.items()}

    def read(split: Split) -> pl.DataFrame:
        return pl.DataFrame({"_id": held[split], "text": held[split]})

    return Tree(listing, {}, read, "manifest")


@pytest.mark.parametrize(("before", "after", "queries", "examples"), [
    (dealt(train="abc", dev="d", test="e"), dealt(train="abcx", dev="dy", test="e"), 0, ()),
    (dealt(train="abc", dev="d", test="e"), dealt(train="bc", dev="d", test="ae"), 1, ("a: train → test",)),
    (dealt(train="abc", test="e"), dealt(train="e", test="abc"), 4, ("a: train → test", "e: test → train")),
    (dealt(train="abc", dev="d"), dealt(train="abcd"), 1, ("d: dev → train",)),
    (dealt(train="abc"), dealt(train="ac", dev="b"), 1, ("b: train → dev",)),
    (dealt(train="abc"), dealt(train="ac"), 0, ()),
])  # fmt: skip
def test_queries_that_left_their_split_are_named(
    before: Tree, after: Tree, queries: int, examples: tuple[str, ...]
) -> None:
    """Whether rows are compared or not: a plan compares hashes alone, and must see them too."""
    for differing in (False, True):
        found = compare_trees(before, after, differing=differing, unknown=differing)
        assert sum(moved.queries for moved in found.moves) == queries
        if queries:
            (moved,) = found.moves
            assert set(examples) <= set(moved.examples)
            assert found.bump == "major" and found.reasons[0] == f"orte-queries: {moved.line()}"


def test_the_line_of_moved_queries_says_how_many_more_there_are() -> None:
    letters = "abcdefg"
    (moved,) = unread(dealt(train=letters, dev="x"), dealt(train="x", dev=letters)).moves
    assert moved.line() == (
        "8 rows left the split of before (a: train → dev, b: train → dev, c: train → dev, d: train → dev, "
        "e: train → dev, …)"
    )


def test_equal_queries_are_not_read_and_unknown_ones_only_where_a_version_depends_on_them() -> None:
    def refuse(split: Split) -> pl.DataFrame:
        raise AssertionError(split)

    same = Split("orte-queries", "train")
    here = Tree({same: listed("t"), CORPUS: listed("c")}, {}, refuse, "manifest")
    there = Tree({same: listed("t"), CORPUS: listed("c", "d")}, {}, refuse, "manifest")
    assert unread(here, there).moves == ()
    unknown = Tree({same: listed("t", "")}, {}, refuse, "parquet")
    assert unread(unknown, here).moves == ()
    unnamed = Tree({same: listed("t", "")}, {}, lambda split: pl.DataFrame({"text": ["x"]}), "parquet")
    assert compare_trees(unnamed, dealt(train="a"), differing=True, unknown=True).moves == ()


def test_equal_rows_in_other_bytes_and_files_beside_the_tables_are_a_patch() -> None:
    old = files(BASE, card="x", alt="x", gleich="x")
    new = files(BASE, card="y", neu="x", gleich="x") | {"orte-qrels/test.parquet": FileIds(2, "", "z")}
    found = unread(tree(BASE, old), tree(BASE, new))
    assert found.bump == "patch" and found.tables == ()
    assert found.files == (
        _FileChange(path="alt", change="removed"),
        _FileChange(path="card", change="changed"),
        _FileChange(path="neu", change="added"),
        _FileChange(path="orte-qrels/test.parquet", change="rewritten"),
    )
    assert found.reasons == (
        "alt: removed",
        "card: changed",
        "neu: added",
        "orte-qrels/test.parquet: rewritten",
    )


def test_a_file_is_told_once() -> None:
    after = {TEST: listed("orte-qrels/test", "d"), NEW: listed("neu")}
    found = unread(tree(BASE), tree(after))
    assert found.files == ()
    assert (found.configs_added, found.configs_removed) == (("berge-corpus",), ("orte-corpus",))
    changes = [(table.config, table.split, table.change) for table in found.tables]
    assert changes == [
        ("berge-corpus", "corpus", "added"),
        ("orte-corpus", "corpus", "removed"),
        ("orte-qrels", "test", "changed"),
        ("orte-qrels", "train", "removed"),
    ]


IDS = st.text("abcdefgh", min_size=1, max_size=2)
TEXTS = st.sampled_from(["eins", "zwei", "drei"])
TABLES = st.dictionaries(IDS, TEXTS, max_size=20)
SCHEMA = {"_id": pl.String, "text": pl.String}
PAIRS = {"query-id": pl.String, "corpus-id": pl.String, "score": pl.Int32}


def corpus(rows: dict[str, str], *, backwards: bool = False) -> pl.DataFrame:
    items = list(rows.items())
    return pl.DataFrame(items[::-1] if backwards else items, SCHEMA, orient="row")


@given(TABLES, TABLES)
def test_rows_are_matched_by_id(before: dict[str, str], after: dict[str, str]) -> None:
    found = row_changes(corpus(before), corpus(after, backwards=True))
    added, removed = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = sorted(key for key in before.keys() & after.keys() if before[key] != after[key])
    assert (found.before, found.after) == (len(before), len(after))
    assert (found.added, found.removed, found.changed) == (len(added), len(removed), len(changed))
    assert found.examples_added == tuple(added[:_EXAMPLES])
    assert found.examples_removed == tuple(removed[:_EXAMPLES])
    assert found.examples_changed == tuple(changed[:_EXAMPLES])
    assert (found.summary() == "") is (before == after)


@given(st.lists(st.tuples(IDS, TEXTS), max_size=15), st.lists(st.tuples(IDS, TEXTS), max_size=15))
def test_repeated_keys_are_counted_and_order_never_matters(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    def table(rows: list[tuple[str, str]]) -> pl.DataFrame:
        return pl.DataFrame(rows, SCHEMA, orient="row")

    found = row_changes(table(before), table(after))
    assert found.after - found.before == found.added - found.removed
    assert found == row_changes(table(before[::-1]), table(sorted(after)))
    assert bool(found.summary()) is (sorted(before) != sorted(after))


def test_pairs_are_matched_by_both_ids() -> None:
    before = pl.DataFrame([("q1", "d1", 1), ("q1", "d2", 1), ("q2", "d1", 1)], PAIRS, orient="row")
    after = pl.DataFrame([("q1", "d2", 2), ("q1", "d3", 1), ("q2", "d1", 1)], PAIRS, orient="row")
    found = row_changes(before, after)
    assert (found.added, found.removed, found.changed) == (1, 1, 1)
    assert found.examples_added == ("q1 d3",)
    assert found.examples_removed == ("q1 d1",)
    assert found.examples_changed == ("q1 d2",)


def test_columns_that_come_go_or_change_their_type() -> None:
    before = pl.DataFrame({"_id": ["a"], "score": [1], "alt": ["x"], "label": ["1"]})
    after = pl.DataFrame(
        {"_id": ["a"], "score": [1], "neu": [1.0], "label": [1]}, schema_overrides={"score": pl.Int32}
    )
    found = row_changes(before, after)
    assert found.columns == (
        "column score: Int64 → Int32",
        "column alt: removed",
        "column label: String → Int64",
        "column neu: added",
    )
    assert found.changed == 0 and found.summary(), "equal numbers of another type are equal values"
    assert row_changes(before, after.with_columns(score=pl.lit(2))).changed == 1


def test_ids_of_another_type_are_the_same_ids() -> None:
    found = row_changes(pl.DataFrame({"_id": [1, 2, None]}), pl.DataFrame({"_id": ["1", "3", None]}))
    assert (found.added, found.removed) == (1, 1)


def test_without_a_key_rows_are_matched_by_number() -> None:
    before = pl.DataFrame({"sentences": [["a"], ["b", "c"]], "level": ["fine", "coarse"]})
    after = pl.DataFrame({"sentences": [["a"], ["b", "d"], ["e"]], "level": ["fine", "coarse", "fine"]})
    found = row_changes(before, after)
    assert (found.added, found.removed, found.changed) == (1, 0, 1)
    assert found.examples_added == ("row 3",)
    assert found.examples_changed == ("row 2",)
    assert not row_changes(before, before).summary()


def test_tables_without_rows_columns_or_anything_in_common() -> None:
    empty, rows = pl.DataFrame(), pl.DataFrame({"_id": ["a", "b"]})
    assert row_changes(empty, rows).added == 2
    assert row_changes(rows, empty).removed == 2
    assert row_changes(rows.clear(), rows).added == 2
    assert not row_changes(empty, empty).summary()
    other = row_changes(pl.DataFrame({"id": ["a"]}), pl.DataFrame({"_id": ["a"]}))
    assert other.columns == ("column id: removed", "column _id: added")


def test_missing_values_and_numbers_that_are_none_equal_themselves() -> None:
    frame = pl.DataFrame({"_id": ["a", "b", "c"], "x": [float("nan"), None, 1.0]})
    assert not row_changes(frame, frame).summary()
    other = frame.with_columns(x=pl.Series([None, None, 1.0], dtype=pl.Float64))
    assert row_changes(frame, other).changed == 1


def test_examples_are_short_few_and_obeyed_by_no_terminal() -> None:
    before = pl.DataFrame({"_id": [f"{number:02}" + "o" * 500 for number in range(20)], "text": ["x"] * 20})
    found = row_changes(before, before.with_columns(text=pl.lit("y")))
    assert found.changed == 20 and len(found.examples_changed) == _EXAMPLES
    assert all(len(example) < 100 for example in found.examples_changed)
    hostile = pl.DataFrame({"_id": ["a\x1b]0;x\x07"], "te\nxt": ["x"]})
    found = row_changes(hostile.clear(), hostile)
    assert found.examples_added[0].isprintable()
    assert row_changes(hostile, hostile.drop("te\nxt")).columns[0].isprintable()


def test_column_names_cannot_stand_for_our_own() -> None:
    frame = pl.DataFrame({
        "_id": ["a"],
        "there": ["x"],
        "value 0": ["y"],
        "key 0": ["z"],
        "occurrence": ["o"],
    })
    assert not row_changes(frame, frame).summary()
    assert row_changes(frame, frame.with_columns(pl.lit("anders").alias("value 0"))).changed == 1

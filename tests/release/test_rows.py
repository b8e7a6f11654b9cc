from __future__ import annotations

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from builders.release.rows import EXAMPLES, row_changes

IDS = st.text("abcdefgh", min_size=1, max_size=2)
VALUES = st.sampled_from(["eins", "zwei", "drei"])
TABLES = st.dictionaries(IDS, VALUES, max_size=20)
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
    assert found.examples_added == tuple(added[:EXAMPLES])
    assert found.examples_removed == tuple(removed[:EXAMPLES])
    assert [example.partition(":")[0] for example in found.examples_changed] == changed[:EXAMPLES]
    assert found.any is (before != after)
    assert (found.summary() == "") is (before == after)


@given(st.lists(st.tuples(IDS, VALUES), max_size=15), st.lists(st.tuples(IDS, VALUES), max_size=15))
def test_repeated_keys_are_counted_and_order_never_matters(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    def table(rows: list[tuple[str, str]]) -> pl.DataFrame:
        return pl.DataFrame(rows, SCHEMA, orient="row")

    found = row_changes(table(before), table(after))
    assert found.after - found.before == found.added - found.removed
    assert found == row_changes(table(before[::-1]), table(sorted(after)))
    assert found.any is (sorted(before) != sorted(after))


def test_pairs_are_matched_by_both_ids() -> None:
    before = pl.DataFrame([("q1", "d1", 1), ("q1", "d2", 1), ("q2", "d1", 1)], PAIRS, orient="row")
    after = pl.DataFrame([("q1", "d2", 2), ("q1", "d3", 1), ("q2", "d1", 1)], PAIRS, orient="row")
    found = row_changes(before, after)
    assert (found.added, found.removed, found.changed) == (1, 1, 1)
    assert found.examples_added == ("q1 d3",)
    assert found.examples_removed == ("q1 d1",)
    assert found.examples_changed == ("q1 d2: score 1 → 2",)


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
    assert (found.changed, found.any) == (0, True), "equal numbers of another type are equal values"
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
    assert found.examples_changed == ("row 2: sentences ['b', 'c'] → ['b', 'd']",)
    assert not row_changes(before, before).any


def test_tables_without_rows_columns_or_anything_in_common() -> None:
    empty, rows = pl.DataFrame(), pl.DataFrame({"_id": ["a", "b"]})
    assert row_changes(empty, rows).added == 2
    assert row_changes(rows, empty).removed == 2
    assert row_changes(rows.clear(), rows).added == 2
    assert not row_changes(empty, empty).any
    other = row_changes(pl.DataFrame({"id": ["a"]}), pl.DataFrame({"_id": ["a"]}))
    assert other.columns == ("column id: removed", "column _id: added")


def test_missing_values_and_numbers_that_are_none_equal_themselves() -> None:
    frame = pl.DataFrame({"_id": ["a", "b", "c"], "x": [float("nan"), None, 1.0]})
    assert not row_changes(frame, frame).any
    other = frame.with_columns(x=pl.Series([None, None, 1.0], dtype=pl.Float64))
    assert row_changes(frame, other).changed == 1


def test_examples_are_short_few_and_obeyed_by_no_terminal() -> None:
    before = pl.DataFrame({"_id": [f"{number:02}" for number in range(20)], "text": ["x"] * 20})
    after = before.with_columns(text=pl.lit("\x1b[31m\u202erot\n" + "o" * 500))
    found = row_changes(before, after)
    assert found.changed == 20 and len(found.examples_changed) == EXAMPLES
    for example in found.examples_changed:
        assert example.isprintable() and len(example) < 200
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
    assert not row_changes(frame, frame).any
    assert row_changes(frame, frame.with_columns(pl.lit("anders").alias("value 0"))).changed == 1

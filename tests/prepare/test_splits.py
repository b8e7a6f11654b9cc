from __future__ import annotations

import math
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import StorageError, UsageError
from builders.prepare.components import components, is_giant
from builders.prepare.splits import assign, read_splits, remembered, write_splits
from builders.text.merge import digest

_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _groups(*rows: tuple[str, str]) -> pl.DataFrame:
    """Ids and groups; the leak key is the group, or what stands in it before a colon."""
    frame = pl.DataFrame(rows, schema={"query_id": pl.String, "group": pl.String}, orient="row")
    return frame.with_columns(leak=pl.col("group").str.split(":").list.first())


def _splits(assigned: pl.DataFrame) -> dict[str, str]:
    return dict(assigned.select("query_id", "split").rows())


def _many(start: int, stop: int, *, group_size: int = 1) -> list[tuple[str, str]]:
    return [(f"q{number:04}", f"group {number // group_size}") for number in range(start, stop)]


# Ids by the digest of "42:{id}", made with: printf "42:q-00" | b2sum | cut -c1-16
_ORDER = "q-00 q-06 q-11 q-10 q-03 q-01 q-05 q-09 q-02 q-08 q-04 q-07".split()


def test_a_literal_assignment() -> None:
    assigned = assign(_groups(*((f"q-{number:02}", f"key {number}") for number in range(12))))
    assert assigned.columns == ["query_id", "group_hash", "split"]
    assert assigned["query_id"].to_list() == sorted(_ORDER)
    assert assigned.item(0, "group_hash") == "101ccbe3efaa7563"
    assert _splits(assigned) == dict(zip(_ORDER, ["train"] * 9 + ["dev"] + ["test"] * 2, strict=True))


def test_a_literal_assignment_of_groups() -> None:
    """A group stands where its smallest id does; 9 queries go to train, dev begins below 10."""
    together = {"q-00": "group", "q-04": "group", "q-07": "group"}
    assigned = assign(_groups(*((name, together.get(name, name)) for name in _ORDER)))
    order = "q-00 q-04 q-07 q-06 q-11 q-10 q-03 q-01 q-05 q-09 q-02 q-08".split()
    assert _splits(assigned) == dict(zip(order, ["train"] * 9 + ["dev"] + ["test"] * 2, strict=True))


def test_a_group_is_not_cut_where_a_split_is_full() -> None:
    together = {"q-05": "group", "q-02": "group", "q-08": "group", "q-07": "group"}
    assigned = assign(_groups(*((name, together.get(name, name)) for name in _ORDER)))
    order = "q-00 q-06 q-11 q-10 q-03 q-01 q-09 q-02 q-05 q-07 q-08 q-04".split()
    assert _splits(assigned) == dict(zip(order, ["train"] * 11 + ["test"], strict=True))


def test_the_seed_changes_the_order() -> None:
    groups = _groups(*_many(0, 50))
    assert _splits(assign(groups)) != _splits(assign(groups, seed=43))


@settings(deadline=None)
@given(st.integers(0, 300))
def test_sizes_are_exact_where_groups_are_single_queries(n: int) -> None:
    counts = assign(_groups(*_many(0, n))).group_by("split").len()
    sizes = dict(counts.rows())
    train, dev = int(n * 8 // 10), int(n * 9 // 10) - int(n * 8 // 10)
    expected = {"train": train, "dev": dev, "test": n - train - dev}
    assert sizes == {split: size for split, size in expected.items() if size}


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(_LETTERS), max_size=60),
    st.integers(0, 9),
    st.randoms(use_true_random=False),
)
def test_groups_are_dealt_whole_whatever_the_order_of_rows(
    keys: list[str], seed: int, rng: random.Random
) -> None:
    rows = [(f"q{number:02}", key) for number, key in enumerate(keys)]
    assigned = assign(_groups(*rows), seed=seed)
    assert assigned.equals(assign(_groups(*rng.sample(rows, len(rows))), seed=seed))
    assert assigned.group_by("group_hash").agg(pl.col("split").n_unique())["split"].to_list() == [1] * len(
        set(keys)
    )
    assert assigned["query_id"].to_list() == sorted(name for name, _ in rows)


@settings(deadline=None, max_examples=30)
@given(st.integers(20, 120), st.integers(1, 4), st.integers(0, 99))
def test_committed_assignments_stay_when_rows_come_and_go(n: int, group_size: int, seed: int) -> None:
    rows = _many(0, n, group_size=group_size)
    first = assign(_groups(*rows))
    kept = random.Random(seed).sample(rows, n - n // 20)
    grown = [*kept, *_many(n, n + n // 10 + 1, group_size=group_size)]
    second = assign(_groups(*grown), committed=first)
    old, new = _splits(first), _splits(second)
    assert all(new[name] == old[name] for name, _ in kept)
    assert len(new) == len(grown)
    assert second.group_by("group_hash").agg(pl.col("split").n_unique())["split"].max() == 1


def test_nothing_new_changes_nothing() -> None:
    groups = _groups(*_many(0, 40, group_size=3))
    first = assign(groups)
    assert assign(groups, committed=first).equals(first)
    assert assign(groups, committed=first, seed=7).equals(first)


def _committed(*rows: tuple[str, str, str]) -> pl.DataFrame:
    hashed = [(name, digest(key), split) for name, key, split in rows]
    schema = dict.fromkeys(("query_id", "group_hash", "split"), pl.String)
    return pl.DataFrame(hashed, schema=schema, orient="row")


def test_new_queries_join_the_split_of_their_group() -> None:
    committed = _committed(("old", "koch", "dev"))
    assigned = assign(_groups(("old", "koch"), ("new", "koch")), committed=committed)
    assert _splits(assigned) == {"old": "dev", "new": "dev"}


def test_a_group_is_remembered_when_its_queries_are_gone() -> None:
    committed = _committed(("gone", "koch", "dev"))
    assert _splits(assign(_groups(("new", "koch")), committed=committed)) == {"new": "dev"}


def test_a_group_that_spans_splits_sends_new_queries_to_train() -> None:
    committed = _committed(("a", "koch", "test"), ("b", "koch", "dev"))
    assigned = assign(_groups(("a", "koch"), ("b", "koch"), ("c", "koch")), committed=committed)
    assert _splits(assigned) == {"a": "test", "b": "dev", "c": "train"}


def test_a_query_whose_group_has_a_new_key_keeps_its_split_and_its_twins_follow() -> None:
    committed = _committed(("a", "old key", "dev"))
    assigned = assign(_groups(("a", "new key"), ("b", "new key")), committed=committed)
    assert _splits(assigned) == {"a": "dev", "b": "dev"}
    assert set(assigned["group_hash"]) == {digest("new key")}


def test_groups_of_one_leak_key_are_dealt_together() -> None:
    rows = [(f"q{number:03}", f"job {number // 3}:{number % 3}") for number in range(90)]
    assigned = assign(_groups(*rows))
    assert assigned["group_hash"].n_unique() == 90
    splits = _splits(assigned)
    assert all(
        splits[f"q{n:03}"] == splits[f"q{n + 1:03}"] == splits[f"q{n + 2:03}"] for n in range(0, 90, 3)
    )
    assert set(splits.values()) == {"train", "dev", "test"}


def test_a_new_group_joins_the_split_of_its_leak_key() -> None:
    committed = _committed(("old", "c:", "dev"))
    assigned = assign(_groups(("old", "c:"), ("new", "c:++"), ("newer", "c:#")), committed=committed)
    assert _splits(assigned) == {"old": "dev", "new": "dev", "newer": "dev"}


def test_a_known_group_outweighs_its_leak_key() -> None:
    committed = _committed(("a", "c:", "dev"), ("b", "c:++", "test"))
    groups = _groups(("a", "c:"), ("b", "c:++"), ("like b", "c:++"), ("new", "c:#"))
    assigned = _splits(assign(groups, committed=committed))
    assert assigned == {"a": "dev", "b": "test", "like b": "test", "new": "train"}


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(":+:#".split(":"))), max_size=50),
    st.integers(0, 50),
)
def test_leak_keys_are_never_parted(keys: list[tuple[str, str]], known: int) -> None:
    rows = [(f"q{number:02}", ":".join(key)) for number, key in enumerate(keys)]
    earlier = assign(_groups(*rows[:known]))
    assigned = assign(_groups(*rows), committed=earlier)
    splits = (
        assigned.join(_groups(*rows), on="query_id").group_by("leak").agg(pl.col("split").n_unique())["split"]
    )
    assert set(splits) <= {1}
    old, new = _splits(earlier), _splits(assigned)
    assert {name: new[name] for name in old} == old


def _related(*rows: tuple[str, str, list[str]]) -> pl.DataFrame:
    """Ids, groups and positives of queries that are dealt by components."""
    queries = _groups(*((name, group) for name, group, _ in rows))
    schema = {"query_id": pl.String, "passage_id": pl.String}
    pairs = [(name, passage) for name, _, passages in rows for passage in passages]
    qrels = pl.DataFrame(pairs, schema=schema, orient="row")
    counted = queries.join(qrels.group_by("query_id").len("positives"), on="query_id")
    return counted.join(components(queries, qrels), on="query_id")


def _chained(n: int, *, size: int, first: int = 0) -> pl.DataFrame:
    """Give n queries with groups of their own; `size` after each other share a passage with the next."""
    return _related(
        *(
            (
                f"q{number:04}",
                f"group {number}",
                [f"p{number}"] + [f"p{number + 1}"] * ((number + 1) % size > 0),
            )
            for number in range(first, first + n)
        )
    )


def test_components_are_dealt_whole() -> None:
    queries = _chained(600, size=3)
    assert queries["component"].n_unique() == 200
    assigned = assign(queries, components=True).join(queries, on="query_id")
    assert assigned.group_by("component").agg(pl.col("split").n_unique())["split"].to_list() == [1] * 200
    assert dict(assigned.group_by("split").len().rows()) == {"train": 480, "dev": 60, "test": 60}
    alone = assign(queries).join(queries, on="query_id")
    assert alone.group_by("component").agg(pl.col("split").n_unique())["split"].max() == 3


def test_a_literal_assignment_within_strata_of_positives() -> None:
    """Twelve lone queries, and three pairs with more positives, which stand in the first ten."""
    assert sorted(_ORDER, key=lambda name: digest(f"42:{name}")) == _ORDER
    lone = [(name, name, [name]) for name in _ORDER]
    pairs = [(f"{name}{twin}", name, [name]) for name in ("x-0", "x-1", "x-2") for twin in "ab"]
    assigned = _splits(assign(_related(*lone, *pairs), components=True))
    # Of equally many positives, the first by hash stand first: seven lone queries join the pairs.
    first_ten = sorted(["x-0a", "x-1a", "x-2a", *_ORDER[:7]], key=lambda name: digest(f"42:{name}"))
    expected = dict(zip(first_ten, ["train"] * 8 + ["dev", "test"], strict=True))
    expected |= dict(zip(_ORDER[7:], ["train"] * 4 + ["test"], strict=True))  # 8/10 and 9/10 of five, down
    expected |= {f"{name}b": expected[f"{name}a"] for name in ("x-0", "x-1", "x-2")}
    assert assigned == expected


@settings(deadline=None, max_examples=30)
@given(st.lists(st.integers(1, 12), min_size=40, max_size=90), st.integers(0, 99))
def test_of_ten_components_of_like_positives_one_goes_to_dev_and_one_to_test(
    sizes: list[int], seed: int
) -> None:
    rows = [
        (f"c{at:02}", f"group {at}", [f"p{at}-{n}" for n in range(size)]) for at, size in enumerate(sizes)
    ]
    queries = _related(*rows)
    dealt = assign(queries, components=True, seed=seed).join(queries, on="query_id")
    heaviest = dict(dealt.group_by("split").agg(pl.col("positives").sort(descending=True)).rows())
    assert len(heaviest["dev"]) == len(sizes) // 10 + (len(sizes) % 10 > 5)  # six and more have one of dev
    weights = sorted(sizes, reverse=True)
    for split in ("dev", "test"):
        for ten, weight in enumerate(heaviest[split][: len(sizes) // 10]):
            assert weights[10 * ten] >= weight >= weights[10 * ten + 9]


def test_where_a_component_is_too_large_groups_alone_are_dealt() -> None:
    giant = [(f"g{number:02}", f"giant {number}", ["p", f"p{number}"]) for number in range(30)]
    others = [(f"q{number:03}", f"group {number // 2}", [f"x{number // 2}"]) for number in range(170)]
    queries = _related(*giant, *others)
    assert is_giant(queries)
    splits = _splits(assign(queries, components=True))
    assert {splits[name] for name, _, _ in giant} == {"train", "dev", "test"}
    assert all(splits[f"q{number:03}"] == splits[f"q{number + 1:03}"] for number in range(0, 170, 2))


def test_a_new_group_joins_the_split_of_the_component_that_it_touches() -> None:
    filler = [(f"f{number:02}", f"filler {number}", [f"f{number}"]) for number in range(80)]
    old = [("a", "koch", ["p1"]), ("b", "bäcker", ["p2"]), *filler]
    committed = _committed(
        ("a", "koch", "dev"), ("b", "bäcker", "test"), *((name, key, "train") for name, key, _ in filler)
    )
    grown = _related(
        *old, ("c", "küchenhilfe", ["p1", "p3"]), ("d", "spüler", ["p3"]), ("e", "konditor", ["p2"])
    )
    splits = _splits(assign(grown, components=True, committed=committed))
    assert {name: splits[name] for name in "abcde"} == {
        "a": "dev", "b": "test", "c": "dev", "d": "dev", "e": "test"
    }  # fmt: skip
    assert not is_giant(grown)
    both = _related(*old, ("c", "küchenhilfe", ["p1", "p2"]))
    assert _splits(assign(both, components=True, committed=committed))["c"] == "train"


def test_a_known_group_outweighs_its_component() -> None:
    filler = [(f"f{number:02}", f"filler {number}", [f"f{number}"]) for number in range(60)]
    committed = _committed(("a", "koch", "dev"), ("gone", "bäcker", "test"))
    grown = _related(("a", "koch", ["p"]), ("b", "bäcker", ["p"]), ("c", "konditor", ["p"]), *filler)
    splits = _splits(assign(grown, components=True, committed=committed))
    assert (splits["a"], splits["b"], splits["c"]) == ("dev", "test", "train")


def test_a_literal_draw_of_newcomers() -> None:
    """By the digest of "42:{id}", "920ef…" for new-0, against "cccc…" (0.8) and "e666…" (0.9)."""
    expected = dict.fromkeys((f"new-{number}" for number in range(15)), "train") | {"new-12": "dev"}
    expected |= dict.fromkeys(("new-3", "new-7", "new-14"), "test")
    assigned = assign(_groups(*((name, name) for name in expected)), committed=_committed())
    assert _splits(assigned) == expected


@pytest.mark.parametrize("whole", [False, True])
def test_newcomers_one_at_a_time_go_where_they_go_together(whole: bool) -> None:
    """Dealt among themselves, lone newcomers all went to test, since fewer than two fill no train split."""
    rows = [(name, key, [name]) for name, key in _many(0, 400)]
    first = assign(_related(*rows[:300]), components=whole)
    committed = first
    for stop in range(301, 401):
        committed = assign(_related(*rows[:stop]), components=whole, committed=committed)
    assert committed.equals(assign(_related(*rows), components=whole, committed=first))
    newcomers = committed.filter(pl.col("query_id") >= "q0300")
    shares = dict(newcomers.group_by("split").len().rows())
    assert shares == {"train": 77, "dev": 13, "test": 10}


@settings(deadline=None, max_examples=30)
@given(st.data())
def test_a_newcomers_split_depends_on_its_key_what_it_touches_and_the_committed_file(
    data: st.DataObject,
) -> None:
    passage = st.sampled_from([f"p{number}" for number in range(60)])
    positives = data.draw(st.lists(st.lists(passage, min_size=1, max_size=2), min_size=80, max_size=80))
    rows = [(f"q{n:02}", f"group {n // 2}", found) for n, found in enumerate(positives)]
    known = data.draw(st.integers(0, 80))
    committed = assign(_related(*rows[:known]), components=True)
    queries = _related(*rows)
    if is_giant(queries):
        return
    whole = assign(queries, components=True, committed=committed)
    name = data.draw(st.sampled_from(queries["component"].unique(maintain_order=True).to_list()))
    touched = queries.filter(component=name)
    filler = _related(*((f"r{n:03}", f"other {n}", [f"r{n}"]) for n in range(20 * touched.height)))
    alone = assign(pl.concat([touched, filler]), components=True, committed=committed)
    expected = whole.join(touched, on="query_id", how="semi")
    assert alone.join(touched, on="query_id", how="semi").equals(expected)
    earlier, now = _splits(committed), _splits(whole)
    assert {query: now[query] for query in earlier} == earlier


@pytest.mark.long
@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**32))
def test_a_thousand_newcomers_are_dealt_about_80_10_10(salt: int) -> None:
    """Five standard deviations of each share; the figure of the stand-in is in the notes."""
    committed = assign(_groups(*_many(0, 1000)))
    newcomers = [(f"n{salt}-{number}", f"new {salt} {number}") for number in range(1000)]
    splits = assign(_groups(*newcomers), committed=committed)
    for split, share in (("train", 0.8), ("dev", 0.1), ("test", 0.1)):
        held = splits.filter(split=split).height / 1000
        assert abs(held - share) < 5 * math.sqrt(share * (1 - share) / 1000)


def test_queries_that_are_gone_are_remembered() -> None:
    first = assign(_groups(*_many(0, 30)))
    second = assign(_groups(*_many(10, 40)), committed=first)
    memory = remembered(second, first)
    assert memory["query_id"].to_list() == [f"q{number:04}" for number in range(40)]
    assert memory.head(10).equals(first.head(10))
    back = assign(_groups(*_many(0, 40)), committed=memory)
    assert back.equals(memory)
    assert remembered(first, None).equals(first)


def test_a_query_cannot_stand_there_twice() -> None:
    with pytest.raises(UsageError, match="'a'"):
        assign(_groups(("a", "x"), ("a", "y")))


def test_a_file_gives_back_what_was_written_and_holds_no_text(tmp_path: Path) -> None:
    assigned = assign(_groups(*_many(0, 25, group_size=2)))
    path = tmp_path / "deep" / "jobs.splits.tsv"
    write_splits(path, assigned.sample(fraction=1, shuffle=True, seed=1))
    assert read_splits(path).equals(assigned)
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "query-id\tgroup\tsplit"
    assert lines[1] == f"q0000\t{digest('group 0')}\t{assigned.item(0, 'split')}"
    assert "group 0" not in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    write_splits(path, assigned)
    assert path.read_bytes() == before


def test_an_empty_assignment_is_only_a_header(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    write_splits(path, assign(_groups()))
    assert path.read_bytes() == b"query-id\tgroup\tsplit\n"
    assert read_splits(path).is_empty()


_GOOD = "q1\t0123456789abcdef\ttrain"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("", 1, "header"),
        ("query-id\tsplit\n", 1, "header"),
        (f"query-id\tgroup\tsplit\n{_GOOD}\nq2\t0123456789abcdef\n", 3, "three fields"),
        (f"query-id\tgroup\tsplit\n{_GOOD}\tx\n", 2, "three fields"),
        (f"query-id\tgroup\tsplit\n{_GOOD}\n\n", 3, "three fields"),
        ("query-id\tgroup\tsplit\n\t0123456789abcdef\ttrain\n", 2, "id is empty"),
        ("query-id\tgroup\tsplit\nq1\t0123456789ABCDEF\ttrain\n", 2, "no hash"),
        ("query-id\tgroup\tsplit\nq1\tkoch\ttrain\n", 2, "no hash"),
        (f"query-id\tgroup\tsplit\n{_GOOD}\nq2\t0123456789abcdef\tvalidation\n", 3, "train, dev, test"),
        (f"query-id\tgroup\tsplit\n{_GOOD}\n{_GOOD}\n", 3, "twice"),
        (f"query-id\tgroup\tsplit\n<<<<<<< HEAD\n{_GOOD}\n", 2, "three fields"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path: Path, text: str, line: int, problem: str) -> None:
    path = tmp_path / "jobs.splits.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=problem) as caught:
        read_splits(path)
    assert f"{path}, line {line}:" in caught.value.message


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"none\.tsv"):
        read_splits(tmp_path / "none.tsv")
    (tmp_path / "latin.tsv").write_bytes(f"query-id\tgroup\tsplit\n{_GOOD}\n".encode() + b"q\xff")
    with pytest.raises(UsageError, match=r"latin\.tsv, line 3: byte 0xff is not UTF-8"):
        read_splits(tmp_path / "latin.tsv")


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb"])
def test_an_id_that_would_break_the_file_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "x.tsv"
    with pytest.raises(UsageError, match="tab or a line break"):
        write_splits(path, assign(_groups((name, "x"))))
    assert not path.exists()

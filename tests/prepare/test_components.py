"""Connected components of queries, held against a search that walks from query to query."""

from __future__ import annotations

import random

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.prepare.components import MOST, components, is_giant, largest
from builders.text.merge import digest

Pair = tuple[str, str]


def _queries(leaks: dict[str, str]) -> pl.DataFrame:
    return pl.DataFrame(list(leaks.items()), schema={"query_id": pl.String, "leak": pl.String}, orient="row")


def _qrels(pairs: list[Pair]) -> pl.DataFrame:
    return pl.DataFrame(pairs, schema={"query_id": pl.String, "passage_id": pl.String}, orient="row")


def _found(leaks: dict[str, str], pairs: list[Pair]) -> dict[str, str]:
    return dict(components(_queries(leaks), _qrels(pairs)).rows())


def _walked(leaks: dict[str, str], pairs: list[Pair]) -> dict[str, str]:
    """Walk from each query to those that share a leak key or a passage with it, until there is no other."""
    passages = {query: {passage for other, passage in pairs if other == query} for query in leaks}
    found = {}
    for start in leaks:
        reached, edge = {start}, [start]
        while edge:
            here = edge.pop()
            near = {q for q in leaks if leaks[q] == leaks[here] or passages[q] & passages[here]}
            edge += near - reached
            reached |= near
        found[start] = digest(min(reached))
    return found


def test_queries_are_connected_by_leak_keys_and_positives() -> None:
    leaks = {"a": "koch", "b": "koch", "c": "bäcker", "d": "maurer", "e": "imker"}
    pairs = [("a", "p1"), ("b", "p2"), ("c", "p2"), ("c", "p3"), ("d", "p4"), ("e", "p5")]
    chained = digest("a")
    assert _found(leaks, pairs) == {
        "a": chained, "b": chained, "c": chained, "d": digest("d"), "e": digest("e")
    }  # fmt: skip


def test_a_leak_key_and_a_passage_of_one_name_connect_nothing() -> None:
    leaks = {"a": "koch", "b": "bäcker"}
    assert _found(leaks, [("a", "p1"), ("b", "koch")]) == {"a": digest("a"), "b": digest("b")}


def test_pairs_of_other_queries_connect_nothing() -> None:
    leaks = {"a": "koch", "b": "bäcker"}
    found = _found(leaks, [("a", "p1"), ("gone", "p1"), ("gone", "p2"), ("b", "p2")])
    assert found == {"a": digest("a"), "b": digest("b")}


def test_without_queries_there_are_no_components() -> None:
    assert components(_queries({}), _qrels([])).schema == {"query_id": pl.String, "component": pl.String}
    assert not is_giant(_queries({}).with_columns(component=pl.lit("")))


_names = st.sampled_from([f"q{number}" for number in range(12)])


@settings(deadline=None)
@given(
    st.dictionaries(_names, st.sampled_from("uvwxyz")),
    st.lists(st.tuples(_names, st.sampled_from([f"p{number}" for number in range(9)])), max_size=14),
    st.randoms(use_true_random=False),
)
def test_components_are_those_that_a_walk_finds(
    leaks: dict[str, str], pairs: list[Pair], rng: random.Random
) -> None:
    found = _found(leaks, pairs)
    assert found == _walked(leaks, pairs)
    mixed = dict(rng.sample(sorted(leaks.items()), len(leaks)))
    assert _found(mixed, rng.sample(pairs, len(pairs))) == found


def test_a_giant_holds_more_than_its_share_and_more_than_a_leak_key() -> None:
    n = 100
    most = int(MOST * n)

    def dealt(component: int, leak: int) -> pl.DataFrame:
        return pl.DataFrame({
            "component": ["giant" if number < component else str(number) for number in range(n)],
            "leak": ["twins" if number < leak else str(number) for number in range(n)],
        })

    assert largest(dealt(7, 1), "component") == 7
    assert is_giant(dealt(most + 1, 1))
    assert not is_giant(dealt(most, 1))
    assert not is_giant(dealt(most + 1, most + 1)), "it would be dealt whole in any case"
    assert is_giant(dealt(most + 2, most + 1))

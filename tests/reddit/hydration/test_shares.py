from __future__ import annotations

import polars as pl
import pytest

from builders.lock.lock import PersonalReport
from builders.reddit.folder import COMPARABLE, SetShare
from builders.reddit.texts import Texts, fill_sets
from builders.tables import SCHEMAS, Kind

_NOTHING = PersonalReport(texts=0, changed=0, kinds={}, rules={}, examples={})


def published(*sets: dict[str, str]) -> pl.DataFrame:
    rows = [(list(one), list(one.values())) for one in sets]
    return pl.DataFrame(rows, schema=pl.Schema(SCHEMAS[Kind.CLUSTERING_IDS]), orient="row")


def texts(*there: str, no_title: tuple[str, ...] = ()) -> Texts:
    documents = pl.DataFrame(
        [(name, f"T {name}", f"T {name} Text") for name in there],
        schema={"id": pl.String, "s2s": pl.String, "p2p": pl.String},
        orient="row",
    )
    dropped = pl.DataFrame(
        [(name, "no_title") for name in no_title], schema={"id": pl.String, "reason": pl.String}, orient="row"
    )
    return Texts(documents, dropped, _NOTHING)


def known(**statuses: str) -> pl.DataFrame:
    return pl.DataFrame(list(statuses.items()), schema={"id": pl.String, "status": pl.String}, orient="row")


def many(count: int) -> dict[str, str]:
    return {f"a{number:04}": f"Thema{number % 2}" for number in range(count)}


def test_texts_take_the_places_of_ids_in_the_order_of_the_set() -> None:
    sets = published({"ccccc": "Teich", "aaaaa": "Beete"}, {"bbbbb": "Beete", "ccccc": "Teich"})
    tables, shares = fill_sets(sets, texts("aaaaa", "bbbbb", "ccccc"), known(), level="subreddit")
    assert tables[Kind.CLUSTERING_S2S].rows() == [
        (["T ccccc", "T aaaaa"], ["Teich", "Beete"], "subreddit"),
        (["T bbbbb", "T ccccc"], ["Beete", "Teich"], "subreddit"),
    ]
    assert tables[Kind.CLUSTERING_P2P]["sentences"][0].to_list() == ["T ccccc Text", "T aaaaa Text"]
    assert tables[Kind.CLUSTERING_P2P].drop("sentences").equals(tables[Kind.CLUSTERING_S2S].drop("sentences"))
    assert tables[Kind.CLUSTERING_S2S].schema == pl.Schema(SCHEMAS[Kind.CLUSTERING_S2S])
    assert all(one.comparable and one.share == 1 and not one.gone for one in shares)


def test_what_is_gone_is_counted_by_reason() -> None:
    one = {"aaaaa": "Beete", "bbbbb": "Beete", "ccccc": "Teich", "ddddd": "Teich", "eeeee": "Teich"}
    tables, shares = fill_sets(
        published(one, {"aaaaa": "Beete", "ccccc": "Teich"}),
        texts("aaaaa", "ccccc", no_title=("ddddd",)),
        known(aaaaa="ok", bbbbb="deleted", ccccc="ok", ddddd="ok"),
        level="subreddit",
    )
    assert shares[0] == SetShare(
        number=1, published=5, there=2, share=0.4, comparable=False, left_out=False,
        gone={"deleted": 1, "no_title": 1, "unknown": 1},
    )  # fmt: skip
    assert shares[1].comparable and shares[1].gone == {}
    assert tables[Kind.CLUSTERING_S2S]["sentences"][0].to_list() == ["T aaaaa", "T ccccc"]


@pytest.mark.parametrize(("there", "comparable"), [(90, True), (89, False)])
def test_ninety_percent_is_the_line(there: int, comparable: bool) -> None:
    members = many(100)
    _, shares = fill_sets(published(members), texts(*list(members)[:there]), known(), level="subreddit")
    assert shares[0].comparable is comparable
    assert shares[0].share == there / 100 and COMPARABLE == 0.9


def test_a_set_of_one_label_or_none_is_left_out_of_both_tables() -> None:
    sets = published(
        {"aaaaa": "Beete", "bbbbb": "Teich"}, {"aaaaa": "Beete", "ccccc": "Teich"}, {"ddddd": "Moor"}
    )
    tables, shares = fill_sets(sets, texts("aaaaa", "bbbbb"), known(), level="subreddit")
    assert [one.left_out for one in shares] == [False, True, True]
    assert [one.number for one in shares] == [1, 2, 3]
    assert all(table.height == 1 for table in tables.values())


def test_the_same_text_twice_stays_two_rows() -> None:
    made = texts("aaaaa", "bbbbb", "ccccc")
    same = Texts(made.documents.with_columns(s2s=pl.lit("Gleich")), made.dropped, made.personal)
    sets = published({"aaaaa": "Beete", "bbbbb": "Beete", "ccccc": "Teich"})
    tables, _ = fill_sets(sets, same, known(), level="subreddit")
    assert tables[Kind.CLUSTERING_S2S]["sentences"][0].to_list() == ["Gleich"] * 3

from __future__ import annotations

import hashlib
import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.errors import FindingsError
from builders.text import merge
from builders.text.merge import Ids, digest, encoded_text, merge_passages, merge_queries

_WORDS = st.sampled_from(["Koch", "koch", "Köchin", "Ärztin", "Müller", "Zoo"])


def _queries(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["upstream_id", "text", "key"], orient="row")


def _passages(*rows: tuple[str, str, str]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["upstream_id", "title", "text"], orient="row")


def test_a_content_id_is_the_prefix_and_16_digits_of_blake2b() -> None:
    assert "q-" + digest("koch") == "q-" + hashlib.blake2b(b"koch").hexdigest()[:16]
    assert "q-" + digest("koch") == "q-d9efaa28c6939fc7"
    assert "d-" + digest("köchin") == "d-770cec1370b43330"


def test_upstream_ids_the_smallest_survives_by_code_point() -> None:
    merged = merge_queries(
        _queries(("q_9", "Wo?", "wo"), ("q_10", "Wo?", "wo"), ("Q_2", "Was?", "was")), "upstream"
    )
    assert merged.rows.rows() == [("Q_2", "Was?", "was"), ("q_10", "Wo?", "wo")]
    assert merged.ids.rows() == [("Q_2", "Q_2"), ("q_10", "q_10"), ("q_9", "q_10")]


def test_the_most_frequent_form_is_shown_and_of_ties_the_smallest() -> None:
    merged = merge_queries(
        _queries(
            ("1", "KOCH", "koch"),
            ("2", "Koch (m/w/d)", "koch"),
            ("3", "Koch (m/w/d)", "koch"),
            ("4", "Zoologin", "zoo"),
            ("5", "Zoologe", "zoo"),
        ),
        "content",
    )
    shown = dict(merged.rows.select("key", "text").rows())
    assert shown == {"koch": "Koch (m/w/d)", "zoo": "Zoologe"}
    assert set(merged.rows["query_id"]) == {"q-" + digest("koch"), "q-" + digest("zoo")}
    assert dict(merged.ids.rows())["1"] == "q-" + digest("koch")


def test_passages_merge_on_what_is_encoded() -> None:
    frame = _passages(
        ("d2", "Deich", "am Meer"), ("d1", "", "Deich am Meer"), ("d4", "", "Watt"), ("d3", "Watt", "")
    )
    merged = merge_passages(frame, "upstream")
    assert merged.rows.rows() == [("d1", "", "Deich am Meer"), ("d3", "Watt", "")]
    assert merged.ids.rows() == [("d1", "d1"), ("d2", "d1"), ("d3", "d3"), ("d4", "d3")]
    by_content = merge_passages(frame, "content")
    assert set(by_content.rows["passage_id"]) == {"d-" + digest("Deich am Meer"), "d-" + digest("Watt")}


def test_what_is_encoded_is_title_and_text_stripped() -> None:
    frame = pl.DataFrame({"title": ["A", "", None, "A"], "text": ["b", "b", "b", ""]})
    assert encoded_text(frame).to_list() == ["A b", "b", "b", "A"]


@pytest.mark.parametrize("ids", ["upstream", "content"])
@settings(deadline=None, max_examples=50)
@given(rows=st.lists(st.tuples(_WORDS, _WORDS), min_size=1, max_size=12), seed=st.integers(0, 99))
def test_the_order_of_rows_does_not_matter(ids: Ids, rows: list[tuple[str, str]], seed: int) -> None:
    numbered = [(f"u{i}", *row) for i, row in enumerate(rows)]
    shuffled = random.Random(seed).sample(numbered, len(numbered))
    queries = [merge_queries(_queries(*given), ids) for given in (numbered, shuffled)]
    assert queries[0].rows.equals(queries[1].rows)
    assert queries[0].ids.equals(queries[1].ids)
    assert queries[0].ids.height == len(rows)
    passages = [merge_passages(_passages(*given), ids) for given in (numbered, shuffled)]
    assert passages[0].rows.equals(passages[1].rows)
    assert passages[0].ids.equals(passages[1].ids)
    assert passages[0].rows["passage_id"].is_sorted() and passages[0].rows["passage_id"].is_unique().all()


def test_content_does_not_depend_on_upstream_ids() -> None:
    one = merge_passages(_passages(("1", "A", "b c"), ("2", "A b", "c")), "content")
    two = merge_passages(_passages(("2", "A", "b c"), ("1", "A b", "c")), "content")
    assert one.rows.equals(two.rows)


def test_two_texts_under_one_upstream_id_are_refused() -> None:
    with pytest.raises(FindingsError, match=r"'q1' stands for two texts: 'a' and 'b'"):
        merge_queries(_queries(("q1", "A", "a"), ("q1", "B", "b")), "upstream")


def test_a_hash_collision_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    # No two texts with equal hashes are known, so the hash is made short enough to collide.
    monkeypatch.setattr(merge, "digest", lambda text: hashlib.blake2b(text.encode()).hexdigest()[:1])
    rows = [(f"u{i}", "", f"Text {i}") for i in range(20)]
    with pytest.raises(FindingsError, match=r"stands for two texts: 'Text \d+' and 'Text \d+'"):
        merge_passages(_passages(*rows), "content")


def test_no_rows_give_no_rows() -> None:
    empty = {"upstream_id": pl.String, "text": pl.String, "key": pl.String}
    merged = merge_queries(pl.DataFrame(schema=empty), "content")
    assert (
        merged.rows.columns == ["query_id", "text", "key"]
        and merged.rows.is_empty()
        and merged.ids.is_empty()
    )

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.checks.finding import Severity
from tests.checks.kit import (
    Plant,
    append,
    assert_found,
    chain,
    found,
    healthy,
    put,
    put_value,
    remove,
    table,
    unhurried,
    with_table,
)

ERROR, NOTE = Severity.ERROR, Severity.NOTE
PLANTS = [
    Plant(
        "dangling-qrels-query", ERROR, 1, "qrels/train q99 → d01", append("qrels/train", ("q99", "d01", 1))
    ),
    Plant(
        "dangling-qrels-corpus", ERROR, 1, "qrels/train q08 → d99", append("qrels/train", ("q08", "d99", 1))
    ),
    Plant("qrels-wrong-split", ERROR, 1, "qrels/dev q01 → d03", append("qrels/dev", ("q01", "d03", 1))),
    Plant(
        "query-without-qrels",
        ERROR,
        1,
        "queries/train q07: Wie oft",
        chain(remove("qrels/train", "q07"), append("qrels/train", ("q08", "d07", 1))),
    ),
    Plant("qrels-duplicate", ERROR, 1, "q08 → d08: 2 times", append("qrels/train", ("q08", "d08", 1))),
    Plant("qrels-score", ERROR, 1, "qrels/train q08 → d08: 2", put_value("qrels/train", "q08", "score", 2)),
    Plant("qrels-score", ERROR, 1, "qrels/train q08 → d08: 0", put_value("qrels/train", "q08", "score", 0)),
    Plant("test-positives-in-train", NOTE, 1, "q10", append("qrels/test", ("q10", "d02", 1))),
    Plant(
        "passage-never-relevant",
        NOTE,
        1,
        "d13: Mulch",
        append("corpus/corpus", ("d13", "", "Mulch hält den Boden feucht.")),
    ),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.code)
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_notes_say_the_share() -> None:
    shared = found(append("qrels/test", ("q10", "d02", 1), ("q10", "d03", 1))(healthy()))
    assert (
        shared["test-positives-in-train"].message
        == "1 of 1 test queries (100.0%) share a positive with train"
    )
    unused = append("corpus/corpus", ("d13", "", "Mulch hält den Boden feucht."))(healthy())
    assert found(unused)["passage-never-relevant"].message == "1 of 13 passages are relevant to no query"


def test_qrels_of_another_split_are_not_called_dangling() -> None:
    moved = chain(remove("qrels/train", "q03"), append("qrels/test", ("q03", "d03", 1)))(healthy())
    assert set(found(moved)) == {"qrels-wrong-split", "query-without-qrels"}


queries = st.sampled_from(["q01", "q02", "q09", "q10", "q98", "q99"])
passages = st.sampled_from(["d01", "d02", "d12", "d98", "d99"])
rows = st.lists(st.tuples(queries, passages, st.sampled_from([0, 1, 2])), max_size=12)


@unhurried
@given(train=rows, dev=rows)
def test_counts_agree_with_sets(train: list[tuple[str, str, int]], dev: list[tuple[str, str, int]]) -> None:
    subject = healthy()
    for split, added in (("train", train), ("dev", dev)):
        frame = table(subject, f"qrels/{split}").clear()
        filled = pl.DataFrame(added, schema=frame.schema, orient="row")
        subject = with_table(subject, f"qrels/{split}", filled)
    subject = put("qrels/test", lambda frame: frame.clear())(subject)
    counts = {code: finding.count for code, finding in found(subject).items()}

    of_split = {"train": {f"q{n:02}" for n in range(1, 9)}, "dev": {"q09"}, "test": {"q10"}}
    known = set.union(*of_split.values())
    placed = [("train", *row) for row in train] + [("dev", *row) for row in dev]
    pairs = [(query, passage) for _, query, passage, _ in placed]
    expected = {
        "dangling-qrels-query": sum(query not in known for _, query, _, _ in placed),
        "qrels-wrong-split": sum(q in known and q not in of_split[split] for split, q, _, _ in placed),
        "dangling-qrels-corpus": sum(passage in {"d98", "d99"} for _, _, passage, _ in placed),
        "qrels-duplicate": sum(pairs.count(pair) > 1 for pair in set(pairs)),
        "qrels-score": sum(score != 1 for *_, score in placed),
        "query-without-qrels": sum(
            not any(split == s and query == q for s, q, _, _ in placed)
            for split, members in of_split.items()
            for query in members
        ),
        "passage-never-relevant": 12 - len({passage for _, passage in pairs} & {"d01", "d02", "d12"}),
    }
    assert {code: counts.get(code, 0) for code in expected} == expected

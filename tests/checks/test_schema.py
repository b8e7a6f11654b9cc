from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from builders.checks.finding import Severity
from builders.tables import Kind
from tests.checks.kit import (
    Plant,
    append,
    assert_found,
    chain,
    found,
    healthy,
    put,
    put_value,
    respec,
    table,
    with_beside,
    with_table,
)

ERROR, GATE, NOTE = Severity.ERROR, Severity.GATE, Severity.NOTE
PLANTS = [
    Plant("beside-unknown", NOTE, 1, "scrub_merges", lambda s: with_beside(s, scrub_merges=None)),
    Plant("beside-unknown", NOTE, 1, "provenance", respec(rows="pair"), also=frozenset({"funnel-missing"})),
    Plant("missing-table", ERROR, 1, "queries/dev", lambda s: with_table(s, "queries/dev", None)),
    Plant(
        "unexpected-table",
        ERROR,
        1,
        "qrels/test-neu",
        lambda s: with_table(s, "qrels/test-neu", table(s, "qrels/test")),
    ),
    Plant("unexpected-table", ERROR, 6, "hard_negatives/dev", respec(mining=None)),
    Plant(
        "schema-columns",
        ERROR,
        1,
        "corpus/corpus: _id, text, title where _id, title, text",
        put("corpus/corpus", lambda frame: frame.select("passage_id", "text", "title")),
    ),
    Plant(
        "schema-columns",
        ERROR,
        1,
        "qrels/dev",
        put("qrels/dev", lambda frame: frame.with_columns(extended=True)),
    ),
    Plant(
        "schema-dtype",
        ERROR,
        1,
        "qrels/train score: Int64 where Int32",
        put("qrels/train", lambda frame: frame.with_columns(pl.col("score").cast(pl.Int64))),
    ),
    Plant(
        "null-value",
        ERROR,
        1,
        "corpus/corpus title: 1 null",
        put_value("corpus/corpus", "d04", "title", None),
    ),
    Plant(
        "empty-split",
        ERROR,
        2,
        "qrels/dev",
        chain(*(put(f"{kind}/dev", lambda frame: frame.clear()) for kind in ("queries", "qrels"))),
        also=frozenset({"dangling-negatives-query", "passage-never-relevant"}),
    ),
    Plant(
        "empty-negatives",
        GATE,
        1,
        "hard_negatives/dev",
        put("hard_negatives/dev", lambda frame: frame.clear()),
    ),
    Plant("config-name", ERROR, 1, "garten-top_ranked", respec(name="garten-top_ranked")),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.code)
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_a_healthy_config_has_no_finding() -> None:
    assert found(healthy()) == {}


def test_hard_negatives_are_needed_exactly_where_the_config_mines() -> None:
    subject = healthy()
    tables = dict(subject.tables)
    del tables[Kind.HARD_NEGATIVES], tables[Kind.HARD_NEGATIVES_V0]
    subject = replace(subject, tables=tables, mining=None)
    assert found(subject)["missing-table"].count == 3
    assert found(respec(mining=None)(subject)) == {}


def test_a_broken_shape_is_reported_alone_and_does_not_raise() -> None:
    broken = put("corpus/corpus", lambda frame: frame.drop("text"))
    dangling = append("qrels/train", ("q99", "d99", 1))
    assert set(found(chain(broken, dangling)(healthy()))) == {"schema-columns"}


def test_nothing_built_is_every_table_missing() -> None:
    assert found(replace(healthy(), tables={}))["missing-table"].count == 10


@pytest.mark.parametrize("name", ["jobs", "germandpr", "blurbs2", "a_b_c"])
def test_plain_names_pass(name: str) -> None:
    assert "config-name" not in found(respec(name=name)(healthy()))


@pytest.mark.parametrize("name", ["", "Jobs", "jobs-", "_jobs", "jobs__2", "jobs\n", "jöbs", "a/b", "../a"])
def test_other_names_do_not(name: str) -> None:
    assert "config-name" in found(respec(name=name)(healthy()))

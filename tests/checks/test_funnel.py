from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.checks import funnel
from builders.checks.finding import Severity
from builders.checks.subject import Pairs
from builders.lock.lock import Funnel
from tests.checks.kit import Change, Plant, assert_found, found, healthy, respec, unhurried, with_beside

ERROR = Severity.ERROR
UNKNOWN = frozenset({"beside-unknown"})
"""What is noted of postings whose provenance is not there."""


def funnels(*changed: Funnel, rows: str = "table") -> Change:
    """Replace the funnels of the same tables, or add them."""

    def change(subject: Pairs) -> Pairs:
        by_table = {each.table: each for each in (*subject.funnels, *changed)}
        return respec(rows=rows)(replace(subject, funnels=tuple(by_table.values())))

    return change


def made(table: str, read: int, out: int, merged: int = 0, **dropped: int) -> Funnel:
    return Funnel(table=table, read=read, dropped=dropped, merged=merged, out=out)


def followed(subject: Pairs, *, published: int, undecided: int, **dropped: int) -> Pairs:
    """One posting for each query and its passage, one twice, one undecided, one without a positive."""
    twelve = [(f"p{n:02}", f"q{n:02}", f"d{n:02}") for n in range(1, 11)]
    rows = [*twelve, ("p11", "q01", "d01"), ("p12", "q02", "d03"), ("p13", "q99", "d01")]
    postings = pl.DataFrame(rows, schema=["upstream_id", "queries", "corpus"], orient="row")
    provenance = postings.unpivot(index="upstream_id", variable_name="table", value_name="id")
    pairs = Funnel(
        table="pairs",
        read=13,
        dropped=dropped or {"no_positive": 1},
        merged=1,
        undecided=undecided,
        out=published,
    )
    changed = funnels(
        made("rows", 13, 13),
        made("queries", 13, 10, merged=3),
        made("passages", 13, 12, merged=1),
        pairs,
        rows="pair",
    )(subject)
    plain = with_beside(changed, provenance=provenance)
    return respec(relate=lambda pairs: pairs)(plain)


PLANTS = [
    Plant("funnel-missing", ERROR, 1, "rows: 0 funnels", funnels(rows="pair"), also=UNKNOWN, recounted=False),
    Plant(
        "funnel-missing",
        ERROR,
        1,
        "rows: 1 funnels",
        funnels(made("rows", 13, 13)),
        also=frozenset({"funnel-chain"}),
        recounted=False,
    ),
    Plant(
        "funnel-sum",
        ERROR,
        1,
        "queries: 12 read, 11 accounted for",
        funnels(made("queries", 12, 10, empty_text=1)),
        recounted=False,
    ),
    Plant(
        "funnel-out",
        ERROR,
        1,
        "passages: 13 out, 12 published",
        funnels(made("passages", 13, 13)),
        recounted=False,
    ),
    Plant(
        "funnel-out", ERROR, 1, "pairs: 11 out, 12 published", funnels(made("pairs", 11, 11)), recounted=False
    ),
    Plant(
        "funnel-sum",
        ERROR,
        1,
        "pairs: 13 read, 15 accounted for",
        funnels(Funnel(table="pairs", read=13, undecided=3, out=12)),
        recounted=False,
    ),
    Plant(
        "pairs-dangling",
        Severity.NOTE,
        1,
        "1 of 100 pairs",
        funnels(made("pairs", 100, 12, merged=87, dangling=1)),
        recounted=False,
    ),
    Plant(
        "pairs-dangling-many",
        Severity.GATE,
        2,
        "2 of 100 pairs",
        funnels(made("pairs", 100, 12, merged=86, dangling=2)),
        recounted=False,
    ),
    Plant(
        "rows-without-id",
        Severity.NOTE,
        2,
        "1 of 200 passages",
        funnels(made("pairs", 100, 12, merged=87, no_id=1), made("passages", 200, 12, merged=187, no_id=1)),
        recounted=False,
    ),
    Plant(
        "rows-without-id-many",
        Severity.GATE,
        6,
        "6 of 16 queries",
        funnels(made("queries", 16, 10, no_id=6)),
        recounted=False,
    ),
    Plant(
        "funnel-pairs",
        ERROR,
        2,
        "pairs: 9 published, 10 found again",
        lambda subject: followed(subject, published=9, undecided=2),
        recounted=False,
    ),
    Plant(
        "funnel-chain",
        ERROR,
        1,
        "queries: 13 read, 15 rows left",
        funnels(made("rows", 16, 15, empty_profile=1), rows="pair"),
        also=UNKNOWN,
        recounted=False,
    ),
    Plant(
        "funnel-reason",
        ERROR,
        1,
        "1 dropped as ''",
        funnels(made("queries", 11, 10, **{"": 1})),
        recounted=False,
    ),
    Plant(
        "funnel-reason",
        ERROR,
        1,
        "dropped as 'wei\\xdf nicht'",
        funnels(made("queries", 11, 10, **{"weiß nicht": 1})),
        recounted=False,
    ),
    Plant(
        "funnel-reason",
        ERROR,
        2,
        "queries: -2 merged",
        funnels(made("queries", 7, 10, merged=-2, empty_text=-1)),
        recounted=False,
    ),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.code}-{plant.example}")
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_a_funnel_of_rows_that_are_both_is_followed_into_the_tables() -> None:
    subject = funnels(
        made("rows", 20, 15, empty_text=5),
        made("queries", 15, 10, merged=5),
        made("passages", 15, 12, merged=3),
        made("pairs", 15, 12, merged=3),
        rows="pair",
    )(healthy())
    assert set(found(subject)) == UNKNOWN


def test_every_pair_is_found_again_in_the_published_tables() -> None:
    assert found(followed(healthy(), published=10, undecided=1)) == {}
    assert set(found(followed(healthy(), published=11, undecided=1, no_positive=0))) == {"funnel-pairs"}


def test_decisions_of_auditors_are_allowed_for() -> None:
    subject = followed(healthy(), published=11, undecided=0, no_positive=1, excluded=1)
    subject = replace(
        subject,
        funnels=tuple(
            one.model_copy(update={"read": 14}) if one.table == "pairs" else one for one in subject.funnels
        ),
    )
    assert set(found(subject)) == {"funnel-pairs"}
    assert found(replace(subject, decisions={"relevant": 1})) == {}


def test_pairs_need_not_be_the_qrels_where_a_config_relates_more() -> None:
    def relate_more(pairs: object) -> object:
        return pairs

    subject = respec(relate=relate_more)(funnels(made("pairs", 11, 11))(healthy()))
    assert found(subject) == {}


def test_a_funnel_that_stands_there_twice_is_found() -> None:
    subject = healthy()
    twice = replace(subject, funnels=(*subject.funnels, subject.funnels[0]))
    assert found(twice)["funnel-missing"].examples == ("queries: 2 funnels",)


counts = st.integers(0, 50)


@unhurried
@given(
    counts,
    counts,
    st.dictionaries(st.sampled_from(["empty_text", "no_positive"]), counts),
    st.integers(-5, 5),
)
def test_a_sum_is_found_exactly_when_it_is_off(
    out: int, merged: int, dropped: dict[str, int], off: int
) -> None:
    read = out + merged + sum(dropped.values()) + off
    subject = replace(healthy(), funnels=(made("queries", read, out, merged, **dropped),))
    assert ("funnel-sum" in {finding.code for finding in funnel.counts(subject)}) == (off != 0)

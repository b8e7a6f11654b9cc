from __future__ import annotations

import string
import unicodedata
from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.checks import splits
from builders.checks.finding import Severity
from builders.checks.splits import _rough
from builders.checks.subject import Pairs
from builders.prepare.splits import assign
from builders.tables import MINED, SPLITS
from builders.text.merge import digest
from tests.checks.kit import (
    Change,
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
    unhurried,
    with_table,
)

EVENING = put_value("queries/test", "q10", "text", "Was brauchen Tomaten am Abend?")
RATIO = Plant(
    "split-ratio",
    Severity.GATE,
    8,
    "",
    chain(
        append("queries/dev", *((f"q{n}", f"Was wächst in Beet {n}?") for n in range(11, 20))),
        append("qrels/dev", *((f"q{n}", "d09", 1) for n in range(11, 20))),
    ),
    also=frozenset({"mining-yield", "published-yield"}),
)
_TEN = [(f"q2{n}", f"Ist Beet Nummer {word} trocken?") for n, word in enumerate(
    "eins zwei drei vier fünf sechs sieben acht neun zehn elf".split()
)]  # fmt: skip


def ten(split: str, passage: str) -> Change:
    """Deal ten other queries to a split, in the place of the one about that passage."""
    return chain(
        *(put(f"{kind}/{split}", lambda frame: frame.clear()) for kind in ("queries", "qrels", *MINED)),
        append(f"queries/{split}", *_TEN),
        append(f"qrels/{split}", *((query, passage, 1) for query, _ in _TEN)),
    )


_SHARES = {"train": 8, "dev": 1, "test": 1}


def beds(number: int) -> Change:
    """Add lone queries to all splits, so that neither is far off, and two queries are no large component."""
    wards = [split for split in SPLITS for _ in range(number * _SHARES[split] // 10)]
    names = (letter * length for length in (4, 5) for letter in string.ascii_lowercase)
    added = [
        (split, f"q{100 + at}", f"Was wächst in Beet {name}?", f"d{100 + at}")
        for at, (split, name) in enumerate(zip(wards, names, strict=False))
    ]
    return chain(
        *(
            change
            for split, query, text, passage in added
            for change in (
                append(f"queries/{split}", (query, text)),
                append(f"qrels/{split}", (query, passage, 1)),
                append("corpus/corpus", (passage, "", f"{text} In {passage} wächst etwas.")),
            )
        )
    )


ALIKE = put_value("queries/train", "q08", "text", "Ist das Beet (4) Nummer vier trocken?")
PLANTS = [
    Plant(
        "alike-across-splits",
        Severity.NOTE,
        1,
        "q23: Ist Beet Nummer vier trocken? | Ist das Beet",
        chain(ten("test", "d10"), ALIKE),
        also=frozenset({"split-ratio", "mining-yield", "published-yield", "empty-negatives"}),
    ),
    Plant(
        "alike-across-splits-many",
        Severity.GATE,
        1,
        "q10: Wozu dient ein Frühbeet? | Wozu dient das (große) Frühbeet",
        put_value("queries/train", "q01", "text", "Wozu dient das (große) Frühbeet"),
    ),
    Plant(
        "alike-in-dev",
        Severity.NOTE,
        1,
        "q23: Ist Beet Nummer vier trocken? | Ist das Beet",
        chain(ten("dev", "d09"), ALIKE),
        also=frozenset({"split-ratio", "mining-yield", "published-yield", "empty-negatives"}),
    ),
    Plant(
        "alike-in-dev-many",
        Severity.GATE,
        1,
        "q09: Wann erntet man Zwiebeln? | WANN erntet man (rote) Zwiebeln",
        put_value("queries/train", "q01", "text", "WANN erntet man (rote) Zwiebeln"),
    ),
    Plant(
        "twins-across-splits", Severity.ERROR, 1, "train, test: Was brauchen Tomaten am Abend? | Was", EVENING
    ),
    Plant(
        "twins-across-splits",
        Severity.ERROR,
        1,
        "train, test: WAS BRAUCHEN TOMATEN | Was",
        put_value("queries/test", "q10", "text", "WAS BRAUCHEN TOMATEN"),
        also=frozenset({"alike-across-splits-many"}),
    ),
    Plant(
        "components-across-splits",
        Severity.ERROR,
        1,
        "train, test: Wann sind Radieschen reif? | Wozu dient",
        chain(respec(components=True), beds(40), append("qrels/test", ("q10", "d03", 1))),
        also=frozenset({"test-positives-in-train", "mining-yield", "published-yield"}),
    ),
    Plant(
        "component-giant",
        Severity.GATE,
        4,
        "",
        chain(
            respec(components=True),
            beds(40),
            *(append("qrels/train", (query, "d100", 1)) for query in ("q05", "q06", "q07")),
        ),
        also=frozenset({"mining-yield", "published-yield"}),
    ),
    RATIO,
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.code)
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_a_ratio_far_off_is_told_with_the_figures() -> None:
    message = found(RATIO.change(healthy()))["split-ratio"].message
    assert message == "far off 80/10/10: train 42.1%, dev 52.6%, test 5.3%"


def test_what_the_leak_key_misses_is_seen_by_the_check() -> None:
    """The check's own key shares no code with the configs': a key that does nothing is found out."""
    idle = respec(query_key=str, relevance_key=str, leak_key=str)(healthy())
    subject = put_value("queries/test", "q10", "text", "WAS BRAUCHEN (viele) TOMATEN!")(idle)
    assert "twins-across-splits" not in found(subject)
    assert found(subject)["alike-across-splits-many"].count == 1


@unhurried
@given(st.text("abcinexyzäöüßABCÄÖÜ (-/1)", max_size=60))
def test_the_rough_key_is_blind_to_case_and_punctuation(text: str) -> None:
    assert _rough(f"{text.upper()}!") == _rough(text)


@unhurried
@given(st.text(max_size=60))
def test_the_rough_key_keeps_letters_alone_and_makes_none(text: str) -> None:
    folded = unicodedata.normalize("NFKD", text.casefold())
    assert all(character.isalpha() for character in _rough(text))
    assert len(_rough(text)) <= len(folded)


def committed(subject: Pairs, **moved: str) -> pl.DataFrame:
    """The kit's assignment as a committed file would hold it."""
    rows = [
        (query, digest(subject.spec.relevance_key(subject.spec.query_key(text))), moved.get(query, split))
        for split in SPLITS
        for query, text in table(subject, f"queries/{split}").iter_rows()
    ]
    return pl.DataFrame(rows, schema=["query_id", "group_hash", "split"], orient="row")


def test_a_committed_assignment_that_is_kept_is_no_finding() -> None:
    assert found(healthy(), committed=committed(healthy())) == {}


def test_a_query_that_left_its_split_is_found() -> None:
    finding = found(healthy(), committed=committed(healthy(), q03="dev", q10="train"))["split-moved"]
    assert (finding.severity, finding.count) == (Severity.GATE, 2)
    assert finding.examples == ("q03: train, committed to dev", "q10: test, committed to train")


def test_twins_that_were_committed_as_twins_are_a_note() -> None:
    subject = EVENING(healthy())
    findings = found(subject, committed=committed(subject))
    assert findings["twins-committed"].severity is Severity.NOTE
    assert findings["twins-committed"].count == 1
    assert "twins-across-splits" not in findings


def test_a_new_twin_of_a_committed_query_is_an_error() -> None:
    subject = EVENING(healthy())
    earlier = committed(subject).filter(pl.col("query_id") != "q10")
    assert "twins-across-splits" in found(subject, committed=earlier)


def test_a_group_that_spanned_splits_is_excused_by_members_that_are_gone() -> None:
    subject = EVENING(healthy())
    earlier = committed(subject).with_columns(pl.col("query_id").replace("q01", "q00"))
    assert set(found(subject, committed=earlier)) == {"twins-committed"}


def test_an_unrelated_committed_group_excuses_nothing() -> None:
    subject = EVENING(healthy())
    other = pl.DataFrame({"query_id": ["x1", "x2"], "group_hash": ["f" * 16] * 2, "split": ["train", "test"]})
    assert "twins-across-splits" in found(subject, committed=other)


@unhurried
@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=40), st.data())
def test_what_assign_deals_has_no_twins_and_stays(letters: list[str], data: st.DataObject) -> None:
    groups = pl.DataFrame({
        "query_id": [f"q{n:03}" for n in range(len(letters))],
        "group": letters,
        "leak": letters,
    })
    first = groups.head(data.draw(st.integers(0, len(letters))))
    earlier = assign(first)
    dealt = assign(groups, committed=earlier)
    subject = healthy()
    subject = replace(subject, spec=replace(subject.spec, relevance_key=lambda key: key.split()[0]))
    texts = groups.select("query_id", text=pl.col("group") + " " + pl.col("query_id"))
    for split in SPLITS:
        members = dealt.filter(pl.col("split") == split)
        frame = texts.join(members, on="query_id", how="semi").select("query_id", "text")
        subject = with_table(subject, f"queries/{split}", frame)
    codes = {
        finding.code
        for finding in splits.check(replace(subject, committed=earlier if first.height else None))
    }
    assert not codes & {"twins-across-splits", "twins-committed", "split-moved"}


def test_small_sets_may_be_off_by_a_query() -> None:
    subject = healthy()
    subject = put("queries/dev", lambda frame: frame.clear())(subject)
    assert {finding.code for finding in splits.check(subject)} == set()

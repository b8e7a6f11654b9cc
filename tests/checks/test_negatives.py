from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders.checks import negatives
from builders.checks.finding import Severity
from builders.checks.subject import Pairs
from builders.errors import StorageError
from builders.files import write_json
from builders.lock.lock import Yield, read_lock, work_folder
from builders.mining.mine import mine
from builders.spec import Recipe
from builders.tables import SPLITS
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
    recipe,
    recount,
    remove,
    table,
    unhurried,
    with_beside,
    with_table,
    write_tree,
)
from tests.mining.samples import with_serving

ERROR, GATE, NOTE = Severity.ERROR, Severity.GATE, Severity.NOTE
TRAIN = "hard_negatives/train"


def report(**figures: Any) -> Change:
    """Change figures of the mining report."""

    def change(subject: Pairs) -> Pairs:
        assert subject.mining is not None
        changed = subject.mining.serving.report.model_copy(update=figures)
        return replace(subject, mining=with_serving(subject.mining, report=changed))

    return change


def locked(**fields: Any) -> Change:
    """Change the lock's recipe, and not the config's."""

    def change(subject: Pairs) -> Pairs:
        assert subject.mining is not None
        changed = {**subject.mining.serving.recipe, **fields}
        return replace(subject, mining=with_serving(subject.mining, recipe=changed))

    return change


def of_q08(passage: str, rank: int = 2, score: float = 0.7, positive: float = 0.9) -> Change:
    return append(TRAIN, ("q08", passage, rank, score, positive))


FIVE_MORE = [("q08", f"d{n:02}", n, 0.8 - n / 100, 0.9) for n in (2, 3, 4, 5, 6, 7)]
PLANTS = [
    Plant(
        "dangling-negatives-query",
        ERROR,
        1,
        "hard_negatives/train q99 → d01",
        append(TRAIN, ("q99", "d01", 1, 0.5, 0.9)),
    ),
    Plant("dangling-negatives-corpus", ERROR, 1, "hard_negatives/train q08 → d99", of_q08("d99")),
    Plant(
        "negatives-wrong-split",
        ERROR,
        1,
        "hard_negatives/dev q08 → d01",
        append("hard_negatives/dev", ("q08", "d01", 2, 0.7, 0.9)),
    ),
    Plant("negative-is-positive", ERROR, 1, "hard_negatives/train q08 → d08", of_q08("d08")),
    Plant(
        "negative-twin",
        ERROR,
        1,
        "hard_negatives/train q08 → d13",
        chain(
            append(
                "corpus/corpus",
                ("d13", "Obst", "Apfelbäume tragen besser, wenn zwei Sorten nebeneinander stehen."),
            ),
            append("qrels/train", ("q07", "d13", 1)),
            of_q08("d13"),
        ),
    ),
    Plant(
        "negative-twin",
        ERROR,
        1,
        "hard_negatives/train q08 → d13",
        chain(
            append("corpus/corpus", ("d13", "", "Warum zwei Apfelbäume?")),
            append("qrels/train", ("q07", "d13", 1)),
            of_q08("d13"),
        ),
        also=frozenset({"query-is-passage"}),
    ),
    Plant("negative-undecided", ERROR, 1, "q02 → d03", append(TRAIN, ("q02", "d03", 4, 0.7, 0.89))),
    Plant("undecided-unknown", NOTE, 1, "", lambda subject: with_beside(subject, undecided=None)),
    Plant("negative-above-margin", ERROR, 1, "q08 → d01: 0.8501", of_q08("d01", score=0.8501)),
    Plant("negative-above-margin", ERROR, 1, "q08 → d01: 0.95", of_q08("d01", score=0.95)),
    Plant("negatives-over-keep", ERROR, 1, "q08: 6 negatives", append(TRAIN, *FIVE_MORE)),
    Plant(
        "negative-duplicate",
        ERROR,
        1,
        "q08 → d01: 2 times",
        chain(of_q08("d01", rank=2), of_q08("d01", rank=3)),
    ),
    Plant("negative-order", ERROR, 1, "q08 → d02: rank 2", chain(of_q08("d01"), of_q08("d02"))),
    Plant("negative-order", ERROR, 1, "q08 → d01: rank 0", of_q08("d01", rank=0)),
    Plant(
        "negative-order",
        ERROR,
        1,
        "q08 → d02: rank 3, score 0.71",
        chain(of_q08("d01", rank=2, score=0.7), of_q08("d02", rank=3, score=0.71)),
    ),
    Plant("negative-depth", ERROR, 1, "q08 → d01: rank 11 of 10", of_q08("d01", rank=11)),
    Plant("negative-score", ERROR, 1, "q08 → d01: -1.5", of_q08("d01", score=-1.5)),
    Plant(
        "negative-score",
        ERROR,
        1,
        "q08 → d01: NaN",
        of_q08("d01", score=float("nan")),
        also=frozenset({"negative-above-margin"}),
    ),
    Plant("negative-score", ERROR, 1, "positive 1.1", of_q08("d01", positive=1.1)),
    Plant(
        "positive-score",
        ERROR,
        1,
        "q08: 2 scores",
        chain(of_q08("d01", rank=2), of_q08("d02", rank=3, positive=0.91)),
    ),
    Plant("mining-recipe", ERROR, 1, "margin: 0.04, config 0.05", locked(margin=0.04)),
    Plant("mining-report", ERROR, 1, "negatives: 10, published 9", report(negatives=10), recounted=False),
    Plant("mining-report", ERROR, 1, "queries: 8, published 10", report(queries=8), recounted=False),
    Plant(
        "mining-report",
        ERROR,
        1,
        "yield: 9, published 8",
        report(yield_=Yield(any=9, full=0, any_share=0.0, full_share=0.0)),
        recounted=False,
    ),
    Plant("mining-report", ERROR, 1, "by_count: {'0': 10}", report(by_count={"0": 10}), recounted=False),
    Plant(
        "mining-yield",
        GATE,
        6,
        "queries/train q01",
        chain(*(remove(TRAIN, f"q{n:02}") for n in (1, 2, 3, 4))),
    ),
    Plant(
        "published-yield",
        NOTE,
        6,
        "queries/train q01",
        chain(*(remove("hard_negatives_v0/train", f"q{n:02}") for n in (1, 2, 3, 4))),
    ),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.code}-{plant.example}")
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_the_yield_gate_says_the_figure_and_opens_at_one_half() -> None:
    four = chain(*(remove(TRAIN, f"q{n:02}") for n in (1, 2, 3, 4)))(healthy())
    assert found(recount(four))["mining-yield"].message == "only 4 of 10 queries (40.0%) have a hard negative"
    five = chain(*(remove(TRAIN, f"q{n:02}") for n in (1, 2, 3)))(healthy())
    assert found(recount(five)) == {}


def test_a_positive_of_any_split_is_a_positive() -> None:
    elsewhere = chain(append("qrels/dev", ("q08", "d03", 1)), of_q08("d03"))
    assert "negative-is-positive" in found(elsewhere(healthy()))


def test_a_mined_config_without_a_record_of_mining_is_found() -> None:
    finding = found(replace(healthy(), mining=None))["mining-recipe"]
    assert finding.examples == (
        "the lock records no mining of hard_negatives",
        "the lock records no mining of hard_negatives_v0",
    )


@pytest.mark.parametrize("value", ["viel", None, {"a": 1}])
def test_a_recipe_that_cannot_be_read_is_found_and_does_not_raise(value: Any) -> None:
    findings = found(locked(margin=value, keep=value)(healthy()))
    assert findings["mining-recipe"].count == 2


@pytest.mark.parametrize("figures", [{"yield": None}, {"by_count": [1]}, {"unknown": 1}])
def test_a_lock_with_a_report_that_cannot_be_read_is_refused(tmp_path: Path, figures: dict[str, Any]) -> None:
    write_tree(tmp_path, healthy())
    path = work_folder(tmp_path, "garten") / "lock.json"
    document = read_lock(path).model_dump(mode="json")
    document["mining"]["tables"]["hard_negatives"]["report"] |= figures
    write_json(path, document)
    with pytest.raises(StorageError, match=f"report.{next(iter(figures))}"):
        read_lock(path)


def test_rules_follow_the_recipe_of_the_lock() -> None:
    assert "negative-above-margin" not in found(locked(margin=0.0)(of_q08("d01", score=0.89)(healthy())))
    assert "negatives-over-keep" in found(locked(keep=1)(healthy()))


def test_depth_counts_positives_only_where_the_recipe_says_so() -> None:
    deep = of_q08("d01", rank=4)
    assert "negative-depth" not in found(recount(deep(healthy())))
    shallow = chain(deep, recipe(depth=3, keep=3))(healthy())
    assert found(shallow)["negative-depth"].count == 4
    candidates = chain(deep, recipe(depth=3, keep=3, depth_counts="candidates"))(healthy())
    assert found(candidates)["negative-depth"].examples == ("hard_negatives q04 → d12: rank 10 of 4",)


def test_no_rank_is_deeper_than_the_corpus() -> None:
    deep = chain(of_q08("d01", rank=13), recipe(depth=100))(healthy())
    assert found(deep)["negative-depth"].examples == ("hard_negatives q08 → d01: rank 13 of 12",)


def test_a_relative_margin_is_a_share_of_the_positives_absolute_score() -> None:
    relative = recipe(margin=0.1, margin_kind="relative")
    below, above = of_q08("d01", score=0.8099), of_q08("d01", score=0.8102)
    codes = {
        name: set(found(chain(relative, change)(healthy())))
        for name, change in {"b": below, "a": above}.items()
    }
    assert "negative-above-margin" in codes["a"]
    others = found(chain(relative, below)(healthy()))["negative-above-margin"].examples
    assert not any("q08" in example for example in others)
    negative = chain(relative, of_q08("d01", score=-0.5, positive=-0.5))(healthy())
    examples = found(negative)["negative-above-margin"].examples
    assert any("q08 → d01" in example for example in examples)


cosine = st.floats(-1, 1, width=64)


@unhurried
@given(positive=cosine, gap=st.floats(0, 1), margin=st.sampled_from([0.0, 0.01, 0.05, 0.1]))
def test_the_margin_forgives_rounding_and_nothing_more(positive: float, gap: float, margin: float) -> None:
    def flagged(score: float) -> bool:
        clear = put(TRAIN, lambda frame: frame.clear())
        row = append(TRAIN, ("q08", "d01", 2, score, positive))
        subject = chain(clear, row, recipe(margin=margin))(healthy())
        return "negative-above-margin" in {finding.code for finding in negatives.check(subject)}

    limit = positive - margin
    assert not flagged(limit - gap)
    assert flagged(limit + 1e-6 + gap)


@unhurried
@given(
    seed=st.integers(0, 2**32 - 1),
    guard=st.sampled_from(["lowest", "highest"]),
    kind=st.sampled_from(["absolute", "relative"]),
    counts=st.sampled_from(["all", "candidates"]),
    margin=st.sampled_from([0.0, 0.02, 0.3]),
    depth=st.integers(3, 12),
)
def test_what_is_mined_passes(
    seed: int, guard: Any, kind: Any, counts: Any, margin: float, depth: int
) -> None:
    random = np.random.default_rng(seed)
    chosen = Recipe("versuch", depth, counts, margin, kind, guard, keep=3)
    subject = chain(recipe(**{name: getattr(chosen, name) for name in Recipe.__slots__}))(healthy())
    queries = pl.concat([table(subject, f"queries/{split}") for split in SPLITS])
    qrels = pl.concat([table(subject, f"qrels/{split}") for split in SPLITS])
    corpus = table(subject, "corpus/corpus")

    def vectors(rows: int) -> NDArray[np.float32]:
        raw = random.integers(-3, 4, (rows, 3)) + 0.5
        lengths = np.linalg.norm(raw, axis=1, keepdims=True)
        return np.asarray(raw / lengths, dtype=np.float32)

    mined = mine(
        queries,
        corpus,
        qrels,
        subject.beside["undecided"],
        vectors(queries.height),
        vectors(corpus.height),
        chosen,
    )
    for split in SPLITS:
        members = table(subject, f"queries/{split}")
        rows = mined.negatives.join(members, on="query_id", how="semi")
        subject = with_table(subject, f"hard_negatives/{split}", rows)
    assert subject.mining is not None
    mining = with_serving(subject.mining, report=mined.report)
    findings = found(replace(subject, mining=mining))
    assert not [finding for finding in findings.values() if finding.severity is Severity.ERROR]


def test_values_of_the_kit_lie_where_the_recipe_allows() -> None:
    assert "negative-above-margin" in found(put_value(TRAIN, "q02", "score", 0.8402)(healthy()))

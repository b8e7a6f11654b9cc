from __future__ import annotations

import re
from pathlib import Path

import pytest

from builders import registry
from builders.checks.finding import Code
from builders.evaluation import sanity
from builders.evaluation.candidates import candidate
from builders.evaluation.jobs import EvalOptions, evaluate
from builders.evaluation.results import (
    ClusteringResult,
    EncoderFacts,
    Result,
    RetrievalResult,
    Score,
    SetScore,
)
from builders.evaluation.sanity import check
from tests.evaluation.built import Told, build_sample

CHANCES = {
    "jobs/test": {"ndcg_at_10": 0.02, "ndcg_at_10_error": 0.004, "ndcg_at_10_shared_error": 0.01},
}
RULES = {"random": 0.025, "constant": 0.03, "oracle": 1.0, "bm25": 0.5}


def searched(name: str, value: float) -> RetrievalResult:
    kind = "lexical" if name == "bm25" else "rule" if name in RULES else "dense"
    return RetrievalResult(
        config="jobs",
        split="test",
        encoder=EncoderFacts.model_validate({"name": name, "kind": kind}),
        queries=30,
        passages=300,
        scores={"ndcg_at_10": Score(value=value)},
    )


def clustered(
    name: str, ami: float, *, pipeline: str = "minibatch-kmeans", sets: int = 10, spread: float = 0.001
) -> ClusteringResult:
    """Return a result whose sets have the mean AMI, and a standard error of `spread`."""
    off = spread * (sets - 1) ** 0.5
    values = [ami + (off if number % 2 else -off) for number in range(sets)]
    return ClusteringResult(
        config="blurbs-clustering-s2s",
        encoder=EncoderFacts.model_validate({"name": name, "kind": "rule" if name in RULES else "dense"}),
        pipeline=pipeline,
        v_measure=0.3,
        spread=0.0,
        levels={},
        sets=tuple(SetScore(level="coarse", rows=9, labels=2, v_measure=0.3, ami=value) for value in values),
    )


def baselines(**changed: float) -> list[Result]:
    return [searched(name, value) for name, value in (RULES | changed).items()]


def codes(results: list[Result], beside: list[Result]) -> list[str]:
    return [finding.code for finding in check(results, beside, CHANCES)]


def test_a_sane_evaluation_has_no_finding() -> None:
    beside = [*baselines(), clustered("random", 0.005)]
    assert codes([searched("e5", 0.7), clustered("e5", 0.2)], beside) == []


@pytest.mark.parametrize(
    ("beside", "code"),
    [
        (baselines(random=0.02 + 6.1 * 0.004), "eval-random-off-chance"),
        (baselines(constant=0.02 + 6.1 * 0.01), "eval-constant-above-chance"),
        (baselines(oracle=0.999), "eval-oracle-below-one"),
        (baselines(bm25=0.95), "eval-words-suffice"),
        ([*baselines(), clustered("random", 0.0061)], "eval-random-off-chance"),
        ([*baselines(), clustered("random", -0.0061)], "eval-random-off-chance"),
    ],
)
def test_each_rule_fires_alone(beside: list[Result], code: str) -> None:
    assert codes([searched("e5", 0.7), clustered("e5", 0.2)], beside) == [code]


def test_what_nothing_solves_is_told_apart_from_one_bad_encoder() -> None:
    assert codes([searched("e5", 0.03)], baselines(bm25=0.03)) == ["eval-nothing-solves"]
    (finding,) = check([searched("e5", 0.7), searched("own", 0.03)], baselines(), CHANCES)
    assert finding.code == "eval-encoder-at-chance"
    assert finding.examples == ("jobs/test: own 0.03000, chance 0.02000",)
    assert codes([clustered("e5", 0.009)], []) == ["eval-nothing-solves"]
    assert codes([clustered("e5", 0.009, pipeline="umap+hdbscan")], []) == []


def test_a_table_too_small_to_tell_is_not_called_wrong() -> None:
    """Six errors above chance lie beyond any score: a perfect one proves no less than a bad one."""
    chances = {"jobs/test": {"ndcg_at_10": 0.3, "ndcg_at_10_error": 0.2, "ndcg_at_10_shared_error": 0.2}}
    findings = check(
        [searched("e5", 1.0), searched("own", 0.3)], baselines(random=0.3, constant=0.3), chances
    )
    assert [finding.code for finding in findings] == ["eval-too-small-to-tell"]
    assert findings[0].examples == ("jobs/test: chance alone may reach 1.00",)
    chances["jobs/test"]["ndcg_at_10_error"] = 0.01
    findings = check(
        [searched("e5", 1.0), searched("own", 0.3)], baselines(random=0.3, constant=0.3), chances
    )
    assert [finding.code for finding in findings] == ["eval-encoder-at-chance"]


@pytest.mark.parametrize(("sets", "spread"), [(10, 0.1), (2, 0.001), (1, 0.0)])
def test_a_random_encoder_is_not_wrong_where_nobody_can_tell(sets: int, spread: float) -> None:
    """Sets that differ much, or are few, leave the mean unsure."""
    beside = clustered("random", 0.3, sets=sets, spread=spread)
    findings = check([clustered("e5", 0.9, sets=sets, spread=spread)], [beside], CHANCES)
    assert [finding.code for finding in findings] == ["eval-too-small-to-tell"]


def test_an_encoder_at_chance_is_told_with_its_mutual_information() -> None:
    findings = check([clustered("e5", 0.2), clustered("own", 0.002)], [], CHANCES)
    assert [finding.examples for finding in findings] == [
        ("blurbs-clustering-s2s: own AMI 0.00200, chance 0.00000",)
    ]


def test_a_table_without_chance_is_held_against_no_rule_that_needs_it() -> None:
    assert check([searched("e5", 0.01)], baselines(random=0.9, constant=0.9, oracle=1.0), {}) == []


def test_a_name_reaches_no_terminal_raw() -> None:
    (finding,) = check([searched("e5", 0.7), searched("\x1b[31mrot\nneu", 0.03)], baselines(), CHANCES)
    assert finding.examples == ("jobs/test: [31mrot neu 0.03000, chance 0.02000",)


def test_errors_are_only_what_no_encoder_can_cause() -> None:
    found = [code for code in vars(sanity).values() if isinstance(code, Code)]
    severities = {code.name: code.severity for code in found}
    assert len(severities) == 7
    assert all(re.fullmatch(r"eval(-[a-z]+)+", name) for name in severities)
    assert {name for name, severity in severities.items() if severity == "error"} == {
        "eval-random-off-chance",
        "eval-constant-above-chance",
        "eval-oracle-below-one",
    }
    assert all(code.meaning and code.hint.endswith(".") for code in found)


def test_the_sample_is_sane(tmp_path: Path) -> None:
    build_sample(tmp_path, "germandpr", "tenkgnad")
    specs = [registry.load(name) for name in ("germandpr", "tenkgnad")]
    options = EvalOptions(out=tmp_path / "dist", split="all")
    found = evaluate(specs, [candidate("hashing")], options, Told())
    findings = check(found.results, found.baselines, found.chances)
    assert [finding for finding in findings if finding.severity == "error"] == []

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders.built import read_built
from builders.checks.finding import Severity
from builders.checks.subject import Pairs, subject_of
from builders.errors import StorageError
from builders.files import write_bytes
from builders.lock.lock import work_folder
from builders.mining.mine import mine
from builders.spec import RECIPES, Recipe
from builders.tables import SPLITS, frame_bytes
from tests.checks.kit import (
    SPEC,
    Change,
    Plant,
    append,
    assert_found,
    chain,
    found,
    healthy,
    recipe,
    table,
    unhurried,
    with_beside,
    with_table,
    write_tree,
)
from tests.mining.samples import with_serving

ERROR, GATE, NOTE = Severity.ERROR, Severity.GATE, Severity.NOTE
TRAIN = "hard_negatives/train"


def on_scale(**fields: object) -> Change:
    """Measure on each query's scale: mean 0.5, deviation 0.1; half of the passages are of a class."""

    def change(subject: Pairs) -> Pairs:
        queries = pl.concat([table(subject, f"queries/{split}") for split in SPLITS])
        scale = queries.select("query_id", mean=0.5, deviation=0.1)
        classes = pl.DataFrame(
            [("d01", "kraut"), ("d02", "kraut"), ("d08", "baum"), ("d02", "rübe"), ("d11", "dach")],
            schema=["passage_id", "class"],
            orient="row",
        )
        occupations = pl.DataFrame({
            "passage_id": [f"d{number:02}" for number in range(1, 13)],
            "occupation": ["Gärtner", "Florist", "Imker"] * 4,
        })
        return with_beside(subject, scale=scale, classes=classes, occupations=occupations)

    wanted: dict[str, object] = {
        "depth": None,
        "margin": 0.4,
        "margin_kind": "deviations",
        "guard": "highest",
        "floor": 1.0,
        "equivalence": True,
        "suspicious_below": 3.5,
    }
    return chain(recipe(**(wanted | fields)), change)


def of_q08(passage: str, rank: int = 2, score: float = 0.7, positive: float = 0.9) -> Change:
    return append(TRAIN, ("q08", passage, rank, score, positive))


def without_q09(subject: Pairs) -> Pairs:
    return with_beside(subject, scale=subject.beside["scale"].filter(pl.col("query_id") != "q09"))


PLANTS = [
    Plant(
        "negative-below-floor", ERROR, 1, "q08 → d03: 0.59", chain(on_scale(), of_q08("d03", score=0.5999))
    ),
    Plant(
        "negative-suspicious",
        ERROR,
        1,
        "q08 → d03: positive 0.84",
        chain(on_scale(), of_q08("d03", positive=0.8499)),
    ),
    Plant(
        "negative-equivalent",
        ERROR,
        2,
        "q01 → d02: kraut",
        chain(
            on_scale(),
            append(TRAIN, ("q01", "d02", 9, 0.7, 0.90)),
            append(TRAIN, ("q02", "d01", 9, 0.7, 0.89)),
        ),
    ),
    Plant(
        "scale-unknown",
        NOTE,
        2,
        "classes",
        chain(on_scale(), lambda s: with_beside(s, scale=None, classes=None)),
    ),
    Plant(
        "scale-unknown",
        NOTE,
        1,
        "scale of q09",
        chain(on_scale(), without_q09),
    ),
    Plant(
        "negative-above-margin", ERROR, 1, "q08 → d03: 0.8601", chain(on_scale(), of_q08("d03", score=0.8601))
    ),
    Plant(
        "negative-occupation",
        ERROR,
        1,
        "q08: 2 of Gärtner",
        chain(on_scale(per_occupation=1), of_q08("d04", score=0.79), of_q08("d10", rank=3, score=0.78)),
    ),
    Plant("negative-depth", ERROR, 1, "q08 → d03: rank 13 of 12", chain(on_scale(), of_q08("d03", rank=13))),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: f"{plant.code}-{plant.example}")
def test_a_planted_fault_is_found(plant: Plant) -> None:
    assert_found(plant)


def test_a_healthy_config_on_its_scale_has_no_finding() -> None:
    assert found(on_scale()(healthy())) == {}
    edge = chain(
        on_scale(), of_q08("d03", score=0.6, positive=0.85), of_q08("d04", rank=3, score=0.6, positive=0.85)
    )
    assert "negative-below-floor" not in found(edge(healthy()))
    assert "negative-suspicious" not in found(edge(healthy()))


def test_v0_needs_neither_scale_nor_classes() -> None:
    of_a_class = append(TRAIN, ("q01", "d02", 9, 0.7, 0.90))
    assert "negative-equivalent" not in found(of_a_class(healthy()))
    assert "scale-unknown" not in found(healthy())


def test_only_the_highest_guard_tells_that_a_query_is_suspicious() -> None:
    low = chain(on_scale(guard="lowest"), of_q08("d03", positive=0.8))
    assert "negative-suspicious" not in found(low(healthy()))


def test_another_recipe_than_the_config_s_is_an_error() -> None:
    subject = on_scale()(healthy())
    assert subject.mining is not None and subject.spec.mining is not None
    for chosen, line in (
        (replace(RECIPES["v1"], floor=1.0), "hard_negatives floor: 1.0, config 1.5"),
        (replace(RECIPES["v1"], per_occupation=None), "hard_negatives per_occupation: None, config 2"),
    ):
        spec = replace(SPEC, mining=replace(subject.spec.mining, recipe=RECIPES["v1"]))
        changed = replace(subject, mining=with_serving(subject.mining, recipe=asdict(chosen)), spec=spec)
        assert found(changed)["mining-recipe"].examples == (line,)


def test_what_a_build_keeps_beside_the_lock_is_read(tmp_path: Any) -> None:
    subject = on_scale()(healthy())
    write_tree(tmp_path, subject)
    assert found(subject_of(read_built(tmp_path, subject.spec)))["scale-unknown"].count == 2
    work = work_folder(tmp_path, subject.spec.name)
    write_bytes(work / "scale.parquet", frame_bytes("scale", subject.beside["scale"]))
    for name in ("classes", "occupations"):
        write_bytes(work / f"{name}.parquet", frame_bytes(name, subject.beside[name]))
    assert found(subject_of(read_built(tmp_path, subject.spec))) == {}
    write_bytes(
        work / "scale.parquet", frame_bytes("scale", subject.beside["scale"].cast({"mean": pl.String}))
    )
    with pytest.raises(StorageError, match="no column 'mean' of numbers"):
        subject_of(read_built(tmp_path, subject.spec))


@unhurried
@given(
    seed=st.integers(0, 2**32 - 1),
    guard=st.sampled_from(["lowest", "highest"]),
    depth=st.sampled_from([None, 8]),
    margin=st.sampled_from([0.0, 0.3]),
    floor=st.sampled_from([None, -0.5, 0.7]),
    equivalence=st.booleans(),
    per_occupation=st.sampled_from([None, 1, 2]),
)
def test_what_is_mined_passes(
    seed: int,
    guard: Any,
    depth: int | None,
    margin: float,
    floor: float | None,
    per_occupation: int | None,
    *,
    equivalence: bool,
) -> None:
    random = np.random.default_rng(seed)
    chosen = Recipe(
        "versuch", depth, "all", margin, "deviations", guard, 3, floor, equivalence, per_occupation, 0.8
    )
    subject = on_scale(**asdict(chosen))(healthy())
    queries = pl.concat([table(subject, f"queries/{split}") for split in SPLITS])
    qrels = pl.concat([table(subject, f"qrels/{split}") for split in SPLITS])
    corpus = table(subject, "corpus/corpus")

    def vectors(rows: int) -> NDArray[np.float32]:
        raw = random.normal(size=(rows, 3))
        return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)

    mined = mine(
        queries,
        corpus,
        qrels,
        subject.beside["undecided"],
        vectors(queries.height),
        vectors(corpus.height),
        chosen,
        classes=subject.beside["classes"],
        occupations=subject.beside["occupations"],
    )
    for split in SPLITS:
        members = table(subject, f"queries/{split}")
        rows = mined.negatives.join(members, on="query_id", how="semi")
        subject = with_table(subject, f"hard_negatives/{split}", rows)
    assert subject.mining is not None
    mining = with_serving(subject.mining, report=mined.report)
    findings = found(with_beside(replace(subject, mining=mining), scale=mined.scale))
    assert not [finding for finding in findings.values() if finding.severity is Severity.ERROR]

"""V-measure of clustering sets: whole numbers by hand, and mteb's own evaluator on the same vectors."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from builders.errors import EncoderError, StorageError
from builders.evaluation import pipelines
from builders.evaluation.pipelines import MTEB
from builders.evaluation.results import ClusteringResult, EncoderFacts, LevelScore, SetScore
from builders.evaluation.sanity import check
from builders.evaluation.vmeasure import (
    RANDOM_FACTS,
    random_vectors,
    read_sets,
    score_pipelines,
    summed_up,
    unique_texts,
)
from builders.tables import Kind, Table, encode
from tests.evaluation.runs import score_sets

ENCODER = EncoderFacts(name="probe", kind="dense", dimensions=2)
Row = tuple[list[str], list[str], str]

FRUIT, STONE = [10.0, 0.0], [0.0, 10.0]
WORDS = {"Apfel": FRUIT, "Birne": FRUIT, "Granit": STONE, "Marmor": STONE}


def table(*rows: Row) -> pl.DataFrame:
    columns = [("sentences", pl.List(pl.String)), ("labels", pl.List(pl.String)), ("level", pl.String())]
    return pl.DataFrame(rows, schema=columns, orient="row")


def vectors_of(texts: pl.Series, known: dict[str, list[float]]) -> NDArray[np.float32]:
    return np.array([known[text] for text in texts], dtype=np.float32)


def noisy_sets(
    seed: int, sizes: list[int], labels: int
) -> tuple[pl.DataFrame, pl.Series, NDArray[np.float32]]:
    """Return sets whose sentences repeat within and across sets, and vectors that lean to their label."""
    rng = np.random.default_rng(seed)
    pool = [f"Text {number}" for number in range(max(sizes))]
    of = rng.integers(0, labels, len(pool))
    rows: list[Row] = []
    for number, size in enumerate(sizes):
        drawn = rng.integers(0, len(pool), size)
        level = ("coarse", "within:Ratgeber", "within:Lyrik")[number % 3]
        rows.append(([pool[row] for row in drawn], [f"Gruppe {of[row]}" for row in drawn], level))
    sets = table(*rows)
    texts = unique_texts([sets])
    centres = rng.standard_normal((labels, 24))
    known = {text: centres[of[row]] + 1.5 * rng.standard_normal(24) for row, text in enumerate(pool)}
    return sets, texts, np.array([known[text] for text in texts], dtype=np.float32)


def mteb_scores(sets: pl.DataFrame, texts: pl.Series, vectors: NDArray[np.float32]) -> list[float]:
    """Return what the evaluation of the unmodified mteb scores each set, its vectors looked up by text."""
    from datasets import Dataset
    from mteb import TaskMetadata
    from mteb._evaluators import ClusteringEvaluator
    from mteb.timing import TimingStack
    from sklearn.metrics.cluster import v_measure_score

    rows = {text: row for row, text in enumerate(texts)}

    class Lookup:
        def encode(self, inputs: Any, **_: Any) -> NDArray[np.float32]:
            return vectors[[rows[text] for batch in inputs for text in batch["text"]]]

    metadata = TaskMetadata(
        name="Probe",
        description="Gruppen",
        type="Clustering",
        category="t2c",
        main_score="v_measure",
        eval_splits=["test"],
        eval_langs=["deu-Latn"],
        dataset={"path": "probe", "revision": "1"},
    )
    scores = []
    for sentences, labels, _ in sets.iter_rows():
        evaluator = ClusteringEvaluator(
            Dataset.from_dict({"sentences": sentences, "labels": labels}),
            input_column_name="sentences",
            label_column_name="labels",
            task_metadata=metadata,
            hf_split="test",
            hf_subset="default",
            timer=TimingStack(),
        )
        scores.append(float(v_measure_score(labels, evaluator(Lookup(), encode_kwargs={}))))  # type: ignore[arg-type]
    return scores


def test_equals_mteb_on_the_same_vectors() -> None:
    sets, texts, vectors = noisy_sets(7, [1700, 260, 90, 40], labels=12)
    ours = score_sets(sets, texts, vectors, ENCODER, config="probe-clustering-s2s")
    theirs = mteb_scores(sets, texts, vectors)
    assert [score.v_measure for score in ours.sets] == pytest.approx(theirs, abs=1e-9)
    assert ours.v_measure == pytest.approx(np.mean(theirs), abs=1e-9)
    assert ours.spread == pytest.approx(np.std(theirs), abs=1e-9)
    assert 0.1 < min(theirs) and max(theirs) < 0.9
    other = score_sets(sets, texts, vectors, ENCODER, config="probe-clustering-s2s", seed=43)
    assert other.v_measure != pytest.approx(ours.v_measure, abs=1e-6)


def test_scores_sets_by_hand() -> None:
    sets = table(
        (
            ["Granit", "Apfel", "Birne", "Marmor", "Apfel"],
            ["Stein", "Obst", "Obst", "Stein", "Obst"],
            "coarse",
        ),
        (["Apfel", "Birne", "Granit", "Marmor"], ["a", "b", "a", "b"], "coarse"),
        (["Birne", "Granit"], ["eins", "eins"], "fine"),
    )
    texts = unique_texts([sets])
    result = score_sets(sets, texts, vectors_of(texts, WORDS), ENCODER, config="dinge-clustering-s2s")
    assert [score.v_measure for score in result.sets] == pytest.approx([1.0, 0.0, 1.0], abs=1e-12)
    assert [(score.level, score.rows, score.labels) for score in result.sets] == [
        ("coarse", 5, 2),
        ("coarse", 4, 2),
        ("fine", 2, 1),
    ]
    assert result.levels["coarse"].mean == pytest.approx(0.5)
    assert result.levels["coarse"].spread == pytest.approx(0.5)
    assert result.v_measure == pytest.approx(2 / 3)
    assert (result.pipeline, result.config, result.encoder) == (
        "minibatch-kmeans",
        "dinge-clustering-s2s",
        ENCODER,
    )


def test_levels_hold_all_genres_together() -> None:
    scores = [
        SetScore(level=level, rows=9, labels=3, v_measure=value, ami=0.0)
        for level, value in [
            ("coarse", 0.5),
            ("within:Lyrik", 0.2),
            ("within:Ratgeber", 0.6),
            ("topic", 0.25),
            ("topic", 0.75),
        ]
    ]
    result = summed_up("c", ENCODER, "minibatch-kmeans", scores)
    assert list(result.levels) == ["coarse", "within", "topic"]
    assert result.levels["coarse"] == LevelScore(sets=1, mean=0.5, spread=0.0)
    assert result.levels["within"].sets == 2
    assert result.levels["within"].mean == pytest.approx(0.4)
    assert result.levels["within"].spread == pytest.approx(0.2)
    assert result.levels["topic"].spread == pytest.approx(0.25)
    assert result.v_measure == pytest.approx(0.46)
    assert result.sets[1].level == "within:Lyrik"


@given(st.permutations(list(WORDS)))
def test_a_vector_belongs_to_its_text_in_any_order(order: list[str]) -> None:
    sets = table((["Granit", "Apfel", "Marmor", "Birne"], ["Stein", "Obst", "Stein", "Obst"], "coarse"))
    texts = pl.Series([*order, "Quarz"])
    vectors = vectors_of(texts, WORDS | {"Quarz": [5.0, 5.0]})
    assert score_sets(sets, texts, vectors, ENCODER, config="c").v_measure == pytest.approx(1.0)


def test_unique_texts_are_sorted_and_single() -> None:
    first = table((["b", "a", "b"], ["1", "2", "1"], "fine"))
    second = table((["ä", "a"], ["1", "2"], "fine"), (["Z"], ["1"], "fine"))
    assert unique_texts([first, second]).to_list() == ["Z", "a", "b", "ä"]


def test_a_reduction_serves_all_algorithms_of_a_set(monkeypatch: pytest.MonkeyPatch) -> None:
    reduced: list[str] = []
    reduce = pipelines.reduce

    def counted(
        vectors: pipelines.Vectors, reduction: pipelines.Reduction, *, seed: int
    ) -> pipelines.Vectors:
        reduced.append(reduction)
        return reduce(vectors, reduction, seed=seed)

    monkeypatch.setattr(pipelines, "reduce", counted)
    sets, texts, vectors = noisy_sets(3, [60, 50], labels=3)
    names = ["pca+hdbscan", "minibatch-kmeans", "pca+minibatch-kmeans", "agglomerative", "pca+agglomerative"]
    together = list(score_pipelines(sets, texts, vectors, ENCODER, config="c", pipelines=names))
    assert sorted(reduced) == ["none", "none", "pca", "pca"]
    assert sorted(result.pipeline for result in together) == sorted(names)
    for result in together:
        assert result == score_sets(sets, texts, vectors, ENCODER, config="c", pipeline=result.pipeline)


def test_tells_of_every_set() -> None:
    told: list[tuple[str, int, int]] = []

    class Told:
        def title(self, text: str) -> None: ...
        def step(self, name: str, *lines: str) -> None: ...
        def tick(self, name: str, done: int, total: int) -> None:
            told.append((name, done, total))

    sets, texts, vectors = noisy_sets(3, [20, 30], labels=2)
    names = ["minibatch-kmeans", "agglomerative"]
    list(score_pipelines(sets, texts, vectors, ENCODER, config="c", pipelines=names, progress=Told()))
    assert told == [("cluster c", 1, 2), ("cluster c", 2, 2)]


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (np.array([[0, math.nan], [1, 1]]), "a vector holds NaN"),
        (np.array([[0, 1], [1, -math.inf]]), "a vector holds NaN"),
        (np.array([[0, 1e30], [1, 1]]), "a number too large to square"),
    ],
)
def test_vectors_that_are_not_usable_are_refused(vectors: NDArray[np.float64], message: str) -> None:
    sets = table((["Apfel", "Birne"], ["a", "b"], "fine"))
    with pytest.raises(EncoderError) as raised:
        score_sets(sets, pl.Series(["Apfel", "Birne"]), vectors.astype(np.float32), ENCODER, config="c")
    assert message in raised.value.message


def test_reads_published_sets(tmp_path: Path) -> None:
    sets = table((["Apfel", "Granit"], ["Obst", "Stein"], "coarse"))
    path = tmp_path / "test.parquet"
    path.write_bytes(encode(Table("blurbs", Kind.CLUSTERING_P2P, "test", sets))[0])
    assert read_sets(path).equals(sets)
    with pytest.raises(StorageError, match="other"):
        read_sets(tmp_path / "other.parquet")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"sentences": [["a"]], "labels": [["b"]]}), "see level"),
        (pl.DataFrame({"sentences": [["a"]], "labels": [[1]], "level": ["fine"]}), "see labels"),
        (table((["a"], ["b"], "fine"), (["a", "c"], ["b"], "fine")), "set 2"),
        (table(([], [], "fine")), "set 1"),
        (table(), "none at all"),
    ],
)
def test_tables_that_hold_no_sets_are_refused(tmp_path: Path, frame: pl.DataFrame, message: str) -> None:
    frame.write_parquet(tmp_path / "test.parquet")
    with pytest.raises(StorageError) as raised:
        read_sets(tmp_path / "test.parquet")
    assert message in raised.value.message


def at_random(sets: pl.DataFrame, seed: int = 42) -> ClusteringResult:
    texts = unique_texts([sets])
    return score_sets(sets, texts, random_vectors(texts, seed), RANDOM_FACTS, config="c", seed=seed)


def codes(result: ClusteringResult, beside: ClusteringResult) -> list[str]:
    return [finding.code for finding in check([result], [beside], {})]


@pytest.mark.parametrize("seed", range(3))
def test_random_vectors_score_at_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for number in range(10):
        names = [f"L{label}" for label in rng.integers(0, 4 + 3 * number, 300)]
        rows.append(([f"{number}.{row}" for row in range(300)], names, "fine"))
    random = at_random(table(*rows), seed)
    assert random.encoder.kind == "rule" and random.v_measure > 0.05
    assert abs(np.mean([one.ami for one in random.sets])) < 0.01
    assert codes(random.model_copy(update={"encoder": ENCODER}), random) == ["eval-nothing-solves"]


def test_texts_that_repeat_are_no_luck() -> None:
    """Rows of equal text have one vector, and would lift a random encoder above chance."""
    rng = np.random.default_rng(2)
    pool = [(f"Titel {number}", f"L{label}") for number, label in enumerate(rng.integers(0, 12, 60))]
    drawn = [[pool[row] for row in rng.integers(0, len(pool), 900)] for _ in range(10)]
    sets = table(*[([text for text, _ in rows], [label for _, label in rows], "fine") for rows in drawn])
    random = at_random(sets)
    assert random.v_measure > 0.3
    assert "eval-random-off-chance" not in codes(random, random)


def test_what_knows_the_labels_is_far_from_chance() -> None:
    sets, texts, vectors = noisy_sets(11, [500, 300] * 5, labels=6)
    leaning = score_sets(sets, texts, vectors, ENCODER, config="c")
    assert codes(leaning, at_random(sets)) == []
    knowing = leaning.model_copy(update={"encoder": RANDOM_FACTS})
    assert codes(leaning, knowing) == ["eval-random-off-chance"]


def test_sets_that_were_scored_are_not_scored_again() -> None:
    sets, texts, vectors = noisy_sets(4, [90, 80, 70], labels=3)
    whole = score_sets(sets, texts, vectors, ENCODER, config="c")
    marked = whole.sets[0].model_copy(update={"v_measure": 0.5})
    seen: list[tuple[str, int]] = []
    (result,) = score_pipelines(
        sets,
        texts,
        vectors,
        ENCODER,
        config="c",
        pipelines=[MTEB],
        scored={MTEB: [marked]},
        keep=lambda name, scores: seen.append((name, len(scores))),
    )
    assert result.sets == (marked, *whole.sets[1:]) and seen == [(MTEB, 2), (MTEB, 3)]


def test_a_set_scores_the_same_wherever_it_stands() -> None:
    sets, texts, vectors = noisy_sets(4, [300, 200, 90], labels=5)
    whole = score_sets(sets, texts, vectors, ENCODER, config="c").sets
    alone = [score_sets(sets[row], texts, vectors, ENCODER, config="c").sets[0] for row in range(3)]
    assert list(whole) == alone

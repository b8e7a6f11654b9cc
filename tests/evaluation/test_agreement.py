"""On the same vectors, our scores are those of the unmodified mteb, through the published folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders import registry
from builders.build.order import Options, build
from builders.built import read_built
from builders.cli.output import Lines
from builders.encoders import encode_cached
from builders.encoders.hashing import Hashing
from builders.encoders.offline import OfflineE5
from builders.evaluation.metrics import score
from builders.evaluation.rankings import Judged, read_judged, search
from builders.evaluation.results import EncoderFacts, RetrievalResult
from builders.evaluation.vmeasure import read_sets, unique_texts
from builders.mteb_tasks import (
    BlurbsClusteringP2P,
    BlurbsClusteringS2S,
    GermanDPR,
    GermanDPRUnion,
    Jobs,
    TenKGnadClusteringP2P,
    TenKGnadClusteringS2S,
)
from builders.spec import Retrieval
from tests.evaluation.runs import score_sets
from tests.fixtures.upstream import plain_files, upstream
from tests.mteb_kit import LookUp, Vectors, by_text, scores
from tests.vectors import sharing_vectors

pytestmark = pytest.mark.upstream
FACTS = EncoderFacts(name="given", kind="dense")
LIMITS = {"germandpr": 120, "jobs": 50, "tenkgnad": 120}
WIDE = {"germandpr": None, "jobs": None, "tenkgnad": 1000, "blurbs": 1000}
VectorsOf = Callable[[pl.Series], Vectors]
TOKENS = 24
"""Texts are cut to as many: the agreement is about scores, and short texts are encoded soon."""


@dataclass(frozen=True)
class Encoded:
    """A retrieval split with the vectors of its texts."""

    judged: Judged
    queries: Vectors
    passages: Vectors

    def ours(self) -> RetrievalResult:
        return score(self.judged, search(self.judged, self.queries, self.passages), FACTS, resamples=10)

    def looked_up(self) -> LookUp:
        return LookUp(
            by_text(self.judged.passage_texts(), self.passages),
            by_text(self.judged.query_texts(), self.queries),
        )


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of each stand-in, built; nothing is mined."""
    return built(tmp_path_factory.mktemp("agreement"), LIMITS, mined=False)


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same part, mined, and the vectors kept that it was mined with."""
    return built(tmp_path_factory.mktemp("mined"), LIMITS)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of the stand-ins that are searched, and more of those that are clustered; nothing is mined."""
    return built(tmp_path_factory.mktemp("wide"), WIDE, mined=False)


def built(folder: Path, limits: Mapping[str, int | None], *, mined: bool = True) -> Path:
    for name, limit in limits.items():
        options = Options(
            out=folder / "dist",
            encoder="offline",
            offline=True,
            sources=(str(upstream() / "hub"), str(plain_files())),
            limit=limit,
            home=sharing_vectors(folder / "home"),
            committed=folder / "none",
        )
        spec = registry.load(name)
        if isinstance(spec, Retrieval) and not mined:
            spec = replace(spec, mining=None)
        build(spec, options, Lines(quiet=True))
    return folder / "dist"


def with_e5(out: Path, judged: Judged) -> Encoded:
    """Vectors of the offline E5; those of `jobs` are the ones that it was mined with, kept by the build."""
    encoder = OfflineE5() if judged.config == "jobs" else OfflineE5(max_length=TOKENS)
    root = out.parent / "home" / "vectors"
    queries = encode_cached(encoder, judged.query_texts(), "query", root=root).vectors
    passages = encode_cached(encoder, judged.passage_texts(), "passage", root=root).vectors
    encoder.close()
    return Encoded(judged, queries, passages)


def by_hashing(texts: pl.Series) -> Vectors:
    """Vectors of hashed characters: quick, so that whole stand-ins are compared."""
    encoder = Hashing()
    return encoder.encode(encoder.truncate(texts.to_list(), "passage"), "passage")


def with_ties(judged: Judged) -> Encoded:
    """Vectors of two equal numbers among six: few different scores, each of them exact."""
    pairs = np.array([(one, other) for one in range(6) for other in range(one)])

    def draw(count: int, seed: int) -> Vectors:
        vectors = np.zeros((count, 6), dtype=np.float32)
        np.put_along_axis(
            vectors, pairs[np.random.default_rng(seed).integers(len(pairs), size=count)], 1, axis=1
        )
        return vectors / np.float32(np.sqrt(2))

    return Encoded(judged, draw(judged.queries.height, 1), draw(judged.corpus.height, 2))


def assert_same(ours: RetrievalResult, theirs: dict[str, float]) -> None:
    for name in ("ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100"):
        assert round(ours.scores[name].value, 5) == round(theirs[name], 5), name


TASKS = pytest.mark.parametrize(
    ("name", "task", "split", "queries"),
    [
        ("germandpr", GermanDPR, "test", 100),
        ("germandpr", GermanDPRUnion, "all", 1000),
        ("jobs", Jobs, "test", 700),
    ],
)
Task = type[GermanDPR | GermanDPRUnion | Jobs]


def assert_scores_same(given: Encoded, task: Task, out: Path, *, least: float) -> None:
    ours = given.ours()
    assert_same(ours, scores(task.at(out / "mteb-de"), given.looked_up()))
    assert least < ours.scores["ndcg_at_10"].value < 0.99, "vectors that solve all or nothing prove little"
    assert ours.queries == given.judged.queries.height


def hashed(out: Path, name: str, split: str) -> Encoded:
    judged = read_judged(read_built(out, registry.load_retrieval(name)), split)
    return Encoded(judged, by_hashing(judged.query_texts()), by_hashing(judged.passage_texts()))


@TASKS
def test_retrieval_scores_are_those_of_mteb(
    out: Path, name: str, task: Task, split: str, queries: int
) -> None:
    given = hashed(out, name, split)
    assert_scores_same(given, task, out, least=0.1)
    assert LIMITS[name] // 12 <= given.judged.queries.height < queries


@pytest.mark.long
@TASKS
def test_scores_by_vectors_of_a_model_are_those_of_mteb(
    mined: Path, name: str, task: Task, split: str, queries: int
) -> None:
    given = with_e5(mined, read_judged(read_built(mined, registry.load_retrieval(name)), split))
    assert_scores_same(given, task, mined, least=0.2)
    assert LIMITS[name] // 12 <= given.judged.queries.height < queries


@pytest.mark.long
@TASKS
def test_whole_stand_ins_agree_too(wide: Path, name: str, task: Task, split: str, queries: int) -> None:
    given = hashed(wide, name, split)
    assert_scores_same(given, task, wide, least=0.1)
    assert given.judged.queries.height >= queries


@pytest.mark.parametrize(("name", "task"), [("germandpr", GermanDPRUnion), ("jobs", Jobs)])
def test_ties_are_broken_as_mteb_breaks_them(out: Path, name: str, task: type[GermanDPRUnion | Jobs]) -> None:
    split = "all" if task is GermanDPRUnion else "test"
    given = with_ties(read_judged(read_built(out, registry.load_retrieval(name)), split))
    assert len(np.unique(given.queries @ given.passages.T)) == 3
    assert_same(given.ours(), scores(task.at(out / "mteb-de"), given.looked_up()))


Group = type[BlurbsClusteringS2S | BlurbsClusteringP2P | TenKGnadClusteringS2S | TenKGnadClusteringP2P]


def assert_v_measure_same(out: Path, name: str, variant: str, task: Group, vectors: VectorsOf) -> None:
    sets = read_sets(out / f"tecb-de/{name}/clustering-{variant}/test.parquet")
    texts = unique_texts([sets])
    found = vectors(texts)
    ours = score_sets(sets, texts, found, FACTS, config=f"{name}-clustering-{variant}")
    theirs = scores(task.at(out / "tecb-de"), LookUp(by_text(texts, found)))
    assert [one.v_measure for one in ours.sets] == pytest.approx(theirs["v_measures"], rel=0, abs=1e-6)
    assert ours.v_measure == pytest.approx(theirs["v_measure"], rel=0, abs=1e-6)
    assert ours.spread == pytest.approx(theirs["v_measure_std"], rel=0, abs=1e-6)
    assert 0.05 < ours.v_measure < 0.9


def test_v_measure_is_that_of_mteb(out: Path) -> None:
    assert_v_measure_same(out, "tenkgnad", "s2s", TenKGnadClusteringS2S, by_hashing)


@pytest.mark.long
def test_v_measure_by_vectors_of_a_model_is_that_of_mteb(out: Path) -> None:
    def by_e5(texts: pl.Series) -> Vectors:
        encoder = OfflineE5(max_length=TOKENS)
        vectors = encoder.encode(encoder.truncate(texts.to_list(), "query"), "query")
        encoder.close()
        return vectors

    assert_v_measure_same(out, "tenkgnad", "s2s", TenKGnadClusteringS2S, by_e5)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "variant", "task"),
    [
        ("blurbs", "s2s", BlurbsClusteringS2S),
        ("blurbs", "p2p", BlurbsClusteringP2P),
        ("tenkgnad", "s2s", TenKGnadClusteringS2S),
        ("tenkgnad", "p2p", TenKGnadClusteringP2P),
    ],
)
def test_v_measure_agrees_on_both_variants(wide: Path, name: str, variant: str, task: Group) -> None:
    assert_v_measure_same(wide, name, variant, task, by_hashing)

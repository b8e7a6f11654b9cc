from __future__ import annotations

import pytest

from builders.evaluation.compare import (
    GERMANDPR_ROWS,
    RETRIEVAL_TOLERANCE,
    TASKS,
    Published,
    compare,
    published_scores,
    tolerance,
)
from builders.evaluation.model import ClusteringResult, EncoderFacts, Result, RetrievalResult, Score, SetScore
from builders.evaluation.pipelines import PIPELINES
from builders.lock.model import Lock, SourceFile, SourceLock

DATA = "64a4860e55ba6d8fcb923d5306d08e08b1c72794"
MODEL, REVISION = "codefuse-ai/F2LLM-v2-80M", "35baae5091e26211dbe628f1723448c146fafdf2"
PAPERS = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
FACTS = published_scores()


def lock(config: str, *, kind: str = "hub", limit: int | None = None) -> Lock:
    file = SourceFile(part="rows", path="rows.parquet", sha256="0" * 64, size=1)
    source = SourceLock.model_validate({
        "kind": kind,
        "name": "mteb/GermanDPR",
        "revision": DATA if kind == "hub" else "",
        "resolved": DATA if kind == "hub" else "",
        "files": (file,),
    })
    return Lock(
        config=config,
        release="mteb-de",
        licence="cc-by-4.0",
        sources=(source,),
        parameters={"limit": limit},
        tools={},
        funnels=(),
        splits={},
        facts={},
        personal={},
        files=(),
    )


def searched(
    value: float, *, model: str = MODEL, revision: str = REVISION, split: str = "all"
) -> RetrievalResult:
    queries, passages = GERMANDPR_ROWS
    return RetrievalResult(
        config="germandpr",
        split=split,
        encoder=EncoderFacts(name="asked", kind="dense", model=model, revision=revision, dimensions=8),
        queries=queries,
        passages=passages,
        scores={"ndcg_at_10": Score(value=value)},
    )


def clustered(
    value: float, *, config: str = "blurbs-clustering-s2s", pipeline: str = "minibatch-kmeans"
) -> Result:
    return ClusteringResult(
        config=config,
        encoder=EncoderFacts(name="asked", kind="dense", model=PAPERS, revision="b" * 40, dimensions=8),
        pipeline=pipeline,
        v_measure=value,
        spread=0.0,
        levels={},
        sets=(SetScore(level="coarse", rows=2, labels=2, v_measure=value),),
    )


def value_of(task: str, model: str, metric: str = "ndcg_at_10", source: str = "") -> float:
    (found,) = (
        one.value
        for one in FACTS
        if (one.task, one.model, one.metric) == (task, model, metric)
        and one.pipeline in {"", "minibatch-kmeans"}
        and one.source.startswith(source)
    )
    return found


def test_the_facts_are_sound() -> None:
    keys = [(one.task, one.model, one.metric, one.pipeline, one.source) for one in FACTS]
    assert len(FACTS) > 1_900 and len(set(keys)) == len(keys)
    assert {one.task for one in FACTS} == set(TASKS.values())
    assert {one.pipeline for one in FACTS} == {"", *PIPELINES}
    assert all(0 <= one.value <= 1 and one.source for one in FACTS)


def test_published_figures_of_the_reference_are_among_them() -> None:
    assert value_of("GermanDPR", "intfloat/multilingual-e5-base") == 0.79512
    assert value_of("BlurbsClusteringP2P", "deepset/gbert-base", "v_measure") == pytest.approx(
        0.3536, abs=5e-5
    )
    assert value_of("RedditClusteringP2P(de)", "deepset/gbert-base", "v_measure") == pytest.approx(
        0.353, abs=5e-5
    )


def test_the_tolerance_is_the_widest_gap_between_two_runs_of_a_model() -> None:
    ours = {
        task: tolerance(task, "minibatch-kmeans", FACTS) for task in TASKS.values() if "Clustering" in task
    }
    assert ours == {
        "BlurbsClusteringS2S": pytest.approx(0.005),
        "BlurbsClusteringP2P": pytest.approx(0.005),
        "TenKGnadClusteringS2S": pytest.approx(0.024),
        "TenKGnadClusteringP2P": pytest.approx(0.024),
        "RedditClusteringS2S(de)": None,
        "RedditClusteringP2P(de)": None,
    }
    gap = abs(
        value_of("TenKGnadClusteringP2P", PAPERS.replace("MiniLM-L12", "mpnet-base"), "v_measure", "Clim")
        - value_of("TenKGnadClusteringP2P", PAPERS.replace("MiniLM-L12", "mpnet-base"), "v_measure", "embed")
    )
    assert 0.023 < gap <= 0.024
    assert tolerance("BlurbsClusteringS2S", "umap+hdbscan", FACTS) is None


def test_no_search_was_published_twice_so_its_tolerance_comes_from_elsewhere() -> None:
    twice = [(one.model, one.metric) for one in FACTS if one.task == "GermanDPR"]
    assert len(twice) == len(set(twice))
    assert tolerance("GermanDPR", "", FACTS) == RETRIEVAL_TOLERANCE


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0049, "agrees"), (-0.0049, "agrees"), (0.0051, "differs"), (-0.0051, "differs")]
)
def test_a_search_is_held_against_its_tolerance(shift: float, verdict: str) -> None:
    theirs = value_of("GermanDPR", MODEL)
    (line,) = compare([searched(theirs + shift)], {"germandpr": lock("germandpr")})
    assert (line.verdict, line.why) == (verdict, "")
    assert line.published == theirs and line.difference == pytest.approx(shift)
    assert line.model == f"{MODEL}@{REVISION[:10]}" and line.source.startswith("embeddings-benchmark/results")


@pytest.mark.parametrize(
    ("result", "held", "why"),
    [
        (searched(0.1), lock("germandpr", kind="folder"), "not built from the whole real upstream"),
        (searched(0.1), lock("germandpr", limit=10), "not built from the whole real upstream"),
        (searched(0.1, split="test"), lock("germandpr"), "theirs is of all questions: pass --split all"),
        (searched(0.1, revision="a" * 40), lock("germandpr"), "another revision of the model"),
        (
            searched(0.1, model=f"{MODEL} (4 bit)"),
            lock("germandpr"),
            "asked is near, and not the model itself",
        ),
        (
            searched(0.1).model_copy(update={"queries": 1_000}),
            lock("germandpr"),
            "1,000 questions and 2,876 passages, theirs 1,025 and 2,876",
        ),
        (
            searched(
                0.1,
                model="intfloat/multilingual-e5-base",
                revision="d13f1b27baf31030b7fd040960d60d909913633f",
            ),
            lock("germandpr"),
            "another revision of the dataset",
        ),
    ],
)
def test_what_is_not_the_same_is_shown_and_never_differs(result: Result, held: Lock, why: str) -> None:
    lines = compare([result], {"germandpr": held})
    assert [(line.verdict, line.why) for line in lines] == [("not comparable", why)]
    assert lines[0].difference < -0.1


def test_clustering_is_compared_per_pipeline() -> None:
    locks = {"blurbs": lock("blurbs"), "tenkgnad": lock("tenkgnad")}
    theirs = value_of("BlurbsClusteringS2S", PAPERS, "v_measure", "Clim")
    lines = compare([clustered(theirs)], locks)
    assert [line.verdict for line in lines] == ["agrees", "not comparable"]  # mteb's is of another revision
    (line,) = compare([clustered(0.9, pipeline="umap+hdbscan")], locks)
    assert (line.verdict, line.tolerance) == ("not comparable", None)
    lines = compare([clustered(theirs + 0.02, config="tenkgnad-clustering-s2s")], locks)
    assert {line.tolerance for line in lines} == {0.024}


def test_an_unknown_model_and_an_unknown_config_have_nothing_beside_them() -> None:
    assert compare([searched(0.5, model="verein/eigenes")], {"germandpr": lock("germandpr")}) == []
    other = searched(0.5).model_copy(update={"config": "jobs"})
    assert compare([other], {"jobs": lock("jobs")}) == []


def test_a_fact_needs_a_metric_that_we_have() -> None:
    row = FACTS[0].model_dump() | {"metric": "accuracy"}
    with pytest.raises(ValueError, match="metric"):
        Published.model_validate(row)

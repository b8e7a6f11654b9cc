from __future__ import annotations

import re
import warnings
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from builders.built import Built
from builders.encoders.prompts import prompts_of
from builders.evaluation.pipelines import PIPELINES
from builders.evaluation.published import (
    Published,
    _prompted_alike,
    compare,
    published_scores,
    summary_line,
)
from builders.evaluation.results import (
    ClusteringResult,
    EncoderFacts,
    Result,
    RetrievalResult,
    Score,
    SetScore,
)
from builders.lock.committed import whole_upstream
from builders.lock.lock import Lock, LockedSource, SourceFile
from builders.registry import load, names
from tests.checks.kit import SPEC

DATA = "64a4860e55ba6d8fcb923d5306d08e08b1c72794"
MODEL, REVISION = "minishlab/potion-multilingual-128M", "38ebd7f10f71e67fa8db898290f92b82e9cfff2a"
INSTRUCTED = ("codefuse-ai/F2LLM-v2-80M", "35baae5091e26211dbe628f1723448c146fafdf2")
E5 = ("intfloat/multilingual-e5-small", "fd1525a9fd15316a2d503bf26ab031a61d056e98")
PAPERS = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
FACTS = published_scores()
SCORED = {name: scored for name in names() if (scored := load(name).scored)}
TASKS = {
    f"{name}-{table}".removesuffix("-"): task
    for name, scored in SCORED.items()
    for table, task in scored.tasks.items()
}
CONFIG_OF = {task: SCORED[config.partition("-")[0]] for config, task in TASKS.items()}


def built(config: str, *, kind: str = "hub", limit: int | None = None, not_comparable: str = "") -> Built:
    file = SourceFile(part="rows", path="rows.parquet", sha256="0" * 64, size=1)
    source = LockedSource.model_validate({
        "kind": kind,
        "name": "mteb/GermanDPR",
        "revision": DATA if kind == "hub" else "",
        "resolved": DATA if kind == "hub" else "",
        "files": (file,),
    })
    lock = Lock(
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
    whole = whole_upstream(lock.sources, lock.parameters)
    return Built(
        load(config) if config in names() else SPEC, Path(), None, lock, {}, {}, not whole, not_comparable
    )


def asked(model: str, revision: str) -> EncoderFacts:
    return EncoderFacts(
        name=f"{model}@{revision[:10]}", kind="dense", model=model, revision=revision, dimensions=8
    )


def searched(
    value: float, *, model: str = MODEL, revision: str = REVISION, split: str = "all"
) -> RetrievalResult:
    queries, passages = SCORED["germandpr"].rows or (0, 0)
    return RetrievalResult(
        config="germandpr",
        split=split,
        encoder=asked(model, revision),
        queries=queries,
        passages=passages,
        scores={"ndcg_at_10": Score(value=value)},
    )


def clustered(
    value: float,
    *,
    config: str = "blurbs-clustering-s2s",
    pipeline: str = "minibatch-kmeans",
    encoder: EncoderFacts | None = None,
) -> Result:
    return ClusteringResult(
        config=config,
        encoder=encoder or asked(PAPERS, "b" * 40),
        pipeline=pipeline,
        v_measure=value,
        spread=0.0,
        levels={},
        sets=(SetScore(level="coarse", rows=2, labels=2, v_measure=value, ami=0.0),),
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


def test_the_tolerance_of_clustering_covers_every_published_gap() -> None:
    runs: dict[tuple[str, str], list[float]] = defaultdict(list)
    for one in FACTS:
        if one.pipeline == "minibatch-kmeans":
            runs[one.task, one.model].append(one.value)
    for (task, _), values in runs.items():
        assert CONFIG_OF[task].tolerance >= max(values) - min(values)
    assert {len(values) for values in runs.values()} == {1, 2}


def test_no_search_was_published_twice_so_its_tolerance_comes_from_elsewhere() -> None:
    twice = [(one.model, one.metric) for one in FACTS if one.task == "GermanDPR"]
    assert len(twice) == len(set(twice))
    assert SCORED["germandpr"].tolerance == 0.005


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0049, "agrees"), (-0.0049, "agrees"), (0.0051, "differs"), (-0.0051, "differs")]
)
def test_a_search_is_held_against_its_tolerance(shift: float, verdict: str) -> None:
    theirs = value_of("GermanDPR", MODEL)
    (line,) = compare([searched(theirs + shift)], {"germandpr": built("germandpr")})
    assert (line.verdict, line.why) == (verdict, "")
    assert line.published == theirs and line.difference == pytest.approx(shift)
    assert line.model == f"{MODEL}@{REVISION[:10]}" and line.source.startswith("embeddings-benchmark/results")


@pytest.mark.parametrize(
    ("result", "held", "why"),
    [
        (searched(0.1), built("germandpr", kind="folder"), "not built from the whole real upstream"),
        (searched(0.1), built("germandpr", limit=10), "not built from the whole real upstream"),
        (searched(0.1, split="test"), built("germandpr"), "theirs is of all questions: pass --split all"),
        (searched(0.1, revision="a" * 40), built("germandpr"), "another revision of the model"),
        (
            searched(0.1, model=f"{MODEL} (4 bit)"),
            built("germandpr"),
            "near the model, and not the model itself",
        ),
        (
            searched(0.1, model=INSTRUCTED[0], revision=INSTRUCTED[1]),
            built("germandpr"),
            "mteb may prompt or load this model otherwise",
        ),
        (
            searched(0.1).model_copy(update={"queries": 1_000}),
            built("germandpr"),
            "1,000 questions and 2,876 passages, theirs 1,025 and 2,876",
        ),
        (
            searched(
                0.1,
                model="intfloat/multilingual-e5-base",
                revision="d13f1b27baf31030b7fd040960d60d909913633f",
            ),
            built("germandpr"),
            "another revision of the dataset",
        ),
    ],
)
def test_what_is_not_the_same_is_shown_and_never_differs(result: Result, held: Built, why: str) -> None:
    lines = compare([result], {"germandpr": held})
    assert [(line.verdict, line.why) for line in lines] == [("not comparable", why)]
    assert lines[0].difference < -0.1


CONFIGS = {"blurbs": built("blurbs"), "tenkgnad": built("tenkgnad")}


def test_clustering_is_compared_per_pipeline() -> None:
    theirs = value_of("BlurbsClusteringS2S", PAPERS, "v_measure", "Clim")
    lines = compare([clustered(theirs)], CONFIGS)
    assert [line.verdict for line in lines] == ["agrees", "not comparable"]  # mteb's is of another revision
    (line,) = compare([clustered(0.9, pipeline="umap+hdbscan")], CONFIGS)
    assert (line.verdict, line.tolerance) == ("not comparable", None)
    assert "not measured for this pipeline" in line.why


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("config", ["blurbs-clustering-s2s", "tenkgnad-clustering-p2p"])
def test_sets_of_other_rows_agree_within_two_draws_and_differ_beyond(config: str, sign: int) -> None:
    task = TASKS[config]
    theirs, allowed = (
        value_of(task, E5[0], "v_measure"),
        CONFIG_OF[task].tolerance,
    )
    assert allowed is not None
    for shift, verdict in ((0.99 * allowed, "agrees"), (1.01 * allowed, "differs")):
        result = clustered(theirs + sign * shift, config=config, encoder=asked(*E5))
        (line,) = compare([result], CONFIGS)
        assert (line.verdict, line.why) == (verdict, "other rows of the same sizes")


def test_a_fact_without_revision_counts_and_says_so() -> None:
    for value, verdict in ((0.0, "agrees"), (0.5, "differs")):
        theirs = value_of("BlurbsClusteringS2S", PAPERS, "v_measure", "Clim")
        line = compare([clustered(theirs + value)], CONFIGS)[0]
        assert line.verdict == verdict
        assert line.why == "other rows of the same sizes; theirs tells no revision of the model"


def test_a_folder_has_no_published_scores_whatever_it_is_called() -> None:
    names = {one.model for one in FACTS} | {one.model.rpartition("/")[2] for one in FACTS}
    assert "xlm-roberta-large" in names  # a published name that a folder can have
    for name in names:
        folder = name.rpartition("/")[2]
        facts = EncoderFacts(name=f"models/{folder}/", kind="dense", model=folder, revision="f" * 40)
        assert (
            compare(
                [clustered(0.2, encoder=facts), clustered(0.2).model_copy(update={"encoder": facts})], CONFIGS
            )
            == []
        )


def test_a_config_that_says_why_is_not_comparable() -> None:
    held = built("blurbs", not_comparable="too few rows")
    lines = compare([clustered(0.9)], CONFIGS | {"blurbs": held})
    assert {(line.verdict, line.why) for line in lines} == {("not comparable", "too few rows")}


@pytest.mark.parametrize("config", ["subreddit-clustering-s2s", "subreddit-clustering-p2p"])
def test_hydrated_sets_are_compared_with_the_papers(config: str) -> None:
    theirs = value_of(TASKS[config], PAPERS, "v_measure")
    held = replace(built("subreddit"), lock=None)
    (line,) = compare([clustered(theirs, config=config)], {"subreddit": held})
    assert (line.verdict, line.tolerance) == ("agrees", SCORED["subreddit"].tolerance)
    assert line.why.startswith("sets of other subreddits, as many")


def test_the_models_that_are_prompted_alike_are_those_of_mteb() -> None:
    import mteb

    plain = set()
    for name in {one.model for one in FACTS}:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The model .* has been renamed", DeprecationWarning)
            try:
                meta = mteb.get_model_meta(name, fetch_from_hf=False)
            except KeyError:
                continue
        settings = dict(meta.loader_kwargs or {})
        prompts, ours = settings.pop("model_prompts", None), prompts_of(name, {})
        loaded = getattr(meta.loader, "__name__", "") == "SentenceTransformerEncoderWrapper"
        as_ours = prompts is None or prompts == {"query": ours.query, "document": ours.passage}
        cosine = meta.similarity_fn_name is not None and meta.similarity_fn_name.value == "cosine"
        if loaded and as_ours and cosine and set(settings) <= {"trust_remote_code", "device"}:
            plain.add(name.lower())
    assert _prompted_alike() == plain
    assert {E5[0].lower(), MODEL.lower(), PAPERS.lower()} <= plain
    assert not {INSTRUCTED[0].lower(), "baai/bge-base-en-v1.5", "nomic-ai/nomic-embed-text-v1.5"} & plain


def test_some_published_scores_of_each_kind_are_comparable() -> None:
    """What the help names: a model that mteb scored on the pinned dataset, and one for clustering."""
    (line,) = compare([searched(value_of("GermanDPR", MODEL))], {"germandpr": built("germandpr")})
    assert line.verdict == "agrees"
    theirs = value_of("BlurbsClusteringP2P", E5[0], "v_measure")
    result = clustered(theirs, config="blurbs-clustering-p2p", encoder=asked(*E5))
    assert [line.verdict for line in compare([result], CONFIGS)] == ["agrees"]


def test_the_closing_line_says_why_nothing_is_comparable() -> None:
    other = compare([searched(0.1, revision="a" * 40)], {"germandpr": built("germandpr")})
    part = compare([searched(0.1, split="test")], {"germandpr": built("germandpr")})
    assert summary_line([*other, *part, *part]) == (
        "3 published scores beside ours, 0 comparable (2: theirs is of all questions: pass --split all; "
        "1: another revision of the model), 0 outside the tolerance"
    )
    assert "(none is published of these encoders on these configs)" in summary_line([])
    outside = compare([searched(0.1)], {"germandpr": built("germandpr")})
    assert summary_line([*outside, *part]) == (
        "2 published scores beside ours, 1 comparable, 1 outside the tolerance"
    )


def test_an_unknown_model_and_an_unknown_config_have_nothing_beside_them() -> None:
    assert compare([searched(0.5, model="verein/eigenes")], {"germandpr": built("germandpr")}) == []
    other = searched(0.5).model_copy(update={"config": "jobs"})
    assert compare([other], {"jobs": built("jobs")}) == []


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_an_added_clustering_dataset_has_nothing_beside_it(pipeline: str) -> None:
    for facts in (asked(*E5), asked("verein/eigenes", "c" * 40)):
        result = clustered(0.5, config="news-clustering-s2s", pipeline=pipeline, encoder=facts)
        assert compare([result], {"news": built("news")}) == []


def test_the_notes_tell_the_tolerances_of_the_code() -> None:
    note = (Path(__file__).parents[2] / "notes/decisions.md").read_text(encoding="utf-8")
    told = {name: float(value) for value, name in re.findall(r"\b(0\.[0-9]+) for ([A-Z]\w+)", note)}
    configs = {task.partition("Clustering")[0]: scored for task, scored in CONFIG_OF.items()}
    assert told == {name: one.tolerance for name, one in configs.items()}


def test_a_fact_needs_a_metric_that_we_have() -> None:
    row = FACTS[0].model_dump() | {"metric": "accuracy"}
    with pytest.raises(ValueError, match="metric"):
        Published.model_validate(row)

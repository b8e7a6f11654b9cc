from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import polars as pl
import pytest

from builders.evaluation.rankings import BM25_FACTS, Judged, bm25
from tests.evaluation.runs import judged, score_run, whole

PASSAGES = {
    "d1": "Die Häuser am Hafen sind alt und aus rotem Stein.",
    "d2": "Ein Schiff fährt langsam durch den Kanal.",
    "d3": "Der Garten liegt hinter dem alten Haus.",
    "d4": "Hausboote sind Schiffe, auf denen man wohnen kann.",
    "d5": "Am Morgen kauft Frau Özdemir Brötchen und Äpfel.",
    "d6": "Große Straßen führen aus der Stadt zum Hafen.",
}


def asked(question: str, passages: dict[str, str] = PASSAGES) -> Judged:
    return judged({"q": {"d1": 1}}, passages, queries={"q": question})


def found(question: str, passages: dict[str, str] = PASSAGES, k: int = 1000) -> list[str]:
    return whole(bm25(asked(question, passages), k))["passage_id"].to_list()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Haus", ["d3", "d1"]),  # the shorter passage first; no compound
        ("Häuser", ["d3", "d1"]),
        ("HAUSES", ["d3", "d1"]),
        ("Schiffe", ["d4", "d2"]),
        ("ein Apfel", ["d5"]),
        ("Strasse", ["d6"]),
        ("Özdemirs", ["d5"]),
        ("Hausboot", ["d4"]),
    ],
)
def test_words_are_found_by_their_german_stem(question: str, expected: list[str]) -> None:
    assert found(question) == expected


def test_passages_without_a_word_of_the_query_are_not_found() -> None:
    assert found("Flugzeug") == []
    assert found("und die der") == []
    assert found("?!") == []
    assert found("x", {"d1": "und", "d2": "?"}) == []


def test_more_and_rarer_words_rank_higher() -> None:
    assert found("alte Häuser am Hafen")[0] == "d1"
    run = whole(bm25(asked("alte Häuser am Hafen")))
    assert run.schema == {"query_id": pl.String, "passage_id": pl.String, "score": pl.Float32}
    assert run["score"].is_sorted(descending=True) and (run["score"] > 0).all()


def test_of_equal_passages_the_larger_id_comes_first_also_at_the_cut() -> None:
    same = {f"d{n}": "Ein Haus." for n in range(6)} | {"d9": "Ein Schiff."}
    assert found("Haus", same, k=4) == ["d5", "d4", "d3", "d2"]


def test_every_query_has_its_own_passages() -> None:
    where = judged(
        {"q1": {"d2": 1}, "q2": {"d1": 1}, "q3": {"d5": 1}},
        PASSAGES,
        queries={
            "q1": "Kanal",
            "q2": "Flugzeug",
            "q3": "Brötchen",
        },
    )
    assert whole(bm25(where)).select("query_id", "passage_id").rows() == [("q1", "d2"), ("q3", "d5")]
    scores = score_run(where, whole(bm25(where)), BM25_FACTS).scores
    assert scores["mrr_at_10"].value == round(2 / 3, 5)


def test_scores_are_those_of_the_baseline_of_mteb() -> None:
    from datasets import Dataset, disable_progress_bars
    from mteb import TaskMetadata
    from mteb.models.model_implementations.bm25 import BM25Search

    questions = {"q1": "Häuser am alten Hafen", "q2": "Schiffe, Schiffe im Kanal", "q3": "Frau in der Straße"}
    where = judged({query: {"d1": 1} for query in questions}, PASSAGES, queries=questions)
    where.corpus.replace_column(1, pl.Series("title", ["", "Schiff", "", "", "", "Verkehr"]))
    metadata = TaskMetadata(
        name="Probe",
        description="Fragen",
        type="Retrieval",
        category="t2t",
        main_score="ndcg_at_10",
        eval_splits=["test"],
        eval_langs=["deu-Latn"],
        dataset={"path": "probe", "revision": "1"},
    )
    told: dict[str, Any] = {"task_metadata": metadata, "hf_split": "test", "hf_subset": "default"}
    baseline = BM25Search()
    corpus = where.corpus.rename({"passage_id": "id"}).to_dicts()
    baseline.index(Dataset.from_list(corpus), encode_kwargs={}, **told)
    disable_progress_bars()
    asked_for = Dataset.from_list(where.queries.rename({"query_id": "id"}).to_dicts())
    theirs = baseline.search(asked_for, top_k=1000, encode_kwargs={}, **told)
    ours = {(query, passage): score for query, passage, score in whole(bm25(where)).iter_rows()}
    assert ours == {
        (query, passage): score
        for query, passages in theirs.items()
        for passage, score in passages.items()
        if score > 0
    }
    assert len(ours) > 5


@pytest.mark.long
def test_hash_seeds_change_nothing() -> None:
    code = (
        "from tests.evaluation.test_lexical import *\n"
        "run = whole(bm25(asked('Die alten Häuser und Straßen der Stadt am Hafen, ein Haus im Garten')))\n"
        "print([(passage, score.hex()) for _, passage, score in run.iter_rows()])\n"
    )
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1 and "d1" in told.pop()


def test_facts_name_the_libraries_that_rank() -> None:
    assert BM25_FACTS.kind == "lexical" and not BM25_FACTS.miner
    assert BM25_FACTS.revision == "bm25s 0.3.16, PyStemmer 3.1.0"

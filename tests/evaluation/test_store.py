from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders.evaluation import store
from builders.evaluation.model import EncoderFacts, RetrievalResult, Score, SetScore
from builders.evaluation.store import (
    SearchChance,
    SetChance,
    keep_chance,
    keep_result,
    keep_sets,
    kept_path,
    read_chance,
    read_result,
    read_sets,
    versions,
)
from builders.lock.lock import Lock, PublishedFile

LOCK = Lock(
    config="garten",
    release="mteb-de",
    licence="",
    sources=(),
    parameters={},
    tools={},
    funnels=(),
    splits={},
    facts={},
    personal={},
    files=tuple(
        PublishedFile(
            config=f"garten-{kind}",
            split="test",
            path=f"garten/{kind}/test.parquet",
            rows=1,
            size=1,
            arrow_bytes=1,
            sha256=kind,
            content=kind,
        )
        for kind in ("queries", "qrels")
    ),
)


def path(out: Path, lock: Lock = LOCK) -> Path:
    return kept_path(out, lock, ["queries"], {"encoder": "e5"})


@pytest.mark.parametrize(
    "library", ["bm25s", "numpy", "pytrec-eval-terrier", "scikit-learn", "umap-learn", "numba", "pynndescent"]
)
def test_libraries_that_decide_a_score_decide_where_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    before = path(tmp_path)
    other = dict(versions()) | {library: f"{versions()[library]}.post1"}
    monkeypatch.setattr(store, "versions", lambda: other)
    assert path(tmp_path) != before


def test_rows_that_are_read_decide_and_no_others(tmp_path: Path) -> None:
    first, second = LOCK.files
    other = LOCK.model_copy(update={"files": (first, second.model_copy(update={"content": "neu"}))})
    assert path(tmp_path, other) == path(tmp_path)
    other = LOCK.model_copy(update={"files": (first.model_copy(update={"sha256": "neu"}), second)})
    assert path(tmp_path, other) == path(tmp_path)  # another writer's bytes of the same rows
    other = LOCK.model_copy(update={"files": (first.model_copy(update={"content": "neu"}), second)})
    assert path(tmp_path, other) != path(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"v_measure": 0.5}', '{"v_measure": NaN, "v_measure_error": 0}']
)
def test_a_damaged_chance_is_none(tmp_path: Path, text: str) -> None:
    keep_chance(tmp_path / "a.json", SetChance(v_measure=0.5, v_measure_error=0.1))
    assert read_chance(tmp_path / "a.json", SetChance) == SetChance(v_measure=0.5, v_measure_error=0.1)
    assert read_chance(tmp_path / "a.json", SearchChance) is None
    (tmp_path / "a.json").write_text(text, encoding="utf-8")
    assert read_chance(tmp_path / "a.json", SetChance) is None
    assert read_chance(tmp_path / "none.json", SetChance) is None


def test_a_result_comes_back_in_order_and_ends_its_sets(tmp_path: Path) -> None:
    names = ("ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100", "r_precision")
    result = RetrievalResult(
        config="garten",
        split="test",
        encoder=EncoderFacts(name="e5", kind="dense"),
        queries=1,
        passages=1,
        scores={name: Score(value=0.5) for name in reversed(names)},
    )
    place = tmp_path / "eval" / "a.json"
    sets = (SetScore(level="topic", rows=2, labels=2, v_measure=0.5),)
    keep_sets(place, sets)
    assert read_sets(place) == sets and read_result(place) is None
    keep_result(place, result)
    assert read_sets(place) == ()
    found = read_result(place)
    assert isinstance(found, RetrievalResult) and tuple(found.scores) == names and found == result
    document = json.loads(place.read_bytes())
    del document["scores"]["mrr_at_10"]
    place.write_text(json.dumps(document), encoding="utf-8")
    assert read_result(place) is None

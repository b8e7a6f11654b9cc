from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import FiniteFloat, TypeAdapter

from builders.built import Built
from builders.evaluation import kept
from builders.evaluation.kept import keep, kept_path, read_kept, versions
from builders.evaluation.results import EncoderFacts, RetrievalResult, Score
from tests.checks.kit import SPEC

QUERIES, QRELS = (f"garten/{kind}/test.parquet" for kind in ("queries", "qrels"))
BUILT = Built(
    SPEC, Path(), None, None, {QUERIES: "a", QRELS: "b"}, {QUERIES: "c", QRELS: "d"}, stand_in=False
)


def path(out: Path, built: Built = BUILT) -> Path:
    return kept_path(out, built, ["queries"], {"encoder": "e5"})


@pytest.mark.parametrize(
    "library", ["bm25s", "numpy", "pytrec-eval-terrier", "scikit-learn", "umap-learn", "numba", "pynndescent"]
)
def test_libraries_that_decide_a_score_decide_where_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    before = path(tmp_path)
    other = dict(versions()) | {library: f"{versions()[library]}.post1"}
    monkeypatch.setattr(kept, "versions", lambda: other)
    assert path(tmp_path) != before


def test_rows_that_are_read_decide_and_no_others(tmp_path: Path) -> None:
    assert path(tmp_path, replace(BUILT, contents={QUERIES: "a", QRELS: "neu"})) == path(tmp_path)
    other_bytes = replace(BUILT, sums={QUERIES: "neu", QRELS: "neu"})
    assert path(tmp_path, other_bytes) == path(tmp_path)  # another writer's bytes of the same rows
    assert path(tmp_path, replace(BUILT, contents={QUERIES: "neu", QRELS: "b"})) != path(tmp_path)


SHAPE = TypeAdapter(dict[str, FiniteFloat])


def complete(scores: dict[str, float]) -> bool:
    return "mrr_at_10" in scores


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"ndcg_at_10": 0.5}', '{"mrr_at_10": NaN}'])
def test_what_is_damaged_or_incomplete_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.json"
    keep(path, SHAPE, {"mrr_at_10": 0.5})
    assert read_kept(path, SHAPE, complete) == {"mrr_at_10": 0.5}
    path.write_text(text, encoding="utf-8")
    assert read_kept(path, SHAPE, complete) is None
    assert read_kept(tmp_path / "none.json", SHAPE, complete) is None


def test_a_result_comes_back_in_order(tmp_path: Path) -> None:
    names = ("ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100", "r_precision")
    shape = TypeAdapter(RetrievalResult)
    result = RetrievalResult(
        config="garten",
        split="test",
        encoder=EncoderFacts(name="e5", kind="dense"),
        queries=1,
        passages=1,
        scores={name: Score(value=0.5) for name in reversed(names)},
    )
    keep(tmp_path / "a.json", shape, result)
    found = read_kept(tmp_path / "a.json", shape, lambda _: True)
    assert found == result and tuple(found.scores) == tuple(result.scores) == names

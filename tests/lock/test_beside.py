from __future__ import annotations

from pathlib import Path

import pytest

from builders.errors import StorageError
from builders.lock.beside import (
    Citations,
    CitedAudit,
    CitedScore,
    CitedShare,
    citations_path,
    cite_audit,
    cite_scores,
    read_citations,
)

HERE, THERE = "a" * 16, "c" * 16
SCORE = CitedScore(
    build=HERE, config="jobs/test", model="verein/modell", revision="a" * 40, metric="ndcg_at_10", value=0.5
)
SHARE = CitedShare(pairs=10, value=0.1, low=0.0, high=0.2)
AUDIT = CitedAudit(
    sample="s",
    build=HERE,
    date="2026-01-05",
    recipe="v0",
    auditors=1,
    false_negatives=SHARE,
    false_negatives_or_related=SHARE,
    precision=SHARE,
    precision_by_query=SHARE,
    sensitivity=SHARE,
    specificity=SHARE,
)


def test_citations_of_other_rows_are_left_out() -> None:
    found = Citations(audit=AUDIT, scores=(SCORE, SCORE.model_copy(update={"build": THERE})))
    assert found.of_rows(HERE) == Citations(audit=AUDIT, scores=(SCORE,))
    assert found.of_rows(THERE) == Citations(scores=(found.scores[1],))
    assert found.of_rows("f" * 16) == Citations()


def test_audit_and_scores_come_into_one_file_and_keep_each_other(tmp_path: Path) -> None:
    path = citations_path(tmp_path, "jobs")
    assert path.name == "jobs.citations.json" and read_citations(path) == Citations()
    cite_scores(path, [SCORE])
    cite_audit(path, AUDIT)
    assert read_citations(path) == Citations(audit=AUDIT, scores=(SCORE,))
    later = AUDIT.model_copy(update={"build": THERE})
    cite_audit(path, later)
    assert read_citations(path) == Citations(audit=later, scores=(SCORE,))
    before = path.read_bytes()
    cite_scores(path, [SCORE])
    assert path.read_bytes() == before


def test_citing_again_keeps_what_was_cited_of_the_same_rows(tmp_path: Path) -> None:
    path = citations_path(tmp_path, "jobs")
    other = SCORE.model_copy(update={"model": "verein/anderes"})
    cite_scores(path, [SCORE, other])
    newer = SCORE.model_copy(update={"value": 0.6, "revision": "b" * 40})
    more = SCORE.model_copy(update={"config": "jobs/all"})
    cite_scores(path, [more, newer])
    assert read_citations(path).scores == (newer, other, more)
    moved = SCORE.model_copy(update={"build": THERE})
    cite_scores(path, [moved])
    assert read_citations(path).scores == (moved,)


def test_citing_nothing_changes_nothing(tmp_path: Path) -> None:
    path = citations_path(tmp_path, "jobs")
    cite_scores(path, [])
    assert not path.exists()
    cite_scores(path, [SCORE])
    before = path.read_bytes()
    cite_scores(path, [])
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["", "[]", '{"audit": {"sample": "x"}}', '{"scores": [{"config": 1}]}'])
def test_what_holds_no_citations_is_named(tmp_path: Path, text: str) -> None:
    path = citations_path(tmp_path, "jobs")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StorageError, match=r"jobs\.citations\.json: not citations") as caught:
        read_citations(path)
    assert "eval --cite" in caught.value.hint and "audit report" in caught.value.hint

import polars as pl
import pytest

from builders.evaluation import overlap as module
from builders.evaluation.overlap import overlap


def test_words_meet_whatever_their_case_and_punctuation() -> None:
    found = overlap(
        pl.DataFrame({"_id": ["q"], "text": ["GRÜNE Äpfel, grüne Birnen!"]}),
        pl.DataFrame({"_id": ["p"], "text": ["äpfel/birnen (grüne)"]}),
        pl.DataFrame({"query-id": ["q"], "corpus-id": ["p"]}),
        seed=1,
    )
    assert found is not None
    assert found.positive == 1.0
    assert found.positive_tenths == (0,) * 9 + (1,)
    assert sum(found.random_tenths) == 0, "the only passage is the positive"
    assert found.random is None


def test_many_queries_are_sampled_and_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMPARED_QUERIES", 20)
    queries = pl.DataFrame({
        "_id": [f"q{n:03}" for n in range(90)],
        "text": [f"wort{n} und" for n in range(90)],
    })
    passages = pl.DataFrame({"_id": [f"p{n:03}" for n in range(90)], "text": [f"wort{n}" for n in range(90)]})
    qrels = pl.DataFrame({"query-id": queries["_id"], "corpus-id": passages["_id"]})
    found = overlap(queries, passages, qrels, seed=3)
    shuffled = overlap(
        queries.sample(fraction=1, shuffle=True, seed=9), passages.reverse(), qrels.reverse(), seed=3
    )

    assert found is not None
    assert (found.queries, found.of, found.positive, found.random) == (20, 90, 0.5, 0.0)
    assert found == shuffled


def test_without_pairs_there_is_no_overlap() -> None:
    empty = pl.DataFrame(schema={"query-id": pl.String, "corpus-id": pl.String})
    texts = pl.DataFrame({"_id": ["a"], "text": ["x"]})
    assert overlap(texts, texts, empty, seed=1) is None
    assert overlap(texts, texts.clear(), empty, seed=1) is None

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import registry
from builders.errors import StorageError
from builders.evaluation import figures
from builders.evaluation.figures import clustering_figures, lengths, overlap, read_figures
from tests.evaluation.built import build_sample
from tests.evaluation.report_kit import beds, garden


def test_queries_passages_positives_and_yield_are_counted() -> None:
    found = garden()
    assert (found.splits, found.passages) == ({"train": 2, "test": 1}, 4)
    assert found.positives == {"0": 1, "1": 1, "2": 1}
    assert found.mined == {"0": 2, "5": 1}
    assert [(one.what, one.texts, one.shortest, one.longest) for one in found.lengths] == [
        ("queries", 3, 13, 22),
        ("passages", 4, 13, 29),
    ]


def test_overlap_is_the_share_of_a_querys_words() -> None:
    found = garden().overlap
    assert found is not None
    # a: wo wächst die rose → 3 of 4 in passage 1; b: wann blüht der flieder → 2 of 4 in 2, or 1 of 4 in 3
    assert found.queries == found.of == 2
    assert found.positive in {0.625, 0.5}
    assert sum(found.positive_tenths) == 2 and found.positive_tenths[7] == 1
    assert found.random <= 0.25


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


def test_many_queries_are_sampled_and_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "COMPARED_QUERIES", 20)
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


def test_sets_are_weighed_and_their_texts_counted_once() -> None:
    found = beds()
    first, second = found.sets
    assert (first.rows, first.labels, first.largest, first.rarest) == (4, 2, 0.75, 1)
    assert first.evenness == pytest.approx(0.811278)
    assert (second.largest, second.evenness) == (0.5, 1.0)
    assert [(one.what, one.texts) for one in found.lengths] == [("sentences of s2s", 4)]


def test_one_label_is_even_and_no_texts_have_no_lengths() -> None:
    one = pl.DataFrame({"sentences": [["a", "b"]], "labels": [["x", "x"]], "level": ["topic"]})
    assert clustering_figures("a", {"s2s": one}).sets[0].evenness == 1.0
    assert clustering_figures("a", {}).sets == ()
    assert lengths("nichts", pl.Series([], dtype=pl.String)) is None


@given(st.lists(st.text(max_size=150), min_size=1, max_size=60))
def test_bands_follow_each_other_and_hold_every_text(texts: list[str]) -> None:
    found = lengths("texte", pl.Series(texts, dtype=pl.String))
    assert found is not None
    assert sum(count for _, _, count in found.bands) == len(texts) == found.texts
    assert found.bands[0][0] <= found.shortest <= found.median <= found.longest <= found.bands[-1][1]
    assert all(low <= high for low, high, _ in found.bands)
    assert [high + 1 for _, high, _ in found.bands[:-1]] == [low for low, _, _ in found.bands[1:]]
    assert found.bands[0][2] > 0 and found.bands[-1][2] > 0


def test_figures_are_read_from_what_was_built(tmp_path: Path) -> None:
    built = build_sample(tmp_path, "germandpr", "blurbs")
    specs = [registry.load(name) for name in ("blurbs", "germandpr")]
    blurbs, germandpr = read_figures(tmp_path / "dist", specs)

    lock = built["blurbs"].lock
    assert lock.clustering is not None
    assert [(one.level, one.rows, one.labels) for one in blurbs.sets] == [
        (one.level, one.rows, one.labels) for one in lock.clustering.sets
    ]
    assert {one.what: one.texts for one in blurbs.lengths} == {
        f"sentences of {variant}": texts.unique for variant, texts in lock.clustering.texts.items()
    }
    assert germandpr.splits == built["germandpr"].lock.splits
    assert sum(germandpr.positives.values()) == sum(germandpr.splits.values())
    assert germandpr.overlap is not None and germandpr.overlap.positive > germandpr.overlap.random
    with pytest.raises(StorageError, match="no lock"):
        read_figures(tmp_path / "dist", [registry.load("tenkgnad")])


def test_ids_have_labels_and_no_lengths(tmp_path: Path) -> None:
    lock = build_sample(tmp_path, "subreddit")["subreddit"].lock
    (found,) = read_figures(tmp_path / "dist", [registry.load("subreddit")])

    assert lock.clustering is not None
    assert [(one.rows, one.labels) for one in found.sets] == [
        (one.rows, one.labels) for one in lock.clustering.sets
    ]
    assert (found.lengths, found.overlap) == ((), None)

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import registry
from builders.built import read_built, read_hydrated
from builders.errors import StorageError
from builders.evaluation import statistics as module
from builders.evaluation.statistics import (
    STEP,
    ConfigStatistics,
    _clustering,
    bands,
    overlap,
    read_statistics,
    tenths,
)
from builders.tables import Kind, Table, encode, inside, published_path
from tests.evaluation.built import build_sample
from tests.evaluation.report_kit import beds, garden


def read(out: Path, config: str) -> ConfigStatistics:
    return read_statistics(read_built(out, registry.load(config)))


def extent(found: ConfigStatistics) -> dict[str, tuple[int, int, int]]:
    return {what: (len(of), min(of), max(of)) for what, of in found.lengths.items()}


def test_queries_passages_positives_and_yield_are_counted() -> None:
    found = garden()
    assert (found.splits, found.passages) == ({"train": 2, "test": 1}, 4)
    assert found.positives == {"0": 1, "1": 1, "2": 1}
    assert found.mean_positives == {"train": 1.5, "test": 0.0}
    assert found.mined == {"hard_negatives": {"0": 2, "5": 1}, "hard_negatives_v0": {"0": 3}}
    assert extent(found) == {"queries": (3, 13, 22), "passages": (4, 13, 29)}


def test_overlap_is_the_share_of_a_querys_words() -> None:
    found = garden().overlap
    assert found is not None
    # a: wo wächst die rose → 3 of 4 in passage 1; b: wann blüht der flieder → 2 of 4 in 2, or 1 of 4 in 3
    assert len(found.positive) == found.of == 2
    assert found.positive.mean() in {0.625, 0.5}
    assert sum(tenths(found.positive)) == 2 and tenths(found.positive)[7] == 1
    assert max(found.random) <= 0.5


def test_sets_are_weighed_and_their_texts_counted_once() -> None:
    found = beds()
    first, second = found.sets.rows(named=True)
    assert first == {
        "level": "coarse", "rows": 4, "labels": 2, "largest": 0.75, "rarest": 1, "evenness": 0.811278,
    }  # fmt: skip
    assert (second["largest"], second["evenness"]) == (0.5, 1.0)
    assert {what: len(of) for what, of in found.lengths.items()} == {"sentences of s2s": 4}


def test_one_label_is_even_and_no_texts_have_no_lengths() -> None:
    one = pl.DataFrame({"sentences": [["a", "b"]], "labels": [["x", "x"]], "level": ["topic"]})
    assert _clustering("a", {"s2s": one}).sets["evenness"].to_list() == [1.0]
    assert _clustering("a", {"s2s": one.clear()}).lengths == {}


def test_figures_are_read_from_what_was_built(tmp_path: Path) -> None:
    built = build_sample(tmp_path, "germandpr", "blurbs")
    blurbs, germandpr = (read(tmp_path / "dist", name) for name in ("blurbs", "germandpr"))

    assert blurbs.stand_in and germandpr.stand_in
    lock = built["blurbs"]
    assert lock.clustering is not None
    assert blurbs.sets.select("level", "rows", "labels").rows() == [
        (one.level, one.rows, one.labels) for one in lock.clustering.sets
    ]
    assert {what: len(of) for what, of in blurbs.lengths.items()} == {
        f"sentences of {variant}": texts.unique for variant, texts in lock.clustering.texts.items()
    }
    assert germandpr.splits == built["germandpr"].splits
    assert sum(germandpr.positives.values()) == sum(germandpr.splits.values())
    assert germandpr.overlap is not None
    assert sum(germandpr.overlap.positive) > sum(germandpr.overlap.random)
    with pytest.raises(StorageError, match="no lock"):
        read(tmp_path / "dist", "tenkgnad")


def test_ids_have_labels_and_no_lengths(tmp_path: Path) -> None:
    lock = build_sample(tmp_path, "subreddit")["subreddit"]
    found = read(tmp_path / "dist", "subreddit")

    assert lock.clustering is not None
    assert found.sets.select("rows", "labels").rows() == [
        (one.rows, one.labels) for one in lock.clustering.sets
    ]
    assert (found.lengths, found.overlap) == ({}, None)


@pytest.mark.parametrize(("config", "kind"), [("blurbs", Kind.CLUSTERING_P2P), ("germandpr", Kind.QRELS)])
def test_figures_of_another_table_are_refused(tmp_path: Path, config: str, kind: Kind) -> None:
    out, release = tmp_path / "dist", build_sample(tmp_path, config)[config].release
    path = out / release / published_path(config, kind, "test")
    data, _ = encode(Table(config, kind, "test", inside(kind, pl.read_parquet(path).head(1))))
    path.write_bytes(data)

    with pytest.raises(StorageError, match=f"{kind}/test.parquet: not the file that was built") as caught:
        read(out, config)
    assert f"mteb-de build {config} --out {out}" in str(caught.value.hint)


def hydrated(folder: Path, *sets: list[str]) -> None:
    frame = pl.DataFrame(
        {"sentences": sets, "labels": [["a"] * len(of) for of in sets], "level": ["topic"] * len(sets)},
        schema={"sentences": pl.List(pl.String), "labels": pl.List(pl.String), "level": pl.String},
    )
    for kind in (Kind.CLUSTERING_S2S, Kind.CLUSTERING_P2P):
        path = folder / published_path("subreddit", kind, "test")
        path.parent.mkdir(parents=True)
        path.write_bytes(encode(Table("subreddit", kind, "test", frame))[0])


def test_hydrated_texts_have_lengths_without_a_build(tmp_path: Path) -> None:
    hydrated(tmp_path / "texte", ["Wie heißt der Vogel?", "Wer kocht heute"], [])
    found = read_statistics(read_hydrated(tmp_path / "texte", registry.load("subreddit")))

    assert found.sets.rows() == [("topic", 2, 1, 1.0, 2, 1.0), ("topic", 0, 0, 0.0, 0, 1.0)]
    assert extent(found) == {"sentences of s2s": (2, 15, 20), "sentences of p2p": (2, 15, 20)}


def test_texts_of_a_stand_in_are_called_so(tmp_path: Path) -> None:
    hydrated(tmp_path / "texte", ["Wie heißt der Vogel?", "Wer kocht heute"])
    for made_up in (False, True):
        texts = read_hydrated(tmp_path / "texte", registry.load("subreddit"), stand_in=made_up)
        assert read_statistics(texts).stand_in is made_up


def banded(texts: list[str]) -> list[tuple[int, int, int]]:
    lengths = pl.Series([len(text) for text in texts])
    return [(low, high, count) for (low, high), count in bands(lengths).items()]


@given(st.lists(st.text(max_size=150), min_size=1, max_size=60))
def test_bands_follow_each_other_and_hold_every_text(texts: list[str]) -> None:
    found, lengths = banded(texts), [len(text) for text in texts]
    assert sum(count for _, _, count in found) == len(texts)
    assert found[0][0] <= min(lengths) <= max(lengths) <= found[-1][1]
    assert all(low <= high for low, high, _ in found)
    assert [high + 1 for _, high, _ in found[:-1]] == [low for low, _, _ in found[1:]]
    assert found[0][2] > 0 and found[-1][2] > 0


def test_every_band_from_ten_characters_on_is_as_wide_on_an_axis_of_ratios() -> None:
    for low, high, _ in banded(["x", "x" * 3_000_000]):
        if low >= 10:
            assert (high + 1) / low == pytest.approx(STEP, rel=0.04), (low, high)
    assert sum(10 <= low < 100 for low, _, _ in banded(["x", "x" * 200])) == 10
    assert sum(1_000 <= low < 10_000 for low, _, _ in banded(["x", "x" * 20_000])) == 10


def test_the_ends_hold_the_shortest_and_the_longest() -> None:
    found = banded(["", "x" * 9_000_000])
    assert found[0] == (0, 0, 1)
    assert found[-1] == (7_943_282, 9_999_999, 1)


def test_words_meet_whatever_their_case_and_punctuation() -> None:
    found = overlap(
        pl.DataFrame({"query_id": ["q"], "text": ["GRÜNE Äpfel, grüne Birnen!"]}),
        pl.DataFrame({"passage_id": ["p"], "text": ["äpfel/birnen (grüne)"]}),
        pl.DataFrame({"query_id": ["q"], "passage_id": ["p"]}),
        seed=1,
    )
    assert found is not None
    assert found.positive.to_list() == [1.0]
    assert tenths(found.positive) == [0] * 9 + [1]
    assert found.random.is_empty(), "the only passage is the positive"


def test_many_queries_are_sampled_and_the_seed_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_COMPARED_QUERIES", 20)
    queries = pl.DataFrame({
        "query_id": [f"q{n:03}" for n in range(90)],
        "text": [f"wort{n} und" for n in range(90)],
    })
    passages = pl.DataFrame({
        "passage_id": [f"p{n:03}" for n in range(90)],
        "text": [f"wort{n}" for n in range(90)],
    })
    qrels = pl.DataFrame({"query_id": queries["query_id"], "passage_id": passages["passage_id"]})
    found = overlap(queries, passages, qrels, seed=3)
    shuffled = overlap(
        queries.sample(fraction=1, shuffle=True, seed=9), passages.reverse(), qrels.reverse(), seed=3
    )

    assert found is not None and shuffled is not None
    assert (found.positive.to_list(), found.random.to_list(), found.of) == ([0.5] * 20, [0.0] * 20, 90)
    assert found.positive.equals(shuffled.positive) and found.random.equals(shuffled.random)


def test_without_pairs_there_is_no_overlap() -> None:
    empty = pl.DataFrame(schema={"query_id": pl.String, "passage_id": pl.String})
    texts = pl.DataFrame({"query_id": ["a"], "passage_id": ["a"], "text": ["x"]})
    assert overlap(texts, texts, empty, seed=1) is None
    assert overlap(texts, texts.clear(), empty, seed=1) is None

from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.built import Built
from builders.errors import StorageError
from builders.evaluation.figures import clustering_figures, read_figures
from builders.tables import Kind, Table, encode, published_path
from tests.evaluation.built import build_sample
from tests.evaluation.report_kit import beds, garden


def texts_in(folder: Path, *, stand_in: bool = False) -> Built:
    return Built(registry.load("subreddit"), folder, None, None, {}, {}, stand_in)


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


def test_figures_are_read_from_what_was_built(tmp_path: Path) -> None:
    built = build_sample(tmp_path, "germandpr", "blurbs")
    specs = [registry.load(name) for name in ("blurbs", "germandpr")]
    blurbs, germandpr = read_figures(tmp_path / "dist", specs)

    assert blurbs.stand_in and germandpr.stand_in
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


@pytest.mark.parametrize(("config", "kind"), [("blurbs", Kind.CLUSTERING_P2P), ("germandpr", Kind.QRELS)])
def test_figures_of_another_table_are_refused(tmp_path: Path, config: str, kind: Kind) -> None:
    out, release = tmp_path / "dist", build_sample(tmp_path, config)[config].lock.release
    path = out / release / published_path(config, kind, "test")
    data, _ = encode(Table(config, kind, "test", pl.read_parquet(path).head(1)))
    path.write_bytes(data)

    with pytest.raises(StorageError, match=f"{kind}/test.parquet: not the file that was built") as caught:
        read_figures(out, [registry.load(config)])
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
    (found,) = read_figures(
        tmp_path / "dist", [registry.load("subreddit")], hydrated=texts_in(tmp_path / "texte")
    )

    assert [(one.level, one.rows, one.labels) for one in found.sets] == [("topic", 2, 1), ("topic", 0, 0)]
    assert [(one.what, one.texts, one.longest) for one in found.lengths] == [
        ("sentences of s2s", 2, 20),
        ("sentences of p2p", 2, 20),
    ]


def test_texts_of_a_stand_in_are_called_so(tmp_path: Path) -> None:
    hydrated(tmp_path / "texte", ["Wie heißt der Vogel?", "Wer kocht heute"])
    for made_up in (False, True):
        texts = texts_in(tmp_path / "texte", stand_in=made_up)
        (found,) = read_figures(tmp_path / "dist", [registry.load("subreddit")], hydrated=texts)
        assert found.stand_in is made_up


def test_hydrated_texts_are_those_of_ids_alone(tmp_path: Path) -> None:
    lock = build_sample(tmp_path, "subreddit")["subreddit"].lock
    assert lock.clustering is not None
    (found,) = read_figures(
        tmp_path / "dist", [registry.load("subreddit")], hydrated=texts_in(tmp_path / "leer")
    )
    assert (len(found.sets), found.lengths) == (len(lock.clustering.sets), ())
    with pytest.raises(StorageError, match="no lock"):
        read_figures(tmp_path / "dist", [registry.load("blurbs")], hydrated=texts_in(tmp_path / "leer"))

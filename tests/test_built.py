"""What the one reader gives of a built config and of hydrated texts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from builders import registry
from builders.built import has_texts, read_all, read_built, read_hydrated
from builders.errors import Refused, StorageError
from builders.files import write_bytes
from builders.lock.lock import read_lock, rows_id, work_folder
from builders.tables import CLUSTERING, Kind, published
from tests.checks.kit import SPEC, healthy, remove, table, write_tree
from tests.evaluation.hydrated import write_hydrated

IDS = registry.load("subreddit")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    write_tree(tmp_path, healthy())
    return tmp_path


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_hydrated(tmp_path / "texte")


def test_tables_are_read_as_they_were_written(out: Path) -> None:
    built, subject = read_built(out, SPEC), healthy()
    assert built.table(Kind.QRELS, "dev").equals(table(subject, "qrels/dev"))
    assert built.splits(Kind.CORPUS) == ("corpus",)
    assert built.splits(Kind.CLUSTERING_S2S) == ()
    assert built.stacked(Kind.QUERIES)["split"].unique(maintain_order=True).to_list() == [
        "train",
        "dev",
        "test",
    ]
    assert built.stacked(Kind.CLUSTERING_IDS).columns == ["submission_ids", "labels", "split"]
    assert built.tables().keys() == subject.tables.keys()


def test_rows_are_named_by_the_rows_on_disk(out: Path) -> None:
    lock = read_lock(work_folder(out, SPEC.name) / "lock.json")
    locked = rows_id({file.path: file.content for file in lock.files})
    assert read_built(out, SPEC).rows_id == locked
    published(Kind.QRELS, table(healthy(), "qrels/dev").head(0)).write_parquet(
        read_built(out, SPEC).path(Kind.QRELS, "dev")
    )
    assert read_built(out, SPEC).rows_id != locked


def test_another_file_than_the_built_one_is_refused_where_it_is_asked_for(out: Path) -> None:
    built = read_built(out, SPEC)
    built.verify()
    write_bytes(built.path(Kind.QRELS, "dev"), b"x")
    built.verify([Kind.CORPUS, Kind.QUERIES])
    with pytest.raises(StorageError, match=r"qrels/dev\.parquet: not the file that was built") as caught:
        built.verify([Kind.QRELS])
    assert caught.value.hint == f"Run: mteb-de build garten --out {out}"
    with pytest.raises(StorageError, match="not a parquet file"):
        built.table(Kind.QRELS, "dev")


def test_a_build_in_between_is_noticed(out: Path) -> None:
    built = read_built(out, SPEC)
    built.verify_unchanged()
    write_tree(out, remove("hard_negatives/train", "q01")(healthy()))
    with pytest.raises(Refused, match="another build has been there since"):
        built.verify_unchanged()


def test_what_lies_beside_the_lock_has_the_columns_asked_for(out: Path) -> None:
    built, pairs = read_built(out, SPEC), {"query_id": pl.String, "passage_id": pl.String}
    undecided = built.beside("undecided", pairs)
    assert undecided is not None and undecided.equals(healthy().beside["undecided"])
    assert built.beside("classes", pairs) is None
    with pytest.raises(StorageError, match="no column 'rank' of numbers"):
        built.beside("undecided", {"rank": pl.Int32})


def test_nothing_built_names_the_next_command(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="no lock there") as caught:
        read_built(tmp_path, SPEC)
    assert caught.value.hint == f"Run: mteb-de build garten --out {tmp_path}"
    with pytest.raises(StorageError, match="nothing was built there"):
        read_all(tmp_path, registry.load)


def test_hydrated_texts_are_read_as_built_tables_are(texts: Path) -> None:
    hydrated = read_hydrated(texts, IDS, not_comparable="zu wenig übrig")
    assert (hydrated.lock, hydrated.work, hydrated.not_comparable) == (None, None, "zu wenig übrig")
    assert hydrated.table(Kind.CLUSTERING_P2P, "test").height == 2
    assert hydrated.contents == hydrated.sums and len(hydrated.sums) == len(CLUSTERING)
    assert hydrated.beside("classes", {"passage_id": pl.String}) is None
    hydrated.verify_unchanged()
    write_hydrated(texts, mark="neu")
    with pytest.raises(StorageError, match="not the file that was hydrated"):
        hydrated.verify()
    with pytest.raises(Refused, match="other texts are there since"):
        hydrated.verify_unchanged()


def test_a_folder_without_one_of_the_variants_has_no_texts(texts: Path) -> None:
    assert has_texts(texts, "subreddit")
    (texts / "subreddit/clustering-p2p/test.parquet").unlink()
    assert not has_texts(texts, "subreddit")
    with pytest.raises(StorageError, match="no texts to evaluate") as caught:
        read_hydrated(texts, IDS)
    assert "mteb-de hydrate subreddit" in caught.value.hint

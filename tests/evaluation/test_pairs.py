from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders import files
from builders.built import read_built
from builders.checks.subject import Pairs
from builders.errors import StorageError
from builders.evaluation.rankings import Judged, read_judged
from builders.lock.lock import work_folder
from builders.tables import frame_bytes
from tests.checks.kit import SPEC, append, healthy, put, remove, with_table, write_tree

Read = Callable[[Pairs, str], Judged]


@pytest.fixture
def judged_of(tmp_path: Path) -> Read:
    """Read a split of a subject that is written to disk."""

    def read(subject: Pairs, split: str) -> Judged:
        out = tmp_path / str(len(list(tmp_path.iterdir())))
        write_tree(out, subject)
        return read_judged(read_built(out, SPEC), split)

    return read


def test_a_split_is_read_with_its_queries_and_the_whole_corpus(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    judged = read_judged(read_built(tmp_path, SPEC), "train")
    assert (judged.config, judged.split) == ("garten", "train")
    assert judged.queries.columns == ["query_id", "text"]
    assert judged.queries["query_id"].to_list() == [f"q{n:02}" for n in range(1, 9)]
    assert judged.corpus.columns == ["passage_id", "title", "text"]
    assert judged.corpus["passage_id"].to_list() == [f"d{n:02}" for n in range(1, 13)]
    assert judged.qrels.filter(pl.col("query_id") == "q01")["passage_id"].to_list() == ["d01", "d11"]
    assert judged.classes is None


def test_all_is_the_union_of_the_splits(judged_of: Read) -> None:
    subject = healthy()
    parts = [judged_of(subject, split) for split in ("test", "dev", "train")]
    union = judged_of(subject, "all")
    assert union.queries.equals(pl.concat([part.queries for part in parts]).sort("query_id"))
    assert union.qrels.equals(pl.concat([part.qrels for part in parts]).sort("query_id", "passage_id"))
    assert union.queries.height == 10 and union.qrels.height == 12
    assert union.corpus.equals(parts[0].corpus)


def test_what_is_encoded_is_title_and_text(judged_of: Read) -> None:
    judged = judged_of(healthy(), "dev")
    assert judged.query_texts().to_list() == ["Wann erntet man Zwiebeln?"]
    assert judged.passage_texts()[0] == "Tomaten Tomaten brauchen viel Sonne und einen Schutz vor Regen."
    assert judged.passage_texts()[2] == "Radieschen sind nach vier Wochen reif."


def test_queries_without_qrels_are_left_out(judged_of: Read) -> None:
    judged = judged_of(remove("qrels/train", "q03")(healthy()), "all")
    assert "q03" not in judged.queries["query_id"]
    assert judged.queries.height == 9


def test_a_pair_of_an_absent_passage_stays_and_one_of_an_absent_query_goes(judged_of: Read) -> None:
    planted = append("qrels/test", ("q10", "d99", 1), ("q99", "d01", 1))(healthy())
    assert judged_of(planted, "test").qrels.rows() == [("q10", "d10", 1), ("q10", "d99", 1)]


def test_rows_come_sorted_by_id(judged_of: Read) -> None:
    shuffled = healthy()
    for where in ("corpus/corpus", "queries/train", "qrels/train"):
        shuffled = put(where, lambda frame: frame.reverse())(shuffled)
    judged, expected = judged_of(shuffled, "train"), judged_of(healthy(), "train")
    assert judged.queries.equals(expected.queries)
    assert judged.corpus.equals(expected.corpus)
    assert judged.qrels.equals(expected.qrels)


def test_classes_are_read_where_the_build_kept_them(tmp_path: Path) -> None:
    write_tree(tmp_path, healthy())
    classes = pl.DataFrame({"passage_id": ["d01", "d02"], "class": ["Gemüse", "Gemüse"]})
    files.write_bytes(work_folder(tmp_path, SPEC.name) / "classes.parquet", frame_bytes("classes", classes))
    read = read_judged(read_built(tmp_path, SPEC), "test").classes
    assert read is not None and read.equals(classes)


def test_a_missing_split_and_a_missing_table_are_refused(tmp_path: Path, judged_of: Read) -> None:
    with pytest.raises(StorageError, match="garten-qrels: there is no dev split"):
        judged_of(with_table(healthy(), "qrels/dev", None), "all")
    with pytest.raises(StorageError):
        read_judged(read_built(tmp_path, SPEC), "test")

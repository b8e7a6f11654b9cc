from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from builders import registry
from builders.configs.blurbs import CONFIG, compose, read
from builders.errors import SourceError, SourceMissing
from builders.prepare.documents import prepare_documents
from builders.spec import Waiver
from tests.fixtures.clustering import book, write_books

OBST, GEMUESE, BLUMEN = ("Garten", "Obst"), ("Garten", "Gemüse"), ("Garten", "Blumen")
KRIMI = ("Romane", "Krimi")


def composed(folder: Path, *texts: str) -> dict[str, dict[str, object]]:
    rows = compose(read(write_books(folder, *texts)).rows).to_dicts()
    return {row.pop("upstream_id"): row for row in rows}


def test_all_three_files_are_read_as_one(tmp_path: Path) -> None:
    documents = read(write_books(tmp_path, book("1"), book("2"), book("3")))
    assert documents.rows["upstream_id"].to_list() == ["1", "2", "3"]
    assert documents.malformed.is_empty()


def test_the_fine_label_is_the_rarer_topic_over_all_files(tmp_path: Path) -> None:
    both = [OBST, GEMUESE]
    found = composed(tmp_path, book("1", paths=both), book("2", paths=[OBST]), book("3", paths=[GEMUESE]))
    assert found["1"]["topic"] == "Gemüse"  # equally rare: the first by name
    found = composed(tmp_path, book("1", paths=both), book("2", paths=[GEMUESE]), book("3", paths=[KRIMI]))
    assert found["1"]["topic"] == "Obst"


def test_rare_is_what_stands_in_few_categories_whether_its_books_are_kept_or_not(tmp_path: Path) -> None:
    apfel, zwiebel = ("Garten", "Apfel"), ("Garten", "Zwiebel")
    many = book("2", paths=[(*apfel, "Boskoop"), (*apfel, "Elstar"), KRIMI])
    found = composed(tmp_path, book("1", paths=[apfel, zwiebel]), many, book("3", paths=[zwiebel]))
    assert found["2"]["reason"] == "several_genres"
    # Each stands in two books, but Apfel in three categories.
    assert found["1"]["topic"] == "Zwiebel"


@pytest.mark.parametrize(
    ("paths", "reason"),
    [
        ([OBST], None),
        ([OBST, OBST, GEMUESE], None),
        ([OBST, GEMUESE, BLUMEN], "many_topics"),
        ([("Garten",)], "no_topic"),
        ([OBST, KRIMI], "several_genres"),
        ([], "no_genre"),
    ],
)
def test_one_genre_and_one_or_two_topics(
    paths: list[tuple[str, ...]], reason: str | None, tmp_path: Path
) -> None:
    row = composed(tmp_path, book("1", paths=paths))["1"]
    assert row["reason"] == reason
    if reason is None:
        assert row["genre"] == "Garten"


def test_every_book_is_accounted_for(tmp_path: Path) -> None:
    texts = [
        book("1"), book("2", title=" \xad "), book("3", body=""), book("4", paths=[]),
        book("5", paths=[OBST, KRIMI]), book("6", body="Mehr bei buch@verlag.example &amp;amp; Co."),
    ]  # fmt: skip
    prepared = prepare_documents(CONFIG, read(write_books(tmp_path, "\n".join(texts))))
    assert prepared.funnel.dropped == {"no_genre": 1, "no_text": 1, "no_title": 1, "several_genres": 1}
    assert (prepared.funnel.read, prepared.funnel.out) == (6, 2)
    assert prepared.dropped.rows() == [
        ("documents", "4", "upstream", "no_genre"), ("documents", "3", "upstream", "no_text"),
        ("documents", "2", "upstream", "no_title"), ("documents", "5", "upstream", "several_genres"),
    ]  # fmt: skip
    assert prepared.documents.filter(upstream_id="6")["p2p"].item() == "Titel Mehr bei <EMAIL> &amp; Co."
    assert prepared.personal["documents"].kinds == {"email": 1}


def test_books_with_one_isbn_are_all_malformed(tmp_path: Path) -> None:
    documents = read(write_books(tmp_path, book("1"), book("2"), book("1", "Ein anderes")))
    assert documents.rows["upstream_id"].to_list() == ["2"]
    assert documents.malformed.rows() == [
        ("blurbs_train.txt:1", "ISBN 1 stands there twice"),
        ("blurbs_test.txt:1", "ISBN 1 stands there twice"),
    ]


def test_the_order_of_books_and_files_changes_nothing(tmp_path: Path) -> None:
    rng = random.Random(7)
    paths = [[OBST], [GEMUESE], [OBST, GEMUESE], [BLUMEN, OBST], [KRIMI]]
    texts = [book(str(number), f"Titel {number}", paths=rng.choice(paths)) for number in range(60)]
    frames = []
    for name in ("eins", "zwei"):
        parts = ["\n".join(texts[start::3]) for start in range(3)]
        frames.append(prepare_documents(CONFIG, read(write_books(tmp_path / name, *parts))))
        rng.shuffle(texts)
    assert frames[0].documents.equals(frames[1].documents)
    assert frames[0].dropped.equals(frames[1].dropped)


def test_a_missing_file_of_the_archive(tmp_path: Path) -> None:
    files = write_books(tmp_path, book("1"))
    path = files[next(iter(files))][0]
    path.write_bytes(path.read_bytes().replace(b"blurbs_dev.txt", b"blurbs_neu.txt"))
    with pytest.raises(SourceMissing, match=r"0 members called 'blurbs_dev\.txt'"):
        read(files)


def test_an_archive_without_books_has_no_documents(tmp_path: Path) -> None:
    documents = read(write_books(tmp_path))
    assert documents.rows.is_empty()
    assert prepare_documents(CONFIG, documents).funnel.out == 0


def test_malformed_books_stop_the_build_unless_they_are_waived(tmp_path: Path) -> None:
    documents = read(write_books(tmp_path, book("1"), f"{book('2')}\nRest\nRest"))
    with pytest.raises(SourceError, match="that cannot be read: 2, waived 0") as error:
        prepare_documents(CONFIG, documents)
    assert "blurbs_dev.txt:14: text outside of a book" in error.value.message
    assert "row-malformed" in error.value.hint
    for most, stops in ((1, True), (2, False)):
        spec = replace(CONFIG, waivers=(Waiver("row-malformed", "two stray lines", at_most=most),))
        if stops:
            with pytest.raises(SourceError, match="waived 1"):
                prepare_documents(spec, documents)
        else:
            prepared = prepare_documents(spec, documents)
            assert prepared.funnel.dropped == {"malformed": 2}
            assert (prepared.funnel.read, prepared.funnel.out) == (4, 2)
            assert prepared.dropped["id"].to_list() == ["blurbs_dev.txt:14", "blurbs_dev.txt:15"]
            assert prepared.dropped["space"].to_list() == ["place", "place"]


def test_the_config_is_registered() -> None:
    assert registry.load("blurbs") is CONFIG

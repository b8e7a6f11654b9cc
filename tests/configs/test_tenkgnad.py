from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from builders import registry
from builders.configs.tenkgnad import CONFIG, DATABASE, compose, read
from builders.errors import SourceError, SourceSchema
from builders.prepare.documents import prepare_documents
from builders.spec import Waiver
from builders.text.normalise import normalise_frame
from tests.fixtures.clustering import Article, page, write_articles


def text_of(folder: Path, body: str | None) -> str | None:
    rows = read(write_articles(folder, [(1, "Newsroom/Web/Netz", "Titel", body)])).rows
    text = compose(normalise_frame(rows, keep=["upstream_id", "path"]))["text"].item()
    assert text is None or isinstance(text, str)
    return text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (page("Erster.", "Zweiter."), "Erster. Zweiter."),
        (page("Text.", description="Kurz gesagt"), "Kurz gesagt. Text."),
        (page("Text.", description="Schon zu Ende!"), "Schon zu Ende! Text."),
        (page("Text.", description="  "), "Text."),
        (page(description="Nur die Beschreibung"), "Nur die Beschreibung."),
        (page("Er sagte &quot;ja&quot; und 'nein'.", " "), "Er sagte ja und nein."),
        (page("1 &amp;lt; 2", "a\n\n b"), "1 &lt; 2 a b"),
        (page(description='„Wörtlich“ &amp; "gerade"'), '„Wörtlich“ & "gerade".'),
        ("<p>außerhalb</p>", None),
        (page(), None),
        ("", None),
        (None, None),
    ],
)
def test_the_text_is_description_and_paragraphs(body: str | None, text: str | None, tmp_path: Path) -> None:
    assert text_of(tmp_path, body) == text


@pytest.mark.parametrize(
    ("end", "left"),
    [
        ("Ende. (APA, 7.3.2016)", "Ende."),
        ("Ende. (Anna Beispiel, Ole Muster, 17.11.2015)", "Ende."),
        ("Ende. (red, DER KURIER, 1.1.21015)", "Ende."),
        ("Ende. (siehe oben) Schluss. (APA, 7.3.2016)", "Ende."),
        ("Ende. (APA, 7.3.2016) Nachsatz", "Ende. Nachsatz"),
        ("Ende? (APA, 7.3.2016)", "Ende? (APA, 7.3.2016)"),
        ("Ende. (APA 7.3.2016)", "Ende. (APA 7.3.2016)"),
        ("Ende. (kein Tag, kein Jahr)", "Ende. (kein Tag, kein Jahr)"),
        (
            "Ende. (APA, 7.3.2016) " + "und noch viel mehr " * 3,
            "Ende. (APA, 7.3.2016) " + "und noch viel mehr " * 3,
        ),
    ],
)
def test_names_and_date_at_the_end_go_as_in_10kgnad(end: str, left: str, tmp_path: Path) -> None:
    assert text_of(tmp_path, page("Ein langer Anfang steht davor und bleibt.", end)) == (
        f"Ein langer Anfang steht davor und bleibt. {left}".strip()
    )


def test_the_tail_may_be_a_paragraph_of_its_own(tmp_path: Path) -> None:
    assert text_of(tmp_path, page("Der letzte Satz.", "(red, 1.2.2016)")) == "Der letzte Satz."


ARTICLES: list[Article] = [
    (11, "Newsroom/Web/Netz", "Elf", page("Text.")),
    (12, "Newsroom/Sport/Fussball/Liga", "Zwölf", page("Text.")),
    (13, "Newsroom/User/Kommentar", "Kein Artikel", page("Text.")),
    (14, "Newsroom/Userkommentare", "Auch keiner", page("Text.")),
    (15, "Diskurs/Blogs", "Blog", page("Text.")),
    (16, "Newsroom", "Kein Teil dahinter", page("Text.")),
    (17, None, "Ohne Pfad", page("Text.")),
    (18, "Newsroom/", "Ohne Ressort", page("Text.")),
    (19, "Newsroom/Web", None, page("Text.")),
    (20, "Newsroom/Web", " ", page("Text.")),
    (21, "Newsroom/Sport", "Ohne Text", "<div></div>"),
    (9, "newsroom/Sport", "Klein geschrieben", page("Text.")),
]


def test_every_page_is_accounted_for(tmp_path: Path) -> None:
    prepared = prepare_documents(CONFIG, read(write_articles(tmp_path, ARTICLES)))
    assert prepared.funnel.dropped == {
        "no_section": 1, "no_text": 1, "no_title": 2, "not_newsroom": 3, "user_page": 2,
    }  # fmt: skip
    assert (prepared.funnel.read, prepared.funnel.out) == (12, 3)
    columns = ("upstream_id", "section", "s2s", "p2p")
    assert prepared.documents.select(columns).rows() == [
        ("12", "Sport", "Zwölf", "Zwölf Text."),
        ("11", "Web", "Elf", "Elf Text."),
        ("9", "Sport", "Klein geschrieben", "Klein geschrieben Text."),
    ]
    assert set(prepared.dropped.filter(reason="user_page")["id"]) == {"13", "14"}


def test_the_order_of_rows_changes_nothing(tmp_path: Path) -> None:
    shuffled = random.Random(3).sample(ARTICLES, len(ARTICLES))
    frames = [
        prepare_documents(CONFIG, read(write_articles(tmp_path / name, rows)))
        for name, rows in {"eins": ARTICLES, "zwei": shuffled}.items()
    ]
    assert frames[0].documents.equals(frames[1].documents)
    assert frames[0].dropped.equals(frames[1].dropped)


def test_another_layout_is_told(tmp_path: Path) -> None:
    files = write_articles(tmp_path, ARTICLES)
    (path,) = files["corpus.sqlite3"]
    path.write_bytes(path.read_bytes().replace(b"Articles", b"Beitraeg"))
    with pytest.raises(SourceSchema, match="no table 'Articles'"):
        read(files)


def test_the_config_is_registered() -> None:
    assert registry.load("tenkgnad") is CONFIG


def test_an_article_that_is_no_utf8_is_one_malformed_row(tmp_path: Path) -> None:
    files = write_articles(tmp_path, [(n, "Newsroom/Web/Netz", "Titel", page("Text.")) for n in range(1, 5)])
    (path,) = files[DATABASE]
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE Articles SET Title = CAST(X'4772FC6E' AS TEXT) WHERE ID_Article = 3")
        database.commit()
    with pytest.raises(SourceError, match=r"corpus\.sqlite3, table 'Articles', ID_Article 3: column 'Title'"):
        prepare_documents(CONFIG, read(files))
    waived = replace(CONFIG, waivers=(Waiver("row-malformed", "one title in Latin-1", at_most=1),))
    prepared = prepare_documents(waived, read(files))
    assert prepared.funnel.read == 4
    assert prepared.dropped.filter(reason="malformed")["id"].to_list() == [
        "corpus.sqlite3, table 'Articles', ID_Article 3"
    ]

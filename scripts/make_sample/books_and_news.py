"""Made-up books and news articles in the upstreams' own formats, with the faults that the real ones have."""

from __future__ import annotations

import csv
import html
import io
import random
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from builders import files
from builders.configs.blurbs import ARCHIVE, MEMBERS
from builders.configs.tenkgnad import DATABASE

BOOKS_PER_TOPIC, ARTICLES_PER_SECTION = 10, 10
_SEED = 1
_MADE = (2026, 1, 1, 0, 0, 0)
_SENTENCES = (3, 5)
_SLOTS = {
    "name": ("Hanna", "Jonas", "Leyla", "Friedrich", "Malin", "Ole", "Ruth", "Emre", "Klara", "Anton"),
    "ort": ("Lindau", "Görlitz", "Husum", "Steyr", "Bregenz", "Wismar", "Fulda", "Krems", "Passau", "Jena"),
    "land": ("Nordland", "Südmark", "Inselreich", "Hochstein"),
    "firma": ("Muster & Söhne", "Beispielwerk", "Probebau", "Nordlicht"),
    "ding": ("Fernruf", "Blattwerk", "Taktgeber", "Merkzettel"),
    "zahl": ("2", "3", "4", "7", "9", "12"),
    "tag": ("Montag", "Dienstag", "Mittwoch", "Freitag"),
}
_BOOK_TITLES = (
    "",
    " – Band {zahl}",
    ". Ein Buch aus {ort}",
    ". Aufgeschrieben von {name}",
    ": {zahl} Kapitel",
)
_NEWS_TITLES = (
    "",
    " – Bilanz am {tag}",
    ": Reaktionen aus {ort}",
    ", Entscheidung am {tag}",
    " vor {zahl} Zeugen",
)


class Pieces(NamedTuple):
    """What texts of one label are made of."""

    parent: str
    label: str
    titles: tuple[str, ...]
    sentences: tuple[str, ...]


def make(folder: Path) -> None:
    """Write the archive of books and the database of articles into a folder.

    Raises:
        StorageError: The folder cannot be written.
    """
    files.write_bytes(folder / ARCHIVE, archive(books(random.Random(_SEED))))
    files.write_bytes(folder / DATABASE, database(articles(random.Random(_SEED))))


def archive(texts: list[str]) -> bytes:
    """Return the zip archive of books, dealt to its three files; equal books give equal bytes."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as target:
        for number, name in enumerate(MEMBERS):
            member = zipfile.ZipInfo(name, _MADE)
            member.compress_type = zipfile.ZIP_DEFLATED
            target.writestr(member, "\n\n".join(texts[number :: len(MEMBERS)]) + "\n")
    return sink.getvalue()


def database(rows: list[tuple[int, str, str | None, str]]) -> bytes:
    """Return the SQLite database of articles: number, path, title, HTML."""
    with closing(sqlite3.connect(":memory:")) as target:
        target.execute(
            "CREATE TABLE Articles "
            "(ID_Article INTEGER PRIMARY KEY, Path TEXT, publishingDate TEXT, Title TEXT, Body TEXT)"
        )
        dated = [(number, path, "2016-03-01", title, body) for number, path, title, body in rows]
        target.executemany("INSERT INTO Articles VALUES (?, ?, ?, ?, ?)", dated)
        target.commit()
        return target.serialize()


def books(rng: random.Random) -> list[str]:
    """Return books in the format of GermEval 2019, some of which no set can hold.

    Args:
        rng: Decides everything; the same state gives the same books.
    """
    kinds = [pieces for pieces in _pieces("book") for _ in range(BOOKS_PER_TOPIC)]
    made = [_book(number, pieces, kinds, rng) for number, pieces in enumerate(kinds)]
    rng.shuffle(made)
    return made


def articles(rng: random.Random) -> list[tuple[int, str, str | None, str]]:
    """Return articles as number, path, title and HTML, and pages that are no articles.

    Args:
        rng: Decides everything; the same state gives the same articles.
    """
    kinds = [pieces for pieces in _pieces("article") for _ in range(ARTICLES_PER_SECTION)]
    made: list[tuple[int, str, str | None, str]] = [
        (
            number,
            f"Newsroom/{pieces.label}/{pieces.label}-Meldungen",
            _filled(rng.choice(pieces.titles) + rng.choice(_NEWS_TITLES), rng),
            _page(pieces, rng),
        )
        for number, pieces in enumerate(kinds, 1)
    ]
    note = '<div class="copytext"><p>Was meint ihr dazu?</p></div>'
    made += [
        (901, "Newsroom/User/Kommentare", "Forum", note),
        (902, "Diskurs/Blogs/Garten", "Ein Blog", note),
        (903, "Newsroom/Sport/Ergebnisse", "Nur eine Tabelle", "<table><tr><td>3:1</td></tr></table>"),
        (904, "Newsroom/Web/Kurz", None, note),
    ]
    return made


def _pieces(source: str) -> tuple[Pieces, ...]:
    text = (Path(__file__).parent / "texts.tsv").read_text(encoding="utf-8")
    rows = [row for row in csv.DictReader(text.splitlines(), delimiter="\t") if row["source"] == source]

    def of(label: str, part: str) -> tuple[str, ...]:
        return tuple(row["text"] for row in rows if (row["label"], row["part"]) == (label, part))

    labels = dict.fromkeys((row["parent"], row["label"]) for row in rows)
    return tuple(Pieces(parent, label, of(label, "title"), of(label, "sentence")) for parent, label in labels)


def _filled(template: str, rng: random.Random) -> str:
    return template.format_map({name: rng.choice(values) for name, values in _SLOTS.items()})


def _sentences(pieces: Pieces, rng: random.Random) -> list[str]:
    return [_filled(piece, rng) for piece in rng.sample(pieces.sentences, rng.randint(*_SENTENCES))]


_FAULTS: tuple[tuple[int, Callable[[str, str], tuple[str, str]]], ...] = (
    (40, lambda title, body: (title, body)),
    (3, lambda title, body: (title, body.replace("ie", "i\N{SOFT HYPHEN}e", 1))),
    (3, lambda title, body: (title, f"{body} Mehr unter https://verlag.example/buch?a=1&b=2")),
    (2, lambda title, body: (f"  {title} ", body.replace(" ", "  "))),
    (1, lambda _, body: ("", body)),
    (1, lambda title, _: (title, "")),
)


def _book(number: int, pieces: Pieces, kinds: list[Pieces], rng: random.Random) -> str:
    (fault,) = rng.choices([change for _, change in _FAULTS], [weight for weight, _ in _FAULTS])
    title = _filled(rng.choice(pieces.titles) + rng.choice(_BOOK_TITLES), rng)
    title, body = fault(title, " ".join(_sentences(pieces, rng)))
    paths = _paths(pieces, kinds, rng)
    lines = [
        '<book date="2026-01-01" xml:lang="de">',
        f"<title>{title}</title>",
        f"<body>{body}</body>",
        "<copyright>(c) Verlag Beispiel</copyright>",
        "<categories>",
        *(line for path in paths for line in _category(path)),
        "</categories>",
        f"<authors>{_filled('{name} Beispiel', rng)}</authors>",
        "<published>2025-05-05</published>",
        f"<isbn>9780000{number:06}</isbn>",
        f"<url>https://verlag.example/{number}%0A</url>",
        "</book>",
    ]
    return "\n".join(lines)


def _paths(pieces: Pieces, kinds: list[Pieces], rng: random.Random) -> list[tuple[str, ...]]:
    """Return the categories: a second topic is fine; a second genre, a third topic, or none is not."""
    own, roll = (pieces.parent, pieces.label), rng.random()
    if roll < 0.10:
        siblings = [other for other in kinds if other.parent == pieces.parent and other != pieces]
        return [own, (pieces.parent, rng.choice(siblings).label)]
    if roll < 0.14:
        other = rng.choice([other for other in kinds if other.parent != pieces.parent])
        return [own, (other.parent, other.label)]
    if roll < 0.17:
        return [own, (pieces.parent, "Reihe A"), (pieces.parent, "Reihe B")]
    return [own[:1]] if roll < 0.19 else [own]


def _category(path: tuple[str, ...]) -> Iterator[str]:
    yield "<category>"
    for level, topic in enumerate(path):
        leaf = ' label="True"' if level == len(path) - 1 else ""
        yield f'<topic d="{level}"{leaf}>{topic}</topic>'
    yield "</category>"


def _page(pieces: Pieces, rng: random.Random) -> str:
    lead, *rest = (html.escape(sentence) for sentence in _sentences(pieces, rng))
    paragraphs = "".join(f"<p>{sentence}</p>" for sentence in rest)
    who = rng.choice(("APA", "red", "APA, red", _filled("{name} Beispiel", rng)))
    tail = f"<p>({who}, {rng.randint(1, 28)}.3.2016)</p>"
    return (
        f'<h2 class="lead" itemprop="description">{lead}</h2>'
        f'<div class="copytext"><!-- text -->{paragraphs}{tail}</div><div class="foot"><p>Werbung</p></div>'
    )

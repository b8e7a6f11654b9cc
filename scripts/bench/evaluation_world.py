"""Clustering configs of the real size with invented texts and given vectors, as the folder of a release."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders import registry
from builders.files import write_bytes
from builders.lock.lock import PublishedFile
from builders.prepare.sets import DrawnSet, draw, fill
from builders.spec import Clustering
from builders.tables import CLUSTERING, Table, config_name, encode

DIMENSIONS = 384
SEED = 42
_WORDS = (
    "Abend Bahnhof Brücke Dampfer Ernte Fenster Garten Gewitter Hafen Heimat Insel Kammer Laterne "
    "Markt Mühle Nachbarin Ofen Papier Quelle Reise Schatten Straße Tante Ufer Vogel Werkstatt "
    "Winter Zeitung alt blau erzählt findet fremd geht gestern hell heute kommt leise oft sieht über "
    "und unter verliert wieder zwischen"
).split()
_APART = 3.5
"""How far the centres of labels lie apart, in standard deviations of one coordinate around them."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A dataset's size.

    Attributes:
        documents: How many.
        unique: Distinct texts by variant.
        characters: Of a text, in the mean, by variant.
        topics: Labels of documents.
        genres: Coarser labels.
        uneven: Topic number n has a share of documents that falls as 1 / n to this power.
    """

    documents: int
    unique: dict[str, int]
    characters: dict[str, float]
    topics: int
    genres: int
    uneven: float


@dataclass(frozen=True, slots=True)
class Subject:
    """A config that is measured.

    Attributes:
        config: As published.
        path: Of its file.
        file: What a lock says of it.
        texts: Its distinct texts, in no order.
        vectors: Theirs, float32 of shape (texts, `DIMENSIONS`), of length 1.
        rows: Of all sets together.
        sets: How many there are.
    """

    config: str
    path: Path
    file: PublishedFile
    texts: pl.Series
    vectors: NDArray[np.float32]
    rows: int
    sets: int


SUBREDDITS = Shape(
    documents=40_759,
    unique={"s2s": 40_181, "p2p": 40_305},
    characters={"s2s": 60.0, "p2p": 450.0},
    topics=80,
    genres=1,
    uneven=0.0,
)
"""As the README of ClimSocAna/tecb-de has it, sets of 9,288 to 26,221 included. Lengths are
a guess, as the texts are not published."""


def make(folder: Path, scale: float) -> list[Subject]:
    """Write the tables of six configs as a release, and return what they hold.

    Args:
        folder: Where to write.
        scale: Share of the real number of documents.
    """
    subjects = []
    for name in ("blurbs", "tenkgnad", "subreddit"):
        shape = shape_of(name)
        size = max(200, round(scale * shape.documents))
        documents = labelled(shape, size)
        drawn = drawn_sets(name, documents)
        for variant, kind in CLUSTERING.items():
            unique = min(size - 1, round(shape.unique[variant] * size / shape.documents))
            texts = _texts(f"{name} {variant}", unique, shape.characters[variant])
            filled = fill(documents.with_columns(text=_repeated(texts, size)), drawn, "text")
            table = Table(name, kind, "test", filled)
            data, file = encode(table)
            write_bytes(folder / table.path, data)
            subjects.append(
                Subject(
                    config=config_name(name, kind),
                    path=folder / table.path,
                    file=file,
                    texts=texts,
                    vectors=_vectors(documents["topic"].head(unique), variant),
                    rows=sum(len(one.rows) for one in drawn),
                    sets=len(drawn),
                )
            )
    return subjects


def shape_of(name: str) -> Shape:
    """Return the real size of a dataset, by its builder's name."""
    if name == "subreddit":
        return SUBREDDITS
    published = _spec(name).published
    assert published is not None
    return Shape(
        documents=published.documents,
        unique={variant: figures.unique for variant, figures in published.texts.items()},
        characters={variant: figures.mean for variant, figures in published.texts.items()},
        topics=93 if name == "blurbs" else 9,
        genres=8,
        uneven=0.8 if name == "blurbs" else 0.2,
    )


def _spec(name: str) -> Clustering:
    spec = registry.load(name)
    assert isinstance(spec, Clustering)
    return spec


def labelled(shape: Shape, size: int) -> pl.DataFrame:
    """Return labels of documents: every topic has one at least, the first many, as in the original."""
    rng = np.random.default_rng(SEED)
    share = 1 / np.arange(1, shape.topics + 1) ** shape.uneven
    topics = rng.choice(shape.topics, size, p=share / share.sum())
    topics[: shape.topics] = np.arange(shape.topics)
    names = {"topic": [f"t{topic:02}" for topic in topics], "genre": [f"g{t % shape.genres}" for t in topics]}
    return pl.DataFrame(names).with_columns(section="topic")


def drawn_sets(name: str, documents: pl.DataFrame) -> list[DrawnSet]:
    """Return the sets of a dataset; those of subreddits hold all documents of some topics."""
    if name != "subreddit":
        return draw(documents, _spec(name).sets, seed=SEED)
    rng = random.Random(SEED)
    groups = documents.with_row_index("row").group_by("topic", maintain_order=True).agg("row")
    members: dict[str, list[int]] = dict(groups.iter_rows())
    drawn = []
    for _ in range(10):
        count, topics = rng.randint(10, 50), sorted(members)
        rng.shuffle(topics)
        rows = [row for topic in topics[:count] for row in members[topic]]
        drawn.append(DrawnSet("subreddit", "topic", tuple(rng.sample(rows, len(rows)))))
    return drawn


def _texts(name: str, count: int, characters: float) -> pl.Series:
    """Return distinct texts of half to one and a half times so many characters."""
    rng = random.Random(f"{SEED}:{name}")
    texts = []
    for number in range(count):
        wanted = max(len(str(number)) + 2, round(characters * rng.uniform(0.5, 1.5)))
        words = rng.choices(_WORDS, k=wanted // 6 + 1)
        texts.append(f"{number} {' '.join(words)}"[:wanted].rstrip() + ".")
    return pl.Series(texts)


def _repeated(texts: pl.Series, size: int) -> pl.Series:
    return texts[[row % len(texts) for row in range(size)]]


def _vectors(topics: pl.Series, variant: str) -> NDArray[np.float32]:
    rng = np.random.default_rng([SEED, len(variant), ord(variant[0])])
    codes = topics.rank("dense").to_numpy() - 1
    centres = rng.standard_normal((codes.max() + 1, DIMENSIONS)) * _APART / DIMENSIONS**0.5
    vectors = centres[codes] + rng.standard_normal((len(codes), DIMENSIONS))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

"""Scores of the offline encoder on real German data lie where they were measured."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.encoders.offline import OfflineE5
from builders.encoders.protocol import Role
from builders.evaluation.clustering import score_sets
from builders.evaluation.model import EncoderFacts
from builders.evaluation.pairs import Judged
from builders.evaluation.retrieval import score_run, search
from tests.mteb_kit import Vectors

pytestmark = pytest.mark.data
FACTS = EncoderFacts(name="offline", kind="dense")
_DEFAULT = Path(__file__).parents[2] / "../shared/data"


def data(path: str) -> Path:
    """Return a file of the real data: below `MTEB_DE_DATA`, else in the folder beside the checkout."""
    root = Path(os.environ.get("MTEB_DE_DATA", str(_DEFAULT)))
    if not root.is_dir():
        pytest.skip(f"no data at {root}")
    return root / path


def xquad(contexts: int) -> Judged:
    """The first contexts of XQuAD in German, and all questions on them."""
    articles = json.loads(data("qa/xquad.de.json").read_text(encoding="utf-8"))["data"]
    paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]][:contexts]
    asked = [(f"d{n:03}", qa["id"], qa["question"]) for n, one in enumerate(paragraphs) for qa in one["qas"]]
    corpus = pl.DataFrame({
        "_id": [f"d{n:03}" for n in range(len(paragraphs))],
        "title": "",
        "text": [one["context"].strip() for one in paragraphs],
    })
    rows = pl.DataFrame(asked, schema=["corpus-id", "query-id", "text"], orient="row").sort("query-id")
    return Judged(
        config="xquad",
        split="all",
        queries=rows.select(_id="query-id", text="text"),
        corpus=corpus,
        qrels=rows.select("query-id", "corpus-id", score=pl.lit(1, dtype=pl.Int32)),
    )


def news(rows: int, characters: int) -> pl.DataFrame:
    """Articles of the test part of 10kGNAD, in its order: text and section."""
    with data("clustering/10kgnad_test.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.reader(file, delimiter=";", quotechar="'"))[:rows]
    return pl.DataFrame({
        "text": [text[:characters] for _, text in read],
        "label": [label for label, _ in read],
    })


def books(rows: int, characters: int) -> pl.DataFrame:
    """Books of the dev part of GermEval 2019 with one genre, in its order: title and blurb, and the genre."""
    with gzip.open(data("clustering/blurbs_dev_labelled.txt.gz"), "rt", encoding="utf-8") as file:
        whole = file.read()
    found = []
    for book in whole.split("<book ")[1:]:
        genres = set(re.findall(r'<topic d="0"[^>]{0,40}>([^<]{1,80})</topic>', book))
        title, body = (re.search(f"<{tag}>([^<]*)</{tag}>", book) for tag in ("title", "body"))
        if len(genres) == 1 and title and body:
            found.append((f"{title[1]}\n{body[1]}"[:characters], genres.pop()))
    return pl.DataFrame(found[:rows], schema=["text", "label"], orient="row")


@pytest.fixture(scope="module")
def encoder() -> Iterator[OfflineE5]:
    made = OfflineE5()
    yield made
    made.close()


def encode(encoder: OfflineE5, texts: pl.Series, role: Role) -> Vectors:
    return encoder.encode(encoder.truncate(texts.to_list(), role), role)


def ndcg(judged: Judged, queries: Vectors, passages: Vectors) -> float:
    return (
        score_run(judged, search(judged, queries, passages), FACTS, resamples=10).scores["ndcg_at_10"].value
    )


def v_measure(rows: pl.DataFrame, vectors: Vectors) -> float:
    """Return the mean over five seeds, as it was measured."""
    sets = pl.DataFrame({
        "sentences": [rows["text"].to_list()], "labels": [rows["label"].to_list()], "level": ["topic"],
    })  # fmt: skip
    runs = [
        score_sets(sets, rows["text"], vectors, FACTS, config="real", seed=seed).v_measure
        for seed in range(5)
    ]
    return float(np.mean(runs))


XQUAD = (0.9587, 0.9667)
"""Measured .96265. Two questions that fall from rank 1 to 2 leave it; so does a wrong prefix."""
NEWS = (0.378, 0.438)
BOOKS = (0.215, 0.275)
"""Measured .4076 and .2449; noise of 1e-6 in the vectors moves neither, random labels reach .13 and .09."""


def within(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]


def test_retrieval_on_xquad(encoder: OfflineE5) -> None:
    """On 240 contexts and 500 questions the same code gives .9485; on the first 80 contexts, more."""
    judged = every_third(xquad(80))
    assert (judged.queries.height, judged.corpus.height) == (142, 80)
    queries = encode(encoder, judged.query_texts(), "query")
    passages = encode(encoder, judged.passage_texts(), "passage")
    assert within(ndcg(judged, queries, passages), XQUAD)
    as_passages = encode(encoder, judged.query_texts(), "passage")
    assert not within(ndcg(judged, as_passages, passages), XQUAD), "a wrong prefix must be noticed"
    assert ndcg(judged, queries, np.roll(passages, 1, axis=0)) < 0.5, "moved rows must be noticed"


@pytest.mark.parametrize(("read", "ends"), [(news, NEWS), (books, BOOKS)], ids=["10kGNAD", "blurbs"])
def test_clustering(
    encoder: OfflineE5, read: Callable[[int, int], pl.DataFrame], ends: tuple[float, float]
) -> None:
    """The first 140 rows, cut to 300 characters, clustered as mteb does.

    On 450 rows of 1,200 characters the same code gives .396 and .284; on 50 articles of each of the nine
    sections .425, where full k-means gives .465.
    """
    rows = read(140, 300)
    assert rows.height == rows["text"].n_unique() == 140
    vectors = encode(encoder, rows["text"], "query")
    assert within(v_measure(rows, vectors), ends)
    assert v_measure(rows, np.roll(vectors, 1, axis=0)) < ends[0], "moved rows must be noticed"


def every_third(judged: Judged) -> Judged:
    queries = judged.queries.gather_every(3)
    qrels = judged.qrels.join(queries, left_on="query-id", right_on="_id", how="semi")
    return replace(judged, queries=queries, qrels=qrels)

"""Scores of the offline encoder on real German data lie where they were measured.

The tests encode a small part, so that they are quick; `scripts.bench.real_data` is one run at the sizes at
which others measured .948 (XQuAD), .471 (10kGNAD) and .347 (blurbs), and its results are held against these.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.encoders.offline import OfflineE5
from builders.encoders.protocol import Role
from scripts.bench import real_data
from scripts.bench.real_data import FIVE, Vectors, books, by_mteb, even, every, ndcg, news, xquad

_DEFAULT = Path(__file__).parents[2] / "../shared/data"


@pytest.fixture(scope="module")
def data() -> Path:
    """The real data: `MTEB_DE_DATA`, else the folder beside the checkout."""
    root = Path(os.environ.get("MTEB_DE_DATA", str(_DEFAULT)))
    if not root.is_dir():
        pytest.skip(f"no data at {root}")
    return root


@pytest.fixture(scope="module")
def encoder() -> Iterator[OfflineE5]:
    made = OfflineE5()
    yield made
    made.close()


def encode(encoder: OfflineE5, texts: pl.Series, role: Role) -> Vectors:
    return encoder.encode(encoder.truncate(texts.to_list(), role), role)


def v_measure(rows: pl.DataFrame, vectors: Vectors) -> float:
    """Return the mean over five seeds, as it was measured."""
    return float(np.mean(by_mteb(rows, vectors, FIVE)))


XQUAD = (0.9587, 0.9667)
"""Measured .96265. Two questions that fall from rank 1 to 2 leave it; so does a wrong prefix."""
NEWS = (0.378, 0.438)
BOOKS = (0.215, 0.275)
"""Measured .4076 and .2449, give or take .03: some two standard deviations of a mean of five seeds, .010 to
.021 on 450 rows, so that another version of k-means, which draws otherwise, stays within. Noise of 1e-6 in
the vectors moves neither; random labels reach .13 and .09."""


def within(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] <= value <= ends[1]


@pytest.mark.long
@pytest.mark.data
def test_retrieval_on_xquad(encoder: OfflineE5, data: Path) -> None:
    """A third of the questions on the first 80 contexts: fewer contexts are easier than 240 (.9485)."""
    judged = every(xquad(data, 80), 3)
    assert (judged.queries.height, judged.corpus.height) == (142, 80)
    queries = encode(encoder, judged.query_texts(), "query")
    passages = encode(encoder, judged.passage_texts(), "passage")
    assert within(ndcg(judged, queries, passages), XQUAD)
    as_passages = encode(encoder, judged.query_texts(), "passage")
    assert not within(ndcg(judged, as_passages, passages), XQUAD), "a wrong prefix must be noticed"
    assert ndcg(judged, queries, np.roll(passages, 1, axis=0)) < 0.5, "moved rows must be noticed"


@pytest.mark.long
@pytest.mark.data
@pytest.mark.parametrize(("read", "ends"), [(news, NEWS), (books, BOOKS)], ids=["10kGNAD", "blurbs"])
def test_clustering(
    encoder: OfflineE5, data: Path, read: Callable[[Path, int], pl.DataFrame], ends: tuple[float, float]
) -> None:
    """The first 140 rows, cut to 300 characters, clustered as mteb does: shorter and fewer, so lower."""
    rows = read(data, 300).head(140)
    assert rows.height == rows["text"].n_unique() == 140
    vectors = encode(encoder, rows["text"], "query")
    assert within(v_measure(rows, vectors), ends)
    assert v_measure(rows, np.roll(vectors, 1, axis=0)) < ends[0], "moved rows must be noticed"


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """The committed run at the full sizes."""
    found: dict[str, Any] = json.loads(real_data.RESULTS.read_bytes())
    return found


def test_the_note_is_what_the_results_make(results: dict[str, Any]) -> None:
    note = real_data.RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert note == real_data.note(results)


def test_the_full_run_found_what_was_measured_before(results: dict[str, Any]) -> None:
    """XQuAD to the last digit told. Of clustering neither rows nor seeds are known: even rows and the same
    count of seeds come near on 10kGNAD, within one standard deviation; the blurbs' figure lies between rows
    chosen evenly and as they come."""
    assert results["xquad"]["ndcg_at_10"] == pytest.approx(real_data.EXPECTED["xquad"], abs=0.001)
    assert (results["xquad"]["queries"], results["xquad"]["passages"]) == (500, 240)
    found = {(one["name"], one["sample"]): one for one in results["clustering"]}
    assert {one["rows"] for one in found.values()} == {450}
    sections = found["news", "even"]["k_means"]
    assert abs(sections["first"] - real_data.EXPECTED["news"]) < sections["spread"]
    genres = [found["books", sample]["k_means"]["mean"] for sample in ("random", "even")]
    assert genres[0] < real_data.EXPECTED["books"] < genres[1]


def test_rows_are_chosen_evenly_and_in_their_order() -> None:
    labels = ["Vers"] * 6 + ["Krimi"] * 2 + ["Reise"] * 4
    rows = pl.DataFrame({"text": [f"Buch {n}" for n in range(12)], "label": labels})
    chosen = even(rows, 8)
    assert chosen["text"].to_list() == [f"Buch {n}" for n in (0, 1, 2, 6, 7, 8, 9, 10)]

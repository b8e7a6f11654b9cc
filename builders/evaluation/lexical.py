"""BM25 over German word stems: the baseline that knows words and no meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import UsageError
from builders.evaluation.model import EncoderFacts
from builders.evaluation.pairs import Judged

if TYPE_CHECKING:
    from bm25s import BM25

BM25_FACTS = EncoderFacts(
    name="bm25",
    kind="lexical",
    model="mteb/baseline-bm25s",
    revision=f"bm25s {version('bm25s')}, PyStemmer {version('PyStemmer')}",
)


def bm25(judged: Judged, k: int = 1000) -> pl.DataFrame:
    """Rank passages by BM25.

    Method: Lucene's form of BM25 with k1 1.5 and b 0.75, by bm25s (Lù 2024, arXiv 2407.03618), set up as
    mteb's "mteb/baseline-bm25s" is for German tasks: words of two and more characters, lower case, without
    the German stop words of bm25s, stemmed by Snowball; compounds stay whole. Unlike there, a passage that
    shares no word with the query is not found at all, and ties are broken by id, descending, also at the
    k-th passage: mteb fills up to 1000 with passages of score 0, in no stated order.

    Args:
        judged: What is searched.
        k: The most passages per query, at least 1.

    Returns:
        A run: ``query-id`` str, ``corpus-id`` str, ``score`` float32 above 0; best first, query by query.

    Raises:
        UsageError: k is smaller than 1.
    """
    runs = [run for _, run in bm25_parts(judged, k)]
    return pl.concat(runs) if runs else _run(judged, [])


def bm25_parts(
    judged: Judged, k: int = 1000, *, block: int | None = None
) -> Iterator[tuple[Judged, pl.DataFrame]]:
    """Rank passages by BM25 as `bm25` does, some queries at a time.

    Args:
        judged: What is searched.
        k: The most passages per query, at least 1.
        block: Queries at a time; None for `pairs.BLOCK`.

    Yields:
        A part of `judged`, and its run.

    Raises:
        UsageError: k is smaller than 1.
    """
    if k < 1:
        raise UsageError(f"k is {k}", hint="Give a k of at least 1.")
    words = _stems(judged.passage_texts())
    index = _index(words) if any(words) else None
    for part in judged.parts(block):
        yield part, _run(part, list(_found(index, _stems(part.query_texts()), k)) if index else [])


def _run(judged: Judged, found: Sequence[tuple[NDArray[np.int64], NDArray[np.float32]]]) -> pl.DataFrame:
    """Return a run of what was found by query; nothing at all was for any where `found` is empty."""
    asked = judged.queries.height
    counts = [len(indices) for indices, _ in found] or [0] * asked
    queries = judged.queries.get_column("_id").gather(np.repeat(np.arange(asked), counts))
    indices = np.concatenate([np.empty(0, np.int64), *(indices for indices, _ in found)])
    scores = np.concatenate([np.empty(0, np.float32), *(scores for _, scores in found)])
    ids = judged.corpus.get_column("_id").gather(indices)
    return pl.DataFrame({"query-id": queries, "corpus-id": ids, "score": scores})


def _stems(texts: pl.Series) -> list[list[str]]:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("german")
    stems: list[list[str]] = bm25s.tokenize(
        texts.to_list(), stopwords="de", stemmer=stemmer, return_ids=False, show_progress=False
    )
    return stems


def _index(words: list[list[str]]) -> BM25:
    import bm25s

    # The numpy backend is named, so that no library that happens to be installed changes the sums.
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75, backend="numpy", csc_backend="numpy")
    index.index(words, show_progress=False)
    return index


def _found(
    index: BM25, queries: list[list[str]], k: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """Yield the passages of each query and their scores, best first; later passages first among equals."""
    for words in queries:
        scores = np.asarray(index.get_scores_from_ids(index.get_tokens_ids(words)), np.float32)
        indices = np.flatnonzero(scores > 0)
        order = np.lexsort((-indices, -scores[indices]))[:k]
        yield indices[order], scores[indices[order]]

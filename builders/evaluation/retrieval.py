"""Exact search, and how well it finds the positives, as the unmodified mteb 2.26.24 measures it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import UsageError
from builders.evaluation.intervals import bootstrap
from builders.evaluation.metrics import core_ndcg, measured, ranked
from builders.evaluation.model import Band, EncoderFacts, RetrievalResult, Score
from builders.evaluation.pairs import Judged
from builders.mining.scan import Progress, TopK, exact_topk

DIGITS = 5
"""Scores are rounded to as many digits as mteb rounds them."""
_NO_HITS = pl.DataFrame(schema={"query-id": pl.String, "corpus-id": pl.String, "score": pl.Float32})
_BANDS = 10
_PER_BAND = 10


def search(
    judged: Judged,
    queries: NDArray[np.float32],
    passages: NDArray[np.float32],
    k: int = 1000,
    *,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Find the k most similar passages of each query, exactly.

    All of the run is in memory, about 60 bytes a row; see `searched` for less.

    Args:
        judged: What is searched.
        queries: float32 (q, d) of length 1, in the order of `Judged.query_texts`.
        passages: float32 (n, d) of length 1, in the order of `Judged.passage_texts`.
        k: How many, at least 1; mteb keeps 1000.
        progress: Called with queries done and queries in all.

    Returns:
        A run: ``query-id`` str, ``corpus-id`` str, ``score`` float32; best first, query by query.

    Raises:
        UsageError: There are not as many vectors as texts, or k is smaller than 1.
        EncoderError: Vectors are not float32, not finite, or of unequal dimensions.
    """
    whole = max(1, judged.queries.height)
    parts = list(searched(judged, queries, passages, k, block=whole, progress=progress))
    return pl.concat([run for _, run in parts]) if parts else _run(judged, exact_topk(queries, passages, k))


def searched(
    judged: Judged,
    queries: NDArray[np.float32],
    passages: NDArray[np.float32],
    k: int = 1000,
    *,
    block: int | None = None,
    progress: Progress | None = None,
) -> Iterator[tuple[Judged, pl.DataFrame]]:
    """Find the k most similar passages of each query, exactly, some queries at a time.

    mteb multiplies in float32, whose last digit depends on the machine; here scores are computed in float64
    and rounded to float32 once. Passages of equal float64 scores, and those whose scores round to the same
    float32, are taken by id, descending. So scores are mteb's wherever passages near the top differ by more
    than float32's error, about 1e-6. Passages of nearly equal vectors (the same text twice, the same words in
    another order under a bag of words) are tied here, and in mteb the error of its product orders them: then
    both metrics may differ, here they do not depend on the machine.

    Args:
        judged: What is searched.
        queries: float32 (q, d) of length 1, in the order of `Judged.query_texts`.
        passages: float32 (n, d) of length 1, in the order of `Judged.passage_texts`.
        k: How many, at least 1; mteb keeps 1000.
        block: Queries at a time; None for `pairs.BLOCK`. It changes memory alone.
        progress: Called with queries done and queries in all.

    Yields:
        A part of `judged`, and its run, as `search` returns it.

    Raises:
        UsageError: There are not as many vectors as texts, or k is smaller than 1.
        EncoderError: Vectors are not float32, not finite, or of unequal dimensions.
    """
    for name, vectors, texts in (("queries", queries, judged.queries), ("passages", passages, judged.corpus)):
        if len(vectors) != texts.height:
            raise UsageError(
                f"{judged.config}, split {judged.split}: {texts.height:,} {name}, {len(vectors):,} vectors",
                hint="Encode the texts that the judged split gives.",
            )
    done = 0
    for part in judged.parts(block):
        rows = slice(done, done + part.queries.height)
        # `exact_topk` breaks ties by index, ascending; ids descend in the reversed passages.
        yield part, _run(part, exact_topk(queries[rows], passages[::-1], k))
        done = rows.stop
        if progress is not None:
            progress(done, judged.queries.height)


def _run(judged: Judged, top: TopK) -> pl.DataFrame:
    """Return the top-k in the reversed passages as a run."""
    rows, _, indices, scores = top.flat()
    ids = judged.corpus.get_column("_id").reverse()
    return pl.DataFrame({
        "query-id": judged.queries.get_column("_id").gather(rows),
        "corpus-id": ids.gather(indices),
        "score": scores.astype(np.float32),
    })


def per_query(judged: Judged, run: pl.DataFrame) -> pl.DataFrame:
    """Measure every query of a run.

    Args:
        judged: The queries that are measured; the run may hold others, as one of all splits does.
        run: ``query-id``, ``corpus-id``, ``score`` float32, in any order. Passages are ranked by score, then
            by id, both descending, as mteb does.

    Returns:
        ``query-id``, one row per judged query in their order; ``ndcg_at_10``, ``mrr_at_10``,
        ``recall_at_10``, ``recall_at_100`` float64, and where passages have classes ``r_precision`` and
        ``core_ndcg_at_10``. A query without hits has 0.

    Raises:
        UsageError: There is no judged query, a score is null or NaN, or a pair stands there twice.
    """
    if judged.queries.is_empty():
        raise UsageError(
            f"{judged.config}: no query of split {judged.split} has qrels",
            hint="Evaluate another split, or build without a limit.",
        )
    queries = judged.queries.select(pl.col("_id").alias("query-id"))
    ranking = ranked(run.join(queries, on="query-id", how="semi"))
    found = measured(ranking, judged.qrels)
    if judged.classes is None:
        return queries.join(found.drop("r_precision"), on="query-id", how="left", maintain_order="left")
    cores = core_ndcg(ranking, judged.qrels, judged.classes)
    both = found.join(cores, on="query-id")
    return queries.join(both, on="query-id", how="left", maintain_order="left")


def score_run(
    judged: Judged, run: pl.DataFrame, encoder: EncoderFacts, *, seed: int = 42, resamples: int = 1000
) -> RetrievalResult:
    """Score a whole run; see `score_parts`. It is measured part by part.

    Args:
        judged: The queries that are scored.
        run: As for `per_query`.
        encoder: What made the run.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.

    Raises:
        UsageError: As for `per_query`.
    """
    parts = ((part, run) for part in judged.parts())
    return score_parts(judged, parts, encoder, seed=seed, resamples=resamples)


def score_parts(
    judged: Judged,
    parts: Iterable[tuple[Judged, pl.DataFrame]],
    encoder: EncoderFacts,
    *,
    seed: int = 42,
    resamples: int = 1000,
) -> RetrievalResult:
    """Score a run: means over queries with bootstrap intervals, and nDCG@10 by length of the query.

    The bands hold about equally many queries, at most ten bands and about ten queries in each at least;
    queries of one length are never in two bands.

    Intervals are those of `bootstrap`, at 95 %.

    Args:
        judged: The queries that are scored.
        parts: Parts of `judged` in its order, each with a run that holds its queries, as `searched` and
            `lexical.bm25_parts` yield them: one at a time is in memory.
        encoder: What made the run.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.

    Returns:
        The result, its scores rounded to 5 digits as mteb rounds them.

    Raises:
        UsageError: As for `per_query`.
    """
    tables = [per_query(part, run) for part, run in parts]
    found = pl.concat(tables) if tables else per_query(judged, _NO_HITS)
    names = found.columns[1:]
    values = found.select(names).to_numpy()
    ends = bootstrap(values, seed=seed, resamples=resamples)
    return RetrievalResult(
        config=judged.config,
        split=judged.split,
        encoder=encoder,
        queries=judged.queries.height,
        passages=judged.corpus.height,
        scores={
            name: Score(value=_rounded(mean), low=_rounded(low), high=_rounded(high))
            for name, mean, (low, high) in zip(names, values.mean(axis=0), ends, strict=True)
        },
        lengths=_by_length(judged.query_texts(), found.get_column("ndcg_at_10")),
    )


def _by_length(texts: pl.Series, ndcg: pl.Series) -> tuple[Band, ...]:
    bands = min(_BANDS, max(1, len(texts) // _PER_BAND))
    lengths = pl.DataFrame({"length": texts.str.len_chars(), "ndcg": ndcg})
    before = pl.col("length").rank("min").cast(pl.Int64) - 1  # equal lengths have equally many before them
    rows = (
        lengths
        .group_by(band=before * bands // len(texts))
        .agg(
            low=pl.col("length").min(),
            high=pl.col("length").max(),
            queries=pl.len(),
            mean=pl.col("ndcg").mean(),
        )
        .sort("band")
    )
    return tuple(
        Band(low=low, high=high, queries=queries, ndcg_at_10=_rounded(mean))
        for _, low, high, queries, mean in rows.iter_rows()
    )


def _rounded(value: float) -> float:
    return round(float(value), DIGITS)

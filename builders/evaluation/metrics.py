"""Retrieval metrics of each query, computed by ir-measures on rankings that leave no tie to its providers.

mteb 2.26.24 compares scores as float32 and breaks ties by the passage's id, descending. Providers break ties
in ways of their own, so passages are ranked here once, and every provider is given ranks for scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from builders.errors import UsageError

if TYPE_CHECKING:
    from ir_measures import Metric

Nested = dict[str, dict[str, Any]]
DEPTH = 100
"""How far down the deepest metric looks; R-precision looks further where a query has more positives."""

_CORES = 10


def ranked(run: pl.DataFrame) -> pl.DataFrame:
    """Rank the passages of each query as mteb does.

    Args:
        run: ``query-id`` str, ``corpus-id`` str, ``score`` float; compared as float32.

    Returns:
        ``query-id``, ``corpus-id``, ``rank`` int64 from 1: by score descending, then id descending.

    Raises:
        UsageError: A score is null or NaN, or a pair stands there twice.
    """
    scored = run.select("query-id", "corpus-id", pl.col("score").cast(pl.Float32))
    faults = {
        "has no score": pl.col("score").is_null() | pl.col("score").is_nan(),
        "stands there twice": pl.struct("query-id", "corpus-id").is_duplicated(),
    }
    for fault, wrong in faults.items():
        bad = scored.filter(wrong)
        if not bad.is_empty():
            pair = f"query {bad.item(0, 'query-id')!r}, passage {bad.item(0, 'corpus-id')!r}"
            raise UsageError(f"a run is not usable: {pair} {fault}", hint="Search again.")
    order = scored.sort("query-id", "score", "corpus-id", descending=[False, True, True])
    return order.select("query-id", "corpus-id", rank=pl.int_range(1, pl.len() + 1).over("query-id"))


def measured(ranking: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Measure how well each query's positives were found.

    nDCG has linear gain and a logarithmic discount; a passage is relevant from score 1 on. nDCG, recall and
    R-precision are those of trec_eval (by pytrec_eval), reciprocal rank that of MS MARCO. Positives that are
    not in the corpus count as not found.

    Args:
        ranking: ``query-id``, ``corpus-id``, ``rank``, as `ranked` returns it.
        qrels: ``query-id``, ``corpus-id``, ``score`` int.

    Returns:
        ``query-id``, sorted, one row per query of the qrels; ``ndcg_at_10``, ``mrr_at_10``, ``recall_at_10``,
        ``recall_at_100``, ``r_precision`` float64, 0 for a query without hits.
    """
    from ir_measures import RR, R, Rprec, msmarco, nDCG, pytrec_eval

    judged = _nested(qrels, "score")
    positives = qrels.group_by("query-id").agg(depth=(pl.col("score") > 0).sum().clip(DEPTH))
    run = _run(ranking.join(positives, on="query-id").filter(pl.col("rank") <= pl.col("depth")))
    names = {
        nDCG @ 10: "ndcg_at_10",
        RR @ 10: "mrr_at_10",
        R @ 10: "recall_at_10",
        R @ 100: "recall_at_100",
        Rprec: "r_precision",
    }
    by_trec = [measure for measure in names if measure != RR @ 10]
    found = [
        *pytrec_eval.evaluator(by_trec, judged).iter_calc(run),
        *msmarco.evaluator([RR @ 10], judged).iter_calc(run),
    ]
    return _table(found, names)


def core_ndcg(ranking: pl.DataFrame, qrels: pl.DataFrame, classes: pl.DataFrame) -> pl.DataFrame:
    """Measure nDCG@10 of cores: passages with the same classes count as one, at the best of their ranks.

    A core is relevant to a query if it holds a positive. A passage without classes is a core of its own. Of
    each query the ten best cores are measured, as no other counts.

    Args:
        ranking: ``query-id``, ``corpus-id``, ``rank``, as `ranked` returns it.
        qrels: ``query-id``, ``corpus-id``, ``score`` int.
        classes: ``corpus-id``, ``class``: a passage may have several, and is then with those that have just
            the same ones.

    Returns:
        ``query-id``, sorted, one row per query of the qrels; ``core_ndcg_at_10`` float64.
    """
    from ir_measures import nDCG, pytrec_eval

    cores = classes.group_by("corpus-id").agg(core=pl.col("class").unique().sort().str.join("\n"))
    own = pl.format("passage {}", "corpus-id")
    core = pl.coalesce(pl.format("classes {}", "core"), own).alias("corpus-id")

    def by_core(pairs: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
        return pairs.join(cores, on="corpus-id", how="left").group_by("query-id", core).agg(value)

    judged = _nested(by_core(qrels, pl.col("score").max()), "score")
    found = by_core(ranking, pl.col("rank").min())
    run = _run(found.filter(pl.col("rank").rank("ordinal").over("query-id") <= _CORES))
    scores = pytrec_eval.evaluator([nDCG @ _CORES], judged).iter_calc(run)
    return _table(scores, {nDCG @ _CORES: "core_ndcg_at_10"})


def _run(ranking: pl.DataFrame) -> Nested:
    """Give ranks as scores: the first passage the highest, and no two the same."""
    return _nested(ranking.with_columns(score=-pl.col("rank").cast(pl.Float64)), "score")


def _nested(pairs: pl.DataFrame, value: str) -> Nested:
    """Return values by query and passage, as ir-measures takes them."""
    rows = pairs.group_by("query-id").agg("corpus-id", value).iter_rows()
    return {query: dict(zip(passages, values, strict=True)) for query, passages, values in rows}


def _table(found: Iterable[Metric], names: dict[Any, str]) -> pl.DataFrame:
    def rows() -> Iterator[tuple[str, str, float]]:
        for metric in found:
            yield metric.query_id, names[metric.measure], float(metric.value)

    schema = {"query-id": pl.String, "name": pl.String, "value": pl.Float64}
    long = pl.DataFrame(rows(), schema=schema, orient="row")
    wide = long.pivot("name", index="query-id", values="value")
    return wide.select("query-id", *names.values()).sort("query-id")

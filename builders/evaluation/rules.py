"""Rankings that know no text, and what chance makes of them: a dataset that rewards them is broken."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import UsageError
from builders.evaluation.pairs import Judged

Float64s = NDArray[np.float64]

RULES = ("random", "constant", "oracle")
_CUT = 10


def rule_run(judged: Judged, rule: str, *, seed: int = 42, k: int = 1000) -> pl.DataFrame:
    """Rank passages by a rule that reads no text.

    Args:
        judged: What is searched.
        rule: "random": each query's own random order; it must score near `chance`. "constant": all passages
            have one score, so that ids alone, descending, decide; at chance too, unless ids or their order
            tell what is relevant. "oracle": a query's positives in the corpus and nothing else; its nDCG@10
            and MRR@10 are 1, unless positives are not in the corpus.
        seed: Of the random order.
        k: The most passages per query, at least 1.

    Returns:
        A run: ``query-id`` str, ``corpus-id`` str, ``score`` float32.

    Raises:
        UsageError: There is no such rule, or k is smaller than 1.
    """
    _require(rule, k)
    return _ranked(judged, rule, np.random.default_rng(seed), k)


def rule_parts(
    judged: Judged, rule: str, *, seed: int = 42, k: int = 1000, block: int | None = None
) -> Iterator[tuple[Judged, pl.DataFrame]]:
    """Rank passages by a rule as `rule_run` does, some queries at a time.

    Args:
        judged: What is searched.
        rule: One of `RULES`.
        seed: Of the random order.
        k: The most passages per query, at least 1.
        block: Queries at a time; None for `pairs.BLOCK`.

    Yields:
        A part of `judged`, and its run.

    Raises:
        UsageError: As for `rule_run`.
    """
    _require(rule, k)
    rng = np.random.default_rng(seed)
    for part in judged.parts(block):
        yield part, _ranked(part, rule, rng, k)


def _require(rule: str, k: int) -> None:
    if k < 1:
        raise UsageError(f"k is {k}", hint="Give a k of at least 1.")
    if rule not in RULES:
        raise UsageError(f"no rule {rule!r}", hint=f"Choose one of {', '.join(RULES)}.")


def _ranked(judged: Judged, rule: str, rng: np.random.Generator, k: int) -> pl.DataFrame:
    if rule == "oracle":
        return _oracle(judged, k)
    queries, passages = judged.queries.height, judged.corpus.height
    width = min(k, passages)
    if rule == "random":
        drawn = [rng.choice(passages, width, replace=False) for _ in range(queries)]
        indices = np.concatenate([np.empty(0, np.int64), *drawn])
        scores = np.tile(np.arange(width, 0, -1, dtype=np.float32), queries)
    else:
        indices = np.tile(np.arange(passages - 1, passages - 1 - width, -1), queries)
        scores = np.ones(queries * width, np.float32)
    return pl.DataFrame({
        "query-id": judged.queries.get_column("_id").gather(np.repeat(np.arange(queries), width)),
        "corpus-id": judged.corpus.get_column("_id").gather(indices),
        "score": scores,
    })


def _oracle(judged: Judged, k: int) -> pl.DataFrame:
    within = judged.qrels.filter(pl.col("score") > 0).join(
        judged.corpus, left_on="corpus-id", right_on="_id", how="semi"
    )
    order = within.sort("query-id", "score", "corpus-id", descending=[False, True, True])
    best = order.group_by("query-id", maintain_order=True).head(k)
    return best.select("query-id", "corpus-id", pl.col("score").cast(pl.Float32))


def chance(judged: Judged) -> dict[str, float]:
    """Return what a uniformly random ranking of the whole corpus scores, exactly.

    A score that is a sum over passages of (weight of the passage) × (discount of its rank) has, in a random
    order of n, the mean n · mean(weights) · mean(discounts) and the variance
    Σ(weights − mean)² · Σ(discounts − mean)² / (n − 1) (Hoeffding 1951, A Combinatorial Central Limit
    Theorem). nDCG@10 and recall are such sums; for MRR@10 the rank of the first positive has a negative
    hypergeometric distribution.

    Scores of random rankings are far from normal where positives are few: most are 0, and a few large.

    Args:
        judged: Queries, qrels and corpus; there is at least one query and one passage. Positives that are not
            in the corpus cannot be found.

    Returns:
        By name, "ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100": the expected mean over queries.
        NAME + "_error": its standard error, where every query has a random order of its own ("random").
        NAME + "_shared_error": its standard error, where all queries share one random order ("constant");
        not for "mrr_at_10".

    Raises:
        UsageError: There is no judged query, or no passage.
    """
    if judged.queries.is_empty() or judged.corpus.is_empty():
        raise UsageError(
            f"{judged.config}: split {judged.split} has no query with qrels, or no passage",
            hint="Evaluate another split, or build without a limit.",
        )
    weights = _weights(judged.qrels).join(judged.corpus, left_on="corpus-id", right_on="_id", how="semi")
    passages, queries = judged.corpus.height, judged.queries.height
    discounts = 1 / np.log2(np.arange(2, _CUT + 2))
    expected: dict[str, float] = {}
    for name, weight, curve in (
        ("ndcg_at_10", "gain", discounts),
        ("recall_at_10", "share", np.ones(10)),
        ("recall_at_100", "share", np.ones(100)),
    ):
        mean, variance = _sum_of_ranks(weights, "query-id", weight, curve, passages)
        together = weights.group_by("corpus-id").agg(pl.col(weight).sum()).with_columns(query=0)
        _, shared = _sum_of_ranks(together, "query", weight, curve, passages)
        expected |= _named(name, mean, variance, queries)
        expected[f"{name}_shared_error"] = float(np.sqrt(shared.sum())) / queries
    positives = weights.group_by("query-id").len().get_column("len").to_numpy()
    return expected | _named("mrr_at_10", *_first_positive(positives, passages), queries)


def _weights(qrels: pl.DataFrame) -> pl.DataFrame:
    """Return ``query-id``, ``corpus-id``, and what a positive adds: ``gain`` to nDCG, ``share`` to recall."""
    positives = qrels.filter(pl.col("score") > 0)
    place = pl.col("score").rank("ordinal", descending=True).over("query-id")
    ideal = pl.when(place <= _CUT).then(pl.col("score") / (place + 1).log(2)).sum().over("query-id")
    return positives.select(
        "query-id", "corpus-id", gain=pl.col("score") / ideal, share=1 / pl.len().over("query-id")
    )


def _sum_of_ranks(
    weights: pl.DataFrame, key: str, weight: str, curve: Float64s, passages: int
) -> tuple[Float64s, Float64s]:
    """Return mean and variance, per key, of weights times discounts; passages without a weight have 0."""
    sums = weights.group_by(key).agg(total=pl.col(weight).sum(), squares=(pl.col(weight) ** 2).sum())
    total, squares = sums.get_column("total").to_numpy(), sums.get_column("squares").to_numpy()
    curve = curve[:passages]
    mean = total * curve.sum() / passages
    spread = (squares - total**2 / passages) * (np.sum(curve**2) - curve.sum() ** 2 / passages)
    return mean, np.maximum(spread, 0) / max(1, passages - 1)


def _first_positive(positives: NDArray[np.integer], passages: int) -> tuple[Float64s, Float64s]:
    """Return mean and variance of the reciprocal rank of the first positive, 0 beyond the tenth."""
    found = np.zeros((2, len(positives)))
    missed = np.ones(len(positives))
    for rank in range(1, min(_CUT, passages) + 1):
        # Never above 1: where only positives are left, nothing was missed so far or all of it was.
        hit = np.minimum(positives / (passages - rank + 1), 1)
        found += missed * hit * np.array([[1 / rank], [1 / rank**2]])
        missed *= 1 - hit
    mean, square = found
    return mean, square - mean**2


def _named(name: str, mean: Float64s, variance: Float64s, queries: int) -> dict[str, float]:
    return {name: float(mean.sum()) / queries, f"{name}_error": float(np.sqrt(variance.sum())) / queries}

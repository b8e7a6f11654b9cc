"""Retrieval scores as the unmodified mteb 2.26.24 measures them, by ir-measures, with bootstrap intervals.

Passages are ranked once, as mteb breaks ties: providers of ir-measures do so in ways of their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import UsageError
from builders.evaluation.rankings import Judged, Rankings
from builders.evaluation.results import (
    Band,
    Difference,
    EncoderFacts,
    GroupScore,
    Result,
    RetrievalResult,
    Score,
    place_of,
)
from builders.spec import PAIR, SEED

if TYPE_CHECKING:
    from ir_measures import Metric

Float64s = NDArray[np.float64]
_Nested = dict[str, dict[str, Any]]

_DEPTH = 100
"""How far down the deepest metric looks; R-precision looks further where a query has more positives."""
_CUT = 10
"""Rank at which nDCG and MRR end."""
MEASURED = ("ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100")
"""Scores that every search has."""
_ERRORS = ("", "_error", "_shared_error")
CHANCES = {f"{name}{error}" for name in MEASURED for error in _ERRORS} - {"mrr_at_10_shared_error"}
"""Names of what `chance` returns."""
_CELLS = 1 << 22
"""Rows drawn at a time over all resamples of a block: 32 MB of indices, and as much of values."""
_DIGITS = 5
"""mteb rounds scores to as many digits."""
_BANDS = 10
_PER_BAND = 10
_NO_HITS = pl.DataFrame(schema={**dict.fromkeys(PAIR, pl.String), "score": pl.Float32})


def score(
    judged: Judged, rankings: Rankings, encoder: EncoderFacts, *, seed: int = SEED, resamples: int = 1000
) -> RetrievalResult:
    """Score rankings, which hold all parts of `judged`: means over queries with 95 % bootstrap intervals.

    Groups of queries are drawn again, not queries: those of one group are found, or missed, together.
    nDCG@10 is given by length of the query too: at most ten bands of about equally many queries, ten or
    more in each; queries of one length are in one band. Scores are rounded to 5 digits as mteb rounds them.
    """
    tables = [per_query(part, run) for part, run in rankings]
    found = pl.concat(tables) if tables else per_query(judged, _NO_HITS)
    names = found.columns[1:]
    values = found.select(names).to_numpy()
    grouped = _grouped(found, judged.groups)
    keys = grouped.get_column("group").rank("dense").to_numpy() - 1
    ends = bootstrap(values, keys, seed=seed, resamples=resamples)
    groups = _by_group(grouped)
    macro = np.array([[one.ndcg_at_10] for one in groups])
    ((macro_low, macro_high),) = bootstrap(macro, seed=seed, resamples=resamples)
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
        groups=groups,
        by_group=Score(value=_rounded(macro.mean()), low=_rounded(macro_low), high=_rounded(macro_high)),
    )


def differences(results: Iterable[Result]) -> list[Difference]:
    """Compare every two encoders, rules left out, that searched for the same queries of a config."""
    searched = [
        one
        for one in results
        if isinstance(one, RetrievalResult) and one.encoder.kind != "rule" and one.groups
    ]
    return [
        Difference(
            config=first.config,
            split=first.split,
            first=first.encoder,
            second=second.encoder,
            ndcg_at_10=difference(first, second),
        )
        for first, second in itertools.combinations(searched, 2)
        if place_of(first) == place_of(second)
    ]


def difference(
    first: RetrievalResult, second: RetrievalResult, *, seed: int = SEED, resamples: int = 1000
) -> Score:
    """Return the mean nDCG@10 of one search minus another's over the same queries, with its 95 % interval.

    Groups are drawn again, each with both searches, so that what is hard for both cancels out.

    Raises:
        UsageError: They are not scores of the same groups of queries.
    """
    if [(one.group, one.queries) for one in first.groups] != [
        (one.group, one.queries) for one in second.groups
    ]:
        message = f"{first.config}: {first.encoder.name} and {second.encoder.name} have other queries"
        raise UsageError(message, hint="Evaluate both on the same split of the same build.")
    pairs = zip(first.groups, second.groups, strict=True)
    values = np.array([[one.ndcg_at_10 - other.ndcg_at_10] for one, other in pairs])
    sizes = np.array([one.queries for one in first.groups])
    rows = np.repeat(np.arange(len(sizes)), sizes)
    ((low, high),) = bootstrap(values[rows], rows, seed=seed, resamples=resamples)
    mean = np.average(values[:, 0], weights=sizes)
    return Score(value=_rounded(mean), low=_rounded(low), high=_rounded(high))


def _grouped(found: pl.DataFrame, groups: pl.DataFrame | None) -> pl.DataFrame:
    """Add a column ``group`` str; a query that has none is a group of its own."""
    if groups is None:
        return found.with_columns(group="query_id")
    joined = found.join(groups, on="query_id", how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("group", pl.format("query {}", "query_id")))


def _by_group(grouped: pl.DataFrame) -> tuple[GroupScore, ...]:
    means = (
        grouped
        .group_by("group")
        .agg(queries=pl.len(), ndcg_at_10=pl.col("ndcg_at_10").sort_by("query_id").mean())
        .sort("group")
    )
    return tuple(GroupScore(**row) for row in means.iter_rows(named=True))


def per_query(judged: Judged, run: pl.DataFrame) -> pl.DataFrame:
    """Measure every judged query of a run: rows of ``query_id``, ``passage_id``, ``score``.

    Returns:
        ``query_id``, one row per judged query in their order; the names of `SCORES` as float64: R-precision
        and core nDCG where passages have classes, graded nDCG where those hold KldB codes, nDCG without
        undecided pairs where the build keeps such. A query without hits has 0.

    Raises:
        UsageError: There is no judged query.
    """
    if judged.queries.is_empty():
        message = f"{judged.config}: no query of split {judged.split} has qrels"
        raise UsageError(message, hint="Evaluate another split, or build without a limit.")
    queries = judged.queries.select("query_id")
    ranking = _ranked(run.join(queries, on="query_id", how="semi"))
    found = _measured(ranking, judged.qrels)
    if judged.classes is None:
        found = found.drop("r_precision")
    else:
        found = found.join(_core_ndcg(ranking, judged.qrels, judged.classes), on="query_id")
    if judged.undecided is not None:
        decided = ranking.join(judged.undecided, on=PAIR, how="anti")
        found = found.join(_ndcg(decided, judged.qrels, "decided_ndcg_at_10"), on="query_id")
    if (grades := _grades(judged)) is not None:
        found = found.join(_ndcg(ranking, grades, "graded_ndcg_at_10"), on="query_id")
    found = found.join(_labelled(ranking, judged.qrels), on="query_id", how="left").fill_null(0.0)
    return queries.join(found, on="query_id", how="left", maintain_order="left")


def bootstrap(
    values: Float64s,
    groups: NDArray[Any] | None = None,
    *,
    seed: int = 42,
    resamples: int = 1000,
    level: float = 0.95,
) -> Float64s:
    """Return percentile bootstrap intervals of the means of columns (rows, columns), as float64 (columns, 2).

    Whole groups of rows are drawn with replacement, as many as there are, and a mean is the sum of their rows
    over the number of their rows; the columns share their resamples. Without `groups` (rows,), whole numbers
    from 0 without gaps, each row is one. Method: Efron and Tibshirani, An Introduction to the Bootstrap
    (1993), chapter 13, and Davison and Hinkley, Bootstrap Methods and their Application (1997), 3.8, for
    groups; the mean of few or heavily skewed values is covered less often than `level` says. scipy's draws
    the same, but refuses a single group.
    """
    rng, owners = np.random.default_rng(seed), np.arange(len(values)) if groups is None else groups
    sizes = np.bincount(owners.astype(np.int64)).astype(np.float64)
    rows = len(sizes)
    columns = np.stack([np.bincount(owners.astype(np.int64), column) for column in values.T])
    means = np.empty((len(columns), resamples))
    for part in np.array_split(means, -(-resamples * rows // _CELLS), axis=1):
        drawn = rng.integers(rows, size=(part.shape[1], rows))
        held = sizes[drawn].sum(axis=1)
        for column, found in zip(columns, part, strict=True):
            found[:] = column[drawn].sum(axis=1) / held
    tail = (1 - level) / 2
    ends: Float64s = np.quantile(means, [tail, 1 - tail], axis=1).T
    return ends


def chance(judged: Judged) -> dict[str, float]:
    """Return what a uniformly random ranking of the whole corpus scores for one query or more, exactly.

    A score that is a sum over passages of (weight of the passage) × (discount of its rank) has, in a random
    order of n, the mean n · mean(weights) · mean(discounts) and the variance
    Σ(weights − mean)² · Σ(discounts − mean)² / (n − 1) (Hoeffding 1951, A Combinatorial Central Limit
    Theorem). nDCG@10 and recall are such sums; for MRR@10 the rank of the first positive has a negative
    hypergeometric distribution. Positives that are not in the corpus cannot be found.

    Returns:
        The expected mean over queries by the names of `CHANCES`. NAME + "_error": its standard error, where
        every query has a random order of its own ("random"); NAME + "_shared_error": the same, where all
        queries share one random order ("constant").
    """
    weights = _weights(judged.qrels).join(judged.corpus, on="passage_id", how="semi")
    passages, queries = judged.corpus.height, judged.queries.height
    expected: dict[str, float] = {}
    for name, weight, curve in (
        ("ndcg_at_10", "gain", 1 / np.log2(np.arange(2, _CUT + 2))),
        ("recall_at_10", "share", np.ones(10)),
        ("recall_at_100", "share", np.ones(100)),
    ):
        mean, variance = _sum_of_ranks(weights, "query_id", weight, curve, passages)
        by_passage = weights.group_by("passage_id", maintain_order=True)  # equal sums to the last digit
        together = by_passage.agg(pl.col(weight).sum()).with_columns(query=0)
        _, shared = _sum_of_ranks(together, "query", weight, curve, passages)
        expected |= _named(name, mean, variance, queries)
        expected[f"{name}_shared_error"] = float(np.sqrt(shared.sum())) / queries
    positives = weights.group_by("query_id").len().get_column("len").to_numpy()
    return expected | _named("mrr_at_10", *_first_positive(positives, passages), queries)


def _ranked(run: pl.DataFrame) -> pl.DataFrame:
    """Rank the passages of each query by score as float32, then id, both descending: ``rank`` from 1."""
    scored = run.select(*PAIR, pl.col("score").cast(pl.Float32))
    order = scored.sort("query_id", "score", "passage_id", descending=[False, True, True])
    return order.select(*PAIR, rank=pl.int_range(1, pl.len() + 1).over("query_id"))


def _measured(ranking: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Measure how well each query's positives were found: a row per query of the qrels, sorted.

    nDCG has linear gain and a logarithmic discount; a passage is relevant from score 1 on. Positives that are
    not in the corpus count as not found; a query without hits has 0.
    """
    from ir_measures import RR, R, Rprec, msmarco, nDCG, pytrec_eval

    judged = _nested(qrels, "score")
    positives = qrels.group_by("query_id").agg(depth=(pl.col("score") > 0).sum().clip(_DEPTH))
    run = _run(ranking.join(positives, on="query_id").filter(pl.col("rank") <= pl.col("depth")))
    names = {
        nDCG @ 10: "ndcg_at_10",
        RR @ 10: "mrr_at_10",
        R @ 10: "recall_at_10",
        R @ 100: "recall_at_100",
        Rprec: "r_precision",
    }
    by_trec = [measure for measure in names if measure != RR @ 10]
    by_marco = msmarco.evaluator([RR @ 10], judged).iter_calc(run)
    return _table([*pytrec_eval.evaluator(by_trec, judged).iter_calc(run), *by_marco], names)


def _core_ndcg(ranking: pl.DataFrame, qrels: pl.DataFrame, classes: pl.DataFrame) -> pl.DataFrame:
    """Measure nDCG@10 of cores: passages with just the same classes count as one, at the best of their ranks.

    A core is relevant to a query if it holds a positive. A passage without classes is a core of its own. Of
    each query the ten best cores are measured, as no other counts.
    """
    from ir_measures import nDCG, pytrec_eval

    cores = classes.group_by("passage_id").agg(core=pl.col("class").unique().sort().str.join("\n"))
    own = pl.format("passage {}", "passage_id")
    core = pl.coalesce(pl.format("classes {}", "core"), own).alias("passage_id")

    def by_core(pairs: pl.DataFrame, value: pl.Expr) -> pl.DataFrame:
        return pairs.join(cores, on="passage_id", how="left").group_by("query_id", core).agg(value)

    judged = _nested(by_core(qrels, pl.col("score").max()), "score")
    found = by_core(ranking, pl.col("rank").min())
    run = _run(found.filter(pl.col("rank").rank("ordinal").over("query_id") <= _CUT))
    scores = pytrec_eval.evaluator([nDCG @ _CUT], judged).iter_calc(run)
    return _table(scores, {nDCG @ _CUT: "core_ndcg_at_10"})


def _ndcg(ranking: pl.DataFrame, qrels: pl.DataFrame, name: str) -> pl.DataFrame:
    """Measure nDCG@10 by the order of a ranking, from which pairs may have been taken out."""
    from ir_measures import nDCG, pytrec_eval

    best = ranking.filter(pl.col("rank").rank("ordinal").over("query_id") <= _CUT)
    scores = pytrec_eval.evaluator([nDCG @ _CUT], _nested(qrels, "score")).iter_calc(_run(best))
    return _table(scores, {nDCG @ _CUT: name})


def _grades(judged: Judged) -> pl.DataFrame | None:
    """Grade passages by the KldB code they share with a positive of the query; None without codes.

    Returns:
        ``query_id``, ``passage_id``, ``score`` int32: 2 for positives and where all five digits are equal, 1
        where the first four are. Pairs of none of these are left out.
    """
    if judged.classes is None:
        return None
    kind = pl.col("class").str.extract(r"^(kldb4?) ")
    codes = judged.classes.with_columns(kind=kind).drop_nulls("kind")
    if codes.is_empty():
        return None
    positives = judged.qrels.filter(pl.col("score") > 0).select(PAIR)
    shared = positives.join(codes, on="passage_id").select("query_id", "class").unique()
    alike = shared.join(codes, on="class").select(
        *PAIR, score=pl.when(pl.col("kind") == "kldb").then(2).otherwise(1)
    )
    graded = pl.concat([positives.with_columns(score=pl.lit(2, pl.Int32)), alike])
    return graded.group_by(PAIR).agg(pl.col("score").max()).sort(PAIR)


def _labelled(ranking: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Return the share of the ten best passages, or of those found, that the qrels name."""
    labels = qrels.select(PAIR).with_columns(labelled=1.0)
    return (
        ranking
        .filter(pl.col("rank") <= _CUT)
        .join(labels, on=PAIR, how="left")
        .group_by("query_id")
        .agg(labelled_at_10=pl.col("labelled").fill_null(0.0).mean())
    )


def _run(ranking: pl.DataFrame) -> _Nested:
    """Give ranks as scores: the first passage the highest, and no two the same."""
    return _nested(ranking.with_columns(score=-pl.col("rank").cast(pl.Float64)), "score")


def _nested(pairs: pl.DataFrame, value: str) -> _Nested:
    """Return values by query and passage, as ir-measures takes them."""
    rows = pairs.group_by("query_id").agg("passage_id", value).iter_rows()
    return {query: dict(zip(passages, values, strict=True)) for query, passages, values in rows}


def _table(found: Iterable[Metric], names: dict[Any, str]) -> pl.DataFrame:
    rows = [(one.query_id, names[one.measure], float(one.value)) for one in found]
    schema = {"query_id": pl.String, "name": pl.String, "value": pl.Float64}
    wide = pl.DataFrame(rows, schema, orient="row").pivot("name", index="query_id", values="value")
    return wide.select("query_id", *names.values()).sort("query_id")


def _by_length(texts: pl.Series, ndcg: pl.Series) -> tuple[Band, ...]:
    bands = min(_BANDS, max(1, len(texts) // _PER_BAND))
    lengths = pl.DataFrame({"length": texts.str.len_chars(), "ndcg": ndcg})
    before = pl.col("length").rank("min").cast(pl.Int64) - 1  # equal lengths have equally many before them
    found = (
        lengths
        .group_by(band=before * bands // len(texts))
        .agg(
            low=pl.col("length").min(),
            high=pl.col("length").max(),
            queries=pl.len(),
            ndcg_at_10=pl.col("ndcg").mean(),
        )
        .sort("band")
        .drop("band")
    )
    rows = found.iter_rows(named=True)
    return tuple(Band(**row | {"ndcg_at_10": _rounded(row["ndcg_at_10"])}) for row in rows)


def _rounded(value: float) -> float:
    return round(float(value), _DIGITS)


def _weights(qrels: pl.DataFrame) -> pl.DataFrame:
    """Return ``query_id``, ``passage_id``, what a positive adds: ``gain`` to nDCG, ``share`` to recall."""
    positives = qrels.filter(pl.col("score") > 0)
    place = pl.col("score").rank("ordinal", descending=True).over("query_id")
    ideal = pl.when(place <= _CUT).then(pl.col("score") / (place + 1).log(2)).sum().over("query_id")
    return positives.select(*PAIR, gain=pl.col("score") / ideal, share=1 / pl.len().over("query_id"))


def _sum_of_ranks(
    weights: pl.DataFrame, key: str, weight: str, curve: Float64s, passages: int
) -> tuple[Float64s, Float64s]:
    """Return mean and variance, per key, of weights times discounts; passages without a weight have 0."""
    own, by_key = pl.col(weight), weights.group_by(key, maintain_order=True)
    sums = by_key.agg(total=own.sum(), squares=(own**2).sum())
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

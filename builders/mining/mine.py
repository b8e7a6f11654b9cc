"""Mining: frames and vectors in, hard negatives and their report out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import EncoderError, UsageError
from builders.lock.lock import MiningReport
from builders.mining import recipe as rules
from builders.mining.scan import Masked, Progress, exact_topk, exact_window
from builders.mining.scores import Float32s, Float64s, Int64s, lengths, score_moments, score_pairs
from builders.mining.yields import LOOK, Evidence, build_report
from builders.spec import PAIR, RECIPES, Recipe

_LENGTH_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Mined:
    """The hard negatives of a dataset.

    Attributes:
        negatives: ``query_id`` str, ``passage_id`` str, ``rank`` int32 (1-based, among all passages),
            ``score`` float32 (cosine), ``positive_score`` float32 (the guarding positive's), sorted by query
            and rank.
        report: See `builders.mining.yields.build_report`.
        scale: ``query_id`` str, ``mean`` float64, ``deviation`` float64: of the scores over all passages, for
            every query with a positive; sorted by query.
        suspicious: ``query_id`` str, ``passage_id`` str, ``score`` float32, ``deviations`` float32 (above the
            query's mean, in its standard deviations): the positives of queries whose best one lies near the
            mean, farthest below first by the query's best, then by id.
    """

    negatives: pl.DataFrame
    report: MiningReport
    scale: pl.DataFrame
    suspicious: pl.DataFrame


def mine(
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    qrels: pl.DataFrame,
    undecided: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
    recipe: Recipe,
    *,
    classes: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> Mined:
    """Mine hard negatives by a recipe, over all passages.

    Neither the order of any frame nor threads or blocks change the result. A query without positives gets
    nothing, and is counted. Method: the procedure in `builders.mining.recipe`, on `exact_topk` for a recipe
    of bounded depth, else on `exact_window`.

    Args:
        queries: ``query_id``, ``text``.
        corpus: ``passage_id``, ``title``, ``text``.
        qrels: ``query_id``, ``passage_id`` and others; each row is a labelled positive.
        undecided: ``query_id``, ``passage_id``: pairs that are neither positive nor negative.
        query_vectors: float32 (queries, d), of length 1, in the row order of `queries`.
        passage_vectors: float32 (passages, d), of length 1, in the row order of `corpus`.
        recipe: The rules.
        classes: ``passage_id``, ``class``: see `builders.spec.Relations`; used by recipes with `equivalence`.
        progress: Called with steps done and steps in all, of each scan.

    Raises:
        UsageError: The recipe cannot be meant, a column is missing, an id is used twice, or a qrel names an
            id that is not there.
        EncoderError: Vectors are not float32, finite and of length 1, or not one per row.
    """
    rules.require_valid(recipe)
    queries, query_vectors = _by_id("queries", "query_id", ["text"], queries, query_vectors)
    corpus, passage_vectors = _by_id("passages", "passage_id", ["title", "text"], corpus, passage_vectors)
    qrels = _pairs("qrels", qrels)
    undecided = _pairs("undecided", undecided)
    positives = _scored(qrels, queries, corpus, query_vectors, passage_vectors)
    scale = _scale(queries, positives, query_vectors, passage_vectors)
    guarded = rules.guards(positives, recipe).join(scale, on="query_id").sort("query_id")
    suspicious = guarded.filter(rules.is_suspicious(recipe))
    served = guarded if recipe.floor is None else guarded.filter(~rules.is_suspicious(recipe))
    excluded = rules.exclusions(qrels, undecided, queries, corpus, classes if recipe.equivalence else None)

    bounded, asked = (RECIPES["v0"], guarded) if recipe.depth is None else (recipe, served)
    ranking = _ranking(queries, corpus, query_vectors, passage_vectors, asked, bounded, progress)
    known = excluded if bounded.equivalence else excluded.filter(pl.col("reason") != "equivalent")
    by_guard = [
        rules.label(ranking, known, rules.guards(positives, variant).join(scale, on="query_id"))
        for variant in (bounded, rules.other_guard(bounded))
    ]
    if recipe.depth is None:
        rows = served.join(queries, on="query_id", maintain_order="left")["row"]
        vectors = _rows(query_vectors, rows.to_numpy())
        chosen = choose_within(served, corpus, excluded, vectors, passage_vectors, recipe, progress=progress)
    else:
        chosen = rules.choose(by_guard[0], recipe)
    evidence = Evidence(
        queries=queries.select("query_id"),
        qrels=qrels,
        guarded=guarded,
        suspicious=suspicious,
        chosen=chosen,
        bounded=bounded,
        labelled=by_guard[0],
        labelled_by_other_guard=by_guard[1],
    )
    return Mined(
        rules.negatives(chosen.kept),
        build_report(evidence, recipe),
        scale,
        _listed(positives, suspicious),
    )


def _by_id(
    what: str, key: str, texts: list[str], frame: pl.DataFrame, vectors: Float32s
) -> tuple[pl.DataFrame, Float32s]:
    """Check frame and vectors, and sort both by id."""
    if missing := [column for column in (key, *texts) if column not in frame.columns]:
        raise UsageError(f"{what}: column {missing[0]!r} is missing", hint=f"There are: {frame.columns}.")
    if len(vectors) != frame.height:
        raise EncoderError(
            f"{what}: {frame.height} rows and {len(vectors)} vectors", hint="Encode every row once."
        )
    ids = frame[key]
    if ids.n_unique() != frame.height:
        raise UsageError(
            f"{what}: id {ids.filter(ids.is_duplicated())[0]!r} is used twice", hint="Merge duplicates first."
        )
    off = np.flatnonzero(np.abs(lengths(vectors, what) - 1) > _LENGTH_TOLERANCE)
    if off.size:
        raise EncoderError(
            f"{what}: {off.size} vectors are not of length 1, the first of id {ids[int(off[0])]!r}",
            hint="Normalise the vectors, or encode these texts again.",
        )
    numbered = frame.select(key, pl.col(texts).fill_null("")).with_row_index("row")
    if ids.is_sorted():
        return numbered, vectors
    order = ids.arg_sort()
    ordered = numbered[order].with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
    return ordered, vectors[order.to_numpy()]


def _pairs(what: str, frame: pl.DataFrame) -> pl.DataFrame:
    if missing := [column for column in PAIR if column not in frame.columns]:
        raise UsageError(f"{what}: column {missing[0]!r} is missing", hint=f"There are: {frame.columns}.")
    return frame.select(PAIR).unique().sort(PAIR)


def _scored(
    qrels: pl.DataFrame,
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
) -> pl.DataFrame:
    """Score every positive straight from its vectors, wherever it ranks."""
    for column, frame in (("query_id", queries), ("passage_id", corpus)):
        lost = qrels.join(frame, on=column, how="anti")
        if lost.height:
            raise UsageError(
                f"qrels: {lost.height} rows name a {column} that is not there, the first {lost[column][0]!r}",
                hint="Its positive cannot guard; drop dangling rows before mining.",
            )
    rows = qrels.join(queries.select("query_id", query="row"), on="query_id", maintain_order="left").join(
        corpus.select("passage_id", passage="row"), on="passage_id", maintain_order="left"
    )
    scores = score_pairs(query_vectors, passage_vectors, rows["query"].to_numpy(), rows["passage"].to_numpy())
    return rows.select(*PAIR, score=pl.Series(scores))


def _ranking(
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
    guarded: pl.DataFrame,
    recipe: Recipe,
    progress: Progress | None,
) -> pl.DataFrame:
    """Rank the passages of the guarded queries, as deep as recipe and report look."""
    asked = queries.join(guarded, on="query_id", maintain_order="left")
    widest = replace(recipe, depth=max(recipe.depth or 0, LOOK))
    depths = asked.select(rules.fetch_depth(widest, pl.col("positives")))
    vectors = _rows(query_vectors, asked["row"].to_numpy())
    found = exact_topk(vectors, passage_vectors, depths.to_series().to_numpy(), progress=progress)
    rows, ranks, indices, scores = found.flat()
    return pl.DataFrame({
        "query_id": asked["query_id"].gather(pl.Series(rows)),
        "passage_id": corpus["passage_id"].gather(pl.Series(indices)),
        "rank": pl.Series(ranks, dtype=pl.Int32),
        "score": scores,
    })


def _scale(
    queries: pl.DataFrame, positives: pl.DataFrame, query_vectors: Float32s, passage_vectors: Float32s
) -> pl.DataFrame:
    """Mean and deviation of the scores over all passages, for the queries that have positives."""
    asked = queries.join(positives, on="query_id", how="semi", maintain_order="left")
    mean, deviation = np.empty(0), np.empty(0)
    if asked.height:
        mean, deviation = score_moments(_rows(query_vectors, asked["row"].to_numpy()), passage_vectors)
    return asked.select("query_id", mean=pl.Series(mean), deviation=pl.Series(deviation))


def _listed(positives: pl.DataFrame, suspicious: pl.DataFrame) -> pl.DataFrame:
    """List the positives of suspicious queries, the most suspicious query first."""

    def deviations(score: str) -> pl.Expr:
        return (pl.col(score) - pl.col("mean")) / pl.col("deviation")

    return (
        positives
        .join(suspicious, on="query_id")
        .with_columns(best=deviations("best_score"), deviations=deviations("score"))
        .sort("best", *PAIR)
        .select(*PAIR, pl.col("score", "deviations").cast(pl.Float32))
    )


def _rows(vectors: Float32s, rows: NDArray[Any]) -> Float32s:
    return vectors if len(rows) == len(vectors) else vectors[rows]


def choose_within(
    guarded: pl.DataFrame,
    corpus: pl.DataFrame,
    excluded: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
    recipe: Recipe,
    *,
    progress: Progress | None = None,
) -> rules.Chosen:
    """Choose each query's first negatives between its floor and its ceiling, at any depth.

    Every passage at the floor or above it is looked at: it is excluded for a reason, above the ceiling
    (`margin`), beyond what is kept, or a negative. Ranks count all passages. Method: `exact_window`.

    Args:
        guarded: ``query_id``, ``positive_score``, ``mean``, ``deviation``: the queries to serve.
        corpus: ``passage_id``, sorted.
        excluded: From `builders.mining.recipe.exclusions`; pairs of other queries are left aside.
        query_vectors: float32 (queries, d), in the row order of `guarded`.
        passage_vectors: float32 (passages, d), in the row order of `corpus`.
        recipe: One of unbounded depth.
        progress: Called with steps done and steps in all.
    """
    masked, reasons = _masked(guarded, corpus, excluded)
    limits = guarded.select(
        floor=rules.floor(recipe) + 0 * pl.col("positive_score"), ceiling=rules.ceiling(recipe)
    )
    window = exact_window(
        query_vectors,
        passage_vectors,
        limits["floor"].to_numpy(),
        limits["ceiling"].to_numpy(),
        masked,
        recipe.keep + 1,  # one more tells whether the id decided
        progress=progress,
    )
    rows, places, indices, scores = window.found.flat()
    ranks = window.above[rows] + places + _masked_ahead(masked, window.masked_scores, rows, indices, scores)
    kept = places <= recipe.keep
    at_floor = window.masked_scores > -np.inf
    by_reason = np.bincount(reasons[at_floor], minlength=len(rules.EXCLUSIONS)).tolist()
    counts = dict(zip(rules.EXCLUSIONS, by_reason, strict=True)) | {
        "margin": int(window.above.sum()),
        "beyond_keep": int(np.maximum(window.within - recipe.keep, 0).sum()),
    }
    after = np.flatnonzero(~kept)
    return rules.Chosen(
        kept=pl.DataFrame({
            "query_id": guarded["query_id"].gather(pl.Series(rows[kept])),
            "passage_id": corpus["passage_id"].gather(pl.Series(indices[kept])),
            "rank": ranks[kept],
            "score": scores[kept],
            "positive_score": guarded["positive_score"].gather(pl.Series(rows[kept])),
        }),
        looked_at=int(window.above.sum() + window.within.sum() + at_floor.sum()),
        dropped={reason: counts[reason] for reason in rules.reasons_of(recipe)},
        ties={"depth": 0, "keep": int((scores[after] == scores[after - 1]).sum())},
    )


def _masked(
    guarded: pl.DataFrame, corpus: pl.DataFrame, excluded: pl.DataFrame
) -> tuple[Masked, NDArray[np.uint8]]:
    """Return the excluded pairs as rows of queries and passages, and the place of each one's reason."""
    numbered = (
        excluded
        .join(guarded.select("query_id").with_row_index("row"), on="query_id")
        .join(corpus.select("passage_id").with_row_index("index"), on="passage_id")
        .select("row", "index", reason=pl.col("reason").cast(pl.Enum(rules.EXCLUSIONS)).to_physical())
        .sort("row", "index")
    )
    masked = Masked(numbered["row"].to_numpy(), numbered["index"].to_numpy())
    return masked, numbered["reason"].cast(pl.UInt8).to_numpy()


def _masked_ahead(
    masked: Masked, masked_scores: Float64s, rows: Int64s, indices: Int64s, scores: Float64s
) -> Int64s:
    """Count the masked pairs of a query that rank before each of its hits."""
    near = np.flatnonzero(masked_scores > -np.inf)
    row = np.concatenate([masked.row[near], rows]).astype(np.int64)
    index = np.concatenate([masked.index[near], indices]).astype(np.int64)
    score = np.concatenate([masked_scores[near], scores])
    order = np.lexsort((index, -score, row))
    is_masked = order < near.size
    before = np.cumsum(is_masked)
    first_of_row = np.searchsorted(row[order], row[order])
    ahead = before - np.concatenate([[0], before])[first_of_row]
    found = np.empty(rows.size, np.int64)
    found[order[~is_masked] - near.size] = ahead[~is_masked]
    return found

"""Mining: frames and vectors in, hard negatives and their report out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.errors import EncoderError
from builders.lock.lock import MiningReport
from builders.mining import recipe as rules
from builders.mining.hits import Hits, joined
from builders.mining.scan import Masked, Progress, exact_topk, exact_window
from builders.mining.scores import Float32s, Float64s, Int64s, score_moments, score_pairs
from builders.mining.spread import Spread, numbered
from builders.mining.yields import LOOK, build_report
from builders.spec import PAIR, Recipe


@dataclass(frozen=True, slots=True)
class Mined:
    """The hard negatives of a dataset.

    Attributes:
        negatives: ``query_id`` str, ``passage_id`` str, ``rank`` int32 (1-based, among all passages),
            ``score`` float32 (cosine), ``positive_score`` float32 (the guard's), sorted by query and rank.
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
    occupations: pl.DataFrame | None = None,
    progress: Progress | None = None,
) -> Mined:
    """Mine hard negatives by a recipe, over all passages: `mine_each` with one."""
    frames, vectors = (queries, corpus, qrels, undecided), (query_vectors, passage_vectors)
    more = classes, occupations
    (mined,) = mine_each(*frames, *vectors, [recipe], *more, progress=progress)
    return mined


def mine_each(
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    qrels: pl.DataFrame,
    undecided: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
    recipes: Sequence[Recipe],
    classes: pl.DataFrame | None = None,
    occupations: pl.DataFrame | None = None,
    *,
    progress: Progress | None = None,
) -> list[Mined]:
    """Mine hard negatives by several recipes, over all passages; positives and rankings are scored once.

    Neither the order of any frame nor threads or blocks change the result. Method: the procedure in
    `builders.mining.recipe`, on `exact_topk` for a recipe of bounded depth, else on `exact_window`.

    Args:
        queries: ``query_id``, ``text``; no id twice.
        corpus: ``passage_id``, ``title``, ``text``; no id twice.
        qrels: ``query_id``, ``passage_id`` of these queries and passages; each row is a labelled positive.
        undecided: ``query_id``, ``passage_id``: pairs that are neither positive nor negative.
        query_vectors: float32 (queries, d), of length 1, in the row order of `queries`.
        passage_vectors: float32 (passages, d), of length 1, in the row order of `corpus`.
        recipes: The rules.
        classes: ``passage_id``, ``class``: see `builders.spec.Relations`; used by recipes with `equivalence`.
        occupations: ``passage_id``, ``occupation``, a passage once; used by recipes with `per_occupation`.
        progress: Called with steps done and steps in all, of each scan.

    Returns:
        What each recipe mined, in the order of `recipes`.
    """
    for recipe in recipes:
        rules.require_valid(recipe)
    queries, query_vectors = _by_id("queries", "query_id", ["text"], queries, query_vectors)
    corpus, passage_vectors = _by_id("passages", "passage_id", ["title", "text"], corpus, passage_vectors)
    qrels, undecided = (frame.select(PAIR).unique().sort(PAIR) for frame in (qrels, undecided))
    positives = _scored(qrels, queries, corpus, query_vectors, passage_vectors)
    scale = _scale(queries, positives, query_vectors, passage_vectors)
    guarded = rules.guards(positives).join(scale, on="query_id").sort("query_id")
    rankings: dict[tuple[int, str], pl.DataFrame] = {}
    mined = []
    for recipe in recipes:
        look = max(recipe.depth or 0, LOOK), recipe.depth_counts
        if look not in rankings:
            rankings[look] = _ranking(
                queries, corpus, query_vectors, passage_vectors, guarded, look, progress
            )
        excluded = rules.exclusions(
            qrels, undecided, queries, corpus, classes if recipe.equivalence else None
        )
        labelled = rules.label(rankings[look], excluded, guarded, occupations)
        served = guarded if recipe.floor is None else guarded.filter(~rules.is_suspicious(recipe))
        if recipe.depth is None:
            rows = served.join(queries, on="query_id", maintain_order="left")["row"].to_numpy()
            vectors = _rows(query_vectors, rows), passage_vectors
            chosen = choose_within(served, corpus, excluded, *vectors, recipe, occupations, progress=progress)
        else:
            asked = labelled.join(served, on="query_id", how="semi", maintain_order="left")
            chosen = rules.choose(asked, recipe)
        types = {"rank": pl.Int32, "score": pl.Float32, "positive_score": pl.Float32}
        report = build_report(queries, qrels, guarded, chosen, labelled, recipe)
        negatives = chosen.kept.cast(pl.Schema(types)).sort("query_id", "rank")
        suspicious = _listed(positives, guarded.filter(rules.is_suspicious(recipe)))
        mined.append(Mined(negatives, report, scale, suspicious))
    return mined


def _by_id(
    what: str, key: str, texts: list[str], frame: pl.DataFrame, vectors: Float32s
) -> tuple[pl.DataFrame, Float32s]:
    """Sort rows and their vectors by id."""
    if len(vectors) != frame.height:
        raise EncoderError(f"{what}: {frame.height} rows, {len(vectors)} vectors", hint="Encode every row.")
    ids = frame[key]
    rows = frame.select(key, pl.col(texts).fill_null(""))
    if not ids.is_sorted():
        order = ids.arg_sort()
        rows, vectors = rows[order], vectors[order.to_numpy()]
    return rows.with_row_index("row"), vectors


def _scored(
    qrels: pl.DataFrame,
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    query_vectors: Float32s,
    passage_vectors: Float32s,
) -> pl.DataFrame:
    """Score every positive straight from its vectors, wherever it ranks."""
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
    look: tuple[int, str],
    progress: Progress | None,
) -> pl.DataFrame:
    """Rank the passages of the guarded queries, as deep as recipe and report look, and one more.

    `look` is a depth and what it counts; see `Recipe`.
    """
    asked = queries.join(guarded, on="query_id", maintain_order="left")
    depth, counts = look
    depths = np.full(asked.height, depth + 1)
    if counts == "candidates":
        depths += asked["positives"].to_numpy()
    vectors = _rows(query_vectors, asked["row"].to_numpy())
    found = exact_topk(vectors, passage_vectors, depths, progress=progress)
    return pl.DataFrame({
        "query_id": asked["query_id"].gather(pl.Series(found.row)),
        "passage_id": corpus["passage_id"].gather(pl.Series(found.index)),
        "rank": pl.Series(found.places(), dtype=pl.Int32),
        "score": found.score,
    })


def _scale(
    queries: pl.DataFrame, positives: pl.DataFrame, query_vectors: Float32s, passage_vectors: Float32s
) -> pl.DataFrame:
    """Return mean and deviation of the scores over all passages, for the queries that have positives."""
    asked = queries.join(positives, on="query_id", how="semi", maintain_order="left")
    mean = deviation = np.empty(0)
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
        .with_columns(best=deviations("highest"), deviations=deviations("score"))
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
    occupations: pl.DataFrame | None = None,
    *,
    progress: Progress | None = None,
) -> rules.Chosen:
    """Choose each query's first negatives between its floor and its ceiling, at any depth.

    Every passage at the floor or above it is looked at: it is excluded for a reason, above the ceiling
    (`margin`), beyond what is kept, one too many of its occupation, or a negative. Ranks count all passages.
    Method: `exact_window`, asked again and deeper for queries whose first passages share an occupation.

    The queries to serve are in `guarded`, from `builders.mining.recipe.guards`, with ``mean`` and
    ``deviation``; `corpus` is sorted by id; vectors are in the row order of these two.
    """
    masked, reasons = _masked(guarded, corpus, excluded)
    guards = guarded[recipe.guard]
    limits = guarded.select(floor=rules.floor(recipe) + 0 * guards, ceiling=rules.ceiling(recipe))
    edges = limits["floor"].to_numpy(), limits["ceiling"].to_numpy()
    wanted = recipe.keep + 1  # one more tells whether the id decided
    window = exact_window(query_vectors, passage_vectors, *edges, masked, wanted, progress=progress)

    def ask(rows: Int64s, k: Int64s) -> Hits:
        floor, ceiling = (edge[rows] for edge in edges)
        vectors, excluded_here = query_vectors[rows], masked.of_queries(rows)
        deeper = exact_window(vectors, passage_vectors, floor, ceiling, excluded_here, k).found
        return Hits(rows[deeper.row], deeper.index, deeper.score)

    spread = Spread(numbered(corpus, occupations), recipe.per_occupation)
    found = spread.deep_enough(window.found, window.within, wanted, ask)
    spaced, place = spread.first(found), spread.places(found)
    kept = spaced & (place <= recipe.keep)
    crowded = int((~spaced & (place < recipe.keep)).sum())
    ranks = window.above[found.row] + found.places() + _masked_ahead(masked, window.masked_scores, found)
    at_floor = window.masked_scores > -np.inf
    by_reason = np.bincount(reasons[at_floor], minlength=len(rules.EXCLUSIONS)).tolist()
    counts = dict(zip(rules.EXCLUSIONS, by_reason, strict=True)) | {
        "margin": int(window.above.sum()),
        "occupation": crowded,
        "beyond_keep": int(window.within.sum()) - int(kept.sum()) - crowded,
    }
    eligible, chosen = found.at(spaced), found.at(kept)
    after = np.flatnonzero(eligible.places() == wanted)
    return rules.Chosen(
        kept=pl.DataFrame({
            "query_id": guarded["query_id"].gather(pl.Series(chosen.row)),
            "passage_id": corpus["passage_id"].gather(pl.Series(chosen.index)),
            "rank": ranks[kept],
            "score": chosen.score,
            "positive_score": guards.gather(pl.Series(chosen.row)),
        }),
        looked_at=int(window.above.sum() + window.within.sum() + at_floor.sum()),
        dropped={reason: counts[reason] for reason in rules.reasons_of(recipe)},
        ties={"depth": 0, "keep": int((eligible.score[after] == eligible.score[after - 1]).sum())},
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


def _masked_ahead(masked: Masked, masked_scores: Float64s, found: Hits) -> Int64s:
    """Count the masked pairs of a query that rank before each of its hits."""
    near = np.flatnonzero(masked_scores > -np.inf)
    both = joined([Hits(masked.row[near], masked.index[near], masked_scores[near]), found])
    order = np.lexsort((both.index, -both.score, both.row))
    is_masked = order < near.size
    before = np.cumsum(is_masked)
    rows = both.row[order]
    ahead: Int64s = before - np.concatenate([[0], before])[np.searchsorted(rows, rows)]
    return ahead[~is_masked]  # hits come in this order

"""Rules on hard negatives, recomputed from the published tables and the lock's recipe alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import polars as pl
from pydantic import TypeAdapter, ValidationError

from builders.checks.findings import Code, line
from builders.checks.frames import astray, repeated_pairs, stacked
from builders.checks.model import Finding, Rule, Severity, Subject
from builders.spec import RECIPES, Recipe
from builders.tables import PAIR, Kind

SCORE_ROUNDING = 2.0**-23
"""Two cosines rounded to float32 differ from their float64 difference by no more than this."""
_BEYOND_ONE = 1e-6
LEAST_YIELD = 0.5

MINE = "Mine again from these tables: the miner and the tables disagree."

DANGLING_QUERY = Code(
    "dangling-negatives-query", Severity.ERROR, "negatives whose query is in no split", MINE
)
DANGLING_CORPUS = Code(
    "dangling-negatives-corpus", Severity.ERROR, "negatives whose passage is not there", MINE
)
WRONG_SPLIT = Code("negatives-wrong-split", Severity.ERROR, "negatives whose query is in another split", MINE)
POSITIVE = Code("negative-is-positive", Severity.ERROR, "negatives that are positives of their query", MINE)
TWIN = Code("negative-twin", Severity.ERROR, "negatives with the text of a positive or of their query", MINE)
UNDECIDED = Code("negative-undecided", Severity.ERROR, "negatives that are undecided pairs", MINE)
UNKNOWN = Code(
    "undecided-unknown",
    Severity.NOTE,
    "tables of undecided pairs that are not there, so that no negative was compared with them",
    "Build the config again: the build keeps undecided.parquet beside the lock.",
)
MARGIN = Code(
    "negative-above-margin", Severity.ERROR, "negatives closer to the positive than the margin", MINE
)
KEEP = Code("negatives-over-keep", Severity.ERROR, "queries with more negatives than the recipe keeps", MINE)
DUPLICATE = Code(
    "negative-duplicate", Severity.ERROR, "pairs that occur more than once in the negatives", MINE
)
ORDER = Code(
    "negative-order", Severity.ERROR, "negatives whose rank or score breaks their query's order", MINE
)
DEPTH = Code("negative-depth", Severity.ERROR, "negatives ranked deeper than the recipe looks", MINE)
SCORE = Code("negative-score", Severity.ERROR, "negatives with a score that is no cosine", MINE)
GUARD = Code("positive-score", Severity.ERROR, "queries whose negatives name different positive scores", MINE)
RECIPE = Code(
    "mining-recipe",
    Severity.ERROR,
    "differences between the recipe of the config, or the one of that name, and of the lock",
    "Build again: the recipe changed since these negatives were mined.",
)
CHOSEN = Code(
    "recipe-chosen",
    Severity.GATE,
    "recipes that were asked for instead of the config's",
    "Build without --recipe, or set the recipe in the config: a switch is a major version.",
)
REPORT = Code(
    "mining-report",
    Severity.ERROR,
    "figures of the mining report that the published rows do not have",
    "The report must be counted from the rows that are written.",
)
YIELD = Code(
    "mining-yield",
    Severity.GATE,
    "queries without a hard negative",
    "Choose another recipe, or waive it with this count: the card says the yield first.",
)
CODES = (
    *(DANGLING_QUERY, DANGLING_CORPUS, WRONG_SPLIT, POSITIVE, TWIN, UNDECIDED, UNKNOWN, MARGIN, KEEP),
    *(DUPLICATE, ORDER, DEPTH, SCORE, GUARD, RECIPE, CHOSEN, REPORT, YIELD),
)

_ROW = line("hard_negatives/{} {} → {}", "split", *PAIR)


def recipe_of(subject: Subject) -> Recipe:
    """Return the recipe that mined; the config's where the lock has none that can be read."""
    assert subject.spec.mining is not None
    try:
        return TypeAdapter(Recipe).validate_python(subject.mining and subject.mining.recipe)
    except ValidationError:
        return subject.spec.mining.recipe


def ends(subject: Subject) -> Iterator[Finding]:
    """Both ends of a negative are published, the query in the same split; a pair occurs once."""
    lost = astray(subject, Kind.HARD_NEGATIVES)
    yield from DANGLING_QUERY.rows(lost.unknown, _ROW)
    yield from WRONG_SPLIT.rows(lost.elsewhere, _ROW)
    yield from DANGLING_CORPUS.rows(lost.dangling, _ROW)
    repeated = repeated_pairs(stacked(subject, Kind.HARD_NEGATIVES))
    yield from DUPLICATE.rows(repeated, line("{} → {}: {} times", *PAIR, "times"))


def relevance(subject: Subject) -> Iterator[Finding]:
    """A negative is neither a positive of its query in any split, nor undecided, nor a twin of either."""
    negatives, qrels = stacked(subject, Kind.HARD_NEGATIVES), stacked(subject, Kind.QRELS)
    yield from POSITIVE.rows(negatives.join(qrels, on=PAIR, how="semi"), _ROW)
    yield from TWIN.rows(_twins(subject, negatives.join(qrels, on=PAIR, how="anti")), _ROW)
    if subject.undecided is None:
        yield from UNKNOWN.counted(1)
    else:
        yield from UNDECIDED.rows(negatives.join(subject.undecided, on=PAIR, how="semi"), _ROW)


def _twins(subject: Subject, negatives: pl.DataFrame) -> pl.DataFrame:
    """Return the negatives whose text, under whatever title, is a positive's or their query's."""
    texts = stacked(subject, Kind.CORPUS).select("text", **{"corpus-id": "_id"})
    queries = stacked(subject, Kind.QUERIES).select("text", **{"query-id": "_id"})
    qrels = stacked(subject, Kind.QRELS).join(negatives, on="query-id", how="semi")
    positives = qrels.select(PAIR).join(texts, on="corpus-id").select("text", "query-id")
    relevant = pl.concat([positives, queries])
    return negatives.join(texts, on="corpus-id").join(relevant, on=["query-id", "text"], how="semi")


def margin(subject: Subject) -> Iterator[Finding]:
    """A negative's score is not above its guard's minus the margin, beyond the rounding to float32."""
    recipe = recipe_of(subject)
    guard = pl.col("positive_score").cast(pl.Float64)
    negatives = stacked(subject, Kind.HARD_NEGATIVES)
    if recipe.margin_kind == "deviations":
        if subject.scale is None:
            return
        negatives = negatives.join(subject.scale, on="query-id", how="left")
    units = {"absolute": pl.lit(1.0), "relative": guard.abs(), "deviations": pl.col("deviation")}
    negatives = negatives.with_columns(limit=guard - recipe.margin * units[recipe.margin_kind])
    above = negatives.filter(pl.col("score").cast(pl.Float64) > pl.col("limit") + SCORE_ROUNDING)
    yield from MARGIN.rows(above, line("{} → {}: {} above {}", *PAIR, "score", "limit"))


def scores(subject: Subject) -> Iterator[Finding]:
    """Scores are cosines (NaN compares greater than any), and one positive guards a query."""
    negatives = stacked(subject, Kind.HARD_NEGATIVES)
    cosines = pl.col("score", "positive_score")
    wrong = negatives.filter(pl.any_horizontal(cosines.abs() > 1 + _BEYOND_ONE))
    yield from SCORE.rows(wrong, line("{} → {}: {}, positive {}", *PAIR, "score", "positive_score"))
    guards = negatives.group_by("query-id").agg(guards=pl.col("positive_score").n_unique())
    yield from GUARD.rows(guards.filter(pl.col("guards") > 1), line("{}: {} scores", "query-id", "guards"))


def ranking(subject: Subject) -> Iterator[Finding]:
    """Ranks count all passages: they rise while scores fall, within depth and keep."""
    recipe, qrels = recipe_of(subject), stacked(subject, Kind.QRELS)
    negatives = stacked(subject, Kind.HARD_NEGATIVES).sort("query-id", "rank")
    before = negatives.with_columns(pl.col("rank", "score").shift(1).over("query-id").name.suffix("_before"))
    broken = (pl.col("rank") <= pl.col("rank_before")) | (pl.col("score") > pl.col("score_before"))
    out_of_order = before.filter((pl.col("rank") < 1) | broken)
    yield from ORDER.rows(out_of_order, line("{} → {}: rank {}, score {}", *PAIR, "rank", "score"))

    positives = qrels.unique(PAIR).group_by("query-id").len("positives")
    extra = pl.col("positives").fill_null(0) if recipe.depth_counts == "candidates" else pl.lit(0)
    passages = stacked(subject, Kind.CORPUS).height
    deepest = pl.min_horizontal(extra + (passages if recipe.depth is None else recipe.depth), passages)
    limited = negatives.join(positives, on="query-id", how="left").with_columns(deepest=deepest)
    deeper = limited.filter(pl.col("rank") > pl.col("deepest"))
    yield from DEPTH.rows(deeper, line("{} → {}: rank {} of {}", *PAIR, "rank", "deepest"))

    numbers = negatives.group_by("query-id").len("negatives")
    over = numbers.filter(pl.col("negatives") > recipe.keep)
    yield from KEEP.rows(over, line("{}: {} negatives", "query-id", "negatives"))


def record(subject: Subject) -> Iterator[Finding]:
    """The lock's recipe is the config's, or another by name, and its report counts what is published."""
    assert subject.spec.mining is not None
    if subject.mining is None:
        yield from RECIPE.counted(1, ["the lock records no mining"])
        return
    locked, own = subject.mining.recipe, subject.spec.mining.recipe
    other = RECIPES.get(str(locked.get("name")), own)
    wanted = asdict(own if locked.get("name") == own.name else other)
    if wanted["name"] != own.name:
        yield from CHOSEN.counted(1, [f"{wanted['name']}, config {own.name}"])
    names = sorted(name for name in {*wanted, *locked} if wanted.get(name) != locked.get(name))
    differences = [f"{name}: {locked.get(name)!r}, config {wanted.get(name)!r}" for name in names]
    yield from RECIPE.counted(len(names), differences)
    published, reported = _counted(subject), _reported(subject.mining.report)
    wrong = [name for name, count in published.items() if reported[name] != count]
    yield from REPORT.counted(
        len(wrong), (f"{name}: {reported[name]!r}, published {published[name]}" for name in wrong)
    )


def _counted(subject: Subject) -> dict[str, object]:
    """Count from the published rows what the report says first."""
    queries = stacked(subject, Kind.QUERIES).select("_id")
    numbers = stacked(subject, Kind.HARD_NEGATIVES).group_by("query-id").len("number")
    each = queries.join(numbers, left_on="_id", right_on="query-id", how="left").fill_null(0)
    by_count = each.group_by("number").len().sort("number").rows()
    return {
        "negatives": int(numbers["number"].sum()),
        "queries": queries.height,
        "yield": each.filter(pl.col("number") > 0).height,
        "by_count": {str(number): count for number, count in by_count},
    }


def _reported(report: Mapping[str, Any]) -> dict[str, object]:
    by_count, share = report.get("by_count"), report.get("yield")
    filled = {key: n for key, n in by_count.items() if n} if isinstance(by_count, Mapping) else by_count
    return {
        "negatives": report.get("negatives"),
        "queries": report.get("queries"),
        "yield": share.get("any") if isinstance(share, Mapping) else share,
        "by_count": filled,
    }


def harvest(subject: Subject) -> Iterator[Finding]:
    """Below half of the queries with a negative, the table is not what its name promises."""
    negatives, queries = stacked(subject, Kind.HARD_NEGATIVES), stacked(subject, Kind.QUERIES)
    without = queries.join(negatives, left_on="_id", right_on="query-id", how="anti")
    served = queries.height - without.height
    if served < LEAST_YIELD * queries.height:
        share = f"only {served:,} of {queries.height:,} queries ({served / queries.height:.1%})"
        yield from YIELD.rows(
            without, line("queries/{} {}", "split", "_id"), message=f"{share} have a hard negative"
        )


RULES: tuple[Rule, ...] = (ends, relevance, margin, scores, ranking, record, harvest)

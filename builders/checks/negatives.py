"""Rules on hard negatives, recomputed from the published tables and the lock's recipe alone."""

from collections.abc import Iterator
from dataclasses import asdict

import polars as pl
from pydantic import TypeAdapter, ValidationError

from builders.checks.finding import Finding, error, gate, note
from builders.checks.ids import pair_faults
from builders.checks.subject import Pairs, Rule
from builders.spec import PAIR, RECIPES, Recipe
from builders.tables import Kind

_SCORE_ROUNDING = 2.0**-23
"""Two cosines rounded to float32 differ from their float64 difference by no more than this."""
_BEYOND_ONE = 1e-6
LEAST_YIELD = 0.5
"""Below this share of queries with a hard negative, a build has a gate and the card begins with it."""

_MINE = "Mine again from these tables: the miner and the tables disagree."

_DANGLING_QUERY = error("dangling-negatives-query", "negatives whose query is in no split", _MINE)
_DANGLING_CORPUS = error("dangling-negatives-corpus", "negatives whose passage is not there", _MINE)
_WRONG_SPLIT = error("negatives-wrong-split", "negatives whose query is in another split", _MINE)
_POSITIVE = error("negative-is-positive", "negatives that are positives of their query", _MINE)
_TWIN = error("negative-twin", "negatives with the text of a positive or of their query", _MINE)
_UNDECIDED = error("negative-undecided", "negatives that are undecided pairs", _MINE)
_UNDECIDED_UNKNOWN = note(
    "undecided-unknown",
    "tables of undecided pairs that are not there, so that no negative was compared with them",
    "Build the config again: the build keeps undecided.parquet beside the lock.",
)
_MARGIN = error("negative-above-margin", "negatives closer to the positive than the margin", _MINE)
_KEEP = error("negatives-over-keep", "queries with more negatives than the recipe keeps", _MINE)
_DUPLICATE = error("negative-duplicate", "pairs that occur more than once in the negatives", _MINE)
_ORDER = error("negative-order", "negatives whose rank or score breaks their query's order", _MINE)
_DEPTH = error("negative-depth", "negatives ranked deeper than the recipe looks", _MINE)
_SCORE = error("negative-score", "negatives with a score that is no cosine", _MINE)
_GUARD = error("positive-score", "queries whose negatives name different positive scores", _MINE)
_RECIPE = error(
    "mining-recipe",
    "differences between the recipe of the config, or the one of that name, and of the lock",
    "Build again: the recipe changed since these negatives were mined.",
)
_CHOSEN = gate(
    "recipe-chosen",
    "recipes that were asked for instead of the config's",
    "Build without --recipe, or set the recipe in the config: a switch is a major version.",
)
_REPORT = error(
    "mining-report",
    "figures of the mining report that the published rows do not have",
    "The report must be counted from the rows that are written.",
)
_YIELD = gate(
    "mining-yield",
    "queries without a hard negative",
    "Choose another recipe, or waive it with this count: the card says the yield first.",
)
_BELOW_FLOOR = error("negative-below-floor", "negatives that score lower than the recipe's floor", _MINE)
_SUSPICIOUS = error("negative-suspicious", "negatives of queries whose best positive is suspicious", _MINE)
_EQUIVALENT = error("negative-equivalent", "negatives that share a class with a positive", _MINE)
_SCALE_UNKNOWN = note(
    "scale-unknown",
    "tables that the recipe's rules need and that are not there, so that the rules were not applied",
    "Build the config again: the build keeps scale.parquet and classes.parquet beside the lock.",
)

_ROW = "hard_negatives/{split} {query_id} → {passage_id}"


def _recipe_of(subject: Pairs) -> Recipe:
    """Return the recipe that mined; the config's where the lock has none that can be read."""
    assert subject.spec.mining is not None
    try:
        return TypeAdapter(Recipe).validate_python(subject.mining and subject.mining.recipe)
    except ValidationError:
        return subject.spec.mining.recipe


def _relevance(subject: Pairs) -> Iterator[Finding]:
    """Demand published ends, once; refuse positives in any split, undecided pairs, and twins of either."""
    codes = (_DANGLING_QUERY, _WRONG_SPLIT, _DANGLING_CORPUS, _DUPLICATE)
    yield from pair_faults(subject, Kind.HARD_NEGATIVES, *codes)
    negatives, qrels = subject.negatives, subject.qrels
    yield from _POSITIVE.rows(negatives.join(qrels, on=PAIR, how="semi"), _ROW)
    yield from _TWIN.rows(_twins(subject, negatives.join(qrels, on=PAIR, how="anti")), _ROW)
    undecided = subject.beside.get("undecided")
    if undecided is None:
        yield from _UNDECIDED_UNKNOWN.counted(1)
    else:
        yield from _UNDECIDED.rows(negatives.join(undecided, on=PAIR, how="semi"), _ROW)


def _twins(subject: Pairs, negatives: pl.DataFrame) -> pl.DataFrame:
    """Return the negatives whose text, under whatever title, is a positive's or their query's."""
    texts = subject.corpus.select("text", "passage_id")
    queries = subject.queries.select("text", "query_id")
    qrels = subject.qrels.join(negatives, on="query_id", how="semi")
    positives = qrels.select(PAIR).join(texts, on="passage_id").select("text", "query_id")
    relevant = pl.concat([positives, queries])
    return negatives.join(texts, on="passage_id").join(relevant, on=["query_id", "text"], how="semi")


def _limits(subject: Pairs) -> Iterator[Finding]:
    """Refuse scores above the guard's minus the margin, or below the floor, beyond the rounding to float32.

    With a floor, refuse negatives of a query whose best positive is suspicious; which positive is the best is
    only published where the highest-scoring one guards.
    """
    recipe, scale = _recipe_of(subject), subject.beside.get("scale")
    negatives = subject.negatives
    score, guard = pl.col("score").cast(pl.Float64), pl.col("positive_score").cast(pl.Float64)
    if scale is not None:
        negatives = negatives.join(scale, on="query_id", how="left")
    if scale is not None or recipe.margin_kind != "deviations":
        units = {"absolute": pl.lit(1.0), "relative": guard.abs(), "deviations": pl.col("deviation")}
        limited = negatives.with_columns(limit=guard - recipe.margin * units[recipe.margin_kind])
        above = limited.filter(score > pl.col("limit") + _SCORE_ROUNDING)
        yield from _MARGIN.rows(above, "{query_id} → {passage_id}: {score} above {limit}")
    if scale is not None and recipe.floor is not None:
        mean, deviation = pl.col("mean"), pl.col("deviation")
        measured = negatives.with_columns(score, guard, floor=mean + recipe.floor * deviation)
        below = measured.filter(score < pl.col("floor") - _SCORE_ROUNDING)
        yield from _BELOW_FLOOR.rows(below, "{query_id} → {passage_id}: {score} below {floor}")
        if recipe.guard == "highest":
            least = mean + recipe.suspicious_below * deviation
            near = measured.filter(guard < least - _SCORE_ROUNDING)
            yield from _SUSPICIOUS.rows(near, "{query_id} → {passage_id}: positive {positive_score}")


def _scores(subject: Pairs) -> Iterator[Finding]:
    """Demand scores that are cosines (NaN compares greater than any), and one guard for a query."""
    negatives = subject.negatives
    cosines = pl.col("score", "positive_score")
    wrong = negatives.filter(pl.any_horizontal(cosines.abs() > 1 + _BEYOND_ONE))
    yield from _SCORE.rows(wrong, "{query_id} → {passage_id}: {score}, positive {positive_score}")
    guards = negatives.group_by("query_id").agg(guards=pl.col("positive_score").n_unique())
    yield from _GUARD.rows(guards.filter(pl.col("guards") > 1), "{query_id}: {guards} scores")


def _ranking(subject: Pairs) -> Iterator[Finding]:
    """Demand ranks over all passages: they rise while scores fall, within depth and keep."""
    recipe, qrels = _recipe_of(subject), subject.qrels
    negatives = subject.negatives.sort("query_id", "rank")
    before = negatives.with_columns(pl.col("rank", "score").shift(1).over("query_id").name.suffix("_before"))
    broken = (pl.col("rank") <= pl.col("rank_before")) | (pl.col("score") > pl.col("score_before"))
    out_of_order = before.filter((pl.col("rank") < 1) | broken)
    yield from _ORDER.rows(out_of_order, "{query_id} → {passage_id}: rank {rank}, score {score}")

    positives = qrels.unique(PAIR).group_by("query_id").len("positives")
    extra = pl.col("positives").fill_null(0) if recipe.depth_counts == "candidates" else pl.lit(0)
    passages = subject.corpus.height
    deepest = pl.min_horizontal(extra + (passages if recipe.depth is None else recipe.depth), passages)
    limited = negatives.join(positives, on="query_id", how="left").with_columns(deepest=deepest)
    deeper = limited.filter(pl.col("rank") > pl.col("deepest"))
    yield from _DEPTH.rows(deeper, "{query_id} → {passage_id}: rank {rank} of {deepest}")

    numbers = negatives.group_by("query_id").len("negatives")
    over = numbers.filter(pl.col("negatives") > recipe.keep)
    yield from _KEEP.rows(over, "{query_id}: {negatives} negatives")


def _record(subject: Pairs) -> Iterator[Finding]:
    """Hold the lock's recipe against the config's, or another by name, and its report against the rows."""
    assert subject.spec.mining is not None
    if subject.mining is None:
        yield from _RECIPE.lines(["the lock records no mining"])
        return
    locked, own = subject.mining.recipe, subject.spec.mining.recipe
    other = RECIPES.get(str(locked.get("name")), own)
    wanted = asdict(own if locked.get("name") == own.name else other)
    if wanted["name"] != own.name:
        yield from _CHOSEN.lines([f"{wanted['name']}, config {own.name}"])
    names = sorted(name for name in {*wanted, *locked} if wanted.get(name) != locked.get(name))
    yield from _RECIPE.lines([f"{name}: {locked.get(name)!r}, config {wanted.get(name)!r}" for name in names])
    report = subject.mining.report
    reported = {
        "negatives": report.negatives,
        "queries": report.queries,
        "yield": report.yield_.any,
        "by_count": {number: queries for number, queries in report.by_count.items() if queries},
    }
    yield from _REPORT.lines([
        f"{name}: {reported[name]!r}, published {count}"
        for name, count in _counted(subject).items()
        if reported[name] != count
    ])


def _counted(subject: Pairs) -> dict[str, object]:
    """Count the first figures of the report from the published rows."""
    numbers = subject.negatives.group_by("query_id").len("number")
    each = subject.queries.join(numbers, on="query_id", how="left")["number"].fill_null(0)
    return {
        "negatives": int(numbers["number"].sum()),
        "queries": len(each),
        "yield": int((each > 0).sum()),
        "by_count": {str(number): count for number, count in each.value_counts().sort("number").rows()},
    }


def _mining_yield(subject: Pairs) -> Iterator[Finding]:
    """Demand a hard negative for at least half of the queries."""
    negatives, queries = subject.negatives, subject.queries
    without, total = queries.join(negatives, on="query_id", how="anti"), queries.height
    served = total - without.height
    if served < LEAST_YIELD * total:
        share = f"only {served:,} of {total:,} queries ({served / total:.1%}) have a hard negative"
        yield from _YIELD.rows(without, "queries/{split} {query_id}", message=share)


def _equivalence(subject: Pairs) -> Iterator[Finding]:
    """Refuse negatives that share a class with a positive of their query in any split."""
    classes, negatives = subject.beside.get("classes"), subject.negatives
    if not _recipe_of(subject).equivalence or classes is None:
        return
    positives = subject.qrels.join(negatives, on="query_id", how="semi")
    taken = positives.join(classes, on="passage_id").select("query_id", "class").unique()
    shared = negatives.join(classes, on="passage_id").join(taken, on=["query_id", "class"])
    first = shared.sort("class").unique(PAIR, keep="first", maintain_order=True)
    yield from _EQUIVALENT.rows(first, "{query_id} → {passage_id}: {class}")


def _known(subject: Pairs) -> Iterator[Finding]:
    """Note tables that the recipe's rules need and that are missing."""
    recipe, names = _recipe_of(subject), []
    if recipe.floor is not None or recipe.margin_kind == "deviations":
        scale = subject.beside.get("scale")
        if scale is None:
            names.append("scale")
        else:
            lost = subject.negatives.join(scale, on="query_id", how="anti")
            names += [f"scale of {query}" for query in lost["query_id"].unique().sort()]
    if recipe.equivalence and "classes" not in subject.beside:
        names.append("classes")
    yield from _SCALE_UNKNOWN.lines(names)


_RULES: tuple[Rule, ...] = (
    _relevance,
    _limits,
    _scores,
    _ranking,
    _record,
    _mining_yield,
    _known,
    _equivalence,
)


def check(subject: Pairs) -> Iterator[Finding]:
    """Apply all rules on hard negatives, where the config mines."""
    for rule in _RULES if subject.spec.mining else ():
        yield from rule(subject)

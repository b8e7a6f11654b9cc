"""The rules by which ranked passages become hard negatives, or are dropped for a reason. Pure.

A ranking is labelled once (`label`) and can then be judged by several recipes (`judge`).
"""

from dataclasses import dataclass
from math import inf, isfinite

import polars as pl

from builders.errors import UsageError
from builders.spec import PAIR, Recipe

EXCLUSIONS = ("positive", "undecided", "positive_text", "query_text", "equivalent")
"""Why a pair can never be a hard negative; the first that fits counts."""
REASONS = (*EXCLUSIONS, "margin", "floor", "occupation", "beyond_keep")
"""Why a passage that was looked at is no hard negative; the first that fits counts."""
_MARGIN_KINDS = ("absolute", "relative", "deviations")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a recipe took and what it dropped.

    Attributes:
        kept: Hard negatives: ``query_id``, ``passage_id``, ``rank``, ``score``, ``positive_score`` (float64).
        looked_at: Passages within the depth; where it is unbounded, those at the floor or above it.
        dropped: How many of them are no hard negatives, by reason.
        ties: Queries where the id decided at the end of "depth" or of "keep".
    """

    kept: pl.DataFrame
    looked_at: int
    dropped: dict[str, int]
    ties: dict[str, int]


def require_valid(recipe: Recipe) -> None:
    """Refuse a recipe with a number out of its range, or an unknown choice."""
    depth = inf if recipe.depth is None else recipe.depth
    faults = {
        f"depth {recipe.depth} is below 1": depth < 1,
        f"keep {recipe.keep} is below 1": recipe.keep < 1,
        f"per_occupation {recipe.per_occupation} is below 1": (recipe.per_occupation or 1) < 1,
        f"keep {recipe.keep} exceeds depth {recipe.depth}": recipe.keep > depth,
        f"margin {recipe.margin} is negative or no number": not 0 <= recipe.margin < inf,
        f"floor {recipe.floor} is no number": recipe.floor is not None and not isfinite(recipe.floor),
        f"suspicious_below {recipe.suspicious_below} is no number": not isfinite(recipe.suspicious_below),
        f"guard {recipe.guard!r} is unknown": recipe.guard not in {"lowest", "highest"},
        f"margin_kind {recipe.margin_kind!r} is unknown": recipe.margin_kind not in _MARGIN_KINDS,
        f"depth_counts {recipe.depth_counts!r} is unknown": recipe.depth_counts not in {"all", "candidates"},
    }
    if found := [fault for fault, holds in faults.items() if holds]:
        raise UsageError(f"recipe {recipe.name!r}: {'; '.join(found)}", hint="Correct it in the config.")


def exclusions(
    qrels: pl.DataFrame,
    undecided: pl.DataFrame,
    queries: pl.DataFrame,
    corpus: pl.DataFrame,
    classes: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Find every pair that can never be a hard negative; the arguments are those of `mine`.

    Texts are compared in NFC with white space folded. A passage goes by two texts, its own and the one that
    is encoded (title and text); it equals a positive when any of theirs agree. It is equivalent when it
    shares a class with a positive; without `classes` none is.

    Returns:
        ``query_id``, ``passage_id``, ``reason``: one row per pair, with the first of `EXCLUSIONS` that fits.
    """
    encoded = pl.concat_str("title", "text", separator=" ")
    forms = [
        frame.select(name, form=text.str.normalize("NFC").str.replace_all(r"\s+", " ").str.strip_chars())
        for frame, name, text in (
            (queries, "query_id", pl.col("text")),
            (corpus, "passage_id", pl.col("text")),
            (corpus, "passage_id", encoded),
        )
    ]
    coded = pl.concat(forms, how="diagonal").filter(pl.col("form") != "")
    coded = coded.select(*PAIR, code=pl.col("form").rank("dense"))
    asked = coded.drop_nulls("query_id").select("query_id", "code")
    told = coded.drop_nulls("passage_id").select("passage_id", "code").unique()
    answered = qrels.join(told, on="passage_id").select("query_id", "code").unique()
    pairs = {
        "positive": qrels,
        "undecided": undecided,
        "positive_text": answered.join(told, on="code"),
        "query_text": asked.join(told, on="code"),
    }
    if classes is not None:
        pairs["equivalent"] = qrels.join(classes, on="passage_id").select("query_id", "class").unique()
        pairs["equivalent"] = pairs["equivalent"].join(classes, on="class")
    frames = [frame.select(*PAIR, reason=pl.lit(reason)) for reason, frame in pairs.items()]
    return pl.concat(frames).unique(PAIR, keep="first", maintain_order=True)


def guards(positives: pl.DataFrame) -> pl.DataFrame:
    """Return ``query_id``, the number of its ``positives``, and their ``lowest`` and ``highest`` score."""
    score = pl.col("score")
    return positives.group_by("query_id").agg(positives=pl.len(), lowest=score.min(), highest=score.max())


def is_suspicious(recipe: Recipe) -> pl.Expr:
    """Return whether a query's best positive is near its mean: ``highest``, ``mean``, ``deviation``."""
    return pl.col("highest") < pl.col("mean") + recipe.suspicious_below * pl.col("deviation")


def ceiling(recipe: Recipe) -> pl.Expr:
    """Return the highest score of a negative, from the guard and, for such a margin, ``deviation``.

    A relative margin is a share of the guard's absolute score: the ceiling of a negative one lies below it.
    """
    guard = pl.col(recipe.guard)
    units = {"absolute": pl.lit(1.0), "relative": guard.abs(), "deviations": pl.col("deviation")}
    return guard - recipe.margin * units[recipe.margin_kind]


def floor(recipe: Recipe) -> pl.Expr:
    """Return the lowest score of a negative, from ``mean`` and ``deviation`` if the recipe has a floor."""
    return pl.lit(-inf) if recipe.floor is None else pl.col("mean") + recipe.floor * pl.col("deviation")


def label(
    ranking: pl.DataFrame,
    excluded: pl.DataFrame,
    guarded: pl.DataFrame,
    occupations: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Join what the rules need to ``query_id``, ``passage_id``, ``rank``, ``score`` of a ranking.

    `excluded` is from `exclusions`, `guarded` from `guards`, with ``mean`` and ``deviation``; `occupations`
    are ``passage_id``, ``occupation``.
    """
    if occupations is None:
        occupations = pl.DataFrame(schema={"passage_id": pl.String, "occupation": pl.String})
    return (
        ranking
        .join(guarded.drop("positives"), on="query_id")
        .join(excluded, on=PAIR, how="left")
        .join(occupations, on="passage_id", how="left")
        .sort("query_id", "rank")
    )


def judge(labelled: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Apply a recipe of bounded depth to a ranking: look at the top, drop by rule, keep the first.

    Scores are compared in float64. A candidate is dropped when its score is greater than the ceiling or less
    than the floor; equal stays. Returns the rows that were looked at, ``reason`` null for the hard negatives.
    """
    too_close, too_far = pl.col("score") > ceiling(recipe), pl.col("score") < floor(recipe)
    off = pl.when(too_close).then(pl.lit("margin")).when(too_far).then(pl.lit("floor"))
    looked_at = labelled.filter(_within_depth(recipe)).with_columns(reason=pl.coalesce("reason", off))
    survives, limit = pl.col("reason").is_null(), recipe.per_occupation
    crowded = pl.lit(value=False)
    if limit is not None:
        alike = survives.cast(pl.Int64).cum_sum().over("query_id", "occupation")
        crowded = survives & pl.col("occupation").is_not_null() & (alike > limit)
    looked_at = looked_at.with_columns(taken=survives & ~crowded, crowded=crowded)
    taken = pl.col("taken").cast(pl.Int64).cum_sum().over("query_id")
    late = (pl.col("taken") & (taken > recipe.keep)) | (pl.col("crowded") & (taken >= recipe.keep))
    off = pl.when(late).then(pl.lit("beyond_keep")).when("crowded").then(pl.lit("occupation"))
    return looked_at.with_columns(reason=pl.coalesce("reason", off)).drop("taken", "crowded")


def choose(labelled: pl.DataFrame, recipe: Recipe) -> Chosen:
    """Judge a ranking that reaches one rank beyond what the recipe looks at, if there is one."""
    judged = judge(labelled, recipe)
    counts = dict(judged["reason"].drop_nulls().value_counts().rows())
    kept = judged.filter(pl.col("reason").is_null())
    kept = kept.select(*PAIR, "rank", "score", positive_score=pl.col(recipe.guard))
    dropped = {reason: counts.get(reason, 0) for reason in reasons_of(recipe)}
    return Chosen(kept, judged.height, dropped, _ties(labelled, judged))


def reasons_of(recipe: Recipe) -> list[str]:
    """Return the reasons that a recipe can give, in the order of `REASONS`."""
    absent = {
        "equivalent": not recipe.equivalence,
        "occupation": recipe.per_occupation is None,
        # What an unbounded recipe does not look at any more is below the floor.
        "floor": recipe.floor is None or recipe.depth is None,
    }
    return [reason for reason in REASONS if not absent.get(reason)]


def _ties(labelled: pl.DataFrame, judged: pl.DataFrame) -> dict[str, int]:
    """Count the queries whose last passage in depth, or last negative kept, scores as the next one."""
    ends = judged.group_by("query_id").agg(last=pl.col("rank").max(), end_score=pl.col("score").min())
    after = labelled.join(ends, on="query_id").filter(pl.col("rank") == pl.col("last") + 1)
    reason, score = pl.col("reason"), pl.col("score")
    cuts = judged.group_by("query_id").agg(
        kept=score.filter(reason.is_null()).min(), late=score.filter(reason == "beyond_keep").max()
    )
    return {
        "depth": after.filter(score == pl.col("end_score")).height,
        "keep": cuts.filter(pl.col("kept") == pl.col("late")).height,
    }


def _within_depth(recipe: Recipe) -> pl.Expr:
    if recipe.depth_counts == "all":
        return pl.col("rank") <= pl.lit(recipe.depth)
    counts = pl.col("reason").ne_missing("positive").cast(pl.Int64)
    before = counts.cum_sum().over("query_id") - counts
    return before < recipe.depth

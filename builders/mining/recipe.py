"""The rules by which ranked passages become hard negatives, or are dropped for a reason. Pure.

Frames are keyed by ``query-id`` and ``corpus-id``. A ranking is labelled once (`label`) and can then be
judged by several recipes (`judge`).
"""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl

from builders.errors import UsageError
from builders.spec import Recipe

PAIR = ["query-id", "corpus-id"]
REASONS = ("positive", "undecided", "positive_text", "query_text", "margin", "beyond_keep")
"""Why a passage that was looked at is no hard negative; the first that fits counts."""


def require_valid(recipe: Recipe) -> None:
    """Refuse a recipe that cannot be meant.

    Raises:
        UsageError: Depth or keep is below 1, keep exceeds depth, the margin is negative or no number, or a
            choice is unknown.
    """
    faults = {
        f"depth {recipe.depth} is below 1": recipe.depth < 1,
        f"keep {recipe.keep} is below 1": recipe.keep < 1,
        f"keep {recipe.keep} exceeds depth {recipe.depth}": recipe.keep > recipe.depth,
        f"margin {recipe.margin} is negative or no number": not 0 <= recipe.margin < math.inf,
        f"guard {recipe.guard!r} is unknown": recipe.guard not in {"lowest", "highest"},
        f"margin_kind {recipe.margin_kind!r} is unknown": recipe.margin_kind not in {"absolute", "relative"},
        f"depth_counts {recipe.depth_counts!r} is unknown": recipe.depth_counts not in {"all", "candidates"},
    }
    if found := [fault for fault, holds in faults.items() if holds]:
        raise UsageError(
            f"recipe {recipe.name!r}: {'; '.join(found)}", hint="Correct the recipe in the config."
        )


def exclusions(
    qrels: pl.DataFrame, undecided: pl.DataFrame, queries: pl.DataFrame, corpus: pl.DataFrame
) -> pl.DataFrame:
    """Find every pair that can never be a hard negative.

    Texts are compared in NFC with white space folded. A passage goes by two texts, its own and the one that
    is encoded (title and text); it equals a positive when any of theirs agree.

    Args:
        qrels: ``query-id``, ``corpus-id``: the labelled positives.
        undecided: ``query-id``, ``corpus-id``: neither positive nor negative.
        queries: ``_id``, ``text``.
        corpus: ``_id``, ``title``, ``text``.

    Returns:
        ``query-id``, ``corpus-id``, ``reason``: one row per pair, with the first of `REASONS` that fits.
    """
    encoded = pl.concat_str("title", "text", separator=" ")
    forms = [
        frame.select(pl.col("_id").alias(name), form=_folded(text))
        for frame, name, text in (
            (queries, "query-id", pl.col("text")),
            (corpus, "corpus-id", pl.col("text")),
            (corpus, "corpus-id", encoded),
        )
    ]
    coded = pl.concat(forms, how="diagonal").filter(pl.col("form") != "")
    coded = coded.select(*PAIR, code=pl.col("form").rank("dense"))
    asked = coded.drop_nulls("query-id").select("query-id", "code")
    told = coded.drop_nulls("corpus-id").select("corpus-id", "code").unique()
    answered = qrels.join(told, on="corpus-id").select("query-id", "code").unique()
    pairs = {
        "positive": qrels,
        "undecided": undecided,
        "positive_text": answered.join(told, on="code"),
        "query_text": asked.join(told, on="code"),
    }
    frames = [frame.select(*PAIR, reason=pl.lit(reason)) for reason, frame in pairs.items()]
    return pl.concat(frames).unique(PAIR, keep="first", maintain_order=True)


def guards(positives: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Choose each query's guarding positive.

    Args:
        positives: ``query-id``, ``corpus-id``, ``score`` float64: every positive once.
        recipe: Its `guard` chooses.

    Returns:
        ``query-id``, ``positives`` (how many), ``positive_score`` float64 (the guard's).
    """
    score = pl.col("score")
    chosen = score.min() if recipe.guard == "lowest" else score.max()
    return positives.group_by("query-id").agg(positives=pl.len(), positive_score=chosen)


def other_guard(recipe: Recipe) -> Recipe:
    """Return the recipe with the guard that it did not choose."""
    return replace(recipe, guard="highest" if recipe.guard == "lowest" else "lowest")


def label(ranking: pl.DataFrame, excluded: pl.DataFrame, guarded: pl.DataFrame) -> pl.DataFrame:
    """Join what the rules need to a ranking. Queries without positives have no guard and fall out.

    Args:
        ranking: ``query-id``, ``corpus-id``, ``rank`` (1-based, among all passages), ``score`` float64.
        excluded: From `exclusions`.
        guarded: From `guards`.

    Returns:
        The ranking with ``reason`` (null for candidates) and ``positive_score``, sorted by query and rank.
    """
    return (
        ranking
        .join(guarded.select("query-id", "positive_score"), on="query-id")
        .join(excluded, on=PAIR, how="left")
        .sort("query-id", "rank")
    )


def judge(labelled: pl.DataFrame, recipe: Recipe) -> pl.DataFrame:
    """Apply a recipe: look at the top, drop by rule, keep the first.

    Scores are compared in float64. A candidate is dropped when its score is greater than the ceiling; equal
    stays. A relative margin is a share of the positive's absolute score, so that the ceiling stays below a
    negative positive score.

    Args:
        labelled: From `label`; reaching one rank beyond what the recipe looks at, if there is one.
        recipe: The rules.

    Returns:
        The rows that were looked at, ``reason`` null for the hard negatives; ranks as they were.
    """
    guard = pl.col("positive_score")
    margin = pl.lit(recipe.margin) * (guard.abs() if recipe.margin_kind == "relative" else 1.0)
    too_close = pl.col("score") > guard - margin
    looked_at = labelled.filter(_within_depth(recipe)).with_columns(
        reason=pl.coalesce("reason", pl.when(too_close).then(pl.lit("margin")))
    )
    survives = pl.col("reason").is_null()
    late = survives & (survives.cast(pl.Int64).cum_sum().over("query-id") > recipe.keep)
    return looked_at.with_columns(
        reason=pl.when(late).then(pl.lit("beyond_keep")).otherwise(pl.col("reason"))
    )


def fetch_depth(recipe: Recipe, positives: pl.Expr) -> pl.Expr:
    """How many ranks a query needs, so that `judge` sees all it looks at and one more."""
    extra = positives if recipe.depth_counts == "candidates" else pl.lit(0)
    return recipe.depth + 1 + extra


def negatives(judged: pl.DataFrame) -> pl.DataFrame:
    """Return the hard negatives as they are published, sorted by query and rank."""
    return (
        judged
        .filter(pl.col("reason").is_null())
        .select(
            *PAIR,
            pl.col("rank").cast(pl.Int32),
            pl.col("score").cast(pl.Float32),
            pl.col("positive_score").cast(pl.Float32),
        )
        .sort("query-id", "rank")
    )


def _within_depth(recipe: Recipe) -> pl.Expr:
    if recipe.depth_counts == "all":
        return pl.col("rank") <= recipe.depth
    counts = pl.col("reason").ne_missing("positive").cast(pl.Int64)
    before = counts.cum_sum().over("query-id") - counts
    return before < recipe.depth


def _folded(text: pl.Expr) -> pl.Expr:
    return text.str.normalize("NFC").str.replace_all(r"\s+", " ").str.strip_chars()

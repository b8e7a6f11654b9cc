"""Rules on hard negatives of recipes that measure on the query's own scale, or know equivalent passages."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from builders.checks.findings import Code, line
from builders.checks.frames import stacked
from builders.checks.model import Finding, Rule, Severity, Subject
from builders.checks.negatives import MINE, SCORE_ROUNDING, recipe_of
from builders.tables import PAIR, Kind

BELOW_FLOOR = Code(
    "negative-below-floor", Severity.ERROR, "negatives that score lower than the recipe's floor", MINE
)
SUSPICIOUS = Code(
    "negative-suspicious", Severity.ERROR, "negatives of queries whose best positive is suspicious", MINE
)
EQUIVALENT = Code(
    "negative-equivalent", Severity.ERROR, "negatives that share a class with a positive of their query", MINE
)
UNKNOWN = Code(
    "scale-unknown",
    Severity.NOTE,
    "tables that the recipe's rules need and that are not there, so that the rules were not applied",
    "Build the config again: the build keeps scale.parquet and classes.parquet beside the lock.",
)
CODES = (BELOW_FLOOR, SUSPICIOUS, EQUIVALENT, UNKNOWN)


def known(subject: Subject) -> Iterator[Finding]:
    """What the recipe's rules need is there."""
    recipe = recipe_of(subject)
    needs_scale = recipe.floor is not None or recipe.margin_kind == "deviations"
    missing = {
        "scale": needs_scale and subject.scale is None,
        "classes": recipe.equivalence and subject.classes is None,
    }
    names = [name for name, holds in missing.items() if holds]
    if needs_scale and subject.scale is not None:
        lost = stacked(subject, Kind.HARD_NEGATIVES).join(subject.scale, on="query-id", how="anti")
        names += [f"scale of {query}" for query in lost["query-id"].unique().sort()]
    yield from UNKNOWN.counted(len(names), names)


def floor(subject: Subject) -> Iterator[Finding]:
    """With a floor no negative scores lower, and none is given to a query whose best positive is suspicious.

    Which positive is the best is only published where the highest-scoring one guards.
    """
    recipe = recipe_of(subject)
    if recipe.floor is None or subject.scale is None:
        return
    negatives = (
        stacked(subject, Kind.HARD_NEGATIVES)
        .join(subject.scale, on="query-id")
        .with_columns(
            pl.col("score", "positive_score").cast(pl.Float64),
            floor=pl.col("mean") + recipe.floor * pl.col("deviation"),
            least=pl.col("mean") + recipe.suspicious_below * pl.col("deviation"),
        )
    )
    below = negatives.filter(pl.col("score") < pl.col("floor") - SCORE_ROUNDING)
    yield from BELOW_FLOOR.rows(below, line("{} → {}: {} below {}", *PAIR, "score", "floor"))
    if recipe.guard == "highest":
        near = negatives.filter(pl.col("positive_score") < pl.col("least") - SCORE_ROUNDING)
        yield from SUSPICIOUS.rows(near, line("{} → {}: positive {}", *PAIR, "positive_score"))


def equivalence(subject: Subject) -> Iterator[Finding]:
    """A negative shares no class with a positive of its query in any split."""
    if not recipe_of(subject).equivalence or subject.classes is None:
        return
    negatives = stacked(subject, Kind.HARD_NEGATIVES)
    positives = stacked(subject, Kind.QRELS).join(negatives, on="query-id", how="semi")
    taken = positives.join(subject.classes, on="corpus-id").select("query-id", "class").unique()
    shared = negatives.join(subject.classes, on="corpus-id").join(taken, on=["query-id", "class"])
    rows = shared.sort("class").unique(PAIR, keep="first", maintain_order=True)
    yield from EQUIVALENT.rows(rows, line("{} → {}: {}", *PAIR, "class"))


RULES: tuple[Rule, ...] = (known, floor, equivalence)

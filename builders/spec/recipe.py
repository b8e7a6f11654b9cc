"""How hard negatives are mined."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True)
class Recipe:
    """How hard negatives are mined.

    Attributes:
        name: "v0" is the published procedure.
        depth: How many passages of the ranking are looked at; None for all.
        depth_counts: What the depth counts: "all" passages, or "candidates" (positives left out).
        margin: Distance that a candidate's score must keep below the guarding positive's.
        margin_kind: "absolute" in cosine, "relative" as a share of the positive's absolute score, or
            "deviations" as a multiple of the standard deviation of the query's scores over all passages.
        guard: Which positive guards where there are several: the "lowest"- or "highest"-scoring.
        keep: Most negatives per query.
        floor: How many standard deviations above its query's mean a negative must score at least; None for
            no floor. With a floor, suspicious queries get no negatives.
        equivalence: Whether passages that share a class with a positive are never taken.
        suspicious_below: A query whose best positive scores fewer standard deviations above its mean has a
            wrong label or no match: its positives are listed for the audit, whatever the recipe.
    """

    name: str = "v0"
    depth: int | None = 10
    depth_counts: Literal["all", "candidates"] = "all"
    margin: float = 0.05
    margin_kind: Literal["absolute", "relative", "deviations"] = "absolute"
    guard: Literal["lowest", "highest"] = "lowest"
    keep: int = 5
    floor: float | None = None
    equivalence: bool = False
    suspicious_below: float = 2.0


RECIPES: dict[str, Recipe] = {
    "v0": Recipe(),
    "v1": Recipe(
        name="v1",
        depth=None,
        margin=0.5,
        margin_kind="deviations",
        guard="highest",
        floor=1.5,
        equivalence=True,
    ),
}
"""Recipes by name: v0 is the published procedure, v1 the one that notes/recipe-v1.md chose."""


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """The encoder that mines, pinned."""

    model: str
    revision: str
    max_length: int
    query_prefix: str
    passage_prefix: str


@dataclass(frozen=True, slots=True)
class Mining:
    """Encoder and recipe of a config whose hard negatives are published."""

    encoder: EncoderSpec
    recipe: Recipe = field(default_factory=Recipe)

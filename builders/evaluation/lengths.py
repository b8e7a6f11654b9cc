"""How long texts are: what a histogram shows. Pure."""

from __future__ import annotations

import polars as pl

from builders.lock.lock import Frozen

STEP = 10**0.1
"""Ratio of the ends of a step: ten steps to ten times the length."""
_TENS = (10, 13, 16, 20, 25, 32, 40, 50, 63, 80)
_HUNDREDS = (100, 125, 160, 200, 250, 315, 400, 500, 630, 800)
_EDGES = (1, 2, 3, 4, 5, 6, 8, *_TENS, *(edge * 10**power for power in range(6) for edge in _HUNDREDS))
"""Steps in the preferred numbers R10 of ISO 3, as far as whole characters allow it."""


class Lengths(Frozen):
    """Lengths of texts in characters.

    Attributes:
        what: "queries", "passages", "sentences of s2s"; the distinct ones of clustering sets.
        texts: How many.
        shortest: In characters.
        median: In characters.
        longest: In characters.
        bands: First and last length of each band, both included, and the texts in it; no gaps.
    """

    what: str
    texts: int
    shortest: int
    median: int
    longest: int
    bands: tuple[tuple[int, int, int], ...]


def lengths(what: str, texts: pl.Series) -> Lengths | None:
    """Return the lengths of texts, None where there are none. Pure."""
    counted = texts.drop_nulls().str.len_chars().cast(pl.Int64)
    if counted.is_empty():
        return None
    ordered = counted.sort()
    shortest, longest = int(ordered[0]), int(ordered[-1])
    edges = [edge for edge in (0, *_EDGES) if edge <= longest]
    first = max(place for place, edge in enumerate(edges) if edge <= shortest)
    edges = edges[first:]
    ends = [edge - 1 for edge in (*edges[1:], _next_edge(longest))]
    counts = [int(counted.is_between(low, high).sum()) for low, high in zip(edges, ends, strict=True)]
    return Lengths(
        what=what,
        texts=len(counted),
        shortest=shortest,
        median=int(ordered[(len(ordered) - 1) // 2]),
        longest=longest,
        bands=tuple(zip(edges, ends, counts, strict=True)),
    )


def _next_edge(length: int) -> int:
    return next((edge for edge in _EDGES if edge > length), length + 1)

"""The order in which scores are told, whether they were just computed or kept."""

from __future__ import annotations

from collections.abc import Iterable

SCORES = {
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "recall_at_10": "recall@10",
    "recall_at_100": "recall@100",
    "r_precision": "R-precision",
    "core_ndcg_at_10": "core nDCG@10",
}
"""Scores of a search by name, with what people call them."""
_LEVELS = ("coarse", "fine", "within")


def by_score(names: Iterable[str]) -> list[str]:
    """Return names of scores in the order of `SCORES`, others behind them by name."""
    return _placed(names, tuple(SCORES))


def by_level(names: Iterable[str]) -> list[str]:
    """Return names of levels from coarse to fine, others behind them by name."""
    return _placed(names, _LEVELS)


def _placed(names: Iterable[str], known: tuple[str, ...]) -> list[str]:
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))

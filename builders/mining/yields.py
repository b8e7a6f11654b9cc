"""The report of mining: yield first, then why it is what it is. Pure."""

import math
from dataclasses import replace

import numpy as np
import polars as pl

from builders.lock.lock import MiningReport, Quantiles
from builders.mining.recipe import Chosen, is_suspicious, judge
from builders.spec import Recipe

_DEPTHS = (10, 20, 50, 100)
_MARGINS = (0.0, 0.01, 0.02, 0.05, 0.1)
LOOK = max(_DEPTHS)
"""The deepest rank that the report looks at."""
_SPREAD_RANK = 10
_DIGITS = 6  # far coarser than float64's error, so that threads and kernels leave the bytes alone
_POSITIVES = {"0": 0, "1": 1, "2": 2, "3-5": 5, "6-10": 10, "11-20": 20, "21+": math.inf}
_QUANTILES = {"min": 0.0, "p05": 0.05, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}


def build_report(
    queries: pl.DataFrame,
    qrels: pl.DataFrame,
    guarded: pl.DataFrame,
    chosen: Chosen,
    labelled: pl.DataFrame,
    recipe: Recipe,
) -> MiningReport:
    """Report what a recipe kept, what it dropped, and what variants of one of bounded depth would have kept.

    `labelled` is at least `LOOK` deep, as far as there are passages. The other frames are those of `mine`.
    """
    kept = chosen.kept
    counted = _negatives_per_query(queries, guarded, kept)
    by_count = _by_count(counted, recipe)
    some, full = queries.height - by_count["0"], by_count[str(recipe.keep)]
    others = kept.join(qrels, on="passage_id", how="semi").height
    times = kept.group_by("passage_id").len()["len"]
    suspicious = guarded.filter(is_suspicious(recipe))["positives"]
    return MiningReport.model_validate({
        "queries": queries.height,
        "queries_without_positives": queries.height - guarded.height,
        "suspicious": {"queries": len(suspicious), "positives": int(suspicious.sum())},
        "negatives": kept.height,
        "yield": {
            "any": some,
            "full": full,
            "any_share": _share(some, queries.height),
            "full_share": _share(full, queries.height),
        },
        "by_count": by_count,
        "by_positives": _by_positives(counted, recipe),
        "looked_at": chosen.looked_at,
        "dropped": chosen.dropped,
        "top_spread": _top_spread(labelled),
        "scores": {
            "guard": _quantiles(guarded[recipe.guard]),
            "negative": _quantiles(kept["score"]),
            "gap": _quantiles(kept["positive_score"] - kept["score"]),
        },
        "distance_from_mean": _distance_from_mean(kept.join(guarded, on="query_id"), "score"),
        "best_positive": _distance_from_mean(guarded, "highest")["deviations"],
        "reuse": {
            "passages": len(times),
            "most": max(times.to_list(), default=0),
            "mean": _share(kept.height, len(times)),
        },
        "others_positives": {"negatives": others, "share": _share(others, kept.height)},
        "ties": chosen.ties,
        "what_if": [_variant(labelled, variant) for variant in _variants(recipe)],
    })


def summary_lines(report: MiningReport) -> list[str]:
    """Return what a terminal shows of the report, the yield first."""
    got = report.yield_
    dropped = ", ".join(f"{reason} {count:,}" for reason, count in report.dropped.items() if count)
    lines = [
        f"{got.any:,} of {report.queries:,} queries got a hard negative ({got.any_share:.1%}), "
        f"{got.full:,} the full {len(report.by_count) - 1} ({got.full_share:.1%})",
        f"{report.negatives:,} hard negatives; queries by number of negatives: "
        + ", ".join(f"{number}: {count:,}" for number, count in report.by_count.items()),
        f"looked at {report.looked_at:,} passages",
        f"dropped: {dropped or 'none'}",
    ]
    if without := report.queries_without_positives:
        lines.append(f"{without:,} queries have no positive and got nothing")
    if doubtful := report.suspicious["queries"]:
        lines.append(f"{doubtful:,} queries have no positive far above their mean: suspicious")
    best = max(report.what_if, key=lambda case: case.any, default=None)
    if best and best.any > got.any:
        lines.append(
            f"best of the variants looked at: {best.any:,} queries (guard {best.guard}, "
            f"depth {best.depth}, margin {best.margin:g})"
        )
    return lines


def _negatives_per_query(queries: pl.DataFrame, guarded: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """Return ``positives``, ``negatives`` of every query; zeros where there are none."""
    counts = kept.group_by("query_id").agg(negatives=pl.len())
    joined = queries.join(guarded, on="query_id", how="left").join(counts, on="query_id", how="left")
    return joined.select(pl.col("positives", "negatives").fill_null(0).cast(pl.Int64))


def _by_count(counted: pl.DataFrame, recipe: Recipe) -> dict[str, int]:
    number = counted["negatives"]
    return {str(count): int((number == count).sum()) for count in range(recipe.keep + 1)}


def _by_positives(counted: pl.DataFrame, recipe: Recipe) -> list[dict[str, object]]:
    least = 0.0
    found: list[dict[str, object]] = []
    for name, most in _POSITIVES.items():
        group = counted.filter(pl.col("positives").is_between(least, most))
        least = most + 1
        if group.height:
            found.append({"positives": name, "queries": group.height, "by_count": _by_count(group, recipe)})
    return found


def _top_spread(labelled: pl.DataFrame) -> Quantiles:
    top = labelled.filter(pl.col("rank") <= _SPREAD_RANK)
    per_query = top.group_by("query_id").agg(spread=pl.col("score").max() - pl.col("score").min())
    return _quantiles(per_query["spread"])


def _distance_from_mean(scaled: pl.DataFrame, score: str) -> dict[str, int | Quantiles]:
    distance = scaled[score] - scaled["mean"]
    spread = scaled["deviation"] > 10**-_DIGITS
    return {
        "below_mean": int((distance.round(_DIGITS) < 0).sum()),
        "cosine": _quantiles(distance),
        "deviations": _quantiles(distance.filter(spread) / scaled["deviation"].filter(spread)),
    }


def _variants(recipe: Recipe) -> list[Recipe]:
    """Return a recipe of bounded depth by other depths and margins, and by the other guard."""
    if recipe.depth is None:
        return []
    other = replace(recipe, guard="highest" if recipe.guard == "lowest" else "lowest")
    return [
        replace(base, depth=depth, margin=margin)
        for base, depths, margins in (
            (recipe, {recipe.depth, *_DEPTHS}, {recipe.margin, *_MARGINS}),
            (other, {recipe.depth, LOOK}, {recipe.margin}),
        )
        for depth in sorted(depths)
        for margin in sorted(margins)
        if depth >= recipe.keep
    ]


def _variant(labelled: pl.DataFrame, variant: Recipe) -> dict[str, object]:
    kept = judge(labelled, variant).filter(pl.col("reason").is_null())
    number = kept.group_by("query_id").len()["len"]
    return {
        "guard": variant.guard,
        "depth": variant.depth,
        "margin": variant.margin,
        "any": len(number),
        "full": int((number == variant.keep).sum()),
        "negatives": kept.height,
    }


def _quantiles(values: pl.Series) -> Quantiles:
    if values.is_empty():
        return dict.fromkeys((*_QUANTILES, "mean"))
    numbers = values.to_numpy()
    found = {name: np.quantile(numbers, share, method="nearest") for name, share in _QUANTILES.items()}
    return {name: _rounded(float(value)) for name, value in (*found.items(), ("mean", numbers.mean()))}


def _share(part: int, whole: int) -> float:
    return _rounded(part / whole) if whole else 0.0


def _rounded(value: float) -> float:
    return round(value, _DIGITS) + 0.0  # never -0.0

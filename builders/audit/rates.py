"""Rates with their intervals: weighted back from the strata. Pure."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from builders.audit.model import DECIDED, Item, Judgement, Sample, Verdict
from builders.audit.sampling import DEEPER, RANKS
from builders.audit.verdicts import Votes, counting
from builders.tables import SPLITS

_PRIOR = 3
_Z = 1.959963984540054  # 97.5 % of the standard normal distribution


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of pairs and its 95 % interval.

    Attributes:
        pairs: Pairs with a verdict that counts.
        hits: Those of them that were found relevant; a pair on which auditors differ counts in part.
        effective: How many unweighted pairs would tell as much.
        value: The weighted share; None where nothing was judged.
        low: Lower end of the interval.
        high: Upper end of the interval.
    """

    pairs: int
    hits: float
    effective: float
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Group:
    """A rate of a part of the pairs: a band of gaps, a band of ranks, a split."""

    name: str
    rate: Rate


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two auditors agree on the pairs that both judged; `kappa` is None where it is not defined."""

    auditors: tuple[str, str]
    both: int
    same: int
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Scores:
    """What a random sample says.

    Attributes:
        false_negatives: Share of the hard negatives that are relevant.
        by_gap: The same by distance below the guard, the closest first.
        by_rank: The same by rank.
        by_split: The same by split.
        precision: Share of the labelled positives that are relevant.
        precision_by_split: The same by split.
        controls: Share of verdicts on controls that are right.
        undecided: Verdicts that were unsure or of broken text, by verdict, over negatives and positives.
        disputed: Pairs that one auditor found relevant and another did not.
        at_most: The false-negative rate if every undecided pair were relevant.
        agreement: By pair of auditors.
    """

    false_negatives: Rate
    by_gap: tuple[Group, ...]
    by_rank: tuple[Group, ...]
    by_split: tuple[Group, ...]
    precision: Rate
    precision_by_split: tuple[Group, ...]
    controls: Rate
    undecided: dict[Verdict, int]
    disputed: int
    at_most: float | None
    agreement: tuple[Agreement, ...]


def wilson(value: float, pairs: float) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927).

    Args:
        value: The share, in [0, 1].
        pairs: How many it was found on, above 0; may be a fraction.
    """
    square = _Z * _Z / pairs
    middle = (value + square / 2) / (1 + square)
    half = _Z / (1 + square) * math.sqrt(value * (1 - value) / pairs + square / (4 * pairs))
    return max(0.0, middle - half), min(1.0, middle + half)


def rate(values: Sequence[float], weights: Sequence[float], strata: Sequence[int] | None = None) -> Rate:
    """Return a weighted share, with Wilson's interval for the effective number of pairs.

    The share is Hájek's, Σwy / Σw. The effective number is that of unweighted pairs which would tell as
    much: p(1 − p) over the variance of the stratified share, Σ W²p(1 − p)/n by stratum. Each stratum's share
    is drawn towards the whole's by `_PRIOR` pairs for that, so that one of few pairs does not pass for
    certain. No correction is made for a finite population: the interval speaks of how the negatives are
    mined, and stays one when every pair was judged.

    Args:
        values: For each pair, in [0, 1]: 1 where it was found relevant.
        weights: For each pair, above 0: how many pairs of the population it stands for.
        strata: For each pair, its stratum; None where there is one.

    Sources: Hájek (1971); Wilson (1927); Franco, Little, Louis and Slud (2019) for their combination.
    """
    total = math.fsum(weights)
    if not values:
        return Rate(0, 0.0, 0.0, None, 0.0, 1.0)
    hits = math.fsum(values)
    value = min(1.0, max(0.0, math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total))
    if strata is None:
        return Rate(len(values), hits, len(values), value, *wilson(value, len(values)))
    expected = (hits + 1) / (len(values) + 2)
    whole, variance = 0.0, 0.0
    for stratum in sorted(set(strata)):
        inside = [place for place, other in enumerate(strata) if other == stratum]
        part = math.fsum(weights[place] for place in inside) / total
        found = math.fsum(values[place] for place in inside)
        share = (found + _PRIOR * expected) / (len(inside) + _PRIOR)
        whole += part * share
        variance += part * part * share * (1 - share) / len(inside)
    effective = whole * (1 - whole) / variance
    return Rate(len(values), hits, effective, value, *wilson(value, effective))


def score(sample: Sample, judgements: Iterable[Judgement]) -> Scores:
    """Work out the rates of a random sample.

    Only *not relevant* and *also relevant* count; a pair that several judged counts with the share of them
    who found it relevant. A pair stands for as many pairs as its stratum holds for each one drawn.

    Args:
        sample: A random sample.
        judgements: Verdicts on its items.
    """
    judged = list(judgements)
    votes = counting(judged)
    negatives, positives = _weighed(sample, votes, "negative"), _weighed(sample, votes, "positive")
    controls = [
        float(verdict is item.expected)
        for item in sample.of_kind("control")
        for verdict in votes.get(item.item, {}).values()
        if verdict in DECIDED
    ]
    split_order = {split: place for place, split in enumerate(SPLITS)}
    rank_order = {name: place for place, name in enumerate((*RANKS, DEEPER))}
    return Scores(
        false_negatives=_rate_of(negatives),
        by_gap=_groups(negatives, lambda item: _stratum_gap(sample, item), str),
        by_rank=_groups(negatives, rank_band, rank_order.__getitem__),
        by_split=_groups(negatives, lambda item: item.split, split_order.__getitem__),
        precision=_rate_of(positives),
        precision_by_split=_groups(positives, lambda item: item.split, split_order.__getitem__),
        controls=rate(controls, [1.0] * len(controls)),
        undecided=_undecided(sample, votes),
        disputed=sum(set(DECIDED) <= set(said.values()) for said in votes.values()),
        at_most=_at_most(sample, votes),
        agreement=agreements(judged),
    )


def agreements(judgements: Iterable[Judgement]) -> tuple[Agreement, ...]:
    """Return Cohen's kappa over all four verdicts for every two auditors who judged the same items."""
    judged = list(judgements)
    names = {one.auditor.casefold(): one.auditor for one in judged}
    votes = counting(judged).values()
    found = []
    for first, second in combinations(sorted(names), 2):
        pairs = [(said[first], said[second]) for said in votes if first in said and second in said]
        if pairs:
            same = sum(one is other for one, other in pairs)
            found.append(Agreement((names[first], names[second]), len(pairs), same, _kappa(pairs)))
    return tuple(found)


def rank_band(item: Item) -> str:
    """Return the band of a negative's rank; empty where it was not mined."""
    if item.rank is None:
        return ""
    return next((name for name, last in RANKS.items() if item.rank <= last), DEEPER)


def _kappa(pairs: Sequence[tuple[Verdict, Verdict]]) -> float | None:
    from sklearn.metrics import cohen_kappa_score

    if len({verdict for pair in pairs for verdict in pair}) < 2:
        return None  # both said one and the same of everything: chance alone would agree as well
    first, second = zip(*pairs, strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kappa = float(cohen_kappa_score(list(map(str, first)), list(map(str, second))))
    return None if math.isnan(kappa) else kappa


_Weighed = list[tuple[Item, float, float]]
"""Item, share of the auditors who found it relevant, weight."""


def _weighed(sample: Sample, votes: Votes, kind: str) -> _Weighed:
    weighed = []
    for item in sample.items:
        counted = [verdict for verdict in votes.get(item.item, {}).values() if verdict in DECIDED]
        if item.kind == kind and item.stratum is not None and counted:
            relevant = sum(verdict is Verdict.ALSO_RELEVANT for verdict in counted) / len(counted)
            weighed.append((item, relevant, _weight(sample, item)))
    return weighed


def _weight(sample: Sample, item: Item) -> float:
    assert item.stratum is not None
    stratum = sample.head.strata[item.stratum]
    return stratum.size / stratum.drawn


def _rate_of(weighed: _Weighed) -> Rate:
    return rate(
        [value for _, value, _ in weighed],
        [weight for _, _, weight in weighed],
        [item.stratum or 0 for item, _, _ in weighed],
    )


def _groups(
    weighed: _Weighed, name_of: Callable[[Item], str], order: Callable[[str], int | str]
) -> tuple[Group, ...]:
    names = {name for item, _, _ in weighed if (name := name_of(item))}
    return tuple(
        Group(name, _rate_of([entry for entry in weighed if name_of(entry[0]) == name]))
        for name in sorted(names, key=order)
    )


def _stratum_gap(sample: Sample, item: Item) -> str:
    return "" if item.stratum is None else sample.head.strata[item.stratum].gap


def _undecided(sample: Sample, votes: Votes) -> dict[Verdict, int]:
    kinds = {item.item for item in sample.items if item.kind != "control"}
    said = [verdict for item, by_auditor in votes.items() if item in kinds for verdict in by_auditor.values()]
    return {verdict: said.count(verdict) for verdict in Verdict if verdict not in DECIDED}


def _at_most(sample: Sample, votes: Votes) -> float | None:
    """The false-negative rate if every pair without a verdict that counts were relevant."""
    judged = [item for item in sample.of_kind("negative") if item.stratum is not None and item.item in votes]
    decided = {item.item: value for item, value, _ in _weighed(sample, votes, "negative")}
    values = [decided.get(item.item, 1.0) for item in judged]
    return rate(values, [_weight(sample, item) for item in judged]).value

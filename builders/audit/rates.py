"""Rates with their intervals: weighted back from the strata. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter

from builders.audit.history import (
    DECIDED,
    Item,
    Judgement,
    Sample,
    Stratum,
    Verdict,
    Votes,
    counting,
    standing,
)
from builders.audit.sample import DEEPER, RANKS
from builders.tables import SPLITS

_SPLIT_ORDER = {split: place for place, split in enumerate(SPLITS)}
_RANK_ORDER = {name: place for place, name in enumerate((*RANKS, DEEPER))}
_PRIOR = 3
_Z = 1.959963984540054  # 97.5 % of the standard normal distribution


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of pairs and its 95 % interval.

    Attributes:
        pairs: Number of pairs with a verdict that counts.
        effective: Number of unweighted pairs that would tell as much.
        value: The weighted share; None where nothing was judged.
    """

    pairs: int
    effective: float
    value: float | None
    low: float
    high: float


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
        precision: Share of the labelled positives that are relevant.
        controls: Share of verdicts on controls that are right.
        undecided: Number of verdicts that were unsure or of broken text, over negatives and positives.
        disputed: Number of pairs that one auditor found relevant and another did not.
        at_most: The false-negative rate if every undecided pair were relevant.
        agreement: Agreement of every two auditors.
    """

    false_negatives: Rate
    by_gap: dict[str, Rate]
    by_rank: dict[str, Rate]
    by_split: dict[str, Rate]
    precision: Rate
    precision_by_split: dict[str, Rate]
    controls: Rate
    undecided: dict[Verdict, int]
    disputed: int
    at_most: float | None
    agreement: tuple[Agreement, ...]


def wilson(value: float, pairs: float) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927).

    The number of pairs is above 0, and may be a fraction.
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
    certain. No correction is made for a finite population: the interval is about how the negatives are
    mined, and stays one when every pair was judged.

    Args:
        values: Value of each pair in [0, 1], 1 where it was found relevant.
        weights: Number above 0 of the pairs of the population that each pair stands for.
        strata: Stratum of each pair; None where there is one.

    Sources: Hájek (1971); Wilson (1927); Franco, Little, Louis and Slud (2019) for their combination.
    """
    total = math.fsum(weights)
    if not values:
        return Rate(0, 0.0, None, 0.0, 1.0)
    hits = math.fsum(values)
    value = min(1.0, max(0.0, math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total))
    if strata is None:
        return Rate(len(values), len(values), value, *wilson(value, len(values)))
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
    return Rate(len(values), effective, value, *wilson(value, effective))


def score(sample: Sample, judgements: Iterable[Judgement]) -> Scores:
    """Compute the rates of a random sample.

    Only *not relevant* and *also relevant* count; a pair that several judged counts with the share of them
    who found it relevant. See `_poststratified` for the weights.
    """
    judged = list(judgements)
    votes = counting(judged)
    mined, labelled = sample.of_kind("negative"), sample.of_kind("positive")
    negatives, positives = _decided(mined, votes), _decided(labelled, votes)
    # controls are no part of any rate of pairs
    of_pairs = [votes[item.item] for item in (*mined, *labelled) if item.item in votes]
    verdicts = Counter(verdict for by_auditor in of_pairs for verdict in by_auditor.values())
    undecided = {item.item: 1.0 for item in mined if item.stratum is not None and item.item in votes}
    relevant = undecided | {item.item: value for item, value in negatives}
    all_relevant = [(item, relevant[item.item]) for item in mined if item.item in relevant]

    def gap(item: Item) -> str:
        return "" if item.stratum is None else sample.head.strata[item.stratum].gap

    split = attrgetter("split")
    controls = [
        float(verdict is item.expected)
        for item in sample.of_kind("control")
        for verdict in votes.get(item.item, {}).values()
        if verdict in DECIDED
    ]
    return Scores(
        false_negatives=_rate_of(sample, negatives, mined),
        by_gap=_groups(sample, negatives, mined, gap, _lower_end),
        by_rank=_groups(sample, negatives, mined, _rank_band, _RANK_ORDER.__getitem__),
        by_split=_groups(sample, negatives, mined, split, _SPLIT_ORDER.__getitem__),
        precision=_rate_of(sample, positives, labelled),
        precision_by_split=_groups(sample, positives, labelled, split, _SPLIT_ORDER.__getitem__),
        controls=rate(controls, [1.0] * len(controls)),
        undecided={verdict: verdicts[verdict] for verdict in Verdict if verdict not in DECIDED},
        disputed=sum(set(DECIDED) <= set(by_auditor.values()) for by_auditor in of_pairs),
        at_most=_rate_of(sample, all_relevant, mined).value,
        agreement=_agreements(judged),
    )


def _agreements(judgements: Sequence[Judgement]) -> tuple[Agreement, ...]:
    """Return Cohen's kappa over all four verdicts for every two auditors who judged the same items."""
    names = {one.who: one.auditor for one, _ in standing(judgements)}
    votes = counting(judgements).values()
    found = []
    for first, second in combinations(sorted(names), 2):
        pairs = [(by[first], by[second]) for by in votes if first in by and second in by]
        if pairs:
            same = sum(one is other for one, other in pairs)
            found.append(Agreement((names[first], names[second]), len(pairs), same, _kappa(pairs)))
    return tuple(found)


def _rank_band(item: Item) -> str:
    """Return the band of a negative's rank; empty where it was not mined."""
    if item.rank is None:
        return ""
    return next((name for name, last in RANKS.items() if item.rank <= last), DEEPER)


def _kappa(pairs: Sequence[tuple[Verdict, Verdict]]) -> float | None:
    from sklearn.metrics import cohen_kappa_score

    if len({verdict for pair in pairs for verdict in pair}) < 2:
        return None  # both said one and the same of everything: chance alone would agree as well
    first, second = zip(*pairs, strict=True)
    return float(cohen_kappa_score(list(map(str, first)), list(map(str, second))))


def _poststratified(strata: Mapping[int, Stratum], judged: Mapping[int, int]) -> dict[int, float]:
    """Return, by stratum, how many pairs of the population one of its judged pairs stands for.

    What a stratum gave to the sample and nobody could decide must not lower its weight, so a stratum counts
    with all its pairs. One without a judged pair is added to its neighbour: the closest band of gaps, then of
    ranks, then split, then place.

    Args:
        strata: Strata of a population by place.
        judged: Number of pairs of each that were judged so that it counts.

    Source: post-stratification with collapsed strata, Cochran (1977), chapter 5A.
    """
    gaps = sorted({stratum.gap for stratum in strata.values()}, key=_lower_end)
    spots = {
        place: (gaps.index(stratum.gap), _RANK_ORDER.get(stratum.rank, 0), _SPLIT_ORDER.get(stratum.split, 0))
        for place, stratum in strata.items()
    }
    sizes = {place: strata[place].size for place in sorted(strata) if judged.get(place)}
    for place in sorted(strata.keys() - sizes.keys()) if sizes else ():
        sizes[_neighbour(place, sizes, spots)] += strata[place].size
    return {place: size / judged[place] for place, size in sizes.items()}


def _neighbour(place: int, among: Iterable[int], spots: Mapping[int, tuple[int, ...]]) -> int:
    """Return the place whose spot differs least, the first coordinate first."""
    apart = {other: [abs(a - b) for a, b in zip(spots[other], spots[place], strict=True)] for other in among}
    return min(apart, key=lambda other: (apart[other], abs(other - place), other))


_Values = list[tuple[Item, float]]
"""Item of a stratum, and share of the auditors who found it relevant."""


def _decided(items: Sequence[Item], votes: Votes) -> _Values:
    values = []
    for item in items:
        counted = [verdict for verdict in votes.get(item.item, {}).values() if verdict in DECIDED]
        if item.stratum is not None and counted:
            relevant = sum(verdict is Verdict.ALSO_RELEVANT for verdict in counted) / len(counted)
            values.append((item, relevant))
    return values


def _rate_of(sample: Sample, values: _Values, part: Sequence[Item]) -> Rate:
    """Return the rate of a part of a kind of pairs; `values` holds all pairs of the kind that count."""
    strata = sample.head.strata
    places = {item.stratum for item in part if item.stratum is not None}
    judged = Counter(item.stratum for item, _ in values if item.stratum is not None)
    weights = _poststratified({place: strata[place] for place in places}, judged)
    names = {item.item for item in part}
    inside = [(value, item.stratum or 0) for item, value in values if item.item in names]
    return rate(
        [value for value, _ in inside],
        [weights[stratum] for _, stratum in inside],
        [stratum for _, stratum in inside],
    )


def _groups(
    sample: Sample,
    values: _Values,
    whole: Sequence[Item],
    name_of: Callable[[Item], str],
    order: Callable[[str], float],
) -> dict[str, Rate]:
    names = {name for item, _ in values if (name := name_of(item))}
    parts = {name: [item for item in whole if name_of(item) == name] for name in sorted(names, key=order)}
    return {name: _rate_of(sample, values, part) for name, part in parts.items()}


def _lower_end(band: str) -> float:
    """Return where a band of gaps begins: 0.05 of "0.0500–0.0523"."""
    return float(band.split("–")[0]) if band else 0.0

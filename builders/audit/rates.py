"""Rates with their intervals: weighted back from the strata. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple

from builders.audit.history import DECIDED, Item, Judgement, Sample, Stratum, Verdict, counting, standing
from builders.audit.sample import RANKS, rank_band
from builders.tables import SPLITS

_ORDER = {name: place for place, name in enumerate((*SPLITS, *RANKS))}
_PRIOR = 3
_Z = 1.959963984540054  # 97.5 % of the standard normal distribution


class Rate(NamedTuple):
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


class Agreement(NamedTuple):
    """How far two auditors agree on the pairs that both judged; `kappa` is None where it is not defined."""

    auditors: tuple[str, str]
    both: int
    same: int
    kappa: float | None


class Scores(NamedTuple):
    """The results of a random sample.

    Attributes:
        false_negatives: Share of the hard negatives that are relevant; also by bands of gap and rank.
        precision: Share of the labelled positives that are relevant.
        controls: Share of verdicts on controls that are right.
        undecided: Number of verdicts that were unsure or of broken text, over negatives and positives.
        disputed: Number of pairs that one auditor found relevant and another did not.
        at_most: The false-negative rate if every undecided pair were relevant.
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

    Values lie in [0, 1], 1 where a pair was found relevant; a weight, above 0, is the number of pairs of the
    population that a pair stands for. Without strata there is one.

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
    votes = {item: list(by_auditor.values()) for item, by_auditor in counting(judged).items()}
    decided = {item: [verdict for verdict in of if verdict in DECIDED] for item, of in votes.items()}
    values = {item: of.count(Verdict.ALSO_RELEVANT) / len(of) for item, of in decided.items() if of}
    mined, labelled = sample.of_kind("negative"), sample.of_kind("positive")
    # controls are no part of any rate of pairs
    of_pairs = [votes[item.item] for item in (*mined, *labelled) if item.item in votes]
    verdicts = Counter(verdict for of in of_pairs for verdict in of)
    strata = sample.head.strata
    split = attrgetter("split")
    known = sample.of_kind("control")
    controls = [float(verdict is one.expected) for one in known for verdict in decided.get(one.item, ())]
    return Scores(
        false_negatives=_rate_of(sample, values, mined),
        by_gap=_groups(sample, values, mined, lambda item: strata[item.stratum or 0].gap),
        by_rank=_groups(sample, values, mined, lambda item: rank_band(item.rank)),
        by_split=_groups(sample, values, mined, split),
        precision=_rate_of(sample, values, labelled),
        precision_by_split=_groups(sample, values, labelled, split),
        controls=rate(controls, [1.0] * len(controls)),
        undecided={verdict: verdicts[verdict] for verdict in Verdict if verdict not in DECIDED},
        disputed=sum(set(DECIDED) <= set(of) for of in of_pairs),
        at_most=_rate_of(sample, dict.fromkeys(votes, 1.0) | values, mined).value,
        agreement=_agreements(judged),
    )


def _agreements(judgements: Sequence[Judgement]) -> tuple[Agreement, ...]:
    """Return Cohen's kappa over all four verdicts for every two auditors who judged the same items."""
    names = {one.who: one.auditor for one, _ in standing(judgements)}
    votes = counting(judgements).values()
    found = []
    for first, second in combinations(sorted(names), 2):
        pairs = [(str(by[first]), str(by[second])) for by in votes if first in by and second in by]
        if pairs:
            from sklearn.metrics import cohen_kappa_score

            same = sum(one == other for one, other in pairs)
            # where both gave one and the same verdict on everything, chance alone would agree as well
            several = len({verdict for pair in pairs for verdict in pair}) > 1
            kappa = float(cohen_kappa_score(*zip(*pairs, strict=True))) if several else None
            found.append(Agreement((names[first], names[second]), len(pairs), same, kappa))
    return tuple(found)


def _poststratified(strata: Mapping[int, Stratum], judged: Mapping[int, int]) -> dict[int, float]:
    """Return, by stratum, how many pairs of the population one of its judged pairs stands for.

    What a stratum gave to the sample and nobody could decide must not lower its weight, so a stratum counts
    with all its pairs. One without a judged pair joins its neighbour: by gap, rank, split, place.

    Source: post-stratification with collapsed strata, Cochran (1977), chapter 5A.
    """
    gaps = sorted({one.gap for one in strata.values()}, key=_place)
    spots = {at: (gaps.index(one.gap), _place(one.rank), _place(one.split)) for at, one in strata.items()}
    sizes = {place: strata[place].size for place in sorted(strata) if judged.get(place)}
    for place in sorted(strata.keys() - sizes.keys()) if sizes else ():
        sizes[_neighbour(place, sizes, spots)] += strata[place].size
    return {place: size / judged[place] for place, size in sizes.items()}


def _neighbour(place: int, among: Iterable[int], spots: Mapping[int, tuple[float, ...]]) -> int:
    """Return the place whose spot differs least, the first coordinate first."""
    apart = {other: [abs(a - b) for a, b in zip(spots[other], spots[place], strict=True)] for other in among}
    return min(apart, key=lambda other: (apart[other], abs(other - place), other))


def _rate_of(sample: Sample, values: Mapping[str, float], part: Iterable[Item]) -> Rate:
    """Return the rate of a part of a kind of pairs, by the values of all items of the sample that count."""
    places = {item.item: item.stratum for item in sample.items if item.stratum is not None}
    judged = Counter(place for item, place in places.items() if item in values)
    names = [item.item for item in part if item.item in places]
    weights = _poststratified({places[name]: sample.head.strata[places[name]] for name in names}, judged)
    inside = [name for name in names if name in values]
    strata = [places[name] for name in inside]
    return rate([values[name] for name in inside], [weights[place] for place in strata], strata)


def _groups(
    sample: Sample, values: Mapping[str, float], whole: Sequence[Item], name_of: Callable[[Item], str]
) -> dict[str, Rate]:
    parts: defaultdict[str, list[Item]] = defaultdict(list)
    for item in whole:
        if item.stratum is not None:
            parts[name_of(item)].append(item)
    rates = {name: _rate_of(sample, values, parts[name]) for name in sorted(parts, key=_place) if name}
    return {name: found for name, found in rates.items() if found.pairs}


def _place(name: str) -> float:
    """Return the order of a split, of a band of ranks, or of a band of gaps: 0.05 for "0.0500–0.0523"."""
    return _ORDER[name] if name in _ORDER else float(name.split("–")[0] or 0)

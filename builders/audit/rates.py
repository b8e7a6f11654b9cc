"""Rates with their intervals: weighted back from the strata. Pure."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from operator import attrgetter
from typing import NamedTuple, get_args

from builders.audit.history import (
    DECIDED,
    Item,
    Judgement,
    PairKind,
    Sample,
    Stratum,
    Verdict,
    counting,
    standing,
)
from builders.audit.sample import RANKS, rank_band
from builders.tables import SPLITS

_ORDER = {name: place for place, name in enumerate((*SPLITS, *RANKS))}
_PRIOR = 3
_Z = 1.959963984540054  # 97.5 % of the standard normal distribution
_STEP = 5
_MOST = 20_000
_USUAL = (0.01, 0.02, 0.03)
_RELATED_TOO = (Verdict.RELATED, Verdict.ALSO_RELEVANT)


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


_NOTHING_JUDGED = Rate(0, 0.0, None, 0.0, 1.0)


class Agreement(NamedTuple):
    """How far two auditors agree on the pairs of one kind that both judged.

    `kappa` is Cohen's over all verdicts, None where it is not defined; `ac1` is Gwet's.
    """

    auditors: tuple[str, str]
    kind: PairKind
    both: int
    same: int
    kappa: float | None
    ac1: float


class Found(NamedTuple):
    """The shares of a kind of pairs that are relevant: to half a pair where auditors differ.

    Attributes:
        relevant: Of all pairs.
        related_too: Those that are related count as well.
        by_query: The mean over queries of the share of a query's pairs, so that each query counts alike.
        corrected: `relevant` without the auditors' errors, as the controls tell them; see `_corrected`.
        by_split: `relevant` by split.
    """

    relevant: Rate
    related_too: Rate
    by_query: Rate
    corrected: Rate
    by_split: dict[str, Rate]


class Scores(NamedTuple):
    """The results of a random sample.

    Attributes:
        negatives: Of the hard negatives: the false negatives; also by bands of deviations and of ranks.
        positives: Of the labelled positives: the precision.
        sensitivity: Share of verdicts on relevant controls that say so.
        specificity: Share of verdicts on controls that are not relevant that say so, or related.
        undecided: Number of verdicts that were unsure or of broken text, over negatives and positives.
        disputed: Number of pairs that one auditor found relevant and another did not.
        at_most: The false-negative rate if every undecided pair were relevant.
    """

    negatives: Found
    by_band: dict[str, Rate]
    by_rank: dict[str, Rate]
    positives: Found
    sensitivity: Rate
    specificity: Rate
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


def needed_by_share(bound: float, expected: float) -> dict[float, int]:
    """Return how many pairs must be judged for an interval to end at `bound`, by the share that is relevant.

    The shares are `_USUAL` and `expected`, without those for which `_MOST` pairs would not do. A number is
    the first, in steps of five, at which the interval ends there if the nearest whole number is relevant.
    """
    needed = {}
    for share in sorted({*_USUAL, expected}):
        for pairs in range(_STEP, _MOST, _STEP) if share < bound else ():
            if wilson(round(share * pairs) / pairs, pairs)[1] <= bound:
                needed[share] = pairs
                break
    return needed


def foreseen(sample: Sample, expected: float) -> Rate:
    """Return the false-negative rate of a sample if all of it is judged, and `expected` are relevant."""
    mined = sample.of_kind("negative")
    return _rate_of(sample, {item.item: expected for item in mined}, mined)


def rate(values: Sequence[float], weights: Sequence[float], strata: Sequence[int] | None = None) -> Rate:
    """Return a weighted share, with Wilson's interval for the effective number of pairs.

    The share is Hájek's, Σwy / Σw. The effective number is that of unweighted pairs which would tell as
    much: p(1 − p) over the variance of the stratified share, Σ W²p(1 − p)/n by stratum, where n is
    (Σw)² / Σw² of its pairs (Kish 1965). Each stratum's share is drawn towards the whole's by `_PRIOR` pairs
    for that, so that one of few pairs does not pass for certain. No correction is made for a finite
    population: the interval is about how the negatives are mined, and stays one when every pair was judged.

    Values lie in [0, 1], 1 where a pair was found relevant; a weight, above 0, is the number of pairs of the
    population that a pair stands for. Without strata there is one.

    Sources: Hájek (1971); Wilson (1927); Franco, Little, Louis and Slud (2019) for their combination.
    """
    if not values:
        return _NOTHING_JUDGED
    total = math.fsum(weights)
    value = min(1.0, max(0.0, math.fsum(v * w for v, w in zip(values, weights, strict=True)) / total))
    expected = (math.fsum(values) + 1) / (len(values) + 2)
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, stratum in enumerate(strata or [0] * len(values)):
        places[stratum].append(place)
    whole, variance = 0.0, 0.0
    for _, inside in sorted(places.items()):
        weight = math.fsum(weights[place] for place in inside)
        squares = math.fsum(weights[place] ** 2 for place in inside)
        found = math.fsum(values[place] for place in inside)
        share = (found + _PRIOR * expected) / (len(inside) + _PRIOR)
        whole += weight / total * share
        variance += squares / total**2 * share * (1 - share)
    effective = whole * (1 - whole) / variance
    return Rate(len(values), effective, value, *wilson(value, effective))


def _corrected(found: Rate, sensitivity: Rate, specificity: Rate) -> Rate:
    """Return a rate without the errors of those who judged, with its 95 % interval.

    Nothing where one of the three is not known, or verdicts tell no more than chance.

    Sources: Rogan and Gladen (1978); Lang and Reiczigel (2014) for the interval, in which the three numbers
    of pairs count, that of controls too.
    """
    if found.value is None or sensitivity.value is None or specificity.value is None:
        return _NOTHING_JUDGED
    if (apart := sensitivity.value + specificity.value - 1) <= 0:
        return _NOTHING_JUDGED
    value = min(1.0, max(0.0, (found.value + specificity.value - 1) / apart))
    n, relevant, others = found.effective + _Z**2, sensitivity.effective + 2, specificity.effective + 2
    apparent = (found.effective * found.value + _Z**2 / 2) / n
    hit = (sensitivity.effective * sensitivity.value + 1) / relevant
    spared = (specificity.effective * specificity.value + 1) / others
    middle = (apparent + spared - 1) / (hit + spared - 1)
    of_hit, of_spared = hit * (1 - hit) / relevant, spared * (1 - spared) / others
    shift = 2 * _Z**2 * (middle * of_hit - (1 - middle) * of_spared)
    spread = apparent * (1 - apparent) / n + middle**2 * of_hit + (1 - middle) ** 2 * of_spared
    half = _Z * math.sqrt(spread) / (hit + spared - 1)
    low, high = (min(1.0, max(0.0, middle + shift + side)) for side in (-half, half))
    return Rate(found.pairs, found.effective, value, min(low, value), max(high, value))


def score(sample: Sample, judgements: Iterable[Judgement]) -> Scores:
    """Compute the rates of a random sample.

    Only *not relevant*, *related* and *also relevant* count; a pair that several judged counts with the share
    of them who found it relevant. See `_poststratified` for the weights.
    """
    judged = list(judgements)
    votes = {item: list(by_auditor.values()) for item, by_auditor in counting(judged).items()}
    decided = {item: [verdict for verdict in of if verdict in DECIDED] for item, of in votes.items()}
    values, related_too = (
        {item: sum(map(of.count, kept)) / len(of) for item, of in decided.items() if of}
        for kept in ((Verdict.ALSO_RELEVANT,), _RELATED_TOO)
    )
    mined, labelled = sample.of_kind("negative"), sample.of_kind("positive")
    # controls are no part of any rate of pairs
    of_pairs = [votes[item.item] for item in (*mined, *labelled) if item.item in votes]
    verdicts = Counter(verdict for of in of_pairs for verdict in of)
    strata = sample.head.strata
    sensitivity, specificity = (
        _right(sample, decided, expected) for expected in (Verdict.ALSO_RELEVANT, Verdict.NOT_RELEVANT)
    )

    def found(part: Sequence[Item]) -> Found:
        relevant = _rate_of(sample, values, part)
        return Found(
            relevant=relevant,
            related_too=_rate_of(sample, related_too, part),
            by_query=_rate_of(sample, values, part, by_query=True),
            corrected=_corrected(relevant, sensitivity, specificity),
            by_split=_groups(sample, values, part, attrgetter("split")),
        )

    return Scores(
        negatives=found(mined),
        by_band=_groups(sample, values, mined, lambda item: strata[item.stratum or 0].band),
        by_rank=_groups(sample, values, mined, lambda item: rank_band(item.rank)),
        positives=found(labelled),
        sensitivity=sensitivity,
        specificity=specificity,
        undecided={verdict: verdicts[verdict] for verdict in Verdict if verdict not in DECIDED},
        disputed=sum({Verdict.NOT_RELEVANT, Verdict.ALSO_RELEVANT} <= set(of) for of in of_pairs),
        at_most=_rate_of(sample, dict.fromkeys(votes, 1.0) | values, mined).value,
        agreement=_agreements(sample, judged),
    )


def _right(sample: Sample, decided: Mapping[str, Sequence[Verdict]], expected: Verdict) -> Rate:
    """Return the share of verdicts on controls of a kind that tell relevant from not as was confirmed."""
    told = [
        float((verdict is Verdict.ALSO_RELEVANT) is (expected is Verdict.ALSO_RELEVANT))
        for item in sample.of_kind("control")
        if item.expected is expected
        for verdict in decided.get(item.item, ())
    ]
    return rate(told, [1.0] * len(told))


def _agreements(sample: Sample, judgements: Sequence[Judgement]) -> tuple[Agreement, ...]:
    """Compare every two auditors who judged the same pairs, by kind of pair.

    Over all kinds together kappa would be high by the kinds alone: who tells labelled positives from hard
    negatives may still agree on the negatives no more than chance does.
    """
    names = {one.who: one.auditor for one, _ in standing(judgements)}
    votes = counting(judgements)
    found = []
    for first, second in combinations(sorted(names), 2):
        for kind in get_args(PairKind):
            both = [votes[item.item] for item in sample.of_kind(kind) if item.item in votes]
            pairs = [(by[first], by[second]) for by in both if first in by and second in by]
            if pairs:
                same = sum(one is other for one, other in pairs)
                auditors = names[first], names[second]
                found.append(Agreement(auditors, kind, len(pairs), same, _kappa(pairs), _ac1(pairs)))
    return tuple(found)


def _kappa(pairs: Sequence[tuple[Verdict, Verdict]]) -> float | None:
    """Return Cohen's kappa (1960), None where both gave one and the same verdict on everything."""
    if len({verdict for pair in pairs for verdict in pair}) == 1:
        return None  # chance alone would agree as well
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(*zip(*((str(one), str(other)) for one, other in pairs), strict=True)))


def _ac1(pairs: Sequence[tuple[Verdict, Verdict]]) -> float:
    """Return Gwet's AC1 over the scale of all verdicts: where one of them is rare, kappa is low all the same.

    Source: Gwet, Computing inter-rater reliability and its variance in the presence of high agreement (2008).
    """
    counts = Counter(verdict for pair in pairs for verdict in pair)
    shares = [count / (2 * len(pairs)) for count in counts.values()]
    by_chance = sum(share * (1 - share) for share in shares) / (len(Verdict) - 1)
    same = sum(one is other for one, other in pairs) / len(pairs)
    return (same - by_chance) / (1 - by_chance)


def _poststratified(strata: Mapping[int, Stratum], judged: Mapping[int, float]) -> dict[int, float]:
    """Return, by stratum, how many pairs of the population stand behind each that its judged pairs stood for.

    What a stratum gave to the sample and nobody could decide must not lower its weight, so a stratum counts
    with all its pairs. One without a judged pair joins its neighbour: by band, rank, split, place. `judged`
    is the sum of the weights of a stratum's judged pairs.

    Source: post-stratification with collapsed strata, Cochran (1977), chapter 5A.
    """
    bands = sorted({one.band for one in strata.values()}, key=_place)
    spots = {at: (bands.index(one.band), _place(one.rank), _place(one.split)) for at, one in strata.items()}
    sizes = {place: float(strata[place].size) for place in sorted(strata) if judged.get(place)}
    for place in sorted(strata.keys() - sizes.keys()) if sizes else ():
        sizes[_neighbour(place, sizes, spots)] += strata[place].size
    return {place: size / judged[place] for place, size in sizes.items()}


def _neighbour(place: int, among: Iterable[int], spots: Mapping[int, tuple[float, ...]]) -> int:
    """Return the place whose spot differs least, the first coordinate first."""
    apart = {other: [abs(a - b) for a, b in zip(spots[other], spots[place], strict=True)] for other in among}
    return min(apart, key=lambda other: (apart[other], abs(other - place), other))


def _rate_of(
    sample: Sample, values: Mapping[str, float], part: Iterable[Item], *, by_query: bool = False
) -> Rate:
    """Return the rate of a part of a kind of pairs, by the values of all items of the sample that count."""
    judged: defaultdict[int, float] = defaultdict(float)
    for item in sample.items:
        if item.stratum is not None and item.item in values:
            judged[item.stratum] += item.weight
    drawn = [(item, item.stratum) for item in part if item.stratum is not None]
    behind = _poststratified({place: sample.head.strata[place] for _, place in drawn}, judged)
    inside = [(item, place) for item, place in drawn if item.item in values]
    return rate(
        [values[item.item] for item, _ in inside],
        [behind[place] * item.weight * (item.share if by_query else 1.0) for item, place in inside],
        [place for _, place in inside],
    )


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
    """Return the order of a split, of a band of ranks, or of a band of deviations: 2.95 for "2.95–3.61"."""
    return _ORDER[name] if name in _ORDER else float(name.split("–")[0] or 0)

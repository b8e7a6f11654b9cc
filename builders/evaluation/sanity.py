"""Check scores: what knows nothing scores at chance, what knows all finds all, encoders score between."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

from builders.checks.finding import Code, Finding, error, note, ordered
from builders.evaluation.candidates import BM25
from builders.evaluation.pipelines import MTEB
from builders.evaluation.results import Result, RetrievalResult, place_of
from builders.printable import label

_ERRORS_WIDE = 6.0
"""Standard errors within which a random score may lie: with few positives random scores are far from normal,
a single hit in 2,876 passages lies about two errors above the mean, and each config and split is a draw."""
_TAIL = 1e-4
"""Share of Student's t beyond six standard errors of ten sets: an error that fewer sets give is less sure."""
_SOLVED = 0.95
"""nDCG@10 from which a split no longer tells encoders apart: a positive at rank 2 counts .63, so that at most
one query in seven has something above its positive. The best published score on GermanDPR is .84."""
_AT_CHANCE = 0.01
"""What an encoder must score above chance, beside the random spread, to have found anything at all."""
_MAX_CHANCE = 0.5
"""Where chance alone may reach as much, no score tells an encoder from a random one."""
_ROUNDED = 1e-5

_RANDOM = error(
    "eval-random-off-chance",
    "scores of a random encoder away from chance",
    "The metric or the rows are at fault: compare with mteb on the same vectors.",
)
_CONSTANT = error(
    "eval-constant-above-chance",
    "scores of a constant encoder above chance",
    "Ids, or the order of rows, tell what is relevant: look at how ids are made.",
)
_ORACLE = error(
    "eval-oracle-below-one",
    "scores of an oracle below 1",
    "Positives are not in the corpus.",
)
_LEXICAL = note(
    "eval-words-suffice",
    "splits that BM25 solves",
    "Words alone find the positives: the split does not tell encoders apart.",
)
_NOTHING = note(
    "eval-nothing-solves",
    "tables on which nothing scores above chance",
    "The labels may be wrong, or the texts say nothing of them: read some pairs.",
)
_ENCODER = note(
    "eval-encoder-at-chance",
    "encoders at chance where another is not",
    "Its weights or its prompts may be wrong: try it on another config.",
)
_FEW = note(
    "eval-too-small-to-tell",
    "tables too small to tell an encoder from chance",
    "Nothing to do for a sample; else evaluate another split, or build from more.",
)

_Chances = Mapping[str, Mapping[str, float]]


def check(results: Sequence[Result], baselines: Sequence[Result], chances: _Chances) -> list[Finding]:
    """Apply every rule to the results of encoders and to those of the baselines.

    Chance of a search is its expectation over all orders; of clusters it is an adjusted mutual information
    of 0, whose standard error is that of the mean over the sets. A search whose chance is not known is held
    against no rule that needs it. Each code is found at most once, with the scores as examples.
    """
    found: dict[Code, list[str]] = {_RANDOM: [], _CONSTANT: [], _ORACLE: [], _LEXICAL: []}
    for one in baselines:
        value, name, chance = _main(one), one.encoder.name, _chance(one, chances)
        if name == "oracle" and value < 1 - _ROUNDED:
            found[_ORACLE].append(f"{place_of(one)}: {value:.6f}")
        elif name == BM25 and value >= _SOLVED:
            found[_LEXICAL].append(f"{place_of(one)}: nDCG@10 {value:.5f}")
        elif chance is not None:
            above, allowed = value - chance[0], _ERRORS_WIDE * chance[1] + _ROUNDED
            if name == "random" and abs(above) > allowed and _reach(chance) <= _MAX_CHANCE:
                found[_RANDOM].append(_beside(one, chance[0]))
            elif name == "constant" and above > allowed:
                found[_CONSTANT].append(_beside(one, chance[0]))
    lexical = (one for one in baselines if one.encoder.name == BM25)
    found |= _encoders([*results, *lexical], chances)
    return ordered(each for code, lines in found.items() for each in code.lines(list(dict.fromkeys(lines))))


def _main(result: Result) -> float:
    """Return nDCG@10, or the mean AMI of the sets."""
    if isinstance(result, RetrievalResult):
        return result.scores["ndcg_at_10"].value
    return statistics.fmean(one.ami for one in result.sets)


def _chance(result: Result, chances: _Chances) -> tuple[float, float] | None:
    """Return what chance scores and its standard error; None where it is not known."""
    if isinstance(result, RetrievalResult):
        known = chances.get(place_of(result))
        # One order for all queries: search breaks ties by id, so that chance is what is left to a constant.
        error = "ndcg_at_10_shared_error" if result.encoder.name == "constant" else "ndcg_at_10_error"
        return (known["ndcg_at_10"], known[error]) if known else None
    if result.pipeline != MTEB:
        return None
    if len(result.sets) == 1:
        return 0.0, math.inf
    from scipy.stats import t

    spread = statistics.stdev(one.ami for one in result.sets) / math.sqrt(len(result.sets))
    return 0.0, spread * max(1.0, float(t.isf(_TAIL, len(result.sets) - 1)) / _ERRORS_WIDE)


def _reach(chance: tuple[float, float]) -> float:
    """Return what an encoder that found nothing may score."""
    return chance[0] + max(_AT_CHANCE, _ERRORS_WIDE * chance[1])


def _encoders(results: Iterable[Result], chances: _Chances) -> dict[Code, list[str]]:
    """Find tables that no encoder can do, tables too small, and encoders at chance where another is not."""
    places: dict[str, list[tuple[Result, tuple[float, float]]]] = {}
    for one in results:
        chance = _chance(one, chances)
        if one.encoder.kind != "rule" and chance is not None:
            places.setdefault(place_of(one), []).append((one, chance))
    found: dict[Code, list[str]] = {_NOTHING: [], _ENCODER: [], _FEW: []}
    for place, asked in places.items():
        told = [(one, chance) for one, chance in asked if _reach(chance) <= _MAX_CHANCE]
        low = [(one, chance) for one, chance in told if _main(one) <= _reach(chance)]
        if not told:
            ceiling = min(*(_reach(chance) for _, chance in asked), 1.0)
            found[_FEW].append(f"{place}: chance alone may reach {ceiling:.2f}")
        elif len(low) == len(told):
            best = max(_main(one) for one, _ in told)
            found[_NOTHING].append(f"{place}: at most {best:.5f}, chance {low[0][1][0]:.5f}")
        else:
            found[_ENCODER] += [_beside(one, chance[0]) for one, chance in low]
    return found


def _beside(result: Result, chance: float) -> str:
    metric = "" if isinstance(result, RetrievalResult) else "AMI "
    return (
        f"{place_of(result)}: {label(result.encoder.name)} {metric}{_main(result):.5f}, chance {chance:.5f}"
    )

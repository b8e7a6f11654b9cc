"""Rules about scores: what knows nothing scores at chance, what knows all finds all, encoders between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from builders.checks.finding import Code, Finding, Severity, ordered
from builders.evaluation.candidates import BM25
from builders.evaluation.model import ClusteringResult, Result, RetrievalResult
from builders.printable import label

ERRORS_WIDE = 6.0
"""Standard errors within which a random score may lie. Six, and not two or three: with few positives random
scores are far from normal, a single hit in 2,876 passages lies about two errors above the mean, and every
config, split and variant is another draw."""
SOLVED = 0.95
"""nDCG@10 from which a split no longer tells encoders apart: a positive at rank 2 counts .63, so that at most
one query in seven has something above its positive. The best published score on GermanDPR is .84."""
AT_CHANCE = 0.01
"""What an encoder must score above chance, beside the random spread, to have found anything at all."""
UNTOLD = 0.5
"""Where chance alone may reach as much, no score tells an encoder from a random one."""
_ROUNDED = 1e-5

RANDOM = Code(
    "eval-random-off-chance",
    Severity.ERROR,
    "scores of a random encoder away from chance",
    "The metric or the rows are at fault: compare with mteb on the same vectors.",
)
CONSTANT = Code(
    "eval-constant-above-chance",
    Severity.ERROR,
    "scores of a constant encoder above chance",
    "Ids, or the order of rows, tell what is relevant: look at how ids are made.",
)
ORACLE = Code(
    "eval-oracle-below-one",
    Severity.ERROR,
    "scores of an oracle below 1",
    "Positives are missing from the corpus: run mteb-de check.",
)
LEXICAL = Code(
    "eval-words-suffice",
    Severity.NOTE,
    "splits that BM25 solves",
    "Words alone find the positives: the split does not tell encoders apart.",
)
NOTHING = Code(
    "eval-nothing-solves",
    Severity.NOTE,
    "tables on which nothing scores above chance",
    "The labels may be wrong, or the texts say nothing of them: read some pairs.",
)
ENCODER = Code(
    "eval-encoder-at-chance",
    Severity.NOTE,
    "encoders at chance where another is not",
    "Its weights or its prompts may be wrong: try it on another config.",
)
FEW = Code(
    "eval-too-small-to-tell",
    Severity.NOTE,
    "tables too small to tell an encoder from chance",
    "Nothing to do for a sample; else evaluate another split, or build from more.",
)
CODES = (RANDOM, CONSTANT, ORACLE, LEXICAL, NOTHING, ENCODER, FEW)


def check(
    results: Sequence[Result], baselines: Sequence[Result], chances: Mapping[str, Mapping[str, float]]
) -> list[Finding]:
    """Apply every rule.

    Args:
        results: Of the encoders that were asked for.
        baselines: Of the rules and BM25; each stands for one table and split.
        chances: Scores of chance with their standard errors, as `run.Evaluation` has them; a table that has
            none is held against no rule that needs them.

    Returns:
        Findings, errors first; each code at most once, with the scores as examples.
    """
    by_rule = {name: [one for one in baselines if one.encoder.name == name] for name in _names(baselines)}
    return ordered([
        *_told(RANDOM, _off_chance(by_rule.get("random", ()), chances)),
        *_told(CONSTANT, _constant_above(by_rule.get("constant", ()), chances)),
        *_told(ORACLE, _below_one(by_rule.get("oracle", ()))),
        *_told(LEXICAL, _solved(by_rule.get(BM25, ()))),
        *_encoders([*results, *by_rule.get(BM25, ())], chances),
    ])


def place_of(result: Result) -> str:
    """Return the table and split of a result: "jobs/test", "blurbs-clustering-s2s"."""
    return f"{result.config}/{result.split}" if isinstance(result, RetrievalResult) else result.config


def main_score(result: Result) -> float:
    """Return nDCG@10, or the mean V-measure."""
    return result.scores["ndcg_at_10"].value if isinstance(result, RetrievalResult) else result.v_measure


def _names(results: Iterable[Result]) -> list[str]:
    return list(dict.fromkeys(one.encoder.name for one in results))


def _told(code: Code, examples: Iterable[str]) -> Iterator[Finding]:
    lines = list(examples)
    yield from code.counted(len(lines), lines)


def _metric(result: Result) -> str:
    return "ndcg_at_10" if isinstance(result, RetrievalResult) else "v_measure"


def _off_chance(results: Iterable[Result], chances: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    for one in results:
        if place_of(one) not in chances or _too_small(one, chances[place_of(one)]):
            continue
        chance, metric, value = chances[place_of(one)], _metric(one), main_score(one)
        if abs(value - chance[metric]) > ERRORS_WIDE * chance[f"{metric}_error"] + _ROUNDED:
            yield _beside(one, value, chance[metric])


def _constant_above(results: Iterable[Result], chances: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Search breaks ties by id, so that chance is what is left."""
    for one in results:
        if place_of(one) not in chances:
            continue
        chance = chances[place_of(one)]
        allowed = chance["ndcg_at_10"] + ERRORS_WIDE * chance["ndcg_at_10_shared_error"] + _ROUNDED
        if main_score(one) > allowed:
            yield _beside(one, main_score(one), chance["ndcg_at_10"])


def _below_one(results: Iterable[Result]) -> Iterator[str]:
    for one in results:
        if main_score(one) < 1 - _ROUNDED:
            yield f"{place_of(one)}: {main_score(one):.6f}"


def _solved(results: Iterable[Result]) -> Iterator[str]:
    for one in results:
        if main_score(one) >= SOLVED:
            yield f"{place_of(one)}: nDCG@10 {main_score(one):.5f}"


def _encoders(results: Sequence[Result], chances: Mapping[str, Mapping[str, float]]) -> Iterator[Finding]:
    """Tell tables that no encoder can do or that tell nothing, and encoders at chance where another is not.

    Only mteb's own clustering is held against chance: that of the others is not known.
    """
    places: dict[str, list[Result]] = {}
    for one in results:
        usual = not isinstance(one, ClusteringResult) or one.pipeline == "minibatch-kmeans"
        if one.encoder.kind != "rule" and usual and place_of(one) in chances:
            places.setdefault(place_of(one), []).append(one)
    nothing, single, few = [], [], []
    for place, asked in places.items():
        if _too_small(asked[0], chances[place]):
            ceiling = min(_by_chance(asked[0], chances[place]), 1.0)
            few.append(f"{place}: chance alone may reach {ceiling:.2f}")
            continue
        low = [one for one in asked if _at_chance(one, chances[place])]
        if len(low) == len(asked):
            best = max(map(main_score, asked))
            nothing.append(f"{place}: at most {best:.5f}, chance {chances[place][_metric(asked[0])]:.5f}")
        else:
            single += [_beside(one, main_score(one), chances[place][_metric(one)]) for one in low]
    yield from _told(NOTHING, nothing)
    yield from _told(ENCODER, dict.fromkeys(single))
    yield from _told(FEW, few)


def _at_chance(result: Result, chance: Mapping[str, float]) -> bool:
    return main_score(result) <= _by_chance(result, chance)


def _too_small(result: Result, chance: Mapping[str, float]) -> bool:
    return _by_chance(result, chance) > UNTOLD


def _by_chance(result: Result, chance: Mapping[str, float]) -> float:
    """Return what an encoder that found nothing may score."""
    metric = _metric(result)
    return chance[metric] + max(AT_CHANCE, ERRORS_WIDE * chance[f"{metric}_error"])


def _beside(result: Result, value: float, chance: float) -> str:
    return f"{place_of(result)}: {label(result.encoder.name)} {value:.5f}, chance {chance:.5f}"

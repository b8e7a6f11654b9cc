"""Results as tables of words: what searches, what clusters, and what of it stands beside published scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from builders.evaluation.published import Compared
from builders.evaluation.results import SCORES, ClusteringResult, Result, RetrievalResult, Score, by_level
from builders.printable import label

_NOTHING = "–"
_WIDEST = 100
_PUBLISHED = ("table", "encoder", "metric", "ours", "published", "difference", "tolerance", "verdict")
_VERDICTS = ("differs", "agrees", "not comparable")


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """A table: a heading per column, and as many cells in each row."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def scoreboards(results: Sequence[Result], compared: Sequence[Compared]) -> list[Scoreboard]:
    """Return results as tables, in their order; columns that nothing fills are left out.

    What a user or another's file named is one line of printable characters, and shortened where it is long.

    Args:
        results: What was scored.
        compared: As `compare` returns it; of several published scores of a result that one is shown that
            tells most: one outside its tolerance, one inside, one that cannot be compared.
    """
    searched = [one for one in results if isinstance(one, RetrievalResult)]
    clustered = [one for one in results if isinstance(one, ClusteringResult)]
    boards = []
    if searched:
        boards.append(_retrieval(searched))
    if clustered:
        boards.append(_clustering(clustered))
    if beside := [line for one in results if (line := _published(one, compared))]:
        boards.append(Scoreboard("Beside published scores", _PUBLISHED, tuple(beside)))
    return boards


def _retrieval(results: Sequence[RetrievalResult]) -> Scoreboard:
    names = [name for name in SCORES if any(name in one.scores for one in results)]
    rows = []
    for one in results:
        scores = (_shown(one.scores.get(name), interval=name == "ndcg_at_10") for name in names)
        rows.append((one.config, one.split, label(one.encoder.name), *scores))
    headings = ("config", "split", "encoder", *(SCORES[name] for name in names))
    return Scoreboard("Retrieval", headings, tuple(rows))


def _clustering(results: Sequence[ClusteringResult]) -> Scoreboard:
    levels = by_level(level for one in results for level in one.levels)
    rows = []
    for one in results:
        means = (f"{one.levels[level].mean:.4f}" if level in one.levels else _NOTHING for level in levels)
        overall = (f"{one.v_measure:.6f}", f"{one.spread:.4f}", *means)
        rows.append((one.config, label(one.encoder.name), one.pipeline, *overall))
    headings = ("config", "encoder", "pipeline", "V-measure", "spread", *levels)
    return Scoreboard("Clustering", headings, tuple(rows))


def _shown(score: Score | None, *, interval: bool) -> str:
    if score is None:
        return _NOTHING
    ends = f" [{score.low:.3f}, {score.high:.3f}]" if score.low is not None and score.high is not None else ""
    return f"{score.value:.5f}{ends if interval else ''}"


def _published(result: Result, compared: Sequence[Compared]) -> tuple[str, ...]:
    if isinstance(result, RetrievalResult):
        where, main, shown = (result.config, result.split, ""), "ndcg_at_10", SCORES["ndcg_at_10"]
        place = f"{result.config}/{result.split}"
    else:
        where, main, shown = (result.config, "", result.pipeline), "v_measure", result.pipeline
        place = result.config
    beside = [
        one
        for one in compared
        if (one.config, one.split, one.pipeline) == where
        and (one.encoder, one.metric) == (result.encoder.name, main)
    ]
    if not beside:
        return ()
    one = min(beside, key=lambda line: _VERDICTS.index(line.verdict))
    allowed = _NOTHING if one.tolerance is None else f"{one.tolerance:.3f}"
    verdict = f"{one.verdict}: {one.why}" if one.why else one.verdict
    scores = (f"{one.ours:.5f}", f"{one.published:.5f}", f"{one.difference:+.5f}", allowed)
    return place, label(result.encoder.name), shown, *scores, label(verdict, _WIDEST)

"""From results to what a card cites of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from builders.evaluation.citation import Citation, rows_id
from builders.evaluation.model import Result, RetrievalResult
from builders.evaluation.run import builder_of
from builders.evaluation.sanity import place_of
from builders.lock.model import Lock, ScoreLock


def citations(results: Iterable[Result], locks: Mapping[str, Lock]) -> dict[str, Citation]:
    """Return what is cited, by the builder's name of a config.

    Of an encoder that searches its nDCG@10, of vectors that mteb's k-means clustered their V-measure; rules
    are left out.

    Args:
        results: What was scored.
        locks: Of the configs, which name the rows.
    """
    scores: dict[str, list[ScoreLock]] = {}
    for result in results:
        scores.setdefault(builder_of(result), []).extend(_scores(result))
    return {
        config: Citation(rows=rows_id(locks[config].files), scores=tuple(found))
        for config, found in scores.items()
        if found
    }


def _scores(result: Result) -> Iterator[ScoreLock]:
    encoder = result.encoder
    if encoder.kind == "rule":
        return
    if isinstance(result, RetrievalResult):
        score = result.scores["ndcg_at_10"]
        metric, value, low, high = "ndcg_at_10", score.value, score.low, score.high
    elif result.pipeline == "minibatch-kmeans":
        metric, value, low, high = "v_measure", result.v_measure, None, None
    else:
        return
    yield ScoreLock(
        config=place_of(result),
        model=encoder.model,
        revision=encoder.revision,
        metric=metric,
        value=value,
        low=low,
        high=high,
    )

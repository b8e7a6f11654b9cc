"""From results to what a card cites of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from builders.errors import UsageError
from builders.evaluation.candidates import NAMES
from builders.evaluation.citation import Citation, rows_id
from builders.evaluation.model import Result, RetrievalResult
from builders.evaluation.places import is_hydrated
from builders.evaluation.run import builder_of
from builders.evaluation.sanity import place_of
from builders.lock.lock import Lock, ScoreLock
from builders.sources import is_stand_in

_IN_THE_PACKAGE = frozenset(NAMES) - {"e5"}
"""What is evaluated without anything from the Hub."""


def require_citable(names: Iterable[str]) -> None:
    """Refuse encoders that a reader of the card could not get.

    Args:
        names: Of candidates, as they were asked for.

    Raises:
        UsageError: One is a folder of this machine, or would come from a stand-in for the Hub.
    """
    for name in names:
        if is_stand_in() and name not in _IN_THE_PACKAGE:
            raise UsageError(
                f"{name!r} would come from a stand-in for the Hub, and a card cites the Hub's models only",
                hint="Unset HF_ENDPOINT, or leave --cite out.",
            )
        if name not in NAMES and Path(name).is_dir():
            raise UsageError(
                f"{name!r} is a folder, and a card cites only what its readers can get",
                hint="Cite a model as OWNER/NAME@COMMIT.",
            )


def citations(results: Iterable[Result], locks: Mapping[str, Lock]) -> dict[str, Citation]:
    """Return what is cited, by the builder's name of a config.

    Of an encoder that searches its nDCG@10, of vectors that mteb's k-means clustered their V-measure. Rules
    are left out, and so are hydrated texts, whose rows are not published.

    Args:
        results: What was scored.
        locks: Of the configs, which name the rows.
    """
    scores: dict[str, list[ScoreLock]] = {}
    for result in results:
        if is_hydrated(locks[builder_of(result)]):
            continue
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

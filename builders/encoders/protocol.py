"""What an encoder is, which texts it may be given, and how those that are too long are cut."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from builders.errors import EncoderError
from builders.lock.lock import EncoderIdentity
from builders.spec import EncoderSpec

Role = Literal["query", "passage"]
Backend = Literal["e5", "offline"]

_EXCERPT = 60


class Encoder(Protocol):
    """Turns texts into vectors. Weights are loaded when the first text is cut or encoded."""

    @property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector. Reading it loads no weights."""
        ...

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Cut texts whose prefix, text and special tokens exceed `identity.max_length`, and no others.

        Raises:
            EncoderError: A text is not usable (empty, NUL, lone surrogate), or the model does not load.
        """
        ...

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Return the vectors of texts that fit, float32 (n, `identity.dimensions`), L2-normalised.

        The prefix of the role is added here. A vector depends on its text alone, not by a bit on the other
        texts, their order or the workers.

        Raises:
            EncoderError: A text is not usable or too long, or the model does not load.
        """
        ...


def load_encoder(
    spec: EncoderSpec,
    backend: Backend,
    *,
    workers: int | None = None,
    offline: bool = False,
    root: Path | None = None,
) -> Encoder:
    """Return the encoder that a config pins, or the small one that stands in for it without network.

    Nothing is loaded or fetched before it is used. `workers` are threads (e5) or processes (offline), by
    default one per usable CPU; with `offline` the network is never touched; `root` is as for `encode_cached`.
    """
    if backend == "offline":
        from builders.encoders.offline import offline_for

        return offline_for(spec, workers)
    from builders.encoders.sentence import E5

    return E5(spec, threads=workers, offline=offline, root=root)


class TokenEncoder(Encoder, ABC):
    """An encoder that counts the tokens of a text with its prompt, to cut or to refuse what is too long."""

    def truncate(self, texts: Sequence[str], role: Role) -> list[str]:
        """Cut texts to the maximum length; see `Encoder.truncate`."""
        require_usable(texts)
        if (limit := self._limit()) is None:
            return list(texts)
        return _cut_to_fit(texts, lambda some: self._count(some, role), limit)

    def encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Encode texts that fit; see `Encoder.encode`."""
        require_usable(texts)
        if (limit := self._limit()) is not None:
            _require_fitting(self._count(texts, role), limit)
        return self._encode(texts, role)

    def _limit(self) -> int | None:
        """Return the most tokens of a text, prompt and special tokens; None where there is no limit."""
        return self.identity.max_length

    @abstractmethod
    def _count(self, texts: Sequence[str], role: Role) -> list[int]: ...

    @abstractmethod
    def _encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]: ...


def require_usable(texts: Sequence[str | None]) -> None:
    """Refuse texts that an encoder would change silently: null, blank, with NUL or a lone surrogate."""
    for index, text in enumerate(texts):
        if fault := _fault(text):
            raise EncoderError(
                f"text {index} cannot be encoded: {fault}",
                hint="Normalise the texts first; normalising drops or repairs such texts with a reason.",
            )


def _require_fitting(counts: Sequence[int], limit: int) -> None:
    """Refuse texts that the model would cut or split by itself: those with more tokens than the limit."""
    for index, count in enumerate(counts):
        if count > limit:
            raise EncoderError(
                f"text {index} has {count} tokens, the limit is {limit}",
                hint="Truncate the texts with the encoder's `truncate` before encoding them.",
            )


def _cut_to_fit(texts: Sequence[str], count: Callable[[Sequence[str]], list[int]], limit: int) -> list[str]:
    """Cut each text that has too many tokens to a beginning that fits; the others stay.

    The cut is found by bisection over characters. A word's beginning may have more tokens than the word, so
    the result is the longest beginning that fits to within one word, and always the same one. `count` returns
    the tokens of texts, prefix and special tokens included.
    """
    result = list(texts)
    fits = {index: 0 for index, tokens in enumerate(count(texts)) if tokens > limit}
    over = {index: len(texts[index]) for index in fits}
    while undecided := [index for index in fits if over[index] - fits[index] > 1]:
        middles = [(fits[index] + over[index]) // 2 for index in undecided]
        tokens = count([texts[index][:middle] for index, middle in zip(undecided, middles, strict=True)])
        for index, middle, number in zip(undecided, middles, tokens, strict=True):
            (fits if number <= limit else over)[index] = middle
    for index, length in fits.items():
        if length == 0:
            raise EncoderError(f"text {index}: not one character fits into {limit} tokens")
        result[index] = texts[index][:length]
    return result


def text_key(role: Role, text: str) -> bytes:
    """Return the blake2b-256 of role and text, 32 bytes."""
    return hashlib.blake2b(f"{role}\0{text}".encode(), digest_size=32).digest()


def excerpt(text: str) -> str:
    """Return the beginning of a text, escaped and in quotes, for a message."""
    return repr(text if len(text) <= _EXCERPT else f"{text[:_EXCERPT]}…")


def _fault(text: str | None) -> str:
    if text is None:
        return "it is null"
    if not text or text.isspace():
        return "it is empty"
    if "\0" in text:
        return "it holds a NUL character"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "it holds a lone surrogate"
    return ""

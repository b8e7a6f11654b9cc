"""Standard streams that a closed pipe, a full disk or a narrow encoding cannot turn into a fault."""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class Stream(io.FileIO):
    """A descriptor to write to. When it can no longer be written, the rest is swallowed and the work goes on.

    A reader that has gone (`| head`) is no fault: the exit code stays that of the work. What else keeps data
    from being written is raised once, if the data is required: lines for people are not worth a build.
    """

    def __init__(self, descriptor: int, name: str, *, required: bool) -> None:
        super().__init__(descriptor, "w", closefd=False)
        self._label, self._required, self._gone = name, required, False

    def write(self, data: ReadableBuffer, /) -> int:
        """Write what can be written.

        Raises:
            OSError: The data is required, and the disk is full or the device failed.
        """
        if not self._gone:
            try:
                return super().write(data)
            except BrokenPipeError:
                self._gone = True
            except OSError as error:
                self._gone = True
                if self._required:
                    raise OSError(error.errno, error.strerror, self._label) from error
        return memoryview(data).nbytes


def install() -> None:
    """Put such streams in place of stdout and stderr.

    Descriptors that are closed are opened on nothing first: a file of ours must never get the number of a
    standard stream, into which libraries may print.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            os.set_inheritable(descriptor, True)
    sys.stdout = _text(Stream(1, "stdout", required=True), sys.stdout)
    sys.stderr = _text(Stream(2, "stderr", required=False), sys.stderr)


def _text(raw: Stream, before: object) -> io.TextIOWrapper:
    encoding = getattr(before, "encoding", None) or "utf-8"
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding, errors="backslashreplace", line_buffering=True, write_through=True
    )

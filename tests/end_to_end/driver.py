"""Runs the command in processes that share what they import, and that end badly on demand.

A server forks for each run before anything has been computed: a run costs no imports, and is a process of its
own, which can be killed in the middle of a write.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NoReturn

_LONGEST = 300  # seconds after which a run that hangs is ended
IMPORTED = (
    "pandas",
    "builders.build.order",
    "builders.checks",
    "builders.cli.build",
    "builders.configs.germandpr",
    "builders.configs.jobs",
    "builders.encoders",
    "builders.mining",
    "builders.personal.names",
    "builders.release.plan",
)
"""What a build imports while it runs. Importing computes nothing: threads do not survive a fork."""


@dataclass(frozen=True)
class Ran:
    """How a run ended: its exit code, or the negative number of the signal that ended it."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Fate:
    """What shall happen to a run.

    Attributes:
        environment: Variables of the run.
        kill_after_step: SIGKILL when this many steps have been told.
        kill_in_sync: SIGKILL when a file or folder is synced for the nth time; a file is cut in half before,
            as if the write had been under way.
        kill_before_rename: SIGKILL when a file shall be renamed for the nth time.
        largest_file: Bytes that a file may have; what is beyond fails as on a full disk.
    """

    environment: Mapping[str, str] = field(default_factory=dict)
    kill_after_step: int = 0
    kill_in_sync: int = 0
    kill_before_rename: int = 0
    largest_file: int = resource.RLIM_INFINITY


class Driver:
    """Runs the command, one run after the other; what is printed passes through files in `folder`."""

    def __init__(self, server: subprocess.Popen[str], folder: Path) -> None:
        self._server = server
        self._logs = (folder / "stdout", folder / "stderr")

    def run(self, *words: str | Path, fate: Fate | None = None) -> Ran:
        assert self._server.stdin is not None and self._server.stdout is not None
        request = {
            "words": list(map(str, words)),
            "logs": list(map(str, self._logs)),
            "fate": asdict(fate or Fate()),
        }
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline()
        assert answer, "the server has ended"
        out, err = (log.read_text(encoding="utf-8") for log in self._logs)
        assert "Traceback" not in err, err
        return Ran(int(answer), out, err)


@contextmanager
def driver(folder: Path, environment: Mapping[str, str]) -> Iterator[Driver]:
    """Serve runs until the block ends."""
    server = subprocess.Popen(
        [sys.executable, "-m", __name__],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with server:
        yield Driver(server, folder)


def serve() -> None:
    """Answer each line on stdin with the exit code of its run."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(request["words"], request["logs"], Fate(**request["fate"]))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(words: list[str], logs: list[str], fate: Fate) -> NoReturn:
    """Be the command, until it ends or is ended."""
    from builders.cli import main

    for descriptor, name in enumerate([os.devnull, *logs]):
        flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(name, flags, 0o600), descriptor)
    signal.alarm(_LONGEST)
    os.environ.update(fate.environment)
    resource.setrlimit(resource.RLIMIT_FSIZE, (fate.largest_file, resource.RLIM_INFINITY))
    _prepare_to_die(fate)
    code: Any = 1
    try:
        main(words)
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdout.flush()
        os._exit(code if isinstance(code, int) else 1)


def _prepare_to_die(fate: Fate) -> None:
    from builders.cli.output import Lines

    if fate.kill_after_step:
        steps, tell = itertools.count(1), Lines.step

        def step(self: Lines, name: str, *lines: str) -> None:
            tell(self, name, *lines)
            if next(steps) == fate.kill_after_step:
                os.kill(os.getpid(), signal.SIGKILL)

        Lines.step = step  # type: ignore[method-assign]  # the only way to stand between two steps
    if fate.kill_in_sync:
        syncs, sync = itertools.count(1), os.fsync

        def fsync(fd: Any) -> None:
            if next(syncs) == fate.kill_in_sync:
                found = os.fstat(fd)
                if stat.S_ISREG(found.st_mode):
                    os.ftruncate(fd, found.st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)
            sync(fd)

        os.fsync = fsync
    if fate.kill_before_rename:
        renames, replace = itertools.count(1), os.replace

        def rename(src: Any, dst: Any) -> None:
            if next(renames) == fate.kill_before_rename:
                os.kill(os.getpid(), signal.SIGKILL)
            replace(src, dst)

        os.replace = rename  # type: ignore[assignment]


if __name__ == "__main__":
    for module in IMPORTED:
        importlib.import_module(module)
    assert "huggingface_hub" not in sys.modules, "it reads HF_ENDPOINT once, and each run has its own"
    serve()

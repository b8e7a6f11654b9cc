"""Print data to stdout, all else to stderr; obey no markup and no control character from outside."""

import codecs
import datetime
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from builders.errors import StorageError
from builders.files import unwritable, writing
from builders.printable import printable

_SECONDS_BETWEEN_LINES = 20.0
_LABEL_WIDTH = 15
_UNCUT = 10_000


def emit(document: dict[str, Any]) -> None:
    """Print one JSON document to stdout; in ASCII where the stream is not UTF-8."""
    narrow = codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8"
    click.echo(json.dumps({"schema_version": 1} | document, ensure_ascii=narrow, indent=1, sort_keys=True))


def say(line: str) -> None:
    """Print a line of data to stdout."""
    click.echo(_shown(line))


def say_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table to stdout, as wide as its content: a narrow terminal wraps its lines and cuts nothing."""
    table = Table(*headings, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*map(Text, map(_shown, row)))
    console = Console(highlight=False, width=_UNCUT)
    with console.capture() as printed:
        console.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in printed.get().splitlines())


def tell(line: str) -> None:
    """Print a line for people to stderr."""
    _stderr().print(Text(_shown(line)), soft_wrap=True)


def complain(message: str, hint: str = "") -> None:
    """Print an error and what to do next to stderr."""
    _stderr().print(Text.assemble(("error: ", "bold red"), _shown(message)), soft_wrap=True)
    if hint:
        _stderr().print(Text(f"       {_shown(hint)}"), soft_wrap=True)


class Lines:
    """Progress of a long verb: lines of two columns, and a bar for what takes long."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False)
        self._bar: tuple[Progress, TaskID, str] | None = None
        self._last = time.monotonic()
        self._log: FileIO | None = None

    @contextmanager
    def logged(self, path: Path) -> Iterator[None]:
        """Append every line to a file too, with the time of day; a fault's message comes last."""
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            log = path.open("ab", buffering=0)
        with log:
            self._log = log
            try:
                yield
            except BaseException as error:
                with suppress(StorageError):  # the fault itself is what has to be told
                    self._note(f"{type(error).__name__}: {error}")
                raise
            finally:
                self._end_bar()
                self._log = None

    def title(self, text: str) -> None:
        """Print a heading."""
        text = _shown(text)
        self._note(text)
        self._console.print(Text(text, style="bold"))

    def step(self, name: str, *lines: str) -> None:
        """Print the results of a step; its name stands before the first line."""
        self._end_bar()
        for number, line in enumerate(map(_shown, lines)):
            label = f"{name if number == 0 else '':<{_LABEL_WIDTH}}"
            self._note(f"  {label} {line}")
            self._console.print(Text.assemble("  ", (label, "cyan"), " ", line), soft_wrap=True)

    def tick(self, name: str, done: int, total: int) -> None:
        """Move the bar on a terminal; elsewhere print a line now and then."""
        if self._console.is_terminal:
            self._move_bar(name, done, total)
        elif time.monotonic() - self._last > _SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            self.step(name, f"{done:,} of {total:,}")

    def _note(self, line: str) -> None:
        if self._log is None:
            return
        entry = f"{datetime.datetime.now(datetime.UTC):%Y-%m-%dT%H:%M:%SZ} {line}\n"
        try:
            self._log.write(entry.encode(errors="backslashreplace"))
        except OSError as error:
            path, self._log = Path(str(self._log.name)), None
            raise unwritable(path, error) from error

    def _move_bar(self, name: str, done: int, total: int) -> None:
        if self._bar is not None and self._bar[2] != name:
            self._end_bar()
        if self._bar is None:
            label = TextColumn("  {task.description}")
            columns = (label, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            bar = Progress(*columns, console=self._console, transient=True)
            bar.start()
            self._bar = (bar, bar.add_task(f"{name:<{_LABEL_WIDTH}}", total=total), name)
        progress, task, _ = self._bar
        progress.update(task, completed=done, total=total)

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None


def _shown(text: str) -> str:
    """Escape what a terminal would obey: a message may quote a file name, an id or an answer from outside."""
    return "\n".join(map(printable, text.split("\n")))


def _stderr() -> Console:
    return Console(file=sys.stderr, highlight=False)

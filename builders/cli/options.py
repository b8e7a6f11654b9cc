"""Options that several verbs take, and the settings of the environment that are options too."""

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FILE_THERE = click.Path(path_type=Path, dir_okay=False, exists=True)
FOLDER = click.Path(path_type=Path, file_okay=False)
FOLDER_THERE = click.Path(path_type=Path, file_okay=False, exists=True)
AT_LEAST_1 = click.IntRange(min=1)


def flag(names: str, what: str) -> _Option:
    """Return a switch; `names` are separated by spaces, `what` is its help."""
    return click.option(*names.split(), is_flag=True, help=what)


def value(names: str, kind: object, what: str, default: object = None) -> _Option:
    """Return an option with a value of a kind; `names` and `what` as in `flag`."""
    return click.option(*names.split(), type=kind, default=default, help=what)


def dist(name: str, what: str) -> _Option:
    """Return the option for a folder of releases, `dist` by default; `what` is its help."""
    return value(name, PATH, what, "dist")


def committed_folder(what: str) -> _Option:
    """Return the option for the folder of what is committed; `what` it holds of that."""
    help_ = f"Folder of committed {what}.  [default: beside the configs]"
    return click.option("--locks", type=FOLDER, default=_beside, show_default=False, help=help_)


def _beside() -> Path:
    from builders.lock.committed import FOLDER

    return FOLDER


AS_JSON = flag("--json as_json", "Print one JSON document.")
CONFIGS: _Option = click.argument("configs", nargs=-1, metavar="[CONFIG]...")
DIST = dist("--dist", "A built tree.")
HYDRATED = value("--out", FOLDER, "Folder of the text tables; never one of a release.", "dist/hydrated")
OFFLINE = flag("--offline", "Never touch the network; fail on what is not in the cache.")
OUT = dist("--out", "Folder of releases.")
QUIET = flag("-q --quiet", "Print results and errors only.")
WORKERS = value("--workers", AT_LEAST_1, "Encoding processes.  [default: one per core]")


def sources() -> tuple[str, ...]:
    """Return the folders and base URLs of `MTEB_DE_SOURCES`."""
    return tuple(filter(None, map(str.strip, os.environ.get("MTEB_DE_SOURCES", "").split(","))))


def reddit() -> str | None:
    """Return the stand-in for Reddit's addresses of `MTEB_DE_REDDIT_URL`, if any."""
    return os.environ.get("MTEB_DE_REDDIT_URL") or None


def today() -> datetime.date:
    """Return the day in UTC."""
    return datetime.datetime.now(datetime.UTC).date()

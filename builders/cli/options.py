"""Options that several verbs take."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]

AS_JSON: _Option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
CONFIGS: _Option = click.argument("configs", nargs=-1, metavar="[CONFIG]...")
OFFLINE: _Option = click.option(
    "--offline", is_flag=True, help="Never touch the network; fail on what is not in the cache."
)
QUIET: _Option = click.option("-q", "--quiet", is_flag=True, help="Print results and errors only.")
WORKERS: _Option = click.option(
    "--workers", type=click.IntRange(min=1), help="Encoding processes.  [default: one per core]"
)


def folder(name: str, what: str) -> _Option:
    """Return the option for a folder of releases, `dist` by default; `what` is its help."""
    return click.option(
        name, type=click.Path(path_type=Path), default=Path("dist"), show_default=True, help=what
    )


DIST = folder("--dist", "A built tree.")
OUT = folder("--out", "Folder of releases.")


def committed_folder(what: str) -> _Option:
    """Return the option for the folder of what is committed; `what` it holds of that."""
    return click.option(
        "--locks",
        type=click.Path(path_type=Path, file_okay=False),
        help=f"Folder of committed {what}.  [default: beside the configs]",
    )

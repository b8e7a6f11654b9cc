"""`mteb-de build`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

import click

from builders import registry
from builders.cli.output import Lines, emit, say


@click.command("build")
@click.argument("configs", nargs=-1, metavar="[CONFIG]...")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Folder of releases.",
)
@click.option(
    "--encoder",
    type=click.Choice(["e5", "offline"]),
    default="e5",
    show_default=True,
    help="The pinned E5, or the bundled small one: no download, for rehearsals only.",
)
@click.option("--offline", is_flag=True, help="Never touch the network; fail on what is not in the cache.")
@click.option("--limit", type=click.IntRange(min=1), help="Build from this many queries only.")
@click.option("--workers", type=click.IntRange(min=1), help="Encoding processes.  [default: one per core]")
@click.option(
    "--splits", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Keep this assignment."
)
@click.option("--json", "as_json", is_flag=True, help="Print the locks as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print results and errors only.")
def command(
    configs: tuple[str, ...],
    out: Path,
    encoder: Literal["e5", "offline"],
    offline: bool,
    limit: int | None,
    workers: int | None,
    splits: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Rebuild configs (default: all) from their pinned upstreams: fetch to lock.

    \b
    Examples:
      mteb-de build
      mteb-de build jobs --encoder offline --limit 2000
      MTEB_DE_SOURCES=folder mteb-de build germandpr --offline

    Exit codes: 0 built; 1 a check found an error, or a source changed; 2 could not run.
    """
    from builders.build import Options, build

    specs = [registry.load(name) for name in configs or registry.names()]
    lines = Lines(quiet=quiet)
    locks = {}
    for spec in specs:
        lines.title(spec.name)
        began = time.monotonic()
        options = Options(
            out=out,
            encoder=encoder,
            offline=offline,
            sources=tuple(filter(None, os.environ.get("MTEB_DE_SOURCES", "").split(","))),
            limit=limit,
            workers=workers,
            splits=splits,
        )
        built = build(spec, options, lines)
        locks[spec.name] = built.lock.model_dump(mode="json")
        if not as_json:
            rows = sum(file.rows for file in built.lock.files)
            seconds = time.monotonic() - began
            say(f"{spec.name}: {rows:,} rows in {out / spec.release / spec.name} ({seconds:.0f} s)")
    if as_json:
        emit({"locks": locks})

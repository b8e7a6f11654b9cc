"""`mteb-de explain`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from builders.cli.output import emit, say


@click.command("explain")
@click.argument("id")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("dist"), show_default=True, help="A built tree."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(id: str, out: Path, as_json: bool) -> None:
    """Say where a published id comes from, what became of an upstream id, or why a row was dropped.

    \b
    Examples:
      mteb-de explain q-0f3a5b7c9d1e2f40
      mteb-de explain 10000-0002051021-S

    Exit codes: 0 found; 2 the id is nowhere, or nothing was built.
    """
    from builders.explain import explain, lines

    found = explain(out, id)
    if as_json:
        emit({"id": id, "found": [asdict(row) for row in found]})
        return
    for row in found:
        for line in lines(row):
            say(line)

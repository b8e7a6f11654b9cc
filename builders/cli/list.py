"""`mteb-de list`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from builders import registry
from builders.cli.output import emit, say_table
from builders.spec import HttpSource, HubSource, LocalFile, RecordedFile


@click.command("list")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Folder of releases.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(out: Path, as_json: bool) -> None:
    """Show the configs with licence, sources, rows and lock state.

    Exit codes: 0 fine; 2 a lock cannot be read.
    """
    from builders.lock.committed import FOLDER, lock_path
    from builders.lock.lock import read_lock, work_folder

    rows: list[dict[str, Any]] = []
    for name in registry.names():
        spec = registry.load(name)
        built = work_folder(out, name) / "lock.json"
        rows.append({
            "config": name,
            "title": spec.title,
            "release": spec.release,
            "licence": spec.licence,
            "sources": [_facts(source) for source in spec.sources],
            "rows": sum(file.rows for file in read_lock(built).files) if built.exists() else None,
            "locked": lock_path(FOLDER, name).exists(),
        })
    if as_json:
        emit({"configs": rows})
        return
    say_table(
        ("config", "release", "licence", "rows built", "committed lock", "sources"),
        [
            (
                row["config"],
                row["release"],
                row["licence"],
                "–" if row["rows"] is None else f"{row['rows']:,}",
                "yes" if row["locked"] else "no",
                ", ".join(map(_pin, row["sources"])),
            )
            for row in rows
        ],
    )


def _facts(source: HubSource | HttpSource | RecordedFile | LocalFile) -> dict[str, Any]:
    """Return what a source says of itself, without the functions that read it."""
    return {name: value for name, value in asdict(source).items() if not callable(value)}


def _pin(source: dict[str, Any]) -> str:
    """Return a source as people name it; the pin of a plain file stands in the committed lock."""
    if "repo" in source:
        return f"{source['repo']}@{source['revision'][:10]}"
    return str(source.get("url") or source["name"])

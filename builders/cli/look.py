"""`mteb-de check`, `explain` and `list`: what was built."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from builders import registry
from builders.cli import options as opt
from builders.cli.output import emit, say, say_table
from builders.printable import counted


@click.command("check")
@opt.DIST
@opt.committed_folder("locks and splits")
@opt.AS_JSON
def check(dist: Path, locks: Path, as_json: bool) -> None:
    """Run every rule on a built tree.

    Exit codes: 0 no error; 1 a rule found an error; 2 the tree cannot be read.
    """
    from builders.checks import check_tree
    from builders.checks.finding import Severity
    from builders.files import reading

    with reading(dist):
        findings = check_tree(dist, configs=locks)
    if as_json:
        emit({"findings": [asdict(finding) for finding in findings]})
    errors = sum(finding.severity is Severity.ERROR for finding in findings)
    if not as_json:
        for line in (line for finding in findings for line in finding.lines()):
            say(line)
        say(f"{counted(len(findings), 'finding')}, {errors} of them errors")
    if errors:
        raise click.exceptions.Exit(1)


@click.command("explain")
@click.argument("id")
@opt.dist("--out", "A built tree.")
@opt.AS_JSON
def explain(id: str, out: Path, as_json: bool) -> None:
    """Say where a published id comes from, what became of an upstream id, or why a row was dropped.

    \b
    Examples:
      mteb-de explain q-0f3a5b7c9d1e2f40
      mteb-de explain 10000-0002051021-S

    Exit codes: 0 found; 2 the id is nowhere, or nothing was built.
    """
    from builders.explain import explain as run

    found = run(out, id)
    if as_json:
        emit({"id": id, "found": [one.facts for one in found]})
        return
    for one in found:
        for line in one.lines:
            say(line)


@click.command("list")
@opt.OUT
@opt.AS_JSON
def list_(out: Path, as_json: bool) -> None:
    """Show the configs with licence, sources, rows and lock state.

    Exit codes: 0 fine; 2 a lock cannot be read.
    """
    from builders.lock.committed import FOLDER, lock_path
    from builders.lock.lock import read_lock, work_folder

    documents, table = [], []
    for spec in map(registry.load, registry.names()):
        built, locked = work_folder(out, spec.name) / "lock.json", lock_path(FOLDER, spec.name).exists()
        rows = sum(file.rows for file in read_lock(built).files) if built.exists() else None
        # The functions that read a source are no facts of it.
        facts = [{k: v for k, v in asdict(one).items() if not callable(v)} for one in spec.sources]
        told: dict[str, Any] = {"config": spec.name, "release": spec.release, "licence": spec.licence}
        documents.append(told | {"title": spec.title, "sources": facts, "rows": rows, "locked": locked})
        shown = ("–" if rows is None else f"{rows:,}", "yes" if locked else "no")
        table.append((*told.values(), *shown, ", ".join(map(_pin, facts))))
    if as_json:
        emit({"configs": documents})
    else:
        say_table(("config", "release", "licence", "rows built", "committed lock", "sources"), table)


def _pin(source: dict[str, Any]) -> str:
    """Return a source as people name it; the pin of a plain file stands in the committed lock."""
    if "repo" in source:
        return f"{source['repo']}@{source['revision'][:10]}"
    return str(source.get("url") or source["name"])

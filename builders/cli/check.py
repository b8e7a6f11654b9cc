"""`mteb-de check`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from builders.cli.output import emit, say


@click.command("check")
@click.option(
    "--dist", type=click.Path(path_type=Path), default=Path("dist"), show_default=True, help="A built tree."
)
@click.option(
    "--locks",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder of committed locks and splits.  [default: beside the configs]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def command(dist: Path, locks: Path | None, as_json: bool) -> None:
    """Run every rule on a built tree.

    Exit codes: 0 no error; 1 a rule found an error; 2 the tree cannot be read.
    """
    from builders.checks import check_tree
    from builders.checks.finding import Severity
    from builders.files import reading
    from builders.lock.committed import FOLDER

    with reading(dist):
        findings = check_tree(dist, configs=locks or FOLDER)
    if as_json:
        emit({"findings": [asdict(finding) for finding in findings]})
    for finding in [] if as_json else findings:
        waived = f" (waived: {finding.waived})" if finding.waived else ""
        say(f"{finding.severity:<6}{finding.config}: {finding.code}: {finding.message}{waived}")
        for example in finding.examples:
            say(f"        {example}")
        if finding.hint and not finding.waived:
            say(f"        → {finding.hint}")
    errors = sum(finding.severity is Severity.ERROR and not finding.waived for finding in findings)
    if not as_json:
        say(f"{len(findings)} findings, {errors} of them errors")
    if errors:
        raise click.exceptions.Exit(1)

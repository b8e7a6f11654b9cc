"""`mteb-de release`: plan, rehearse, apply, verify."""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import click

from builders.cli.output import Lines, emit, say
from builders.errors import UsageError
from builders.spec import RELEASES

_out = click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("dist"),
    show_default=True,
    help="Folder of releases.",
)
_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_release = click.argument("release", type=click.Choice(sorted(RELEASES)))


@click.group("release")
def command() -> None:
    """Bring a built release to the Hub: plan, rehearse, apply, verify.

    \b
    plan      checks what was built, renders card and Croissant; changes nothing remote
    rehearse  pushes the plan to a Hub on loopback, reads everything back, leaves a receipt
    apply     one commit and one tag on the Hub; takes a plan that has its receipt
    verify    reads a release back as a consumer does
    """


@command.command()
@_release
@click.option("--repo", required=True, metavar="OWNER/NAME", help="Dataset repository on the Hub.")
@click.option("--version", default="1.0.0", show_default=True, help="Three numbers; the tag is vVERSION.")
@click.option("--date", type=click.DateTime(["%Y-%m-%d"]), help="Date of the release.  [default: today]")
@click.option("--private", is_flag=True, help="Make a new repository private.")
@_out
@_json
def plan(
    release: str,
    repo: str,
    version: str,
    date: datetime.datetime | None,
    private: bool,
    out: Path,
    as_json: bool,
) -> None:
    """Check a built release against what is published, and write its plan.

    \b
    Example:
      mteb-de release plan mteb-de --repo OWNER/NAME --version 1.0.0

    Exit codes: 0 planned; 1 refused; 2 could not run.
    """
    from builders.describe.target import Target
    from builders.release.plan import make_plan

    day = date.date() if date else datetime.datetime.now(datetime.UTC).date()
    made = make_plan(out, release, Target(repo, version, day, private))
    if as_json:
        emit({"plan": made.model_dump(mode="json")})
        return
    lines = Lines()
    changes = {
        change: [f for f in made.files if f.change == change] for change in ("added", "changed", "unchanged")
    }
    lines.title(f"{made.release} {made.version} → {made.repo}, tag {made.tag}")
    lines.step("parent", made.parent or "none: the repository will be created")
    for change, files in changes.items():
        if files:
            lines.step(change, f"{len(files)} files, {sum(file.size for file in files):,} bytes")
    if made.delete:
        lines.step("deleted", *made.delete)
    for gate in made.gates:
        lines.step("gate", gate)
    for stand_in in made.stand_ins:
        lines.step("rehearsal only", stand_in)
    say(
        f"planned {made.repo}@{made.tag}: {len(made.files)} files; "
        f"next: mteb-de release rehearse {made.release}"
    )


@command.command()
@_release
@_out
@_json
def rehearse(release: str, out: Path, as_json: bool) -> None:
    """Push the plan to a Hub on loopback with the real clients, and read everything back by tag.

    Exit codes: 0 rehearsed; 1 something reads back otherwise than it was built; 2 could not run.
    """
    from builders.release.rehearse import rehearse as run

    receipt = run(out, release)
    if as_json:
        emit({"receipt": receipt.model_dump(mode="json")})
        return
    lines = Lines()
    lines.title(f"{receipt.repo}@{receipt.tag} on loopback")
    for config, splits in sorted(receipt.rows.items()):
        lines.step(config, "  ".join(f"{split} {rows:,}" for split, rows in splits.items()))
    total = sum(sum(splits.values()) for splits in receipt.rows.values())
    say(
        f"rehearsed {receipt.repo}@{receipt.tag}: {len(receipt.rows)} configs, {total:,} rows and "
        f"{len(receipt.files)} files read back equal; next: mteb-de release apply {release}"
    )


@command.command()
@_release
@click.option("--yes", is_flag=True, help="Do not ask; needed off a terminal.")
@_out
@_json
def apply(release: str, yes: bool, out: Path, as_json: bool) -> None:
    """Publish a rehearsed plan: one commit and one tag.

    Exit codes: 0 published; 1 refused (no receipt, stale parent, existing tag, open gate); 2 could not run.
    """
    from builders.release.apply import apply as run
    from builders.release.model import read_plan

    made = read_plan(out, release)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("apply asks before it publishes, and this is no terminal", hint="Pass --yes.")
        click.confirm(f"Publish {len(made.files)} files as {made.repo}@{made.tag}?", abort=True, err=True)
    applied = run(out, release)
    if as_json:
        emit({"repo": applied.repo, "tag": applied.tag, "commit": applied.commit})
        return
    say(f"published {applied.repo}@{applied.tag} ({applied.commit})")


@command.command()
@click.argument("reference", metavar="OWNER/NAME@TAG")
@click.option(
    "--dist", type=click.Path(path_type=Path), help="Compare with this release folder, dist/RELEASE."
)
@_json
def verify(reference: str, dist: Path | None, as_json: bool) -> None:
    """Load every config and split of a release by its tag with fresh caches, and compare all values.

    Exit codes: 0 equal; 1 something differs; 2 could not run.
    """
    from builders.release.verify import verify as run

    repo, at, tag = reference.partition("@")
    if not at or not tag or "/" not in repo:
        raise UsageError(f"{reference!r} is not OWNER/NAME@TAG", hint="For example: OWNER/NAME@v1.0.0")
    verified = run(repo, tag, dist=dist)
    if as_json:
        emit({
            "repo": repo,
            "tag": tag,
            "commit": verified.commit,
            "rows": verified.rows,
            "files": verified.files,
        })
        return
    total = sum(sum(splits.values()) for splits in verified.rows.values())
    say(f"verified {repo}@{tag} ({verified.commit}): {len(verified.rows)} configs, {total:,} rows")

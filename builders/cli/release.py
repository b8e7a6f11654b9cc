"""`mteb-de release`: diff, plan, rehearse, apply, verify, status, rollback."""

from __future__ import annotations

import dataclasses
import datetime
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from builders.cli import options as opt
from builders.cli.output import Lines, emit, say, tell
from builders.errors import Refused, UsageError
from builders.printable import printable
from builders.spec import RELEASES

if TYPE_CHECKING:
    from builders.release.diff import Comparison, TableChange
    from builders.release.plan import Plan
    from builders.release.publish import Applied

_release = click.argument("release", type=click.Choice(sorted(RELEASES)))
_repo = click.option("--repo", required=True, metavar="OWNER/NAME", help="Dataset repository on the Hub.")
_locks = opt.committed_folder("citations and splits")
_yes = opt.flag("--yes", "Do not ask; needed off a terminal.")


@click.group("release")
def command() -> None:
    """Bring a built release to the Hub: diff, plan, rehearse, apply, verify.

    \b
    diff      compares what was built with what is published, by content
    plan      checks what was built, renders card and Croissant; changes nothing remote
    rehearse  pushes the plan to a Hub on loopback, reads everything back, leaves a receipt
    apply     one commit and one tag on the Hub; takes a plan that has its receipt
    verify    reads a release back as a consumer does
    status    says what is published, and what comes next
    rollback  publishes the files of an earlier version again
    """


@command.command()
@_release
@_repo
@click.option("--revision", metavar="TAG", help='A tag, or "main".  [default: the highest version]')
@opt.flag("--exit-code", "Exit with 1 where anything differs.")
@_locks
@opt.OUT
@opt.AS_JSON
def diff(
    release: str, repo: str, revision: str | None, exit_code: bool, locks: Path, out: Path, as_json: bool
) -> None:
    """Compare a built release with the published one, by content, and say which version must follow.

    Rows are matched by `_id`, or by `query-id` and `corpus-id`. Only parquet files whose content differs are
    downloaded. Any row of a published config that changed, appeared or disappeared asks for a major version,
    a new config for a minor one, card and metadata for a patch.

    \b
    Example:
      mteb-de release diff mteb-de --repo OWNER/NAME

    Exit codes: 0 compared; 1 with --exit-code where anything differs; 2 could not run.
    """
    from builders.release.diff import diff as run

    found = run(out, release, repo, revision=revision, beside=locks)
    if as_json:
        emit(dataclasses.asdict(found) | {"difference": found.difference.model_dump(mode="json")})
    else:
        for line in _difference(found):
            say(line)
    if exit_code and found.difference.bump != "none":
        raise click.exceptions.Exit(1)


def _difference(found: Comparison) -> Iterator[str]:
    if not found.commit:
        yield f"{found.repo} is not there, or the token may not see it: everything is new"
    else:
        yield f"{found.repo}@{found.revision} ({found.commit}), compared by its {found.by}"
    for table in found.difference.tables:
        yield from _table(table)
    for moved in found.difference.moves:
        yield f"{moved.config}: {moved.line()}"
    for file in found.difference.files:
        yield f"{file.path}: {'other bytes, equal rows' if file.change == 'rewritten' else file.change}"
    bump = found.difference.bump
    if not found.latest:
        yield f"first release: {found.least}"
    elif bump == "none":
        yield "nothing differs"
    else:
        yield f"least bump: {bump}" + (f", {found.latest} → {found.least}" if found.least else "")


def _table(table: TableChange) -> Iterator[str]:
    rows = table.rows
    if rows is None:
        count = table.rows_after if table.change == "added" else table.rows_before
        known = "" if count is None else f", {count:,} rows"
        what = {"changed": "moved", "unknown": "rows not compared"}.get(table.change, table.change)
        yield f"{table.config}/{table.split}: {what}{known}"
    else:
        yield (
            f"{table.config}/{table.split}: +{rows.added:,} −{rows.removed:,} ~{rows.changed:,} rows "
            f"({rows.before:,} → {rows.after:,})"
        )
        for name, examples in (*rows.examples.items(), ("", rows.columns)):
            yield from (f"  {name:<8} {example}".rstrip() for example in examples)
    if table.moved:
        yield f"  {'moved':<8} {table.moved}"


@command.command()
@_release
@_repo
@opt.value(
    "--version", str, "Three numbers; the tag is vVERSION.  [default: the least that the changes ask for]"
)
@opt.value("--date", click.DateTime(["%Y-%m-%d"]), "Date of the release.  [default: today]")
@opt.flag("--private", "Make a new repository private.")
@_locks
@opt.OUT
@opt.AS_JSON
def plan(
    release: str,
    repo: str,
    version: str | None,
    date: datetime.datetime | None,
    private: bool,
    locks: Path,
    out: Path,
    as_json: bool,
) -> None:
    """Check a built release against what is published, and write its plan.

    The first release is 1.0.0. After that the version must rise as far as `diff` says; where nothing has
    changed there is nothing to plan, unless --version asks for it.

    \b
    Example:
      mteb-de release plan mteb-de --repo OWNER/NAME

    Exit codes: 0 planned; 1 refused (version too low, nothing changed, tree not as built); 2 could not run.
    """
    from builders.describe.target import Target
    from builders.printable import shortened
    from builders.release.diff import FIRST, REASONS
    from builders.release.plan import command as typed
    from builders.release.plan import make_plan

    day = date.date() if date else opt.today()
    target = Target(repo, version or str(FIRST), day, private)
    made = make_plan(out, release, target, least=not version, beside=locks)
    if as_json:
        emit({"plan": made.model_dump(mode="json")})
        return
    lines = Lines()
    lines.title(f"{made.release} {made.version} → {made.repo}, tag {made.tag}")
    lines.step("parent", made.parent or "none: the repository will be created, or the token may not see it")
    if made.base:
        lines.step(made.bump, f"since {made.base}", *shortened(made.reasons, REASONS))
    for change in ("added", "changed", "unchanged"):
        if files := [file for file in made.files if file.change == change]:
            lines.step(change, f"{len(files)} files, {sum(file.size for file in files):,} bytes")
    if made.delete:
        lines.step("deleted", *made.delete)
    shown = {"gate": made.gates, "rehearsal only": made.stand_ins, "not cited": made.uncited}
    for name, one in ((name, one) for name, several in shown.items() for one in several):
        lines.step(name, one)
    following = typed("rehearse", made.release, out=out)
    say(f"planned {made.repo}@{made.tag}: {len(made.files)} files; next: {following}")


@command.command()
@_release
@opt.OUT
@opt.AS_JSON
def rehearse(release: str, out: Path, as_json: bool) -> None:
    """Push the plan to a Hub on loopback with the real clients, and read everything back by tag.

    Exit codes: 0 rehearsed; 1 something reads back otherwise than it was built; 2 could not run.
    """
    from builders.release.plan import command as typed
    from builders.release.rehearse import rehearse as run

    made, receipt = run(out, release)
    if as_json:
        emit({"receipt": receipt.model_dump(mode="json")})
        return
    lines = Lines()
    lines.title(f"{receipt.repo}@{receipt.tag} on loopback")
    for config, splits in sorted(receipt.rows.items()):
        lines.step(config, "  ".join(f"{split} {rows:,}" for split, rows in splits.items()))
    total = sum(sum(splits.values()) for splits in receipt.rows.values())
    for gate in made.gates:
        lines.step("gate", gate)
    following = "mend or waive what apply would refuse" if made.gates else typed("apply", release, out=out)
    say(
        f"rehearsed {receipt.repo}@{receipt.tag}: {len(receipt.rows)} configs, {total:,} rows and "
        f"{len(receipt.files)} files read back equal; next: {following}"
    )


@command.command()
@_release
@_yes
@opt.OUT
@opt.AS_JSON
def apply(release: str, yes: bool, out: Path, as_json: bool) -> None:
    """Publish a rehearsed plan: one commit and one tag.

    It may be run again: where the tag is there with the planned files, nothing is sent. The folder is held.

    Exit codes: 0 published, now or before; 1 refused (no receipt, stale parent, a tag with other files, open
    gate); 2 could not run.
    """
    from builders.release.publish import apply as run

    def ask(made: Plan) -> None:
        _confirm(yes, f"Publish {len(made.files)} files as {made.repo}@{made.tag}?")

    _published(run(out, release, ask=ask, sleep=_wait), as_json)


def _wait(seconds: float) -> None:
    tell(f"the Hub is busy: trying again in {seconds:g} s")
    time.sleep(seconds)


def _confirm(yes: bool, question: str) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError("this asks before it publishes, and there is no terminal", hint="Pass --yes.")
    if not click.confirm(printable(question), err=True):
        raise Refused("not published: the answer was no")


def _published(applied: Applied, as_json: bool) -> None:
    if as_json:
        emit({name: getattr(applied, name) for name in ("repo", "tag", "commit", "already")})
        return
    say(f"{'already ' if applied.already else ''}published {applied.repo}@{applied.tag} ({applied.commit})")


@command.command()
@click.argument("reference", metavar="OWNER/NAME@TAG")
@opt.value("--dist", opt.PATH, "Compare with this release folder, dist/RELEASE.")
@opt.AS_JSON
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
        emit(dataclasses.asdict(verified))
        return
    total = sum(sum(splits.values()) for splits in verified.rows.values())
    say(f"verified {repo}@{tag} ({verified.commit}): {len(verified.rows)} configs, {total:,} rows")


@command.command()
@_release
@_repo
@opt.OUT
@opt.AS_JSON
def status(release: str, repo: str, out: Path, as_json: bool) -> None:
    """Say what is published, whether plan and receipt still fit it, and what comes next.

    Exit codes: 0 said; 2 could not run.
    """
    from builders.release.status import status as run

    found = run(out, release, repo)
    if as_json:
        emit(dataclasses.asdict(found))
        return
    words = [word for word, holds in (("private", found.private), ("gated", found.gated)) if holds]
    if found.head is None:
        say(f"{repo}: not there, or the token may not see it")
    else:
        tags = " ".join(found.head_is) or "untagged"
        say(", ".join([f"{repo}: main is {tags} ({found.head})", *words]))
    for tag, commit in found.versions.items():
        say(f"  {tag:<10} {commit}")
    say(f"plan: {found.state}, {found.why}")
    for gate in found.gates:
        say(f"  apply would refuse it: {gate}")
    if found.gates:
        say("mend or waive what apply would refuse, and build again, before you go on")
    elif found.state == "applied":
        say("nothing is left but to read it back; a new version begins with a build and a plan")
    say(f"next: {found.next}")


@command.command()
@_repo
@click.option("--to", required=True, metavar="TAG", help="The version whose files come back, as vVERSION.")
@click.option("--version", help="Of the restored files.  [default: the least that the change asks for]")
@_yes
@opt.AS_JSON
def rollback(repo: str, to: str, version: str | None, yes: bool, as_json: bool) -> None:
    """Publish the files of an earlier version again: one forward commit and one new tag.

    The tags in between stay. Card and Croissant come back as they were, and so name the earlier version.

    \b
    Example:
      mteb-de release rollback --repo OWNER/NAME --to v1.0.0

    Exit codes: 0 published; 1 refused (nothing to restore, version too low, stale parent); 2 could not run.
    """
    from builders.release.rollback import plan_rollback
    from builders.release.rollback import rollback as run

    planned = plan_rollback(repo, to, version=version)
    _confirm(
        yes,
        f"Publish the files of {to} as {repo}@{planned.change.tag} ({planned.bump} since {planned.latest}): "
        f"{len(planned.restore)} files restored, {len(planned.delete)} deleted?",
    )
    _published(run(planned, sleep=_wait), as_json)

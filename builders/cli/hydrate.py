"""`mteb-de hydrate`."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import click

from builders import registry
from builders.cli.options import QUIET
from builders.cli.output import Lines, emit, say
from builders.errors import UsageError


@click.command("hydrate")
@click.argument("config", metavar="CONFIG")
@click.option(
    "--from",
    "origin",
    metavar="REPO@TAG|DIR",
    default="",
    help="Published ids, of a repository's tag or in a release folder.  [default: the upstream's list]",
)
@click.option(
    "--new-sets",
    is_flag=True,
    help="Draw sets anew from the upstream's list, also where --out holds sets to compare with.",
)
@click.option(
    "--dump",
    "dumps",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Read submissions from this .zst dump instead of asking Reddit; may be given several times.",
)
@click.option(
    "--bad-lines", is_flag=True, help="Read a dump also where more than 1 % of its lines are no submissions."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("dist/hydrated"),
    show_default=True,
    help="Folder of the text tables; never one of a release.",
)
@click.option(
    "--offline", is_flag=True, help="Fetch neither the list of ids nor published ids, but read the cache."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as one JSON document.")
@QUIET
def command(
    config: str,
    origin: str,
    new_sets: bool,
    dumps: tuple[Path, ...],
    bad_lines: bool,
    out: Path,
    offline: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fetch the texts of published ids, on this machine and for it alone.

    What Reddit answered is kept under MTEB_DE_HOME, readable by you alone; a run that was cut goes on where
    it stopped. Credentials are PRAW's own: praw.ini, or praw_client_id, praw_client_secret, praw_user_agent.

    What is left is measured against published ids (--from), or against the sets that --out holds already.

    \b
    Examples:
      mteb-de hydrate subreddit
      mteb-de hydrate subreddit --from OWNER/NAME@v1.0.0
      mteb-de hydrate subreddit --dump RS_2023-01.zst --dump RS_2023-02.zst

    Exit codes: 0 written; 2 could not run: no credentials, bad input, Reddit not reachable.
    """
    from builders.reddit.hydrate import HydrateOptions, hydrate

    spec = registry.load_ids(config)
    if origin and new_sets:
        raise UsageError("--from and --new-sets contradict each other", hint="Give one of them.")
    options = HydrateOptions(
        out=out,
        today=datetime.datetime.now(datetime.UTC).date(),
        origin=origin,
        new_sets=new_sets,
        dumps=dumps,
        bad_lines=bad_lines,
        offline=offline,
        sources=stand_ins(),
        reddit=os.environ.get("MTEB_DE_REDDIT_URL") or None,
    )
    lines = Lines(quiet=quiet or as_json)
    lines.title(spec.name)
    record = hydrate(spec, options, lines)
    if as_json:
        emit(record.model_dump(mode="json"))
        return
    for one in record.sets:
        share = f"{one.there:,} of {one.published:,} ({one.share:.1%})"
        left = share if record.compared else f"{one.there:,} texts"
        verdict = "  not comparable" if record.compared and not one.comparable else ""
        left_out = ", left out of the tables" if one.left_out else ""
        say(f"set {one.number}: {left}{verdict}{left_out}")
    if not record.compared:
        say("drawn from what is there now: no published sets to compare with, which --from REPO@TAG names")
    if record.stand_in:
        say("a stand-in for Reddit, or a dump that is no known archive of it, gave texts")
    gone = ", ".join(f"{count:,} {reason}" for reason, count in record.gone.items())
    say(f"{spec.name}: texts in {out}{f'; without a text: {gone}' if gone else ''}")


def stand_ins() -> tuple[str, ...]:
    """Return the folders and base URLs of `MTEB_DE_SOURCES`."""
    return tuple(filter(None, map(str.strip, os.environ.get("MTEB_DE_SOURCES", "").split(","))))

"""`mteb-de hydrate`."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import click

from builders import registry
from builders.cli.output import Lines, emit, say


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
    "--dump",
    "dumps",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    multiple=True,
    help="Read submissions from this .zst dump instead of asking Reddit; may be given several times.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("dist/hydrated"),
    show_default=True,
    help="Folder of the text tables; never one of a release.",
)
@click.option(
    "--offline", is_flag=True, help="Do not fetch the list of ids; fail where it is not in the cache."
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as one JSON document.")
@click.option("-q", "--quiet", is_flag=True, help="Print results and errors only.")
def command(
    config: str, origin: str, dumps: tuple[Path, ...], out: Path, offline: bool, as_json: bool, quiet: bool
) -> None:
    """Fetch the texts of published ids, on this machine and for it alone.

    What Reddit answered is kept under MTEB_DE_HOME, readable by you alone; a run that was cut goes on where
    it stopped. Credentials are PRAW's own: praw.ini, or praw_client_id, praw_client_secret, praw_user_agent.

    \b
    Examples:
      mteb-de hydrate subreddit
      mteb-de hydrate subreddit --from OWNER/NAME@v1.0.0
      mteb-de hydrate subreddit --dump RS_2023-01.zst --dump RS_2023-02.zst

    Exit codes: 0 written; 2 could not run: no credentials, bad input, Reddit not reachable.
    """
    from builders.hydration import Options, hydrate

    spec = registry.load_ids(config)
    options = Options(
        out=out,
        today=datetime.datetime.now(datetime.UTC).date(),
        origin=origin,
        dumps=dumps,
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
        verdict = "" if one.comparable else "  not comparable"
        left_out = ", left out of the tables" if one.left_out else ""
        say(f"set {one.number}: {one.there:,} of {one.published:,} ({one.share:.1%}){verdict}{left_out}")
    gone = ", ".join(f"{count:,} {reason}" for reason, count in record.gone.items())
    say(f"{spec.name}: texts in {out}{f'; without a text: {gone}' if gone else ''}")


def stand_ins() -> tuple[str, ...]:
    """Return the folders and base URLs of `MTEB_DE_SOURCES`."""
    return tuple(filter(None, map(str.strip, os.environ.get("MTEB_DE_SOURCES", "").split(","))))

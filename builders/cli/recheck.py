"""`mteb-de recheck`."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from pathlib import Path

import click

from builders import registry
from builders.cli.options import QUIET
from builders.cli.output import Lines, emit, say


@click.command("recheck")
@click.argument("config", metavar="CONFIG")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("dist/hydrated"),
    show_default=True,
    help="Folder of the text tables.",
)
@click.option("--json", "as_json", is_flag=True, help="Print what was found as one JSON document.")
@QUIET
def command(config: str, out: Path, as_json: bool, quiet: bool) -> None:
    """Ask again for what was there or was missing, and take out what has been deleted since.

    It is taken out of the ledger, of the text tables, and of the dated ledger that the next build reads.
    Published ids that are gone are listed in takedown.txt beside the tables. A run that was cut goes on
    where it stopped when it is run again on the same day (UTC).

    Exit codes: 0 done; 2 could not run: nothing was hydrated, no credentials, Reddit not reachable.
    """
    from builders.reddit.folder import TAKEDOWN
    from builders.reddit.hydrate import HydrateOptions
    from builders.reddit.recheck import recheck

    spec = registry.load_ids(config)
    today = datetime.datetime.now(datetime.UTC).date()
    reddit = os.environ.get("MTEB_DE_REDDIT_URL") or None
    lines = Lines(quiet=quiet or as_json)
    lines.title(spec.name)
    found, record, takedown = recheck(spec, HydrateOptions(out=out, today=today, reddit=reddit), lines)
    gone = dict(sorted(Counter(str(status) for status in found.gone.values()).items()))
    if as_json:
        emit({
            "asked": found.asked,
            "gone": gone,
            "edited": found.edited,
            "back": found.back,
            "takedown": list(takedown),
            "hydrated": None if record is None else record.model_dump(mode="json"),
        })
        return
    lost = ", ".join(f"{count:,} {status}" for status, count in gone.items()) or "none"
    back = f"; there again: {found.back:,}" if found.back else ""
    say(f"{spec.name}: {found.asked:,} submissions asked for; gone: {lost}; edited: {found.edited:,}{back}")
    for one in record.sets if record else ():
        if not one.comparable:
            say(f"set {one.number}: {one.there:,} of {one.published:,} ({one.share:.1%})  not comparable")
    if record is None:
        say(f"{out}: no text tables there")
    elif takedown:
        say(f"published ids to take down: {len(takedown):,}, in {out / TAKEDOWN}")

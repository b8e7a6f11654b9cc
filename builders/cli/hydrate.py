"""`mteb-de hydrate` and `recheck`: texts of published ids, on the machine that asks for them."""

from collections import Counter
from pathlib import Path

import click

from builders import registry
from builders.cli import options as opt
from builders.cli.output import Lines, emit, say
from builders.errors import UsageError

_CONFIG = click.argument("config", metavar="CONFIG")


@click.command("hydrate")
@_CONFIG
@click.option(
    "--from",
    "origin",
    metavar="REPO@TAG|DIR",
    default="",
    show_default=False,
    help="Published ids, of a repository's tag or in a release folder.  [default: the upstream's list]",
)
@opt.flag("--new-sets", "Draw sets anew from the upstream's list, also where --out holds sets.")
@click.option(
    "--dump", "dumps", type=opt.FILE_THERE, multiple=True, help="Read this .zst dump, not Reddit; repeatable."
)
@opt.flag("--bad-lines", "Read a dump also where more than 1 % of its lines are no submissions.")
@opt.HYDRATED
@opt.flag("--offline", "Fetch neither the list of ids nor published ids, but read the cache.")
@opt.AS_JSON
@opt.QUIET
def hydrate(
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
    from builders.reddit.hydrate import HydrateOptions
    from builders.reddit.hydrate import hydrate as run

    spec = registry.load_ids(config)
    if origin and new_sets:
        raise UsageError("--from and --new-sets contradict each other", hint="Give one of them.")
    options = HydrateOptions(
        out=out,
        today=opt.today(),
        origin=origin,
        new_sets=new_sets,
        dumps=dumps,
        bad_lines=bad_lines,
        offline=offline,
        sources=opt.sources(),
        reddit=opt.reddit(),
    )
    lines = Lines(quiet=quiet or as_json)
    lines.title(spec.name)
    record = run(spec, options, lines)
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


@click.command("recheck")
@_CONFIG
@opt.HYDRATED
@opt.AS_JSON
@opt.QUIET
def recheck(config: str, out: Path, as_json: bool, quiet: bool) -> None:
    """Ask again for what was there or was missing, and take out what has been deleted since.

    It is taken out of the ledger, of the text tables, and of the dated ledger that the next build reads.
    Published ids that are gone are listed in takedown.txt beside the tables. A run that was cut goes on
    where it stopped when it is run again on the same day (UTC).

    Exit codes: 0 done; 2 could not run: nothing was hydrated, no credentials, Reddit not reachable.
    """
    from builders.reddit.folder import TAKEDOWN
    from builders.reddit.hydrate import HydrateOptions
    from builders.reddit.recheck import recheck as run

    spec = registry.load_ids(config)
    lines = Lines(quiet=quiet or as_json)
    lines.title(spec.name)
    options = HydrateOptions(out=out, today=opt.today(), reddit=opt.reddit())
    found, record, takedown = run(spec, options, lines)
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

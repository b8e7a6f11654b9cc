"""`mteb-de demo`."""

import tempfile
import time
from pathlib import Path

import click

from builders.cli.options import PATH, flag
from builders.cli.output import Lines, say, say_table


@click.command("demo")
@click.option("--out", type=PATH, help="Keep what is built in this folder.")
@flag("-q --quiet", "Print the summary only.")
def command(out: Path | None, quiet: bool) -> None:
    """Build the bundled sample offline, rehearse its releases on loopback, and print what was counted.

    Exit codes: 0 all of it worked; 1 a check or a comparison failed; 2 could not run.
    """
    from builders.demo.walk import walk

    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mteb-de-demo-") as folder:
        locks, receipts, hydrated = walk(out or Path(folder), Lines(quiet=quiet))
    rows = []
    for lock in locks:
        for funnel in lock.funnels:
            dropped = ", ".join(f"{count:,} {reason}" for reason, count in funnel.dropped.items())
            rest = (f"{count:,}" for count in (funnel.merged, funnel.undecided, funnel.out))
            rows.append((lock.config, funnel.table, f"{funnel.read:,}", dropped or "–", *rest))
    say_table(("config", "table", "read", "dropped", "merged", "undecided", "left"), rows)
    for lock in locks:
        if lock.mining is not None:
            report, recipe = lock.mining.serving.report, lock.mining.serving.recipe["name"]
            gave = f"{report.yield_.any:,} of {report.queries:,} queries"
            say(f"{lock.config}: {gave} got a hard negative by recipe {recipe}")
    for receipt in receipts:
        say(f"{receipt.repo}@{receipt.tag}: {len(receipt.files)} files pushed and read back equal")
    there = max(hydrated.sets, key=lambda one: one.published)
    say(f"{hydrated.config}: {there.there:,} of {there.published:,} published ids became texts again")
    say(f"All of it took {time.monotonic() - began:.0f} s.")
    if out is not None:
        folders = sorted({str(out / lock.release) for lock in locks})
        say(f"What would be published is in {' and '.join(folders)}.")

"""Hydrating: ids in, ledger completed, text tables out. Nothing here writes into a release."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.errors import StorageError
from builders.files import exclusive
from builders.progress import Progress
from builders.reddit.dated_ledger import Origin, is_made_up, read_statuses, statuses, write_statuses
from builders.reddit.folder import (
    TAKEDOWN,
    Hydrated,
    fill_sets,
    make_ready,
    read_record,
    read_takedown,
    refuse_foreign,
    refuse_release,
    sets_in,
    write_folder,
    write_takedown,
)
from builders.reddit.ledger import Ledger, counted, dated_ledger, private_ledger, rewrite_dated
from builders.reddit.published import Sets, read_published
from builders.reddit.sets import draw_ids, id_table, prepare_ids
from builders.reddit.submission import Status, Submission
from builders.reddit.texts import texts_of
from builders.sources import Fetched, fetch
from builders.spec import Ids, IdsFile

UPSTREAM = "the upstream's list"


@dataclass(frozen=True, slots=True)
class HydrateOptions:
    """How to hydrate and recheck.

    Attributes:
        out: The folder of text tables.
        today: The day, UTC.
        origin: Where published ids are read from: a folder, or OWNER/NAME@TAG; empty for the upstream's list.
        new_sets: Draw sets anew from the upstream's list, also where the folder holds some.
        dumps: Files to read submissions from; with any, Reddit is not asked.
        bad_lines: Read dumps also where many of their lines are no submissions.
        offline: Fetch neither the upstream's list nor published ids.
        sources: Folders or base URLs that stand in for the upstreams.
        home: Folder of the caches; None for the default.
        reddit: What stands in for Reddit's addresses; None for Reddit.
    """

    out: Path
    today: datetime.date
    origin: str = ""
    new_sets: bool = False
    dumps: tuple[Path, ...] = ()
    bad_lines: bool = False
    offline: bool = False
    sources: tuple[str, ...] = ()
    home: Path | None = None
    reddit: str | None = None


def hydrate(spec: Ids, options: HydrateOptions, progress: Progress) -> Hydrated:
    """Complete the ledger, and write the text tables of a config on this machine.

    From the upstream's list, the dated ledger is written for builds. Sets that the folder holds already stay,
    so that what is lost is measured against them; where it holds none, they are drawn as the build draws
    them, from what is there.
    """
    refuse_release(options.out)
    refuse_foreign(options.out, spec.name)
    with exclusive(options.out):
        make_ready(options.out, spec.name)
        if options.origin:
            sets = read_published(spec, options.origin, offline=options.offline)
            entries = complete(spec, sets.named(), options, progress)
        else:
            held = None if options.new_sets else held_sets(spec, options.out)
            fetched = _fetched(spec, options, progress)
            listed = _listed(spec, fetched, progress)
            entries = complete(spec, listed.ids, options, progress)
            made_up = options.reddit is not None or fetched.locks[0].kind == "folder"
            ledger = _write_dated(spec, entries, options, progress, stand_in=made_up)
            sets = held or _drawn(spec, listed, ledger)
        record = fill(spec, sets, entries, options, progress)
        list_takedown(options.out, sets, entries, progress)
        return record


def complete(
    spec: Ids, ids: Sequence[str], options: HydrateOptions, progress: Progress
) -> dict[str, Submission]:
    """Bring the ledgers up to date, and return what is known of each id.

    Only ids without an answer are asked of Reddit; where there are none, no request is made. What no dump
    held is asked of Reddit by a later run without dumps. Dumps are read for all ids: what one shows to be
    gone leaves both ledgers, whatever is known of it.
    """
    from builders.reddit.dump import MOST_BAD
    from builders.reddit.lookup import read_from_dumps, unanswered

    ledger = private_ledger(spec, options.home)
    with ledger.exclusive():
        ledger.keep_apart(stand_in=options.reddit is not None)
        if options.dumps:
            read_from_dumps(
                ids,
                ledger,
                options.dumps,
                today=options.today,
                say=lambda line: progress.step("dumps", line),
                most_bad=1.0 if options.bad_lines else MOST_BAD,
            )
        elif open_ids := unanswered(ids, ledger.latest()):
            _ask(ledger, open_ids, options, progress)
        known = ledger.latest()
        rewrite_dated(
            dated_ledger(spec, options.home),
            known,
            archives=spec.archives,
            stand_in=options.reddit is not None,
        )
    answers = {name: known[name] for name in ids}
    progress.step("ledger", counted(answers.values()))
    lacking = sum(entry.status is Status.MISSING and entry.origin == "dump" for entry in answers.values())
    if lacking:
        told = f"{lacking:,} of {len(answers):,} ids are in none; without --dump, Reddit is asked for them"
        progress.step("dumps", told)
    return answers


def held_sets(spec: Ids, out: Path) -> Sets | None:
    """Return the sets that a folder of texts holds, or None.

    Raises:
        StorageError: The table is damaged.
    """
    try:
        ids = sets_in(out, spec.name)
    except StorageError as error:
        hint = "Draw sets anew with --new-sets, or name published ids with --from."
        raise StorageError(error.message, hint=hint) from error
    if ids is None:
        return None
    try:
        before = read_record(out)
    except StorageError:  # it is written anew, and nothing but the origin is taken from it
        before = None
    return Sets(ids, before.origin if before else UPSTREAM)


def fill(
    spec: Ids, sets: Sets, entries: Mapping[str, Submission], options: HydrateOptions, progress: Progress
) -> Hydrated:
    """Write the text tables of sets, and what they hold."""
    named = set(sets.named())
    members = [entry for name, entry in entries.items() if name in named]
    texts = texts_of(spec, members)
    (level,) = {rule.level for rule in spec.sets}
    filled = fill_sets(sets.ids, texts, statuses(members), level=level)
    lost = {entry.id: str(entry.status) for entry in members if entry.status is not Status.OK}
    lost |= dict(texts.dropped.iter_rows())
    record = Hydrated(
        config=spec.name,
        origin=sets.origin,
        date=options.today,
        compared=sets.compared,
        stand_in=private_ledger(spec, options.home).is_of_stand_in()
        or any(is_made_up(entry, spec.archives) for entry in members),
        sets=filled.shares,
        gone=dict(sorted(Counter(lost.values()).items())),
        personal=texts.personal,
    )
    write_folder(options.out, record, sets.ids, filled)
    progress.step("write", f"{texts.documents.height:,} texts in {len(record.sets)} sets: {options.out}")
    return record


def list_takedown(
    out: Path, sets: Sets, entries: Mapping[str, Submission], progress: Progress
) -> tuple[str, ...]:
    """List the published ids whose submissions are gone.

    An id that was listed stays until Reddit shows its submission again, or until the ids of a release that no
    longer holds it are hydrated.
    """
    named = set(sets.named())
    before = read_takedown(out)
    if sets.origin != UPSTREAM:  # the sets are what is published, and not what may have been
        before &= named
    gone = {name for name in named if name in entries and _is_gone(entries[name])}
    gone |= {name for name in before if name not in entries or not _is_back(entries[name])}
    listed = tuple(sorted(gone))
    if listed or read_takedown(out):
        write_takedown(out, listed)
    if listed:
        progress.step("takedown", f"{len(listed):,} published ids are gone: {out / TAKEDOWN}")
    return listed


def ticking(progress: Progress) -> Callable[[int, int], None]:
    """Return a receiver of the numbers of ids that are done, and of all."""
    return lambda done, total: progress.tick("reddit", done, total)


def _fetched(spec: Ids, options: HydrateOptions, progress: Progress) -> Fetched:
    return fetch(
        [spec.listed],
        offline=options.offline,
        sources_from=options.sources,
        root=options.home,
        progress=lambda line: progress.step("fetch", line),
    )


def _listed(spec: Ids, fetched: Fetched, progress: Progress) -> IdsFile:
    read = spec.read(fetched.files)
    progress.step("ids", f"{read.lines:,} lines − {read.repeated:,} repeated = {len(read.ids):,} ids")
    return read


def _write_dated(
    spec: Ids,
    entries: Mapping[str, Submission],
    options: HydrateOptions,
    progress: Progress,
    *,
    stand_in: bool,
) -> pl.DataFrame:
    path = dated_ledger(spec, options.home)
    write_statuses(path, statuses(entries.values(), archives=spec.archives, stand_in=stand_in))
    told = read_statuses(path)
    made_up = Origin.STAND_IN in told["origin"]
    rehearsed = "; of a stand-in, so that builds from it can be rehearsed only" if made_up else ""
    progress.step("ledger", f"written without texts to {path}{rehearsed}")
    return told


def _drawn(spec: Ids, listed: IdsFile, ledger: pl.DataFrame) -> Sets:
    prepared = prepare_ids(spec, listed, ledger)
    return Sets(id_table(prepared.submissions, draw_ids(spec, prepared)), UPSTREAM, compared=False)


def _ask(ledger: Ledger, ids: Sequence[str], options: HydrateOptions, progress: Progress) -> None:
    from builders.reddit import api
    from builders.reddit.lookup import ask

    with api.connect(url=options.reddit, say=lambda line: progress.step("reddit", line)) as reddit:
        ask(ids, ledger, reddit, progress=ticking(progress), today=options.today)


def _is_gone(entry: Submission) -> bool:
    """Say whether a published submission is there no longer; that a dump lacks it says nothing."""
    if entry.status is Status.MISSING:
        return entry.origin == "api"
    return entry.status in {Status.REMOVED, Status.DELETED}


def _is_back(entry: Submission) -> bool:
    """Say whether Reddit itself shows a submission that was listed as gone."""
    return entry.status is Status.OK and entry.origin == "api"

"""Hydrating: ids in, ledger completed, text tables out. Nothing here writes into a release."""

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from builders.errors import StorageError, UsageError
from builders.files import exclusive
from builders.prepare.sets import draw
from builders.progress import Progress
from builders.reddit import folder
from builders.reddit.dated_ledger import Origin, statuses, write_statuses
from builders.reddit.folder import TAKEDOWN, Hydrated
from builders.reddit.ledger import counted, dated_ledger, private_ledger, rewrite_dated
from builders.reddit.published import Sets, read_published
from builders.reddit.sets import id_table, prepare_ids
from builders.reddit.submission import GONE, Status, Submission
from builders.reddit.texts import fill_sets, texts_of
from builders.sources import fetch
from builders.spec import SEED, Ids

_UPSTREAM = "the upstream's list"


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

    @property
    def stand_in(self) -> bool:
        """Whether a stand-in for Reddit is asked."""
        return self.reddit is not None


def hydrate(spec: Ids, options: HydrateOptions, progress: Progress) -> Hydrated:
    """Complete the ledger, and write the text tables of a config on this machine.

    From the upstream's list, the dated ledger is written for builds. Sets that the folder holds already stay,
    so that what is lost is measured against them; else they are drawn from what is there.
    """
    folder.refuse_release(options.out)
    folder.refuse_foreign(options.out, spec.name)
    with exclusive(options.out):
        folder.make_ready(options.out, spec.name)
        if options.origin:
            sets = read_published(spec, options.origin, offline=options.offline)
            entries = _complete(spec, sets.named(), options, progress)
        else:
            sets, entries = _from_list(spec, options, progress)
        record, _ = write_texts(spec, sets, entries, options, progress)
        return record


def _from_list(spec: Ids, options: HydrateOptions, progress: Progress) -> tuple[Sets, dict[str, Submission]]:
    """Complete the ledgers for the upstream's list; return the sets that the folder holds, or new ones."""
    held = None if options.new_sets else held_sets(spec, options.out)
    fetched = fetch(
        [spec.listed],
        offline=options.offline,
        sources_from=options.sources,
        root=options.home,
        progress=partial(progress.step, "fetch"),
    )
    listed = spec.read(fetched.files)
    told = f"{listed.lines:,} lines − {listed.repeated:,} repeated = {len(listed.ids):,} ids"
    progress.step("ids", told)
    named = held.named() if held else []
    entries = _complete(spec, list(dict.fromkeys([*listed.ids, *named])), options, progress)
    stand_in = options.stand_in or fetched.locks[0].kind == "folder"
    of_list = [entries[name] for name in listed.ids]
    ledger = statuses(of_list, archives=spec.archives, stand_in=stand_in)
    path = dated_ledger(spec, options.home)
    write_statuses(path, ledger)
    made_up = Origin.STAND_IN in ledger["origin"]
    rehearsed = "; of a stand-in, so that builds from it can be rehearsed only" if made_up else ""
    progress.step("ledger", f"written without texts to {path}{rehearsed}")
    if held is not None:
        strange = len(set(named).difference(listed.ids))
        if strange:
            told = f"{strange:,} of the {len(named):,} ids in {options.out} are not in the list"
            progress.step("sets", f"{told}; --new-sets draws sets from the list")
        return held, entries
    submissions = prepare_ids(spec, listed, ledger).submissions
    drawn = draw(submissions, spec.sets, seed=SEED)
    return Sets(id_table(submissions, drawn), _UPSTREAM, compared=False), entries


def held_sets(spec: Ids, out: Path) -> Sets | None:
    """Return the sets that a folder of texts holds, or None."""
    try:
        ids = folder.sets_in(out, spec.name)
    except StorageError as error:
        hint = "Draw sets anew with --new-sets, or name published ids with --from."
        raise StorageError(error.message, hint=hint) from error
    if ids is None:
        return None
    try:
        before = folder.read_record(out)
    except StorageError:  # it is written anew, and nothing but the origin is taken from it
        before = None
    return Sets(ids, before.origin if before else _UPSTREAM)


def write_texts(
    spec: Ids, sets: Sets, entries: Mapping[str, Submission], options: HydrateOptions, progress: Progress
) -> tuple[Hydrated, tuple[str, ...]]:
    """Write the text tables of sets; return what they hold, and the published ids that are gone."""
    named = set(sets.named())
    members = [entry for name, entry in entries.items() if name in named]
    if not any(entry.status is Status.OK or _is_gone(entry) for entry in members):
        raise UsageError(
            f"none of the {len(named):,} ids of the sets ({sets.origin}) was found; no text was written",
            hint="Name a dump that holds them, or take other sets: --new-sets, or --from and another --out.",
        )
    known = statuses(members, archives=spec.archives, stand_in=options.stand_in)
    texts = texts_of(spec, members)
    (level,) = {rule.level for rule in spec.sets}
    tables, shares = fill_sets(sets.ids, texts, known, level=level)
    lost = {entry.id: str(entry.status) for entry in members if entry.status is not Status.OK}
    lost |= dict(texts.dropped.iter_rows())
    record = Hydrated(
        config=spec.name,
        origin=sets.origin,
        date=options.today,
        compared=sets.compared,
        stand_in=options.stand_in or Origin.STAND_IN in known["origin"],
        sets=shares,
        gone=dict(sorted(Counter(lost.values()).items())),
        personal=texts.personal,
    )
    folder.write_folder(options.out, record, sets.ids, tables)
    progress.step("write", f"{texts.documents.height:,} texts in {len(record.sets)} sets: {options.out}")
    return record, _list_takedown(options.out, sets, entries, progress)


def _complete(
    spec: Ids, ids: Sequence[str], options: HydrateOptions, progress: Progress
) -> dict[str, Submission]:
    """Bring the ledgers up to date, and return what is known of each id.

    Only ids without an answer are asked of Reddit; where there are none, no request is made. Dumps are read
    for all ids: what one shows to be gone leaves both ledgers, whatever is known of it.
    """
    from builders.reddit import api
    from builders.reddit.dump import MOST_BAD
    from builders.reddit.lookup import ask, read_from_dumps, unanswered

    ledger = private_ledger(spec, options.home)
    with ledger.exclusive():
        ledger.keep_apart(stand_in=options.stand_in)
        if options.dumps:
            read_from_dumps(
                ids,
                ledger,
                options.dumps,
                today=options.today,
                say=partial(progress.step, "dumps"),
                most_bad=1.0 if options.bad_lines else MOST_BAD,
            )
        elif unanswered(ids, ledger.latest()):
            with api.connect(url=options.reddit, say=partial(progress.step, "reddit")) as reddit:
                ask(ids, ledger, reddit, progress=partial(progress.tick, "reddit"), today=options.today)
        known = ledger.latest()
        rewrite_dated(spec, options.home, known.values(), stand_in=options.stand_in)
    answers = {name: known[name] for name in ids}
    progress.step("ledger", counted(answers.values()))
    lacking = sum(entry.status is Status.MISSING and entry.origin == "dump" for entry in answers.values())
    if lacking:
        told = f"{lacking:,} of {len(answers):,} ids are in none; without --dump, Reddit is asked for them"
        progress.step("dumps", told)
    return answers


def _list_takedown(
    out: Path, sets: Sets, entries: Mapping[str, Submission], progress: Progress
) -> tuple[str, ...]:
    """List the published ids whose submissions are gone.

    An id that was listed stays until Reddit shows its submission again, or a release without it is hydrated.
    """
    named = set(sets.named())
    listed = folder.read_takedown(out)
    # The upstream's list is what may have been published, and other sets are what is.
    before = listed if sets.origin == _UPSTREAM else listed & named
    gone = {name for name in named if name in entries and _is_gone(entries[name])}
    back = {name for name, one in entries.items() if one.status is Status.OK and one.origin == "api"}
    gone |= before - back
    if gone or listed:
        folder.write_takedown(out, sorted(gone))
    if gone:
        progress.step("takedown", f"{len(gone):,} published ids are gone: {out / TAKEDOWN}")
    return tuple(sorted(gone))


def _is_gone(entry: Submission) -> bool:
    """Say whether a published submission is there no longer; that a dump lacks it says nothing."""
    return entry.status in GONE or (entry.status is Status.MISSING and entry.origin == "api")


def _is_back(entry: Submission) -> bool:
    """Say whether Reddit itself shows a submission that was listed as gone."""
    return entry.status is Status.OK and entry.origin == "api"

"""Hydrating and rechecking: ids in, ledger completed, text tables out. Nothing here writes into a release."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from builders.errors import MtebDeError, UsageError
from builders.files import exclusive
from builders.home import home
from builders.hydration.folder import (
    Hydrated,
    read_record,
    refuse_release,
    sets_in,
    write_folder,
    write_takedown,
)
from builders.hydration.published import read_published
from builders.hydration.shares import fill_sets
from builders.hydration.texts import texts_of
from builders.id_sets import draw_ids, id_table, prepare_ids
from builders.sources import fetch
from builders.sources.reddit.ids import IdsFile
from builders.sources.reddit.ledger import Ledger
from builders.sources.reddit.model import Status, Submission
from builders.sources.reddit.statuses import read_statuses, statuses, write_statuses
from builders.spec import Ids
from builders.steps import Progress

UPSTREAM = "the upstream's list"


@dataclass(frozen=True, slots=True)
class Options:
    """How to hydrate and recheck.

    Attributes:
        out: The folder of text tables.
        today: The day, UTC.
        origin: Where published ids are read from: a folder, or OWNER/NAME@TAG; empty for the upstream's list.
        dumps: Files to read submissions from; with any, Reddit is not asked.
        offline: Do not fetch the upstream's list either.
        sources: Folders or base URLs that stand in for the upstreams.
        home: Folder of the caches; None for the default.
        reddit: What stands in for Reddit's addresses; None for Reddit.
    """

    out: Path
    today: datetime.date
    origin: str = ""
    dumps: tuple[Path, ...] = ()
    offline: bool = False
    sources: tuple[str, ...] = ()
    home: Path | None = None
    reddit: str | None = None


@dataclass(frozen=True, slots=True)
class RecheckResult:
    """What a recheck found.

    Attributes:
        asked: How many submissions whose texts were held were asked for.
        gone: How many of them are no longer there, by status; their texts are purged.
        edited: How many are there with another text, which is held now.
        takedown: Published ids whose submissions are gone.
        record: What the folder of texts holds now; None where it holds none.
    """

    asked: int
    gone: dict[str, int]
    edited: int
    takedown: tuple[str, ...]
    record: Hydrated | None


def dated_ledger(spec: Ids, root: Path | None) -> Path:
    """Return where the dated ledger without texts lies, which builds read."""
    return (root or home()) / spec.ledger.folder / spec.ledger.name


def private_ledger(spec: Ids, root: Path | None) -> Path:
    """Return where the ledger with texts lies; only its owner may read it."""
    return (root or home()) / spec.ledger.folder / f"{spec.name}.submissions.jsonl"


def hydrate(spec: Ids, options: Options, progress: Progress) -> Hydrated:
    """Complete the ledger, and write the text tables of a config on this machine.

    From the upstream's list, sets are drawn as the build draws them, and the dated ledger is written for it.

    Raises:
        UsageError: The folder is a release's, the published ids cannot be read, or there are no credentials.
        SourceError: The list of ids, a dump or the ledger cannot be read.
        RemoteError: The Hub or Reddit refused, failed, or was not reachable; what was answered is kept.
        Busy: Another run holds the folder or the ledger.
        StorageError: Something cannot be written.
    """
    refuse_release(options.out)
    with exclusive(options.out):
        if options.origin:
            published = read_published(spec, options.origin)
            ids = sorted(set(published["submission_ids"].explode().to_list()))
            entries = complete(spec, ids, options, progress)
            origin = "a release folder" if Path(options.origin).is_dir() else options.origin
        else:
            listed = _listed(spec, options, progress)
            entries = complete(spec, listed.ids, options, progress)
            published = _draw(spec, listed, entries, options, progress)
            origin = UPSTREAM
        return _write(spec, origin, published, entries, options, progress)


def complete(spec: Ids, ids: Sequence[str], options: Options, progress: Progress) -> dict[str, Submission]:
    """Bring the ledger up to date, and return what is known of each id.

    Only ids without an answer are asked for; where there are none, no request is made. What no dump held is
    asked of Reddit by a later run without dumps.

    Raises:
        As `hydrate`.
    """
    ledger = _ledger(spec, options, progress)
    with ledger.exclusive():
        known = ledger.latest()
        open_ids = [name for name in ids if name not in known or _is_open(known[name], options)]
        if open_ids:
            _ask(ledger, open_ids, options, progress)
            known = ledger.latest()
    progress.step("ledger", _counted(known[name] for name in ids))
    return {name: known[name] for name in ids}


def recheck(spec: Ids, options: Options, progress: Progress) -> RecheckResult:
    """Ask for every id again, and take out what is gone: from the ledger, its dated form, and the texts.

    Raises:
        UsageError: Nothing was hydrated yet, the folder is a release's, or there are no credentials.
        RemoteError: Reddit refused, failed, or was not reachable; run it again.
        Busy: Another run holds the folder or the ledger.
        StorageError: Something cannot be read or written.
    """
    from builders.sources.reddit import client
    from builders.sources.reddit.hydrate import recheck as ask_again

    refuse_release(options.out)
    ledger = _ledger(spec, options, progress)
    with exclusive(options.out), ledger.exclusive():
        ids = list(ledger.latest())
        if not ids:
            raise UsageError(f"{ledger.path}: no submission there", hint=f"Run mteb-de hydrate {spec.name}.")
        found, failure = None, None
        with client.connect(url=options.reddit) as reddit:
            try:
                found = ask_again(ids, ledger, reddit, progress=_ticking(progress), today=options.today)
            except MtebDeError as error:
                failure = error  # what was found gone until then must go from the texts as well
        entries = ledger.latest()
        progress.step("ledger", _counted(entries.values()))
        _rewrite_dated(dated_ledger(spec, options.home), entries)
        record, takedown = _refill(spec, entries, options, progress)
        if failure is not None:
            raise failure
        assert found is not None
        gone = Counter(str(status) for status in found.gone.values())
        return RecheckResult(found.asked, dict(sorted(gone.items())), found.edited, takedown, record)


def _refill(
    spec: Ids, entries: Mapping[str, Submission], options: Options, progress: Progress
) -> tuple[Hydrated | None, tuple[str, ...]]:
    """Write the text tables anew, where there are any, and list the published ids that are gone."""
    published, before = sets_in(options.out, spec.name), read_record(options.out)
    if published is None:
        return None, ()
    origin = before.origin if before else UPSTREAM
    record = _write(spec, origin, published, entries, options, progress)
    named = sorted(set(published["submission_ids"].explode().to_list()))
    takedown = tuple(name for name in named if name in entries and _is_gone(entries[name]))
    write_takedown(options.out, takedown)
    return record, takedown


def _listed(spec: Ids, options: Options, progress: Progress) -> IdsFile:
    fetched = fetch(
        [spec.listed],
        offline=options.offline,
        sources_from=options.sources,
        root=options.home,
        progress=lambda line: progress.step("fetch", line),
    )
    read = spec.read(fetched.files)
    progress.step("ids", f"{read.lines:,} lines − {read.repeated:,} repeated = {read.unique:,} ids")
    return read


def _draw(
    spec: Ids, listed: IdsFile, entries: Mapping[str, Submission], options: Options, progress: Progress
) -> pl.DataFrame:
    """Write the dated ledger, and draw the sets as a build from it does."""
    path = dated_ledger(spec, options.home)
    write_statuses(path, statuses(entries.values()))
    progress.step("ledger", f"written without texts to {path}")
    prepared = prepare_ids(spec, listed, read_statuses(path))
    return id_table(prepared.submissions, draw_ids(spec, prepared))


def _write(
    spec: Ids,
    origin: str,
    published: pl.DataFrame,
    entries: Mapping[str, Submission],
    options: Options,
    progress: Progress,
) -> Hydrated:
    named = set(published["submission_ids"].explode().to_list())
    members = [entry for name, entry in entries.items() if name in named]
    texts = texts_of(spec, members)
    (level,) = {rule.level for rule in spec.sets}
    filled = fill_sets(published, texts, statuses(members), level=level)
    lost = {entry.id: str(entry.status) for entry in members if entry.status is not Status.OK}
    lost |= dict(texts.dropped.iter_rows())
    record = Hydrated(
        config=spec.name,
        origin=origin,
        date=options.today,
        sets=filled.shares,
        gone=dict(sorted(Counter(lost.values()).items())),
        personal=texts.personal,
    )
    write_folder(options.out, record, published, filled)
    progress.step("write", f"{texts.documents.height:,} texts in {len(record.sets)} sets: {options.out}")
    return record


def _rewrite_dated(path: Path, entries: Mapping[str, Submission]) -> None:
    """Bring the dated ledger up to date, where there is one; ids of which nothing new is known stay."""
    if not path.exists():
        return
    before = read_statuses(path)
    now = statuses(entries.values()).join(before, on="id", how="semi")
    write_statuses(path, pl.concat([now, before.join(now, on="id", how="anti")]))


def _ask(ledger: Ledger, ids: Sequence[str], options: Options, progress: Progress) -> None:
    from builders.sources.reddit import client
    from builders.sources.reddit.hydrate import from_dumps
    from builders.sources.reddit.hydrate import hydrate as ask

    if options.dumps:
        from_dumps(ids, ledger, options.dumps, today=options.today)
        return
    with client.connect(url=options.reddit) as reddit:
        ask(ids, ledger, reddit, again=True, progress=_ticking(progress), today=options.today)


def _is_open(entry: Submission, options: Options) -> bool:
    """Say whether an id is asked for again: after an error, and where only dumps have been asked so far."""
    if entry.status is Status.MISSING:
        return bool(options.dumps) or entry.origin == "dump"
    return entry.status is Status.ERROR


def _is_gone(entry: Submission) -> bool:
    """Say whether a published submission is there no longer; that a dump lacks it says nothing."""
    if entry.status is Status.MISSING:
        return entry.origin == "api"
    return entry.status in {Status.REMOVED, Status.DELETED}


def _counted(entries: Iterable[Submission]) -> str:
    counts = Counter(str(entry.status) for entry in entries)
    return ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))


def _ticking(progress: Progress) -> Callable[[int, int], None]:
    return lambda done, total: progress.tick("reddit", done, total)


def _ledger(spec: Ids, options: Options, progress: Progress) -> Ledger:
    return Ledger(private_ledger(spec, options.home), say=lambda line: progress.step("ledger", line))

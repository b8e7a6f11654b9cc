"""From ids to an answer for each, and what has been deleted since."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from builders.reddit.api import RedditClient
from builders.reddit.dump import MOST_BAD, archive_of, read_dumps
from builders.reddit.ledger import Ledger
from builders.reddit.lookup import FINAL, Progress, Run
from builders.reddit.submission import GONE, Status, Submission, merged


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What has become of the submissions that were there, or missing.

    Attributes:
        asked: How many were asked for.
        gone: Those that are no longer there, by id, with what became of them; their texts are purged.
        edited: How many are there with another title or body, which is held now.
        back: How many were not there and are there again.
        counts: Of all statuses.
    """

    asked: int
    gone: Mapping[str, Status]
    edited: int
    back: int
    counts: Counter[Status]


def hydrate(
    ids: Iterable[str],
    ledger: Ledger,
    client: RedditClient,
    *,
    today: datetime.date,
    again: bool = False,
    progress: Progress | None = None,
) -> Counter[Status]:
    """Ask Reddit for all submissions that have no final answer, and note each answer in the ledger.

    A run that is cut goes on where it was: each batch is on the disk before the next is asked. An id that
    Reddit leaves out of an answer is MISSING. An answer that leaves out all of a batch is not believed: its
    ids are asked again together with some that Reddit is known to have.

    Args:
        ids: Each is asked once, however often it stands here.
        ledger: What is known; it is held against other runs.
        client: The connection.
        today: The day of the answers, UTC.
        again: Also ask for what was MISSING.
        progress: Told of ids that have an answer, and of all.

    Returns:
        How many of the ids have which status.

    Raises:
        RemoteError: Ids are left without an answer, as ERROR or unasked; what was answered is kept.
        UsageError: The credentials are wrong.
        Busy: Another run holds the ledger.
        SourceSchema: The ledger is damaged.
        StorageError: It cannot be written.
    """
    wanted = list(dict.fromkeys(ids))
    with ledger.exclusive():
        ledger.purge()
        known = ledger.latest()
        final = FINAL if again else FINAL | {Status.MISSING}
        todo = [name for name in wanted if name not in known or known[name].status not in final]
        fresh = [name for name in todo if name not in known]
        asked_before = [name for name in todo if name in known]  # comes last, so that it blocks nothing
        run = Run(ledger, client, known, today)
        run.ask([fresh, asked_before], total=len(wanted), progress=progress)
        run.finish()
    return Counter(known[name].status for name in wanted)


def recheck(
    ids: Iterable[str],
    ledger: Ledger,
    client: RedditClient,
    *,
    today: datetime.date,
    progress: Progress | None = None,
) -> Rechecked:
    """Ask again for all submissions that were there or missing, and purge what is no longer there.

    What a dump alone has shown to be gone is asked for too: Reddit's answer counts more than a dump's.

    Texts of what has been found gone are purged even where the run is cut, by the next one at the latest. A
    text that was edited is replaced, since an edit may have taken something out. After a cut, the next run of
    the same day asks only for what is left.

    Args:
        ids: Those to look at; what was removed or deleted, or has no answer, is passed over.
        ledger: What is known; it is held against other runs.
        client: The connection.
        today: The day of the answers, UTC.
        progress: Told of ids that have an answer, and of all.

    Returns:
        What has become of them.

    Raises:
        RemoteError: Some could not be checked; they stay as they were.
        UsageError: The credentials are wrong.
        Busy: Another run holds the ledger.
        SourceSchema: The ledger is damaged.
        StorageError: It cannot be written.
    """
    wanted = list(dict.fromkeys(ids))
    with ledger.exclusive():
        ledger.purge()
        known = ledger.latest()
        before = {name: known[name] for name in wanted if name in known and _is_due(known[name], today)}
        run = Run(ledger, client, known, today, recheck=True)
        try:
            run.ask([list(before)], total=len(before), progress=progress)
            if not run.unanswered:
                closed = {"recheck_open": False}
                known |= {name: entry.model_copy(update=closed) for name, entry in known.items()}
        finally:
            ledger.rewrite(known.values())  # takes out what is gone, and what stood there before an edit
        run.finish()
    return _compared(before, {name: known[name] for name in before})


def _is_due(entry: Submission, today: datetime.date) -> bool:
    """Say whether a recheck asks for a submission."""
    answered = entry.recheck_open and entry.checked == today
    word_of_a_dump = entry.status in GONE and entry.origin == "dump"
    return (entry.status in {Status.OK, Status.MISSING} or word_of_a_dump) and not answered


def _compared(before: Mapping[str, Submission], after: Mapping[str, Submission]) -> Rechecked:
    there = {name for name, entry in before.items() if entry.status is Status.OK}
    still = {name for name, entry in after.items() if entry.status is Status.OK}
    gone = {name: after[name].status for name in before if name in there - still}
    edited = sum(_text(before[name]) != _text(after[name]) for name in there & still)
    back = len(still - there)
    return Rechecked(len(before), gone, edited, back, Counter(entry.status for entry in after.values()))


def from_dumps(
    ids: Iterable[str],
    ledger: Ledger,
    paths: Sequence[Path],
    *,
    today: datetime.date,
    say: Callable[[str], None] = lambda line: None,
    most_bad: float = MOST_BAD,
) -> Counter[Status]:
    """Note in the ledger what dumps hold of submissions, those included that have an answer already.

    A text that a dump shows to be gone leaves the ledger, whoever gave it and whether it is asked for or not;
    see `merged` for which answer counts. What none of the dumps holds, and nobody has answered, is MISSING.

    Args:
        ids: Each is looked for once, as is all that the ledger knows.
        ledger: What is known; it is held against other runs.
        paths: Dumps, as `dump.read_dumps` reads them.
        today: The day on which they are read, UTC.
        say: Told of lines that are no submissions.
        most_bad: Share of the lines of a dump that may be none.

    Returns:
        How many of the ids have which status.

    Raises:
        SourceError: A dump cannot be read; the ledger is as it was.
        Busy: Another run holds the ledger.
        SourceSchema: The ledger is damaged.
        StorageError: It cannot be written.
    """
    wanted = list(dict.fromkeys(ids))
    with ledger.exclusive():
        ledger.purge()
        known = ledger.latest()
        looked_for = known.keys() | set(wanted)
        archives = [archive_of(path) for path in paths]
        for path, archive in zip(paths, archives, strict=True):
            for entry in read_dumps([path], looked_for, checked=today, say=say, most_bad=most_bad):
                answer = entry.model_copy(update={"archive": archive})
                known[entry.id] = merged(known.get(entry.id), answer)
        for name in wanted:
            absent = Submission(
                id=name, status=Status.MISSING, checked=today, origin="dump", archive=archives[0]
            )
            known[name] = merged(known.get(name), absent)
        ledger.rewrite(known.values())  # takes out what is gone, and what stood there before an edit
    return Counter(known[name].status for name in wanted)


def _text(entry: Submission) -> tuple[str, str]:
    return entry.title, entry.body

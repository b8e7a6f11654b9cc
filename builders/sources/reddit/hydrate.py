"""From ids to an answer for each, and what has been deleted since."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from builders.errors import RemoteError, SourceSchema
from builders.sources.reddit.client import MOST_IDS, RedditClient
from builders.sources.reddit.dump import read_dumps
from builders.sources.reddit.ledger import Ledger
from builders.sources.reddit.model import Status, Submission
from builders.sources.reddit.reading import Origin, submission

Progress = Callable[[int, int], None]
"""Told how many of how many ids are done."""

_FINAL = frozenset({Status.OK, Status.REMOVED, Status.DELETED})
_FEW = 10
"""Fewer ids than this may all be missing without a control."""
_MOST_CONTROLS = 10
_MOST_FAILURES = 2
"""Batches that fail one after the other before the run ends: it is not the batch, then."""
_RESUME = "Run the same command again; only what has no answer yet is asked."


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What has become of the submissions whose texts were held.

    Attributes:
        asked: How many were asked for.
        gone: Those that are no longer there, by id, with what became of them; their texts are purged.
        edited: How many are there with another title or body, which is held now.
        counts: Of all statuses.
    """

    asked: int
    gone: Mapping[str, Status]
    edited: int
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
    Reddit leaves out of an answer is MISSING. An answer that leaves out all of a batch is believed only while
    the same Reddit still knows a submission that it is known to have had.

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
        final = _FINAL if again else _FINAL | {Status.MISSING}
        todo = [name for name in wanted if name not in known or known[name].status not in final]
        fresh = [name for name in todo if name not in known]
        asked_before = [name for name in todo if name in known]  # comes last, so that it blocks nothing
        run = _Run(ledger, client, known, today, keep_unanswered=False)
        run.ask([*_mixed(fresh), *_mixed(asked_before)], total=len(wanted), progress=progress)
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
    """Ask again for all submissions whose texts are held, and purge what is no longer there.

    Texts of what has been found gone are purged even where the run is cut, by the next one at the latest. A
    text that was edited is replaced, since an edit may have taken something out.

    Args:
        ids: Those to look at; one without a text in the ledger is passed over.
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
        before = {name: known[name] for name in wanted if name in known and known[name].status is Status.OK}
        run = _Run(ledger, client, known, today, keep_unanswered=True)
        try:
            run.ask(_mixed(list(before)), total=len(before), progress=progress)
        finally:
            ledger.rewrite(known.values())  # takes out what is gone, and what stood there before an edit
        run.finish()
    after = {name: known[name] for name in before}
    gone = {name: entry.status for name, entry in after.items() if entry.status is not Status.OK}
    edited = sum(_text(entry) != _text(after[name]) for name, entry in before.items() if name not in gone)
    return Rechecked(len(before), gone, edited, Counter(entry.status for entry in after.values()))


def from_dumps(
    ids: Iterable[str], ledger: Ledger, paths: Sequence[Path], *, today: datetime.date
) -> Counter[Status]:
    """Note in the ledger what dumps hold of all submissions that have no final answer.

    A final answer is never replaced: what Reddit has said to be deleted does not come back from a dump. Where
    dumps differ, one in which the submission is gone counts. What none of them holds is MISSING.

    Args:
        ids: Each is looked for once.
        ledger: What is known; it is held against other runs.
        paths: Dumps, as `dump.read_dumps` reads them.
        today: The day on which they are read, UTC.

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
        todo = {name for name in wanted if name not in known or known[name].status not in _FINAL}
        found: dict[str, Submission] = {}
        for entry in read_dumps(paths, todo, checked=today):
            if entry.id not in found or entry.status is not Status.OK:
                found[entry.id] = entry
        unseen = [name for name in wanted if name in todo and name not in found]
        missing = [_without_text(name, Status.MISSING, today, "dump") for name in unseen]
        entries = [*found.values(), *missing]
        ledger.append(entries)
        known |= {entry.id: entry for entry in entries}
    return Counter(known[name].status for name in wanted)


@dataclass
class _Run:
    """One way through batches of ids; `known` is kept in step with the ledger."""

    ledger: Ledger
    client: RedditClient
    known: dict[str, Submission]
    today: datetime.date
    keep_unanswered: bool
    failures: list[RemoteError] = field(default_factory=list)
    unanswered: int = 0

    def ask(self, batches: Sequence[Sequence[str]], *, total: int, progress: Progress | None) -> None:
        """Ask batch by batch; a batch that is left out as a whole waits until something else was found."""
        report = progress or _quiet
        left = sum(map(len, batches))
        done = total - left
        doubtful: list[Sequence[str]] = []
        in_a_row = 0
        for batch in batches:
            left -= len(batch)
            try:
                found = self.client.info(batch)
            except RemoteError as error:
                self._fail(batch, error)
                in_a_row += 1
                if in_a_row == _MOST_FAILURES:
                    self.unanswered += left + sum(map(len, doubtful))
                    return
                continue
            in_a_row = 0
            if not found and len(batch) >= _FEW:
                doubtful.append(batch)
                continue
            self._note(batch, found)
            done += len(batch)
            report(done, total)
        for batch in doubtful:
            self._ask_with_control(batch)
            done += len(batch)
            report(done, total)

    def finish(self) -> None:
        """Raise the first failure, if there was one."""
        if self.failures:
            left = f"{self.unanswered:,} ids are left without an answer"
            raise RemoteError(f"{self.failures[0].message}; {left}", hint=_RESUME) from self.failures[0]

    def _ask_with_control(self, batch: Sequence[str]) -> None:
        others = self.known.keys() - set(batch)
        controls = sorted(name for name in others if self.known[name].status in _FINAL)
        try:
            if not controls or not self.client.info(controls[:_MOST_CONTROLS]):
                problem = f"Reddit knows none of {len(batch)} ids, which is not taken for an answer"
                raise RemoteError(f"{problem} ({batch[0]} … {batch[-1]})", hint=_RESUME)
            self._note(batch, [])
        except RemoteError as error:
            self._fail(batch, error)

    def _note(self, batch: Sequence[str], found: Iterable[dict[str, Any]]) -> None:
        entries = {name: self._without_text(name, Status.MISSING) for name in batch}
        for data in found:
            try:
                entry = submission(data, origin="api", checked=self.today)
            except SourceSchema as error:  # one that cannot be read must not block the others
                entries.pop(data["id"], None)
                self._fail([data["id"]], RemoteError(error.message))
            else:
                entries[entry.id] = entry
        self._append(list(entries.values()))

    def _fail(self, batch: Sequence[str], error: RemoteError) -> None:
        self.failures.append(error)
        self.unanswered += len(batch)
        if not self.keep_unanswered:
            self._append([self._without_text(name, Status.ERROR) for name in batch])

    def _without_text(self, name: str, status: Status) -> Submission:
        """An answer that tells no subreddit takes nothing away from what is known of it."""
        before = self.known.get(name)
        subreddit = before.subreddit if before else ""
        return _without_text(name, status, self.today, "api", subreddit)

    def _append(self, entries: Sequence[Submission]) -> None:
        self.ledger.append(entries)
        self.known |= {entry.id: entry for entry in entries}


def _without_text(
    name: str, status: Status, today: datetime.date, origin: Origin, subreddit: str = ""
) -> Submission:
    return Submission(id=name, status=status, checked=today, origin=origin, subreddit=subreddit)


def _mixed(ids: Sequence[str]) -> list[Sequence[str]]:
    """Deal ids to batches like cards, so that ids that stand together and are all gone fill no batch."""
    number = -(-len(ids) // MOST_IDS)
    return [ids[start::number] for start in range(number)]


def _quiet(done: int, total: int) -> None:
    """Tell nobody."""


def _text(entry: Submission) -> tuple[str, str]:
    return entry.title, entry.body

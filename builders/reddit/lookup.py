"""Answers for ids, from Reddit in batches or from dumps, each noted in the ledger.

An id that Reddit leaves out of an answer is MISSING. An answer that leaves out a whole batch is not believed:
its ids are asked again together with some that Reddit is known to have.
"""

import datetime
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders.errors import RemoteError
from builders.reddit.api import MOST_IDS, ComeBackLater, RedditClient
from builders.reddit.dump import MOST_BAD, archive_of, read_dump
from builders.reddit.ledger import Ledger
from builders.reddit.submission import GONE, Status, Submission, merged, submission

_Ticks = Callable[[int, int], None]
"""Gets how many of how many ids are done."""
_FINAL = GONE | {Status.OK}
_FEW = 10
"""Fewer ids than this may all be missing where there is no control."""
_MOST_CONTROLS = 10
_MOST_FAILURES = 2
"""Batches that fail one after the other before the run ends: it is not the batch, then."""
_RESUME = "Run the same command again; only what has no answer yet is asked."
_RESUME_RECHECK = "Run the same command again; on the same day (UTC), only what is left is asked."
_BLIND = "Run it again later. If it stays so, all may be gone: then remove the texts and {ledger} yourself."


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What has become of the submissions that were there, or missing.

    Attributes:
        asked: How many were asked for.
        gone: Those that are no longer there, by id, with what became of them; their texts are purged.
        edited: How many are there with another title or body, which is held now.
        back: How many were not there and are there again.
    """

    asked: int
    gone: Mapping[str, Status]
    edited: int
    back: int


def ask(
    ids: Iterable[str],
    ledger: Ledger,
    client: RedditClient,
    *,
    today: datetime.date,
    progress: _Ticks = lambda done, total: None,
) -> None:
    """Ask Reddit for all submissions without an answer, each once, and note each answer in the ledger.

    A run that is cut goes on where it was: each batch is on the disk before the next is asked. What was asked
    in vain comes last, so that it blocks nothing.
    """
    with ledger.exclusive():
        known = ledger.latest()
        todo = unanswered(dict.fromkeys(ids), known)
        fresh = [name for name in todo if name not in known]
        failed = [name for name in todo if name in known]
        _Lookup(ledger, client, today, progress).ask([fresh, failed])


def unanswered(ids: Iterable[str], known: Mapping[str, Submission]) -> list[str]:
    """Return the ids to ask for: those never asked, those whose request failed, and those that dumps lack."""
    return [name for name in ids if name not in known or _is_open(known[name])]


def ask_again(
    ledger: Ledger,
    client: RedditClient,
    *,
    today: datetime.date,
    progress: _Ticks = lambda done, total: None,
) -> Rechecked:
    """Ask again for all submissions that were there or missing; what is no longer there loses its text.

    What a dump alone has shown to be gone is asked for too: Reddit's answer counts more than a dump's. A text
    that was edited is replaced, since an edit may have taken something out. After a cut, the next run of the
    same day asks only for what is left.
    """
    with ledger.exclusive():
        before = {name: entry for name, entry in ledger.latest().items() if _is_due(entry, today)}
        _Lookup(ledger, client, today, progress, recheck=True).ask([list(before)])
        closed = {"recheck_open": False}
        known = ledger.latest()
        ledger.append([entry.model_copy(update=closed) for entry in known.values() if entry.recheck_open])
    there = {name for name, entry in before.items() if entry.status is Status.OK}
    still = {name for name in before if known[name].status is Status.OK}
    return Rechecked(
        asked=len(before),
        gone={name: known[name].status for name in before if name in there - still},
        edited=sum(_text(before[name]) != _text(known[name]) for name in there & still),
        back=len(still - there),
    )


def read_from_dumps(
    ids: Iterable[str],
    ledger: Ledger,
    paths: Sequence[Path],
    *,
    today: datetime.date,
    say: Callable[[str], None] = lambda line: None,
    most_bad: float = MOST_BAD,
) -> None:
    """Note in the ledger what dumps hold of submissions, those included that have an answer already.

    A text that a dump shows to be gone leaves the ledger, whoever gave it and whether it is asked for or not;
    see `merged` for which answer counts. What none of the dumps holds, and nobody has answered, is MISSING.
    `say` and `most_bad` are those of `read_dump`.
    """
    with ledger.exclusive():
        before = ledger.latest()
        known = dict(before)
        wanted = dict.fromkeys(ids)
        looked_for = known.keys() | wanted.keys()
        archives = [archive_of(path) for path in paths]
        for path, archive in zip(paths, archives, strict=True):
            for entry in read_dump(path, looked_for, checked=today, say=say, most_bad=most_bad):
                answer = entry.model_copy(update={"archive": archive})
                known[entry.id] = merged(known.get(entry.id), answer)
        absent = {"status": Status.MISSING, "checked": today, "origin": "dump", "archive": archives[0]}
        for name in wanted:
            known[name] = merged(known.get(name), Submission.model_validate({"id": name, **absent}))
        ledger.append([entry for name, entry in known.items() if entry != before.get(name)])


def _is_open(entry: Submission) -> bool:
    return entry.status is Status.ERROR or (entry.status is Status.MISSING and entry.origin == "dump")


def _is_due(entry: Submission, today: datetime.date) -> bool:
    """Say whether a recheck asks for a submission."""
    answered = entry.recheck_open and entry.checked == today
    word_of_a_dump = entry.status in GONE and entry.origin == "dump"
    return (entry.status in {Status.OK, Status.MISSING} or word_of_a_dump) and not answered


def _text(entry: Submission) -> tuple[str, str]:
    return entry.title, entry.body


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One way through batches of ids; each answer is noted before the next batch is asked.

    In a recheck, what gets no answer stays as it was, and answers are marked until all have been given.
    """

    ledger: Ledger
    client: RedditClient
    today: datetime.date
    progress: _Ticks
    recheck: bool = False

    def ask(self, groups: Sequence[Sequence[str]]) -> None:
        """Ask for groups of ids, in their order and batch by batch.

        Batches that are left out as a whole wait until all others are asked. Then their ids are asked again,
        together with some that Reddit is known to have: with none of these, the answer is not believed.

        Raises:
            RemoteError: Ids got no answer; the first reason, or the one that has ended the run.
        """
        queue = deque((batch, False) for ids in groups for batch in _mixed(ids, MOST_IDS))
        total = sum(map(len, groups))
        done = in_a_row = 0
        doubtful: list[str] = []
        failures: list[RemoteError] = []
        while queue or doubtful:
            if not queue:
                queue.extend((batch, True) for batch in _mixed(doubtful, MOST_IDS - _MOST_CONTROLS))
                doubtful = []
            batch, again = queue.popleft()
            try:
                found = self._with_controls(batch) if again else self.client.info(batch)
            except RemoteError as error:
                failures.append(error)
                if not (self.recheck or isinstance(error, ComeBackLater)):
                    self._append([self._without_text(name, Status.ERROR) for name in batch])
                in_a_row += 1
                if in_a_row == _MOST_FAILURES or isinstance(error, ComeBackLater):
                    break
                continue
            in_a_row = 0
            if not found and not again:
                doubtful += batch
                continue
            self._note(batch, found)
            done += len(batch)
            self.progress(done, total)
        if failures:
            self._end(failures, left=total - done)

    def _end(self, failures: Sequence[RemoteError], *, left: int) -> None:
        reason = failures[-1] if isinstance(failures[-1], ComeBackLater) else failures[0]
        hint = _RESUME_RECHECK if self.recheck else _RESUME
        if isinstance(reason, ComeBackLater | _Blind):
            hint = reason.hint
        raise RemoteError(f"{reason.message}; {left:,} ids are left without an answer", hint=hint) from reason

    def _with_controls(self, batch: Sequence[str]) -> list[dict[str, Any]]:
        controls = self._controls(batch)
        found = self.client.info([*batch, *controls])
        if not found and (controls or len(batch) >= _FEW):
            number, hint = len(batch) + len(controls), _BLIND.format(ledger=self.ledger.path)
            problem = f"Reddit knows none of {number} ids, which is not taken for an answer"
            raise _Blind(f"{problem} ({batch[0]} … {batch[-1]})", hint=hint)
        return [data for data in found if data["id"] not in controls]

    def _controls(self, batch: Sequence[str]) -> list[str]:
        """Return ids that Reddit should know, those first that this run has seen."""
        ordered = sorted(
            (entry.checked != self.today or entry.origin != "api", entry.status is not Status.OK, name)
            for name, entry in self.ledger.latest().items()
            if entry.status in _FINAL and name not in batch
        )
        return [name for _, _, name in ordered[:_MOST_CONTROLS]]

    def _note(self, batch: Sequence[str], found: Iterable[dict[str, Any]]) -> None:
        entries = {name: self._without_text(name, Status.MISSING) for name in batch}
        entries |= {data["id"]: submission(data, origin="api", checked=self.today) for data in found}
        marked = {"recheck_open": self.recheck}
        self._append([entry.model_copy(update=marked) for entry in entries.values()])

    def _without_text(self, name: str, status: Status) -> Submission:
        return Submission(id=name, status=status, checked=self.today, origin="api")

    def _append(self, answers: Sequence[Submission]) -> None:
        known = self.ledger.latest()
        self.ledger.append([merged(known.get(answer.id), answer) for answer in answers])


class _Blind(RemoteError):
    """Reddit leaves out what it is known to have."""


def _mixed(ids: Sequence[str], size: int) -> list[Sequence[str]]:
    """Deal ids to batches like cards, so that ids that stand together and are all gone fill no batch."""
    number = -(-len(ids) // size)
    return [ids[start::number] for start in range(number)]

"""One way through batches of ids, in which no empty answer is taken for "all missing"."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from builders.errors import RemoteError
from builders.reddit.api import MOST_IDS, ComeBackLater, RedditClient
from builders.reddit.ledger import Ledger
from builders.reddit.reading import submission
from builders.reddit.submission import GONE, Status, Submission, merged

Progress = Callable[[int, int], None]
"""Told how many of how many ids are done."""

FINAL = GONE | {Status.OK}
_FEW = 10
"""Fewer ids than this may all be missing where there is no control."""
_MOST_CONTROLS = 10
_MOST_FAILURES = 2
"""Batches that fail one after the other before the run ends: it is not the batch, then."""
_RESUME = "Run the same command again; only what has no answer yet is asked."
_RESUME_RECHECK = "Run the same command again; on the same day (UTC), only what is left is asked."
_BLIND = (
    "Run it again later. Where this stays so, all may be gone: then remove the texts and {ledger} yourself."
)


@dataclass
class Run:
    """A run; `known` is kept in step with the ledger.

    Attributes:
        ledger: Where each answer is noted before the next batch is asked.
        client: The connection.
        known: The last answer for each id.
        today: The day of the answers, UTC.
        recheck: Whether what gets no answer stays as it was, and answers are marked as those of a recheck.
        failures: Why batches got no answer.
        unanswered: How many ids got none.
    """

    ledger: Ledger
    client: RedditClient
    known: dict[str, Submission]
    today: datetime.date
    recheck: bool = False
    failures: list[RemoteError] = field(default_factory=list)
    unanswered: int = 0

    def ask(self, ids: Sequence[Sequence[str]], *, total: int, progress: Progress | None) -> None:
        """Ask for ids, batch by batch.

        Batches that are left out as a whole wait until all others are asked. Then their ids are asked again,
        together with some that Reddit is known to have: with none of these, the answer is not believed.

        Args:
            ids: Groups of ids, in the order in which they are asked.
            total: How many ids there are, with those that have an answer.
            progress: Told of ids that have an answer, and of all.

        Raises:
            UsageError: The credentials are wrong.
            StorageError: The ledger cannot be written.
        """
        queue = deque((batch, False) for group in ids for batch in _mixed(group, MOST_IDS))
        done = total - sum(map(len, ids))
        doubtful: list[str] = []
        in_a_row = 0
        while queue or doubtful:
            if not queue:
                queue.extend((batch, True) for batch in _mixed(doubtful, MOST_IDS - _MOST_CONTROLS))
                doubtful = []
            batch, again = queue.popleft()
            try:
                found = self._with_controls(batch) if again else self.client.info(batch)
            except RemoteError as error:
                self._fail(batch, error)
                in_a_row += 1
                if in_a_row == _MOST_FAILURES or isinstance(error, ComeBackLater):
                    self.unanswered += len(doubtful) + sum(len(left) for left, _ in queue)
                    return
                continue
            in_a_row = 0
            if not found and not again:
                doubtful += batch
                continue
            self._note(batch, found)
            done += len(batch)
            if progress:
                progress(done, total)

    def finish(self) -> None:
        """End the run.

        Raises:
            RemoteError: Ids got no answer; the first reason, or the one that has ended the run.
        """
        if self.failures:
            last = self.failures[-1]
            reason = last if isinstance(last, ComeBackLater) else self.failures[0]
            hint = _RESUME_RECHECK if self.recheck else _RESUME
            if isinstance(reason, ComeBackLater | _Blind):
                hint = reason.hint
            problem = f"{reason.message}; {self.unanswered:,} ids are left without an answer"
            raise RemoteError(problem, hint=hint) from reason

    def _with_controls(self, batch: Sequence[str]) -> list[dict[str, Any]]:
        controls = self._controls(batch)
        found = self.client.info([*batch, *controls])
        if not found and (controls or len(batch) >= _FEW):
            problem = (
                f"Reddit knows none of {len(batch) + len(controls)} ids, which is not taken for an answer"
            )
            raise _Blind(f"{problem} ({batch[0]} … {batch[-1]})", hint=_BLIND.format(ledger=self.ledger.path))
        return [data for data in found if data["id"] not in controls]

    def _controls(self, batch: Sequence[str]) -> list[str]:
        """Return ids that Reddit should know, those first that this run has seen."""
        others = [self.known[name] for name in self.known.keys() - set(batch)]
        ordered = sorted(
            (entry.checked != self.today or entry.origin != "api", entry.status is not Status.OK, entry.id)
            for entry in others
            if entry.status in FINAL
        )
        return [name for _, _, name in ordered[:_MOST_CONTROLS]]

    def _note(self, batch: Sequence[str], found: Iterable[dict[str, Any]]) -> None:
        entries = {name: self._without_text(name, Status.MISSING) for name in batch}
        entries |= {data["id"]: submission(data, origin="api", checked=self.today) for data in found}
        marked = {"recheck_open": self.recheck}
        self._append([entry.model_copy(update=marked) for entry in entries.values()])

    def _fail(self, batch: Sequence[str], error: RemoteError) -> None:
        self.failures.append(error)
        self.unanswered += len(batch)
        if not (self.recheck or isinstance(error, ComeBackLater)):
            self._append([self._without_text(name, Status.ERROR) for name in batch])

    def _without_text(self, name: str, status: Status) -> Submission:
        return Submission(id=name, status=status, checked=self.today, origin="api")

    def _append(self, answers: Sequence[Submission]) -> None:
        entries = [merged(self.known.get(answer.id), answer) for answer in answers]
        self.ledger.append(entries)
        self.known |= {entry.id: entry for entry in entries}


class _Blind(RemoteError):
    """Reddit leaves out what it is known to have."""


def _mixed(ids: Sequence[str], size: int) -> list[Sequence[str]]:
    """Deal ids to batches like cards, so that ids that stand together and are all gone fill no batch."""
    number = -(-len(ids) // size)
    return [ids[start::number] for start in range(number)]

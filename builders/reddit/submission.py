"""What is known of a submission."""

from __future__ import annotations

import datetime
import re
from enum import StrEnum
from typing import Literal

from pydantic import field_validator

from builders.lock.lock import Frozen

SUBMISSION_ID = re.compile(r"[0-9a-z]{5,8}", re.ASCII)
ARCHIVE = re.compile(r"[A-Za-z0-9_.-]{1,80}@[0-9a-f]{64}", re.ASCII)
"""The name of a dump and its sha256."""
SUBREDDIT = re.compile(r"[A-Za-z0-9_-]{2,21}", re.ASCII)
"""The name of a subreddit. Reddit gives out no hyphens today; one is let through, as it can do no harm."""


class Status(StrEnum):
    """What became of a submission.

    MISSING is no final word: the same id may be found another day. So is what is there without a title that
    can be read. ERROR is for requests that failed.
    """

    OK = "ok"
    REMOVED = "removed"
    DELETED = "deleted"
    MISSING = "missing"
    ERROR = "error"


class Submission(Frozen):
    """A submission as it was seen on a day. Its author is never kept.

    Attributes:
        id: Without the prefix "t3_".
        status: What became of it.
        checked: The day, UTC.
        origin: The API, or a dump (where deletions after its making cannot be seen).
        subreddit: Where it stands, without "r/"; empty where that is not known.
        title: As written, entities unescaped once; empty unless the status is OK.
        body: As `title`; a link has none.
        archive: Name and sha256 of the dump that gave the answer; empty where Reddit gave it.
        recheck_open: The answer was given to a recheck that was cut; the next one of its day passes it over.
    """

    id: str
    status: Status
    checked: datetime.date
    origin: Literal["api", "dump"]
    subreddit: str = ""
    title: str = ""
    body: str = ""
    archive: str = ""
    recheck_open: bool = False

    @field_validator("id")
    @classmethod
    def _is_an_id(cls, value: str) -> str:
        if not SUBMISSION_ID.fullmatch(value):
            raise ValueError("not the id of a submission")
        return value

    @field_validator("archive")
    @classmethod
    def _is_an_archive(cls, value: str) -> str:
        if value and not ARCHIVE.fullmatch(value):
            raise ValueError("not the name of a dump with its sha256")
        return value

    @field_validator("subreddit")
    @classmethod
    def _is_a_subreddit(cls, value: str) -> str:
        if value and not SUBREDDIT.fullmatch(value):
            raise ValueError("not the name of a subreddit")
        return value


GONE = frozenset({Status.REMOVED, Status.DELETED})
_WEIGHTS = {Status.ERROR: 0, Status.MISSING: 1, Status.OK: 2, Status.REMOVED: 3, Status.DELETED: 3}
"""Which of two answers from dumps counts, before their days do."""


def merged(known: Submission | None, answer: Submission) -> Submission:
    """Return what is known of a submission after one more answer.

    A deletion is an event: what was once seen gone stays gone, whatever other dumps hold and in whatever
    order they are read, until Reddit itself answers with it. An answer that tells no subreddit takes nothing
    away from what is known of it.

    Args:
        known: What was known before; None for nothing.
        answer: The new answer for the same id.
    """
    if known is None:
        return answer
    kept, other = (known, answer) if _outweighs(known, answer) else (answer, known)
    return kept if kept.subreddit else kept.model_copy(update={"subreddit": other.subreddit})


def _outweighs(known: Submission, answer: Submission) -> bool:
    """Say whether what is known stands against a new answer.

    Reddit's last word counts, and no failed request is one. A dump takes a text of Reddit's away where it
    shows the submission gone on the day of Reddit's answer or later, and else changes nothing of it.
    """
    if Status.ERROR in {known.status, answer.status}:
        return known.status is not Status.ERROR
    if answer.origin == "api":
        return False
    if known.origin == "api":
        return known.status is not Status.OK or answer.status not in GONE or answer.checked < known.checked
    return (_WEIGHTS[known.status], known.checked) > (_WEIGHTS[answer.status], answer.checked)

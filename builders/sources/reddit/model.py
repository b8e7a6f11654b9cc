"""What is known of a submission."""

from __future__ import annotations

import datetime
import re
from enum import StrEnum
from typing import Literal

from pydantic import field_validator

from builders.lock.model import Frozen

SUBMISSION_ID = re.compile(r"[0-9a-z]{5,8}", re.ASCII)
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
        recheck_open: The answer was given to a recheck that was cut; the next one of its day passes it over.
    """

    id: str
    status: Status
    checked: datetime.date
    origin: Literal["api", "dump"]
    subreddit: str = ""
    title: str = ""
    body: str = ""
    recheck_open: bool = False

    @field_validator("id")
    @classmethod
    def _is_an_id(cls, value: str) -> str:
        if not SUBMISSION_ID.fullmatch(value):
            raise ValueError("not the id of a submission")
        return value

    @field_validator("subreddit")
    @classmethod
    def _is_a_subreddit(cls, value: str) -> str:
        if value and not SUBREDDIT.fullmatch(value):
            raise ValueError("not the name of a subreddit")
        return value

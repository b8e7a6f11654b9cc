"""A submission: what is kept of it, how Reddit and dumps give it, and which of two answers counts."""

import datetime
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from builders.errors import SourceSchema
from builders.lock.lock import Frozen
from builders.text_files import whole

SUBMISSION_ID = re.compile(r"[0-9a-z]{5,8}", re.ASCII)
ARCHIVE = re.compile(r"[A-Za-z0-9_.-]{1,80}@[0-9a-f]{64}", re.ASCII)
"""The name of a dump and its sha256."""
SUBREDDIT = re.compile(r"[A-Za-z0-9_-]{2,21}", re.ASCII)
"""The name of a subreddit. Reddit gives out no hyphens today; one is let through, as it can do no harm."""
PROFILE = re.compile("(?i)^u_")
"""How the subreddit of a user's own posts begins: the rest of its name is the user's."""
_TOMBSTONE = re.compile(
    r"\[ ?(?:(?P<deleted>deleted)|removed)(?: by (?:user|author|moderators?|reddit(?: [^\n]{1,300})?))? ?\]"
)
"""The whole of a title or body that is no longer there, white space folded, in lower case."""
_LONGEST_TOMBSTONE = 400
_BY_THE_AUTHOR = frozenset({"deleted", "author", "user"})
_ESCAPED = re.compile("&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}

Origin = Literal["api", "dump"]


class Status(StrEnum):
    """What became of a submission.

    MISSING may be found another day; so may what has no title that can be read. ERROR is a failed request.
    """

    OK = "ok"
    REMOVED = "removed"
    DELETED = "deleted"
    MISSING = "missing"
    ERROR = "error"


def _form(pattern: re.Pattern[str], what: str, *, empty: bool = False) -> AfterValidator:
    def checked(value: str) -> str:
        if not (pattern.fullmatch(value) or (empty and not value)):
            raise ValueError(f"not {what}")
        return value

    return AfterValidator(checked)


class Submission(Frozen):
    """A submission as it was seen on a day. Its author is never kept.

    Attributes:
        id: Without the prefix "t3_".
        checked: The day, UTC.
        origin: The API, or a dump (where deletions after its making cannot be seen).
        subreddit: Where it stands, without "r/"; empty where that is not known.
        title: As written, entities unescaped once; empty unless the status is OK.
        body: As `title`; a link has none.
        archive: Name and sha256 of the dump that gave the answer; empty where Reddit gave it.
        recheck_open: The answer was given to a recheck that was cut; the next one of its day passes it over.
    """

    id: Annotated[str, _form(SUBMISSION_ID, "the id of a submission")]
    status: Status
    checked: datetime.date
    origin: Origin
    subreddit: Annotated[str, _form(SUBREDDIT, "the name of a subreddit", empty=True)] = ""
    title: str = ""
    body: str = ""
    archive: Annotated[str, _form(ARCHIVE, "the name of a dump with its sha256", empty=True)] = ""
    recheck_open: bool = False


GONE = frozenset({Status.REMOVED, Status.DELETED})
_WEIGHTS = {Status.ERROR: 0, Status.MISSING: 1, Status.OK: 2, Status.REMOVED: 3, Status.DELETED: 3}
"""Which of two answers from dumps counts, before their days do."""


def merged(known: Submission | None, answer: Submission) -> Submission:
    """Return what is known of a submission after one more answer.

    A deletion is an event: what was once seen gone stays gone, whatever other dumps hold and in whatever
    order they are read, until Reddit itself answers with it. An answer without a subreddit takes none away.
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


def submission(data: Mapping[str, Any], *, origin: Origin, checked: datetime.date) -> Submission:
    """Read a submission.

    An author who is gone is not taken for a deletion: Reddit keeps what the owner of a deleted account wrote.
    A link has an empty body and stays. "NA" and "null" are texts.

    Args:
        data: The fields of a `t3`, as `/api/info` gives them with `raw_json=1`, or a line of a dump, where
            ``&``, ``<`` and ``>`` stand as entities, and some fields may be missing.
        origin: Where it comes from.
        checked: The day on which it was seen, UTC.

    Returns:
        One whose title is empty, or whose title or body is no text, is MISSING. The subreddit is empty where
        it is not given, is not the name of one, or is the profile of a user, whose name it would tell.

    Raises:
        SourceSchema: There is no id.
    """
    name = data.get("id")
    if not isinstance(name, str) or not SUBMISSION_ID.fullmatch(name):
        raise SourceSchema(f"a submission's id is {str(name)[:40]!r}")
    title, body = _text(data.get("title"), origin), _text(data.get("selftext"), origin)
    subreddit = data.get("subreddit")
    named = isinstance(subreddit, str) and SUBREDDIT.fullmatch(subreddit) and not PROFILE.match(subreddit)
    status = _status(data, title or "", body or "")
    if status is Status.OK and (body is None or not (title or "").strip()):
        status = Status.MISSING
    there = status is Status.OK
    return Submission(
        id=name,
        status=status,
        checked=checked,
        origin=origin,
        subreddit=str(subreddit) if named else "",
        title=title if there and title else "",
        body=body if there and body else "",
    )


def _text(value: object, origin: Origin) -> str | None:
    """Return a field as a text; None where it is something else."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return None
    text = whole(value)
    return _ESCAPED.sub(lambda entity: _CHARACTERS[entity[1]], text) if origin == "dump" else text


def _status(data: Mapping[str, Any], title: str, body: str) -> Status:
    """A deletion by the author weighs more than a removal by others."""
    meta = data.get("_meta")
    later = meta if isinstance(meta, Mapping) else {}
    reasons = [data.get("removed_by_category"), later.get("removal_type")]
    named = {reason.casefold() for reason in reasons if isinstance(reason, str) and reason}
    signs = {_tombstone(title), _tombstone(body)}
    signs |= {Status.DELETED if reason in _BY_THE_AUTHOR else Status.REMOVED for reason in named}
    if signs == {None}:
        return Status.DELETED if later.get("was_deleted_later") is True else Status.OK
    return Status.DELETED if Status.DELETED in signs else Status.REMOVED


def _tombstone(text: str) -> Status | None:
    if len(text) > _LONGEST_TOMBSTONE:
        return None
    match = _TOMBSTONE.fullmatch(" ".join(text.split()).casefold())
    if match is None:
        return None
    return Status.DELETED if match["deleted"] else Status.REMOVED

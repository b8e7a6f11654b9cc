"""A submission as Reddit or a dump gives it, read for what is kept of it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any, Literal

from builders.errors import SourceSchema
from builders.reddit.submission import SUBMISSION_ID, SUBREDDIT, Status, Submission
from builders.text_files import whole

Origin = Literal["api", "dump"]

_TOMBSTONE = re.compile(
    r"\[ ?(?:(?P<deleted>deleted)|removed)(?: by (?:user|author|moderators?|reddit(?: [^\n]{1,300})?))? ?\]"
)
"""The whole of a title or body that is no longer there, white space folded, in lower case."""
_LONGEST_TOMBSTONE = 400
_BY_THE_AUTHOR = frozenset({"deleted", "author", "user"})
_ESCAPED = re.compile("&(amp|lt|gt);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">"}
_PROFILE = re.compile(r"u_", re.ASCII | re.IGNORECASE)


def submission(data: Mapping[str, Any], *, origin: Origin, checked: datetime.date) -> Submission:
    """Read a submission.

    The author is never kept, and one who is gone is not taken for a deletion: Reddit keeps what the owner of
    a deleted account wrote. A link has an empty body and stays. "NA" and "null" are texts.

    Args:
        data: The fields of a `t3`, as `/api/info` gives them with `raw_json=1`, or a line of a dump, where
            ``&``, ``<`` and ``>`` stand as entities, and some fields may be missing.
        origin: Where it comes from.
        checked: The day on which it was seen, UTC.

    Returns:
        The submission; title and body are empty unless its status is OK. One whose title is empty, or whose
        title or body is no text, is MISSING: it can be read another day, and blocks nothing until then. Its
        subreddit is empty where it is not given, is not the name of one, or is the profile of a user, whose
        name it would tell.

    Raises:
        SourceSchema: There is no id.
    """
    name = data.get("id")
    if not isinstance(name, str) or not SUBMISSION_ID.fullmatch(name):
        raise SourceSchema(f"a submission's id is {str(name)[:40]!r}")
    title, body = _text(data.get("title"), origin), _text(data.get("selftext"), origin)
    subreddit = data.get("subreddit")
    named = isinstance(subreddit, str) and SUBREDDIT.fullmatch(subreddit) and not _PROFILE.match(subreddit)
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
    reasons = [
        value.casefold()
        for value in (data.get("removed_by_category"), later.get("removal_type"))
        if isinstance(value, str) and value
    ]
    signs = [sign for sign in (_tombstone(title), _tombstone(body)) if sign is not None]
    signs += [Status.DELETED if reason in _BY_THE_AUTHOR else Status.REMOVED for reason in reasons]
    if later.get("was_deleted_later") is True and not signs:
        signs.append(Status.DELETED)
    if not signs:
        return Status.OK
    return Status.DELETED if Status.DELETED in signs else Status.REMOVED


def _tombstone(text: str) -> Status | None:
    if len(text) > _LONGEST_TOMBSTONE:
        return None
    match = _TOMBSTONE.fullmatch(" ".join(text.split()).casefold())
    if match is None:
        return None
    return Status.DELETED if match["deleted"] else Status.REMOVED

"""Dates of birth: a date that words call so, before or after it. Other dates are left alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from builders.personal.scan import Scan, Span
from builders.spec import PersonalKind

_S = r"[ \u00a0]?"
_MONTH = (
    r"(?:Jan(?:uar|ner)?|Jän(?:ner)?|Feb(?:ruar|er)?|März|Mrz|Mär|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?)\.?"
)
_DAY, _YEAR, _ANY_YEAR = "[0-3]?[0-9]", "(?:18|19|20)[0-9]{2}", "(?:(?:18|19|20)[0-9]{2}|['’]?[0-9]{2})"
_DATE = (
    rf"(?:{_DAY}(?:\.{_S}|[ ](?=[A-Z]))(?:[01]?[0-9]\.|{_MONTH}){_S}{_ANY_YEAR}"
    rf"|{_YEAR}-[01][0-9]-[0-3][0-9]|{_DAY}-[01]?[0-9]-{_YEAR}|{_DAY}/{_DAY}/{_ANY_YEAR})(?![0-9])"
)
_WORDS = (
    re.compile(
        r"b(?<=[gG]eb)(?:oren|\.|(?=[ ](?:am[ ])?[0-3]?[0-9]\.)|urts(?:datum|tag|jahr und -tag)|datum|dat)"
    ),
    re.compile(r"B(?<=GEB)(?:OREN|\.|URTSDATUM|URTSTAG)"),
    re.compile(r"\*(?=[ \u00a0]?[0-9])"),
    re.compile(r"O(?<=D\.O)\.B\.?|O(?<=DO)B\b"),
    re.compile(r"ate of birth(?<=[dD]ate of birth)"),
)
"""What calls a date one of birth. Each begins with a letter as it stands, which the engine finds fastest."""
_FORWARD = re.compile(
    rf"(?:e[nrsm]?\b)?(?:-?[dD]at(?:um|\.)?)?(?:[ ]\([TMJ.]{{2,12}}\))?[^0-9.!?;*\n\0\x01]{{0,30}}?({_DATE})"
)
_LINE_FORWARD = re.compile(rf"[ :]{{0,3}}\n[ ]{{0,3}}({_DATE})")
_BACKWARD = re.compile(rf"(?<![0-9.])({_DATE})[^0-9.!?;\n\0\x01]{{0,40}}\Z")
_BULLET = re.compile(r"(?:\A|\n)[ \t]{0,20}\Z")
_ALONE = re.compile(r"[ ]?(?:\Z|[\n\0),;†–-]|in\b)")


def find(scan: Scan) -> Iterator[Span]:
    """Yield dates of birth; a span covers the date alone."""
    for word in chain.from_iterable(pattern.finditer(scan.text) for pattern in _WORDS):
        date = _FORWARD.match(scan.text, word.end()) or _LINE_FORWARD.match(scan.text, word.end())
        if date and not (word.group() == "*" and not _means_birth(scan, word.start(), date.end(1))):
            yield Span(*date.span(1), PersonalKind.BIRTH_DATE, "birth_date.after")
        elif word.group() in {"boren", "b."}:
            before = scan.before(word.start(), 72)
            earlier = _BACKWARD.search(before)
            if earlier:
                start = word.start() - len(before) + earlier.start(1)
                end = start + len(earlier.group(1))
                yield Span(start, end, PersonalKind.BIRTH_DATE, "birth_date.before")


def _means_birth(scan: Scan, star: int, end: int) -> bool:
    """Say whether a star before a date is the sign for birth: no product, and no item of a list."""
    before = scan.before(star, 20)
    if before.rstrip()[-1:].isdigit():
        return False
    return _BULLET.search(before) is None or _ALONE.match(scan.after(end, 4)) is not None

"""E-mail addresses, plain and spelled out ("max (at) beispiel (dot) de"), and user handles.

They are found from the sign in their middle; what stands before it is read backwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from builders.personal.scan import Scan, Span
from builders.spec import PersonalKind

_COMMON = "(?:de|com|org|net|at|ch|eu|info|li|lu|biz|uk|fr|nl|it)"
"""Domains that are believed where the rest is spelled loosely."""
_AT = re.compile("@"), re.compile("＠")
_SPELLED_AT = (
    *(
        re.compile(rf"{opening}[ ]?(?:[aA][tT]|[äÄ][tT]|@)[ ]?[\])}}>]")
        for opening in (r"\(", r"\[", r"\{", "<")
    ),
    re.compile(
        rf"\([aA]\)(?:(?<=\w\([aA]\))(?=[\w-]{{1,63}}\.[a-z])"
        rf"|(?<= \([aA]\))(?=[ ]?[\w-]{{1,63}}\.{_COMMON}\b))"
    ),
    *(re.compile(rf" {word} (?=[\w-]{{1,63}} (?:dot|punkt|DOT|PUNKT) )") for word in ("at", "AT")),
    re.compile(r" ät (?=[\w-]{1,63}(?:\.[a-z]| (?:dot|punkt|DOT|PUNKT) ))"),
)
_REDDIT = re.compile(r"/(?<=[uU]/)(?<![\w.][uU]/)(?<![\w./]/[uU]/)(?=[\w-])")
"""Signs: each pattern begins with a character as it stands, which the engine finds fastest."""
_LOCAL_BACKWARDS = re.compile(r"[\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63}+")
_PLAIN_LOCAL_BACKWARDS = re.compile(r"[ ]{0,2}[\w+-][\w.+-]{0,63}+(?:[ ](?:tknup|tod)[ ][\w.+-]{1,63}+){0,3}")
_LONGEST_LOCAL = 64
_GROUP_BACKWARDS = re.compile(r"\}[\w.,;+ -]{1,100}+\{")
_QUOTED_BACKWARDS = re.compile(r"[\"”“][^\"„”“@\n\0\x01]{1,64}+[\"„“]")
"""Local parts that hold blanks or commas: {max,moritz}@…, "max muster"@…."""
_DOMAIN = re.compile(
    r"(?:[\w-]{1,63}\.{1,2}){1,8}(?:[^\W\d_]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![\w-])"
    r"|[\w-]{1,63},(?:de|com|org|net|at|ch)(?![\w-])|\[?(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w])\]?"
)
_SPELLED_DOT = "(?:dot|punkt|DOT|PUNKT|Dot|Punkt)"
_OPEN, _CLOSE = r"[\[({<][ ]?", r"[ ]?[\])}>]"
_DOT = (
    rf"(?:\.{{1,2}}|[ ]{{0,2}}{_OPEN}(?:{_SPELLED_DOT}|\.){_CLOSE}[ ]{{0,2}}|[ ]{_SPELLED_DOT}[ ]"
    rf"|[ ]\.[ ]?(?={_COMMON}(?![\w-])))"
)
_END_IN_BRACKETS = rf"[ ]?{_OPEN}(?:\.|{_SPELLED_DOT}[ ])[ ]?[^\W\d_]{{2,24}}{_CLOSE}"
_LOOSE_DOMAIN = re.compile(
    rf"[ ]{{0,2}}[\w-]{{1,63}}+(?:(?:{_DOT}[\w-]{{2,63}}+){{0,3}}{_END_IN_BRACKETS}"
    rf"|(?:{_DOT}[\w-]{{2,63}}+){{1,4}})"
)
_BELIEVED = re.compile(rf"(?:[\])}}>]|[\])}}> .]{_COMMON})\Z")
"""How a loosely spelled domain behind a plain sign ends."""
_WRAPPED_DOMAIN = re.compile(
    rf"(?:[ ]?[\n ][ ]?(?:[\w-]{{1,63}}\.){{1,4}}|(?:[\w-]{{1,63}}\.){{1,4}}[\n ][ ]?"
    rf"|[\w-]{{1,62}}-[\n ](?:[\w-]{{1,63}}\.){{1,4}})"
    rf"{_COMMON}(?![\w-])"
)
_HANDLE = re.compile(r"\w(?:[\w.-]{0,38}\w)(?![\w@])")
_REDDIT_NAME = re.compile(r"[\w-]{2,30}(?![\w-])")
_MARKS = ".'*/=?{|}~_`^!#$%&-"


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of e-mail addresses and handles."""
    for sign in chain.from_iterable(pattern.finditer(scan.text) for pattern in _AT):
        yield from _at_sign(scan, sign.start())
    for sign in chain.from_iterable(pattern.finditer(scan.text) for pattern in _SPELLED_AT):
        yield from _spelled_out(scan, *sign.span())
    for sign in _REDDIT.finditer(scan.text):
        yield from _reddit_user(scan, sign.end())


def _at_sign(scan: Scan, at: int) -> Iterator[Span]:
    text = scan.text
    before = text[at - 1 : at] if at else ""
    domain = _DOMAIN.match(text, at + 1)
    if not domain and before.strip():
        domain = _WRAPPED_DOMAIN.match(text, at + 1)
    loose = _LOOSE_DOMAIN.match(text, at + 1)
    if loose and (not _BELIEVED.search(loose.group()) or (domain and domain.end() >= loose.end())):
        loose = None
    start = _local_part(scan, at) if domain and not loose else at
    if domain and start < at:
        yield Span(start, domain.end(), PersonalKind.EMAIL, "email")
        return
    if loose:
        start = scan.start_of(_PLAIN_LOCAL_BACKWARDS, at, 2 * _LONGEST_LOCAL)
        if start < at:
            yield Span(start, loose.end(), PersonalKind.EMAIL, "email.spelled")
            return
    if not before.isalnum() and not (before and before in "_@./"):
        handle = _HANDLE.match(text, at + 1)
        if handle:
            yield Span(at, handle.end(), PersonalKind.HANDLE, "handle.at")


def _local_part(scan: Scan, at: int) -> int:
    """Return where the part before a sign begins; the sign's place where there is none."""
    before = scan.text[at - 1 : at]
    group = {"}": _GROUP_BACKWARDS, '"': _QUOTED_BACKWARDS, "”": _QUOTED_BACKWARDS, "“": _QUOTED_BACKWARDS}
    start = scan.start_of(group[before], at, 2 * _LONGEST_LOCAL) if before in group else at
    if start < at:
        return start
    start = scan.start_of(_LOCAL_BACKWARDS, at, _LONGEST_LOCAL)
    while start < at and scan.text[start] in _MARKS:
        start += 1
    return start


def _spelled_out(scan: Scan, at: int, end: int) -> Iterator[Span]:
    domain = _LOOSE_DOMAIN.match(scan.text, end)
    start = scan.start_of(_PLAIN_LOCAL_BACKWARDS, at, 2 * _LONGEST_LOCAL) if domain else at
    if domain and start < at:
        yield Span(start, domain.end(), PersonalKind.EMAIL, "email.spelled")


def _reddit_user(scan: Scan, end: int) -> Iterator[Span]:
    name = _REDDIT_NAME.match(scan.text, end)
    if name:
        start = end - 3 if scan.text[end - 3 : end - 2] == "/" else end - 2
        yield Span(start, name.end(), PersonalKind.HANDLE, "handle.reddit")

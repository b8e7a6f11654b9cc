"""E-mail addresses, plain and spelled out ("max (at) beispiel (dot) de"), and user handles.

They are found from the sign in their middle; what stands before it is read backwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span

_AT = re.compile("@"), re.compile("＠")
_SPELLED_AT = (
    *(
        re.compile(rf"{opening}[ ]?(?:[aA][tT]|[äÄ][tT]|@)[ ]?[\])}}>]")
        for opening in (r"\(", r"\[", r"\{", "<")
    ),
    re.compile(r"\([aA]\)(?<=\w\([aA]\))(?=[\w-]{1,63}\.[a-z])"),
    *(re.compile(rf" {word} (?=[\w-]{{1,63}} (?:dot|punkt|DOT|PUNKT) )") for word in ("at", "AT", "ät")),
)
_REDDIT = re.compile(r"/(?<=[uU]/)(?<![\w.][uU]/)(?<![\w./]/[uU]/)(?=[\w-])")
"""Signs: each pattern begins with a character as it stands, which the engine finds fastest."""
_LOCAL_BACKWARDS = re.compile(r"[\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63}+")
_PLAIN_LOCAL_BACKWARDS = re.compile(r"[ ]{0,2}[\w+-][\w.+-]{0,63}+(?:[ ](?:tknup|tod)[ ][\w.+-]{1,63}+){0,3}")
_LONGEST_LOCAL = 64
_DOMAIN = re.compile(
    r"(?:[\w-]{1,63}\.){1,8}(?:[^\W\d_]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![\w-])|[\w-]{1,63},(?:de|com|org|net|at|ch)(?![\w-])"
)
_DOT = (
    r"(?:\.|[ ]{0,2}[\[({<][ ]?(?:dot|punkt|DOT|PUNKT|Dot|Punkt|\.)[ ]?[\])}>][ ]{0,2}"
    r"|[ ](?:dot|punkt|DOT|PUNKT)[ ])"
)
_LOOSE_DOMAIN = re.compile(rf"[ ]{{0,2}}[\w-]{{1,63}}+(?:{_DOT}[\w-]{{2,63}}+){{1,4}}")
_COMMON_DOMAIN = re.compile(r"[ ]?(?:[\w-]{1,63}\.){1,4}(?:de|com|org|net|at|ch|eu|info)(?![\w-]|\.\w)")
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
    before, after = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    domain = _DOMAIN.match(text, at + 1)
    start = scan.start_of(_LOCAL_BACKWARDS, at, _LONGEST_LOCAL) if domain else at
    while start < at and text[start] in _MARKS:
        start += 1
    if domain and start < at:
        yield Span(start, domain.end(), PersonalKind.EMAIL, "email")
    elif (before == " ") + (after == " ") > 0 and _COMMON_DOMAIN.match(text, at + 1):
        yield from _spelled_out(scan, at, at + 1)
    elif not before.isalnum() and not (before and before in "_@./"):
        handle = _HANDLE.match(text, at + 1)
        if handle:
            yield Span(at, handle.end(), PersonalKind.HANDLE, "handle.at")


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

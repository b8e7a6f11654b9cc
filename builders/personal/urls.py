"""Web addresses: with a scheme, with ``www.``, and bare hosts.

They are found from a sign in their middle (``://``, the dot after ``www`` or before a top-level domain); what
stands before the sign is read backwards. So a text without such signs costs one pass.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator

from builders.personal.scan import Scan, Span
from builders.spec import PersonalKind

_TLD = (
    "de|at|ch|li|lu|eu|com|org|net|info|biz|uk|fr|nl|pl|cz|berlin|hamburg|koeln|cologne|bayern|nrw|ruhr|saarland|"
    "wien|tirol|swiss|jobs|shop|online|blog|gmbh|page|site|cloud|email|careers|agency"
)
_OTHER_TLD = (
    "be|it|es|me|so|to|tv|us|co|io|ai|is|ly|gl|gg|ru|se|no|dk|fi|pt|gr|tr|app|dev|cc|xyz|top|club|news|world|live|wiki|"
    "tech|team|work|media|group|health|law"
)
"""Domains that are words, or whose names are products: believed with a path or after a cue only."""

_SCHEME = re.compile("://")
_DOT = re.compile(rf"\.(?:(?<=[wW]{{3}}\.)|(?:{_TLD}|{_OTHER_TLD})(?![\w@-])(?!\.[^\W\d_]))")
_STOP = r"\s<>\"„“”‚‘»«|\\^`{}\[\]\0\x01"
_SCHEME_BACKWARDS = re.compile(r"s?p(?:(?:tt|xx)h|tf)", re.IGNORECASE)
_LAST_OF_SCHEME = frozenset("pPsS")
_PATH = rf"(?::[0-9]{{2,5}}(?![0-9]))?(?:[/?#][^{_STOP}]*+)?"
_AFTER_SCHEME = re.compile(rf"[^{_STOP}]++")
_AFTER_WWW = re.compile(rf"(?:[\w-]{{1,63}}\.){{1,6}}[^\W\d_]{{2,24}}{_PATH}")
_AFTER_HOST = re.compile(_PATH)
_HOST_BACKWARDS = re.compile(r"[\w-]{1,63}+(?:\.[\w-]{1,63}+){0,4}")
_LONGEST_HOST = 256

_CUE = re.compile(
    r"\b(?:unter|via|siehe|besuch\w{0,10}|website|webseite|homepage|internet|web|link|url|online|domain|portal)"
    r"[ :„\"(–-]{0,4}\Z",
    re.IGNORECASE,
)
_LOOSE_CUE = re.compile(r"(?:\A|[:|(\[<*\n]|\b(?:auf|über|bei))[ ]?\Z")
_AFTER_AT = re.compile(r"(?:@|[\[({<][ ]?(?:at|ät|@)[ ]?[\])}>])[ ]{0,2}\Z", re.IGNORECASE)
_WRAPPED = re.compile(r"@[\w.-]{0,18}\n[ ]?\Z")
"""A mail address that goes on in this line."""
_COMMON = re.compile(rf"\.(?:{_TLD})\Z")
_PRODUCTS = frozenset({"asp.net", "vb.net", "ado.net", "ml.net"})
_MARKS = ".,;:!?'’*_~…–"


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of web addresses; signs inside a found address are not looked at again."""
    done = 0
    signs = heapq.merge(_SCHEME.finditer(scan.text), _DOT.finditer(scan.text), key=re.Match.start)
    for sign in signs:
        if sign.start() < done:
            continue
        if sign.group() == "://":
            span = _with_scheme(scan, sign.start())
        elif sign.group() == ".":
            span = _with_www(scan, sign.start())
        else:
            span = _bare_host(scan, sign.start(), sign.end())
        if span:
            done = span.end
            yield span


def _with_scheme(scan: Scan, at: int) -> Span | None:
    start = scan.start_of(_SCHEME_BACKWARDS, at, 6) if scan.text[at - 1 : at] in _LAST_OF_SCHEME else at
    rest = _AFTER_SCHEME.match(scan.text, at + 3) if start < at else None
    return _address(scan, start, rest.end(), "url.scheme") if rest else None


def _with_www(scan: Scan, at: int) -> Span | None:
    start = at - 3
    before = scan.text[start - 1 : start]
    if before.isalnum() or (before and before in "_@/.-"):
        return None
    rest = _AFTER_WWW.match(scan.text, at + 1)
    return _address(scan, start, rest.end(), "url.www") if rest else None


def _bare_host(scan: Scan, at: int, end: int) -> Span | None:
    start = scan.start_of(_HOST_BACKWARDS, at, _LONGEST_HOST)
    before = scan.before(start, 20)
    if (
        start == at
        or (before and before[-1] in "@/.-_")
        or _AFTER_AT.search(before[-8:])
        or _WRAPPED.search(before)
    ):
        return None
    path = _AFTER_HOST.match(scan.text, end)
    stop = path.end() if path else end
    if stop > end or _CUE.search(before) or _stands_as_address(scan.text[start:end], before[-8:]):
        return _address(scan, start, stop, "url.host")
    return None


def _stands_as_address(host: str, before: str) -> bool:
    """Say whether a host without a path is meant as an address: alone it may name a medium or a firm."""
    if not host.islower() or host in _PRODUCTS or not _COMMON.search(host):
        return False
    return host.count(".") > 1 or "-" in host or _LOOSE_CUE.search(before) is not None


def _address(scan: Scan, start: int, end: int, rule: str) -> Span:
    """Return the span of an address without the sentence's punctuation, and brackets that open before it."""
    text = scan.text
    opened = text.count("(", start, end) - text.count(")", start, end)
    while end > start:
        last = text[end - 1]
        if last == ")" and opened < 0:
            opened += 1
        elif last not in _MARKS:
            break
        end -= 1
    return Span(start, end, PersonalKind.URL, rule)

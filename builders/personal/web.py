"""Web addresses, e-mail addresses and user handles.

All of them are found from a sign in their middle (``@``, ``://``, the dot before a top-level domain); what
stands before the sign is read backwards. So a text without such signs costs one pass.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span

_TLD = (
    "de|at|ch|li|lu|eu|com|org|net|info|biz|uk|fr|nl|pl|cz|berlin|hamburg|koeln|cologne|bayern|nrw|ruhr|saarland|wien|tirol|"
    "swiss|jobs|shop|online|blog|gmbh|page|site|cloud|email|careers|agency"
)
_WEAK_TLD = "be|it|es|me|so|to|tv|us|co|io|ai|is|ly|gl|gg|ru|se|no|dk|fi|pt|gr|tr|app|dev|cc|xyz|top|club|news|world|live|wiki|tech|team|work|media|group|health|law"
_SIGN = re.compile(
    rf"@|://|\.(?<=[wW]{{3}}\.)|\.(?:{_TLD}|{_WEAK_TLD})(?![\w@-])(?!\.[^\W\d_])"
    r"|[\[({<][ ]?(?:[aA][tT]|[äÄ][tT]|@)[ ]?[\])}>]"
    r"|/(?<=[uU]/)(?<![\w.][uU]/)(?<![\w./]/[uU]/)(?=[A-Za-z0-9_-])"
)
_STOP = r"\s<>\"„“”‚‘»«|\\^`{}\[\]\0\x01"
_SCHEME = re.compile(r"(?:s?ptth|s?ptf|orcim)", re.IGNORECASE)
_REST = re.compile(rf"[^{_STOP}]{{1,2000}}")
_PATH = re.compile(rf"(?::[0-9]{{2,5}})?(?:[/?#][^{_STOP}]{{0,2000}})?")
_WWW = re.compile(
    rf"(?:[\w-]{{1,63}}\.){{1,6}}[^\W\d_]{{2,24}}(?:(?::[0-9]{{2,5}})?[/?#][^{_STOP}]{{0,2000}})?"
)
_HOST_BACKWARDS = re.compile(r"[\w-]{1,63}+(?:\.[\w-]{1,63}+){0,4}")
_CUE = re.compile(
    r"\b(?:unter|via|siehe|besuch\w{0,10}|website|webseite|homepage|internet|web|link|url|online|domain|portal)"
    r"[ :„\"(–-]{0,4}\Z",
    re.IGNORECASE,
)
_LOCAL_BACKWARDS = re.compile(r"[\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63}+")
_SPELLED_AT = re.compile(r" at (?=[\w-]{1,63} (?:dot|punkt) )")
_AFTER_AT = re.compile(r"(?:@|[\[({<][ ]?(?:at|ät|@)[ ]?[\])}>])[ ]{0,2}\Z", re.IGNORECASE)
_PLAIN_LOCAL_BACKWARDS = re.compile(r"[ ]{0,2}[\w+-][\w.+-]{0,63}+(?:[ ](?:tknup|tod)[ ][\w.+-]{1,63}+){0,3}")
_DOMAIN = re.compile(r"(?:[\w-]{1,63}\.){1,8}(?:[^\W\d_]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![\w-])")
_DOT = r"(?:\.|[ ]{0,2}[\[({<][ ]?(?:dot|punkt|DOT|PUNKT|Dot|Punkt|\.)[ ]?[\])}>][ ]{0,2}|[ ](?:dot|punkt|DOT|PUNKT)[ ])"
_LOOSE_DOMAIN = re.compile(rf"[ ]{{0,2}}[\w-]{{1,63}}+(?:{_DOT}[\w-]{{2,63}}+){{1,4}}")
_LOOSE_CUE = re.compile(r"(?:\A|[:|(\[<*\n]|\b(?:auf|über|bei))[ ]?\Z")
_COMMON = re.compile(rf"\.(?:{_TLD})\Z")
_PRODUCTS = frozenset({"asp.net", "vb.net", "ado.net", "ml.net"})
_HANDLE = re.compile(r"[\w](?:[\w.-]{0,38}\w)(?![\w@])")
_REDDIT = re.compile(r"[A-Za-z0-9_-]{2,20}(?![\w-])")


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of web addresses, e-mail addresses and handles."""
    for match in _SIGN.finditer(scan.text):
        sign, at, end = match.group(), match.start(), match.end()
        if sign == "@":
            yield from _at_sign(scan, at)
        elif sign == "://":
            yield from _with_scheme(scan, at)
        elif sign == ".":
            yield from _www(scan, at)
        elif sign[0] == ".":
            yield from _bare_host(scan, at, end)
        elif sign == "/":
            yield from _reddit_user(scan, end)
        else:
            yield from _spelled_out(scan, at, end)
    for match in _SPELLED_AT.finditer(scan.text):
        yield from _spelled_out(scan, match.start(), match.end())


def _at_sign(scan: Scan, at: int) -> Iterator[Span]:
    text = scan.text
    domain = _DOMAIN.match(text, at + 1)
    start = scan.start_of(_LOCAL_BACKWARDS, at, 65)
    if domain and start < at:
        while start < at and text[start] in ".'*/=?{|}~_`^!#$%&-":
            start += 1
        if start < at:
            yield Span(start, domain.end(), PersonalKind.EMAIL, "email")
            return
    if text[at - 1 : at] == " " and text[at + 1 : at + 2] == " ":
        yield from _spelled_out(scan, at, at + 1)
    handle = _HANDLE.match(text, at + 1)
    if handle and (at == 0 or not (text[at - 1].isalnum() or text[at - 1] in "_@./")):
        yield Span(at, handle.end(), PersonalKind.HANDLE, "handle.at")


def _spelled_out(scan: Scan, at: int, end: int) -> Iterator[Span]:
    domain = _LOOSE_DOMAIN.match(scan.text, end)
    start = scan.start_of(_PLAIN_LOCAL_BACKWARDS, at, 128)
    if domain and start < at:
        yield Span(start, domain.end(), PersonalKind.EMAIL, "email.spelled")


def _with_scheme(scan: Scan, at: int) -> Iterator[Span]:
    start = scan.start_of(_SCHEME, at, 6)
    rest = _REST.match(scan.text, at + 3)
    if start < at and rest:
        yield Span(start, _trimmed(scan.text, start, rest.end()), PersonalKind.URL, "url.scheme")


def _www(scan: Scan, at: int) -> Iterator[Span]:
    text, start = scan.text, at - 3
    rest = _WWW.match(text, at + 1)
    if rest and (start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "_@/.-")):
        yield Span(start, _trimmed(text, start, rest.end()), PersonalKind.URL, "url.www")


def _bare_host(scan: Scan, at: int, end: int) -> Iterator[Span]:
    text = scan.text
    start = scan.start_of(_HOST_BACKWARDS, at, 128)
    if start == at or (start > 0 and text[start - 1] in "@/.:-_") or _AFTER_AT.search(scan.before(start, 8)):
        return
    path = _PATH.match(text, end)
    stop = path.end() if path else end
    host = text[start:end]
    if stop > end or _CUE.search(scan.before(start, 20)) or _stands_as_address(host, scan.before(start, 8)):
        yield Span(start, _trimmed(text, start, stop), PersonalKind.URL, "url.host")


def _stands_as_address(host: str, before: str) -> bool:
    """Say whether a host without a path is meant as an address: "golem.de" in running text names a medium."""
    if not host.islower() or host in _PRODUCTS or not _COMMON.search(host):
        return False
    return host.count(".") > 1 or "-" in host or _LOOSE_CUE.search(before) is not None


def _reddit_user(scan: Scan, end: int) -> Iterator[Span]:
    name = _REDDIT.match(scan.text, end)
    if name:
        start = end - 3 if scan.text[end - 3 : end - 2] == "/" else end - 2
        yield Span(start, name.end(), PersonalKind.HANDLE, "handle.reddit")


def _trimmed(text: str, start: int, end: int) -> int:
    """Return where a web address ends, without the sentence's punctuation and brackets that open before it."""
    opened = text.count("(", start, end) - text.count(")", start, end)
    while end > start:
        last = text[end - 1]
        if last == ")" and opened < 0:
            opened += 1
        elif last not in ".,;:!?'’*_~…–":
            break
        end -= 1
    return end

"""Web and e-mail addresses, user handles and IP addresses.

They are found from a sign in their middle (``://``, ``@``, a dot before a top-level domain, a colon); what
stands before the sign is read backwards. So a text without such signs costs one pass.
"""

import heapq
import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_network

from builders.personal.scan import Scan, Span
from builders.personal.words import words_of
from builders.spec import PersonalKind

_MAIL_DOMAINS = "(?:de|com|org|net|at|ch|eu|info|li|lu|biz|uk|fr|nl|it)"
"""Domains that are believed where the rest is spelled loosely."""
_AT = {sign: re.compile(sign) for sign in "@＠"}
_SPELLED = r"[ ]?(?:[aA][tT]|[äÄ][tT]|@)[ ]?[\])}>]"
_ONE_LETTER = (
    rf"[aA]\)(?:(?<=\w\([aA]\))(?=[\w-]{{1,63}}\.[a-z])"
    rf"|(?<= \([aA]\))(?=[ ]?[\w-]{{1,63}}\.{_MAIL_DOMAINS}\b))"
)
_SPELLED_AT = {
    "(": re.compile(rf"\((?:{_SPELLED}|{_ONE_LETTER})"),
    "[": re.compile(rf"\[{_SPELLED}"),
    "{": re.compile(rf"\{{{_SPELLED}"),
    "<": re.compile(f"<{_SPELLED}"),
    " at ": re.compile(r" at (?=[\w-]{1,63} (?:dot|punkt|DOT|PUNKT) )"),
    " AT ": re.compile(r" AT (?=[\w-]{1,63} (?:dot|punkt|DOT|PUNKT) )"),
    " ät ": re.compile(r" ät (?=[\w-]{1,63}(?:\.[a-z]| (?:dot|punkt|DOT|PUNKT) ))"),
}
"""Signs that are spelled out, by the literal that each pattern begins with."""
_REDDIT = re.compile(r"/(?<=[uU]/)(?<![\w.][uU]/)(?<![\w./]/[uU]/)(?=[\w-])")
_LOCAL_BACKWARDS = re.compile(r"[\w!#$%&'*+/=?^`{|}~-][\w.!#$%&'*+/=?^`{|}~-]{0,63}+")
_PLAIN_LOCAL_BACKWARDS = re.compile(r"[ ]{0,2}[\w+-][\w.+-]{0,63}+(?:[ ](?:tknup|tod)[ ][\w.+-]{1,63}+){0,3}")
_LONGEST_LOCAL = 64
_BRACES_BACKWARDS = re.compile(r"\}[\w.,;+ -]{1,100}+\{")
_QUOTED_BACKWARDS = re.compile(r"[\"”“][^\"„”“@\n\0\x01]{1,64}+[\"„“]")
"""Local parts that hold blanks or commas: {max,moritz}@…, "max muster"@…."""
_DOMAIN = re.compile(
    r"(?:[\w-]{1,63}\.{1,2}){1,8}(?:[^\W\d_]{2,24}|xn--[A-Za-z0-9-]{2,59})(?![\w-])"
    r"|[\w-]{1,63},(?:de|com|org|net|at|ch)(?![\w-])|\[?(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![\w])\]?"
)
_SPELLED_DOT = "(?:dot|punkt|DOT|PUNKT|Dot|Punkt)"
_OPEN, _CLOSE = r"[\[({<][ ]?", r"[ ]?[\])}>]"
_MAIL_DOT = (
    rf"(?:\.{{1,2}}|[ ]{{0,2}}{_OPEN}(?:{_SPELLED_DOT}|\.){_CLOSE}[ ]{{0,2}}|[ ]{_SPELLED_DOT}[ ]"
    rf"|[ ]\.[ ]?(?={_MAIL_DOMAINS}(?![\w-])))"
)
_END_IN_BRACKETS = rf"[ ]?{_OPEN}(?:\.|{_SPELLED_DOT}[ ])[ ]?[^\W\d_]{{2,24}}{_CLOSE}"
_LOOSE_DOMAIN = re.compile(
    rf"[ ]{{0,2}}[\w-]{{1,63}}+(?:(?:{_MAIL_DOT}[\w-]{{2,63}}+){{0,3}}{_END_IN_BRACKETS}"
    rf"|(?:{_MAIL_DOT}[\w-]{{2,63}}+){{1,4}})"
)
_BELIEVED = re.compile(rf"(?:[\])}}>]|[\])}}> .]{_MAIL_DOMAINS})\Z")
"""How a loosely spelled domain behind a plain sign ends."""
_WRAPPED_DOMAIN = re.compile(
    rf"(?:[ ]?[\n ][ ]?(?:[\w-]{{1,63}}\.){{1,4}}|(?:[\w-]{{1,63}}\.){{1,4}}[\n ][ ]?"
    rf"|[\w-]{{1,62}}-[\n ](?:[\w-]{{1,63}}\.){{1,4}})"
    rf"{_MAIL_DOMAINS}(?![\w-])"
)
_HANDLE = re.compile(r"\w(?:[\w.-]{0,38}\w)(?![\w@])")
_NO_HANDLES = words_of("no_handles")
_REDDIT_NAME = re.compile(r"[\w-]{2,30}(?![\w-])")
_NAMED = {
    ":": re.compile(
        r":[ ]{0,2}(?P<handle>live:[\w.:-]{2,40}(?<!\.)|[\w.-]{2,32}#[0-9]{4}"
        r"|(?=[\w-]{0,31}[0-9._])[a-zA-Z][\w-]{1,31}(?:\.[\w-]{1,31}){0,3}"
        r"|[a-z][a-z0-9]{3,31}(?=[ ]?(?:[\n\0\x01,;|)]|\Z)))(?![\w@])"
    )
}
"""What may be a handle behind a colon; one of small letters alone must end its line or phrase."""
_NETWORK = re.compile(
    r"\b(?:[sS]kype|[tT]elegram|[tT]hreema|[dD]iscord|[iI]nstagram|[sS]napchat|[tT]witter|Steam|TikTok)"
    r"(?:[ -]?(?:[nN]ame|ID|Kontakt))?[ ]?\Z"
)
_LOCAL_MARKS = ".'*/=?{|}~_`^!#$%&-"


def find_mail(scan: Scan) -> Iterator[Span]:
    """Yield spans of e-mail addresses and handles."""
    for sign in scan.from_literals(_AT):
        yield from _at_sign(scan, sign.start())
    for sign in scan.from_literals(_SPELLED_AT):
        if spelled := _spelled_out(scan, sign.start(), _LOOSE_DOMAIN.match(scan.text, sign.end())):
            yield spelled
    for match in scan.from_literals(_NAMED):
        if _NETWORK.search(scan.before(match.start(), 24)):
            yield Span(*match.span("handle"), PersonalKind.HANDLE, "handle.messenger")
    for slash in _REDDIT.finditer(scan.text):
        name = _REDDIT_NAME.match(scan.text, slash.end())
        if name and name.group() not in _NO_HANDLES:
            start = slash.start() - 1  # of the "u", before which a slash may stand
            start -= scan.text[start - 1 : start] == "/"
            yield Span(start, name.end(), PersonalKind.HANDLE, "handle.reddit")


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
    spelled = _spelled_out(scan, at, loose)
    if spelled:
        yield spelled
        return
    if not before.isalnum() and not (before and before in "_@./"):
        handle = _HANDLE.match(text, at + 1)
        if handle and handle.group() not in _NO_HANDLES:
            yield Span(at, handle.end(), PersonalKind.HANDLE, "handle.at")


def _local_part(scan: Scan, at: int) -> int:
    """Return where the part before a sign begins; the sign's place where there is none."""
    before = scan.text[at - 1 : at]
    group = {"}": _BRACES_BACKWARDS, '"': _QUOTED_BACKWARDS, "”": _QUOTED_BACKWARDS, "“": _QUOTED_BACKWARDS}
    start = scan.start_of(group[before], at, 2 * _LONGEST_LOCAL) if before in group else at
    if start < at:
        return start
    start = scan.start_of(_LOCAL_BACKWARDS, at, _LONGEST_LOCAL)
    while start < at and scan.text[start] in _LOCAL_MARKS:
        start += 1
    return start


def _spelled_out(scan: Scan, at: int, domain: re.Match[str] | None) -> Span | None:
    start = scan.start_of(_PLAIN_LOCAL_BACKWARDS, at, 2 * _LONGEST_LOCAL) if domain else at
    return Span(start, domain.end(), PersonalKind.EMAIL, "email.spelled") if domain and start < at else None


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
_SCHEME_BACKWARDS = re.compile(r"(?i)s?p(?:(?:tt|xx)h|tf)")
_LAST_OF_SCHEME = frozenset("pPsS")
_PATH = rf"(?::[0-9]{{2,5}}(?![0-9]))?(?:[/?#][^{_STOP}]*+)?"
_AFTER_SCHEME = re.compile(rf"[^{_STOP}]++")
_AFTER_WWW = re.compile(rf"(?:[\w-]{{1,63}}\.){{1,6}}[^\W\d_]{{2,24}}{_PATH}")
_AFTER_HOST = re.compile(_PATH)
_HOST_BACKWARDS = re.compile(r"[\w-]{1,63}+(?:\.[\w-]{1,63}+){0,4}")
_LONGEST_HOST = 256

_CUE = re.compile(
    r"(?i)\b(?:unter|via|siehe|besuch\w{0,10}|website|webseite|homepage|internet|web|link|url|online|domain|"
    r"portal)[ :„\"(–-]{0,4}\Z"
)
_LOOSE_CUE = re.compile(r"(?:\A|[:|(\[<*\n]|\b(?:auf|über|bei))[ ]?\Z")
_AFTER_AT = re.compile(r"(?i)(?:@|[\[({<][ ]?(?:at|ät|@)[ ]?[\])}>])[ ]{0,2}\Z")
_WRAPPED = re.compile(r"@[\w.-]{0,18}\n[ ]?\Z")
"""A mail address that goes on in this line."""
_COMMON_TLD = re.compile(rf"\.(?:{_TLD})\Z")
_PRODUCTS = frozenset({"asp.net", "vb.net", "ado.net", "ml.net"})
_INSIDE = tuple("_@/.-")
"""Behind one of them an address is a part of another."""
_URL_MARKS = ".,;:!?'’*_~…–"


def find_urls(scan: Scan) -> Iterator[Span]:
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
    if before.isalnum() or before.endswith(_INSIDE):
        return None
    rest = _AFTER_WWW.match(scan.text, at + 1)
    return _address(scan, start, rest.end(), "url.www") if rest else None


def _bare_host(scan: Scan, at: int, end: int) -> Span | None:
    start = scan.start_of(_HOST_BACKWARDS, at, _LONGEST_HOST)
    before = scan.before(start, 20)
    if start == at or before.endswith(_INSIDE) or _AFTER_AT.search(before[-8:]) or _WRAPPED.search(before):
        return None
    path = _AFTER_HOST.match(scan.text, end)
    stop = path.end() if path else end
    if stop > end or _CUE.search(before) or _stands_as_address(scan.text[start:end], before[-8:]):
        return _address(scan, start, stop, "url.host")
    return None


def _stands_as_address(host: str, before: str) -> bool:
    """Say whether a host without a path is meant as an address: alone it may name a medium or a firm."""
    if not host.islower() or host in _PRODUCTS or not _COMMON_TLD.search(host):
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
        elif last not in _URL_MARKS:
            break
        end -= 1
    return Span(start, end, PersonalKind.URL, rule)


_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_V4 = re.compile(rf"\.(?<=[0-9]\.){_OCTET}\.{_OCTET}\.{_OCTET}(?![\w-]|[./][0-9])")
_OCTET_BACKWARDS = re.compile(r"[0-9]{1,3}(?![\w/+-]|\.[0-9\s.,])")
_V6 = re.compile(r":(?=:|[0-9A-Fa-f]{1,4}:[0-9A-Fa-f:])(?:[0-9A-Fa-f]{0,4}:){1,7}[0-9A-Fa-f]{0,4}(?![\w:])")
_GROUP_BACKWARDS = re.compile("[0-9A-Fa-f]{1,4}")
_SHARED = [
    ip_network(network)
    for network in "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 "
    "192.168.0.0/16 224.0.0.0/3 ::/127 fe80::/10 fc00::/7 ff00::/8".split()
]
"""Networks of homes, of the host itself, of many hosts at once, and masks (RFC 6890)."""
_NETWORK_WORDS = re.compile(
    r"(?i)\bIP|\bv[46]\b|server|\bhost|\bping|\bDNS\b|adresse|router|netz|\blog|zugriff|angemeldet|rechner|"
    r"verbindung"
)
_VERSION = re.compile(
    r"(?i)(?:versionen|version|vers\.|\bver\.?|\bv\.?|release|build|firmware|update|patch|treiber|kapitel|"
    r"abschnitt|ziffer|punkt|nummer|\bnr\.?|\bnrn\.|§|tabelle|abbildung|"
    r"\babb\.|anlage|anhang|\boid|\bdin|\biso|\ben)[ \u00a0:]{0,2}\Z"
)
_AMOUNT = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3}){3}")
_MONEY = r"€|\$|£|Euro|EUR|CHF|Franken|(?:US-)?Dollar|USD|Mark|DM|Yen|Menschen|Einwohner|Stück|Tonnen|Bytes?"
_COUNTED = re.compile(rf"[ \u00a0]?(?:{_MONEY})(?!\w)")
_SUM = re.compile(
    rf"(?i)(?:{_MONEY}|umsatz|bilanz|summe|betrag|gewinn|verlust|kosten|saldo|schulden|vermögen|budget|erlös|"
    r"kapital|preis)\w{0,2}[ :]{1,2}"
    r"(?:(?:stieg|sank|wuchs|von|auf|um|bei|über|rund|etwa|beträgt|lag|ist)[ ]){0,3}\Z"
)
_SURE, _FEWEST_GROUPS = 100, 3


def find_ip(scan: Scan) -> Iterator[Span]:
    """Yield spans of IP addresses.

    Four small numbers with dots are a section or a version, unless a word about networks stands near them.
    """
    for match in _V4.finditer(scan.text):
        dot, end = match.span()
        start = scan.start_of(_OCTET_BACKWARDS, dot, 5)
        number = scan.text[start:end]
        if start == dot or _VERSION.search(scan.before(start, 24)) or _is_amount(scan, start, end, number):
            continue
        large = max(map(int, number.split("."))) >= _SURE
        if (large or scan.near(start, end, _NETWORK_WORDS, 40)) and _is_own(number):
            yield Span(start, end, PersonalKind.IP_ADDRESS, "ip_address.v4")
    for match in _V6.finditer(scan.text):
        start = scan.start_of(_GROUP_BACKWARDS, match.start(), 4)
        before = scan.text[start - 1 : start]
        number = scan.text[start : match.end()]
        if not before.isalnum() and before not in {":", "_"} and _tells_much(number) and _is_own(number):
            yield Span(start, match.end(), PersonalKind.IP_ADDRESS, "ip_address.v6")


def _is_amount(scan: Scan, start: int, end: int, number: str) -> bool:
    """Say whether groups of three digits are a sum ("Umsatz: 1.145.230.118") or count what follows."""
    if not _AMOUNT.fullmatch(number):
        return False
    return bool(_COUNTED.match(scan.after(end, 24)) or _SUM.search(scan.before(start, 48)))


def _tells_much(number: str) -> bool:
    """Say whether groups of a sixth version's form are no times, no hours and no names in code."""
    groups = [group for group in number.split(":") if group]
    return len(groups) >= _FEWEST_GROUPS and max(map(len, groups)) > 2 and any(map(str.isdigit, number))


def _is_own(number: str) -> bool:
    try:
        address = IPv6Address(number) if ":" in number else IPv4Address(number)
    except AddressValueError:
        return False
    return not any(address in network for network in _SHARED)

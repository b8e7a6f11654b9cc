"""Phone numbers in German, Austrian and Swiss forms.

The search of `phonenumbers` finds prices and dates in running text ("346.000", "16.8.2015"), so candidates
come from a shape of ours; the library decides whether such a number exists. A word like "Tel." before a
number that exists in no plan of numbers, as in an example or with a digit too few, is believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from builders.personal.dates import only_dates
from builders.personal.phone_lists import numbers_in
from builders.personal.quantities import counted
from builders.personal.scan import NOT_INSIDE, Scan, Span
from builders.spec import PersonalKind

_REGIONS = ("DE", "AT", "CH")
_GAP = r"[ \u00a0\u2009\u202f\u00ad\u200b()\[\]/.·\-–—‐‑−]{0,3}+"
_LABEL = "(?<=[TtFf][eaoEAO][lnxLNX].)"
_START = rf"(?:(?<![\w/+-].)(?<![0-9\s.,\0]\..)(?<!\A[.,].)|{_LABEL}|(?<=\bD-.))"
_SHAPE = re.compile(
    rf"[+(04](?<![0-9].)(?:(?<![\w+].)(?<=\+)\+?[ ]?\(?[1-9]"
    rf"(?:[0-9]{{1,2}}[ ]?[0-9]{{2,4}}\n(?=[0-9]{{5}}))?|{_START}(?:"
    r"(?<=\()(?:\+|0)[0-9]?|(?<=0)(?:0?[1-9](?:[0-9]{2,4},(?=[0-9]{6,8}(?![0-9])))?|(?=[ \u00a0/(-])"
    r"|0[ ](?=[1-9]))|(?<=4)9(?=[ /-])))"
    rf"(?:{_GAP}[0-9]){{4,}}+"
)
_PLAIN = re.compile(rf"[1-9](?<![0-9].)(?:{NOT_INSIDE}|{_LABEL})(?:{_GAP}[0-9]){{4,15}}+(?![\w]|[.,/-][0-9])")
_END = re.compile(r"(?!\w|[./-][0-9]|,(?!0[1-9]|\(0|\+)[0-9])")
_EXTENSION = re.compile(
    r"(?:Durchwahl|DW|Apparat|App\.|Nebenstelle)(?:[ ]?[:(]{0,2}[ ]?)(-?[ ]?[0-9]{1,5})(?![\w]|[.,/-][0-9])"
)
_AND = r"[ \u00a0]?(?:[,;/]|(?<=[ \u00a0])(?:oder|und|bis|sowie|u\.|bzw\.))[ \u00a0]?"
_MORE = re.compile(
    rf"(?:{_AND}(?:(?:Tele)?[fF]ax[ :]{{1,3}})?|[ ][eE]xt\.[ ]?)"
    r"(?:(?P<extension>(?:-[ ]?|(?<=xt\.)|(?<=xt\. ))[0-9]{1,5})|(?P<again>[1-9][0-9](?:[ -]?[0-9]){3,8}))"
    r"(?![\w]|[.,/-][0-9])"
)
_LISTED = re.compile(rf"{_AND}|[ \u00a0]")

_CALL = re.compile(
    r"tele?fon|telefax|\btel|\bfon|\bfax|phone|mobil|handy|natel|hotline|rückruf|anruf|notruf|\bruf|whats?app|"
    r"signal|sms|erreich|durchwahl|servicenummer|[☎☏✆📞📱📠]"
)
"""Words that announce a number, case-folded."""
_CLOSE_CUE = re.compile(
    r"(?:tele?fon|telefax|\b(?:tele)?phone|\bmobil|handy|natel|hotline|whats?app|\btel|\bfax|\bfon|\bruf|\bservice)"
    r"(?:[-. ]{0,2}(?:nr\.?|nummer))?[.: \u00a0(]{0,4}\Z",
    re.IGNORECASE,
)
_WEAK_CUE = re.compile(r"(?:mobil|handy|service|hotline)[ \u00a0]\Z", re.IGNORECASE)
"""Words that also name a thing ("ein Handy 12345 Euro")."""
_AFTER_CUE = ".: \u00a0("
_LAST_OF_CUE = tuple("fon fax tel obil andy atel line app phone ruf vice nr mer".split())
"""How the words of a cue end, case-folded: most words before a number are seen not to be one by that."""
_UNDER = re.compile(r"\bunter(?:[ ]der)?[ \u00a0]\Z", re.IGNORECASE)
_LETTER = re.compile(r"(?:\A|[\s(|·,])[TtMmFf][.:]?[ \u00a0]\Z")
_OTHER = re.compile(
    r"(?:nr|\wnummern?|no|\bid|ref|referenz|kennziffern?|isbn|ean|artikel\w{0,10}|\baz|aktenzeichen|codes?|konto|blz|plz|"
    r"iban|seiten?|\bs|blatt|modell|typ|raum|gebäude|"
    r"kostenstelle|zähler|kapitel|zeile|\brn|\brz|zolltarif|taric|"
    r"unterposition(?:en)?)[.:# \u00a0-]{0,4}\Z",
    re.IGNORECASE,
)
_NORM = re.compile(r"\b(?:DIN|ISO|EN|IEC|JIS|VDE|IEEE|RFC|ANSI|[A-Z]{2,4} [A-Z])[ ]\Z")
_FOURS, _FOUR_BEFORE = re.compile("[0-9]{4}(?:[ -][0-9]{4}){1,4}"), re.compile(r"(?<!\w)[0-9]{4}[ -]\Z")
"""Groups of four behind another such group are the rest of a longer number."""
_GOODS = re.compile(r"0[0-9]{3} [0-9]{2} [0-9]{2}(?: [0-9]{2}){0,2}")
"""The form of a number in the tariff of customs, 0105 11 11; with two digits more also one of telephones."""
_GOODS_WORDS = re.compile(r"warennummer|zolltarif|\bkn-?code|\bhs-?code|\btaric|unterposition")
_PUBLIC = re.compile(r"116[ ]?[0-9]{3}")
"""The short numbers of services in all of Europe, 116117."""
_DIALLED = re.compile(r"\(?0[ ]?[1-9][0-9 ]{1,5}\)?[ ]?[-/ –][ ]?[1-9][0-9](?:[ -]?[0-9]){1,9}\Z")
_PAIRED = re.compile(r"\(?0[0-9][ ][0-9]{2}\)?[ ]?[/–-]")
_MOBILE = re.compile(r"\(?0[ ]?1[567]")
_MARKS = re.compile(r"[^0-9]++")
_FEWEST, _FEWEST_MOBILE, _FEWEST_WITH_COUNTRY, _MOST, _GOODS_DIGITS = 5, 10, 11, 16, 8

_CONTEXT, _LISTED_WITHIN = 60, 8

_Verdict = Literal["", "other", "phone.cue", "phone.possible", "phone.valid"]


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of phone numbers."""
    verdict: _Verdict = ""
    last = 0
    for run_start, run_end, run in scan.in_zones(_SHAPE):
        for first, stop in numbers_in(run, complete=_END.match(scan.text, run_end) is not None):
            start, end, number = run_start + first, run_start + stop, run[first:stop]
            accepted = verdict not in {"", "other"}
            # A number that goes is no context of the next one: it will be a placeholder.
            before = scan.before(start, min(_CONTEXT, start - last) if accepted else _CONTEXT)
            if before[-1:] in {",", ";"} and before[-2:-1].isdigit():
                continue
            carried = (
                start <= last + _LISTED_WITHIN
                and verdict in {"other", "phone.cue"}
                and _LISTED.fullmatch(scan.text, last, start)
            )
            verdict = verdict if carried and _has_length(number) else _verdict(number, before)
            last = end
            if verdict not in {"", "other"}:
                yield Span(start, end, PersonalKind.PHONE, verdict)
                yield from _more(scan, end, number)
    yield from _plain(scan)
    for match in _EXTENSION.finditer(scan.text):
        yield Span(*match.span(1), PersonalKind.PHONE, "phone.extension")


def _plain(scan: Scan) -> Iterator[Span]:
    """Yield numbers without area code, each right behind a word that announces it."""
    for start, end, number in scan.in_zones(_PLAIN):
        before = scan.before(start, 30)
        if not before.rstrip(_AFTER_CUE + "-").casefold().endswith(_LAST_OF_CUE) or not _CLOSE_CUE.search(
            before
        ):
            continue
        if only_dates(number) or _PUBLIC.fullmatch(number):
            continue
        if _WEAK_CUE.search(before) and number.isdigit() and counted(scan.after(end, 48)):
            continue
        yield Span(start, end, PersonalKind.PHONE, "phone.cue")
        yield from _more(scan, end, number)


def _more(scan: Scan, end: int, number: str) -> Iterator[Span]:
    """Yield what follows in a list: extensions, and numbers that begin alike, without area code."""
    digits = _MARKS.sub("", number)
    while match := _MORE.match(scan.text, end):
        name = match.lastgroup or ""
        again = _MARKS.sub("", match[name])
        if name == "again" and digits[-len(again) :][:2] != again[:2]:
            return
        if name == "extension" and counted(scan.after(match.end(), 48)):
            return
        end = match.end()
        yield Span(*match.span(name), PersonalKind.PHONE, "phone.list")


def _verdict(number: str, before: str) -> _Verdict:
    """Return why a number with a leading 0, + or 49 is a phone number; empty or "other" where it is none."""
    if not _has_length(number):
        return ""
    digits = _MARKS.sub("", number)
    broken = max(map(before.rfind, "0123456789\n"))
    if _CALL.search(before[max(broken + 1, len(before) - 40) :].casefold()) or _LETTER.search(before):
        return "phone.cue"
    if _FOURS.fullmatch(number) and _FOUR_BEFORE.search(before):
        return "other"
    if (number[0] != "+" and _OTHER.search(before)) or _NORM.search(before) or _is_of_goods(number, before):
        return "other"
    if _UNDER.search(before) and number[0] != "4":
        return "phone.cue"
    international = number.lstrip("(").startswith(("+", "00"))
    if _MOBILE.match(number) and len(digits) < _FEWEST_MOBILE:
        return ""
    if _in_pairs(number) or (number[0] == "4" and len(digits) < _FEWEST_WITH_COUNTRY):
        return ""
    if international or _DIALLED.match(number):
        return "phone.possible" if _possible(_dialled(number)) else ""
    return "phone.valid" if _valid(_dialled(number)) else ""


def _has_length(number: str) -> bool:
    return _FEWEST <= len(_MARKS.sub("", number)) <= _MOST


def _is_of_goods(number: str, before: str) -> bool:
    if not _GOODS.fullmatch(number):
        return False
    return len(_MARKS.sub("", number)) == _GOODS_DIGITS or _GOODS_WORDS.search(before.casefold()) is not None


def _in_pairs(number: str) -> bool:
    """Say whether a candidate is pairs of digits, as in dates, draws and sizes, and no area code in pairs."""
    if _PAIRED.match(number):
        return False
    groups = _MARKS.split(number)
    return len(groups[0]) == 2 and all(len(group) < 3 for group in groups)


@lru_cache(maxsize=4096)
def _possible(number: str) -> bool:
    import phonenumbers

    try:
        return bool(phonenumbers.is_possible_number(phonenumbers.parse(number, "DE")))
    except phonenumbers.NumberParseException:
        return False


@lru_cache(maxsize=4096)
def _valid(number: str) -> bool:
    import phonenumbers

    for region in _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(number, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _dialled(number: str) -> str:
    """Return a number as it is dialled: digits, a plus sign before a country's code."""
    digits = _MARKS.sub("", number)
    return f"+{digits}" if number[0] == "4" or "+" in number else digits

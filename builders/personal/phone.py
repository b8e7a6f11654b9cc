"""Phone numbers in German, Austrian and Swiss forms.

The search of `phonenumbers` finds prices and dates in running text ("346.000", "16.8.2015"), so candidates
come from a shape of ours; the library decides whether such a number exists. A word like "Tel." before a
number that exists in no plan of numbers, as in an example or with a digit too few, is believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span

_REGIONS = ("DE", "AT", "CH")
_GAP = r"[ \u00a0()/.\-–—‐‑−]{0,3}+"
_SHAPE = re.compile(
    r"[+(0](?<![\w.,/+-].)(?:(?<=\+)[ ]?\(?[1-9]|(?<=\()(?:\+|0)[0-9]?|(?<=0)0?[1-9]|(?<=0)(?=[ \u00a0/(-]))"
    rf"(?:{_GAP}[0-9]){{5,20}}+(?!\w|[.,/-][0-9])"
)
_PLAIN = re.compile(rf"[1-9](?<![\w.,/+-].)(?:{_GAP}[0-9]){{4,15}}+(?![\w]|[.,/-][0-9])")
_EXTENSION = re.compile(
    r"(?:Durchwahl|DW|Apparat|App\.|Nebenstelle)(?:[ ]?[:(]{0,2}[ ]?)(-?[ ]?[0-9]{1,5})(?![\w]|[.,/-][0-9])"
)

_CALL = re.compile(
    r"tele?fon|telefax|\btel|\bfon|\bfax|phone|mobil|handy|natel|hotline|rückruf|anruf|notruf|\bruf|whats?app|"
    r"signal|sms|erreich|durchwahl|servicenummer|[☎☏✆📞📱📠]"
)
"""Words that announce a number, case-folded."""
_CLOSE_CUE = re.compile(
    r"\b(?:tele?fon|telefax|tel|fax|fon|mobil|handy|ruf|rufnummer|hotline|service)"
    r"(?:[-. ]{0,2}(?:nr\.?|nummer))?[.: \u00a0(]{1,4}\Z",
    re.IGNORECASE,
)
_AFTER_CUE = frozenset(".: \u00a0(")
_LETTER = re.compile(r"(?:\A|[\s(|·,])[TtMmFf][.:]?[ \u00a0]\Z")
_OTHER = re.compile(
    r"(?:nr|nummer|no|\bid|ref|referenz|kennziffer|isbn|ean|artikel\w{0,10}|\baz|aktenzeichen|code|konto|blz|plz|iban)"
    r"[.:# \u00a0-]{0,4}\Z",
    re.IGNORECASE,
)
_NORM = re.compile(r"\b(?:DIN|ISO|EN|IEC|JIS|VDE|IEEE|RFC|ANSI|[A-Z]{2,4} [A-Z])[ ]\Z")
_DATE = re.compile(
    r"(?:0?[1-9]|[12][0-9]|3[01])(?:[.][ ]?(?:0?[1-9]|1[0-2])[.][ ]?|[/-](?:0?[1-9]|1[0-2])[/-])"
    r"(?:(?:19|20)[0-9]{2}|[0-9]{2})(?![0-9.])"
)
_TIME = re.compile(r"[0-2]?[0-9][.][0-5][0-9][ ]?[-–—][ ]?[0-2]?[0-9][.][0-5][0-9]")
_DIALLED = re.compile(r"\(?0[ ]?[1-9][0-9 ]{1,5}\)?[ ]?[-/ –][ ]?[1-9][0-9](?:[ -]?[0-9]){1,9}\Z")
_FEWEST, _MOST = 5, 16


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of phone numbers."""
    for start, end, number in scan.in_zones(_SHAPE):
        rule = _rule(number, scan.before(start, 40))
        if rule:
            yield Span(start, end, PersonalKind.PHONE, rule)
    for start, end, number in scan.in_zones(_PLAIN):
        before = scan.before(start, 30)
        if before[-1:] in _AFTER_CUE and _CLOSE_CUE.search(before) and not _DATE.match(number):
            yield Span(start, end, PersonalKind.PHONE, "phone.cue")
    for match in _EXTENSION.finditer(scan.text):
        yield Span(*match.span(1), PersonalKind.PHONE, "phone.extension")


def _rule(number: str, before: str) -> str:
    """Return why a number with a leading 0 or + is a phone number; empty where it is none."""
    if not _FEWEST <= sum(map(str.isdigit, number)) <= _MOST or _DATE.match(number) or _TIME.match(number):
        return ""
    broken = max(map(before.rfind, "0123456789\n"))
    if _CALL.search(before[broken + 1 :].casefold()) or _LETTER.search(before):
        return "phone.cue"
    if _OTHER.search(before) or _NORM.search(before):
        return ""
    if number.lstrip("(").startswith(("+", "00")) or _DIALLED.match(number):
        return "phone.possible" if _possible(number) else ""
    return "phone.valid" if _valid(number) else ""


def _possible(number: str) -> bool:
    import phonenumbers

    try:
        return bool(phonenumbers.is_possible_number(phonenumbers.parse(number, "DE")))
    except phonenumbers.NumberParseException:
        return False


def _valid(number: str) -> bool:
    import phonenumbers

    for region in _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(number, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False

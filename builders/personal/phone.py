"""Phone numbers in German, Austrian and Swiss forms.

The library's own search finds prices and dates in running text ("346.000", "16.8.2015"), so candidates come
from a shape of ours; `phonenumbers` decides on their validity.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span

_REGIONS = ("DE", "AT", "CH")
_SHAPE = re.compile(
    r"(?<![\w.,/+-])(?:\+[ ]?\(?[1-9]|\([+0][0-9]?|00?[1-9]|0(?=[ /(-]))"
    r"(?:[ \u00a0()/.\-–‐‑]{0,3}+[0-9]){5,20}+(?![\w]|[.,/-][0-9])"
)
_CUED = re.compile(r"[0-9](?:[ \u00a0()/.\-–‐‑]{0,3}+[0-9]){4,16}+(?![\w]|[.,/-][0-9])")
_CUE = re.compile(
    r"\b(?:tel(?:efon)?|fon|phone|(?:tele)?fax|mobil|handy|ruf|hotline|whatsapp|durchwahl|t|m|f)"
    r"(?:\.|nr\.?|-?nummer)?(?:[ ]?\(?(?:gesch(?:äft)?lich|privat|dienstlich)\)?)?[:. \u00a0(-]{0,4}\Z",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"(?:nr|nummer|no|id|ref|referenz|kennziffer|isbn|ean|artikel\w{0,10}|az|aktenzeichen|code|konto|blz)"
    r"[.:# \u00a0-]{0,4}\Z",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"[0-9]{1,2}[./-][0-9]{1,2}[./-](?:19|20)?[0-9]{2}\Z|(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}\Z"
)


def find(scan: Scan) -> Iterator[Span]:
    """Yield spans of phone numbers."""
    for match in scan.in_zones(_SHAPE):
        cue = scan.before(match.start(), 30)
        number = match.group()
        if _DATE.match(number):
            continue
        if _CUE.search(cue):
            yield Span(*match.span(), PersonalKind.PHONE, "phone.cue")
        elif not _OTHER.search(cue) and (_possible(number) if number[0] == "+" else _valid(number)):
            yield Span(*match.span(), PersonalKind.PHONE, "phone.valid")
    for match in scan.in_zones(_CUED):
        if _CUE.search(scan.before(match.start(), 30)) and not _DATE.match(match.group()):
            yield Span(*match.span(), PersonalKind.PHONE, "phone.cue")


def _valid(number: str) -> bool:
    import phonenumbers

    for region in _REGIONS:
        try:
            if phonenumbers.is_valid_number(phonenumbers.parse(number, region)):
                return True
        except phonenumbers.NumberParseException:
            continue
    return False


def _possible(number: str) -> bool:
    import phonenumbers

    try:
        return bool(phonenumbers.is_possible_number(phonenumbers.parse(number, "DE")))
    except phonenumbers.NumberParseException:
        return False

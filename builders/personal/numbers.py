"""Numbers of state and insurance: shapes here, check digits by the official rules.

A number whose check digits are wrong is none. Where a shape and a check digit together would still hit
numbers of other kinds, words around the number decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain

from builders.personal.checks import (
    SEPARATORS,
    ahv_number,
    at_insurance,
    health_insurance,
    id_document,
    pension_insurance,
)
from builders.personal.scan import OTHER_WORDS, Scan, Span
from builders.spec import PersonalKind

_NEAR = 60
_FREE = r"(?<![^\WrR].)(?<!-.)"
"""Behind a number's first character: it stands in no longer word, unless that is a label ("SVNR1237")."""
_VAT = re.compile(
    rf"[ACD]{_FREE}"
    r"(?:(?<=D)E[ \u00a0]?[0-9](?:[ \u00a0.]?[0-9]){8}|(?<=A)TU[ ]?[0-9]{8}"
    r"|(?<=C)HE[ -]?[0-9]{3}[. ]?[0-9]{3}[. ]?[0-9]{3}(?:[ ](?:MWST|TVA|IVA))?)(?!\w)"
)
_PENSION = re.compile(rf"[0-9]{_FREE}[0-9][ -]?[0-9]{{6}}[ -]?[A-Z][ -]?[0-9]{{3}}(?![\w-])")
_AHV = re.compile(rf"7{_FREE}56[. ]?[0-9]{{4}}[. ]?[0-9]{{4}}[. ]?[0-9]{{2}}(?![\w-])")
_AT_INSURANCE = re.compile(rf"[1-9]{_FREE}[0-9]{{3}}[ /-]?[0-9]{{6}}(?![\w-])")
_HEALTH = re.compile(rf"[A-Z]{_FREE}[ ]?[0-9]{{9}}(?![\w-])")
_TAX_ID = re.compile(
    r"[1-9](?<![^\WrRdD].)(?<!-.)(?<![0-9\s.,][.,].)[0-9](?:[ \u00a0/.-]?[0-9]{3}){3}(?![\w-]|[.,][0-9])"
)
_TAX_NUMBER = re.compile(
    r"[0-9](?<![^\WrR].)(?<![/-].)"
    r"(?:[0-9]{1,2}[/ ][0-9]{3,4}[/ ][0-9]{4,5}|[0-9]{4}/[0-9]{5}|[0-9]{12}|[0-9]{9,10})"
    r"(?![\w/-])"
)
_DOCUMENT = re.compile(r"[CFGHJ-NPRTV-Z][CFGHJ-NPRTV-Z0-9]{8}(?<![\w-].{9})[0-9]?D?(?!\w)")
_OLD_CARD = re.compile(r"[0-9](?<![\w-].)[0-9]{9}D(?!\w)")

_TAX_ID_WORDS = re.compile(r"steuer|identifikation|idnr|\btin\b", re.IGNORECASE)
_TAX_WORDS = re.compile(r"steuer-?[ ]?(?:nr|nummer|num)|\bst\.?-?[ ]?nr|finanzamt|bescheid", re.IGNORECASE)
_HEALTH_WORDS = re.compile(
    r"kranken|versicher|kvnr|kv-|\begk\b|gesundheitskarte|kasse|\bvers\.|\b(?:AOK|BKK|TK|DAK|IKK|Barmer|Knappschaft)\b",
    re.IGNORECASE,
)
_AT_WORDS = re.compile(r"svnr|sv-?nr|sozialversicherung|versicherungsn|österreich|\bsv\b", re.IGNORECASE)
_DOCUMENT_WORDS = re.compile(
    r"ausweis|\bperso\b|\bperso-|pass\b|pass-?n|reisepass|passport|dokument|identität|\bpa-?nr|\bIDD<|\bP<D",
    re.IGNORECASE,
)


def find_vat_id(scan: Scan) -> Iterator[Span]:
    """Yield VAT numbers of Germany, Austria and Switzerland."""
    from stdnum.at import uid
    from stdnum.ch import uid as ch_uid
    from stdnum.ch import vat as ch_vat
    from stdnum.de import vat

    def valid(number: str) -> bool:
        if number[0] == "D":
            return bool(vat.is_valid(number.replace("\u00a0", "").replace(".", "")))
        return bool(
            uid.is_valid(number) if number[0] == "A" else ch_vat.is_valid(number) or ch_uid.is_valid(number)
        )

    yield from _checked(scan, _VAT, PersonalKind.VAT_ID, valid)


def find_social_security(scan: Scan) -> Iterator[Span]:
    """Yield numbers of the German pension insurance, Swiss AHV numbers and, by context, Austrian ones."""
    kind = PersonalKind.SOCIAL_SECURITY
    for start, end, number in scan.in_zones(_PENSION):
        if pension_insurance(number):
            yield Span(start, end, kind, "social_security.de")
    for start, end, number in scan.in_zones(_AHV):
        if ahv_number(number):
            yield Span(start, end, kind, "social_security.ch")
    for start, end, number in scan.in_zones(_AT_INSURANCE):
        if at_insurance(number) and scan.near(start, end, _AT_WORDS, _NEAR):
            yield Span(start, end, kind, "social_security.at")


def find_health_insurance(scan: Scan) -> Iterator[Span]:
    """Yield numbers of the statutory health insurance with a word about insurance near them."""
    for start, end, number in scan.in_zones(_HEALTH):
        if health_insurance(number) and scan.near(start, end, _HEALTH_WORDS, _NEAR):
            yield Span(start, end, PersonalKind.HEALTH_INSURANCE, "health_insurance")


def find_tax_id(scan: Scan) -> Iterator[Span]:
    """Yield tax identification numbers: check digit, and no digit more often than the rules allow."""
    from stdnum.de import idnr

    for span in _checked(
        scan, _TAX_ID, PersonalKind.TAX_ID, lambda number: idnr.is_valid(number.translate(SEPARATORS))
    ):
        grouped_as_amount = any(mark in scan.text[span.start : span.end] for mark in ".-")
        if not grouped_as_amount or scan.near(span.start, span.end, _TAX_ID_WORDS, 40):
            yield span


def find_tax_number(scan: Scan) -> Iterator[Span]:
    """Yield tax numbers in the forms of the states, with a word about taxes before them."""
    from stdnum.de import stnr

    for start, end, number in scan.in_zones(_TAX_NUMBER):
        if _TAX_WORDS.search(scan.before(start, _NEAR)) and stnr.is_valid(number):
            yield Span(start, end, PersonalKind.TAX_NUMBER, "tax_number")


def find_id_card(scan: Scan) -> Iterator[Span]:
    """Yield numbers of identity cards and passports with a word about such documents near them."""
    for start, end, number in chain(scan.everywhere(_DOCUMENT), scan.in_zones(_OLD_CARD)):
        if id_document(number) and scan.near(start, end, _DOCUMENT_WORDS, _NEAR):
            yield Span(start, end, PersonalKind.ID_CARD, "id_card")


def _checked(
    scan: Scan, shape: re.Pattern[str], kind: PersonalKind, valid: Callable[[str], bool]
) -> Iterator[Span]:
    """Yield numbers of a shape whose check digits are right and that no word before calls something else."""
    for start, end, number in scan.in_zones(shape):
        if valid(number) and not OTHER_WORDS.search(scan.before(start, 30)):
            yield Span(start, end, kind, kind.value)

"""Numbers of accounts: IBANs, payment cards, and account numbers of before with their bank's code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from builders.personal.checks import SEPARATORS
from builders.personal.iban import IBAN_LENGTHS
from builders.personal.quantities import counted
from builders.personal.scan import LEFT_OF_ZONE, OTHER_WORDS, Scan, Span
from builders.spec import PersonalKind

_IBAN = re.compile(
    r"[0-9](?:(?<=[A-Za-z]{2}[0-9])|(?<=[A-Za-z]{2}[ ][0-9]))[0-9](?=[ \u00a0.-]{0,2}[A-Za-z0-9])"
)
_GROUPED = re.compile(r"(?:[ \u00a0.-]{0,2}[A-Za-z0-9]){11,32}+")
_CARD = re.compile(r"[2-6](?<![0-9].)(?<![\w/+-].)(?<![0-9]\..)[0-9]{3}(?=(?:[ \u00a0-]?[0-9]){8})")
_REST_OF_CARD = re.compile(r"(?:[ \u00a0-]?[0-9]){8,15}+")
_AFTER_CARD = re.compile(r"(?![\w-]|\.[0-9]|,[0-9]{1,3}(?![0-9]))")
_CARD_WORDS = re.compile(
    r"karte|kredit|visa|master-?card|amex|american express|maestro|girocard|\bcard\b|\bcvc|\bcvv",
    re.IGNORECASE,
)
_FIRST_OF_CARD = re.compile(
    r"(?P<sixteen>4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|6011|64[4-9]|65|352[89]|35[3-8])|(?P<fifteen>3[47])"
    r"|(?P<fourteen>30[0-5]|3[689])"
)
_LENGTHS = {"sixteen": 16, "fifteen": 15, "fourteen": 14}
_MAESTRO = re.compile(r"(?:50|5[6-9]|6)[0-9]{10,17}")

_ACCOUNT_WORD = re.compile(r"onto(?<=[kK]onto)")
_SHORT_WORD = re.compile(r"K(?:to\b|TO\b|ONTO)|BLZ|leitzahl")
"""What announces the number of an account or a bank; a short word lies in the zone of five digits."""
_CODE_WORDS = frozenset({"BLZ", "leitzahl"})
_CALLED = re.compile(
    r"(?P<numbered>[-. ]{0,2}(?:[nN][rR]\b\.?|[nN]ummer|NUMMER))?"
    r"(?:[ \u00a0]?(?:lautet|ist))?[.:# \u00a0(]{0,3}"
    r"(?P<number>[0-9](?:[ \u00a0./-]?[0-9]){2,12})(?![\w]|[.,/-][0-9])"
)
_BEFORE_CODE = re.compile(r"(?<![\w.,/-])(?P<number>[0-9](?:[ ]?[0-9]){4,9})[ ]?[,;(/|]{0,2}[ \n]?\Z")
_BANK = re.compile(r"\b(?:BLZ|[bB]ankleitzahl|BIC)\b")
_NEAR = 60
_FEWEST, _MOST, _FEWEST_IN_ZONE = 6, 11, 5


def find_iban(scan: Scan) -> Iterator[Span]:
    """Yield IBANs: the length of their country, check digits by mod 97 and the country's own."""
    from stdnum import iban

    for digits, head_end, _ in scan.in_zones(_IBAN):
        start = digits - 3 if scan.text[digits - 1] == " " else digits - 2
        length = IBAN_LENGTHS.get(scan.text[start : start + 2].upper())
        before = scan.text[start - 1 : start]
        tail = _GROUPED.match(scan.text, head_end)
        if length is None or tail is None or (before.isalnum() and not scan.before(start, 4) == "IBAN"):
            continue
        end = _end_of_characters(scan.text, start, tail.end(), length)
        if end and iban.is_valid(scan.text[start:end].replace("\u00a0", "")):
            yield Span(start, end, PersonalKind.IBAN, "iban")


def _end_of_characters(text: str, start: int, limit: int, length: int) -> int:
    """Return where `length` letters and digits end; 0 where there are fewer, or a digit follows."""
    seen = 0
    for position in range(start, limit):
        seen += text[position].isalnum()
        if seen == length:
            return 0 if text[position + 1 : position + 2].isdigit() else position + 1
    return 0


def find_payment_card(scan: Scan) -> Iterator[Span]:
    """Yield numbers of payment cards: a brand's first digits, its length, and the check digit by Luhn."""
    from stdnum import luhn

    for start, head_end, _ in scan.in_zones(_CARD):
        rest = _REST_OF_CARD.match(scan.text, head_end)
        run = scan.text[start : rest.end() if rest else head_end].translate(SEPARATORS)
        brand = _FIRST_OF_CARD.match(run)
        lengths = [_LENGTHS[brand.lastgroup or ""]] if brand else []
        lengths += [len(run)] if _MAESTRO.fullmatch(run) else []
        for length in lengths:
            end = _end_of_characters(scan.text, start, rest.end() if rest else head_end, length)
            usual = brand is not None and length == lengths[0]
            if not end or not _AFTER_CARD.match(scan.text, end) or not luhn.is_valid(run[:length]):
                continue
            if scan.near(start, end, _CARD_WORDS, _NEAR) or (
                usual and not OTHER_WORDS.search(scan.before(start, 30))
            ):
                yield Span(start, end, PersonalKind.PAYMENT_CARD, "payment_card")
                break


def find_bank_account(scan: Scan) -> Iterator[Span]:
    """Yield numbers behind "Konto" or "BLZ", and those before "BLZ".

    A short one behind "Konto" alone is one of bookkeeping, and needs a bank's code near it.
    """
    for start, end, word in chain(scan.everywhere(_ACCOUNT_WORD), scan.in_zones(_SHORT_WORD)):
        called = _CALLED.match(scan.text, end)
        if called and word != "onto" and not _in_zone(start, called):
            continue
        if word == "leitzahl" and scan.before(start, 4).casefold() != "bank":
            continue
        if called and _is_of_bank(scan, called, code=word in _CODE_WORDS):
            yield Span(*called.span("number"), PersonalKind.BANK_ACCOUNT, "bank_account")
            if word in _CODE_WORDS:
                yield from _before_code(scan, start if word == "BLZ" else start - len("Bank"))


def _in_zone(start: int, called: re.Match[str]) -> bool:
    """Say whether a number's own zone holds the word before it, whatever stands around both."""
    far = called.start("number") - start > LEFT_OF_ZONE
    return not far and len(called["number"].translate(SEPARATORS)) >= _FEWEST_IN_ZONE


def _before_code(scan: Scan, code: int) -> Iterator[Span]:
    """Yield the account's number where it stands before the bank's code, without a word of its own."""
    before = scan.before(code, 24)
    account = _BEFORE_CODE.search(before)
    if account:
        start = code - len(before) + account.start("number")
        yield Span(start, start + len(account["number"]), PersonalKind.BANK_ACCOUNT, "bank_account.before")


def _is_of_bank(scan: Scan, called: re.Match[str], *, code: bool) -> bool:
    digits = len(called["number"].translate(SEPARATORS))
    if code:
        return digits in {5, 8}
    if scan.near(*called.span("number"), _BANK, _NEAR):
        return digits < _MOST + 1
    if (
        not _FEWEST - bool(called["numbered"]) <= digits <= _MOST
        or "." in called["number"]
        or "/" in called["number"]
    ):
        return False
    return not counted(scan.after(called.end(), 48))

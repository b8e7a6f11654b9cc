"""Check digits that `python-stdnum` does not know, and those of it that need a second look."""

from __future__ import annotations

_PENSION_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
SEPARATORS = str.maketrans("", "", " -./\u00a0")
"""Deletes what stands between the groups of a number."""


def pension_insurance(number: str) -> bool:
    """Check a number of the German pension insurance (Versicherungsnummer, § 147 SGB VI; VKVV § 4).

    The letter counts as its place in the alphabet with two digits; each digit is weighted, the sums of the
    products' digits are added, and the last digit is that sum modulo 10.

    Args:
        number: Twelve characters, separators allowed: "15 070649 C 103".
    """
    number = number.translate(SEPARATORS)
    day, month = int(number[2:4]), int(number[4:6])
    if not (1 <= day <= 31 or 51 <= day <= 81) or not 1 <= month <= 12:
        return False
    digits = f"{number[:8]}{_place(number[8]):02d}{number[9:11]}"
    return _digit_sums(digits, _PENSION_WEIGHTS) % 10 == int(number[11])


def health_insurance(number: str) -> bool:
    """Check a number of the statutory health insurance (Krankenversichertennummer, § 290 SGB V).

    Args:
        number: A capital letter and nine digits: "A000500015".
    """
    number = number.translate(SEPARATORS)
    digits = f"{_place(number[0]):02d}{number[1:9]}"
    return _digit_sums(digits, (1, 2) * 5) % 10 == int(number[9])


def id_document(number: str) -> bool:
    """Check the number of a German identity card or passport (ICAO Doc 9303, weights 7, 3, 1).

    The nine characters that are printed carry no check digit; it is the tenth of the machine-readable line,
    after which the letter D may stand.

    Args:
        number: Nine or ten characters, D allowed behind: "L01X00T471", "T22000129", "1220000016D".
    """
    number = number.removesuffix("D") if len(number) > 9 else number
    if not any(character.isdigit() for character in number):
        return False
    if len(number) < 10:
        return True
    values = (int(character, 36) * (7, 3, 1)[place % 3] for place, character in enumerate(number[:9]))
    return number[9].isdigit() and sum(values) % 10 == int(number[9])


def ahv_number(number: str) -> bool:
    """Check a Swiss AHV number."""
    from stdnum.ch import ssn

    return bool(ssn.is_valid(number.translate(SEPARATORS)))


def at_insurance(number: str) -> bool:
    """Check an Austrian social insurance number."""
    from stdnum.at import vnr

    return bool(vnr.is_valid(number.translate(SEPARATORS)))


def _place(letter: str) -> int:
    return ord(letter) - ord("A") + 1


def _digit_sums(digits: str, weights: tuple[int, ...]) -> int:
    return sum(sum(divmod(int(digit) * weight, 10)) for digit, weight in zip(digits, weights, strict=False))

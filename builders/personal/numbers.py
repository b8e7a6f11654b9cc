"""Numbers of state, insurance, accounts, cards and cars: shapes here, check digits by the official rules.

A number whose check digits are wrong is none, unless a word of its own calls it one ("Steuer-ID:"). Where a
shape and check digits together would still hit numbers of other kinds, words around the number decide.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain

from stdnum import iban, luhn, numdb
from stdnum.at import uid, vnr
from stdnum.ch import ssn
from stdnum.ch import uid as ch_uid
from stdnum.ch import vat as ch_vat
from stdnum.de import idnr, stnr, vat

from builders.personal.scan import LEFT_OF_ZONE, OTHER_WORDS, Scan, Span
from builders.personal.words import counted, words_of
from builders.spec import PersonalKind

_PENSION_WEIGHTS = (2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1)
_SEPARATORS = str.maketrans("", "", " -./\u00a0")
"""Deletes what stands between the groups of a number."""


def _pension_insurance(number: str) -> bool:
    """Check a number of the German pension insurance (Versicherungsnummer, § 147 SGB VI; VKVV § 4).

    The letter counts as its place in the alphabet with two digits; each digit is weighted, the sums of the
    products' digits are added, and the last digit is that sum modulo 10.
    """
    number = number.translate(_SEPARATORS).upper()
    if len(number) != 12 or not number[8].isalpha():
        return False
    day, month = int(number[2:4]), int(number[4:6])
    if not (1 <= day <= 31 or 51 <= day <= 81) or not 1 <= month <= 12:
        return False
    digits = f"{number[:8]}{_place(number[8]):02d}{number[9:11]}"
    return _weighted_digit_sums(digits, _PENSION_WEIGHTS) % 10 == int(number[11])


def _health_insurance(number: str) -> bool:
    """Check a number of the statutory health insurance (Krankenversichertennummer, § 290 SGB V)."""
    number = number.translate(_SEPARATORS)
    digits = f"{_place(number[0]):02d}{number[1:9]}"
    return len(number) == 10 and _weighted_digit_sums(digits, (1, 2) * 5) % 10 == int(number[9])


def _vat(number: str) -> bool:
    """Check a VAT number of Germany, Austria or Switzerland."""
    if number[0] == "D":
        return bool(vat.is_valid(number.replace("\u00a0", "").replace(".", "")))
    return any(check.is_valid(number) for check in ((uid,) if number[0] == "A" else (ch_vat, ch_uid)))


def _id_document(number: str) -> bool:
    """Check the number of a German identity card or passport (ICAO Doc 9303, weights 7, 3, 1).

    The nine that are printed carry no check digit; it is the tenth of the machine-readable line, before a D.
    """
    number = number.removesuffix("D") if len(number) > 9 else number
    if not any(character.isdigit() for character in number):
        return False
    if len(number) < 10:
        return True
    values = (int(character, 36) * (7, 3, 1)[place % 3] for place, character in enumerate(number[:9]))
    return number[9].isdigit() and sum(values) % 10 == int(number[9])


def _place(letter: str) -> int:
    return ord(letter) - ord("A") + 1


def _weighted_digit_sums(digits: str, weights: tuple[int, ...]) -> int:
    return sum(sum(divmod(int(digit) * weight, 10)) for digit, weight in zip(digits, weights, strict=False))


def _called(words: str) -> re.Pattern[str]:
    """Return a pattern of words at the end of a text, which call the number behind them what it is."""
    number = r"(?:s?[ -]?(?:nummer|nr))?"
    between = rf"\.?(?:[ ](?:lautet|ist))?[{_AFTER_WORD}]{{0,3}}"
    return re.compile(rf"(?i)\b(?:{words}){number}{between}\Z")


_AFTER_WORD = " \u00a0:#=.\n"
_LAST_OF_WORDS = tuple(
    "nummer nr lautet ist id iban mwst versicherung rv sv ahv identifikation "
    "karte karten visa card amex express maestro".split()
)
"""How the words end that call a number what it is: most words before a number are seen by that not to."""
_NEAR = 60


def _is_called(scan: Scan, start: int, words: re.Pattern[str]) -> bool:
    """Say whether the words that stand right before a number call it what it is."""
    before = scan.before(start, 48)
    return before.rstrip(_AFTER_WORD).casefold().endswith(_LAST_OF_WORDS) and words.search(before) is not None


_FREE = r"(?<![^\WrR].)(?<!-.)"
"""Behind a number's first character: it stands in no longer word, unless that is a label ("SVNR1237")."""
_VAT = re.compile(
    rf"[ACD]{_FREE}"
    r"(?:(?<=D)E[ \u00a0]?[0-9](?:[ \u00a0.]?[0-9]){7,9}|(?<=A)TU[ ]?[0-9]{7,9}"
    r"|(?<=C)HE[ -]?[0-9]{3}[. ]?[0-9]{3}[. ]?[0-9]{3}(?:[ ](?:MWST|TVA|IVA))?)(?!\w)"
)
_PENSION = re.compile(
    rf"[0-9]{_FREE}[0-9][ .-]?(?:[0-9]{{5,7}}|[0-9]{{2}}[ .][0-9]{{2}}[ .][0-9]{{2}})[ .-]?[A-Za-z]"
    r"[ .-]?[0-9]{2}(?:[0-9]{2}|[ ]?[0-9])?(?![\w-])"
)
_AHV = re.compile(rf"7{_FREE}56[. ]?[0-9]{{4}}[. ]?[0-9]{{4}}[. ]?[0-9]{{2}}(?![\w-])")
_AT_INSURANCE = re.compile(rf"[1-9]{_FREE}[0-9]{{3}}[ /-]?[0-9]{{6}}(?![\w-])")
_HEALTH = re.compile(rf"[A-Z]{_FREE}(?:(?:[ .]?[0-9]){{9}}|[ ]?[0-9]{{8,10}})(?![\w-])")
_TAX_ID = re.compile(
    r"[1-9](?<![^\WrRdD].)(?<!-.)(?<![0-9\s.,][.,].)[0-9](?:[ \u00a0/.-]?[0-9]{3}){2}"
    r"[ \u00a0/.-]?[0-9]{2,4}(?![\w-]|[.,][0-9])"
)
_TAX_NUMBER = re.compile(
    r"[0-9](?<![^\WrR].)(?<![/-].)"
    r"(?:[0-9]{1,2}[/ ][0-9]{3,4}[/ ][0-9]{4,5}|[0-9]{4}/[0-9]{5}|[0-9]{12}|[0-9]{9,10})"
    r"(?![\w/-])"
)
_DOCUMENT = re.compile(r"[CFGHJ-NPRTV-Z][CFGHJ-NPRTV-Z0-9]{8}(?<![\w-].{9})[0-9]?D?(?!\w)")
_DOCUMENT_WITH_BLANKS = {
    word: re.compile(
        rf"{word}(?:nummer|-?[ ]?[nN]r\.?)?[ :(]{{1,3}}(?=[A-Z0-9]{{1,8}}[ ])"
        r"(?P<number>[CFGHJ-NPRTV-Z](?:[ ]?[CFGHJ-NPRTV-Z0-9]){8}(?:[ ]?[0-9])?D?)(?!\w)"
    )
    for word in ("usweis", "eisepass")
}
_LETTERS_BACKWARDS = re.compile("[CFGHJ-NPRTV-Z]{1,9}+")
_OLD_CARD = re.compile(r"[0-9](?<![\w-].)[0-9]{9}D(?!\w)")
_DRIVING = {
    "ührerschein": re.compile(
        r"ührerschein(?:-?[ ]?[nN](?:ummer|r))?\.?(?:[ ](?:lautet|ist))?[ :#]{0,3}"
        r"(?P<number>[A-Z](?=[A-Z]{0,9}[0-9])[0-9A-Z]{7,11})(?![\w-])"
    )
}

_TAX_ID_WORDS = re.compile(r"(?i)steuer|identifikation|idnr|\btin\b")
_TAX_WORDS = re.compile(r"(?i)steuer-?[ ]?(?:nr|nummer|num)|\bst\.?-?[ ]?nr|finanzamt|bescheid")
_HEALTH_WORDS = re.compile(
    r"(?i)kranken|versicher|kvnr|kv-|\begk\b|gesundheitskarte|kasse|\bvers\.|\b(?:AOK|BKK|TK|DAK|IKK|Barmer|"
    r"Knappschaft)\b"
)
_AT_WORDS = re.compile(r"(?i)svnr|sv-?nr|sozialversicherung|versicherungsn|österreich|\bsv\b")
_PENSION_WORDS = re.compile(r"(?i)\b[rs]v|vsnr|versicherung|rente")
"""Without one of them a number with a small letter is one of programs."""
_DOCUMENT_WORDS = re.compile(
    r"(?i)ausweis|\bperso\b|\bperso-|pass\b|pass-?n|reisepass|passport|dokument|identität|\bpa-?nr|\bIDD<|"
    r"\bP<D"
)

_IS_VAT = _called("(?:ust|umsatzsteuer|mwst|vat)[.]?[ -]?(?:id|identifikation)|uid|mwst")
_IS_PENSION = _called("(?:renten|sozial)?versicherung|[rs]v|svnr|vsnr|ahv")
_IS_AT_INSURANCE = _called("sozialversicherung|svnr|sv-?nr|sv-?nummer")
_IS_HEALTH = _called("(?:krankenversicher(?:ungs|ten)|versicherten|krankenkassen)[ -]?(?:nummer|nr)|kvnr")
_IS_TAX_ID = _called("steuer-?[ ]?id|(?:steuer-?[ ]?|steuerliche[ ])identifikation|idnr")
_IS_TAX_NUMBER = _called("steuer-?nummer|(?:steuer|st\\.?)-?[ ]?nr")
_IS_DOCUMENT = _called("(?:ausweis|personalausweis|pass|reisepass)[ -]?(?:nummer|nr)")


def find_vat_id(scan: Scan) -> Iterator[Span]:
    """Yield VAT numbers of Germany, Austria and Switzerland."""
    for start, end, number in scan.in_zones(_VAT):
        known = _vat(number) and not OTHER_WORDS.search(scan.before(start, 30))
        if known or _is_called(scan, start, _IS_VAT):
            yield Span(start, end, PersonalKind.VAT_ID, "vat_id")


def find_social_security(scan: Scan) -> Iterator[Span]:
    """Yield numbers of the German pension insurance, Swiss AHV numbers and, by context, Austrian ones."""
    kind = PersonalKind.SOCIAL_SECURITY
    for start, end, number in scan.in_zones(_PENSION):
        known = _pension_insurance(number)
        known = known and (number.isupper() or scan.near(start, end, _PENSION_WORDS, _NEAR))
        if known or _is_called(scan, start, _IS_PENSION):
            yield Span(start, end, kind, "social_security.de")
    for start, end, number in scan.in_zones(_AHV):
        if ssn.is_valid(number.translate(_SEPARATORS)) or _is_called(scan, start, _IS_PENSION):
            yield Span(start, end, kind, "social_security.ch")
    for start, end, number in scan.in_zones(_AT_INSURANCE):
        if scan.near(start, end, _AT_WORDS, _NEAR) and (
            vnr.is_valid(number.translate(_SEPARATORS)) or _is_called(scan, start, _IS_AT_INSURANCE)
        ):
            yield Span(start, end, kind, "social_security.at")


def find_health_insurance(scan: Scan) -> Iterator[Span]:
    """Yield numbers of the statutory health insurance with a word about insurance near them."""
    for start, end, number in scan.in_zones(_HEALTH):
        known = _health_insurance(number) and scan.near(start, end, _HEALTH_WORDS, _NEAR)
        if known or _is_called(scan, start, _IS_HEALTH):
            yield Span(start, end, PersonalKind.HEALTH_INSURANCE, "health_insurance")


def find_tax_id(scan: Scan) -> Iterator[Span]:
    """Yield tax identification numbers: a right check digit, or words before that call the number one."""
    for start, end, number in scan.in_zones(_TAX_ID):
        grouped_as_amount = "." in number or "-" in number
        if idnr.is_valid(number.translate(_SEPARATORS)) and not OTHER_WORDS.search(scan.before(start, 30)):
            if not grouped_as_amount or scan.near(start, end, _TAX_ID_WORDS, 40):
                yield Span(start, end, PersonalKind.TAX_ID, "tax_id")
        elif _is_called(scan, start, _IS_TAX_ID):
            yield Span(start, end, PersonalKind.TAX_ID, "tax_id.cue")


def find_tax_number(scan: Scan) -> Iterator[Span]:
    """Yield tax numbers in the forms of the states, with a word about taxes before them."""
    for start, end, number in scan.in_zones(_TAX_NUMBER):
        before = scan.before(start, _NEAR)
        if _TAX_WORDS.search(before) and (stnr.is_valid(number) or _is_called(scan, start, _IS_TAX_NUMBER)):
            yield Span(start, end, PersonalKind.TAX_NUMBER, "tax_number")


def find_id_card(scan: Scan) -> Iterator[Span]:
    """Yield numbers of identity cards and passports near a word about them, and what is called one."""
    documents = ((*match.span(), match.group()) for match in scan.in_codes(_DOCUMENT, _LETTERS_BACKWARDS))
    for start, end, number in chain(documents, scan.in_zones(_OLD_CARD)):
        known = _id_document(number) and scan.near(start, end, _DOCUMENT_WORDS, _NEAR)
        if known or _is_called(scan, start, _IS_DOCUMENT):
            yield Span(start, end, PersonalKind.ID_CARD, "id_card")
    for licence in scan.from_literals(_DRIVING):
        yield Span(*licence.span("number"), PersonalKind.ID_CARD, "id_card.cue")
    for match in scan.from_literals(_DOCUMENT_WITH_BLANKS):
        if _id_document(match["number"].translate(_SEPARATORS)):
            yield Span(*match.span("number"), PersonalKind.ID_CARD, "id_card.blanks")


_IBAN = re.compile(
    r"[0-9](?:(?<=[A-Za-z]{2}[0-9])|(?<=[A-Za-z]{2}[ ][0-9]))[0-9](?=[ \u00a0.-]{0,2}[A-Za-z0-9])"
)
_GROUPED = re.compile(r"(?:[ \u00a0.-]{0,2}[A-Za-z0-9]){11,32}+")
_IS_IBAN = _called("iban")
_CALLED_IBAN = re.compile(
    r"[A-Za-z]{2}[ ]?[0-9]{2}[ ]?(?:[A-Z]{4}[ ]?)?[0-9](?:[ \u00a0.-]{0,2}[0-9]){7,29}(?!\w)"
)
_CARD = re.compile(r"[1-6](?<![0-9].)(?<![\w/+-].)(?<![0-9]\..)[0-9]{3}(?=(?:[ \u00a0.-]?[0-9]){8})")
_EIGHTS = re.compile(r"[0-9]{8}[ \u00a0-][0-9]{8}(?![0-9])")
"""Two dates without dots are written so, and no card is."""
_REST_OF_CARD = re.compile(r"(?:[ \u00a0.-]?[0-9]){8,15}+")
_AFTER_CARD = re.compile(r"(?![\w-]|\.[0-9]|,[0-9]{1,3}(?![0-9]))")
_CARD_WORDS = re.compile(
    r"(?i)karte|kredit|visa|master-?card|amex|american express|maestro|girocard|\bcard\b|\bcvc|\bcvv"
)
_IS_CARD = _called(
    "(?:kredit|debit|bank|giro|ec-?)karten?|visa|master-?card|amex|american[ ]express|maestro|girocard"
)
_FIRST_OF_CARD = re.compile(
    r"(?P<sixteen>4|5[1-5]|222[1-9]|22[3-9]|2[3-6]|27[01]|2720|6011|64[4-9]|65|352[89]|35[3-8])|(?P<fifteen>3[47])"
    r"|(?P<fourteen>30[0-5]|3[689])"
)
_LENGTHS = {"sixteen": 16, "fifteen": 15, "fourteen": 14}
_MAESTRO = re.compile(r"(?:50|5[6-9]|6)[0-9]{10,17}")

_ACCOUNT_WORDS = {
    rest: re.compile(rf"{rest}(?<=[{first}]{rest})")
    for first, rest in (("kK", "onto"), ("dD", "epot"), ("sS", "parbuch"))
}
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
_FEWEST, _MOST, _FEWEST_IN_ZONE = 6, 11, 5


def find_iban(scan: Scan) -> Iterator[Span]:
    """Yield IBANs: the length of their country and check digits by mod 97 and its own rule, or the word."""
    for digits, head_end, _ in scan.in_zones(_IBAN):
        start = digits - 3 if scan.text[digits - 1] == " " else digits - 2
        length = _iban_length(scan.text[start : start + 2].upper())
        tail = _GROUPED.match(scan.text, head_end)
        if scan.text[start - 1 : start].isalnum() and not scan.before(start, 4) == "IBAN":
            continue
        end = _end_of_characters(scan.text, start, tail.end(), length) if length and tail else 0
        if end and iban.is_valid(scan.text[start:end].replace("\u00a0", "")):
            yield Span(start, end, PersonalKind.IBAN, "iban")
        elif _is_called(scan, start, _IS_IBAN):
            if number := _CALLED_IBAN.match(scan.text, start):
                yield Span(*number.span(), PersonalKind.IBAN, "iban.cue")


@cache
def _iban_length(country: str) -> int:
    """Return how long IBANs of a country are, 0 for none; the registry has the parts ("8!n10!n")."""
    properties = numdb.get("iban").info(country)[0][1]
    parts = re.findall(r"[0-9]+", properties.get("bban", ""))
    return 4 + sum(map(int, parts)) if parts else 0


def _end_of_characters(text: str, start: int, limit: int, length: int) -> int:
    """Return where `length` letters and digits end; 0 where there are fewer, or a digit follows."""
    seen = 0
    for position in range(start, limit):
        seen += text[position].isalnum()
        if seen == length:
            return 0 if text[position + 1 : position + 2].isdigit() else position + 1
    return 0


def find_payment_card(scan: Scan) -> Iterator[Span]:
    """Yield numbers of payment cards: a brand's first digits, length and check digit, or a word before."""
    for start, head_end, _ in scan.in_zones(_CARD):
        rest = _REST_OF_CARD.match(scan.text, head_end)
        limit = rest.end() if rest else head_end
        run = scan.text[start:limit].translate(_SEPARATORS)
        brand = _FIRST_OF_CARD.match(run)
        lengths = [_LENGTHS[brand.lastgroup or ""]] if brand else []
        lengths += [len(run)] if _MAESTRO.fullmatch(run) else []
        for length in lengths:
            if len(run) < length:
                continue
            end = _end_of_characters(scan.text, start, limit, length)
            if not end or not _AFTER_CARD.match(scan.text, end) or not luhn.is_valid(run[:length]):
                continue
            usual = brand is not None and length == lengths[0] and not _EIGHTS.match(scan.text, start)
            other = "." in scan.text[start:end] or OTHER_WORDS.search(scan.before(start, 30))
            if (usual and not other) or scan.near(start, end, _CARD_WORDS, _NEAR):
                yield Span(start, end, PersonalKind.PAYMENT_CARD, "payment_card")
                break
        else:
            if _AFTER_CARD.match(scan.text, limit) and _is_called(scan, start, _IS_CARD):
                yield Span(start, limit, PersonalKind.PAYMENT_CARD, "payment_card.cue")


def find_bank_account(scan: Scan) -> Iterator[Span]:
    """Yield numbers behind "Konto" or "BLZ", and those before "BLZ".

    A short one behind "Konto" alone is one of bookkeeping, and needs a bank's code near it.
    """
    words = ((*match.span(), match[0]) for match in scan.from_literals(_ACCOUNT_WORDS))
    for start, end, word in chain(words, scan.in_zones(_SHORT_WORD)):
        called = _CALLED.match(scan.text, end)
        if called and word not in _ACCOUNT_WORDS and not _in_zone(start, called):
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
    return not far and len(called["number"].translate(_SEPARATORS)) >= _FEWEST_IN_ZONE


def _before_code(scan: Scan, code: int) -> Iterator[Span]:
    """Yield the account's number where it stands before the bank's code, without a word of its own."""
    before = scan.before(code, 24)
    account = _BEFORE_CODE.search(before)
    if account:
        start = code - len(before) + account.start("number")
        yield Span(start, start + len(account["number"]), PersonalKind.BANK_ACCOUNT, "bank_account.before")


def _is_of_bank(scan: Scan, called: re.Match[str], *, code: bool) -> bool:
    digits = len(called["number"].translate(_SEPARATORS))
    if code:
        return digits in {5, 8}
    if scan.near(*called.span("number"), _BANK, _NEAR):
        return digits <= _MOST
    fits = _FEWEST - bool(called["numbered"]) <= digits <= _MOST
    if not fits or "." in called["number"] or "/" in called["number"]:
        return False
    announced = scan.text.find(":", called.start(), called.start("number")) >= 0
    return not counted(scan.after(called.end(), 48), _MOST if announced else digits)


_PLATE = re.compile(
    r"[A-ZÄÖÜ](?=[A-ZÄÖÜ :–-])(?<![\w-].)(?<![^0-9]/.)(?<![\s.]\..)[A-ZÄÖÜ]{0,2}(?:"
    r"(?P<gap>[ ]?[-–:][ ]?|[ ])[A-Z]{1,2}[ -]?[1-9][0-9]{0,3}[EH]?(?![\w-]|[.,/][0-9])"
    r"|[ -](?:[0-9]{1,5}[ ]?[A-Z]{1,3}|[A-Z]{2,6}[ ]?[0-9]{1,3}"
    r"|(?:[0-9]{1,3}[ '’·]?)?[0-9]{3})(?![\w-]|[.,/][0-9]))"
)
_CALLED_PLATES = {
    word: re.compile(
        rf"{word}(?:[ ](?:lautet|ist|war))?[ :„\"(]{{1,3}}"
        r"(?P<plate>[A-ZÄÖÜ]{2,5}[1-9][0-9]{0,3}[EH]?|[A-Z]{2}-[0-9]{3}-[A-Z]{2}|[0-9]{3}[ -]?[A-ZÄÖÜ]{3}"
        r"|(?P<small>[a-zäöü]{1,3})[ -][a-z]{1,2}[ -]?[1-9][0-9]{0,3}[eh]?)(?![\w-]|[.,/][0-9])"
    )
    for word in ("ennzeichen", "ummernschild")
}
"""Plates that have another form, or small letters, right behind the word that calls them so."""
_CODES_AND_WORDS = frozenset("AB AM AN DA DU EIN ER ES IN JE OB SO TUT UM WEG WER WO WAR WEN NEU ROT".split())
_TYPE = re.compile(r"[-–][A-Z][0-9]")
"""One letter with digits right behind it, as in the names of types ("STD-B24")."""
_PLATE_CODES = words_of("plate_codes")
_CODE = re.compile(r"[A-ZÄÖÜ]{1,3}")
_CAR_WORDS = re.compile(
    r"(?i)kennz|\bkfz|nummernschild|\bpkw|\blkw|fahrzeug|transporter|wagens?\b|\bautos?\b|oldtimer|halter|"
    r"anhänger|motorrad|roller|autofahr|taxi|moped|\bmofa|wohnmobil|geblitzt|blitzer|falschpark|"
    r"falsch geparkt|parkverstoß|fahrerflucht|unfallflucht"
)
_PLATE_WORDS = re.compile(r"(?i)kennz|nummernschild|kontrollschild|autonummer")
_NAMES_A_TYPE = re.compile(r"(?i)(?:motor|getriebe|modell|typ|baureihe|serie|vespa|tüv|\bhu)[ :]{1,2}\Z")
_LICENCE = re.compile(
    r"(?i)(?:klassen?|\bkl\.|führerschein|fahrerlaubnis|\bfs)[ :.(-]{0,3}(?:[A-Z0-9]{1,3}[ ,/+-]{1,2}){0,4}\Z"
)
_CLASSES = re.compile(r"(?:A|BE?|CE?|DE?|L|T|M)[-–](?:BE|CE|DE|C|D|E)[ -]?(?:95|96)")
"""Classes of driving licences with the number behind the qualification of drivers by trade ("C-CE 95")."""
_NORMS = frozenset({"DIN", "EU", "EN", "HR", "EG"})
"""Signs that also begin the names of norms, laws and registers ("DIN-EN 1090")."""


def find_plates(scan: Scan) -> Iterator[Span]:
    """Yield licence plates.

    A German plate with a space for the hyphen, with one or two digits or with a norm's look needs a word
    about cars near it, since parts, rooms and bus lines are called so; the forms of other countries need a
    word about plates before them. So do all in job titles, whose codes of trades ("Techniker M-IT 24") and
    licences look like plates.
    """
    for match in _PLATE.finditer(scan.text):
        code = _CODE.match(match.group())
        called = _PLATE_WORDS.search(scan.before(match.start(), 30)) is not None
        if not called and scan.titles:
            continue
        if match["gap"] and code and code.group() in _PLATE_CODES:
            digits = sum(character.isdigit() for character in match.group())
            hyphen = "-" in match["gap"] or "–" in match["gap"]
            long = digits > 2 or match.group()[-1] in "EH"  # electric and historic cars
            sure = hyphen and long and code.group() not in _NORMS and not _TYPE.search(match.group())
            sure = sure or scan.near(*match.span(), _CAR_WORDS, 60)
            if sure and (called or not _is_licence_or_type(scan, match)):
                yield Span(*match.span(), PersonalKind.PLATE, "plate.de")
        elif called:
            yield Span(*match.span(), PersonalKind.PLATE, "plate.abroad")
    for match in scan.from_literals(_CALLED_PLATES):
        if match["small"] is None or match["small"].upper() in _PLATE_CODES - _CODES_AND_WORDS:
            yield Span(*match.span("plate"), PersonalKind.PLATE, "plate.called")


def _is_licence_or_type(scan: Scan, match: re.Match[str]) -> bool:
    before = scan.before(match.start(), 40)
    return bool(_CLASSES.fullmatch(match.group()) or _LICENCE.search(before) or _NAMES_A_TYPE.search(before))

"""Phone numbers in German, Austrian and Swiss forms.

The search of `phonenumbers` finds prices and dates in running text ("346.000", "16.8.2015"), so candidates
come from a shape of ours; the library decides whether such a number exists. A word like "Tel." before a
number that exists in no plan of numbers, as in an example or with a digit too few, is believed.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal

from builders.personal.scan import NOT_INSIDE, THINGS, Scan, Span
from builders.personal.words import counted
from builders.spec import PersonalKind

_DAY, _MONTH, _YEAR = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])", "(?:(?:19|20)[0-9]{2}|[0-9]{2})"
_DATED = (
    rf"{_DAY}\.[ ]?{_MONTH}\.(?:[ ]?{_YEAR}(?![0-9.]))?(?![0-9])"
    rf"|{_DAY}[/-]{_MONTH}[/-]{_YEAR}(?![0-9.])"
    rf"|{_MONTH}[./-](?:19|20)[0-9]{{2}}(?![0-9])"
)
_SHORT_DATED = (
    r"[0-3]?[0-9]\.[0-5][0-9](?![0-9.])"
    r"|[0-9]{2}/[0-9]{2}(?:[0-9]{2})?(?![0-9/])"
    rf"|{_DAY}\.(?=[ ]?[-–—‐‑−/+][ ]?[0-9])"
)
"""A time, a day with its month, two years, or a day before a range's end: alone they say little."""
_DATE_ITEM = rf"(?:{_DATED}|{_SHORT_DATED})"
_BETWEEN = r"(?:[ \u00a0]?[-–—‐‑−/,;+][ \u00a0]?|[ \u00a0])"
_DATES = re.compile(rf"{_DATE_ITEM}(?:{_BETWEEN}{_DATE_ITEM}){{0,40}}")
_DATES_FIRST = re.compile(
    rf"(?:{_DATED}|{_DATE_ITEM}(?:{_BETWEEN}{_DATE_ITEM}){{1,40}})(?:{_BETWEEN}{_DATE_ITEM}){{0,40}}{_BETWEEN}"
)


_NEXT_NUMBER = re.compile(r"(?<=[ \u00a0/–-])(?:\(0|0[1-9]|00[1-9]|0 [1-9])")
"""How a number with an area code begins behind another one."""
_SHORTEST, _USUAL_LENGTH, _LONG = 7, 11, 13
_TOO_LONG = 10
_FARTHEST = 6  # as many beginnings as a number can hold by chance
_CHEAP = 1
_LAST_GROUP = re.compile(r"[ \u00a0][^ \u00a0]{1,70}\Z")
_COMPACT_DATE = "(?:0[1-9]|[12][0-9]|3[01])(?:0[1-9]|1[0-2])(?:19|20)[0-9]{2}"
_COMPACT_DATES = re.compile(rf"{_COMPACT_DATE}(?:{_BETWEEN}{_COMPACT_DATE})?")
_DATE_MARKS = frozenset("./-")
"""One of them is the second or third character of every date."""
_END_MARKS = " \u00a0\u2009\u202f\u00ad\u200b)]/.·-–—‐‑−"


def _numbers_in(run: str, *, complete: bool) -> list[tuple[int, int]]:
    """Return start and end of each number of a run of groups of digits.

    Dates before a number are left out. A run that is too long for one number is cut where the next begins.
    The last group of a run that is not `complete` belongs to what follows.
    """
    dated = run[1:2] in _DATE_MARKS or run[2:3] in _DATE_MARKS
    if dated and _DATES.fullmatch(run):
        return []
    end = len(run)
    if not complete:
        last = _LAST_GROUP.search(run)
        if last is None:
            return []
        end = last.start()
    dates = _DATES_FIRST.match(run) if dated else None
    start = dates.end() if dates and run[dates.end()] in "+(0" else 0
    long = end - start > _LONG
    cuts = [match.start() for match in _NEXT_NUMBER.finditer(run, start + 1, end)] if long else []
    if not cuts:
        return [(start, end)]
    parts = _cheapest(run, [start, *cuts, end])
    ends = [first + len(run[first:stop].rstrip(_END_MARKS)) for first, stop in parts]
    spans = [(first, stop) for (first, _), stop in zip(parts, ends, strict=True)]
    return [span for span in spans if not _DATES.fullmatch(run[slice(*span)])]


def _cheapest(run: str, places: list[int]) -> list[tuple[int, int]]:
    """Cut a run at those of the places where the parts have most nearly the lengths of phone numbers."""
    parts = [run[place:following] for place, following in pairwise(places)]
    counts = [0, *accumulate(sum(map(str.isdigit, part)) for part in parts)]
    best: list[tuple[int, int]] = [(0, 0)]  # cost up to each place, and the place before it
    for place in range(1, len(places)):
        options = [
            (best[before][0] + _cost(counts[place] - counts[before]), before)
            for before in range(max(0, place - _FARTHEST), place)
        ]
        best.append(min(options, key=lambda option: (option[0], -option[1])))
    bounds, place = [], len(places) - 1
    while place:
        before = best[place][1]
        bounds.append((places[before], places[place]))
        place = before
    return bounds[::-1]


def _cost(digits: int) -> int:
    if digits < _SHORTEST:
        return 100
    return abs(digits - _USUAL_LENGTH) + _CHEAP + (_TOO_LONG * (digits - _LONG) if digits > _LONG else 0)


_REGIONS = ("DE", "AT", "CH")
_GAP = r"[ \u00a0\u2009\u202f\u00ad\u200b()\[\]/.·\-–—‐‑−]{0,3}+"
_LABEL = "(?<=[TtFf][eaoEAO][lnxLNX].)"
_START = rf"(?:(?<![\w/+-].)(?<![0-9\s.,\0]\..)(?<!\A[.,].)|{_LABEL}|(?<=\bD-.))"
_SHAPE = re.compile(
    rf"[+(04](?<![0-9].)(?:(?<![\w+].)(?<=\+)\+?[ ]?\(?[1-9]"
    rf"(?:[0-9]{{1,2}}[ ]?[0-9]{{2,4}}\n(?=[0-9]{{5}}))?|{_START}(?:"
    r"(?<=\()(?:\+|0)[0-9]?|(?<=0)(?:0?[1-9](?:[0-9]{2,4},(?=[0-9]{6,8}(?![0-9])))?|(?=[ \u00a0/(-])"
    r"|0[ ](?=[1-9]))|(?<=4)9(?=[ /-]|[1-9][0-9]{8,10}(?![^\0]))))"
    rf"(?:{_GAP}[0-9]){{4,}}+"
)
_PLAIN = re.compile(
    rf"[1-9](?<![0-9].)(?<![0-9,;/-][ \u00a0].)(?:{NOT_INSIDE}|{_LABEL})"
    rf"(?:{_GAP}[0-9]){{4,15}}+(?![\w]|[.,/-][0-9])"
)
"""Behind a digit, a comma or a slash with a space stands no cue, which is quickly seen."""
_END = re.compile(r"(?!(?![A-ZÄÖÜ][a-zäöüß]|(?:bis|oder|und)\b)\w|[./-][0-9]|,(?!0[1-9]|\(0|\+)[0-9])")
"""No more of a number follows; a capitalised word may, where a line's break was lost: "23125010Fax"."""
_EXTENSIONS = {
    label: re.compile(rf"{re.escape(label)}(?:[ ]?[:(]{{0,2}}[ ]?)(-?[ ]?[0-9]{{1,5}})(?![\w]|[.,/-][0-9])")
    for label in ("Durchwahl", "DW", "Apparat", "App.", "Nebenstelle")
}
_AND = r"[ \u00a0]?(?:[,;/]|(?<=[ \u00a0])(?:oder|und|bis|sowie|u\.|bzw\.))[ \u00a0]?"
_MORE = re.compile(
    rf"(?:{_AND}(?:(?:Tele)?[fF]ax[ :]{{1,3}})?|[ ][eE]xt\.[ ]?)"
    r"(?:(?P<extension>(?:-[ ]?|(?<=xt\.)|(?<=xt\. ))[0-9]{1,5})|(?P<again>[1-9][0-9](?:[ -]?[0-9]){3,8}))"
    r"(?![\w]|[.,/-][0-9])"
)
_LISTED = re.compile(rf"{_AND}|[ \u00a0]")

_CALL = re.compile(
    r"t(?:ele?fon|elefax|(?<!\w.)el)|f(?<!\w.)(?:on|ax)|phone|mobil|handy|natel|hotline|r(?:ückruf|(?<!\w.)uf)|anruf|"
    r"notruf|whats?app|signal|sms|erreich|durchwahl|servicenummer|☎|☏|✆|📞|📱|📠"
)
"""Words that announce a number, case-folded. Each begins with a letter as it stands."""
_CLOSE_CUE = re.compile(
    r"(?i)(?:tele?fon|telefax|\b(?:tele)?phone|\bmobil|handy|natel|hotline|whats?app|\btel|\bfax|\bfon|\bruf|"
    r"\bservice)(?:[-. ]{0,2}(?:nr\.?|nummer))?[.: \u00a0(]{0,4}\Z"
)
_WEAK_CUE = re.compile(r"(?i)(?:mobil|handy|service|hotline)[ \u00a0]\Z")
"""Words that also name a thing ("ein Handy 12345 Euro")."""
_AFTER_CUE = ".: \u00a0("
_LAST_OF_CUE = tuple("fon fax tel obil andy atel line app phone ruf vice nr mer".split())
"""How the words of a cue end, case-folded: most words before a number are seen not to be one by that."""
_UNDER = re.compile(r"(?i)\bunter(?:[ ]der)?[ \u00a0]\Z")
_LETTER = re.compile(r"(?:\A|[\s(|·,])[TtMmFf][.:]?[ \u00a0]\Z")
_OTHER = re.compile(
    r"(?i)(?:nr|\wnummern?|no|\bid|ref|artikel\w{0,10}|codes?|konto|blz|plz|iban|seiten?|\bs|blatt|raum|"
    rf"gebäude|zähler|kapitel|zeile|\brn|\brz|{THINGS})[.:# \u00a0-]{{0,4}}\Z"
)
_NORM = re.compile(r"\b(?:DIN|ISO|EN|IEC|JIS|VDE|IEEE|RFC|ANSI|[A-Z]{2,4} [A-Z])[ ]\Z")
_FOURS, _FOUR_BEFORE = re.compile("[0-9]{4}(?:[ -][0-9]{4}){1,4}"), re.compile(r"(?<!\w)[0-9]{4}[ -]\Z")
"""Groups of four behind another such group are the rest of a longer number."""
_THREES = re.compile("0(?: [0-9]{3}){3}")
"""How makers write the numbers of parts for cars."""
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
_FEWEST_ABROAD = 8
"""Less behind a country's code is a gain of points or votes ("+49 123 Punkte")."""

_CONTEXT, _LONGEST_WORD, _LISTED_WITHIN = 60, 24, 8

_Verdict = Literal["", "other", "phone.cue", "phone.possible", "phone.valid"]


def find_phones(scan: Scan) -> Iterator[Span]:
    """Yield spans of phone numbers."""
    verdict: _Verdict = ""
    last = 0
    for run_start, run_end, run in scan.in_zones(_SHAPE):
        for first, stop in _numbers_in(run, complete=_END.match(scan.text, run_end) is not None):
            start, end, number = run_start + first, run_start + stop, run[first:stop]
            accepted = verdict not in {"", "other"}
            # A number that goes is no context of the next one: it will be a placeholder.
            before = scan.before(start, min(_CONTEXT, start - last) if accepted else _CONTEXT)
            if before[-1:] in {",", ";"} and before[-2:-1].isdigit():
                continue
            listed = start <= last + _LISTED_WITHIN and _LISTED.fullmatch(scan.text, last, start)
            carried = listed and verdict in {"other", "phone.cue"}
            if not carried or not _FEWEST <= len(_MARKS.sub("", number)) <= _MOST:
                verdict = _verdict(number, before)
            last = end
            if verdict not in {"", "other"}:
                yield Span(start, end, PersonalKind.PHONE, verdict)
                yield from _more(scan, end, number)
    yield from _plain(scan)
    for match in scan.from_literals(_EXTENSIONS):
        yield Span(*match.span(1), PersonalKind.PHONE, "phone.extension")


def _plain(scan: Scan) -> Iterator[Span]:
    """Yield numbers without area code, each right behind a word that announces it."""
    for start, end, number in scan.in_zones(_PLAIN):
        before = scan.before(start, 30)
        cued = before.rstrip(_AFTER_CUE + "-").casefold().endswith(_LAST_OF_CUE) and _CLOSE_CUE.search(before)
        if not cued or _DATES.fullmatch(number) or _PUBLIC.fullmatch(number):
            continue
        if _WEAK_CUE.search(before) and number.isdigit() and counted(scan.after(end, 48), len(number)):
            continue
        yield Span(start, end, PersonalKind.PHONE, "phone.cue")
        yield from _more(scan, end, number)


def _more(scan: Scan, end: int, number: str) -> Iterator[Span]:
    """Yield what follows in a list: extensions, and numbers that begin alike, without area code."""
    digits = ""
    while match := _MORE.match(scan.text, end):
        digits = digits or _MARKS.sub("", number)
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
    digits = _MARKS.sub("", number)
    if not _FEWEST <= len(digits) <= _MOST or (number.isdigit() and number[0] == "4" and before):
        return ""
    broken = max(map(before.rfind, "0123456789\n"))
    if _CALL.search(before[max(broken + 1, len(before) - 40) :].casefold()) or _LETTER.search(before):
        return "phone.cue"
    if (
        (_FOURS.fullmatch(number) and _FOUR_BEFORE.search(before))
        or _COMPACT_DATES.fullmatch(number)
        or _THREES.fullmatch(number)
        or (number[0] != "+" and _OTHER.search(before[-_LONGEST_WORD:]))
        or _NORM.search(before)
        or _is_of_goods(number, before)
    ):
        return "other"
    if _UNDER.search(before) and number[0] != "4":
        return "phone.cue"
    international = number.lstrip("(").startswith(("+", "00"))
    if _MOBILE.match(number) and len(digits) < _FEWEST_MOBILE:
        return ""
    if _in_pairs(number) or (number[0] == "4" and len(digits) < _FEWEST_WITH_COUNTRY):
        return ""
    if international or _DIALLED.match(number):
        long = len(digits) >= _FEWEST_ABROAD
        return "phone.possible" if long and _exists(_dialled(number), loosely=True) else ""
    return "phone.valid" if _exists(_dialled(number), loosely=False) else ""


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


@lru_cache(maxsize=8192)
def _exists(number: str, *, loosely: bool) -> bool:
    """Say whether a plan of numbers has a number, or, `loosely`, numbers of its length."""
    import phonenumbers

    accepts = phonenumbers.is_possible_number if loosely else phonenumbers.is_valid_number
    for region in _REGIONS[:1] if loosely else _REGIONS:
        with suppress(phonenumbers.NumberParseException):
            if accepts(phonenumbers.parse(number, region)):
                return True
    return False


def _dialled(number: str) -> str:
    """Return a number as it is dialled: digits, a plus sign before a country's code."""
    digits = _MARKS.sub("", number)
    return f"+{digits}" if number[0] == "4" or "+" in number else digits

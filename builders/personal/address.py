"""Street addresses with postcode and city where they are, post office boxes, and dates of birth.

A house number is looked for first; what stands before it decides. A word that ends like a street's name
("Lindenstraße 12") needs no more; other words ("Am Weiher 27") need a postcode, or a word like "wohnhaft".
A date is one of birth where words call it so, before or after it.
"""

import re
from collections.abc import Iterator
from itertools import chain

from builders.personal.scan import Scan, Span
from builders.personal.words import LOWER, UNIT, UPPER, counted_noun, words_of
from builders.spec import PersonalKind

_WIDTH = 64
_BLANK = " \u00a0\t"
_NUMBER = re.compile(
    rf"[0-9](?<=[{_BLANK}.rReE][0-9])(?:(?<=[{LOWER}{UPPER}.][{_BLANK}][0-9])|(?<=[rR]\.[0-9])|(?<=[tT][rR][0-9])"
    r"|(?<=[ßsS][eE][0-9]))[0-9]{0,3}(?![0-9])"
    rf"(?:[a-zA-Z](?!\w)|[ ][a-zA-Z](?!\w|\.\w|/o|[ ][{LOWER}]{{2}}))?"
    r"(?:[ ]?[-–/+][ ]?[0-9]{1,4}[ ]?[a-z]?(?!\w)){0,3}(?:/(?:Stiege|Stg\.?|Top|Tür)[ ]?[0-9]{1,3}){0,2}"
)
_TOWN = (
    rf"(?:(?:Sankt|St\.|Bad|BAD)[ ])?(?:[{UPPER}][{LOWER}]{{1,30}}+(?:[-/][{UPPER}][{LOWER}]{{1,30}}+){{0,2}}"
    rf"|[{UPPER}]{{3,30}}+(?:-[{UPPER}]{{3,30}}+)?)"
)
_BY_WHAT = r"(?:am|an[ ]der|im|in|ob[ ]der|bei|vor[ ]der|a\.[ ]?d\.|a\.|v\.[ ]?d\.|b\.)"
_CITY = rf"{_TOWN}(?:[ ]{_BY_WHAT}[ ]?{_TOWN}|[ ]a\.[ ]?[MNR]\.|[ ]\([{UPPER}][{LOWER}]{{1,20}}\))?"
_COUNTRY = r"(?:(?:D|A|CH|DE|AT|L)[ -]{1,3})"
_PART = (
    r"(?:(?:Hinter|Vorder|Garten|Seiten|Quer|Neben|Rück)(?:haus|hof|gebäude|flügel)|Gewerbehof|"
    r"(?:[0-9]{1,2}\.[ ]?)?(?:OG|UG|EG|DG|Stock(?:werk)?|Etage|Obergeschoss|Dachgeschoss)|Erdgeschoss|"
    r"(?:Aufgang|Eingang|Haus|Wohnung|Whg\.?|Apartment|App\.|Zimmer|Tür|Top|Stiege)[ ][0-9A-Z]{1,4})"
    r"(?:[ ](?:links|rechts|mitte))?"
)
_INSERT = rf"(?:[ ]?[,/][ ]?{_PART}|[ ]\({_PART}\)|[ ]?,?[ ]c/o[ ][^,;()0-9\n\0\x01]{{2,40}})"
"""What stands between a house number and the postcode: a part of the house, and who is written to there."""
_PLACE = re.compile(
    r"(?P<gap>[ ]?[,;·|/–-]{1,2}(?:[ ]\n?|\n)|,(?=[0-9]{5}[ ])|[ ]?\n[ ]?|[ ](?:in[ ])?)"
    rf"(?P<country>{_COUNTRY})?(?P<code>[0-9]{{4,5}})[ \u00a0]{{1,2}}{_CITY}"
)
_PLACE_BEHIND_PART = re.compile(_INSERT + _PLACE.pattern)
_FIRST_OF_INSERT = (",", "/", " ,", " /", " (", " c/o")
_PLACE_AHEAD = re.compile(rf"(?<![\w-]){_COUNTRY}?[0-9]{{4,5}}[ ]{_CITY}[ ]?[,–-]?[ ]?\n?\Z")
_BOX = re.compile(
    rf"Post(?:fach|nummer:?)[ ](?:[0-9][ ]?){{2,10}}(?<=[0-9])"
    rf"(?:[ ]?[,·|/–-]?[ ]?\n?[ ]?{_COUNTRY}?[0-9]{{4,5}}[ ]{_CITY})?"
)

_ENDS = tuple(
    "strasse str. str gasse allee chaussee promenade weg platz ring damm ufer wall pfad graben stieg steig "
    "kamp twiete zeile".split()
)
"""How names of streets end, case-folded."""
_NO_STREETS = frozenset(word.casefold() for word in words_of("no_streets"))
_NO_ADJECTIVES = words_of("no_street_adjectives")
_ADJECTIVE = (
    rf"(?:[{UPPER}][{LOWER}]{{2,24}}er|(?:Alte|Große|Kleine|Lange|Kurze|Obere|Untere|Neue|Hohe|Breite|Hintere|"
    r"Vordere|Innere|Äußere|Mittlere|Rechte|Linke|Schöne|Enge|Krumme|Weiße|Grüne|Rote)[rsn]?)"
)
_WORD = rf"[{UPPER}][{LOWER}]{{1,40}}"
_BEFORE_WORD = rf"(?:{_ADJECTIVE}[ -]|[{UPPER}]\.[ -]?|(?:St|Dr|Prof)\.[ -]?|Sankt[ -]|{_WORD}\.?-)"
_CAPITAL = re.compile(rf"[{UPPER}](?<![\w-].)")
_STREET = re.compile(rf"{_BEFORE_WORD}{{0,4}}{_WORD}\.?\Z")
_OF_SOMETHING = re.compile(
    r"(?:Straße|Strasse|Platz|Allee|Ring|Weg|Ufer)[ ](?:der|des|am|an[ ]der|zum|zur)[ ]"
    rf"(?:[0-9]{{1,2}}\.[ ])?{_WORD}(?:[ ]{_WORD})?\Z"
)
_PREPOSITION = re.compile(
    r"(?:Am|Im|Zum|Zur|Beim|(?:An|Auf|In|Hinter|Vor|Bei)[ ]de[rnm]|Unter[ ]den|"
    r"(?:Rue|Avenue|Chemin|Route|Place|Via)(?:[ ](?:de|du|des|la|della|di)){0,2}|"
    r"(?:Alte|Große|Kleine|Lange|Obere|Untere|Neue)[rn]?)"
    rf"(?:[ ]{_WORD}(?:-{_WORD})?){{1,3}}\Z"
)
_AT_A_PLACE = re.compile(
    rf"(?:(?P<within>(?<=[{LOWER}] ))|\A|(?<=\n)|(?<=: ))(?:Am|Im|Zum|Zur|Beim|An[ ]der)[ ]{_WORD}\Z"
)
"""A capital within a sentence makes a name of a word that is none by itself ("er wohnt Am Bahndamm 2")."""
_STANDS = re.compile(r"[ ]?[\n\0,;|)]|\Z")
"""A line's or a phrase's end, before which such a name may also begin its line."""
_WORDS = re.compile(rf"{_WORD}(?:[- ]{_WORD}){{0,2}}\Z")
_WORD_BACKWARDS = re.compile(rf"[{LOWER}]{{1,40}}+[{UPPER}]")
"""How the streets of more than one word end."""
_LIVES = re.compile(r"wohn(?:haft|e|t|en)?\b|adresse\b|anschrift\b|besuch|sitz\b|treffpunkt\b|zieh")
_HINTS = tuple(
    "strasse ,platz ,allee ,ring ,weg ,ufer ,wohn,adresse,anschrift,besuch,sitz,treffpunkt,zieh".split(",")
)
"""Without one of them before a number neither `_OF_SOMETHING` nor `_LIVES` matches; case-folded."""
_LIVES_HERE = re.compile(rf"(?:{_LIVES.pattern})[^0-9.!?]{{0,22}}\Z")
"""Words before an address, case-folded."""
_LABELLED = re.compile(
    r"Anschrift:[ ]((?:(?:[aA][mnu]|[aA]uf|[iI][mn]|[zZ]u[rm]|[bB]eim?|[hH]inter|[uU]nter|[vV]or|[oO]b)[ ]"
    rf"(?:de[mnr][ ])?)?(?:[{LOWER}]{{2,14}}e[nr][ ])?{_WORD}\.?(?:[ -]{_WORD}\.?){{0,3}})\Z"
)
"""A street of any name in a column of addresses, or behind that word."""
_LABEL = re.compile(rf"(?i)(?:{_LIVES.pattern}):[ \n]{{0,2}}\Z")
"""Behind one with a colon a street's number counts nothing."""
_CAPITALS = re.compile(rf"[{UPPER}]{{2,}}+")
_ROADS = ("reichsstrasse", "staatsstrasse", "fernstrasse", "verkehrsstrasse", "umgehungsstrasse")
"""Names of streets that are classes of numbered roads, too ("Reichsstraße 1 gesperrt"), case-folded."""
_GOES_ON = re.compile(
    rf"[ ](?!(?:in|im|bei|und|oder|am|um|ab|zu|zum|zur|an|auf|statt|nach|mit|mein|ist|wohn)\b)[{LOWER}]"
)


def find_address(scan: Scan) -> Iterator[Span]:
    """Yield street addresses and post office boxes."""
    text = scan.text
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        first = start - 1 if text[start - 1] in _BLANK else start
        place = _PLACE.match(text, end)
        if not place and text.startswith(_FIRST_OF_INSERT, end):
            place = _PLACE_BEHIND_PART.match(text, end)
        word = text[text.rfind(" ", max(0, first - _WIDTH), first) + 1 : first]
        if not place and word.islower() and not word.casefold().endswith(_ENDS):
            continue  # most are seen here to be no house number
        counts = re.fullmatch(_YEAR, number.group()) or UNIT.match(text, end)
        if counts and not place:
            continue
        window = scan.before(first, _WIDTH)
        before = window.removesuffix(" Nr.")
        if before[-1:].isupper() or before[-2:-1].isupper():
            before = _CAPITALS.sub(lambda word: word.group()[0] + word.group()[1:].lower(), before)
        street = _street_with_place(before, place) if place else ""
        alone = "" if street or counts else _street_alone(before, number)
        ahead = before[: len(before) - len(street or alone)] if street or alone else ""
        if alone and _is_no_street(alone, ahead, scan.after(end, 48)):
            alone = ""
        if street or alone:
            city = _PLACE_AHEAD.search(ahead) if alone else None
            start = first - len(window) + (city.start() if city else len(ahead))
            end = place.end() if street and place else end
            rule = "address.postcode" if street or city else "address.street"
            yield Span(start, end, PersonalKind.ADDRESS, rule)
    for box in _BOX.finditer(text):
        yield Span(*box.span(), PersonalKind.ADDRESS, "address.box")


def _street_with_place(before: str, place: re.Match[str]) -> str:
    """Return the street at the end of `before`, a postcode and city being behind its number; empty for none.

    Any capitalised words are believed before five digits, and before four where a comma, a line's end or a
    country stands between.
    """
    sure = len(place["code"]) == 5 or place["country"] or place["gap"] != " "
    if not sure and not before.casefold().endswith(_ENDS):
        return ""
    street = _capitalised(_PREPOSITION, before) or _capitalised(_OF_SOMETHING, before)
    match = street or _with_adjective(before) or _capitalised(_WORDS, before)
    return match.group() if match else ""


def _capitalised(pattern: re.Pattern[str], before: str, start: int = 0) -> re.Match[str] | None:
    """Search for a pattern that begins with a capitalised word, which is tried at such words alone."""
    for capital in _CAPITAL.finditer(before, start):
        if match := pattern.match(before, capital.start()):
            return match
    return None


def _is_no_street(street: str, ahead: str, after: str) -> bool:
    """Say whether the number behind a street counts what follows, or the street is a numbered road."""
    if counted_noun(after) and not _LABEL.search(ahead):
        return True
    return street.casefold().endswith(_ROADS) and _GOES_ON.match(after) is not None


def _street_alone(before: str, number: re.Match[str]) -> str:
    """Return the street at the end of `before`, its number being all there is; empty for none."""
    labelled = _LABELLED.search(before) if "nschrift: " in before else None
    if labelled:
        return labelled[1]
    folded = before.casefold()
    if folded.endswith(_ENDS):
        street = _with_adjective(before)
        name = street.group().casefold() if street else ""
        if name in _ENDS:
            return ""
        if name.rpartition(" ")[2] in _NO_STREETS:
            street = _AT_A_PLACE.search(before)
            if street and street["within"] is None and not _STANDS.match(number.string, number.end()):
                return ""
        return street.group() if street else ""
    if not _WORD_BACKWARDS.match(before[::-1]) or not any(hint in folded for hint in _HINTS):
        return ""
    if match := _capitalised(_OF_SOMETHING, before):
        return match.group()
    if len(number.group()) > 3 or not _LIVES.search(folded):
        return ""
    match = _capitalised(_PREPOSITION, before) or _capitalised(_WORDS, before)
    return match.group() if match and _LIVES_HERE.search(before[: match.start()].casefold()) else ""


def _with_adjective(before: str) -> re.Match[str] | None:
    """Return a street's word with the adjective before it ("Mariahilfer Straße"), which is no article."""
    match = _capitalised(_STREET, before)
    if match:
        first, space, _ = match.group().partition(" ")
        if space and first in _NO_ADJECTIVES:
            return _capitalised(_STREET, before, match.start() + len(first) + 1)
    return match


_S = r"[ \u00a0]?"
_MONTH = (
    r"(?:Jan(?:uar|ner)?|Jän(?:ner)?|Feb(?:ruar|er)?|März|Mrz|Mär|Apr(?:il)?|Mai|Juni?|Juli?|Aug(?:ust)?|"
    r"Sept?(?:ember)?|Okt(?:ober)?|Nov(?:ember)?|Dez(?:ember)?)\.?"
)
_BIRTH_DAY, _YEAR, _ANY_YEAR = "[0-3]?[0-9]", "(?:18|19|20)[0-9]{2}", "(?:(?:18|19|20)[0-9]{2}|['’]?[0-9]{2})"
_DATE = (
    rf"(?:{_BIRTH_DAY}(?:\.{_S}|[ ](?=[A-Z]))(?:[01]?[0-9]\.|{_MONTH}){_S}{_ANY_YEAR}"
    rf"|{_YEAR}-[01][0-9]-[0-3][0-9]|{_BIRTH_DAY}-[01]?[0-9]-{_YEAR}|{_BIRTH_DAY}/{_BIRTH_DAY}/{_ANY_YEAR})(?![0-9])"
)
_CALLED_DATE = rf"(?:{_DATE}|(?:(?<![A-Za-z])(?<!tag[ ]im[ ]){_MONTH}{_S}|[01]?[0-9][./]){_YEAR}(?![0-9]))"
"""A date, or a month but that of a party: what a word calls one of birth, before or after it."""
_DD, _MM = "(?:0[1-9]|[12][0-9]|3[01])", "(?:0[1-9]|1[0-2])"
_COMPACT = rf"(?:{_YEAR}{_MM}{_DD}|{_DD}{_MM}{_YEAR})(?![0-9])"
_BIRTH_WORDS = (
    re.compile(
        r"b(?<=[gG]eb)(?:oren|\.|(?=[ ](?:am[ ])?[0-3]?[0-9]\.)|urts(?:datum|tag|jahr und -tag)|datum|dat)"
    ),
    re.compile(r"B(?<=GEB)(?:OREN|\.|URTSDATUM|URTSTAG)"),
    re.compile(r"\*(?=[ \u00a0]?[0-9])"),
    re.compile(r"O(?<=D\.O)\.B\.?|O(?<=DO)B\b"),
)
_DATE_OF_BIRTH = {"ate of birth": re.compile(r"ate of birth(?<=[dD]ate of birth)")}
"""What calls a date one of birth. Each begins with a letter as it stands, which the engine finds fastest."""
_FORWARD = re.compile(
    r"(?!(?<=b\.)(?:,|[ ](?:Ausgabe|Buch|Exemplar|Band)\b))"
    rf"(?:e[nrsm]?\b)?(?:-?[dD]at(?:um|\.)?)?(?:[ ]\([TMJ.]{{2,12}}\))?"
    rf"(?:[^0-9.!?;*\n\0\x01]{{0,30}}?(?={_CALLED_DATE})|[ :=]{{0,4}}(?:am[ ])?(?={_COMPACT}))"
    rf"({_CALLED_DATE}|{_COMPACT})"
)
_LINE_FORWARD = re.compile(rf"[ :]{{0,3}}\n[ ]{{0,3}}({_CALLED_DATE}|{_COMPACT})")
_BACKWARD = re.compile(rf"(?<![0-9.])({_CALLED_DATE})[^0-9.!?;\n\0\x01]{{0,40}}\Z")
_BULLET = re.compile(r"(?:\A|\n)[ \t]{0,20}\Z")
_STAR_FORWARD = re.compile(rf"[ \u00a0]?({_DATE})")
_ALONE = re.compile(r"[ ]?(?:\Z|[\n\0),;†–-]|in\b)")


def find_birth(scan: Scan) -> Iterator[Span]:
    """Yield dates of birth; a span covers the date alone."""
    written = (pattern.finditer(scan.text) for pattern in _BIRTH_WORDS)
    for word in chain(*written, scan.from_literals(_DATE_OF_BIRTH)):
        if word.group() == "*":
            date = _STAR_FORWARD.match(scan.text, word.end())
        else:
            date = _FORWARD.match(scan.text, word.end()) or _LINE_FORWARD.match(scan.text, word.end())
        if date and not (word.group() == "*" and not _means_birth(scan, word.start(), date.end(1))):
            yield Span(*date.span(1), PersonalKind.BIRTH_DATE, "birth_date.after")
        elif word.group() in {"boren", "b."}:
            before = scan.before(word.start(), 72)
            earlier = _BACKWARD.search(before)
            if earlier:
                start = word.start() - len(before) + earlier.start(1)
                end = start + len(earlier.group(1))
                yield Span(start, end, PersonalKind.BIRTH_DATE, "birth_date.before")


def _means_birth(scan: Scan, star: int, end: int) -> bool:
    """Say whether a star before a date is the sign for birth: no product, and no item of a list."""
    before = scan.before(star, 20)
    if before.rstrip()[-1:].isdigit():
        return False
    return _BULLET.search(before) is None or _ALONE.match(scan.after(end, 4)) is not None

"""Street addresses: street and house number, with postcode and city where they are; and post office boxes.

A house number is looked for first; what stands before it decides. A word that ends like a street's name
("Lindenstraße 12") needs no more; other words ("Am Weiher 27") need a postcode, or a word like "wohnhaft".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.quantities import UNIT, counted_noun
from builders.personal.scan import Scan, Span
from builders.personal.words import LOWER, UPPER
from builders.spec import PersonalKind

_WIDTH = 64
_BLANK = " \u00a0\t"
_NUMBER = re.compile(
    rf"[0-9](?<=[{_BLANK}.rReE][0-9])(?:(?<=[{LOWER}{UPPER}.][{_BLANK}][0-9])|(?<=[rR]\.[0-9])|(?<=[tT][rR][0-9])"
    r"|(?<=[ßsS][eE][0-9]))[0-9]{0,3}(?![0-9])"
    rf"(?:[a-zA-Z](?!\w)|[ ][a-zA-Z](?!\w|\.\w|[ ][{LOWER}]{{2}}))?"
    r"(?:[ ]?[-–/+][ ]?[0-9]{1,4}[ ]?[a-z]?(?!\w)){0,3}(?:/(?:Stiege|Stg\.?|Top|Tür)[ ]?[0-9]{1,3}){0,2}"
)
_TOWN = (
    rf"(?:(?:Sankt|St\.|Bad|BAD)[ ])?(?:[{UPPER}][{LOWER}]{{1,30}}+(?:[-/][{UPPER}][{LOWER}]{{1,30}}+){{0,2}}"
    rf"|[{UPPER}]{{3,30}}+(?:-[{UPPER}]{{3,30}}+)?)"
)
_BY_WHAT = r"(?:am|an[ ]der|im|in|ob[ ]der|bei|vor[ ]der|a\.[ ]?d\.|a\.|v\.[ ]?d\.|b\.)"
_CITY = rf"{_TOWN}(?:[ ]{_BY_WHAT}[ ]?{_TOWN}|[ ]a\.[ ]?[MNR]\.|[ ]\([{UPPER}][{LOWER}]{{1,20}}\))?"
_COUNTRY = r"(?:(?:D|A|CH|DE|AT|L)[ -]{1,3})"
_PLACE = re.compile(
    r"(?P<gap>[ ]?[,;·|/–-]{1,2}(?:[ ]\n?|\n)|,(?=[0-9]{5}[ ])|[ ]?\n[ ]?|[ ](?:in[ ])?)"
    rf"(?P<country>{_COUNTRY})?(?P<code>[0-9]{{4,5}})[ \u00a0]{{1,2}}{_CITY}"
)
_PLACE_AHEAD = re.compile(rf"(?<![\w-]){_COUNTRY}?[0-9]{{4,5}}[ ]{_CITY}[ ]?[,–-]?[ ]?\n?\Z")
_BOX = re.compile(
    rf"Postfach[ ](?:[0-9][ ]?){{2,9}}(?<=[0-9])"
    rf"(?:[ ]?[,·|/–-]?[ ]?\n?[ ]?{_COUNTRY}?[0-9]{{4,5}}[ ]{_CITY})?"
)

_ENDS = (
    *(
        "strasse",
        "str.",
        "str",
        "gasse",
        "allee",
        "chaussee",
        "promenade",
        "weg",
        "platz",
        "ring",
        "damm",
        "ufer",
    ),
    *("wall", "pfad", "graben", "stieg", "steig", "kamp", "twiete", "zeile"),
)
"""How names of streets end, case-folded."""
_NO_STREETS = frozenset(
    """
    anstieg ausstieg einstieg aufstieg abstieg umstieg bahnsteig bürgersteig arbeitsplatz
    ausbildungsplatz studienplatz kitaplatz sitzplatz stehplatz stellplatz parkplatz spielplatz
    sportplatz tennisplatz golfplatz fußballplatz campingplatz flugplatz startplatz tabellenplatz
    listenplatz sendeplatz speicherplatz schlafplatz logenplatz podestplatz stockerlplatz spitzenplatz
    schauplatz handelsplatz umweg ausweg rückweg hinweg heimweg schulweg radweg fußweg arbeitsweg
    rechtsweg dienstweg seeweg landweg postweg verkehrsweg gehweg instanzenweg hering nürburgring
    boxring schlüsselring ehering wettring sparring monitoring engineering käufer verkäufer läufer
    säufer staudamm schutzwall schützengraben bundesstraße landesstraße kreisstraße einbahnstraße
    schnellstraße sackgasse seitengasse datenpfad dateipfad suchpfad lernpfad
    """.casefold().split()
)
_NO_ADJECTIVES = frozenset(
    """
    Der Die Das Den Dem Des Ein Eine Einer Einen Unser Unsere Unserer Ihr Ihre Ihrer Seine Seiner Meine Meiner
    Dieser Jeder Hier Unter Oder Über Immer Wer Außer
    """.split()
)
_ADJECTIVE = (
    rf"(?:[{UPPER}][{LOWER}]{{2,24}}er|(?:Alte|Große|Kleine|Lange|Kurze|Obere|Untere|Neue|Hohe|Breite|Hintere|"
    r"Vordere|Innere|Äußere|Mittlere|Rechte|Linke|Schöne|Enge|Krumme|Weiße|Grüne|Rote)[rsn]?)"
)
_WORD = rf"[{UPPER}][{LOWER}]{{1,40}}"
_BEFORE_WORD = rf"(?:{_ADJECTIVE}[ -]|[{UPPER}]\.[ -]?|(?:St|Dr|Prof)\.[ -]?|Sankt[ -]|{_WORD}\.?-)"
_STREET = re.compile(rf"(?<![\w-]){_BEFORE_WORD}{{0,4}}{_WORD}\.?\Z")
_OF_SOMETHING = re.compile(
    r"(?<![\w-])(?:Straße|Strasse|Platz|Allee|Ring|Weg|Ufer)[ ](?:der|des|am|an[ ]der|zum|zur)[ ]"
    rf"(?:[0-9]{{1,2}}\.[ ])?{_WORD}(?:[ ]{_WORD})?\Z"
)
_PREPOSITION = re.compile(
    r"(?<![\w-])(?:Am|Im|Zum|Zur|Beim|(?:An|Auf|In|Hinter|Vor|Bei)[ ]de[rnm]|Unter[ ]den|"
    r"(?:Rue|Avenue|Chemin|Route|Place|Via)(?:[ ](?:de|du|des|la|della|di)){0,2}|"
    r"(?:Alte|Große|Kleine|Lange|Obere|Untere|Neue)[rn]?)"
    rf"(?:[ ]{_WORD}(?:-{_WORD})?){{1,3}}\Z"
)
_WORDS = re.compile(rf"(?<![\w-]){_WORD}(?:[- ]{_WORD}){{0,2}}\Z")
_LIVES = re.compile(r"wohn(?:haft|e|t|en)?\b|adresse\b|anschrift\b|besuch|sitz\b|treffpunkt\b|zieh")
_HINT = re.compile(rf"strasse |platz |allee |ring |weg |ufer |{_LIVES.pattern}")
_LIVES_HERE = re.compile(rf"(?:{_LIVES.pattern})[^0-9.!?]{{0,22}}\Z")
"""Words before an address, case-folded."""
_CAPITALS = re.compile(rf"[{UPPER}]{{2,}}+")
_ROADS = ("reichsstrasse", "staatsstrasse", "fernstrasse", "verkehrsstrasse", "umgehungsstrasse")
"""Names of streets that are classes of numbered roads, too ("Reichsstraße 1 gesperrt"), case-folded."""
_GOES_ON = re.compile(
    rf"[ ](?!(?:in|im|bei|und|oder|am|um|ab|zu|zum|zur|an|auf|statt|nach|mit|mein|ist|wohn)\b)[{LOWER}]"
)


def find(scan: Scan) -> Iterator[Span]:
    """Yield street addresses and post office boxes."""
    text = scan.text
    for number in _NUMBER.finditer(text):
        start, end = number.span()
        first = start - 1 if text[start - 1] in _BLANK else start
        window = scan.before(first, _WIDTH)
        before = window.removesuffix(" Nr.")
        if before[-1:].isupper() or before[-2:-1].isupper():
            before = _in_small_letters(before)
        place = _PLACE.match(text, end)
        street = _street_with_place(before, place) if place else ""
        alone = "" if street or UNIT.match(text, end) else _street_alone(before, number.group())
        if alone and (counted_noun(after := scan.after(end, 48)) or _is_road(alone, after)):
            alone = ""
        if street or alone:
            ahead = before[: len(before) - len(street or alone)]
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
    match = (
        _PREPOSITION.search(before)
        or _OF_SOMETHING.search(before)
        or _with_adjective(before)
        or _WORDS.search(before)
    )
    return match.group() if match else ""


def _is_road(street: str, after: str) -> bool:
    return street.casefold().endswith(_ROADS) and _GOES_ON.match(after) is not None


def _in_small_letters(before: str) -> str:
    """Return the text with its words in capitals as others are written, each character in its place."""
    return _CAPITALS.sub(lambda word: word.group()[0] + word.group()[1:].lower(), before)


def _street_alone(before: str, number: str) -> str:
    """Return the street at the end of `before`, its number being all there is; empty for none."""
    if len(number) == 4 and number.isdigit() and number[:2] in {"18", "19", "20"}:
        return ""
    folded = before.casefold()
    if folded.endswith(_ENDS):
        street = _with_adjective(before)
        name = street.group().casefold() if street else ""
        generic = name in _ENDS or name.rpartition(" ")[2] in _NO_STREETS
        return street.group() if street and not generic else ""
    if not _HINT.search(folded):
        return ""
    if match := _OF_SOMETHING.search(before):
        return match.group()
    if len(number) > 3 or not _LIVES.search(folded):
        return ""
    match = _PREPOSITION.search(before) or _WORDS.search(before)
    return match.group() if match and _LIVES_HERE.search(before[: match.start()].casefold()) else ""


def _with_adjective(before: str) -> re.Match[str] | None:
    """Return a street's word with the adjective before it ("Mariahilfer Straße"), which is no article."""
    match = _STREET.search(before)
    if match:
        first, space, _ = match.group().partition(" ")
        if space and first in _NO_ADJECTIVES:
            return _STREET.search(before, match.start() + len(first) + 1)
    return match

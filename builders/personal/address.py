"""Street addresses: street and house number, with postcode and city where they follow; and post office boxes.

A house number is looked for first; what stands before it decides. Endings that nearly always mean a street
("Lindenstraße 12") need no more. Others ("Am Weiher 27", "Stadtpark 5") need a postcode or a word like "wohnhaft".
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span
from builders.personal.words import LOWER, UPPER

_NUMBER = re.compile(
    rf"[0-9](?<=[{LOWER}.][ \u00a0][0-9])[0-9]{{0,3}}(?![0-9])(?:[a-zA-Z](?!\w)|[ ][a-zA-Z](?!\w|\.\w|[ ][{LOWER}]{{2}}))?"
    r"(?:[ ]?[-–/+][ ]?[0-9]{1,4}[ ]?[a-z]?(?![\w])){0,3}(?:/(?:Stiege|Stg\.?|Top|Tür)[ ]?[0-9]{1,3}){0,2}"
)
_CITY_WORD = rf"(?:(?:Sankt|St\.|Bad)[ ])?[{UPPER}][{LOWER}]{{1,30}}+(?:[-/][{UPPER}][{LOWER}]{{1,30}}+){{0,2}}"
_CITY = (
    rf"{_CITY_WORD}(?:[ ](?:am|an[ ]der|im|in|ob[ ]der|bei|vor[ ]der|a\.[ ]?d\.|a\.|v\.[ ]?d\.|a\.[ ]?M\.|b\.)[ ]?{_CITY_WORD}"
    rf"|[ ](?:a\.[ ]?[MNR]\.)|[ ]\([{UPPER}][{LOWER}]{{1,20}}\))?"
)
_PLACE = re.compile(
    rf"(?:[ ]?[,·|/–-][ ]?\n?|[ ]?\n[ ]?|[ ])(?:(?:D|A|CH|DE|AT|L)[ -]{{1,3}})?[0-9]{{4,5}}[ \u00a0]{{1,2}}{_CITY}"
)
_BOX = re.compile(rf"Postfach[ ](?:[0-9][ ]?){{2,9}}(?<=[0-9])(?:{_PLACE.pattern})?")

_STRONG = ("strasse", "str.", "gasse", "allee", "chaussee", "promenade")
_MIDDLE = ("weg", "platz", "ring", "damm", "ufer", "wall", "pfad", "graben", "stieg", "steig", "kamp", "twiete", "zeile")
_ENDS = _STRONG + _MIDDLE
_NO_STREET = re.compile(
    r"(?:arbeits|sitz|park|spiel|stell|steh|liege|lade|stamm|sport|tennis|fußball|golf|flug|bau|camping|schau|schul|park|"
    r"ausbildungs|studien|kita|warte|tabellen|listen|start|stand|markt|ersatz|bahn|fried|bauern|bundes|gerichts|gast|"
    r"super|floh|weihnachts|arbeits|aktien|finanz|immobilien|binnen|schwarz|welt|wohnungs|um|aus|rück|heim|schul|rad|"
    r"fuß|hin|um|an|ab|auf|ein|vor|nach|box|he|sp|lehr|dienst|rechts|post|halb|schluss|verkehrs|kreuz|einbahn|haupt|neben|"
    r"seiten|quer)(?:weg|platz|ring|damm|ufer|markt|hof|park|feld|stieg|steig|reihe|wege)\Z|(?:käufer|läufer|säufer)\Z",
    re.IGNORECASE,
)
_STREET = re.compile(
    rf"(?:(?:(?<![\w-])[{UPPER}][{LOWER}]{{2,24}}(?:er|e|en|es|er)|[{UPPER}]\.|St\.|Sankt|Dr\.|Prof\.)[ -])?"
    rf"(?<![\w-])(?:[{UPPER}][{LOWER}]{{1,24}}\.?-){{0,4}}[{UPPER}{LOWER}][{LOWER}]{{1,40}}\.?\Z"
)
_OF = re.compile(
    rf"(?<![\w-])(?:Straße|Strasse|Platz|Allee|Ring|Weg|Ufer)[ ](?:der|des|am|an[ ]der|zum|zur)[ ]"
    rf"(?:[0-9]{{1,2}}\.[ ])?[{UPPER}][{LOWER}]{{1,24}}(?:[ ][{UPPER}][{LOWER}]{{1,24}})?\Z"
)
_PREPOSITION = re.compile(
    r"(?<![\w-])(?:Am|An[ ]de[rnm]|Auf[ ]de[rnm]|Im|In[ ]de[rnm]|Zum|Zur|Unter[ ]den|Hinter[ ]de[rnm]|Vor[ ]de[mrn]|Bei[ ]de[rnm]|"
    rf"Beim|Alte|Alter|Große|Kleine|Lange|Obere|Untere|Neue|Neuer)(?:[ ][{UPPER}][{LOWER}]{{1,24}}(?:-[{UPPER}][{LOWER}]{{1,24}})?){{1,3}}\Z"
)
_ANY_WORDS = re.compile(rf"(?<![\w-])[{UPPER}][{LOWER}]{{1,30}}(?:[- ][{UPPER}][{LOWER}]{{1,24}}){{0,2}}\Z")
_CUE = re.compile(r"wohn\w{0,10}|adress\w{0,3}|anschrift|postanschrift|besuch\w{0,6}|umgezogen|\bsitz\b|treffpunkt", re.IGNORECASE)
_ARTICLES = frozenset("Der Die Das Den Dem Des Ein Eine Einer Einen Unsere Unser Ihre Seine Meine Diese Dieser Jede Neue Alle".split())
_UNIT = re.compile(
    r"[ \u00a0]?(?:%|€|\$|°|km\b|m\b|cm\b|kg\b|Uhr|Prozent|Euro|Jahre|Tage|Wochen|Monate|Mal\b|Meter|Kilometer|Mio|Mrd|"
    r"Millionen|Häuser|Stunden|Punkte?|Plätze|bis\b|und\b[ ][0-9])|[.,:][0-9]|[.][ ](?:Jänner|Januar|Februar|März|April|Mai|Juni|"
    r"Juli|August|September|Oktober|November|Dezember)"
)
_WIDTH = 64


def find(scan: Scan) -> Iterator[Span]:
    """Yield street addresses and post office boxes."""
    text = scan.text
    for number in _NUMBER.finditer(text):
        word_end = number.start() - 1
        before = scan.before(word_end, _WIDTH)
        place = _PLACE.match(text, number.end())
        street = _street(before, number.group(), placed=place is not None)
        if street and (place or not _UNIT.match(text, number.end())):
            end = place.end() if place else number.end()
            rule = "address.postcode" if place else "address.street"
            yield Span(word_end - len(street), end, PersonalKind.ADDRESS, rule)
    for box in _BOX.finditer(text):
        yield Span(*box.span(), PersonalKind.ADDRESS, "address.box")


def _street(before: str, number: str, *, placed: bool) -> str:
    """Return the name of a street at the end of `before`; empty where there is none.

    Args:
        placed: A postcode and a city follow the house number.
    """
    lower = before[-14:].casefold()
    if placed:
        match = _PREPOSITION.search(before) or _OF.search(before) or _with_adjective(before) or _ANY_WORDS.search(before)
        return match.group() if match else ""
    if of := _OF.search(before):
        return of.group()
    if not lower.endswith(_ENDS):
        near = _PREPOSITION.search(before)
        return near.group() if near and len(number) < 4 and _CUE.search(before[: near.start()]) else ""
    street = _with_adjective(before)
    if street is None or _NO_STREET.search(before) or _is_year(number):
        return ""
    name = street.group()
    return "" if name.casefold() in _ENDS else name


def _with_adjective(before: str) -> re.Match[str] | None:
    """Return a street's word with its adjective: "Mariahilfer Straße"; an article is no adjective."""
    match = _STREET.search(before)
    if match and match.group().partition(" ")[0] in _ARTICLES:
        return _STREET.search(before, match.start() + len(match.group().partition(" ")[0]) + 1)
    return match


def _is_year(number: str) -> bool:
    return number[:4].isdigit() and len(number) >= 4 and number[:2] in {"18", "19", "20"}



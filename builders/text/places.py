"""Places at the end of a job title: "in Köln", "im Raum Köln", "- 50667 Köln", "(Köln)"."""

import re
from functools import cache
from pathlib import Path

_LONGEST = 60  # no place, and no list of places, in a title is longer

_NEAR = r"(?:raum|grossraum|region|umkreis|umgebung|nähe|standort)(?: von)?:?"
_LEAD = re.compile(
    rf"(?<![^\s/*:_,(-])(?:(?:(?:für|im|in|am|aus)(?: (?:den|dem|der))? )?{_NEAR}|in der|in den|in|im|bei) "
)
_SEPARATOR = re.compile(r" [-–—|/] |[,;(] ?")
_POSTCODE = re.compile(r"^(?:(?:d|a|ch)-)?\d{4,5} ")
_ALTERNATIVES = re.compile(r" ?[,;/+&] ?| (?:und|oder|bzw\.) ")
_WATERS = (
    r"(?:main|oder|saale|lahn|neckar|donau|rhein|ruhr|spree|havel|elbe|inn|weser|unterweser|ems|isar|lech|mosel"
    r"|sieg|see|bodensee|taunus|harz|allgäu|pfalz|westf(?:\.|alen)|m\.|d\.|n\.|s\.)"
)
_DISAMBIGUATION = re.compile(
    rf"^(.{{2,40}}?)(?: ?\({_WATERS}\)|/{_WATERS}| (?:am|an der|a\. ?d\.|a\.) ?{_WATERS}|-[^\W\d_-]{{2,30}})$"
)
_ORDINARY_WORDS = frozenset(
    "ahlen aue baden brake buchen büren damme emmen erlangen essen geldern giessen hagen halle hamm haren"
    " heide hof kamen lage langen lauf leer leimen linden lohne löhne peine roth senden singen springe verl"
    " wangen weiden".split()
)


@cache
def known_places() -> frozenset[str]:
    """Return the names of towns, states and regions, case-folded; "St." is written out."""
    lines = (Path(__file__).parent / "places.txt").read_text("utf-8").splitlines()
    return frozenset(line.casefold().replace("st. ", "sankt ") for line in lines if not line.startswith("#"))


def without_trailing_place(title: str) -> str:
    """Cut a place, or a list of places, from the end of a case-folded title.

    After a preposition every known place counts; after a dash or comma and in brackets only names that are
    not ordinary words ("Koch - Essen" stays). What is not in the list of places stays: "Verkäufer in
    Teilzeit". A title that is a place and nothing else stays as well; what remains is not tidied.
    """
    for lead in _LEAD.finditer(title):
        if len(title) - lead.end() <= _LONGEST and _are_places(title[lead.end() :]):
            return title[: lead.start()] or title
    separators = list(_SEPARATOR.finditer(title))
    if not separators:
        return title
    last = separators[-1]
    rest = title[last.end() :]
    is_place = len(rest) <= _LONGEST and rest.removesuffix(")") not in _ORDINARY_WORDS and _are_places(rest)
    return title[: last.start()] or title if is_place else title


def _are_places(text: str) -> bool:
    text = text if "(" in text else text.removesuffix(")")
    text = _POSTCODE.sub("", text.strip())
    return _is_place(text) or all(map(_is_place, _ALTERNATIVES.split(text)))


def _is_place(name: str) -> bool:
    name = name.strip().replace("st. ", "sankt ")
    if name in known_places():
        return True
    disambiguated = _DISAMBIGUATION.match(name)
    return disambiguated is not None and disambiguated[1] in known_places()

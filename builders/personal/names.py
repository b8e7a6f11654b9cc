"""Names of persons: after titles, salutations, labels and closings, and full names by listed first names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from builders.personal.kinds import PersonalKind
from builders.personal.name_cues import ANY_CUE, CUE
from builders.personal.scan import Scan, Span
from builders.personal.words import (
    INITIALS,
    LOWER,
    NAME,
    ORGANISATION,
    PARTICLE,
    TITLES,
    UPPER,
    WORD,
    is_first_name,
    is_surname,
    person_in,
)

Range = tuple[int, int]

_S = r"[ \u00a0]{1,2}"
_ROLE = (
    rf"(?:(?:[{UPPER}][{LOWER}]{{2,24}}(?:minister|präsident|kanzler|meister|direktor|leiter|anwalt|anwält|sprecher|"
    r"ärzt|arzt|sekretär|inspektor|rätin)|Professor|Doktor|Pfarrer|Minister|Präsident|Rechtsanwalt|Rechtsanwält|"
    rf"Direktor|Kanzler)(?:in)?{_S})"
)
_AFTER_MISTER = re.compile(rf"(?:/(?:Herrn?|Frau|Hr\.|Fr\.))?(?:{_S}|[ ]?\n){_ROLE}?{TITLES}")
_AFTER_TITLE = re.compile(rf"[ \u00a0-]?{TITLES}")
_COLON = re.compile(
    r"(?P<between>[^:,;.!?–\n\0\x01]{0,40}?|[ ]i\.[ ]?S\.[ ]?d\.[^:\n\0\x01]{0,40}?)"
    rf":(?:[ \u00a0]{{1,3}}|[ ]?\n)(?P<titles>{TITLES})"
)
_NEXT = re.compile(
    rf"(?:[ ](?:bitte[ ])?an|[ ]ist|[ ]sind|[ ]war|[ ]von|[ ]den[ ]Geschäftsführer)?:?(?:{_S}|[ ]?\n){TITLES}"
)
_CLOSING_GAP = re.compile(
    rf"(?:[ ]aus[ ](?:de[mnr][ ])?{WORD}|[ ]von)?[ ,!.–-]{{0,4}}\n{{0,3}}[ ]{{0,3}}"
    rf"(?:(?:[iI]hre?|[dD]eine?|[eE]uer|[eE]ure){_S})?{TITLES}"
)
_SIGNED = re.compile(r"[ ]{0,3}(?:[\n,.!(|\0]|\Z)")
_NOUN_BEFORE = re.compile(
    r"\b(?:eine|einer|keine|keiner|jede|jeder|diese|dieser|die|der|junge|alte|erste|als)[ ]\Z", re.IGNORECASE
)
_MORE = re.compile(rf"[ ]?(?:,|;|/|&|und|sowie|oder)[ ]{TITLES}")
_GIVEN = re.compile(rf",[ ]({WORD})")
_GREETED = re.compile(rf"{_S}{TITLES}")
_OPENING = re.compile(r"(?:\A|[\n.!?,;:„“\"(>*–-])[ ]{0,2}(?:Sehr[ ]|Hallo[ ]|Hi[ ])?\Z|(?:Sehr|Hallo)[ ]\Z")
_FIRST_INITIAL = re.compile(INITIALS)
_LAST_INITIAL = re.compile(rf"[ ][{UPPER}]\.(?![\w.])")
_FULL = re.compile(
    rf"[{UPPER}](?:[{LOWER}]{{1,24}}+(?:-[{UPPER}][{LOWER}]{{1,24}}+)?"
    rf"(?={_S}(?:[{UPPER}]|{PARTICLE}[ \u00a0]))"
    rf"|[{UPPER}]{{2,24}}+(?:-[{UPPER}]{{2,24}}+)?(?={_S}[{UPPER}]{{2}}))"
)


def find(scan: Scan) -> Iterator[Span]:
    """Yield names that a title, salutation, label or closing announces."""
    text = scan.text
    for sign in ANY_CUE.finditer(text):
        start = sign.start()
        if start and (text[start - 1].isalnum() or text[start - 1] in "_-"):
            continue
        cue = CUE[text[start]].match(text, start)
        if cue and cue.lastgroup:
            for begin, end in _READERS[cue.lastgroup](scan, cue):
                yield Span(begin, end, PersonalKind.PERSON, f"person.{cue.lastgroup}")


def find_full(scan: Scan) -> Iterator[Span]:
    """Yield a listed first name with the capitalised word, or words, after it."""
    text = scan.text
    for match in _FULL.finditer(text):
        if not is_first_name(match.group()):
            continue
        start = match.start()
        if start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "_-.@/"):
            name = _name_at(scan, start, known=True)
            if name and (" " in text[slice(*name)] or "\u00a0" in text[slice(*name)]):
                yield Span(*name, PersonalKind.FULL_NAME, "full_name.listed")


def _name_at(scan: Scan, position: int, *, known: bool) -> Range | None:
    """Return the name that begins at `position`.

    Args:
        scan: The text.
        position: Where the name begins.
        known: Only names that begin with a listed first name, an initial or a listed surname.
    """
    run = NAME.match(scan.text, position)
    if not run:
        return None
    name, words = person_in(run.group())
    if not name:
        return None
    end = position + len(name)
    first = is_first_name(words[0])
    evident = first or _FIRST_INITIAL.match(name) or (is_surname(words[0]) and name.startswith(words[0]))
    if (known and not evident) or ORGANISATION.match(scan.text, end):
        return None
    initial = _LAST_INITIAL.match(scan.text, end) if first else None
    particle = len("von ") if first and name.startswith("von ") else 0
    return position + particle, initial.end() if initial else end


def _mister(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    gap = _AFTER_MISTER.match(scan.text, cue.end())
    if gap:
        noun = cue.group() == "Frau" and _NOUN_BEFORE.search(scan.before(cue.start(), 10)) is not None
        kind_of_things = cue.group() == "Familie" and scan.text[gap.end() : gap.end() + 1].islower()
        yield from _at(scan, gap, known=(noun or kind_of_things) and "." not in gap.group())


def _title(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    yield from _at(scan, _AFTER_TITLE.match(scan.text, cue.end()), known=False)


def _degree(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    yield from _at(scan, _AFTER_TITLE.match(scan.text, cue.end()), known=True)


def _at(scan: Scan, gap: re.Match[str] | None, *, known: bool) -> Iterator[Range]:
    name = _name_at(scan, gap.end(), known=known) if gap else None
    if name:
        yield name


def _label(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    colon = _COLON.match(scan.text, cue.end())
    if colon:
        yield from _listed(scan, colon, known=bool(colon["between"].strip()) and not colon["titles"])
    else:
        yield from _listed(scan, _NEXT.match(scan.text, cue.end()), known=True)


def _place(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    gap = _COLON.match(scan.text, cue.end()) or _NEXT.match(scan.text, cue.end())
    yield from _listed(scan, gap, known=True)


def _direct(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    yield from _listed(scan, _NEXT.match(scan.text, cue.end()), known=False)


def _meeting(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    yield from _listed(scan, _NEXT.match(scan.text, cue.end()), known=True)


def _listed(scan: Scan, gap: re.Match[str] | None, *, known: bool) -> Iterator[Range]:
    """Yield the name after a gap ("Sommer, Ida" as well), and known names after commas."""
    text = scan.text
    name = _name_at(scan, gap.end(), known=known) if gap else None
    while name:
        given = _GIVEN.match(text, name[1]) if " " not in text[slice(*name)] else None
        if given and is_first_name(given.group(1)):
            name = name[0], given.end()
        yield name
        more = _MORE.match(text, name[1])
        name = _name_at(scan, more.end(), known=True) if more else None


def _closing(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    gap = _CLOSING_GAP.match(scan.text, cue.end())
    if not gap or gap.end() == cue.end():
        return
    name = _name_at(scan, gap.end(), known=False)
    apart = "\n" in gap.group() or "," in gap.group()
    if name and (_name_at(scan, gap.end(), known=True) or (apart and _SIGNED.match(scan.text, name[1]))):
        yield name


def _greeting(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    if _OPENING.search(scan.before(cue.start(), 8)):
        yield from _at(scan, _GREETED.match(scan.text, cue.end()), known=True)


_READERS: Mapping[str, Callable[[Scan, re.Match[str]], Iterator[Range]]] = {
    "mister": _mister,
    "title": _title,
    "degree": _degree,
    "label": _label,
    "place": _place,
    "direct": _direct,
    "meeting": _meeting,
    "closing": _closing,
    "greeting": _greeting,
}

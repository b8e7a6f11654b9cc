"""Names of persons: after titles, salutations, labels and closings, and full names by a list of first names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from builders.personal.kinds import PersonalKind
from builders.personal.scan import Scan, Span
from builders.personal.words import (
    INITIALS,
    LOWER,
    NAME,
    ORGANISATION,
    PARTICLES,
    TITLES,
    UPPER,
    WORD,
    is_first_name,
    is_surname,
    person_in,
)

_S = r"[ \u00a0]{1,2}"
_IN = r"(?:[/:*_]?in(?:nen)?|\(in\)|/-in)?"
_CUES: Mapping[str, tuple[str, ...]] = {
    "mister": (
        "Herrn?",
        "HERRN?",
        "Hrn?\\.",
        "Frau",
        "FRAU",
        "Fr\\.",
        "Fräulein",
        "Familie",
        "Fam\\.",
        "Eheleute",
    ),
    "title": ("Dr\\.", "DDr\\.", "Prof\\.", "Priv\\.-Doz\\.", "Univ\\.-Prof\\."),
    "degree": ("Dipl\\.", "Mag\\.", "Ing\\.", "Rechtsanw[aä]lt(?:in)?", "RA(?=[ \u00a0])", f"Pfarrer{_IN}", f"Bürgermeister{_IN}"),
    "label": tuple(
        label + _IN
        for label in (
            "Ansprechpartner",
            "ANSPRECHPARTNER",
            "Ansprechperson",
            "Abteilungsleiter",
            "Autor",
            "Bauleiter",
            "Bearbeiter",
            "Bereichsleiter",
            "Betreuer",
            "Bewerber",
            "Datenschutzbeauftragter?n?",
            "Fahrer",
            "Familienname",
            "Geschäftsführ(?:er|ung)",
            "Halter",
            "Inhaber",
            "Kassenwart",
            "Klassenlehrer",
            "Kontaktperson",
            "Kontoinhaber",
            "Kund(?:e|in)",
            "Mieter",
            "Nachname",
            "Name",
            "NAME",
            "Patient",
            "Personalleiter",
            "Pflegedienstleitung",
            "Projektleiter",
            "Rufname",
            "Sachbearbeiter",
            "Schriftführer",
            "Teamleiter",
            "Trainer",
            "Unterschrift", "Unterzeichner", "Vertretungsberechtigte?r?",
            "Verfasser",
            "Vermieter",
            "Vorname",
            "Vorsitzender?",
            "Zeuge",
            "Zeugin",
            "Zuname",
        )
    ),
    "place": tuple(
        label + _IN
        for label in (
            "Absender",
            "Auskünfte",
            "Auskunft",
            "Bewerbung(?:en)?",
            "Einsatzleitung",
            "Empfänger",
            "Kontakt",
            "KONTAKT",
            "Leistungsempfänger",
            "Leiter",
            "Leitung",
            "Lieferung",
            "Personalreferent",
            "Rückfragen",
            "Verantwortlich",
            "Vertretung",
            "Vorstand",
            "Zustellung",
        )
    ),
    "direct": (
        "gez\\.",
        "A\\.(?<=[iI]\\.[ ]A\\.)",
        "A\\.(?<=[iI]\\.A\\.)",
        "V\\.(?<=[iI]\\.[ ]V\\.)",
        "V\\.(?<=[iI]\\.V\\.)",
        "Hd?\\.(?<=z\\.[ ]Hd\\.)",
        X,
        "Händen",
        "heiße(?<=[iI]ch[ ]heiße)",
        "c/o",
    ),
    "meeting": (
        "vertreten[ ]durch",
        "Vertreten[ ]durch",
        "beantwortet(?:[ ]Ihnen)?(?:[ ]gerne?)?",
        "bin[ ](?:der|die)",
        "Sie[ ]sich(?:[ ]bitte)?[ ]an",
    ),
    "closing": (
        "Gr(?:ü(?:ß|ss)e[n]?|u(?:ß|ss))(?!\\w)",
        "GRÜ(?:ß|SS)EN?",
        "grü(?:ß|ss)t",
        "MfG",
        "LG",
        "VG",
        "Herzlichst",
        "Hochachtungsvoll",
    ),
    "greeting": (
        "Liebe[rs]?",
        "Hallo",
        "Hi",
        "Hey",
        "Moin",
        "Servus",
        "Grüezi",
        "Hoi",
        "Guten[ ](?:Tag|Morgen|Abend)",
        "geehrter?",
    ),
}
"""What announces a name. Each begins with a letter as it stands, so that one pass skips all other letters."""

_CUE = re.compile("|".join(f"(?P<{rule}>{'|'.join(cues)})" for rule, cues in _CUES.items()))


def _by_first_letter(cues: list[str]) -> re.Pattern[str]:
    """Compile alternatives as a tree of one level, which the pattern engine searches by first letter."""
    rests: dict[str, list[str]] = {}
    for cue in cues:
        rests.setdefault(cue[0], []).append(cue[1:])
    return re.compile(
        "|".join(f"{letter}(?:{'|'.join(endings)})" for letter, endings in sorted(rests.items()))
    )


_ANY_CUE = _by_first_letter([cue for cues in _CUES.values() for cue in cues])
_ROLE = (
    rf"(?:(?:[{UPPER}][{LOWER}]{{2,24}}(?:minister|präsident|kanzler|meister|direktor|leiter|anwalt|anwält|sprecher|"
    r"ärzt|arzt|sekretär|inspektor|inspektorin|rätin)|Professor|Doktor|Pfarrer|Minister|Präsident|Rechtsanwalt|Rechtsanwält|Direktor|Kanzler)(?:in)?"
    rf"{_S})"
)
_AFTER_MISTER = re.compile(rf"(?:/(?:Herrn?|Frau|Hr\.|Fr\.))?(?:{_S}|[ ]?\n){_ROLE}?{TITLES}")
_AFTER_TITLE = re.compile(rf"[ \u00a0-]?{TITLES}")
_COLON = re.compile(
    rf"(?P<between>[^:,;.!?–\n\0\x01]{{0,40}}?|[ ]i\.[ ]?S\.[ ]?d\.[^:\n\0\x01]{{0,40}}?)"
    rf":(?:[ \u00a0]{{1,3}}|[ ]?\n)(?P<titles>{TITLES})"
)
_NEXT = re.compile(rf"(?:[ ](?:bitte[ ])?an|[ ]ist|[ ]sind|[ ]war|[ ]von|[ ]den[ ]Geschäftsführer)?:?(?:{_S}|[ ]?\n){TITLES}")
_CLOSING_GAP = re.compile(
    rf"[ ,!.–-]{{0,4}}\n{{0,3}}[ ]{{0,3}}(?:(?:[iI]hre?|[dD]eine?|[eE]uer|[eE]ure)(?:{_S}))?{TITLES}"
)
_SIGNED = re.compile(r"[ ]{0,3}(?:[\n,.!(|)]|\Z|\0)")
_ARTICLE = re.compile(
    r"(?:\b(?:eine|einer|keine|keiner|jede|jeder|diese|dieser|die|der|junge|alte|erste|als)[ ])\Z",
    re.IGNORECASE,
)
_SPACE = re.compile(rf"{_S}{TITLES}")
_OPENING = re.compile(r"(?:\A|[\n.!?,;:„“\"(>*–-])[ ]{0,2}(?:Sehr[ ]|Hallo[ ]|Hi[ ])?\Z|(?:Sehr|Hallo)[ ]\Z")
_MORE = re.compile(rf"[ ]?(?:,|;|/|&|und|sowie|oder)[ ]{TITLES}")
_GIVEN = re.compile(rf",[ ]({WORD})")
_INITIAL = re.compile(INITIALS)
_LAST_INITIAL = re.compile(rf"[ ][{UPPER}]\.(?![\w.])")
_FULL = re.compile(
    rf"[{UPPER}][{LOWER}]{{1,24}}(?:-[{UPPER}][{LOWER}]{{1,24}})?(?={_S}(?:[{UPPER}]|{PARTICLES}))"
)


def find(scan: Scan) -> Iterator[Span]:
    """Yield names that a title, salutation, label or closing announces."""
    text = scan.text
    for sign in _ANY_CUE.finditer(text):
        start = sign.start()
        cue = _CUE.match(text, start)
        if (
            cue is None
            or cue.lastgroup is None
            or (start and (text[start - 1].isalnum() or text[start - 1] in "_-"))
        ):
            continue
        for begin, end in _READERS[cue.lastgroup](scan, cue):
            yield Span(begin, end, PersonalKind.PERSON, f"person.{cue.lastgroup}")


def find_full(scan: Scan) -> Iterator[Span]:
    """Yield a listed first name with the capitalised word, or words, after it."""
    text = scan.text
    for match in _FULL.finditer(text):
        start = match.start()
        if is_first_name(match.group()) and not (
            start and (text[start - 1].isalnum() or text[start - 1] in "_-.@/")
        ):
            name = _name_at(scan, start, known=True)
            if name and " " in text[start : name[1]].replace("\u00a0", " "):
                yield Span(*name, PersonalKind.FULL_NAME, "full_name.listed")


def _name_at(scan: Scan, position: int, *, known: bool) -> tuple[int, int] | None:
    """Return the name that begins at `position`.

    Args:
        known: Only names that begin with a listed first name, an initial or a listed surname.
    """
    run = NAME.match(scan.text, position)
    if not run:
        return None
    name, words = person_in(run.group())
    if not name or (known and not (is_first_name(words[0]) or _INITIAL.match(name) or is_surname(words[0]))):
        return None
    end = position + len(name)
    if ORGANISATION.match(scan.text, end):
        return None
    if is_first_name(words[0]):
        initial = _LAST_INITIAL.match(scan.text, end)
        return position + 4 * name.startswith("von "), initial.end() if initial else end
    return position, end


def _mister(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    gap = _AFTER_MISTER.match(scan.text, cue.end())
    if gap:
        common = cue.group() == "Frau" and _ARTICLE.search(scan.before(cue.start(), 10)) is not None
        titled = "." in gap.group()
        name = _name_at(scan, gap.end(), known=common and not titled)
        if name:
            yield name


def _title(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    yield from _one_after(scan, cue.end(), known=False)


def _degree(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    yield from _one_after(scan, cue.end(), known=True)


def _one_after(scan: Scan, position: int, *, known: bool) -> Iterator[tuple[int, int]]:
    gap = _AFTER_TITLE.match(scan.text, position)
    name = _name_at(scan, gap.end(), known=known) if gap else None
    if name:
        yield name


def _label(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    colon = _COLON.match(scan.text, cue.end())
    if colon:
        yield from _listed(scan, colon.end(), known=bool(colon["between"].strip()) and not colon["titles"])
    elif gap := _NEXT.match(scan.text, cue.end()):
        yield from _listed(scan, gap.end(), known=True)


def _place(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    gap = _COLON.match(scan.text, cue.end()) or _NEXT.match(scan.text, cue.end())
    if gap:
        yield from _listed(scan, gap.end(), known=True)


def _direct(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    gap = _NEXT.match(scan.text, cue.end())
    if gap:
        yield from _listed(scan, gap.end(), known=False)


def _meeting(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    gap = _NEXT.match(scan.text, cue.end())
    if gap:
        yield from _listed(scan, gap.end(), known=True)


def _listed(scan: Scan, position: int, *, known: bool) -> Iterator[tuple[int, int]]:
    """Yield the name at `position`, and those after commas that begin with a listed first name."""
    text = scan.text
    name = _name_at(scan, position, known=known)
    while name:
        given = _GIVEN.match(text, name[1]) if " " not in text[slice(*name)] else None
        if given and is_first_name(given.group(1)):
            name = name[0], given.end()
        yield name
        more = _MORE.match(text, name[1])
        name = _name_at(scan, more.end(), known=True) if more else None


def _closing(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    gap = _CLOSING_GAP.match(scan.text, cue.end())
    if not gap or gap.end() == cue.end():
        return
    name = _name_at(scan, gap.end(), known=False)
    if name and (_name_at(scan, gap.end(), known=True) or _signed(scan, gap.group(), name[1])):
        yield name


def _signed(scan: Scan, gap: str, end: int) -> bool:
    """Say whether a word stands as a signature: on a line of its own, or after a comma and before a mark."""
    return ("\n" in gap or "," in gap) and _SIGNED.match(scan.text, end) is not None


def _greeting(scan: Scan, cue: re.Match[str]) -> Iterator[tuple[int, int]]:
    gap = _SPACE.match(scan.text, cue.end()) if _OPENING.search(scan.before(cue.start(), 6)) else None
    name = _name_at(scan, gap.end(), known=True) if gap else None
    if name:
        yield name


_READERS: Mapping[str, Callable[[Scan, re.Match[str]], Iterator[tuple[int, int]]]] = {
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

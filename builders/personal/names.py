"""Names of persons: behind what announces them, and full names by listed first names."""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from functools import partial
from itertools import chain

from builders.personal import words
from builders.personal.scan import Scan, Span
from builders.personal.words import LOWER, PARTICLE, PARTICLES, TITLES, UPPER, WORD, is_foreign, is_given_name
from builders.spec import PersonalKind

_IN = r"(?:[/:*\x5f]?in(?:nen)?|\(in\)|/-in)?"
_ADVERBS = "(?:[ ](?:bitte|gerne?|einfach|direkt|auch|jederzeit|vorab|dann)){0,2}"
_END = r"(?:(?<=[.:])|(?![^\W\d_]))"
"""A cue ends where its word ends: "Ex" is none in "Export"."""


def _cues() -> dict[str, list[str]]:
    """Return patterns of cues by the rule that reads on after them, as `lists/name_cues.txt` has them."""
    cues: dict[str, list[str]] = {}
    for line in words.lines_of("name_cues"):
        rule, _, patterns = line.partition(": ")
        for pattern in patterns.split():
            cue = pattern.replace("_", "[ ]").replace("~", _IN).replace("%", _ADVERBS)
            cues.setdefault(rule, []).append(cue)
    return cues


def _by_letter(cues: Mapping[str, list[str]]) -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield for each first letter a pattern of its cues, whose groups are the rules."""
    for letter in sorted({cue[0] for some in cues.values() for cue in some}):
        own = {rule: [cue for cue in some if cue[0] == letter] for rule, some in cues.items()}
        groups = (f"(?P<{rule}>(?:{'|'.join(some)}){_END})" for rule, some in own.items() if some)
        yield letter, re.compile("|".join(groups))


def _tree(cues: list[str]) -> str:
    """Return a pattern of cues whose common beginnings, letters only, are looked at once."""
    branches: dict[str, list[str]] = {}
    for cue in cues:
        plain = cue[:1].isalpha() and not cue[1:].startswith(("?", "{"))
        branches.setdefault(cue[0] if plain else "", []).append(cue[1:] if plain else cue)
    parts = [f"{letter}{_tree(rest)}" for letter, rest in branches.items() if letter]
    parts += branches.get("", [])
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _standing(cues: Mapping[str, list[str]], before: str, *, capital: bool) -> re.Pattern[str]:
    """Return the pattern of cues that begin with a capital letter or a small one."""
    wanted = {cue for some in cues.values() for cue in some if cue[0].isupper() is capital}
    return re.compile(f"{before}(?P<cue>{_tree(sorted(wanted))}){_END}")


_CUES = _cues()
_CUE = dict(_by_letter(_CUES))
"""Patterns that say which cue stands at a place, by the letter that stands there."""
_ANY_CUE = (
    _standing(_CUES, "", capital=True),
    _standing(_CUES, '[ \n\0\x01\u00a0(*>"\u201e»/]', capital=False),
)
"""Where a cue stands: trees, so that the engine skips all letters that begin none. Small letters begin most
words, so those cues are looked for behind a space or sign, and once at the text's start."""
_FIRST_CUE = _standing(_CUES, "", capital=False)
_OF_BOTH = {noun + ending for noun in words.words_of("roles") for ending in ("", "in")}
_ROLE_NOUNS = sorted(_OF_BOTH | words.words_of("roles_and_kin"))
_ROLE_ENDS = tuple(form for end in _ROLE_NOUNS for form in (end, end.capitalize()))
"""Ends of words behind which an unlisted first name and a surname are a person's name: roles and kin."""
_ROLE_TAILS = frozenset(f"{end[-4:]} " for end in _ROLE_ENDS)
"""Their last letters and a space, which are quickly looked up."""

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
    r"(?P<between>[^:,;.!?–\n\0\x01]{0,40}+|[ ]i\.[ ]?S\.[ ]?d\.[^:\n\0\x01]{0,40}+)"
    rf":(?:[ \u00a0]{{1,3}}|[ ]?\n)(?P<titles>{TITLES})"
)
_TOPIC = r"(?:[ ](?:für|bei|zu|zum|zur|im|in|der|des|von)[ ][^:,;.!?\n\0\x01]{1,40}?)?"
_NEXT = re.compile(
    rf"(?:(?P<link>{_TOPIC}(?:[ ](?:bitte[ ])?an|[ ]ist|[ ]sind|[ ]war|[ ]lautet|[ ]hei(?:ß|ss)t"
    r"|[ ]namens|[ ]nimmt|[ ]erteilt(?:[ ]Ihnen)?|[ ]erhalten[ ]Sie[ ]von"
    r"|[ ]von|[ ]den[ ]Geschäftsführer))?"
    rf":?(?:{_S}|(?P<line>[ ]?\n))){TITLES}"
)
_SENT_TO = re.compile(rf"(?:[ ][\w.-]{{1,30}}){{0,7}}?[ ](?:an|bei):?(?:{_S}|[ ]?\n){TITLES}")
_AFTER_NOUN = re.compile(rf"(?:,|:|[ ]hei(?:ß|ss)t|[ ]namens|[ ]\((?=[{UPPER}]))?{_S}{TITLES}")
_AFTER_BYLINE = re.compile(rf":?{_S}{TITLES}")
_AFTER_SELF = re.compile(rf",?{_S}")
_ALONE = re.compile(r"[ ]?(?:[,.!?()\n\0:;–-]|\Z)|[ ](?:und|aus|hier|bin|[0-9])")
_LINE_END = re.compile(r"[ ]{0,3}(?:[\n\0,(|/]|\Z)")
_WEEKDAY_BEFORE = re.compile(r"\b(?:Mo|Di|Mi|Do|Sa|So)\b\.?[ ]?(?:-|–|bis|und|,|/|\+|u\.)[ ]?\Z")
_CLOSING_GAP = re.compile(
    rf"(?:[ ]aus[ ](?:de[mnr][ ])?{WORD}|[ ]von)?[ ,!.–-]{{0,4}}\n{{0,3}}[ ]{{0,3}}"
    rf"(?:(?:[iI]hre?|[dD]eine?|[eE]uer|[eE]ure){_S})?{TITLES}"
)
_SIGNED = re.compile(r"[ ]{0,3}(?:[\n,.!(|\0]|\Z)")
_NOUN_BEFORE = re.compile(
    r"(?i)\b(?:eine|einer|keine|keiner|jede|jeder|diese|dieser|die|der|junge|alte|erste|als)[ ]\Z"
)
_MORE = re.compile(rf"[ ]?(?:,|;|/|&|und|sowie|oder)[ ]{TITLES}")
_GIVEN = re.compile(rf",[ ]{TITLES}({WORD})")
_FIRST_LAST = re.compile(
    rf",[ ](?=[{UPPER}]){TITLES}(?P<first>{WORD})(?:[ ](?:{WORD}|[{UPPER}]\.)){{0,2}}"
    rf"(?=[ ]?(?:[\n\0;|()]|,[ ][0-9]|\Z)|[ ](?:und[ ])?{WORD},[ ][{UPPER}])"
)
_SURNAME_BEFORE = re.compile(
    rf"(?P<alone>(?:\A|[\n;|])[ ]{{0,2}})?(?<![\w-])(?P<last>{PARTICLES}?(?P<word>{WORD}))\Z"
)
_LONGEST_SURNAME, _LONGEST_ROLE = 48, 24
_MINE = re.compile(r"\b[mM]ein[ ]\Z")
_SEVERAL = re.compile(r"[ \u00a0]")
_ADDRESSED = re.compile(r"Ihnen|dir|[eE]uch|[dD]ich|Sie|durch|beantwortet")
_GREETED = re.compile(rf",?{_S}{TITLES}")
_OPENING = re.compile(r"(?:\A|[\n.!?,;:„“\"(>*–-])[ ]{0,2}(?:Sehr[ ]|Hallo[ ]|Hi[ ])?\Z|(?:Sehr|Hallo)[ ]\Z")
_FIRST_INITIAL = re.compile(words.INITIALS)
_LAST_INITIAL = re.compile(rf"[ ][{UPPER}]\.(?![\w.])")
_FULL = re.compile(
    rf"[{UPPER}](?:[{LOWER}]{{1,24}}+(?:-[{UPPER}][{LOWER}]{{1,24}}+)?"
    rf"(?={_S}(?:[{UPPER}]|{PARTICLE}[ \u00a0]))"
    rf"|[{UPPER}]{{2,24}}+(?:-[{UPPER}]{{2,24}}+)?(?={_S}[{UPPER}]{{2}}))"
)


class _Need(IntEnum):
    """What a name must show behind a cue; each level asks for more than the one before."""

    ANY = 0  # a word that is none of the surest nouns
    WORD = 1  # a word that is no noun
    SHAPE = 2  # two such words, or what EVIDENT asks for
    EVIDENT = 3  # a listed first name or surname, an initial, or two words whose last one is like a surname
    FULL = 4  # more than one word, and evident
    LISTED = 5  # more than one word, the first one a first name or an initial


def find_announced(scan: Scan) -> Iterator[Span]:
    """Yield names that a title, salutation, label or closing announces, and "Surname, First name"."""
    text = scan.text
    first = _FIRST_CUE.match(text)
    for sign in chain([first] if first else [], *(cues.finditer(text) for cues in _ANY_CUE)):
        start = sign.start("cue")
        if start and (text[start - 1].isalnum() or text[start - 1] in "_-"):
            continue
        cue = _CUE[text[start]].match(text, start)
        if cue and cue.lastgroup:
            for begin, end in _READERS[cue.lastgroup](scan, cue):
                yield Span(begin, end, PersonalKind.PERSON, f"person.{cue.lastgroup}")
    yield from _turned(scan)


def find_full(scan: Scan) -> Iterator[Span]:
    """Yield a listed first name with the words after it, and other likely names; brands stay.

    A name is likely where its last word is like a surname, and a role is before it or its first word a name.
    """
    text = scan.text
    for match in _FULL.finditer(text):
        word, start = match[0], match.start()
        given = word in words.FIRST_NAMES_BY_CUE or (("-" in word or word.isupper()) and is_given_name(word))
        role_before = text[start - 5 : start] in _ROLE_TAILS  # "Sprecherin ", "34-jährige "
        if not given and not (role_before and scan.before(start - 1, _LONGEST_ROLE).endswith(_ROLE_ENDS)):
            continue
        listed = given and words.is_first_name(word)
        if scan.titles and not listed:
            continue
        if start == 0 or not (text[start - 1].isalnum() or text[start - 1] in "_-.@/"):
            name = _name_at(scan, start, _Need.FULL)
            if name and not words.is_brand(text[slice(*name)]):
                yield Span(*name, PersonalKind.FULL_NAME, f"full_name.{'listed' if listed else 'likely'}")


def _turned(scan: Scan) -> Iterator[Span]:
    """Yield "Mustermann, Erika": alone in its line, or with a listed surname before a line's end."""
    for match in _FIRST_LAST.finditer(scan.text):
        if not words.is_first_name(match["first"]):
            continue
        before = _SURNAME_BEFORE.search(scan.before(match.start(), _LONGEST_SURNAME))
        if not before or words.is_no_name(before["word"]):
            continue
        if before["alone"] is not None or words.is_surname(before["word"]):
            start = match.start() - len(before["last"])
            yield Span(start, match.end(), PersonalKind.PERSON, "person.turned")


def _name_at(scan: Scan, position: int, need: _Need) -> Range | None:
    """Return the name that begins at `position` and shows what is needed."""
    run = words.NAME.match(scan.text, position)
    if not run:
        return None
    name, parts = words.person_in(run.group(), sure=need is _Need.ANY)
    if not name:
        return None
    end = position + len(name)
    given = is_given_name(parts[0])
    initial = _LAST_INITIAL.match(scan.text, end) if given else None
    if not _shows(name, parts, need, initial=initial is not None) or words.ORGANISATION.match(scan.text, end):
        return None
    particle = len("von ") if given and name.startswith("von ") else 0
    return position + particle, initial.end() if initial else end


def _shows(name: str, parts: list[str], need: _Need, *, initial: bool) -> bool:
    """Say whether a name, perhaps with an initial behind it, shows what is needed."""
    if need <= _Need.WORD or (name[1:2] == "." and _FIRST_INITIAL.match(name)):
        return True
    several = initial or len(parts) > 1
    if need is _Need.LISTED:
        return several and is_given_name(parts[0])
    full = several and (words.is_first_name(parts[0]) or words.is_surname_like(parts[-1]))
    if need is _Need.FULL or full:
        return full
    if is_given_name(parts[0]) or is_foreign(parts[0]) or (several and need is _Need.SHAPE):
        return True
    return words.is_surname(parts[0]) and name.startswith(parts[0])


def _mister(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    gap = _AFTER_MISTER.match(scan.text, cue.end())
    if not gap:
        return
    if cue.group() == "Fr.":
        if not _WEEKDAY_BEFORE.search(scan.before(cue.start(), 8)):
            yield from _at(scan, gap, _Need.WORD)
        return
    noun = cue.group() == "Frau" and _NOUN_BEFORE.search(scan.before(cue.start(), 10)) is not None
    kind_of_things = cue.group() == "Familie" and scan.text[gap.end() : gap.end() + 1].islower()
    weak = (noun or kind_of_things) and "." not in gap.group()
    yield from _at(scan, gap, _Need.EVIDENT if weak else _Need.ANY, titled=_Need.ANY)


def _title(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    for name in _at(scan, _AFTER_TITLE.match(scan.text, cue.end()), _Need.WORD, titled=_Need.EVIDENT):
        if not words.is_brand(f"{cue.group()} {scan.text[slice(*name)]}"):
            yield name


def _at(
    scan: Scan, gap: re.Match[str] | None, need: _Need, *, titled: _Need = _Need.LISTED, alone: bool = True
) -> Iterator[Range]:
    """Yield the name behind a gap, where it shows what is needed; `titled` is the least in titles of jobs.

    A single word that may not stand `alone` is a first name or foreign.
    """
    name = _name_at(scan, gap.end(), max(need, titled) if scan.titles else need) if gap else None
    word = scan.text[slice(*name)] if name else ""
    if name and (alone or is_given_name(word) or is_foreign(word) or _SEVERAL.search(word)):
        yield name


def _behind_label(scan: Scan, cue: re.Match[str], need: _Need) -> Iterator[Range]:
    """Yield the names behind a noun: after its colon, "ist" or "an", in the next line, or at once."""
    colon = _COLON.match(scan.text, cue.end())
    if colon:
        between = colon["between"].strip() and not colon["titles"]
        yield from _listed(scan, colon, max(need, _Need.SHAPE) if between else need)
        return
    gap = _NEXT.match(scan.text, cue.end())
    if gap and gap["line"]:
        names = list(_listed(scan, gap, _Need.SHAPE))
        fills = names and _LINE_END.match(scan.text, names[0][1])
        yield from names if fills else _listed(scan, gap, _Need.EVIDENT)
    else:
        link = (gap["link"] or "") if gap else ""
        strong = bool(link) and not link.endswith("von")
        if strong and cue.group() == "Name" and _MINE.search(scan.before(cue.start(), 5)):
            yield from _listed(scan, gap, _Need.WORD)
            return
        for name in _listed(scan, gap, _Need.SHAPE if strong else _Need.EVIDENT):
            if strong or not words.is_brand(scan.text[slice(*name)]):
                yield name


def _meeting(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    gap = _NEXT.match(scan.text, cue.end())
    need = _Need.SHAPE if _ADDRESSED.search(cue.group()) else _Need.EVIDENT
    if any(_at(scan, gap, need, alone=False)):
        yield from _listed(scan, gap, _Need.SHAPE)


def _self(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    for name in _at(scan, _AFTER_SELF.match(scan.text, cue.end()), _Need.EVIDENT, alone=False):
        if _ALONE.match(scan.text, name[1]):
            yield name


def _behind(
    scan: Scan, cue: re.Match[str], gap: re.Pattern[str], need: _Need, *, alone: bool = True
) -> Iterator[Range]:
    return _at(scan, gap.match(scan.text, cue.end()), need, alone=alone)


def _listed(scan: Scan, gap: re.Match[str] | None, need: _Need) -> Iterator[Range]:
    """Yield the name after a gap ("Sommer, Ida" as well), and evident names after commas."""
    text = scan.text
    name = next(_at(scan, gap, need), None)
    while name:
        given = _GIVEN.match(text, name[1]) if " " not in text[slice(*name)] else None
        if given and is_given_name(given.group(1)):
            name = name[0], given.end()
        yield name
        following = _MORE.match(text, name[1])
        name = next(_at(scan, following, _Need.EVIDENT, alone=False), None)


def _closing(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    gap = _CLOSING_GAP.match(scan.text, cue.end())
    if not gap or gap.end() == cue.end():
        return
    apart = "\n" in gap.group() or "," in gap.group()
    for name in _at(scan, gap, _Need.WORD):
        if (apart and _SIGNED.match(scan.text, name[1])) or _name_at(scan, gap.end(), _Need.EVIDENT):
            yield name


def _greeting(scan: Scan, cue: re.Match[str]) -> Iterator[Range]:
    if _OPENING.search(scan.before(cue.start(), 8)):
        yield from _at(scan, _GREETED.match(scan.text, cue.end()), _Need.EVIDENT)


_READERS: Mapping[str, Callable[[Scan, re.Match[str]], Iterator[Range]]] = {
    "mister": _mister,
    "title": _title,
    "degree": partial(_behind, gap=_AFTER_TITLE, need=_Need.EVIDENT),
    "label": partial(_behind_label, need=_Need.ANY),
    "role": partial(_behind_label, need=_Need.SHAPE),
    "place": partial(_behind_label, need=_Need.SHAPE),
    "direct": lambda scan, cue: _listed(scan, _NEXT.match(scan.text, cue.end()), _Need.WORD),
    "meeting": _meeting,
    "sent": partial(_behind, gap=_SENT_TO, need=_Need.SHAPE, alone=False),
    "byline": partial(_behind, gap=_AFTER_BYLINE, need=_Need.FULL),
    "self": _self,
    "kin": partial(_behind, gap=_AFTER_NOUN, need=_Need.EVIDENT, alone=False),
    "party": partial(_behind, gap=_AFTER_NOUN, need=_Need.EVIDENT),
    "closing": _closing,
    "greeting": _greeting,
}

"""Words in names: their letters, the words that are no names, how a name is read; and nouns that are counted.

The lists are in `lists/`.
"""

import re
import string
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from builders.text.places import known_places

_FOLDER = Path(__file__).parent / "lists"


def lines_of(name: str) -> list[str]:
    """Return the lines of a list in `lists/`, comments left out."""
    lines = (_FOLDER / f"{name}.txt").read_text("utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


def words_of(name: str) -> frozenset[str]:
    """Return the words of a list in `lists/`."""
    return frozenset(word for line in lines_of(name) for word in line.split())


FIRST_NAMES = words_of("first_names")
FIRST_NAMES_BY_CUE = FIRST_NAMES | words_of("first_names_by_cue")
"""With those that are words, places or brands as well: evidence only behind a cue."""
SURNAMES = words_of("surnames")
_NO_NAMES = words_of("no_names")
_NOUNS = _NO_NAMES | words_of("nouns")
"""With those that may be a surname behind a first name."""
_BRANDS = frozenset(lines_of("brands"))


def _letters(category: str) -> str:
    """Return a character class of the letters of one case up to Cyrillic, and Vietnamese ones."""
    codes = [*range(0x41, 0x530), *range(0x1E00, 0x1F00)]
    wanted = [code for code in codes if unicodedata.category(chr(code)) == category]
    ranges: list[list[int]] = []
    for code in wanted:
        if ranges and code == ranges[-1][1] + 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges)


UPPER, LOWER = _letters("Lu"), _letters("Ll")
_SIMPLE = rf"[{UPPER}](?:['’]?[{LOWER}]|['’]?[{UPPER}][{LOWER}])[{LOWER}]{{0,24}}+"
_INNER = rf"(?:[-'’‐‑]?[{UPPER}][{LOWER}]{{1,24}}+){{0,3}}+"
_CAPITALS = rf"[{UPPER}]{{2,24}}+(?:-[{UPPER}]{{2,24}}+)?"
WORD = rf"(?:{_SIMPLE}{_INNER}|{_CAPITALS})(?![\w'’])"
"""A capitalised word of two and more letters, hyphens and apostrophes included: Müller-Groß, O’Neill."""

INITIALS = rf"(?:[{UPPER}]\.[ \u00a0-]?){{1,3}}"
PARTICLE = (
    r"(?:v(?:[ao]n|om)|zu[rm]?|d(?:e(?:l(?:la)?)?|i|a|os|u)|l[ae]|te[nr]|el|a[lf]|b[ie]n|Frei(?:herr|frau)|"
    r"Gr(?:af|äfin))"
)
PARTICLES = rf"(?:{PARTICLE}(?:[ ](?:der|den|dem|de|und[ ]zu|zu|la|von))?[ \u00a0]{{1,2}})"
_WITH_INITIALS = re.compile(rf"{INITIALS}({WORD})")
TITLES = (
    r"(?:-?(?:Prof|Dr|DDr|Dipl|Mag|Ing|Univ|Priv|Doz|Hon|em|med|dent|vet|jur|iur|phil|rer|nat|oec|pol|theol|habil|"
    r"techn|h\.[ ]?c|mult|M\.?A|B\.?A|M\.?Sc|B\.?Sc|LL\.?M|RA|PD|Kfm|Kffr|Kaufm|Psych|Päd|Inf|Phys|Math|Chem|"
    r"Biol|Soz|Wirt|Verw|Des|Volksw|Betriebsw)"
    r"(?:\.|(?!\w))(?:[ ]?\((?:FH|BA|TU|Univ\.?)\))?[ \u00a0]{0,2}){0,8}"
)
_SPACE = r"[ \u00a0]{1,2}"
_INNER_PARTICLES = frozenset("De Di Da Del Della La Le Lo Van Von El Al Abu Bin Ben Dos Du".split())
_PART = rf"(?:(?:V[ao]n[ ]de[rn]?[ ]|{PARTICLES}{{0,2}})(?:{INITIALS})?(?:[ae]l-)?{WORD})"
NAME = re.compile(rf"{PARTICLES}{{0,2}}(?:{INITIALS}[ \u00a0]?)?{WORD}(?:{_SPACE}{_PART}){{0,3}}")
"""A run of capitalised words with particles and initials; `person_in` says how much of it is a name."""

_SPLIT = re.compile(WORD)
_MONTHS_AND_NAMES = frozenset({"Mai", "Juli"})


def _by_tail(ends: Iterable[str], letters: int) -> dict[str, tuple[str, ...]]:
    """Return ends of words by their last letters, which are quickly looked up."""
    tails: dict[str, tuple[str, ...]] = {}
    for end in sorted(ends):
        tails[end[-letters:]] = (*tails.get(end[-letters:], ()), end)
    return tails


_NO_NAME_ENDS = _by_tail(words_of("no_name_ends"), 3)
_ALL_ENDS = _by_tail(words_of("no_name_ends") | words_of("noun_ends"), 3)
ORGANISATION = re.compile(
    r"[ \u00a0-]{1,2}(?:&[ ]|und[ ](?:Söhne|Partner|Co)|GmbH|gGmbH|AG\b|KG\b|SE\b|OHG|UG\b|e\.[ ]?V|Stiftung|"
    r"Institut|Schule|Gymnasium|Klinik|Haus\b|Preis\b|Straße|Str\.|Platz\b|Allee|Weg\b|Universität|Verlag|Versand|"
    r"Gruppe|Holding|Gesellschaft|Arena|Halle\b|Stadion)"
)
"""What follows a name that is a company's, a school's or a street's."""
_FOREIGN_ENDS = tuple(words_of("foreign_ends"))
_COMMON_LETTERS = frozenset(string.ascii_letters + "äöüßéèêàâçîôëïÄÖÜÉÈÀÇ" + "-'’‐‑")
"""Letters of German nouns, foreign words and signs within words included; others are those of names."""


def is_first_name(word: str, names: frozenset[str] = FIRST_NAMES) -> bool:
    """Say whether a word, or its first part, is a listed first name; capitals count as well."""
    if word in names:
        return True
    first = word.partition("-")[0] if "-" in word else word
    return first in names or (first.isupper() and first.title() in names)


def is_given_name(word: str) -> bool:
    """Say whether a word is a first name where something announces a name."""
    return is_first_name(word, FIRST_NAMES_BY_CUE)


def is_short_name(value: str) -> bool:
    """Say whether all of a value is listed first names, or initials and a listed surname."""
    if initials := _WITH_INITIALS.fullmatch(value.strip()):
        return is_surname(initials[1])
    words = value.replace("-", " ").split()
    return bool(words) and all(map(is_first_name, words))


def is_foreign(word: str) -> bool:
    """Say whether a word has letters that no German noun has."""
    return not word.isascii() and not _COMMON_LETTERS.issuperset(word)


def is_surname_like(word: str) -> bool:
    """Say whether a word is a listed surname, or has the ending or the letters of a foreign one."""
    return is_surname(word) or is_foreign(word) or (len(word) > 5 and word.casefold().endswith(_FOREIGN_ENDS))


def is_brand(name: str) -> bool:
    """Say whether a name is a brand's as well; capitals count as well."""
    return (name.title() if name.isupper() else name) in _BRANDS


def is_surname(word: str) -> bool:
    """Say whether a word, or one of its parts, is a listed surname; capitals count as well."""
    if word in SURNAMES:
        return True
    plain = word.title() if word.isupper() else word
    return plain in SURNAMES if "-" not in plain else not SURNAMES.isdisjoint(plain.split("-"))


def is_no_name(word: str, *, behind_first: bool = False) -> bool:
    """Say whether a capitalised word is a noun or an adjective; listed names are names.

    Behind a listed first name or a person's title only the surest nouns count.
    """
    if word in SURNAMES or word in FIRST_NAMES:
        return False
    plain = word.title() if word.isupper() else word
    if plain is not word and (plain in SURNAMES or plain in FIRST_NAMES):
        return False
    words = _NO_NAMES if behind_first else _NOUNS
    if plain in words or word in words:
        return True
    folded = plain.casefold()
    ends = _NO_NAME_ENDS if behind_first else _ALL_ENDS
    return len(plain) > 5 and folded.endswith(ends.get(folded[-3:], ()))


def person_in(run: str, *, sure: bool = False) -> tuple[str, list[str]]:
    """Cut a run that `NAME` matched behind its last word that can belong to a name; return name and words.

    After a listed first name one word more is read, after two of them another; an unknown first word may be a
    first name or a surname, so one word more is read as well; so are words beside letters that no German noun
    has. Where a person is announced (`sure`), only the surest nouns are no names.
    """
    kept: list[str] = []
    end = 0
    for match in _SPLIT.finditer(run):
        word = match[0]
        if kept and word in _INNER_PARTICLES:
            continue
        foreign = bool(kept) and is_foreign(kept[-1])
        if len(kept) >= 2 and not (is_first_name(kept[-1]) or foreign or is_foreign(word)):
            break
        behind_first = sure or (bool(kept) and is_given_name(kept[-1]))
        if is_no_name(word, behind_first=behind_first) and not (foreign and word in _MONTHS_AND_NAMES):
            break
        kept.append(word)
        end = match.end()
    return run[:end], kept


UNIT = re.compile(
    r"[ \u00a0]?(?:%|€|\$|°|(?:k?m|cm|kg|Uhr|Prozent|Euro|EUR|CHF|Jahren?|Tagen?|Wochen|"
    r"Monaten?|Mal|Meter|Kilometer|"
    r"Mio|Mrd|Millionen|Stunden|Punkten?|Plätzen?|Häusern?|bis|Grad|Stück)\b)|[.,:][0-9]"
    r"|\.[ ](?:J[aä]n|Feb|März|Apr|Mai|Ju[nl]i|Aug|Sep|Okt|Nov|Dez)"
)
"""A unit, a fraction, or the month of a day."""
_NOUN = re.compile(
    rf"[ \u00a0](?:(?:weitere|neue|alte|große|kleine|zusätzliche|volle|ganze|gute)[rn]?[ ])?"
    rf"([{UPPER}][{LOWER}]{{2,40}}+)(?![\w-])"
)
_PLURAL = ("e", "en", "er", "ern", "eln", "meter", "metern", "os")
_NO_PLURAL = words_of("no_plurals")
_TOWN_ENDS = re.compile(
    r"(?:berge|ingen|hausen|kirchen|hafen|haven|brücken|felden?|weiler|hofen|hagen|leben|rode|walde|see|linden|"
    r"werder|münde|beuren|stetten|bergen|burgen)\Z"
)
_FEWEST_OF_CALLS = 7
"""A number with so many digits, written without dots, counts no nouns."""


def counted(after: str, digits: int = 0) -> bool:
    """Say whether a number counts what follows it: a unit, or a plural noun that is no place or name."""
    return UNIT.match(after) is not None or (digits < _FEWEST_OF_CALLS and counted_noun(after))


def counted_noun(after: str) -> bool:
    """Say whether a noun in the plural follows a number, that is no place or name."""
    noun = _NOUN.match(after)
    word = noun[1] if noun else ""
    if word in _NO_PLURAL or word in FIRST_NAMES or not word.endswith(_PLURAL):
        return False
    return not _TOWN_ENDS.search(word) and word.casefold() not in known_places()

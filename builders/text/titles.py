"""The three keys of a job title, each coarser than the one before.

Equal merge keys are one query; queries of equal relevance keys are one group, which shares its positives;
equal leak keys never span splits.
"""

import re
import unicodedata
from collections.abc import Callable
from itertools import permutations

from builders.spec import ALL_KINDS, plain
from builders.text.gender import with_slash, without_feminine_forms, without_paired_forms
from builders.text.places import without_trailing_place

_PASSES = 12  # removing one thing may uncover another; bounded, so that no title takes more than linear time

# Signs that mean a slash or a hyphen: those of fractions and divisions, hyphens that do not break.
_LOOK_ALIKES = str.maketrans({"\u2044": "/", "\u2215": "/", "\uff0f": "/", "\u2010": "-", "\u2011": "-"})

_SEX = r"(?:männlich|weiblich|divers|div\.?|inter|gn|[mwdfxin])"
_BETWEEN = r"(?: ?[/|\\*:;,_+.·•‧∙&-] ?| )"
_GENDER_WORD = (
    r"(?:mwd|wmd|dmw|gn\*?|div\.?|divers|a?\*|alle|alle geschlechter|all genders?|any gender|geschlecht egal"
    r"|geschlechtsneutral)"
)
_GENDER_IN_BRACKETS = re.compile(
    rf"[(\[{{] ?(?:(?=[^)\]}}]{{0,20}}[mwf]){_SEX}(?:{_BETWEEN}(?:{_SEX}|\*)){{1,5}}[*.]?"
    rf"|{_GENDER_WORD}) ?[)\]}}]"
)
_SLASH = r"[/|*:-]"
_BOTH = rf"(?:m{_SLASH}[wf]|[wf]{_SLASH}m)"
_GENDER_BARE = re.compile(
    rf"(?<![\w/|*:-])(?:d{_SLASH})?{_BOTH}(?:{_SLASH}(?:{_SEX}|\*)){{0,3}}\*?(?![\w/|*:-])"
)

_NUMBER = r"(?:nr|nummer|no|id|code|kennung)"
_ADVERTISED = (
    r"(?:job|stellen?|stellenanzeigen?|anzeigen?|vakanz|requisition|req|ausschreibungs?|angebots?|auftrags?)"
)
_LABEL = (
    rf"(?:ref(?:erenz)?(?:[ .-]{{0,3}}{_NUMBER})?|kenn(?:ziffer|zahl|nummer|ung|-?nr)"
    rf"|chiffre(?:[ -]?{_NUMBER})?|{_ADVERTISED}[ .-]{{0,3}}{_NUMBER})"
)
_PLACEHOLDERS = sorted({kind.placeholder.casefold() for kind in ALL_KINDS})
_WORDS = {"<url>", "<email>", "<handle>", "<address>", "<person>"}
_PLACEHOLDER = "|".join(_PLACEHOLDERS)
_NUMBER_PLACEHOLDER = "|".join(placeholder for placeholder in _PLACEHOLDERS if placeholder not in _WORDS)
# Further blocks of digits are part of a number unless a word follows: not that of "Ref. 4711 40 Std."
_BLOCKS = r"(?:(?: \d[\d._/-]{0,20}){1,4}+(?! ?\w))?"
_CODE = r"(?:[a-z]{1,5} )?(?=[a-z._/-]{0,20}\d)[a-z0-9._/-]"
_ANY_CODE = rf"(?:{_CODE}{{1,40}}{_BLOCKS}|{_NUMBER_PLACEHOLDER})"
# "ID" by itself needs a sign, brackets or a longer number: "Pflegefachkraft ID 3 Station" names a ward.
_LABELLED = (
    rf"(?:{_LABEL}(?!\w)[ .:#=-]{{0,4}}{_ANY_CODE}"
    rf"|id(?:[ .-]{{0,2}}[:#=] ?{_ANY_CODE}|[ .-]{{1,2}}(?:{_CODE}{{3,40}}{_BLOCKS}|{_NUMBER_PLACEHOLDER})))"
)
_REFERENCE = re.compile(rf" ?(?:[-–—|,;/] ?)?[(\[]? ?(?<!\w){_LABELLED} ?[)\]]?")
_BRACKETED_ID = re.compile(rf" ?[(\[] ?id[ .:#=-]{{0,4}}{_ANY_CODE} ?[)\]]")
_BARE_REFERENCE = re.compile(
    r"#\d{2,12}(?!\w)|(?:(?: [-–—|]|[,;]) ?|[(\[] ?)"
    r"[a-z]{0,4}[-/]?(?:\d{1,5}[-/])?\d{5,12}(?:[-/][a-z0-9]{1,8})?(?: ?[)\]]|$)"
)

_CUES = (
    r"(?:tel(?:efon)?|fon|mobil|handy|fax|whatsapp|e-?mail|mail|web|www|link|infos?|kontakt|rückfragen"
    r"|bewerbung(?:en)?|ansprechpartner(?:in)?|z\. ?hd|z\. ?h|zu händen|frau|herrn?|dr|prof)"
)
_LINKS = r"(?:an|bei|unter|per|von|und|oder)"
_CONTACT = re.compile(rf"(?:(?<!\w)(?:{_CUES}|{_LINKS})(?!\w)[.:,]{{0,2}} ?){{0,6}}(?:{_PLACEHOLDER})")
# A cue, or contact data whose form alone is proof, announces all that follows it in one run.
_ANNOUNCED = re.compile(
    rf"(?:(?<!\w){_CUES}(?!\w)|<email>|<url>|<handle>|<address>)"
    rf"(?:[ .:,;/()–-]{{0,3}}(?:{_CUES}(?!\w)|{_LINKS}(?!\w)|{_PLACEHOLDER})){{0,9}}"
)
_UNCUED = re.compile(rf"<person>|{_NUMBER_PLACEHOLDER}")
_LEGAL_FORM = re.compile(
    r"(?:^|[ ,])(?:(?:&|und|\+) ?co\b\.?|(?:(?:&|und|\+) ?)?co\.? ?(?:kg|ohg)|g?gmbh|mbh|ag|kg|kgaa|ohg|gbr"
    r"|ug|e\. ?v\.|e\. ?k\.|ltd\b\.?|inc\b\.?)(?: ?\(haftungsbeschränkt\))?$"
)

_MARKS = {"".join(m) for third in ("", *"dxi") for second in "wf" for m in permutations(f"m{second}{third}")}
_LOOSE_MARK = re.compile(
    r"(?<!\w)(?:"
    + "|".join("[ ./|*:_-]{0,2}".join(mark) for mark in sorted(_MARKS, key=lambda mark: (-len(mark), mark)))
    + r"|gn|divers|all genders?|alle geschlechter)(?!\w)"
)
_PART = r"(?:voll|teil)"
_TERMS = re.compile(
    rf"(?<!\w)(?:ab sofort|zum nächstmöglichen zeitpunkt|(?:un)?befristet|gesucht"
    rf"|(?:in |als )?(?:{_PART}(?:zeit)?-? ?(?:[/&,+]|und|oder) ?)?{_PART}zeit)(?!\w)"
)
_ORNAMENT = re.compile(r"[!?…*\"'„“”‚‘’»«›‹`´]")
# An address that the scrubber did not know, say one with a blank in it, tells nothing about the job.
_ADDRESS = re.compile(r"\S{0,80}@\S{0,80}(?: [\w-]{1,60}\.[a-z]{2,4}(?!\w))?")
_TRANSCRIBED = re.compile(r"([aou])e")

_EMPTY_BRACKETS = re.compile(r"\( ?\)|\[ ?\]|\{ ?\}")
_SPACE_BEFORE = re.compile(r" (?=[,;:)\]])|(?<=[(\[]) ")
_DOUBLED_SEPARATOR = re.compile(r"(?<= )[-–—|] (?=[-–—|] )|[,;] ?(?=[,;])")
_DANGLING = " -–—|,;:/*&·•"


def merge_key(text: str) -> str:
    """Return the key under which titles are one query.

    The title case-folded, without gender markers ("(m/w/d)", "m/w/d", "(gn)", "(all genders)") and reference
    numbers ("- Ref. 12345/A", "(ID 4711)"; such a number contains a digit), "KochIn" written as "koch/in". A
    key of a key is that key.

    Empty where nothing is left of a normalised and scrubbed title, or nothing but placeholders.
    """
    key = _stable(_merge_step, with_slash(unicodedata.normalize("NFC", text)))
    return key if _tidy(re.sub(_PLACEHOLDER, " ", key)) else ""


def relevance_key(key: str) -> str:
    """Return the key of the group of queries that share their positives.

    The merge key without placeholders and the words that lead to them ("Tel.", "z.Hd. Herrn"), a trailing
    place, tails of legal forms ("& Co", "GmbH"), and with paired gender forms as one; "C", "C++" and "C#"
    differ. A key of a key is that key.

    The merge key itself where nothing else is left, so that such titles do not become one group.
    """
    return _stable(_relevance_step, key) or key


def leak_key(key: str) -> str:
    """Return the key of queries that may be twins and must not be parted by the splits.

    The relevance key as one run of letters and digits: without punctuation, hyphens, spaces, gender markers
    in whatever form ("mwd", "m.w.d."), feminine forms, working hours and "ab sofort", with "ae" as "ä". Much
    that means something falls away ("C++" is "C"): it decides who is dealt together, and nothing else.

    Never empty where the relevance key is not.
    """
    letters = unicodedata.normalize("NFKD", _stable(_leak_step, key) or key)
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain(_TRANSCRIBED.sub(r"\1", bare)) or plain(key)


def has_uncued(key: str) -> bool:
    """Say whether a name, a plate or a number was replaced in a merge key that no contact cue announces.

    "ingenieur, tel. <phone>" has none; "projektleiter: <person>" has one, which may have been a trade.
    """
    return _UNCUED.search(_ANNOUNCED.sub(" ", key)) is not None


def _stable(step: Callable[[str], str], text: str) -> str:
    for _ in range(_PASSES):
        after = step(text)
        if after == text:
            break
        text = after
    return text


def _merge_step(text: str) -> str:
    folded = unicodedata.normalize("NFC", text.casefold()).translate(_LOOK_ALIKES)
    for pattern in (_GENDER_IN_BRACKETS, _GENDER_BARE, _BRACKETED_ID, _REFERENCE, _BARE_REFERENCE):
        folded = pattern.sub(" ", folded)
    return _tidy(folded)


def _relevance_step(text: str) -> str:
    without_contact = _tidy(_CONTACT.sub(" ", text))
    without_tail = without_trailing_place(_LEGAL_FORM.sub("", without_contact))
    return _tidy(without_paired_forms(_tidy(without_tail)))


def _leak_step(text: str) -> str:
    without_marks = _LOOSE_MARK.sub(" ", _ORNAMENT.sub(" ", _ADDRESS.sub(" ", text)))
    without_terms = _tidy(_TERMS.sub(" ", without_marks).rstrip(" ."))
    return _relevance_step(without_feminine_forms(without_terms))


def _tidy(text: str) -> str:
    """Fold white space and clean up after a removal: empty brackets, doubled and dangling separators."""
    text = _EMPTY_BRACKETS.sub(" ", text)
    text = _SPACE_BEFORE.sub("", " ".join(text.split()))
    return _DOUBLED_SEPARATOR.sub("", text).lstrip(_DANGLING + ")]}").rstrip(_DANGLING + "([{")

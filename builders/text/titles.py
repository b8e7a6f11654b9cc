"""The two keys of a job title: equal merge keys are one query, equal group keys never span splits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from builders.personal.kinds import ALL_KINDS
from builders.text.gender import without_paired_forms
from builders.text.places import without_trailing_place

_PASSES = 12  # removing one thing may uncover another; bounded, so that no title takes more than linear time

_SEX = r"(?:männlich|weiblich|divers|div\.?|inter|gn|[mwdfxin])"
_BETWEEN = r"(?: ?[/|\\*:;,_+.·•‧∙&-] ?| )"
_GENDER_WORD = (
    r"(?:mwd|wmd|dmw|gn\*?|div\.?|divers|a?\*|alle|alle geschlechter|all genders?|any gender|geschlecht egal"
    r"|geschlechtsneutral)"
)
_GENDER_IN_BRACKETS = re.compile(
    rf"[(\[{{] ?(?:(?=[^)\]}}]{{0,20}}[mwf]){_SEX}(?:{_BETWEEN}{_SEX}){{1,5}}\*?|{_GENDER_WORD}) ?[)\]}}]"
)
_SLASH = r"[/|*:-]"
_BOTH = rf"(?:m{_SLASH}[wf]|[wf]{_SLASH}m)"
_GENDER_BARE = re.compile(rf"(?<![\w/|*:-])(?:d{_SLASH})?{_BOTH}(?:{_SLASH}{_SEX}){{0,3}}\*?(?![\w/|*:-])")

_NUMBER = r"(?:nr|nummer|no|id|code|kennung)"
_ADVERTISED = (
    r"(?:job|stellen?|stellenanzeigen?|anzeigen?|vakanz|requisition|req|ausschreibungs?|angebots?|auftrags?)"
)
_LABEL = (
    rf"(?:ref(?:erenz)?(?:[ .-]{{0,3}}{_NUMBER})?|kenn(?:ziffer|zahl|nummer|ung|-?nr)"
    rf"|chiffre(?:[ -]?{_NUMBER})?|{_ADVERTISED}[ .-]{{0,3}}{_NUMBER}|id)"
)
_REFERENCE = re.compile(
    rf" ?(?:[-–—|,;/] ?)?[(\[]? ?(?<!\w){_LABEL}(?!\w)[ .:#=-]{{0,4}}"
    r"(?:[a-z]{1,5} )?(?=[a-z._/-]{0,20}\d)[a-z0-9._/-]{1,40} ?[)\]]?"
)
_BARE_REFERENCE = re.compile(
    r"#\d{2,12}(?!\w)|(?:(?: [-–—|]|[,;]) ?|[(\[] ?)"
    r"[a-z]{0,4}[-/]?(?:\d{1,5}[-/])?\d{5,12}(?:[-/][a-z0-9]{1,8})?(?: ?[)\]]|$)"
)

_PLACEHOLDER = "|".join(sorted({re.escape(kind.placeholder.casefold()) for kind in ALL_KINDS}))
_LEADS_TO_CONTACT = (
    r"tel(?:efon)?|fon|mobil|handy|fax|whatsapp|e-?mail|mail|web|www|link|infos?|kontakt|rückfragen"
    r"|bewerbung(?:en)?|ansprechpartner(?:in)?|z\. ?hd|z\. ?h|zu händen|frau|herrn?|dr|prof"
    r"|an|bei|unter|per|von|und|oder"
)
_CONTACT = re.compile(rf"(?:(?<!\w)(?:{_LEADS_TO_CONTACT})(?!\w)[.:,]{{0,2}} ?){{0,6}}(?:{_PLACEHOLDER})")
_LEGAL_FORM = re.compile(
    r"(?:^|[ ,])(?:(?:&|und|\+) ?co\b\.?|(?:(?:&|und|\+) ?)?co\.? ?(?:kg|ohg)|g?gmbh|mbh|ag|kg|kgaa|ohg|gbr"
    r"|ug|e\. ?v\.|e\. ?k\.|ltd\b\.?|inc\b\.?)(?: ?\(haftungsbeschränkt\))?$"
)

_EMPTY_BRACKETS = re.compile(r"\( ?\)|\[ ?\]|\{ ?\}")
_SPACE_BEFORE = re.compile(r" (?=[,;:)\]])|(?<=[(\[]) ")
_DOUBLED_SEPARATOR = re.compile(r"(?<= )[-–—|] (?=[-–—|] )|[,;] ?(?=[,;])")
_DANGLING = " -–—|,;:/*&·•"


def merge_key(text: str) -> str:
    """Return the key under which titles are one query.

    The title case-folded, without gender markers ("(m/w/d)", "m/w/d", "(gn)", "(all genders)") and reference
    numbers ("- Ref. 12345/A", "(ID 4711)"; such a number contains a digit). A key of a key is that key.

    Args:
        text: A title, normalised and scrubbed.

    Returns:
        The key; empty where nothing is left, or nothing but placeholders.
    """
    key = _stable(_merge_step, text)
    return key if _tidy(re.sub(_PLACEHOLDER, " ", key)) else ""


def group_key(key: str) -> str:
    """Return the key of the group of queries that must stay in one split.

    The merge key without placeholders and the words that lead to them ("Tel.", "z.Hd. Herrn"), a trailing
    place, tails of legal forms ("& Co", "GmbH"), and with paired gender forms as one. A key of a key is that
    key.

    Args:
        key: A merge key.

    Returns:
        The group key; the merge key itself where nothing else is left, so that such titles do not become one
        group.
    """
    return _stable(_group_step, key) or key


def _stable(step: Callable[[str], str], text: str) -> str:
    for _ in range(_PASSES):
        after = step(text)
        if after == text:
            break
        text = after
    return text


def _merge_step(text: str) -> str:
    folded = unicodedata.normalize("NFC", text.casefold())
    for pattern in (_GENDER_IN_BRACKETS, _GENDER_BARE, _REFERENCE, _BARE_REFERENCE):
        folded = pattern.sub(" ", folded)
    return _tidy(folded)


def _group_step(text: str) -> str:
    without_contact = _tidy(_CONTACT.sub(" ", text))
    without_tail = without_trailing_place(_LEGAL_FORM.sub("", without_contact))
    return _tidy(without_paired_forms(_tidy(without_tail)))


def _tidy(text: str) -> str:
    """Fold white space and clean up after a removal: empty brackets, doubled and dangling separators."""
    text = _EMPTY_BRACKETS.sub(" ", text)
    text = _SPACE_BEFORE.sub("", " ".join(text.split()))
    return _DOUBLED_SEPARATOR.sub("", text).lstrip(_DANGLING + ")]}").rstrip(_DANGLING + "([{")

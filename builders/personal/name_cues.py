"""What announces the name of a person in German text, and the pattern that finds it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_IN = r"(?:[/:*\x5f]?in(?:nen)?|\(in\)|/-in)?"
"""The feminine ending, in the ways in which it is written behind a masculine word."""

_LABELS = r"""
    Ansprechpartner ANSPRECHPARTNER Ansprechperson Abteilungsleiter Autor Bauleiter Bearbeiter Berater
    Bereichsleiter Betreuer Bewerber Datenschutzbeauftragter?n? Fahrer Familienname Geschäftsführ(?:er|ung)
    Halter Inhaber Inh\. Kassenwart Klassenlehrer Kontaktperson Kontoinhaber Kunde Kundin Mieter Nachname Name
    NAME Patient Personalleiter Pflegedienstleitung Projektleiter Redaktion Rufname Sachbearbeiter
    Schriftführer Schüler Teamleiter Trainer Unterschrift Unterzeichner Verfasser Vermieter
    Vertretungsberechtigte?r? Vorname Vorsitzender? Zahlungsempfänger Zeuge Zeugin Zuname
"""
_PLACES = r"""
    Absender Auskünfte Auskunft Bewerbung(?:en)? Einsatzleitung Empfänger Kontakt KONTAKT Leistungsempfänger
    Leiter Leitung Lieferung Personalreferent Rückfragen Verantwortlich Vertretung Vorstand Zustellung
"""
_CUES = {
    "mister": r"Herrn? HERRN? Hrn?\. Frau FRAU Fr\. Fräulein Familie Fam\. Eheleute",
    "title": r"Dr\. DDr\. Prof\. Priv\.-Doz\. Univ\.-Prof\. PD(?=_)",
    "degree": rf"Dipl\. Mag\. Ing\. Rechtsanwalt Rechtsanwältin RA(?=_) Pfarrer{_IN} Bürgermeister{_IN}",
    "label": " ".join(label + _IN for label in _LABELS.split()),
    "place": " ".join(place + _IN for place in _PLACES.split()),
    "direct": r"""
        gez\. A\.(?<=[iI]\._A\.) A\.(?<=[iI]\.A\.) V\.(?<=[iI]\._V\.) V\.(?<=[iI]\.V\.) Hd\.(?<=[zZ]\._Hd\.)
        Hd\.(?<=[zZ]\.Hd\.) H\.(?<=[zZ]\.H\.) Hd\.(?<=[zZ]u_Hd\.) Händen(?<=[zZ]u_Händen)
        heiße(?<=[iI]ch_heiße) c/o
    """,
    "meeting": r"""
        vertreten_durch Vertreten_durch beantwortet(?:_Ihnen)?(?:_gerne?)? bin_(?:der|die)
        Sie_sich(?:_bitte)?_(?:an|bei)
    """,
    "closing": r"""
        Gr(?:ü(?:ß|ss)en?|u(?:ß|ss))(?!\w) GRÜ(?:ß|SS)EN? grü(?:ß|ss)t MfG LG VG Herzlichst Hochachtungsvoll
    """,
    "greeting": r"""
        Liebe[rs]? liebe[rs]? Dear Hallo Hi Hey Moin Servus Grüezi Hoi Guten_(?:Tag|Morgen|Abend) geehrter?
    """,
}
"""Patterns by rule, separated by white space; an underscore is a space."""

CUES: Mapping[str, list[str]] = {
    rule: [cue.replace("_", "[ ]") for cue in cues.split()] for rule, cues in _CUES.items()
}
"""Cues by the rule that reads on after them. Each begins with a letter as it stands."""


def _by_letter() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield for each first letter a pattern of its cues, whose groups are the rules."""
    for letter in sorted({cue[0] for cues in CUES.values() for cue in cues}):
        own = {rule: [cue for cue in cues if cue[0] == letter] for rule, cues in CUES.items()}
        groups = (f"(?P<{rule}>{'|'.join(cues)})" for rule, cues in own.items() if cues)
        yield letter, re.compile("|".join(groups))


CUE = dict(_by_letter())
"""Patterns that say which cue stands at a place, by the letter that stands there."""
ANY_CUE = re.compile(
    "|".join(
        f"{letter}(?:{'|'.join(cue[1:] for cues in CUES.values() for cue in cues if cue[0] == letter)})"
        for letter in CUE
    )
)
"""Where a cue stands: a tree of one level, so that the engine skips all letters that begin none."""

"""What announces the name of a person in German text, and the pattern that finds it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_IN = r"(?:[/:*_]?in(?:nen)?|\(in\)|/-in)?"
"""The feminine ending, in the ways in which it is written behind a masculine word."""

_LABELS = r"""
    Ansprechpartner ANSPRECHPARTNER Ansprechperson Abteilungsleiter Autor Bauleiter Bearbeiter Berater Bereichsleiter
    Betreuer Bewerber Datenschutzbeauftragter?n? Fahrer Familienname Geschäftsführ(?:er|ung) Halter Inhaber Inh\.
    Kassenwart Klassenlehrer Kontaktperson Kontoinhaber Kunde Kundin Mieter Nachname Name NAME Patient Personalleiter
    Pflegedienstleitung Projektleiter Redaktion Rufname Sachbearbeiter Schriftführer Schüler Teamleiter Trainer
    Unterschrift Unterzeichner Verfasser Vermieter Vertretungsberechtigte?r? Vorname Vorsitzender? Zahlungsempfänger
    Zeuge Zeugin Zuname
"""
_PLACES = r"""
    Absender Auskünfte Auskunft Bewerbung(?:en)? Einsatzleitung Empfänger Kontakt KONTAKT Leistungsempfänger Leiter
    Leitung Lieferung Personalreferent Rückfragen Verantwortlich Vertretung Vorstand Zustellung
"""
CUES: Mapping[str, list[str]] = {
    "mister": r"Herrn? HERRN? Hrn?\. Frau FRAU Fr\. Fräulein Familie Fam\. Eheleute".split(),
    "title": r"Dr\. DDr\. Prof\. Priv\.-Doz\. Univ\.-Prof\. PD(?=\u0020)".split(),
    "degree": [
        *r"Dipl\. Mag\. Ing\. Rechtsanwalt Rechtsanwältin RA(?=[\u0020\u00a0]) Pfarrer Pfarrerin".split(),
        "Bürgermeister" + _IN,
    ],
    "label": [label + _IN for label in _LABELS.split()],
    "place": [place + _IN for place in _PLACES.split()],
    "direct": r"""
        gez\. A\.(?<=[iI]\.\u0020A\.) A\.(?<=[iI]\.A\.) V\.(?<=[iI]\.\u0020V\.) V\.(?<=[iI]\.V\.) Hd\.(?<=[zZ]\.\u0020Hd\.)
        Hd\.(?<=[zZ]\.Hd\.) H\.(?<=[zZ]\.H\.) Hd\.(?<=[zZ]u\u0020Hd\.) Händen(?<=[zZ]u\u0020Händen) heiße(?<=[iI]ch\u0020heiße) c/o
    """.split(),
    "meeting": r"""
        vertreten\u0020durch Vertreten\u0020durch beantwortet(?:\u0020Ihnen)?(?:\u0020gerne?)? bin\u0020(?:der|die)
        Sie\u0020sich(?:\u0020bitte)?\u0020(?:an|bei)
    """.split(),
    "closing": r"Gr(?:ü(?:ß|ss)en?|u(?:ß|ss))(?!\w) GRÜ(?:ß|SS)EN? grü(?:ß|ss)t MfG LG VG Herzlichst Hochachtungsvoll".split(),
    "greeting": r"""
        Liebe[rs]? liebe[rs]? Dear Hallo Hi Hey Moin Servus Grüezi Hoi Guten\u0020(?:Tag|Morgen|Abend) geehrter?
    """.split(),
}
"""Cues by the rule that reads on after them. Each begins with a letter as it stands."""


def _by_first_letter(cues: Iterable[str]) -> re.Pattern[str]:
    """Compile alternatives as a tree of one level: the engine skips all letters that begin none of them."""
    endings: dict[str, list[str]] = {}
    for cue in cues:
        endings.setdefault(cue[0], []).append(cue[1:])
    return re.compile("|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in sorted(endings.items())))


ANY_CUE = _by_first_letter(cue for cues in CUES.values() for cue in cues)
"""Where a cue stands; `CUE` says which."""
CUE = re.compile("|".join(f"(?P<{rule}>{'|'.join(cues)})" for rule, cues in CUES.items()))

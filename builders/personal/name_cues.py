"""What announces the name of a person in German text, and the pattern that finds it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_IN = r"(?:[/:*\x5f]?in(?:nen)?|\(in\)|/-in)?"
"""The feminine ending, in the ways in which it is written behind a masculine word."""

_LABELS = r"""
    Ansprechpartner ANSPRECHPARTNER Ansprechpartnern? Ansprechperson Bewerber Datenschutzbeauftragter?n?
    Familienname Geschäftsführ(?:er|ung) Halter Inhaber Inh\. Kassenwart Kontaktperson Kontoinhaber Kunde
    Kundin Mieter Nachname Name NAME Patient Rufname Schriftführer Unterschrift Unterzeichner Verfasser
    Vermieter Vertretungsberechtigte?r? Vorname Vorsitzender? Zahlungsempfänger Zuname
"""
_ROLES = r"""
    Abteilungsleiter Autor Bauleiter Bearbeiter Berater Bereichsleiter Betreuer Fahrer Filialleiter
    Klassenlehrer Marktleiter Moderation Moderator Personalleiter Pflegedienstleitung Projektleiter Protokoll
    Recruiter Redaktion Redakteur Regie Sachbearbeit(?:er|ung) Schüler Standortleiter Stationsleit(?:er|ung)
    Teamleit(?:er|ung) Teilnehmer Trainer Übersetzung
"""
_PLACES = r"""
    Absender Anwesend Auskünfte Auskunft Bewerbung(?:en)? Einsatzleitung Empfänger Kontakt KONTAKT
    Leistungsempfänger Leiter Leitung Lieferung Personalreferent Rückfragen Überweisung(?:en)?
    Verantwortlich Vertretung Vorstand Zustellung
"""
_KIN = r"""
    Angeklagter? Arbeitskolleg(?:e|in) Bekannter? Bruder Chef(?:in)? Cousine? Enkel(?:in)? Ex
    Freund(?:in)? Kolleg(?:e|in) Kumpel Mann Mitbewohner(?:in)? Mitglied Mutter Nachbar(?:in)? Neffe Nichte
    Oma Onkel Opa Partner(?:in)? Schwager Schwägerin Schwester Sohn Tante(?!_Emma) Tochter Vater Verlobter?
    Zeug(?:e|in)
"""
_END = r"(?:(?<=[.:])|(?![^\W\d_]))"
"""A cue ends where its word ends: "Ex" is none in "Export"."""
_SENT = "richte schicke sende"
_ADVERBS = "(?:_(?:bitte|gerne?|einfach|direkt|auch|jederzeit|vorab|dann)){0,2}"
_CUES = {
    "mister": r"Herrn? HERRN? Hrn?\. Frau FRAU Fr\. Fräulein Familie Fam\. Eheleute",
    "title": r"Dr\. DDr\. Prof\. Priv\.-Doz\. Univ\.-Prof\. PD(?=_)",
    "degree": rf"Dipl\. Mag\. Ing\. Rechtsanwalt Rechtsanwältin RA(?=_) Pfarrer{_IN} Bürgermeister{_IN}",
    "label": " ".join(label + _IN for label in _LABELS.split()),
    "role": " ".join(role + _IN for role in _ROLES.split()),
    "place": " ".join(place + _IN for place in _PLACES.split()),
    "direct": r"""
        gez\. A\.(?<=[iI]\._A\.) A\.(?<=[iI]\.A\.) V\.(?<=[iI]\._V\.) V\.(?<=[iI]\.V\.) Hd\.(?<=[zZ]\._Hd\.)
        Hd\.(?<=[zZ]\.Hd\.) H\.(?<=[zZ]\.H\.) Hd\.(?<=[zZ]u_Hd\.) Händen(?<=[zZ]u_Händen)
        heiße(?<=[iI]ch_heiße) c/o
    """,
    "meeting": rf"""
        vertreten_durch Vertreten_durch beantwortet(?:_Ihnen)?(?:_gerne?)? bin_(?:der|die)
        steht(?:_(?:Ihnen|dir|euch))?{_ADVERBS} stehen_Ihnen{_ADVERBS} gibt(?:_(?:Ihnen|dir|euch))?{_ADVERBS}
        Sie(?:_sich)?{_ADVERBS}_(?:an|bei) dich{_ADVERBS}_(?:an|bei) Dich{_ADVERBS}_(?:an|bei)
        Euch{_ADVERBS}_(?:an|bei) Meldet_euch{_ADVERBS}_bei bekommen_Sie_(?:von|bei) hei(?:ß|ss)t
        Namen(?<=den_Namen)
    """,
    "sent": " ".join(f"{verb}n? {verb.capitalize()}n?" for verb in _SENT.split()),
    "byline": r"""
        Von Interview_mit Gespräch_mit Artikel_von Beitrag_von Bericht_von Fotos?_von Gastbeitrag_von
        Kommentar_von Leserbrief_von Text_von Trauer_um Text: Fotos?: Bild(?:er)?: Interview:
        Unterzeichnet_von Verfasst_von verfasst_von geschrieben_von
    """,
    "self": r"bin(?<=[iI]ch_bin)(?:_übrigens)? Danke danke",
    "kin": _KIN,
    "closing": r"""
        Gr(?:ü(?:ß|ss)en?|u(?:ß|ss))(?!\w) GRÜ(?:ß|SS)EN? grü(?:ß|ss)t MfG LG VG Lg Vg lg vg Herzlichst
        Hochachtungsvoll
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
        groups = (f"(?P<{rule}>(?:{'|'.join(cues)}){_END})" for rule, cues in own.items() if cues)
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


CUE = dict(_by_letter())
"""Patterns that say which cue stands at a place, by the letter that stands there."""


def _standing(before: str, *, capital: bool) -> re.Pattern[str]:
    """Return the pattern of cues that begin with a capital letter or a small one."""
    cues = {cue for cues in CUES.values() for cue in cues if cue[0].isupper() is capital}
    return re.compile(f"{before}(?P<cue>{_tree(sorted(cues))}){_END}")


ANY_CUE = (_standing("", capital=True), _standing('[ \n\0\x01\u00a0(*>"\u201e»/]', capital=False))
"""Where a cue stands: trees, so that the engine skips all letters that begin none. Small letters begin most
words, so those cues are looked for behind a space or sign, and once at the text's start."""
FIRST_CUE = _standing("", capital=False)
"""A cue at a text's start."""
_MASCULINE = """
    anwohner autor berater besitzer betreuer bewohner chef direktor elektriker fahrer forscher fotograf freund
    händler inhaber kandidat kanzler kläger künstler lehrer leiter maler meister minister mitarbeiter musiker
    nachbar partner pfleger politiker professor präsident redakteur regisseur rentner schauspieler schüler
    senator spieler sprecher student sänger therapeut trainer unternehmer vermieter vorsteher wirt
"""
_BOTH = """
    abgeordnete abgeordneter abgeordneten angeklagte angeklagter angeklagten anwalt anwältin arzt ärztin
    beauftragte beauftragter bruder ehefrau ehemann experte expertin jährige jähriger jährigen kollege
    kollegin mitglied mutter rätin schwester sohn tochter vater vorsitzende vorsitzender witwe
    witwer zeuge zeugin
"""
_SMALL_ENDS = [*(noun + ending for noun in _MASCULINE.split() for ending in ("", "in")), *_BOTH.split()]
ROLE_ENDS = tuple(form for end in _SMALL_ENDS for form in (end, end.capitalize()))
"""Ends of words behind which an unlisted first name and a surname are a person's name: roles and kin."""
ROLE_TAILS = frozenset(f"{end[-4:]} " for end in ROLE_ENDS)
"""Their last letters and a space, which are quickly looked up."""

"""Words in names: their letters, the words that are no names, and how a name is read."""

from __future__ import annotations

import re
import unicodedata

from builders.personal.first_names import FIRST_NAMES
from builders.personal.surnames import SURNAMES


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
    r"(?:von|van|zu|zur|zum|vom|de|di|da|del|della|dos|du|la|le|ten|ter|el|al|bin|ben|af|Freiherr|Freifrau|Graf|"
    r"Gräfin)"
)
PARTICLES = rf"(?:{PARTICLE}(?:[ ](?:der|den|dem|de|und[ ]zu|zu|la|von))?[ \u00a0]{{1,2}})"
TITLES = (
    r"(?:-?(?:Prof|Dr|DDr|Dipl|Mag|Ing|Univ|Priv|Doz|Hon|em|med|dent|vet|jur|iur|phil|rer|nat|oec|pol|theol|habil|"
    r"techn|h\.[ ]?c|mult|M\.?A|B\.?A|M\.?Sc|B\.?Sc|LL\.?M|RA|PD|Kfm|Kffr|Kaufm|Psych|Päd|Inf|Phys|Math|Chem|"
    r"Biol|Soz|Wirt|Verw|Des|Volksw|Betriebsw)"
    r"(?:\.|(?!\w))(?:[ ]?\((?:FH|BA|TU|Univ\.?)\))?[ \u00a0]{0,2}){0,8}"
)
_SPACE = r"[ \u00a0]{1,2}"
_PART = rf"(?:{PARTICLES}{{0,2}}(?:{INITIALS})?{WORD})"
NAME = re.compile(rf"{PARTICLES}{{0,2}}(?:{INITIALS}[ \u00a0]?)?{WORD}(?:{_SPACE}{_PART}){{0,3}}")
"""A run of capitalised words with particles and initials; `person_in` says how much of it is a name."""

_SPLIT = re.compile(rf"({WORD})")

NO_NAMES = frozenset(
    """
    Dr Prof Mag Ing Dipl Aber Abteilung Adresse Agentur Aktion Alle Allen Alles Allgemein Als Alter Am
    An Anbei Anfang Anfrage Angabe Angebot Angehörige Anlage Anmeldung Anschrift Ansprechpartner
    Ansprechpartnerin Ansprechpartnern Ansprechperson Antrag Anwalt Anzeige April Arbeit Arbeitgeber
    Arbeitsplatz Arzt Auch Auf Auftrag Aufgabe Aufgaben August Aus Auskunft Auskünfte Ausbildung Außen
    Ausweis Bank Beginn Bei Beide Beim Bereich Beruf Betreff Betreffend Betrag Bewerber Bewerberin
    Bewerbung Bewerbungen Bin Bis Bitte Brief Buchhaltung Bund Bus Bürger Bürgerinnen Chance Chef Chefin
    Da Damen Danach Daher Dank Danke Dann Das Dass Datenschutz Datum Dein Deine Deinem Deinen Deiner Dem
    Den Denn Der Deren Des Deutsch Deutsche Deutschen Deutscher Deutsches Deutschland Dezember Die
    Dienst Dienstag Dies Diese Dieser Dieses Direktion Doch Donnerstag Dort Du Durch Durchwahl Eben
    Ehefrau Ehemann Ein Eine Einem Einen Einer Eines Einfach Einkauf Eltern Email Ende Er Erst Es Euer
    Euro Eure Euch Europa Fachbereich Fachkraft Fahrer Fahrzeug Familie Familien Fax Februar Fest Firma
    Formular Forum Frage Fragen Frau Frauen Fräulein Frei Freiwillige Freitag Freund Freunde Freundin
    Freunden Freundliche Früher Fuer Für Ganz Garten Geboren Gehalt Gemeinde Gern Gerne Gesamt
    Geschlecht Geschäft Gott Grund Gruppe Gruß Grüsse Grüße Gut Gute Guten Guter Hab Habe Haben Halle
    Hallo Handy Hat Haus Heim Herr Herren Herrn Herzliche Herzlichen Herzlichst Heute Hier Hilfe Hinweis
    Hinweise Holle Homepage Hotline Hund Ich Ihm Ihn Ihnen Ihr Ihre Ihrem Ihren Ihrer Im Immer In Info
    Infos Informationen Inhaber Inhaberin Innen Institut Internet Irgendwer Ist Ja Jahr Jahre Jahren
    Januar Je Jede Jeder Jedoch Jetzt Juli Juni Jänner Kann Karriere Kauf Kein Keine Kind Kinder Kindern
    Kirche Klasse Klinik Kollege Kollegen Kollegin Kolleginnen Komma Kontakt Konto Kunde Kunden Kundin
    Lage Land Lassen Laut Leben Leider Leiter Leiterin Leitung Leser Leserin Leserinnen Leute Lieb Liebe
    Lieber Liebes Link Mai Mail Mama Man Mann Markt März Medien Mehr Mein Meine Meinem Meinen Meiner
    Meister Mensch Menschen Mit Mitarbeiter Mitarbeiterin Mitglied Mitglieder Mitte Mittwoch Mobil
    Moderator Montag Morgen Mutter Nach Nachbar Nachbarin Nachname Nachmittag Nacht Name Namen Nein Neu
    Neue Neuer Neues Nicht Noch November Nr Nummer Nun Nur Ob Oder Ohne Oktober Oma Opa Opfer Ort Papa
    Partner Partnerin Per Personal Personalabteilung Personalleitung Personen Platz Polizei Post
    Postfach Praxis Preis Presse Privat Pro Projekt Qualität Raum Recht Redaktion Referat Referenz
    Region Rente Ringe Rückfragen Ruf Rufnummer Samstag Schon Schule Schüler Schülerin Schülerinnen Sehr
    Sein Seine Seit Seite Sekretariat Selbst September Service Sie Siehe Sind So Sohn Sonntag Sowie
    Staat Stadt Standort Stark Start Stelle Stellen Steuer Straße Stunde Stunden Tag Tage Tagen Team
    Teams Teil Telefon Telefax Tel Termin Tochter Tod Und Uns Unser Unsere Unserem Unseren Unserer Unter
    Urlaub Vater Verein Verkauf Verlag Versand Vertrag Vertretung Verwaltung Viel Viele Vielen Vollzeit
    Vom Von Vor Vorname Vorsitz Vorstand Wann War Was Web Website Webseite Weg Wegen Weil Weiter Welt
    Wenn Wer Werde Werden Wie Wien Wieder Will Willkommen Wir Wird Wissen Wo Woche Wochen Wohnung Wollen
    Wort Wurde Zahl Zeit Zentrale Zu Zudem Zum Zur Zusammen Zwar Zwei Bad Berlin Hamburg München Köln
    Frankfurt Stuttgart Düsseldorf Bremen Hannover Leipzig Dresden Bern Basel Zürich Graz Linz Salzburg
    Österreich Schweiz Bayern Hessen Sachsen GmbH AG KG OHG UG SE EV IT HR USA EU Sprecher Sprecherin
    Professor Professorin Doktor Minister Ministerin Präsident Präsidentin Kanzler Kanzlerin
    Bürgermeister Bürgermeisterin Direktor Direktorin Richter Richterin Rechtsanwalt Rechtsanwältin
    Pfarrer Pfarrerin Kassenwart Kassenwartin Moin Servus Wohnort Anwesend Abwesend Bundespräsident
    Geschäftsführer Geschäftsführerin
    """.split()
)
"""Capitalised words that stand where a name could, and are none."""

_NO_NAME_ENDS = tuple(
    """
    ung heit keit schaft tion tät ismus abteilung team büro stelle amt service leitung schule
    verein nummer adresse straße management praxis klinik zentrum ministerium partei ministerin minister
    präsident präsidentin kanzler kanzlerin direktor direktorin chef chefin leiterin leiter anwältin
    anwalt ärztin ingenieur ingenieurin referentin referent assistentin sprecherin vorsitzende
    vorsitzender beauftragte beauftragter meisterin lehrerin beraterin partnerin partner innen kraft
    verwaltung gesellschaft stiftung institut kasse verband verlag gruppe bereich verwalter pfleger
    pflegerin tag mail gmbh akademie universität hochschule bank werke formular portal website stunden
    zeit
    """.split()
)
ORGANISATION = re.compile(
    r"[ \u00a0-]{1,2}(?:&[ ]|und[ ](?:Söhne|Partner|Co)|GmbH|gGmbH|AG\b|KG\b|SE\b|OHG|UG\b|e\.[ ]?V|Stiftung|"
    r"Institut|Schule|Gymnasium|Klinik|Haus\b|Preis\b|Straße|Str\.|Platz\b|Allee|Weg\b|Universität|Verlag|Versand|"
    r"Gruppe|Holding|Gesellschaft|Arena|Halle\b|Stadion)"
)
"""What follows a name that is a company's, a school's or a street's."""


def is_first_name(word: str) -> bool:
    """Say whether a word, or its first part, is a listed first name; capitals count as well."""
    if word in FIRST_NAMES:
        return True
    plain = word.title() if word.isupper() else word
    return plain.partition("-")[0] in FIRST_NAMES if "-" in word else plain in FIRST_NAMES


def is_surname(word: str) -> bool:
    """Say whether a word, or one of its parts, is a listed surname; capitals count as well."""
    return any(part in SURNAMES for part in (word.title() if word.isupper() else word).split("-"))


def is_no_name(word: str) -> bool:
    """Say whether a capitalised word is one of `NO_NAMES`, or ends as nouns do; listed surnames are names."""
    plain = word.title() if word.isupper() else word
    if plain in SURNAMES:
        return False
    ends_as_noun = len(plain) > 5 and plain.casefold().endswith(_NO_NAME_ENDS)
    return ends_as_noun or plain in NO_NAMES or word in NO_NAMES


def person_in(run: str) -> tuple[str, list[str]]:
    """Cut a run that `NAME` matched after its last word that can belong to a name.

    After a listed first name one word more is read, after two of them another; an unknown first word may be a
    first name or a surname, so one word more is read as well.

    Args:
        run: What `NAME` matched.

    Returns:
        The name, empty where the first word is none already, and its words.
    """
    kept: list[str] = []
    end = 0
    for match in _SPLIT.finditer(run):
        word = match.group(1)
        if is_no_name(word) or (len(kept) >= 2 and not is_first_name(kept[-1])):
            break
        kept.append(word)
        end = match.end()
    return run[:end], kept

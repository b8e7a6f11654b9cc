"""Texts for measuring scrubbers: postings full of contact data, and hostile strings. All is invented."""

from __future__ import annotations

import random

from builders.personal.words import FIRST_NAMES, SURNAMES

_SENTENCES = (
    "Für unser Team suchen wir zum nächstmöglichen Zeitpunkt eine engagierte Fachkraft, die gerne im "
    "Wechsel von Früh- und Spätdienst arbeitet. ",
    "Zu Ihren Aufgaben gehören die Planung der Abläufe, die Betreuung der Kundschaft und die Pflege "
    "der Unterlagen nach DIN EN ISO 9001. ",
    "Wir bieten ein Gehalt nach Tarif, 30 Tage Urlaub, eine betriebliche Altersvorsorge und einen "
    "Zuschuss zur Fahrkarte. ",
    "Die Stelle ist auf zwei Jahre befristet; eine Übernahme wird angestrebt. Der Arbeitsbeginn ist "
    "flexibel zwischen 7 und 9 Uhr. ",
    "Sie bringen eine abgeschlossene Ausbildung, Freude an der Arbeit mit Menschen und sichere "
    "Deutschkenntnisse (mindestens B2) mit. ",
    "Im Jahr 2023 haben wir 1.250 Menschen betreut und unsere Flotte um 14 Fahrzeuge erweitert, davon"
    " 9 elektrische. ",
)
_HOSTILE = (
    *(
        "(",
        "((((a))))",
        "[",
        "1",
        "12 ",
        "0 ",
        "+49 ",
        "0/",
        "@",
        "a@",
        "a@b.",
        "a@b.de ",
        "www.",
        "http://",
        "://",
    ),
    *(
        "x.de/",
        "(at)",
        "a (at) b . ",
        " at a dot ",
        "/u/a",
        "geb. ",
        "am 1.1.1990 ",
        "* 1.1.90 ",
        "Frau ",
        "Dr. ",
    ),
    *(
        "Dr.",
        "Prof. Dr. ",
        "Name: Anna, ",
        "Anna ",
        "Anna Müller ",
        "Anna von ",
        "Aa-",
        "A.",
        "Grüße\n",
        "DE12 ",
    ),
    *(
        "DE89 3704 0044 0532 0130 0",
        "C1C1C1C1C",
        "K-AB 12 ",
        "Straße 1 ",
        "Aa 1 ",
        "Am Markt 1 ",
        "1, 12345 A",
    ),
    *(
        "Hauptstraße 5, ",
        "Postfach 1 ",
        "a\u0301",
        "\u0301",
        "😀",
        "<PHONE>",
        "<",
        "\0",
        "é 1 ",
        "Tel. 1",
        "O'",
    ),
    *(
        "030 23125010 ",
        "0123 ",
        "01 ",
        "04.06.-",
        "0105 11 11, ",
        "Tel. 471123, ",
        "a@b punkt ",
        "{a,",
        "a}@b.de",
        "a@b[.",
    ),
    *(
        "4111 1111 1111 1111 ",
        "1.2.3.4 ",
        "a:",
        "Konto 1",
        "1 BLZ 37040044 ",
        "STRASSE 1 ",
        "Weg 1 Bäume ",
        "C-CE 95 ",
    ),
    *("Steuernummer 12/345/67890 ", "Kennzeichen A A1 ", "Ausweis A1B2C3D4E ", "Aaaaaaaaaaaaminister", "AA "),
)


def postings(characters: int, seed: int) -> list[str]:
    """Return job postings of about 800 characters, each with six pieces of personal data."""
    rng = random.Random(seed)
    first, last = sorted(FIRST_NAMES), sorted(SURNAMES)
    rows: list[str] = []
    for _ in range(characters // 800):
        name = rng.choice(last)
        rows.append(
            "".join(rng.sample(_SENTENCES, 4))
            + f"Ihre Ansprechpartnerin ist Frau {rng.choice(first)} {name}, "
            f"Tel. 0221 / 4710-{_digits(rng, 3)}, mobil 0171 39200{_digits(rng, 2)}, "
            f"E-Mail: {name.lower()}@beispiel.de. "
            f"Bewerbung an {rng.choice(last)}straße {rng.randint(1, 99)}, "
            f"5{_digits(rng, 4)} Köln oder unter https://karriere.beispiel.de/job?id={_digits(rng, 5)}. "
            f"Referenz: {_digits(rng, 5)}-{_digits(rng, 8)}-S."
        )
    return rows


def hostile(characters: int) -> dict[str, str]:
    """Return strings that repeat one piece up to a length, by that piece."""
    return {piece: (piece * characters)[:characters] for piece in _HOSTILE}


def _digits(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("0123456789", k=count))

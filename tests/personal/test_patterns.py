"""No input takes more than linear time: every pattern is bounded, or cannot be tried again."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

import builders.personal
from builders.personal import contact, scrub
from builders.personal.scan import Scan

_PARSER = importlib.import_module("re._parser")
_CONSTANTS = importlib.import_module("re._constants")
_MOST_RETRIES = 2500


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for module in pkgutil.iter_modules(builders.personal.__path__, "builders.personal."):
        for name, value in vars(importlib.import_module(module.name)).items():
            several = (
                value.items()
                if isinstance(value, dict)
                else enumerate(value if isinstance(value, tuple) else ())
            )
            for key, one in [("", value), *((f"[{key}]", one) for key, one in several)]:
                if isinstance(one, re.Pattern):
                    yield f"{module.name}.{name}{key}", one


def nodes(parsed: Any) -> Iterator[tuple[Any, Any]]:
    for operator, argument in parsed:
        yield operator, argument
        for part in argument if isinstance(argument, tuple) else (argument,):
            for inner in part if isinstance(part, list) else (part,):
                if isinstance(inner, _PARSER.SubPattern):
                    yield from nodes(inner)


def unbounded(pattern: re.Pattern[str]) -> list[str]:
    """Return the repeats of a pattern that have no end and that the engine may try again."""
    again = {_CONSTANTS.MAX_REPEAT, _CONSTANTS.MIN_REPEAT}
    parsed = _PARSER.parse(pattern.pattern, pattern.flags)
    return [
        str(argument)
        for operator, argument in nodes(parsed)
        if operator in again and argument[1] >= _MOST_RETRIES
    ]


def test_there_are_patterns_and_the_check_can_fail() -> None:
    assert len(dict(patterns())) > 40
    assert unbounded(re.compile(r"a*b"))
    assert unbounded(re.compile(r"(?:(?=x+?y)z){1,3}"))
    assert not unbounded(re.compile(r"a*+b{1,9}"))


@pytest.mark.parametrize("name", list(dict(patterns())))
def test_every_repeat_is_bounded(name: str) -> None:
    assert unbounded(dict(patterns())[name]) == []


def test_a_found_address_is_not_read_again() -> None:
    assert len(list(contact.find_urls(Scan("https://beispiel.de/" * 500)))) == 1


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "(",
            "((((a))))",
            "[",
            "1",
            "12 ",
            "0 ",
            "+49 ",
            "@",
            "a@",
            "a@b.",
            "a@b.de ",
            "www.",
            "http://",
            "://",
            "x.de/",
        ),
        *(
            "(at)",
            "a (at) b . ",
            " at a dot ",
            "/u/a",
            "geb. ",
            "am 1.1.1990 ",
            "* 1.1.90 ",
            "Frau ",
            "Dr. ",
            "Prof. Dr. ",
        ),
        *(
            "Name: Anna, ",
            "Anna ",
            "Anna von ",
            "Aa-",
            "A.",
            "Grüße\n",
            "DE12 ",
            "DE89 3704 0044 0532 0130 0",
            "C1C1C1C1C",
        ),
        *(
            "K-AB 12 ",
            "Straße 1 ",
            "Am Markt 1 ",
            "1, 12345 A",
            "Postfach 1 ",
            "a\u0301",
            "\u0301",
            "😀",
            "<PHONE>",
            "<",
            "\0",
        ),
        *(
            "Steuernummer 12/345/67890 ",
            "Kennzeichen A A1 ",
            "Ausweis A1B2C3D4E ",
            "é 1 ",
            "Aaaaaaaaaaaaminister",
            "O'",
        ),
        *(
            "030 23125010 ",
            "01 ",
            "0123 ",
            "030/1,",
            "04.06.-",
            "07.30/",
            "0105 11 11, ",
            "+49 30\n",
            "Tel.1",
            "Tel. 471123, ",
            "49 30 ",
        ),
        *(
            "a@b punkt ",
            "a@b[.",
            "a@b[.de] ",
            "{a,",
            "a}@b.de",
            '"a',
            'a"@b.de ',
            "a@\n",
            "a@b-\n",
            "a@1.2.3.4 ",
            " (a) b.de",
        ),
        *(
            "4111 ",
            "4111 1111 1111 1111 ",
            "1.",
            "1.2.3.4 ",
            ":",
            "a:",
            "::1 ",
            "Konto 1",
            "BLZ 1",
            "1 BLZ 37040044 ",
        ),
        *("STRASSE 1 ", "Weg 1 Bäume ", "A ", "str.1", "Klasse C, ", "C-CE 95 ", "Nr.1"),
    ],
)
def test_hostile_texts_come_to_an_end(piece: str) -> None:
    once = scrub(pl.Series([(piece * 20_000)[:20_000]])).texts
    assert scrub(once).spans.is_empty()

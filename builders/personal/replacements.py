"""What was replaced, in figures and masked examples."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

import polars as pl

from builders.lock.lock import PersonalReport

_EXAMPLES = 3
_LONGEST = 60
PEOPLE = Path(__file__).parent / "people.json"
"""What is found of invented people; `scripts/bench/people.py` writes it, and a test measures it anew."""


def report(texts: Sequence[str | None], spans: pl.DataFrame) -> PersonalReport:
    """Sum up the spans that `scrub` found in texts."""
    examples: dict[str, tuple[str, ...]] = {}
    for row, start, end, rule in spans.select("row", "start", "end", "rule").iter_rows():
        form = masked(unicodedata.normalize("NFC", (texts[row] or "")[start:end]))
        known = examples.setdefault(rule, ())
        if len(known) < _EXAMPLES and form not in known:
            examples[rule] = (*known, form)
    return PersonalReport(
        texts=sum(text is not None for text in texts),
        changed=spans["row"].n_unique(),
        kinds=_total([Counter(spans["kind"])]),
        rules=_total([Counter(spans["rule"])]),
        examples=dict(sorted(examples.items())),
    )


def together(reports: Iterable[PersonalReport]) -> PersonalReport:
    """Add up reports on the parts of one text column, in order."""
    parts = list(reports)
    examples: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for rule, forms in part.examples.items():
            examples[rule] = tuple(dict.fromkeys((*examples.get(rule, ()), *forms)))[:_EXAMPLES]
    return PersonalReport(
        texts=sum(part.texts for part in parts),
        changed=sum(part.changed for part in parts),
        kinds=_total(part.kinds for part in parts),
        rules=_total(part.rules for part in parts),
        examples=dict(sorted(examples.items())),
    )


def masked(value: str) -> str:
    """Return the form of a value: letters as x or X, digits as 0, the rest as it is; long ones are cut."""
    form = "".join(_form(character) for character in value[:_LONGEST])
    return form if len(value) <= _LONGEST else form + "…"


def _form(character: str) -> str:
    if character.isdigit():
        return "0"
    if character.isalpha():
        return "X" if character.isupper() else "x"
    return character if character.isascii() else " "


def _total(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


@cache
def people_facts() -> dict[str, int]:
    """Return what a lock and a card state of the scrubber: its figures on the held-out invented people."""
    measured = json.loads(PEOPLE.read_text("utf-8"))["heldout"]
    # Full names and first names behind a cue, full names without one: how many there are and were found.
    figures = [f"{group}_{what}" for group in ("full", "first", "plain") for what in ("marked", "found")]
    return {f"personal_{figure}": measured[figure] for figure in figures}

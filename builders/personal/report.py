"""What was replaced, in figures and masked examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import polars as pl

from builders.lock.model import PersonalReport

_EXAMPLES = 3
_LONGEST = 60


def report(texts: pl.Series, spans: pl.DataFrame) -> PersonalReport:
    """Sum up what `scrub` found.

    Args:
        texts: The strings that were given to `scrub`.
        spans: What it returned for them.
    """
    found = spans.with_columns(text=texts.gather(spans["row"]).str.normalize("NFC"))
    values = found.select(
        "rule", value=pl.col("text").str.slice(pl.col("start"), pl.col("end") - pl.col("start"))
    )
    examples: dict[str, tuple[str, ...]] = {}
    for rule, value in values.iter_rows():
        known = examples.setdefault(rule, ())
        if len(known) < _EXAMPLES and masked(value) not in known:
            examples[rule] = (*known, masked(value))
    return PersonalReport(
        texts=len(texts) - texts.null_count(),
        changed=spans["row"].n_unique(),
        kinds=_sorted(Counter(spans["kind"].to_list())),
        rules=_sorted(Counter(spans["rule"].to_list())),
        examples=dict(sorted(examples.items())),
    )


def together(reports: Iterable[PersonalReport]) -> PersonalReport:
    """Add up reports on the parts of one text column, in order."""
    texts = changed = 0
    kinds, rules = Counter[str](), Counter[str]()
    examples: dict[str, tuple[str, ...]] = {}
    for part in reports:
        texts, changed = texts + part.texts, changed + part.changed
        kinds.update(part.kinds)
        rules.update(part.rules)
        for rule, forms in part.examples.items():
            examples[rule] = tuple(dict.fromkeys((*examples.get(rule, ()), *forms)))[:_EXAMPLES]
    return PersonalReport(
        texts=texts,
        changed=changed,
        kinds=_sorted(kinds),
        rules=_sorted(rules),
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


def _sorted(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items()))

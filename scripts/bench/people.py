"""Measure how many invented people's names the scrubber finds, and store the figures that cards cite.

    python -m scripts.bench.people                 # the development set, with what was missed
    python -m scripts.bench.people --store         # both sets, into builders/personal/people.json

People are drawn from lists of names of several origins and put into German sentences. There are two sets,
which share neither first names, surnames nor sentences: rules are worked out on "development"; of "heldout"
only sums are ever shown.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from builders.files import write_json
from builders.personal import scrub
from builders.personal.replacements import PEOPLE
from builders.spec import PersonalKind
from scripts.bench.gold_set import Marked, compare

SetName = Literal["development", "heldout"]
GROUPS = {"full": "full", "list": "full", "plain": "plain", "first": "first"}
"""By place holder of a template, what is counted: full names and first names behind a cue, others without."""
_DATA = Path(__file__).with_name("people_texts")
_PLACE = re.compile(r"\{(full|list|plain|first)\}")
_SEEDS = {"development": 20_261, "heldout": 77_003}
_PARTICLES = frozenset({"De", "Di"})


@dataclass(frozen=True, slots=True)
class Sentence:
    """A German sentence with invented people.

    Attributes:
        text: The sentence.
        names: Group, start and end of each name.
    """

    text: str
    names: tuple[tuple[str, int, int], ...]


def names(which: SetName) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Return first names and surnames of a set, by origin."""
    origins = {}
    for line in _lines(f"names_{which}.txt"):
        origin, _, listed = line.partition(": ")
        first, last = (part.split() for part in listed.split(" | "))
        origins[origin] = (tuple(first), tuple(_surnames(last)))
    return origins


def templates(which: SetName) -> tuple[str, ...]:
    """Return the sentences of a set, with place holders for names."""
    return tuple(line.replace("\\n", "\n") for line in _lines(f"templates_{which}.txt"))


def sentences(which: SetName) -> tuple[Sentence, ...]:
    """Return every sentence of a set once for each origin, with names drawn by the set's own seed."""
    rng = random.Random(_SEEDS[which])
    origins = names(which)
    return tuple(
        _filled(template, origins[origin], rng) for template in templates(which) for origin in origins
    )


def measure(which: SetName) -> tuple[dict[str, int], tuple[str, ...]]:
    """Scrub a set.

    Returns:
        By group how many names stand there ("full_marked") and how many were replaced whole ("full_found"),
        how many replacements there are and how many are right; and sentences in which something went wrong.
    """
    drawn = sentences(which)
    spans = scrub(pl.Series([sentence.text for sentence in drawn])).spans
    found: list[list[tuple[str, int, int, str]]] = [[] for _ in drawn]
    for row, kind, start, end, rule in spans.iter_rows():
        if kind in {PersonalKind.PERSON, PersonalKind.FULL_NAME}:
            found[row].append((kind, start, end, rule))
    figures = dict.fromkeys(
        (f"{group}_{what}" for group in ("full", "plain", "first") for what in ("marked", "found")), 0
    )
    figures |= {"replaced": 0, "right": 0}
    faults: list[str] = []
    for sentence, replaced in zip(drawn, found, strict=True):
        for group, start, end in sentence.names:
            one = Marked(sentence.text, ((PersonalKind.PERSON, start, end),))
            hit = compare((one,), [replaced]).by_kind[PersonalKind.PERSON].found
            figures[f"{group}_marked"] += 1
            figures[f"{group}_found"] += hit
            faults += [] if hit else [f"missed {group}: {sentence.text!r}"]
        marked = Marked(
            sentence.text, tuple((PersonalKind.PERSON, start, end) for _, start, end in sentence.names)
        )
        told = compare((marked,), [replaced])
        figures["replaced"] += len(replaced)
        figures["right"] += len(replaced) - len(told.wrong)
        faults += [f"wrong {wrong}: {sentence.text!r}" for wrong in told.wrong]
    return figures, tuple(faults)


def stored() -> dict[str, Any]:
    """Return what `--store` writes: sums of both sets, and how many sentences and origins they have."""
    return {
        which: {"sentences": len(sentences(which)), "origins": len(names(which)), **measure(which)[0]}
        for which in ("development", "heldout")
    }


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", action="store_true", help="write the sums of both sets")
    if parser.parse_args().store:
        write_json(PEOPLE, stored())
        return
    figures, faults = measure("development")
    print(*faults, figures, sep="\n")


def _lines(name: str) -> list[str]:
    lines = (_DATA / name).read_text("utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _surnames(words: list[str]) -> Iterator[str]:
    """Yield surnames; a particle belongs to the word after it."""
    particle = ""
    for word in words:
        if word in _PARTICLES:
            particle = f"{word} "
        else:
            yield particle + word
            particle = ""


def _filled(template: str, origin: tuple[tuple[str, ...], tuple[str, ...]], rng: random.Random) -> Sentence:
    text, marks, position = "", [], 0
    for place in _PLACE.finditer(template):
        text += template[position : place.start()]
        first, last = rng.choice(origin[0]), rng.choice(origin[1])
        name = {"first": first, "list": f"{last}, {first}"}.get(place[1], f"{first} {last}")
        marks.append((GROUPS[place[1]], len(text), len(text) + len(name)))
        text += name
        position = place.end()
    return Sentence(text + template[position:], tuple(marks))


if __name__ == "__main__":
    main()

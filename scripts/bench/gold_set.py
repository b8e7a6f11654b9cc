"""The gold sets, and how well the scrubber does on them.

The sets were written for this project; every person, number and address in them is invented. ``gold`` holds
single sentences, with traps that must stay as they are; rules are worked out on it. ``heldout`` holds whole
letters, postings and posts; nothing is tuned on it, it is only measured. ``names`` holds more names behind
cues, names in columns, titles of jobs and brands, with traps as in ``gold``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from builders.personal.engine import scrub
from builders.spec import PersonalKind

SetName = Literal["gold", "heldout", "names"]
_FILE = {name: re.compile(rf"{name}(?:_[a-z]{{1,20}})?\.jsonl") for name in ("gold", "heldout", "names")}
_FOLDER = Path(__file__).parent / "gold"
_MARK = re.compile(r"\[\[(?P<kind>[a-z_]{1,20})\|(?P<text>.*?)\]\](?!\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Marked:
    """A text of a gold set.

    Attributes:
        text: Without marks.
        spans: Kind, start and end (exclusive, in characters) of what must be replaced.
        titles: Whether it is scrubbed as a title of a job.
    """

    text: str
    spans: tuple[tuple[PersonalKind, int, int], ...]
    titles: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """What was found of one kind.

    Attributes:
        marked: Marked spans.
        found: Those of which every letter and digit was replaced.
        replaced: Spans that the scrubber found.
        right: Those of which at least half the letters and digits lie in marked spans of any kind.
    """

    marked: int
    found: int
    replaced: int
    right: int


@dataclass(frozen=True, slots=True)
class Score:
    """How well the scrubber does on a gold set.

    Attributes:
        by_kind: Kinds as strings; both tiers of names apart.
        missed: Marked spans that were not found, as "kind: text".
        wrong: Found spans that are not marked, as "rule: text".
    """

    by_kind: Mapping[str, Tally]
    missed: tuple[str, ...]
    wrong: tuple[str, ...]

    @property
    def recall(self) -> float:
        """Share of the marked spans that were found."""
        tallies = self.by_kind.values()
        return sum(tally.found for tally in tallies) / max(1, sum(tally.marked for tally in tallies))

    @property
    def precision(self) -> float:
        """Share of the found spans that are right."""
        tallies = self.by_kind.values()
        return sum(tally.right for tally in tallies) / max(1, sum(tally.replaced for tally in tallies))


def read_set(name: SetName) -> tuple[Marked, ...]:
    """Return the texts of a set, which may lie in several files."""
    files = sorted(file for file in _FOLDER.iterdir() if _FILE[name].fullmatch(file.name))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    return tuple(_unmarked(**json.loads(line)) for line in lines)


def score(name: SetName) -> Score:
    """Scrub a set of every kind and compare."""
    texts = read_set(name)
    found: list[list[tuple[str, int, int, str]]] = [[] for _ in texts]
    for titles in (False, True):
        rows = [row for row, marked in enumerate(texts) if marked.titles is titles]
        spans = scrub(pl.Series([texts[row].text for row in rows], dtype=pl.String), titles=titles).spans
        for place, kind, start, end, rule in spans.iter_rows():
            found[rows[place]].append((kind, start, end, rule))
    return compare(texts, found)


def compare(texts: tuple[Marked, ...], found: list[list[tuple[str, int, int, str]]]) -> Score:
    """Compare found spans with marked ones.

    Args:
        texts: The marked texts.
        found: For each text, kind (of another tool: any word), start, end and rule of what was found.
    """
    marked, hit, replaced, right = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    missed: list[str] = []
    wrong: list[str] = []
    for entry, spans in zip(texts, found, strict=True):
        covered = _inside((start, end) for _, start, end, _ in spans)
        wanted = _inside((start, end) for _, start, end in entry.spans)
        for kind, start, end in entry.spans:
            marked[kind] += 1
            whole = all(at in covered for at in _characters(entry.text, start, end))
            hit[kind] += whole
            missed += [] if whole else [f"{kind}: {entry.text[start:end]}"]
        for name, start, end, rule in spans:
            replaced[name] += 1
            places = _characters(entry.text, start, end)
            good = sum(at in wanted for at in places) * 2 >= len(places)
            right[name] += good
            wrong += [] if good else [f"{rule}: {entry.text[start:end]}"]
    order = [*(kind.value for kind in PersonalKind), *sorted(replaced)]
    kinds = [kind for kind in dict.fromkeys(order) if marked[kind] or replaced[kind]]
    tallies = {kind: Tally(marked[kind], hit[kind], replaced[kind], right[kind]) for kind in kinds}
    return Score(tallies, tuple(missed), tuple(wrong))


def _unmarked(text: str, *, titles: bool = False) -> Marked:
    plain, spans, position = "", [], 0
    for mark in _MARK.finditer(text):
        plain += text[position : mark.start()]
        spans.append((PersonalKind(mark["kind"]), len(plain), len(plain) + len(mark["text"])))
        plain += mark["text"]
        position = mark.end()
    return Marked(plain + text[position:], tuple(spans), titles)


def _inside(spans: Iterator[tuple[int, int]]) -> set[int]:
    return {at for start, end in spans for at in range(start, end)}


def _characters(text: str, start: int, end: int) -> list[int]:
    return [at for at in range(start, end) if text[at].isalnum()]

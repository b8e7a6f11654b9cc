"""What an audit is made of: items, samples, verdicts. Ids and hashes only; no text of a dataset."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

from builders.lock.lock import Frozen
from builders.text.digest import digest

NAME_LENGTH = 40
NOTE_LENGTH = 500


class Verdict(StrEnum):
    """What an auditor said of a pair, in the order of the keys 1 to 4."""

    NOT_RELEVANT = "not_relevant"
    ALSO_RELEVANT = "also_relevant"
    UNSURE = "unsure"
    BROKEN_TEXT = "broken_text"

    @property
    def words(self) -> str:
        """As people read it: "not relevant"."""
        return self.value.replace("_", " ")


DECIDED = (Verdict.NOT_RELEVANT, Verdict.ALSO_RELEVANT)
"""The verdicts that count for a rate."""


class NoVerdict(StrEnum):
    """What an auditor did with a pair without judging it.

    Attributes:
        WITHDRAWN: Took an earlier verdict back; none holds from then on.
        NOTED: Wrote a note and gave no verdict; an earlier verdict still holds.
    """

    WITHDRAWN = "withdrawn"
    NOTED = "noted"


def _event(value: object) -> Verdict | NoVerdict:
    events: dict[str, Verdict | NoVerdict] = {one.value: one for one in (*Verdict, *NoVerdict)}
    if not isinstance(value, str) or value not in events:
        raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(map(str, events))}")
    return events[value]


def _in_utc(at: datetime) -> datetime:
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("this time lies beyond the calendar") from error


PairKind = Literal["negative", "positive", "control"]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
ItemId = Annotated[str, Field(pattern=r"^(i-)?[0-9a-f]{16}$")]
"""A hash behind a letter, so that no spreadsheet takes it for a number; earlier samples lack the letter."""
SampleId = Annotated[str, Field(pattern=r"^(s-)?[0-9a-f]{16}$")]
"""As `ItemId`."""
Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A moment, in UTC: equal moments are equal values and equal lines."""


def _named(name: str) -> str:
    folded = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(folded) <= NAME_LENGTH or not folded.isprintable():
        raise ValueError(f"an auditor's name has 1 to {NAME_LENGTH} printable characters")
    return folded


Auditor = Annotated[str, AfterValidator(_named)]


class Stratum(Frozen):
    """A cell of the population that was drawn from.

    Attributes:
        kind: Whether its pairs are hard negatives or labelled positives.
        split: Of the query.
        gap: Band of the distance below the guard, as "0.0500–0.0523"; empty for positives.
        rank: Band of the rank, as "4–10"; empty for positives.
        size: Pairs in it.
        drawn: Pairs of it in the sample.
    """

    kind: PairKind
    split: str
    gap: str = Field(default="", pattern=r"^(-?[0-9]+\.[0-9]{4}–-?[0-9]+\.[0-9]{4})?$")
    rank: str = ""
    size: int
    drawn: int


class Item(Frozen):
    """A pair to judge.

    Attributes:
        item: Hash of ids and texts: verdicts hang on what was read.
        query_id: Of the query.
        corpus_id: Of the passage.
        kind: Why it is in the sample; the page does not tell.
        split: Of the query.
        stratum: Place of its stratum in `Head.strata`; None for controls and suspects.
        rank: Among all passages; None where it was not mined.
        gap: How far it scores below the guard, in cosine; None where it was not mined.
        expected: Of a control: what was confirmed by hand.
    """

    item: ItemId
    query_id: str = Field(alias="query-id")
    corpus_id: str = Field(alias="corpus-id")
    kind: PairKind
    split: str
    stratum: int | None = None
    rank: int | None = None
    gap: float | None = None
    expected: Verdict | None = None


class Head(Frozen):
    """What a sample is of.

    Attributes:
        sample: Its id: a hash of everything else.
        config: The builder's name.
        build: `Lock.rows_id` of what was sampled.
        mode: "random" gives rates; "suspects" are the likeliest false negatives, and give none.
        opinion: Who ranked the suspects; empty for a random sample.
        recipe: The recipe that mined; empty where nothing was.
        stand_in: Whether the build was made from stand-ins.
        seed: Of the draw.
        asked: Hard negatives asked for.
        strata: The populations.
    """

    schema_version: Literal[1] = 1
    sample: SampleId
    config: str
    build: Hash
    mode: Literal["random", "suspects"]
    opinion: str = ""
    recipe: str = ""
    stand_in: bool = False
    seed: int
    asked: int
    strata: tuple[Stratum, ...]


class Sample(Frozen):
    """Head and items, in the order in which they are shown."""

    head: Head
    items: tuple[Item, ...]

    def of_kind(self, kind: PairKind) -> tuple[Item, ...]:
        """Return the items of one kind."""
        return tuple(item for item in self.items if item.kind == kind)


class Judgement(Frozen):
    """What one auditor said of an item at one moment: a line of `verdicts.jsonl`.

    Attributes:
        verdict: The verdict, or that none was given.
        at: When it was said.
    """

    schema_version: Literal[1] = 1
    config: str
    build: Hash
    sample: SampleId
    item: ItemId
    query_id: str = Field(alias="query-id")
    corpus_id: str = Field(alias="corpus-id")
    verdict: Annotated[Verdict | NoVerdict, BeforeValidator(_event)]
    note: str = Field(default="", max_length=NOTE_LENGTH)
    auditor: Auditor
    at: Instant

    @property
    def who(self) -> str:
        """The auditor; names that differ in case are one."""
        return self.auditor.casefold()


def standing(judgements: Iterable[Judgement]) -> list[tuple[Judgement, Verdict]]:
    """Return the verdicts that hold, in the order in which they were given.

    Of each auditor the last one on each item of a sample holds, unless it was taken back.
    """
    last: dict[tuple[str, str, str], Judgement] = {}
    for one in sorted(judgements, key=lambda one: (one.at, one.verdict)):
        if one.verdict is not NoVerdict.NOTED:
            last.pop(key := (one.sample, one.item, one.who), None)
            last[key] = one
    return [(one, one.verdict) for one in last.values() if isinstance(one.verdict, Verdict)]


def item_hash(query_id: str, corpus_id: str, query: str, title: str, text: str) -> str:
    """Return the id of an item: the hash of its ids and of all that an auditor reads."""
    return f"i-{digest(json.dumps([query_id, corpus_id, query, title, text], ensure_ascii=True))}"


def line(value: Frozen) -> str:
    """Return a value as one line of JSON with sorted keys; equal values are equal lines."""
    document = value.model_dump(mode="json", by_alias=True, exclude_defaults=False)
    return json.dumps(document, ensure_ascii=False, sort_keys=True) + "\n"

"""Samples and verdicts, and where they are kept: ids and hashes only, no text of a dataset.

A sample lies beside its build until verdicts on it are imported; then both lie under ``notes/audits``.
"""

import functools
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import AfterValidator, AliasChoices, AwareDatetime, BeforeValidator, Field, ValidationError

from builders import files
from builders.errors import UsageError
from builders.lock.beside import json_line, read_lines
from builders.lock.lock import Frozen, first_fault, work_folder
from builders.personal import scrub
from builders.spec import CONTACT
from builders.tables import Kind
from builders.text_files import numbered_lines

NAME_LENGTH = 40
NOTE_LENGTH = 500
_SAMPLE, _VERDICTS = ".sample.jsonl", ".verdicts.jsonl"
_CLOCKS_DIFFER = timedelta(minutes=5)


class _Event(StrEnum):
    """An event on a pair, by its name in files."""

    @property
    def words(self) -> str:
        """The event as people read and write it: "not relevant"."""
        return self.value.replace("_", " ")


class Verdict(_Event):
    """An auditor's verdict on a pair, in the order of the keys 1 to 5."""

    NOT_RELEVANT = "not_relevant"
    RELATED = "related"
    ALSO_RELEVANT = "also_relevant"
    UNSURE = "unsure"
    BROKEN_TEXT = "broken_text"


CLEAR = (Verdict.NOT_RELEVANT, Verdict.ALSO_RELEVANT)
"""The verdicts that a control can have: there is one right answer."""
DECIDED = (Verdict.NOT_RELEVANT, Verdict.RELATED, Verdict.ALSO_RELEVANT)
"""The verdicts that count for a rate, by how well the passage serves the query."""


class NoVerdict(_Event):
    """An event on a pair that takes the verdict back, or notes something and leaves the verdict as it was."""

    WITHDRAWN = "withdrawn"
    NOTED = "noted"


def _event(value: object) -> Verdict | NoVerdict:
    events: dict[object, Verdict | NoVerdict] = {event.value: event for event in (*Verdict, *NoVerdict)}
    if not isinstance(value, str) or value not in events:
        raise ValueError(f"{str(value)[:40]!r} is none of {', '.join(map(str, events))}")
    return events[value]


def _in_utc(at: datetime) -> datetime:
    try:
        moment = at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("this time lies beyond the calendar") from error
    if moment > datetime.now(UTC) + _CLOCKS_DIFFER:
        raise ValueError(f"{moment:%Y-%m-%d %H:%M} UTC is yet to come: a clock is wrong")
    return moment


PairKind = Literal["negative", "positive", "control"]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]
_ItemId = Annotated[str, Field(pattern=r"^(i-)?[0-9a-f]{16}$")]
"""A hash behind a letter, so that no spreadsheet takes it for a number; earlier samples lack the letter."""
_SampleId = Annotated[str, Field(pattern=r"^(s-)?[0-9a-f]{16}$")]
_Instant = Annotated[AwareDatetime, AfterValidator(_in_utc)]
"""A moment, in UTC: equal moments are equal values and equal lines. One to come could never be taken back."""


@functools.cache
def auditor_name(name: str) -> str:
    """Return an auditor's name as it is kept and published, with single spaces.

    Raises:
        ValueError: It is empty, too long, not printable, or holds contact data.
    """
    folded = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(folded) <= NAME_LENGTH or not folded.isprintable():
        raise ValueError(f"an auditor's name has 1 to {NAME_LENGTH} printable characters")
    if scrub(pl.Series([folded]), CONTACT).texts.item() != folded:
        raise ValueError("an auditor's name is published: give no address or number of a person, but a name")
    return folded


_Auditor = Annotated[str, AfterValidator(auditor_name)]


class Stratum(Frozen):
    """A cell of the population: `size` pairs, `drawn` of them in the sample.

    `band` is one of deviations above the query's mean, "2.95–3.61", empty for positives and where all bands
    are one cell; so is `split`. Earlier samples have bands of distances below the guard, `gap`, and of ranks.
    """

    kind: PairKind
    split: str = ""
    band: str = Field(
        default="",
        validation_alias=AliasChoices("band", "gap"),
        pattern=r"^(-?[0-9]+\.[0-9]{2,4}–-?[0-9]+\.[0-9]{2,4})?$",
    )
    rank: str = ""
    size: int
    drawn: int


class Item(Frozen):
    """A pair to judge, known by a hash of ids and texts: verdicts hang on what was read.

    Attributes:
        kind: The reason why it is in the sample; the page does not show it.
        stratum: Place of its stratum in `Head.strata`; None for controls and suspects.
        weight: Number of pairs of the population that it stands for, as it was drawn.
        share: One over the number of pairs of the kind that its query has.
        rank: Rank among all passages, None where not mined, as the following.
        deviations: Its score above the query's mean over all passages, in standard deviations.
        gap: Its distance below the guard in cosine.
        expected: The verdict that was confirmed by hand, of a control.
    """

    item: _ItemId
    query_id: str = Field(alias="query-id")
    passage_id: str = Field(alias="corpus-id")
    kind: PairKind
    split: str
    stratum: int | None = None
    weight: float = 1.0
    share: float = 1.0
    rank: int | None = None
    deviations: float | None = None
    gap: float | None = None
    expected: Verdict | None = None


class Overlap(Frozen):
    """How far two systems agree on which hard negatives are the likeliest false negatives.

    `correlation` is Spearman's over all of them, None where it is not defined; of the `first` of either,
    `both` name the same.
    """

    correlation: float | None
    first: int
    both: int


class Head(Frozen):
    """The origin of a sample, whose id is a hash of everything else.

    Attributes:
        build: `Lock.rows_id` of the build, and from stand-ins where `stand_in` is true.
        table: The table of hard negatives that is audited, mined by `recipe`; earlier samples are of the one
            that serves.
        mode: "random" gives rates; "suspects" are the likeliest false negatives, and give none.
        opinion: Name of the system that ranked the suspects beside the encoder that mined, and `overlap` how
            far the two agree; empty and None for a random sample.
        asked: Number of hard negatives that were asked for.
    """

    schema_version: Literal[1] = 1
    sample: _SampleId
    config: str
    build: Hash
    mode: Literal["random", "suspects"]
    opinion: str = ""
    overlap: Overlap | None = None
    table: Kind = Kind.HARD_NEGATIVES
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
    """An event by one auditor on an item at one moment: a line of ``verdicts.jsonl``."""

    schema_version: Literal[1] = 1
    config: str
    build: Hash
    sample: _SampleId
    item: _ItemId
    query_id: str = Field(alias="query-id")
    passage_id: str = Field(alias="corpus-id")
    verdict: Annotated[Verdict | NoVerdict, BeforeValidator(_event)]
    note: str = Field(default="", max_length=NOTE_LENGTH)
    auditor: _Auditor
    at: _Instant

    @property
    def who(self) -> str:
        """The auditor; names that differ in case are one."""
        return self.auditor.casefold()


Audit = tuple[Sample, list[Judgement]]
"""A sample, and the history of its verdicts."""
Votes = Mapping[str, Mapping[str, Verdict]]
"""The verdict that counts, by item and auditor (case-folded)."""


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


def counting(judgements: Iterable[Judgement]) -> Votes:
    """Return each auditor's verdict on each item, of one sample; see `standing`."""
    votes: dict[str, dict[str, Verdict]] = {}
    for judgement, verdict in standing(judgements):
        votes.setdefault(judgement.item, {})[judgement.who] = verdict
    return votes


def sample_folder(out: Path, config: str) -> Path:
    """Return where samples of a built config lie until their verdicts are imported."""
    return work_folder(out, config) / "audit"


def kept_folder(notes: Path, config: str) -> Path:
    """Return where the samples and verdicts of a config are kept for good."""
    return notes / "audits" / config


def write_sample(folder: Path, sample: Sample) -> None:
    """Write a sample, head first and then one item a line; it holds no text."""
    text = "".join(map(json_line, (sample.head, *sample.items)))
    files.write_bytes(folder / f"{sample.head.sample}{_SAMPLE}", text.encode())


def _read_sample(path: Path) -> Sample:
    head: Head | None = None
    items = []
    for number, text in numbered_lines(path):
        try:
            if head is None:
                head = Head.model_validate_json(text)
            else:
                items.append(Item.model_validate_json(text))
        except ValidationError as error:
            hint = "Restore the committed file, or draw the sample again."
            raise UsageError(f"{path}, line {number}: {first_fault(error)}", hint=hint) from error
    if head is None:
        raise UsageError(f"{path}: empty; this is no sample", hint="Draw the sample again.")
    return Sample(head=head, items=tuple(items))


def find_sample(sample: str, folders: Sequence[Path]) -> Sample:
    """Find a sample by its id in one of several folders."""
    for folder in folders:
        if (path := folder / f"{sample}{_SAMPLE}").exists():
            return _read_sample(path)
    where = " nor in ".join(map(str, folders))
    raise UsageError(
        f"the sample {sample!r} is neither in {where}",
        hint="Import where the sample was drawn, or pass its build with --dist.",
    )


def audits_of(notes: Path, config: str) -> list[Audit]:
    """Read the samples of a config with their verdicts, by the time of the first verdict."""
    audits = []
    # verdicts are written last: an import that was cut left a sample alone
    for path in sorted(kept_folder(notes, config).glob(f"*{_VERDICTS}")):
        sample = _read_sample(path.with_name(path.name.replace(_VERDICTS, _SAMPLE)))
        audits.append((sample, [one for _, one in read_judgements(path)]))
    never = datetime.min.replace(tzinfo=UTC)
    return sorted(audits, key=lambda a: (min((one.at for one in a[1]), default=never), a[0].head.sample))


def verdicts_path(notes: Path, sample: Sample) -> Path:
    """Return where the verdicts on a sample are kept for good."""
    return kept_folder(notes, sample.head.config) / f"{sample.head.sample}{_VERDICTS}"


def read_judgements(path: Path) -> list[tuple[int, Judgement]]:
    """Read verdicts with their line numbers; see `read_lines`."""
    hint = "It was cut, edited, or judged by a wrong clock: download it again from the page, and import that."
    return list(read_lines(path, Judgement, hint=hint))


def write_judgements(path: Path, judgements: Sequence[Judgement]) -> None:
    """Write verdicts, one a line, by item, auditor and time: a new one is one line more in a diff."""
    lines = {json_line(one): (one.item, one.auditor, one.at) for one in judgements}
    ordered = sorted(lines, key=lambda line: (lines[line], line))
    files.write_bytes(path, "".join(ordered).encode())

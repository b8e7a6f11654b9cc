"""Taking verdicts in: validate, merge auditors, keep history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from builders.audit import store
from builders.audit.model import Item, Judgement, NoVerdict, Sample, Verdict, standing
from builders.audit.sheet import read_csv, sample_of
from builders.errors import Refused, UsageError
from builders.personal import scrub
from builders.spec import CONTACT

Votes = Mapping[str, Mapping[str, Verdict]]
"""The verdict that counts, by item and auditor (case-folded)."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to.

    Attributes:
        sample: What was judged.
        read: Lines in the files.
        new: Those that the history did not have.
        withdrawn: Those of the new ones that take a verdict back.
        auditors: All whose verdicts on the sample hold, sorted.
        judged: Its items with a verdict that holds.
        path: The history's file.
    """

    sample: Sample
    read: int
    new: int
    withdrawn: int
    auditors: tuple[str, ...]
    judged: int
    path: Path


def import_verdicts(
    paths: Sequence[Path], *, out: Path, notes: Path, builds: Mapping[str, str], auditor: str = ""
) -> list[Imported]:
    """Add the verdicts of files to the history; all of them, or none where one is not sound.

    Args:
        paths: Files that the page wrote, or the CSV with verdicts typed in.
        out: The folder that was built into.
        notes: The folder of notes; the history lies under its ``audits``.
        builds: The build of every config under `out`, by name.
        auditor: Whose verdicts a CSV holds.

    Raises:
        StorageError: A file cannot be read or written.
        UsageError: A line is malformed, or its item is not in the sample or has other ids; it names the line.
        Refused: Verdicts are of another build, or those of one auditor bear the times of another's.
    """
    taken: defaultdict[str, list[_Line]] = defaultdict(list)
    samples: dict[str, Sample] = {}
    items: dict[str, Mapping[str, Item]] = {}
    for path in paths:
        for where, judgement, dated in _read(path, out, notes, builds, auditor):
            _require_build(where, judgement, builds)
            if judgement.sample not in samples:
                sample = store.find_sample(judgement.sample, _folders(judgement.config, out, notes))
                samples[judgement.sample] = sample
                items[judgement.sample] = {item.item: item for item in sample.items}
            _require_item(where, judgement, items[judgement.sample])
            taken[judgement.sample].append(_Line(where, judgement, dated))
    merged = [_merged(samples[name], _cleaned(lines), notes) for name, lines in sorted(taken.items())]
    return [_keep(one, notes) for one in merged]


def counting(judgements: Iterable[Judgement]) -> Votes:
    """Return each auditor's verdict on each item, of one sample; see `standing`."""
    votes: dict[str, dict[str, Verdict]] = {}
    for judgement, verdict in standing(judgements):
        votes.setdefault(judgement.item, {})[judgement.who] = verdict
    return votes


class _Line(NamedTuple):
    """A line of a file that is taken in: where it stands, and whether it says itself when it was written."""

    where: str
    judgement: Judgement
    dated: bool


class _Merged(NamedTuple):
    """What the history of a sample holds, and what is added to it."""

    sample: Sample
    read: int
    before: list[Judgement]
    new: list[Judgement]


def _cleaned(lines: Sequence[_Line]) -> list[_Line]:
    """Replace contact data in notes: they are going to be committed."""
    notes = scrub(pl.Series([one.judgement.note for one in lines], dtype=pl.String), CONTACT).texts.to_list()
    return [
        one._replace(judgement=one.judgement.model_copy(update={"note": " ".join(note.split())}))
        for one, note in zip(lines, notes, strict=True)
    ]


def _read(path: Path, out: Path, notes: Path, builds: Mapping[str, str], auditor: str) -> list[_Line]:
    dated = path.suffix.lower() != ".csv"
    if dated:
        judged = store.read_judgements(path)
    else:
        if not auditor:
            raise UsageError(f"{path}: a CSV does not say who judged", hint="Pass --auditor NAME.")
        wanted = sample_of(path)
        folders = [folder for config in builds for folder in _folders(config, out, notes)]
        sample = store.find_sample(wanted, folders)
        at = datetime.fromtimestamp(path.stat().st_mtime_ns // 1_000_000 / 1000, UTC)
        judged = read_csv(path, sample, auditor, at)
    if not judged:
        raise UsageError(f"{path}: no verdict in it", hint="Judge some items first, then download again.")
    return [_Line(f"{path}, line {number}", one, dated) for number, one in judged]


def _folders(config: str, out: Path, notes: Path) -> tuple[Path, Path]:
    return store.sample_folder(out, config), store.history_folder(notes, config)


def _require_build(where: str, judgement: Judgement, builds: Mapping[str, str]) -> None:
    if judgement.config not in builds:
        raise UsageError(
            f"{where}: nothing was built of {judgement.config[:60]!r} there",
            hint="Pass the folder that was audited with --dist.",
        )
    if judgement.build != builds[judgement.config]:
        raise Refused(
            f"{where}: the verdict is of build {judgement.build}, and {judgement.config} is "
            f"{builds[judgement.config]} now",
            hint="Rows have changed since. Import into the build that was audited, or draw a new sample.",
        )


def _require_item(where: str, judgement: Judgement, items: Mapping[str, Item]) -> None:
    item = items.get(judgement.item)
    if item is None:
        raise UsageError(
            f"{where}: item {judgement.item} is not in the sample {judgement.sample}",
            hint="The file was edited: download it again from the page.",
        )
    if (item.query_id, item.corpus_id) != (judgement.query_id, judgement.corpus_id):
        raise UsageError(
            f"{where}: item {judgement.item} is the pair {item.query_id}, {item.corpus_id}, and the line "
            f"says {judgement.query_id[:60]}, {judgement.corpus_id[:60]}",
            hint="The file was edited: download it again from the page.",
        )


def _merged(sample: Sample, lines: Sequence[_Line], notes: Path) -> _Merged:
    """Find the lines that are new.

    A CSV does not tell when its verdicts were given, and a copy of it bears another time: a row of it is new
    only where its auditor has not said the same last.
    """
    path = _verdicts_path(sample, notes)
    before = [one for _, one in store.read_judgements(path)] if path.exists() else []
    last = {_subject(one): one for one in sorted(before, key=lambda one: one.at)}
    new: dict[Judgement, str] = {}
    for where, one, dated in lines:
        latest = last.get(_subject(one))
        if not dated and latest is not None and (latest.verdict, latest.note) == (one.verdict, one.note):
            continue
        new.setdefault(one, where)
        if latest is None or latest.at <= one.at:
            last[_subject(one)] = one
    for one in before:
        new.pop(one, None)
    _refuse_copied(before, new)
    return _Merged(sample, len(lines), before, list(new))


def _subject(one: Judgement) -> tuple[str, str, bool]:
    return one.item, one.who, one.verdict is NoVerdict.NOTED


def _refuse_copied(before: Sequence[Judgement], new: Mapping[Judgement, str]) -> None:
    """Refuse new lines that bear the time of another auditor's on the same item, to the millisecond.

    Two people do not judge in one millisecond: it is one person's work under two names, and would pass for
    agreement.
    """
    said: defaultdict[tuple[str, datetime], dict[str, str]] = defaultdict(dict)
    for one in (*before, *new):
        said[_moment(one)].setdefault(one.who, one.auditor)
    copied = [one for one in new if next(iter(said[_moment(one)])) != one.who]
    if not copied:
        return
    names = sorted({name for one in copied for name in said[_moment(one)].values()})
    items = sorted({one.item for one in copied})
    more = f" and {len(items) - 3} more" if len(items) > 3 else ""
    raise Refused(
        f"{new[copied[0]]}: verdicts of {' and '.join(names)} on the same items bear the same times, to the "
        f"millisecond ({', '.join(items[:3])}{more})",
        hint="These are one person's verdicts under two names. Let everyone judge under their own name: "
        "Start as another auditor, on the page. CSVs that were copied together: save one of them again.",
    )


def _moment(one: Judgement) -> tuple[str, datetime]:
    return one.item, one.at.replace(microsecond=one.at.microsecond // 1000 * 1000)


def _verdicts_path(sample: Sample, notes: Path) -> Path:
    return store.history_folder(notes, sample.head.config) / f"{sample.head.sample}{store.VERDICTS}"


def _keep(merged: _Merged, notes: Path) -> Imported:
    sample, path = merged.sample, _verdicts_path(merged.sample, notes)
    everything = [*merged.before, *merged.new]
    store.write_sample(path.parent, sample)
    store.write_judgements(path, everything)
    holding = [one for one, _ in standing(everything)]
    return Imported(
        sample=sample,
        read=merged.read,
        new=len(merged.new),
        withdrawn=sum(one.verdict is NoVerdict.WITHDRAWN for one in merged.new),
        auditors=tuple(sorted({one.who: one.auditor for one in holding}.values())),
        judged=len({one.item for one in holding}),
        path=path,
    )

"""Taking verdicts in: validate, merge auditors, keep history."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from builders.audit import store
from builders.audit.model import Item, Judgement, Sample, Verdict
from builders.audit.sheet import read_csv, sample_of
from builders.errors import Refused, UsageError
from builders.personal import CONTACT, scrub

Votes = Mapping[str, Mapping[str, Verdict]]
"""The verdict that counts, by item and auditor (case-folded)."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import came to.

    Attributes:
        sample: What was judged.
        read: Verdicts in the files.
        new: Those that the history did not have.
        auditors: All who have judged the sample, sorted.
        judged: Its items with a verdict.
        path: The history's file.
    """

    sample: Sample
    read: int
    new: int
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
        Refused: Verdicts are of another build.
    """
    taken: dict[str, list[Judgement]] = {}
    samples: dict[str, Sample] = {}
    items: dict[str, Mapping[str, Item]] = {}
    for path in paths:
        for number, judgement in _read(path, out, notes, builds, auditor):
            where = f"{path}, line {number}"
            _require_build(where, judgement, builds)
            if judgement.sample not in samples:
                sample = store.find_sample(judgement.sample, _folders(judgement.config, out, notes))
                samples[judgement.sample] = sample
                items[judgement.sample] = {item.item: item for item in sample.items}
            _require_item(where, judgement, items[judgement.sample])
            taken.setdefault(judgement.sample, []).append(judgement)
    return [_keep(samples[name], clean(judgements), notes) for name, judgements in sorted(taken.items())]


def counting(judgements: Iterable[Judgement]) -> Votes:
    """Return each auditor's last verdict on each item; names that differ in case are one auditor."""
    votes: dict[str, dict[str, Verdict]] = {}
    for judgement in sorted(judgements, key=lambda one: (one.at, one.verdict)):
        votes.setdefault(judgement.item, {})[judgement.auditor.casefold()] = judgement.verdict
    return votes


def clean(judgements: Sequence[Judgement]) -> list[Judgement]:
    """Replace contact data in notes: they are going to be committed."""
    notes = scrub(pl.Series([one.note for one in judgements], dtype=pl.String), CONTACT).texts.to_list()
    return [
        one.model_copy(update={"note": " ".join(note.split())})
        for one, note in zip(judgements, notes, strict=True)
    ]


def _read(
    path: Path, out: Path, notes: Path, builds: Mapping[str, str], auditor: str
) -> list[tuple[int, Judgement]]:
    if path.suffix.lower() == ".csv":
        if not auditor:
            raise UsageError(f"{path}: a CSV does not say who judged", hint="Pass --auditor NAME.")
        wanted = sample_of(path)
        folders = [folder for config in builds for folder in _folders(config, out, notes)]
        sample = store.find_sample(wanted, folders)
        judged = read_csv(path, sample, auditor, datetime.fromtimestamp(int(path.stat().st_mtime), UTC))
    else:
        judged = store.read_judgements(path)
    if not judged:
        raise UsageError(f"{path}: no verdict in it", hint="Judge some items first, then download again.")
    return judged


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


def _keep(sample: Sample, judgements: list[Judgement], notes: Path) -> Imported:
    folder = store.history_folder(notes, sample.head.config)
    path = folder / f"{sample.head.sample}{store.VERDICTS}"
    before = [one for _, one in store.read_judgements(path)] if path.exists() else []
    everything = {one.model_dump_json(): one for one in (*before, *judgements)}
    store.write_sample(folder, sample)
    store.write_judgements(path, list(everything.values()))
    return Imported(
        sample=sample,
        read=len(judgements),
        new=len(everything) - len({one.model_dump_json() for one in before}),
        auditors=tuple(sorted({one.auditor for one in everything.values()})),
        judged=len({one.item for one in everything.values()}),
        path=path,
    )

"""Where audits lie: samples beside the build, the history under ``notes/audits``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from builders import files
from builders.audit.model import Head, Item, Judgement, Sample, line
from builders.errors import UsageError
from builders.lock.beside import first_fault, read_lines
from builders.lock.lock import work_folder
from builders.text_files import numbered_lines

_Line = TypeVar("_Line", Head, Item)

SAMPLE = ".sample.jsonl"
VERDICTS = ".verdicts.jsonl"


def sample_folder(out: Path, config: str) -> Path:
    """Return where samples of a built config lie until their verdicts are imported."""
    return work_folder(out, config) / "audit"


def history_folder(notes: Path, config: str) -> Path:
    """Return where the samples and verdicts of a config are kept for good."""
    return notes / "audits" / config


def write_sample(folder: Path, sample: Sample) -> Path:
    """Write a sample, head first and then one item a line; it holds no text.

    Raises:
        StorageError: It cannot be written.
    """
    path = folder / f"{sample.head.sample}{SAMPLE}"
    files.write_bytes(path, "".join(map(line, (sample.head, *sample.items))).encode())
    return path


def read_sample(path: Path) -> Sample:
    """Read a sample.

    Raises:
        StorageError: It cannot be read.
        UsageError: A line is malformed; it names file and line.
    """
    lines = list(numbered_lines(path))
    if not lines:
        raise UsageError(f"{path}: empty; this is no sample", hint="Draw the sample again.")
    (number, first), *others = lines
    head = _parsed(Head, path, number, first)
    return Sample(head=head, items=tuple(_parsed(Item, path, number, text) for number, text in others))


def _parsed(model: type[_Line], path: Path, number: int, text: str) -> _Line:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        hint = "Restore the committed file, or draw the sample again."
        raise UsageError(f"{path}, line {number}: {first_fault(error)}", hint=hint) from error


def find_sample(sample: str, folders: Sequence[Path]) -> Sample:
    """Find a sample by its id.

    Raises:
        UsageError: It is in none of the folders.
    """
    for folder in folders:
        if (path := folder / f"{sample}{SAMPLE}").exists():
            return read_sample(path)
    where = " nor in ".join(map(str, folders))
    raise UsageError(
        f"the sample {sample!r} is neither in {where}",
        hint="Import where the sample was drawn, or pass its build with --dist.",
    )


def read_history(folder: Path) -> list[tuple[Sample, list[Judgement]]]:
    """Read the samples of a config and what was judged of them, by the time of the first verdict.

    Raises:
        StorageError: A file cannot be read.
        UsageError: A line is malformed; it names file and line.
    """
    audits = []
    for path in sorted(folder.glob(f"*{SAMPLE}")):
        judgements = [one for _, one in read_judgements(path.with_name(path.name.replace(SAMPLE, VERDICTS)))]
        audits.append((read_sample(path), judgements))
    never = datetime.min.replace(tzinfo=UTC)
    return sorted(
        audits,
        key=lambda audit: (min((one.at for one in audit[1]), default=never), audit[0].head.sample),
    )


def read_judgements(path: Path) -> list[tuple[int, Judgement]]:
    """Read verdicts with their line numbers.

    Raises:
        StorageError: The file cannot be read.
        UsageError: A line is malformed; it names file and line.
    """
    hint = "The file was cut or edited: download it again from the page, and import that."
    return list(read_lines(path, Judgement, hint=hint))


def write_judgements(path: Path, judgements: Sequence[Judgement]) -> None:
    """Write verdicts, one a line, by item, auditor and time: a new one is one line more in a diff.

    Raises:
        StorageError: It cannot be written.
    """
    ordered = sorted(set(map(line, judgements)))
    keyed = {text: Judgement.model_validate_json(text) for text in ordered}
    ordered.sort(key=lambda text: (keyed[text].item, keyed[text].auditor, keyed[text].at))
    files.write_bytes(path, "".join(ordered).encode())

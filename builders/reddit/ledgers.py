"""The two ledgers of a config of ids: one with texts, for its owner alone, and a dated one for builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import polars as pl

from builders import files
from builders.errors import UsageError
from builders.home import home
from builders.reddit.dated_ledger import Origin, read_statuses, statuses, write_statuses
from builders.reddit.ledger import Ledger
from builders.reddit.submission import Submission
from builders.spec import Ids


def dated_ledger(spec: Ids, root: Path | None) -> Path:
    """Return where the dated ledger without texts lies, which builds read."""
    return (root or home()) / spec.ledger.folder / spec.ledger.name


def private_ledger(spec: Ids, root: Path | None) -> Path:
    """Return where the ledger with texts lies; only its owner may read it."""
    return (root or home()) / spec.ledger.folder / f"{spec.name}.submissions.jsonl"


def is_of_stand_in(spec: Ids, root: Path | None) -> bool:
    """Say whether the ledger with texts holds answers of a stand-in for Reddit itself, and not of a dump."""
    return _mark(private_ledger(spec, root)).exists()


def _mark(ledger: Path) -> Path:
    return ledger.with_suffix(".stand-in")


def keep_apart(ledger: Ledger, *, stand_in: bool) -> None:
    """Make sure that answers of Reddit and of a stand-in never stand in one ledger; called by who holds it.

    Args:
        ledger: With texts; a file beside it tells that its answers are a stand-in's.
        stand_in: Whether a stand-in is about to be asked.

    Raises:
        UsageError: The ledger holds the others.
        StorageError: The mark cannot be written.
    """
    mark = _mark(ledger.path)
    if not ledger.path.exists():
        if stand_in:
            files.write_bytes(mark, b"These answers are of a stand-in for Reddit.\n")
        else:
            files.remove(mark)
    elif mark.exists() != stand_in:
        held, now = ("a stand-in", "Reddit") if mark.exists() else ("Reddit", "a stand-in")
        raise UsageError(
            f"{ledger.path} holds answers of {held}, and {now} would be asked: they must not be mixed",
            hint="Set MTEB_DE_HOME to another folder, or set or unset MTEB_DE_REDDIT_URL as it was before.",
        )


def rewrite_dated(
    path: Path, entries: Mapping[str, Submission], *, archives: Collection[str], stand_in: bool
) -> None:
    """Bring the dated ledger up to date, where there is one; ids of which nothing new is known stay.

    Args:
        path: The dated ledger.
        entries: What is known now, by id.
        archives: As in `statuses`.
        stand_in: Whether a stand-in for Reddit gave the answers.

    Raises:
        SourceSchema: It is damaged.
        StorageError: It cannot be written.
    """
    if not path.exists():
        return
    before = read_statuses(path)
    stand_in = stand_in or Origin.STAND_IN in before["origin"]
    now = statuses(entries.values(), archives=archives, stand_in=stand_in).join(before, on="id", how="semi")
    write_statuses(path, pl.concat([now, before.join(now, on="id", how="anti")]))


def counted(entries: Iterable[Submission]) -> str:
    """Return how many submissions have which status, as one line."""
    counts = Counter(str(entry.status) for entry in entries)
    return ", ".join(f"{count:,} {status}" for status, count in sorted(counts.items()))

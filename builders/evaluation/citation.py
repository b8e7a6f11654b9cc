"""Scores that a card cites: ``configs/NAME.scores.json``, written by `eval` and read by the build."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from builders import files
from builders.lock.cited import read_cited
from builders.lock.lock import Frozen, PublishedFile, ScoreLock
from builders.text.digest import digest


class Citation(Frozen):
    """Scores, and the rows they were computed from.

    Attributes:
        rows: `rows_id` of the build that was evaluated.
        scores: In the order in which the card gives them.
    """

    rows: str
    scores: tuple[ScoreLock, ...]


def scores_path(folder: Path, config: str) -> Path:
    """Return where the cited scores of a config lie, beside its committed lock."""
    return folder / f"{config}.scores.json"


def rows_id(published: Iterable[PublishedFile]) -> str:
    """Return what names the rows of all tables of a build, whoever wrote them and when."""
    contents = {file.path: file.content for file in published}
    return digest("\n".join(f"{path} {contents[path]}" for path in sorted(contents)))


def read_citation(path: Path) -> Citation | None:
    """Read cited scores; None where there is no file.

    Raises:
        StorageError: It cannot be read, or is no citation.
    """
    return read_cited(path, Citation, what="cited scores", hint="Run mteb-de eval --cite again.")


def write_citation(path: Path, citation: Citation) -> None:
    """Write cited scores; equal ones are equal bytes.

    Raises:
        StorageError: It cannot be written.
    """
    files.write_json(path, citation.model_dump(mode="json"))


def merged(old: Citation | None, new: Citation) -> Citation:
    """Return new scores beside those that were cited before.

    A new score replaces an old one of the same config, model and metric, in its place; others come behind.
    Scores of other rows are left out.
    """
    if old is None or old.rows != new.rows:
        return new
    scores = {(one.config, one.model, one.metric): one for one in (*old.scores, *new.scores)}
    return Citation(rows=new.rows, scores=tuple(scores.values()))


def scores_for(citation: Citation | None, published: Iterable[PublishedFile]) -> tuple[ScoreLock, ...]:
    """Return the cited scores of a build; none where they were computed from other rows."""
    if citation is None or citation.rows != rows_id(published):
        return ()
    return citation.scores

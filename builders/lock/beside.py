"""Files beside a config in `configs/`: citations of card and Croissant, and documents of one value a line.

Citations decide no row: each names the rows that it was measured on, and is left out of a card of others.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import ValidationError

from builders import files
from builders.errors import UsageError
from builders.lock.lock import Document, Frozen, first_fault, read_document
from builders.text_files import numbered_lines


class CitedShare(Frozen):
    """A share that an audit found, with its 95 % interval; `value` is None where nothing was judged."""

    pairs: int
    value: float | None
    low: float
    high: float


class CitedAudit(Frozen):
    """Result of a random sample of hard negatives and positives.

    Attributes:
        build: `Lock.rows_id` of the build that was audited.
        date: Day of the last verdict, "2026-01-05".
        false_negatives: Share of the hard negatives that are relevant, weighted back from the strata, and
            `false_negatives_or_related` of those that are relevant or related.
        precision: Share of the labelled positives that are relevant, and `precision_by_query` the mean over
            queries of their share.
        sensitivity: Share of the verdicts on relevant pairs confirmed by hand that say so, and `specificity`
            of those on pairs that are not relevant that do not call them relevant.
        kappa: The lowest Cohen's kappa of two auditors on the hard negatives, and `ac1` Gwet's; None where
            one judged, or it is not defined.
    """

    sample: str
    build: str
    date: str
    recipe: str
    auditors: int
    false_negatives: CitedShare
    false_negatives_or_related: CitedShare
    precision: CitedShare
    precision_by_query: CitedShare
    sensitivity: CitedShare
    specificity: CitedShare
    kappa: float | None = None
    ac1: float | None = None


class CitedScore(Frozen):
    """A reference score of published tables, with its 95 % interval.

    Attributes:
        build: `Lock.rows_id` of the build that was evaluated.
        config: The builder's name with the split searched, "jobs/test", or a clustering config.
        metric: "ndcg_at_10" or "v_measure".
    """

    build: str
    config: str
    model: str
    revision: str
    metric: str
    value: float
    low: float | None = None
    high: float | None = None


class Citations(Frozen):
    """Citations of a config: its latest audit, and scores in the order of the card."""

    schema_version: Literal[1] = 1
    audit: CitedAudit | None = None
    scores: tuple[CitedScore, ...] = ()

    def of_rows(self, rows: str) -> Self:
        """Return the citations that were measured on the rows of that id."""
        audit = self.audit if self.audit and self.audit.build == rows else None
        scores = tuple(score for score in self.scores if score.build == rows)
        return self.model_copy(update={"audit": audit, "scores": scores})


def citations_path(folder: Path, config: str) -> Path:
    """Return where the citations of a config lie, beside its committed lock."""
    return folder / f"{config}.citations.json"


def read_citations(path: Path) -> Citations:
    """Read citations; empty ones where there is no file."""
    hint = "Remove it, then run mteb-de eval --cite and mteb-de audit report again."
    return read_document(path, Citations, "citations", hint=hint) if path.exists() else Citations()


def cite_audit(path: Path, audit: CitedAudit | None) -> None:
    """Put an audit in the place of the one that the citations of a config hold; None takes it away."""
    if audit is not None or path.exists():
        cited = read_citations(path).model_copy(update={"audit": audit})
        files.write_json(path, cited.model_dump(mode="json"))


def cite_scores(path: Path, scores: Sequence[CitedScore]) -> None:
    """Put scores of one build into the citations of a config; equal citations are equal bytes.

    A score replaces that of the same config, model and metric in place; others follow; other rows' go.
    """
    if not scores:
        return
    found = read_citations(path)
    builds = {score.build for score in scores}
    kept = [score for score in found.scores if score.build in builds]
    by_place = {(score.config, score.model, score.metric): score for score in (*kept, *scores)}
    cited = found.model_copy(update={"scores": tuple(by_place.values())})
    files.write_json(path, cited.model_dump(mode="json"))


def read_lines(path: Path, model: type[Document], *, hint: str) -> Iterator[tuple[int, Document]]:
    """Yield the values of a file of one JSON object a line, with the numbers of their lines.

    Raises:
        UsageError: A line is malformed.
    """
    for number, text in numbered_lines(path):
        try:
            value = model.model_validate_json(text)
        except ValidationError as error:
            raise UsageError(f"{path}, line {number}: {first_fault(error)}", hint=hint) from error
        yield number, value


def json_line(value: Frozen) -> str:
    """Return a value as one line of JSON with sorted keys; equal values are equal lines."""
    return json.dumps(value.model_dump(mode="json", by_alias=True), ensure_ascii=False, sort_keys=True) + "\n"

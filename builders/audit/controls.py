"""Pairs that were confirmed by hand, to be mixed into a sample blind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from builders.audit.model import DECIDED, Judgement, Verdict, standing
from builders.errors import UsageError
from builders.lock.beside import read_lines
from builders.lock.lock import Frozen

AGREE = 2


class Control(Frozen):
    """A pair whose verdict is known; `note` says who confirmed it and why."""

    query_id: str = Field(alias="query-id")
    corpus_id: str = Field(alias="corpus-id")
    verdict: Verdict
    note: str = ""


def read_controls(path: Path) -> list[Control]:
    """Read controls, one JSON object a line: ``query-id``, ``corpus-id``, ``verdict`` and maybe ``note``.

    Raises:
        StorageError: The file cannot be read.
        UsageError: A line is malformed, its verdict is neither relevant nor not relevant, or its pair stands
            there twice; it names file and line.
    """
    controls: dict[tuple[str, str], Control] = {}
    for number, control in read_lines(path, Control, hint="Correct the line."):
        pair = control.query_id, control.corpus_id
        if control.verdict not in DECIDED:
            raise UsageError(f"{path}, line {number}: a control is either not_relevant or also_relevant")
        if pair in controls:
            raise UsageError(f"{path}, line {number}: the pair {pair} stands there twice")
        controls[pair] = control
    return list(controls.values())


def agreed(judgements: Iterable[Judgement]) -> list[Control]:
    """Return the pairs on which two or more auditors of earlier audits agreed, and none differed."""
    said: defaultdict[tuple[str, str], dict[str, Verdict]] = defaultdict(dict)
    for judgement, verdict in standing(judgements):
        said[judgement.query_id, judgement.corpus_id][judgement.who] = verdict
    return [
        Control.model_validate({"query-id": pair[0], "corpus-id": pair[1], "verdict": min(verdicts.values())})
        for pair, verdicts in sorted(said.items())
        if len(verdicts) >= AGREE and len(set(verdicts.values())) == 1 and min(verdicts.values()) in DECIDED
    ]

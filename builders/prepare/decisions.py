"""Decisions: what audits found, as the next build applies it.

``configs/NAME.decisions.jsonl`` holds one pair a line. *relevant*: a hard negative that auditors found
relevant becomes a positive. *excluded*: a pair on which they differ, a hard negative that is related, or a
positive that they found not relevant, is neither positive nor negative. A decision is about what the query
asks: it holds for every query of its group, and a relevant pair extends to other passages as an observed one
does.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import Field

from builders import files
from builders.errors import UsageError
from builders.lock.beside import json_line, read_lines
from builders.lock.lock import Frozen
from builders.spec import PAIR, Relations

Reason = Literal["false_negative", "related", "disputed", "false_positive", "by_hand"]


class Decision(Frozen):
    """What a build does with a pair.

    Attributes:
        decision: "relevant" or "excluded".
        reason: Why; "by_hand" lines are kept as they are when audits are read again.
        auditors: How many judged the pair.
        sample: The sample in which it was judged; empty where it was decided by hand.
        note: For people.
    """

    query_id: str = Field(alias="query-id", min_length=1)
    passage_id: str = Field(alias="corpus-id", min_length=1)
    decision: Literal["relevant", "excluded"]
    reason: Reason = "by_hand"
    auditors: int = 0
    sample: str = ""
    note: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Query and passage."""
        return self.query_id, self.passage_id


def decisions_path(folder: Path, config: str) -> Path:
    """Return where the decisions of a config lie, beside its committed lock."""
    return folder / f"{config}.decisions.jsonl"


def read_decisions(path: Path) -> list[Decision]:
    """Read decisions; none where there is no file.

    Raises:
        UsageError: A line is malformed, or its pair stands there twice; the error names file and line.
    """
    if not path.exists():
        return []
    decisions: dict[tuple[str, str], Decision] = {}
    for number, decision in read_lines(path, Decision, hint="Restore the committed file."):
        if decision.pair in decisions:
            raise UsageError(
                f"{path}, line {number}: {' and '.join(decision.pair)} were decided in an earlier line",
                hint="Keep one of the two lines.",
            )
        decisions[decision.pair] = decision
    return list(decisions.values())


def write_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Write decisions, sorted by pair; equal decisions are equal bytes."""
    ordered = sorted(decisions, key=lambda decision: decision.pair)
    files.write_bytes(path, "".join(map(json_line, ordered)).encode())


@dataclass(frozen=True, slots=True)
class Resolved:
    """Decisions in terms of a build.

    Attributes:
        relevant: ``query_id``, ``passage_id``, ``group``: pairs of this build that are relevant.
        excluded: ``query_id``, ``passage_id`` of every query of the groups.
        unmatched: Decisions whose query or passage is not in this build.
    """

    relevant: pl.DataFrame
    excluded: pl.DataFrame
    unmatched: int


def resolve(decisions: Sequence[Decision], queries: pl.DataFrame, corpus: pl.DataFrame) -> Resolved:
    """Find the pairs of a build that decisions are about, by its queries, with ``group``, and its corpus."""
    rows = [(*decision.pair, decision.decision) for decision in decisions]
    frame = pl.DataFrame(rows, schema=dict.fromkeys([*PAIR, "decision"], pl.String), orient="row")
    groups = queries.select("group", "query_id")
    known = frame.join(groups, on="query_id").join(corpus, on="passage_id", how="semi")
    excluded = known.filter(pl.col("decision") == "excluded").select("group", "passage_id").unique()
    return Resolved(
        relevant=known.filter(pl.col("decision") == "relevant").select(*PAIR, "group").sort(PAIR),
        excluded=groups.join(excluded, on="group").select(PAIR).sort(PAIR),
        unmatched=frame.height - known.height,
    )


def apply(relations: Relations, resolved: Resolved) -> Relations:
    """Apply decisions to what a config related, which already knows the relevant pairs.

    Relevant pairs are positives whatever the config's rule says; an excluded pair is neither, even where
    another decision found it relevant.
    """
    confirmed = resolved.relevant.select(*PAIR, extended=pl.lit(value=False))
    added = confirmed.join(relations.qrels, on=PAIR, how="anti")
    qrels = pl.concat([relations.qrels, added.select(relations.qrels.columns)])
    undecided = relations.undecided.join(confirmed, on=PAIR, how="anti")
    excluded = resolved.excluded.with_columns(reason=pl.lit("excluded"))
    return replace(
        relations,
        qrels=qrels.join(resolved.excluded, on=PAIR, how="anti"),
        undecided=pl.concat([excluded, undecided]).unique(PAIR, keep="first", maintain_order=True),
    )


def effects(
    before: Relations, after: Relations, resolved: Resolved, decisions: Sequence[Decision]
) -> dict[str, int]:
    """Count what decisions changed from `before` to `after`, for the lock; nothing where there are none."""
    if not decisions:
        return {}
    return {
        "relevant": sum(decision.decision == "relevant" for decision in decisions),
        "excluded": sum(decision.decision == "excluded" for decision in decisions),
        "unmatched": resolved.unmatched,
        "qrels_added": after.qrels.join(before.qrels, on=PAIR, how="anti").height,
        "qrels_removed": before.qrels.join(after.qrels, on=PAIR, how="anti").height,
        "undecided_added": after.undecided.join(before.undecided, on=PAIR, how="anti").height,
    }

"""Decisions: what audits found, as the next build applies it.

``configs/NAME.decisions.jsonl`` holds one pair a line. *relevant*: a hard negative that auditors found
relevant becomes a positive. *excluded*: a pair on which they differ, or a positive that they found not
relevant, is neither positive nor negative. A decision is about what the query asks: it holds for every query
of its group, and a relevant pair extends to other passages as an observed one does.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl
from pydantic import Field

from builders import files
from builders.audit.model import Judgement, PairKind, Sample, Verdict, line, standing
from builders.errors import UsageError
from builders.lock.beside import read_lines
from builders.lock.lock import Frozen
from builders.spec import Relations

PAIR = ["query-id", "corpus-id"]
Reason = Literal["false_negative", "disputed", "false_positive", "by_hand"]


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
    corpus_id: str = Field(alias="corpus-id", min_length=1)
    decision: Literal["relevant", "excluded"]
    reason: Reason = "by_hand"
    auditors: int = 0
    sample: str = ""
    note: str = ""

    @property
    def pair(self) -> tuple[str, str]:
        """Query and passage."""
        return self.query_id, self.corpus_id


def decisions_path(folder: Path, config: str) -> Path:
    """Return where the decisions of a config lie, beside its committed lock."""
    return folder / f"{config}.decisions.jsonl"


def read_decisions(path: Path) -> list[Decision]:
    """Read decisions; none where there is no file.

    Raises:
        StorageError: The file cannot be read.
        UsageError: A line is malformed, or its pair stands there twice; it names file and line.
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
    """Write decisions, sorted by pair; equal decisions are equal bytes.

    Raises:
        StorageError: The file cannot be written.
    """
    ordered = sorted(decisions, key=lambda decision: decision.pair)
    files.write_bytes(path, "".join(map(line, ordered)).encode())


def of_real_builds(audits: Iterable[tuple[Sample, list[Judgement]]]) -> list[tuple[Sample, list[Judgement]]]:
    """Return the audits whose decisions may get beside the configs: those of builds from no stand-in."""
    return [audit for audit in audits if not audit[0].head.stand_in]


class _Said(NamedTuple):
    """A verdict on a pair, when it was given, and in which sample."""

    at: datetime
    verdict: Verdict
    sample: str


_Votes = dict[str, _Said]
"""The last verdict on a pair, by auditor."""


def decide(audits: Sequence[tuple[Sample, list[Judgement]]], needed: int) -> list[Decision]:
    """Return what the audits of a config decide.

    A hard negative is *relevant* when as many auditors as needed found it so and none found it not relevant;
    it is *excluded* when two or more judged it and at least half found it relevant. A positive is *excluded*
    when as many as needed found it not relevant and none found it relevant. Auditors who were unsure do not
    count. Controls decide nothing.

    A pair that was a hard negative and became a positive is judged as both. As a positive it can only be
    doubted: who finds it not relevant there counts against what was found before, and who confirms it adds
    nothing, so that a confirmation never takes a decision away.

    Args:
        audits: Samples and verdicts, random ones and suspects.
        needed: How many auditors must agree.
    """
    kinds = {(sample.head.sample, item.item): item.kind for sample, _ in audits for item in sample.items}
    holding = [entry for _, judgements in audits for entry in standing(judgements)]
    said: defaultdict[tuple[str, str], defaultdict[PairKind, _Votes]]
    said = defaultdict(lambda: defaultdict(dict))
    for one, verdict in sorted(holding, key=lambda entry: (entry[0].at, entry[1])):
        kind = kinds.get((one.sample, one.item), "control")
        if kind != "control":
            said[one.query_id, one.corpus_id][kind][one.who] = _Said(one.at, verdict, one.sample)
    found = (
        _decision(pair, votes["negative"], votes["positive"], needed) for pair, votes in sorted(said.items())
    )
    return [decision for decision in found if decision is not None]


def _decision(
    pair: tuple[str, str], as_negative: _Votes, as_positive: _Votes, needed: int
) -> Decision | None:
    doubts = {
        who: vote
        for who, vote in as_positive.items()
        if vote.verdict is Verdict.NOT_RELEVANT and (who not in as_negative or as_negative[who].at < vote.at)
    }
    confirmed, wrong = _counted(as_positive)
    if wrong >= needed and not confirmed:
        return _of(pair, "excluded", "false_positive", as_positive)
    votes = as_negative | doubts
    relevant, wrong = _counted(votes)
    if relevant >= needed and not wrong:
        return _of(pair, "relevant", "false_negative", votes)
    if relevant >= wrong > 0:
        return _of(pair, "excluded", "disputed", votes)
    return None


def _counted(votes: _Votes) -> tuple[int, int]:
    """How many auditors found a pair relevant, and how many not."""
    verdicts = [vote.verdict for vote in votes.values()]
    return verdicts.count(Verdict.ALSO_RELEVANT), verdicts.count(Verdict.NOT_RELEVANT)


def _of(
    pair: tuple[str, str], decision: Literal["relevant", "excluded"], reason: Reason, votes: _Votes
) -> Decision:
    return Decision.model_validate({
        "query-id": pair[0],
        "corpus-id": pair[1],
        "decision": decision,
        "reason": reason,
        "auditors": sum(_counted(votes)),
        "sample": max(votes.values()).sample,
    })


def merged(kept: Iterable[Decision], found: Iterable[Decision]) -> list[Decision]:
    """Return decisions by hand and, of all other pairs, what the audits decide now."""
    by_pair = {decision.pair: decision for decision in found}
    by_pair |= {decision.pair: decision for decision in kept if decision.reason == "by_hand"}
    return [by_pair[pair] for pair in sorted(by_pair)]


@dataclass(frozen=True, slots=True)
class Resolved:
    """Decisions in terms of a build.

    Attributes:
        relevant: ``query-id``, ``corpus-id``, ``group``: pairs of this build that are relevant.
        excluded: ``query-id``, ``corpus-id`` of every query of the groups.
        unmatched: Decisions whose query or passage is not in this build.
    """

    relevant: pl.DataFrame
    excluded: pl.DataFrame
    unmatched: int


def resolve(decisions: Sequence[Decision], queries: pl.DataFrame, corpus: pl.DataFrame) -> Resolved:
    """Find the pairs of a build that decisions are about.

    Args:
        decisions: From `read_decisions`.
        queries: ``_id``, ``group``.
        corpus: ``_id``.
    """
    rows = [(*decision.pair, decision.decision) for decision in decisions]
    frame = pl.DataFrame(rows, schema=dict.fromkeys([*PAIR, "decision"], pl.String), orient="row")
    groups = queries.select("group", **{"query-id": "_id"})
    known = frame.join(groups, on="query-id").join(corpus, left_on="corpus-id", right_on="_id", how="semi")
    excluded = known.filter(pl.col("decision") == "excluded").select("group", "corpus-id").unique()
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
    undecided = relations.undecided.select(PAIR).join(confirmed, on=PAIR, how="anti")
    return replace(
        relations,
        qrels=qrels.join(resolved.excluded, on=PAIR, how="anti"),
        undecided=pl.concat([undecided, resolved.excluded]).unique(),
    )


def effects(
    before: Relations, after: Relations, resolved: Resolved, decisions: Sequence[Decision]
) -> dict[str, int]:
    """Count what decisions did, for the lock; nothing where there are none.

    Args:
        before: What the config relates without them.
        after: What is related with them.
        resolved: The decisions in terms of the build.
        decisions: All of them.
    """
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

"""Rules on which passages are relevant to which query."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Code, Finding, error, line, note
from builders.checks.subject import Pairs, Rule, stacked
from builders.spec import PAIR
from builders.tables import Kind

_REMAP = "Remap the qrels by the ids that survive merging, and drop pairs whose end was dropped."

_DANGLING_QUERY = error("dangling-qrels-query", "qrels rows whose query is in no split", _REMAP)
_DANGLING_CORPUS = error("dangling-qrels-corpus", "qrels rows whose passage is not there", _REMAP)
_WRONG_SPLIT = error(
    "qrels-wrong-split", "qrels rows whose query is in another split", "Split the qrels by their query."
)
_UNJUDGED = error(
    "query-without-qrels",
    "queries without a positive in their split",
    "Evaluators skip such queries silently: drop them in the build, with a reason.",
)
_DUPLICATE = error("qrels-duplicate", "pairs that occur more than once in the qrels", _REMAP)
_SCORE = error("qrels-score", "qrels rows whose score is not 1", "Publish positives only, as 1.")
_SHARED = note(
    "test-positives-in-train",
    "test queries that share a positive with train",
    "The card says so: a model trained on train has seen these passages as answers.",
)
_NEVER = note(
    "passage-never-relevant",
    "passages that are relevant to no query",
    "Nothing to do where the upstream has such passages; else look for lost qrels.",
)


def pair_faults(
    subject: Pairs, kind: Kind, unknown: Code, elsewhere: Code, dangling: Code, repeated: Code
) -> Iterator[Finding]:
    """Find the pairs of qrels or hard negatives that lack an end, or occur more than once.

    Args:
        subject: The built config.
        kind: The table.
        unknown: Counts pairs whose query is in no split.
        elsewhere: Counts pairs whose query is in another split.
        dangling: Counts pairs whose passage is not in the corpus.
        repeated: Counts pairs that occur more than once.
    """
    pairs, queries, corpus = (stacked(subject, each) for each in (kind, Kind.QUERIES, Kind.CORPUS))
    row = line(f"{kind}/{{}} {{}} → {{}}", "split", *PAIR)
    absent = pairs.join(queries, on=["query_id", "split"], how="anti")
    yield from unknown.rows(absent.join(queries, on="query_id", how="anti"), row)
    yield from elsewhere.rows(absent.join(queries, on="query_id", how="semi"), row)
    yield from dangling.rows(pairs.join(corpus, on="passage_id", how="anti"), row)
    several = pairs.group_by(PAIR).len("times").filter(pl.col("times") > 1)
    yield from repeated.rows(several, line("{} → {}: {} times", *PAIR, "times"))


def _ends(subject: Pairs) -> Iterator[Finding]:
    """Demand that both ends of a pair are published, the query in its split, and that it occurs once."""
    codes = (_DANGLING_QUERY, _WRONG_SPLIT, _DANGLING_CORPUS, _DUPLICATE)
    yield from pair_faults(subject, Kind.QRELS, *codes)


def _coverage(subject: Pairs) -> Iterator[Finding]:
    """Demand a positive for every query, and count the passages without a query."""
    qrels, queries = stacked(subject, Kind.QRELS), stacked(subject, Kind.QUERIES)
    unjudged = queries.join(qrels, on=["query_id", "split"], how="anti")
    yield from _UNJUDGED.rows(unjudged, line("queries/{} {}: {}", "split", "query_id", "text"))
    corpus = stacked(subject, Kind.CORPUS)
    never = corpus.join(qrels, on="passage_id", how="anti")
    share = f"{never.height:,} of {corpus.height:,} passages are relevant to no query"
    yield from _NEVER.rows(never, line("{}: {}", "passage_id", "text"), message=share)


def _scores(subject: Pairs) -> Iterator[Finding]:
    """Demand score 1 of every pair."""
    wrong = stacked(subject, Kind.QRELS).filter(pl.col("score") != 1)
    yield from _SCORE.rows(wrong, line("qrels/{} {} → {}: {}", "split", *PAIR, "score"))


def _overlap(subject: Pairs) -> Iterator[Finding]:
    """Count the test queries that have a positive in common with a train query."""
    tables = subject.tables[Kind.QRELS]
    test, train = tables["test"], tables["train"]
    shared = test.join(train, on="passage_id", how="semi").select("query_id").unique()
    total = test["query_id"].n_unique()
    share = f"{shared.height:,} of {total:,} test queries ({shared.height / max(total, 1):.1%})"
    yield from _SHARED.rows(shared, line("{}", "query_id"), message=f"{share} share a positive with train")


RULES: tuple[Rule, ...] = (_ends, _coverage, _scores, _overlap)

"""Rules on which passages are relevant to which query."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, error, line, note
from builders.checks.subject import Pairs, Rule, dangling_pairs, repeated_pairs, stacked
from builders.tables import PAIR, Kind

_REMAP = "Remap the qrels by the ids that survive merging, and drop pairs whose end was dropped."

DANGLING_QUERY = error("dangling-qrels-query", "qrels rows whose query is in no split", _REMAP)
DANGLING_CORPUS = error("dangling-qrels-corpus", "qrels rows whose passage is not there", _REMAP)
WRONG_SPLIT = error(
    "qrels-wrong-split", "qrels rows whose query is in another split", "Split the qrels by their query."
)
UNJUDGED = error(
    "query-without-qrels",
    "queries without a positive in their split",
    "Evaluators skip such queries silently: drop them in the build, with a reason.",
)
DUPLICATE = error("qrels-duplicate", "pairs that occur more than once in the qrels", _REMAP)
SCORE = error("qrels-score", "qrels rows whose score is not 1", "Publish positives only, as 1.")
SHARED = note(
    "test-positives-in-train",
    "test queries that share a positive with train",
    "The card says so: a model trained on train has seen these passages as answers.",
)
NEVER = note(
    "passage-never-relevant",
    "passages that are relevant to no query",
    "Nothing to do where the upstream has such passages; else look for lost qrels.",
)

_ROW = line("qrels/{} {} → {}", "split", *PAIR)


def ends(subject: Pairs) -> Iterator[Finding]:
    """Both ends of a pair are published, the query in the same split."""
    lost = dangling_pairs(subject, Kind.QRELS)
    yield from DANGLING_QUERY.rows(lost.unknown, _ROW)
    yield from WRONG_SPLIT.rows(lost.elsewhere, _ROW)
    yield from DANGLING_CORPUS.rows(lost.dangling, _ROW)


def coverage(subject: Pairs) -> Iterator[Finding]:
    """Every query has a positive; passages without one are counted."""
    qrels, queries = stacked(subject, Kind.QRELS), stacked(subject, Kind.QUERIES)
    unjudged = queries.join(qrels, left_on=["_id", "split"], right_on=["query-id", "split"], how="anti")
    yield from UNJUDGED.rows(unjudged, line("queries/{} {}: {}", "split", "_id", "text"))
    corpus = stacked(subject, Kind.CORPUS)
    never = corpus.join(qrels, left_on="_id", right_on="corpus-id", how="anti")
    share = f"{never.height:,} of {corpus.height:,} passages are relevant to no query"
    yield from NEVER.rows(never, line("{}: {}", "_id", "text"), message=share)


def rows(subject: Pairs) -> Iterator[Finding]:
    """A pair occurs once, with score 1."""
    qrels = stacked(subject, Kind.QRELS)
    yield from DUPLICATE.rows(repeated_pairs(qrels), line("{} → {}: {} times", *PAIR, "times"))
    yield from SCORE.rows(
        qrels.filter(pl.col("score") != 1), line("qrels/{} {} → {}: {}", "split", *PAIR, "score")
    )


def overlap(subject: Pairs) -> Iterator[Finding]:
    """Count the test queries that have a positive in common with a train query."""
    tables = subject.tables[Kind.QRELS]
    test, train = tables["test"], tables["train"]
    shared = test.join(train, on="corpus-id", how="semi").select("query-id").unique()
    total = test["query-id"].n_unique()
    share = f"{shared.height:,} of {total:,} test queries ({shared.height / max(total, 1):.1%})"
    yield from SHARED.rows(shared, line("{}", "query-id"), message=f"{share} share a positive with train")


RULES: tuple[Rule, ...] = (ends, coverage, rows, overlap)

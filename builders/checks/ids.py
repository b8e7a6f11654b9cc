"""Rules on the ids of queries and passages, and on the pairs that are relevant."""

import hashlib
from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Code, Finding, error, note
from builders.checks.subject import Pairs, Rule, keyed
from builders.spec import PAIR
from builders.tables import Kind
from builders.text.merge import encoded_text

_UPSTREAM = "Give such rows another id, or drop them with a reason, before they are published."
_MERGE = "Rows with one id must be merged before they are written: look at the config's `ids`."

_EMPTY = error("id-empty", "ids that are empty", _UPSTREAM)
_MALFORMED = error("id-malformed", "ids with white space or control characters", _UPSTREAM)
_DUPLICATE = error("id-duplicate", "ids that occur more than once in a table", _MERGE)
_ACROSS = error(
    "id-across-splits",
    "query ids that occur in more than one split",
    "A query belongs to one split: look for it in the config's splits.tsv.",
)
_SHARED = error(
    "id-shared",
    "ids that are a query's and a passage's",
    "Give queries and passages different prefixes: evaluators may drop a pair with equal ids.",
)
_CONTENT = error(
    "id-content",
    "ids that do not follow from their text",
    "The text was changed after its id was made: make ids last, from the text that is published.",
)

_REMAP = "Remap the qrels by the ids that survive merging, and drop pairs whose end was dropped."

_DANGLING_QUERY = error("dangling-qrels-query", "qrels rows whose query is in no split", _REMAP)
_DANGLING_CORPUS = error("dangling-qrels-corpus", "qrels rows whose passage is not there", _REMAP)
_WRONG_SPLIT = error("qrels-wrong-split", "qrels rows whose query is in another split", "Split by query.")
_UNJUDGED = error(
    "query-without-qrels",
    "queries without a positive in their split",
    "Evaluators skip such queries silently: drop them in the build, with a reason.",
)
_DUPLICATE_PAIR = error("qrels-duplicate", "pairs that occur more than once in the qrels", _REMAP)
_SCORE = error("qrels-score", "qrels rows whose score is not 1", "Publish positives only, as 1.")
_SHARED_POSITIVES = note(
    "test-positives-in-train",
    "test queries that share a positive with train",
    "The card says so: a model trained on train has seen these passages as answers.",
)
_NEVER = note(
    "passage-never-relevant",
    "passages that are relevant to no query",
    "Nothing to do where the upstream has such passages, or their pairs are undecided (mteb-de explain "
    "names them); else look for lost qrels.",
)


def _ids(subject: Pairs) -> pl.DataFrame:
    return pl.concat(
        subject.stacked(kind).select(table=pl.lit(str(kind)), split="split", id=key)
        for kind, key in ((Kind.CORPUS, "passage_id"), (Kind.QUERIES, "query_id"))
    )


def _form(subject: Pairs) -> Iterator[Finding]:
    """Demand ids that are words, and each the name of one row of one table of one split."""
    ids = _ids(subject)
    yield from _EMPTY.rows(ids.filter(pl.col("id") == ""), "{table}/{split}")
    yield from _MALFORMED.rows(ids.filter(pl.col("id").str.contains(r"[\s\p{C}]")), "{table}/{split} {id}")
    repeated = ids.group_by("table", "split", "id").len("times").filter(pl.col("times") > 1)
    yield from _DUPLICATE.rows(repeated, "{table}/{split} {id}: {times} times")
    queries = ids.filter(pl.col("table") == Kind.QUERIES)
    splits = queries.unique(maintain_order=True).group_by("id").agg(pl.col("split"))
    across = splits.filter(pl.col("split").list.len() > 1).with_columns(pl.col("split").list.join(", "))
    yield from _ACROSS.rows(across, "{id}: {split}")
    passages = ids.filter(pl.col("table") == Kind.CORPUS)
    yield from _SHARED.rows(queries.join(passages, on="id", how="semi").select("id").unique(), "{id}")


def _content(subject: Pairs) -> Iterator[Finding]:
    """Derive ids anew, the first 16 hex digits of blake2b of a key, without the code that made them."""
    if subject.spec.ids != "content":
        return
    corpus, queries = subject.corpus, subject.queries
    keys = keyed(queries["text"], subject.spec.query_key)
    each = pl.concat([
        _derived("corpus", "d", corpus.select("split", id="passage_id"), encoded_text(corpus)),
        _derived("queries", "q", queries.select("split", id="query_id"), keys),
    ])
    wrong = each.filter(pl.col("id") != pl.col("expected"))
    yield from _CONTENT.rows(wrong, "{table}/{split} {id}: {expected} expected")


def _derived(table: str, prefix: str, rows: pl.DataFrame, keys: pl.Series) -> pl.DataFrame:
    expected = keyed(keys, lambda key: f"{prefix}-{hashlib.blake2b(key.encode()).hexdigest()[:16]}")
    return rows.with_columns(table=pl.lit(table), expected=expected)


def pair_faults(
    subject: Pairs, kind: Kind, unknown: Code, elsewhere: Code, dangling: Code, repeated: Code
) -> Iterator[Finding]:
    """Find the pairs of qrels or hard negatives that lack an end, or occur more than once.

    Their codes count pairs whose query is in no split, or in another one, or whose passage is not there.
    """
    pairs, queries, corpus = (subject.stacked(each) for each in (kind, Kind.QUERIES, Kind.CORPUS))
    row = f"{kind}/{{split}} {{query_id}} → {{passage_id}}"
    absent = pairs.join(queries, on=["query_id", "split"], how="anti")
    yield from unknown.rows(absent.join(queries, on="query_id", how="anti"), row)
    yield from elsewhere.rows(absent.join(queries, on="query_id", how="semi"), row)
    yield from dangling.rows(pairs.join(corpus, on="passage_id", how="anti"), row)
    several = pairs.group_by(PAIR).len("times").filter(pl.col("times") > 1)
    yield from repeated.rows(several, "{query_id} → {passage_id}: {times} times")


def _qrels(subject: Pairs) -> Iterator[Finding]:
    """Demand pairs of published ends, once and with score 1, and one for every query in its split."""
    codes = (_DANGLING_QUERY, _WRONG_SPLIT, _DANGLING_CORPUS, _DUPLICATE_PAIR)
    yield from pair_faults(subject, Kind.QRELS, *codes)
    qrels, corpus = subject.qrels, subject.corpus
    wrong = qrels.filter(pl.col("score") != 1)
    yield from _SCORE.rows(wrong, "qrels/{split} {query_id} → {passage_id}: {score}")
    unjudged = subject.queries.join(qrels, on=["query_id", "split"], how="anti")
    yield from _UNJUDGED.rows(unjudged, "queries/{split} {query_id}: {text}")
    never = corpus.join(qrels, on="passage_id", how="anti")
    share = f"{never.height:,} of {corpus.height:,} passages are relevant to no query"
    yield from _NEVER.rows(never, "{passage_id}: {text}", message=share)


def _overlap(subject: Pairs) -> Iterator[Finding]:
    """Count the test queries that have a positive in common with a train query."""
    tables = subject.tables[Kind.QRELS]
    shared = tables["test"].join(tables["train"], on="passage_id", how="semi").select("query_id").unique()
    total = tables["test"]["query_id"].n_unique()
    share = f"{shared.height:,} of {total:,} test queries ({shared.height / max(total, 1):.1%})"
    yield from _SHARED_POSITIVES.rows(shared, "{query_id}", message=f"{share} share a positive with train")


RULES: tuple[Rule, ...] = (_form, _content, _qrels, _overlap)

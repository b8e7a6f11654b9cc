"""From upstream rows to queries, passages and relations: normalise, scrub, drop, merge, relate. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from builders.errors import SourceSchema
from builders.lock.lock import Funnel, PersonalReport
from builders.personal import scrub
from builders.personal.replacements import report, together
from builders.prepare.components import components, largest
from builders.prepare.decisions import Decision, Resolved, apply, effects, resolve
from builders.prepare.funnels import Outcome, Space, funnels, in_space, pair_losses, without_id
from builders.prepare.scrub_merges import SCRUB_MERGES, scrub_merges
from builders.spec import PAIR, ConfigSpec, PersonalKind, Records, Relations, Retrieval, first_reason
from builders.text.merge import digest, merge_passages, merge_queries
from builders.text.normalise import each, normalise_frame

_REASONS = {"table": pl.String, "id": pl.String, "reason": pl.String}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A dataset before it is split.

    Attributes:
        queries: ``query_id``, ``text``, ``group`` (the relevance key), ``leak`` (the leak key), ``component``
            (as of `components`), ``positives`` int, how many passages are relevant to it; sorted by id.
        corpus: ``passage_id``, ``title``, ``text``; sorted by id.
        dropped: ``table``, ``id``, ``space``, ``reason``: every row that is not published and was not merged;
            see `builders.prepare.funnels.Space`.
        provenance: ``table``, ``id``, ``upstream_id``: which upstream rows became which published row.
        personal: What was replaced in the rows read, by table.
        decisions: What decisions of audits did, counted; empty where there are none.
        scrub_merges: Queries that scrubbing made of titles of different occupations; see `scrub_merges`.
    """

    queries: pl.DataFrame
    corpus: pl.DataFrame
    relations: Relations
    dropped: pl.DataFrame
    provenance: pl.DataFrame
    funnels: tuple[Funnel, ...]
    personal: dict[str, PersonalReport]
    decisions: dict[str, int] = field(default_factory=dict)
    scrub_merges: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SCRUB_MERGES))


@dataclass(frozen=True, slots=True)
class _Usable:
    """Rows that have text, and those that have none."""

    queries: pl.DataFrame
    passages: pl.DataFrame
    dropped: pl.DataFrame
    personal: dict[str, PersonalReport]


def prepare(spec: Retrieval, records: Records, decisions: Sequence[Decision] = ()) -> Prepared:
    """Turn upstream rows into what is published, and account for every row on the way."""
    refuse_bad_ids(spec, "queries", records.queries)
    refuse_bad_ids(spec, "passages", records.passages)
    usable = _usable(spec, records)
    queries = merge_queries(usable.queries.select("upstream_id", "text", "key"), spec.ids)
    passages = merge_passages(usable.passages.select("upstream_id", "title", "text"), spec.ids)
    grouped = queries.rows.with_columns(group=each(queries.rows["key"], spec.relevance_key))
    grouped = grouped.with_columns(leak=each(grouped["group"], spec.leak_key))
    pairs = _observed_pairs(records.pairs, queries.ids, passages.ids, grouped, usable.passages)
    resolved = resolve(decisions, grouped, passages.rows)
    observed, relations = _related(spec, pairs, resolved, passages.ids, usable.passages)

    answered = grouped.join(relations.qrels, on="query_id", how="semi")
    unanswered = grouped.join(answered, on="query_id", how="anti")
    lost = unanswered.select(table=pl.lit("queries"), id="query_id", reason=pl.lit("no_positive"))
    lost_pairs = pair_losses(records, usable.dropped)
    dropped = [
        in_space(usable.dropped, Space.UPSTREAM),
        in_space(lost, Space.PUBLISHED),
        in_space(without_id(records), Space.PLACE),
    ]
    if spec.rows != "pair":  # of a row that is the pair itself, one line is enough
        dropped.append(in_space(lost_pairs, Space.UPSTREAM_PAIR))
    undecided = relations.undecided.join(unanswered, on="query_id", how="anti")
    published = replace(relations, qrels=relations.qrels.sort(PAIR), undecided=undecided.sort(PAIR))
    outcome = Outcome(answered, pairs, resolved, published, usable.dropped, lost, lost_pairs)
    return Prepared(
        queries=answered
        .select("query_id", "text", "group", "leak")
        .join(components(answered, relations.qrels), on="query_id")
        .join(relations.qrels.group_by("query_id").len("positives"), on="query_id")
        .sort("query_id"),
        corpus=passages.rows.select("passage_id", "title", "text").sort("passage_id"),
        relations=published,
        dropped=pl.concat(dropped).sort("table", "reason", "id"),
        provenance=_provenance(queries.ids, passages.ids),
        funnels=funnels(spec, records, queries, passages, outcome),
        scrub_merges=scrub_merges(
            usable.queries.join(queries.ids, on="upstream_id").join(answered, on="query_id", how="semi"),
            records.pairs,
            usable.passages,
        ),
        personal=usable.personal,
        decisions=effects(observed, relations, resolved, decisions),
    )


def limit(records: Records, rows: int, *, whole: bool) -> Records:
    """Keep `rows` queries, chosen by hash of their upstream id and so whatever the order, with their pairs.

    Where a `whole` upstream row is query and passage, the others' passages go too; elsewhere all stay.
    """
    order = each(records.queries["upstream_id"], digest)
    chosen = records.queries.sort(order).head(rows)
    pairs = records.pairs.join(chosen, left_on="query", right_on="upstream_id", how="semi")
    passages = records.passages
    if whole:
        passages = passages.join(chosen, on="upstream_id", how="semi")
    return replace(records, queries=chosen, passages=passages, pairs=pairs)


def refuse_bad_ids(spec: ConfigSpec, table: str, rows: pl.DataFrame) -> None:
    """Refuse rows of a config's `read` that share their ``upstream_id``, or have none."""
    ids = rows["upstream_id"]
    bad = ids.is_null() | ids.is_duplicated() | (ids == "").fill_null(value=False)
    if count := bad.sum():
        first = bad.arg_max() or 0
        raise SourceSchema(
            f"{spec.name}: {count} of the {table} have no id of their own, first row {first}, {ids[first]!r}",
            hint="Ids must be unique upstream; look whether a file was read twice or the column renamed.",
        )


def _usable(spec: Retrieval, records: Records) -> _Usable:
    """Normalise, compose, scrub, and part the rows that have text from those that have none."""
    queries = normalise_frame(records.queries, keep=["upstream_id"])
    passages = spec.compose(normalise_frame(records.passages, keep=["upstream_id"]))
    came = queries.select("upstream_id", came="text")
    queries, in_queries = scrubbed(queries, spec.personal, titles=spec.titles)
    passages, in_passages = scrubbed(passages, spec.personal)
    queries = queries.join(came, on="upstream_id", maintain_order="left")
    queries = queries.with_columns(
        key=each(queries["text"], spec.query_key), unscrubbed=each(queries["came"], spec.query_key)
    ).drop("came")
    dropped = _unusable(spec, queries, passages)
    return _Usable(
        queries=_without(queries, dropped, spec.rows, "queries"),
        passages=_without(passages, dropped, spec.rows, "passages"),
        dropped=dropped,
        personal={"queries": in_queries, "corpus": in_passages},
    )


def scrubbed(
    frame: pl.DataFrame, kinds: tuple[PersonalKind, ...], *, titles: bool = False
) -> tuple[pl.DataFrame, PersonalReport]:
    """Replace personal data in ``title`` and ``text``, each by itself, and report the replacements.

    The rows are taken in the order of their ids, so that the examples do not depend on the upstream's order.
    """
    frame = frame.sort("upstream_id")
    reports = []
    for column in ("title", "text"):
        if column in frame.columns:
            result = scrub(frame[column], kinds, titles=titles)
            reports.append(report(frame[column].to_list(), result.spans))
            frame = frame.with_columns(result.texts.alias(column))
    return frame, together(reports)


def _unusable(spec: Retrieval, queries: pl.DataFrame, passages: pl.DataFrame) -> pl.DataFrame:
    """Rows without text, with the table and the reason; the first reason wins where a row is both."""
    no_text = pl.col("text").is_null()
    empty_query = first_reason({"empty_query": no_text, "no_query_words": pl.col("key") == ""})
    bad_queries = queries.select(table=pl.lit("queries"), id="upstream_id", reason=empty_query)
    empty_passage = pl.when(no_text).then(pl.lit(spec.empty_passage))
    bad_passages = passages.select(table=pl.lit("passages"), id="upstream_id", reason=empty_passage)
    bad = pl.concat([bad_queries, bad_passages]).drop_nulls("reason").cast(pl.Schema(_REASONS))
    if spec.rows == "pair":
        return bad.unique("id", keep="first", maintain_order=True).with_columns(table=pl.lit("rows"))
    return bad


def _without(frame: pl.DataFrame, dropped: pl.DataFrame, rows: str, table: str) -> pl.DataFrame:
    gone = dropped if rows == "pair" else dropped.filter(pl.col("table") == table)
    return frame.join(gone, left_on="upstream_id", right_on="id", how="anti")


def _observed_pairs(
    pairs: pl.DataFrame,
    query_ids: pl.DataFrame,
    passage_ids: pl.DataFrame,
    grouped: pl.DataFrame,
    passages: pl.DataFrame,
) -> pl.DataFrame:
    """One row per upstream pair whose both ends are left, with its group and what `compose` added."""
    extra = passages.drop("title", "text")
    return (
        pairs
        .join(query_ids, left_on="query", right_on="upstream_id")
        .join(passage_ids, left_on="passage", right_on="upstream_id")
        .join(grouped.select("group", "query_id"), on="query_id")
        .join(extra, left_on="passage", right_on="upstream_id")
        .drop("query", "passage")
    )


def _related(
    spec: Retrieval,
    pairs: pl.DataFrame,
    resolved: Resolved,
    passage_ids: pl.DataFrame,
    passages: pl.DataFrame,
) -> tuple[Relations, Relations]:
    """Relate by the config's rule: without the decisions of audits, and with them."""
    observed = spec.relate(pairs)
    if resolved.relevant.is_empty() and resolved.excluded.is_empty():
        return observed, observed
    confirmed = (
        resolved.relevant
        .join(passage_ids, on="passage_id")
        .join(passages.drop("title", "text"), on="upstream_id")
        .drop("upstream_id")
        .with_columns(confirmed=pl.lit(value=True))
    )
    both = pl.concat([pairs.with_columns(confirmed=pl.lit(value=False)), confirmed], how="diagonal")
    return observed, apply(spec.relate(both), resolved)


def _provenance(query_ids: pl.DataFrame, passage_ids: pl.DataFrame) -> pl.DataFrame:
    tables = [("queries", "query_id", query_ids), ("corpus", "passage_id", passage_ids)]
    return (
        pl
        .concat([ids.select("upstream_id", table=pl.lit(name), id=key) for name, key, ids in tables])
        .select("table", "id", "upstream_id")
        .sort("table", "id", "upstream_id")
    )


def retrieval_facts(prepared: Prepared, assignment: pl.DataFrame) -> dict[str, int]:
    """Return counts of relations, groups and overlap between splits.

    Args:
        prepared: The dataset.
        assignment: ``query_id``, ``split`` of every query.
    """
    qrels = prepared.relations.qrels.join(assignment.select("split", "query_id"), on="query_id", how="inner")
    positives = qrels.group_by("query_id").len()["len"]
    train, test = (qrels.filter(pl.col("split") == split) for split in ("train", "test"))
    shared = test.join(train, on="passage_id", how="semi")
    return {
        "components": prepared.queries["component"].n_unique(),
        "groups": prepared.queries["group"].n_unique(),
        "largest_component": largest(prepared.queries, "component"),
        "passages_never_relevant": prepared.corpus.join(qrels, on="passage_id", how="anti").height,
        "positives_per_query_max": _whole(positives.max()),
        "positives_per_query_median": _whole(positives.quantile(0.5, interpolation="lower")),
        "qrels": qrels.height,
        "qrels_extended": int(qrels["extended"].sum()),
        "qrels_observed": int((~qrels["extended"]).sum()),
        "queries_with_extension": qrels.filter("extended")["query_id"].n_unique(),
        "test_queries_sharing_positives_with_train": shared["query_id"].n_unique(),
        "undecided_pairs": prepared.relations.undecided.height,
    }


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0

"""Counts about a prepared dataset that the card cites."""

from __future__ import annotations

import polars as pl

from builders.prepare.retrieval import Prepared


def facts(prepared: Prepared, assignment: pl.DataFrame) -> dict[str, int]:
    """Return counts of relations, groups and overlap between splits.

    Args:
        prepared: The dataset.
        assignment: ``_id``, ``split`` of every query.

    Returns:
        Whole numbers by name. ``test_queries_sharing_positives_with_train`` counts test queries of which a
        positive is also one of a train query.
    """
    qrels = prepared.relations.qrels.join(
        assignment.select("split", **{"query-id": "_id"}), on="query-id", how="inner"
    )
    positives = qrels.group_by("query-id").len()["len"]
    train, test = (qrels.filter(pl.col("split") == split) for split in ("train", "test"))
    shared = test.join(train, on="corpus-id", how="semi")
    return {
        "groups": prepared.queries["group"].n_unique(),
        "passages_never_relevant": prepared.corpus.join(
            qrels, left_on="_id", right_on="corpus-id", how="anti"
        ).height,
        "positives_per_query_max": _whole(positives.max()),
        "positives_per_query_median": _whole(positives.quantile(0.5, interpolation="lower")),
        "qrels": qrels.height,
        "qrels_extended": int(qrels["extended"].sum()),
        "qrels_observed": int((~qrels["extended"]).sum()),
        "queries_with_extension": qrels.filter("extended")["query-id"].n_unique(),
        "test_queries_sharing_positives_with_train": shared["query-id"].n_unique(),
        "undecided_pairs": prepared.relations.undecided.height,
    }


def _whole(value: object) -> int:
    return int(value) if isinstance(value, int | float) else 0

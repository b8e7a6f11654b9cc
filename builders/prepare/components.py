"""Components: queries that are connected by leak keys and positives, and so are dealt together."""

import polars as pl

from builders.text.merge import digest

MOST = 0.05
"""Above this share of the queries a component is no longer dealt whole: groups alone are."""


def components(queries: pl.DataFrame, qrels: pl.DataFrame) -> pl.DataFrame:
    """Find the connected components of queries that share a leak key or a positive.

    Args:
        queries: ``query_id``, ``leak`` str.
        qrels: ``query_id``, ``passage_id`` str; pairs of other queries connect nothing.

    Returns:
        ``query_id`` str, unique and sorted; ``component`` str, the hash of the smallest id of the component,
        so that neither the order of rows nor other components change it.
    """
    from numpy import ones
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = pl.concat([
        queries.select("query_id", end=pl.format("leak {}", "leak")),
        qrels.join(queries, on="query_id", how="semi").select(
            "query_id", end=pl.format("passage {}", "passage_id")
        ),
    ]).drop_nulls()
    linked = links.select("query_id").unique().sort("query_id")
    # The nodes of the graph: queries in the order of their ids, then what they share.
    query, end = ((links[name].rank("dense").cast(pl.Int64) - 1).to_numpy() for name in links.columns)
    nodes = linked.height + links["end"].n_unique()
    edges = coo_array((ones(links.height, dtype=bool), (query, end + linked.height)), shape=(nodes, nodes))
    _, labels = connected_components(edges, directed=False)
    named = linked.with_columns(label=pl.Series(labels[: linked.height]))
    smallest = named.group_by("label").agg(pl.col("query_id").min().alias("smallest"))
    hashes = pl.Series([digest(name) for name in smallest["smallest"].to_list()], dtype=pl.String)
    found = named.join(smallest.with_columns(component=hashes), on="label")
    return found.select("query_id", "component").sort("query_id")


def largest(queries: pl.DataFrame, key: str) -> int:
    """Return the number of queries of the largest component or leak key, whichever column `key` names."""
    sizes = queries.drop_nulls(key).group_by(key).len()
    return int(sizes.select(pl.col("len").max()).item() or 0)


def is_giant(queries: pl.DataFrame) -> bool:
    """Return whether components are too large to be dealt whole.

    That is where the largest holds more than `MOST` of the queries, and more than the largest leak key, which
    is dealt whole in any case.

    Args:
        queries: ``leak``, ``component`` str.
    """
    return largest(queries, "component") > max(MOST * queries.height, largest(queries, "leak"))

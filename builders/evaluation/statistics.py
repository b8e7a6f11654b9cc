"""Statistics of the tables themselves: lengths, balance of labels, positives of a query, overlap of words."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import polars as pl

from builders.built import Built
from builders.spec import PAIR, SEED
from builders.tables import CLUSTERING, Kind
from builders.text.merge import encoded_text

STEP = 10**0.1
"""Ratio of the ends of a band of lengths: ten bands lead to ten times the length."""
_COMPARED_QUERIES = 2_000
"""Most queries of a config whose words are compared with passages."""
_EDGES = np.unique(np.rint([0, *np.geomspace(1, 1e9, 91)]).astype(np.int64))
_POSITIVES = {"0": 0, "1": 1, "2": 2, "3–5": 3, "6–10": 6, "11–20": 11, "21+": 21}
"""Least number of positives of a query by the name of its group."""
_WORD = r"[\p{L}\p{N}]+"
_READ = (Kind.CORPUS, Kind.QUERIES, Kind.QRELS, *CLUSTERING.values(), Kind.CLUSTERING_IDS)


class _Overlap(NamedTuple):
    """Shares of a query's distinct words that stand in a positive, and in a random passage that is none.

    Both are float64, a value a query that was compared, of `of` that could have been; those whose drawn
    passage is a positive have no second one.
    """

    positive: pl.Series
    random: pl.Series
    of: int


@dataclass(frozen=True, slots=True)
class ConfigStatistics:
    """Statistics of one built or hydrated config; what its kind does not have is empty.

    Attributes:
        splits: Number of queries by split; `positives`: by their number of positives; `mined`: by their
            number of hard negatives, for each table of these.
        mean_positives: Positives of a query by split, on average.
        lengths: Characters of each text as int64, by what the texts are: "queries", "sentences of s2s".
        sets: What `_balance` returns, in published order.
        stand_in: Whether something else than all of the real upstreams was built.
    """

    config: str
    splits: Mapping[str, int] = field(default_factory=dict)
    passages: int = 0
    positives: Mapping[str, int] = field(default_factory=dict)
    mean_positives: Mapping[str, float] = field(default_factory=dict)
    mined: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    lengths: Mapping[str, pl.Series] = field(default_factory=dict)
    overlap: _Overlap | None = None
    sets: pl.DataFrame = field(default_factory=pl.DataFrame)
    stand_in: bool = False


def read_statistics(built: Built) -> ConfigStatistics:
    """Return the statistics of a built or hydrated config."""
    built.verify(_READ)
    config, mining = built.spec.name, built.lock.mining if built.lock else None
    variants = {name: built.table(kind, "test") for name, kind in CLUSTERING.items() if built.splits(kind)}
    if splits := built.splits(Kind.QUERIES):
        found = _retrieval(
            config,
            {split: built.table(Kind.QUERIES, split) for split in splits},
            built.stacked(Kind.QRELS),
            built.table(Kind.CORPUS, "corpus"),
            mined={name: table.report.by_count for name, table in mining.tables.items()} if mining else {},
        )
    elif variants:
        found = _clustering(config, variants)
    else:
        ids = built.table(Kind.CLUSTERING_IDS, "test").with_columns(level=pl.lit("ids"))
        found = ConfigStatistics(config, sets=_balance(ids))
    return replace(found, stand_in=built.stand_in)


def _retrieval(
    config: str,
    queries: Mapping[str, pl.DataFrame],
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    *,
    mined: Mapping[str, Mapping[str, int]],
) -> ConfigStatistics:
    """Return the statistics of retrieval tables, of which queries are given by split."""
    asked = pl.concat(queries.values())
    passages = corpus.select("passage_id", text=encoded_text(corpus))
    return ConfigStatistics(
        config=config,
        splits={split: frame.height for split, frame in queries.items()},
        passages=corpus.height,
        positives=_positives(asked, qrels),
        mean_positives={
            split: qrels.join(frame, on="query_id", how="semi").height / frame.height
            for split, frame in queries.items()
            if frame.height
        },
        mined=mined,
        lengths=_lengths({"queries": asked["text"], "passages": passages["text"]}),
        overlap=overlap(asked, passages, qrels),
    )


def _clustering(config: str, variants: Mapping[str, pl.DataFrame]) -> ConfigStatistics:
    """Return the statistics of the tables of clustering sets by variant, of which there is one at least."""
    texts = {
        f"sentences of {variant}": sets["sentences"].explode(empty_as_null=False).unique()
        for variant, sets in variants.items()
    }
    sets = _balance(next(iter(variants.values())))
    return ConfigStatistics(config, lengths=_lengths(texts), sets=sets)


def _lengths(texts: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    sizes = {what: of.drop_nulls().str.len_chars().cast(pl.Int64) for what, of in texts.items()}
    return {what: of for what, of in sizes.items() if len(of)}


def bands(lengths: pl.Series) -> dict[tuple[int, int], int]:
    """Return the number of texts by first and last length of a band, both included; there are no gaps."""
    counts, _ = np.histogram(lengths, _EDGES)
    held = np.flatnonzero(counts)
    return {
        (int(_EDGES[place]), int(_EDGES[place + 1]) - 1): int(counts[place])
        for place in range(held[0], held[-1] + 1)
    }


def tenths(shares: pl.Series) -> list[int]:
    """Return the number of shares by tenth, the last with 1."""
    counts, _ = np.histogram((shares + 1e-10).clip(0, 1), np.arange(11) / 10)
    return [int(count) for count in counts]


def overlap(
    queries: pl.DataFrame, passages: pl.DataFrame, qrels: pl.DataFrame, *, seed: int = SEED
) -> _Overlap | None:
    """Return how many of a query's words its positive has, and a random other passage. Pure.

    A word is a run of letters and digits in lower case. Each query is compared with one of its positives and
    with one passage that is none of them, both drawn with the seed; of many queries, `_COMPARED_QUERIES` are.
    Queries and passages have an id and ``text``.
    """
    chosen = (
        qrels
        .select(PAIR)
        .join(queries, on="query_id", how="semi")
        .sort(PAIR)
        .sample(fraction=1.0, shuffle=True, seed=seed)
        .unique("query_id", keep="first", maintain_order=True)
    )
    of, chosen = chosen.height, chosen.head(_COMPARED_QUERIES)
    if not of or passages.is_empty():
        return None
    drawn = passages["passage_id"].sort().sample(chosen.height, with_replacement=True, seed=seed + 1)
    others = chosen.select("query_id", pl.Series("passage_id", drawn)).join(
        qrels.select(PAIR), on=PAIR, how="anti", maintain_order="left"
    )
    words, asked = passages.select("passage_id", words=_words()), queries.select("query_id", asked=_words())
    near, far = (_shares(pairs, asked, words) for pairs in (chosen, others))
    return None if near.is_empty() else _Overlap(near, far, of)


def _positives(queries: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, int]:
    counts = qrels.group_by("query_id").agg(positives=pl.len())
    number = queries.join(counts, on="query_id", how="left")["positives"].fill_null(0)
    grouped, _ = np.histogram(number.to_numpy(), [*_POSITIVES.values(), np.inf])
    return {name: int(count) for name, count in zip(_POSITIVES, grouped, strict=True) if count}


def _balance(sets: pl.DataFrame) -> pl.DataFrame:
    """Return how clustering sets (``level``, ``labels``) are spread over their labels, in their order.

    Returns:
        ``level``; ``rows``, ``labels``: their numbers; ``largest``: share of the most frequent label;
        ``rarest``: number of rows of the rarest; ``evenness``: entropy of the labels over that of equal
        shares, from 0 to 1, and 1 with one label.
    """
    counts = pl.col("labels").list.eval(pl.element().unique_counts())
    entropy = counts.list.eval(pl.element().entropy()).list.first()
    labels = counts.list.len()
    return sets.select(
        "level",
        rows=pl.col("labels").list.len(),
        labels=labels,
        largest=(counts.list.max() / counts.list.sum()).round(6).fill_null(0.0),
        rarest=counts.list.min().fill_null(0),
        evenness=pl.when(labels > 1).then((entropy / labels.log()).round(6)).otherwise(1.0),
    )


def _words() -> pl.Expr:
    return pl.col("text").str.to_lowercase().str.extract_all(_WORD).list.unique()


def _shares(pairs: pl.DataFrame, asked: pl.DataFrame, words: pl.DataFrame) -> pl.Series:
    shared = pl.col("asked").list.set_intersection("words").list.len()
    return (
        pairs
        .join(asked, on="query_id")
        .join(words, on="passage_id")
        .filter(pl.col("asked").list.len() > 0)
        .sort("query_id")
        .select(share=shared / pl.col("asked").list.len())["share"]
    )

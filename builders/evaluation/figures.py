"""What a report says of the tables themselves, read from a built tree: lengths, balance, overlap, yield."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from pathlib import Path

import polars as pl
from pydantic import Field

from builders.lock.manifest import work_folder
from builders.lock.model import Frozen, Lock, read_lock
from builders.parquet import read_frame
from builders.spec import ConfigSpec
from builders.tables import CLUSTERING, SPLITS, Kind, published_path

COMPARED_QUERIES = 2_000
"""Most queries of a config whose words are compared with passages."""
_STEPS = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)
_EDGES = (*range(1, 10, 2), *(step * 10**power for power in range(7) for step in _STEPS))
_POSITIVES = {"0": 0, "1": 1, "2": 2, "3–5": 5, "6–10": 10, "11–20": 20}
_MORE_POSITIVES = "21+"
_TENTHS = 10
_WORD = r"[\p{L}\p{N}]+"


class Lengths(Frozen):
    """Lengths of texts in characters.

    Attributes:
        what: "queries", "passages", "sentences of s2s"; the distinct ones of clustering sets.
        texts: How many.
        shortest: In characters.
        median: In characters.
        longest: In characters.
        bands: First and last length of each band, both included, and the texts in it; no gaps.
    """

    what: str
    texts: int
    shortest: int
    median: int
    longest: int
    bands: tuple[tuple[int, int, int], ...]


class Overlap(Frozen):
    """Share of a query's distinct words that stand in one of its positives, and in a random other passage.

    Attributes:
        queries: How many were compared.
        of: Out of how many.
        positive: Mean share in the positive.
        random: Mean share in the other passage.
        positive_tenths: Queries by tenth of the share, the last with 1.
        random_tenths: The same for the other passage.
    """

    queries: int
    of: int
    positive: float
    random: float
    positive_tenths: tuple[int, ...]
    random_tenths: tuple[int, ...]


class SetBalance(Frozen):
    """How evenly a clustering set is spread over its labels.

    Attributes:
        level: As published.
        rows: How many texts.
        labels: How many labels.
        largest: Share of the most frequent label.
        rarest: Rows of the rarest label.
        evenness: Entropy of the labels over that of equal shares, from 0 to 1; 1 with one label.
    """

    level: str
    rows: int
    labels: int
    largest: float
    rarest: int
    evenness: float


class ConfigFigures(Frozen):
    """The figures of one built config; what its kind does not have is empty.

    Attributes:
        config: The builder's name.
        splits: Queries by split.
        passages: How many are searched.
        positives: Queries by their number of positives.
        mined: Queries by their number of hard negatives.
        lengths: By table.
        overlap: None without pairs to compare.
        sets: In published order.
    """

    config: str
    splits: dict[str, int] = Field(default_factory=dict)
    passages: int = 0
    positives: dict[str, int] = Field(default_factory=dict)
    mined: dict[str, int] = Field(default_factory=dict)
    lengths: tuple[Lengths, ...] = ()
    overlap: Overlap | None = None
    sets: tuple[SetBalance, ...] = ()


def read_figures(out: Path, specs: Iterable[ConfigSpec], *, seed: int = 42) -> tuple[ConfigFigures, ...]:
    """Read the figures of built configs.

    Args:
        out: The folder that was built into.
        specs: The configs.
        seed: Of the choice of queries and passages whose words are compared.

    Returns:
        One a config, in the order asked for. A table that was not published gives no figure.

    Raises:
        StorageError: A config was not built there, or a table cannot be read.
    """
    return tuple(_read(out, spec.name, seed) for spec in specs)


def _read(out: Path, config: str, seed: int) -> ConfigFigures:
    lock = read_lock(work_folder(out, config) / "lock.json")
    tables = _Tables(out / lock.release, lock)
    if tables.has(Kind.QUERIES):
        return retrieval_figures(
            config,
            {split: tables.frame(Kind.QUERIES, split) for split in SPLITS if tables.has(Kind.QUERIES, split)},
            tables.all(Kind.QRELS),
            tables.frame(Kind.CORPUS, "corpus"),
            mined=lock.mining.report["by_count"] if lock.mining else {},
            seed=seed,
        )
    if tables.has(Kind.CLUSTERING_IDS):
        sets = tables.frame(Kind.CLUSTERING_IDS, "test").with_columns(level=pl.lit("ids"))
        return ConfigFigures(config=config, sets=_balance(sets))
    return clustering_figures(
        config,
        {variant: tables.frame(kind, "test") for variant, kind in CLUSTERING.items() if tables.has(kind)},
    )


class _Tables:
    """The published tables of a lock, as they lie on disk."""

    def __init__(self, folder: Path, lock: Lock) -> None:
        self._folder, self._config = folder, lock.config
        self._paths = {file.path for file in lock.files}

    def has(self, kind: Kind, split: str | None = None) -> bool:
        splits = (split,) if split else (*SPLITS, "corpus")
        return any(published_path(self._config, kind, one) in self._paths for one in splits)

    def frame(self, kind: Kind, split: str) -> pl.DataFrame:
        return read_frame(self._folder / published_path(self._config, kind, split))

    def all(self, kind: Kind) -> pl.DataFrame:
        return pl.concat([self.frame(kind, split) for split in SPLITS if self.has(kind, split)])


def retrieval_figures(
    config: str,
    queries: Mapping[str, pl.DataFrame],
    qrels: pl.DataFrame,
    corpus: pl.DataFrame,
    *,
    mined: Mapping[str, int],
    seed: int = 42,
) -> ConfigFigures:
    """Return the figures of published retrieval tables. Pure.

    Args:
        config: The builder's name.
        queries: ``_id``, ``text`` by split.
        qrels: ``query-id``, ``corpus-id`` of all splits.
        corpus: ``_id``, ``title``, ``text``.
        mined: Queries by their number of hard negatives.
        seed: See `read_figures`.
    """
    asked = pl.concat(queries.values())
    passages = corpus.select("_id", text=(pl.col("title") + " " + pl.col("text")).str.strip_chars())
    return ConfigFigures(
        config=config,
        splits={split: frame.height for split, frame in queries.items()},
        passages=corpus.height,
        positives=_positives(asked, qrels),
        mined={str(number): int(count) for number, count in mined.items()},
        lengths=_some(lengths("queries", asked["text"]), lengths("passages", passages["text"])),
        overlap=overlap(asked, passages, qrels, seed=seed),
    )


def clustering_figures(config: str, variants: Mapping[str, pl.DataFrame]) -> ConfigFigures:
    """Return the figures of published clustering tables, the same sets by variant. Pure.

    Args:
        config: The builder's name.
        variants: ``sentences``, ``labels``, ``level`` by variant; none where texts are not published.
    """
    told = [
        lengths(f"sentences of {variant}", sets["sentences"].explode(empty_as_null=False).unique())
        for variant, sets in variants.items()
    ]
    balance = next((_balance(sets) for sets in variants.values()), ())
    return ConfigFigures(config=config, lengths=_some(*told), sets=balance)


def lengths(what: str, texts: pl.Series) -> Lengths | None:
    """Return the lengths of texts, None where there are none. Pure."""
    counted = texts.drop_nulls().str.len_chars().cast(pl.Int64)
    if counted.is_empty():
        return None
    ordered = counted.sort()
    shortest, longest = int(ordered[0]), int(ordered[-1])
    edges = [edge for edge in (0, *_EDGES) if edge <= longest]
    first = max(place for place, edge in enumerate(edges) if edge <= shortest)
    edges = edges[first:]
    ends = [edge - 1 for edge in (*edges[1:], _next_edge(longest))]
    counts = [int(counted.is_between(low, high).sum()) for low, high in zip(edges, ends, strict=True)]
    return Lengths(
        what=what,
        texts=len(counted),
        shortest=shortest,
        median=int(ordered[(len(ordered) - 1) // 2]),
        longest=longest,
        bands=tuple(zip(edges, ends, counts, strict=True)),
    )


def overlap(
    queries: pl.DataFrame, passages: pl.DataFrame, qrels: pl.DataFrame, *, seed: int
) -> Overlap | None:
    """Return how many of a query's words its positive has, and a random other passage. Pure.

    A word is a run of letters and digits in lower case. Each query is compared with one of its positives and
    with one passage that is none of them, both drawn with the seed; of many queries, `COMPARED_QUERIES` are.

    Args:
        queries: ``_id``, ``text``.
        passages: ``_id``, ``text``.
        qrels: ``query-id``, ``corpus-id``.
        seed: Of the draws.
    """
    keys = ["query-id", "corpus-id"]
    chosen = (
        qrels
        .select(keys)
        .join(queries, left_on="query-id", right_on="_id", how="semi")
        .sort(keys)
        .sample(fraction=1.0, shuffle=True, seed=seed)
        .unique("query-id", keep="first", maintain_order=True)
    )
    of = chosen.height
    chosen = chosen.head(COMPARED_QUERIES)
    drawn = passages["_id"].sort().sample(chosen.height, with_replacement=True, seed=seed + 1) if of else None
    if drawn is None or passages.is_empty():
        return None
    others = chosen.select("query-id", pl.Series("corpus-id", drawn)).join(
        qrels.select(keys), on=keys, how="anti", maintain_order="left"
    )
    words = passages.select("_id", words=_words())
    asked = queries.select("_id", asked=_words())
    near, far = (_shares(pairs, asked, words) for pairs in (chosen, others))
    if near.is_empty():
        return None
    return Overlap(
        queries=len(near),
        of=of,
        positive=_mean(near),
        random=_mean(far),
        positive_tenths=_tenths(near),
        random_tenths=_tenths(far),
    )


def _words() -> pl.Expr:
    return pl.col("text").str.to_lowercase().str.extract_all(_WORD).list.unique()


def _shares(pairs: pl.DataFrame, asked: pl.DataFrame, words: pl.DataFrame) -> pl.Series:
    shared = pl.col("asked").list.set_intersection("words").list.len()
    return (
        pairs
        .join(asked, left_on="query-id", right_on="_id")
        .join(words, left_on="corpus-id", right_on="_id")
        .filter(pl.col("asked").list.len() > 0)
        .sort("query-id")
        .select(share=shared / pl.col("asked").list.len())["share"]
    )


def _tenths(shares: pl.Series) -> tuple[int, ...]:
    place = (shares * _TENTHS + 1e-9).floor().clip(0, _TENTHS - 1).cast(pl.Int64)
    return tuple(int((place == tenth).sum()) for tenth in range(_TENTHS))


def _mean(shares: pl.Series) -> float:
    return round(sum(shares.to_list()) / len(shares), 6) if len(shares) else 0.0


def _positives(queries: pl.DataFrame, qrels: pl.DataFrame) -> dict[str, int]:
    counts = qrels.group_by("query-id").agg(positives=pl.len())
    number = (
        queries
        .join(counts, left_on="_id", right_on="query-id", how="left")["positives"]
        .fill_null(0)
        .cast(pl.Int64)
    )
    found, above = {}, -1
    for name, most in _POSITIVES.items():
        found[name] = int(((number > above) & (number <= most)).sum())
        above = most
    return {
        name: count
        for name, count in (*found.items(), (_MORE_POSITIVES, int((number > above).sum())))
        if count
    }


def _balance(sets: pl.DataFrame) -> tuple[SetBalance, ...]:
    return tuple(
        _set_balance(level, labels.value_counts()["count"].sort().to_list())
        for level, labels in zip(sets["level"], sets["labels"], strict=True)
    )


def _set_balance(level: str, counts: Sequence[int]) -> SetBalance:
    rows = sum(counts)
    entropy = -sum(count / rows * log(count / rows) for count in counts)
    return SetBalance(
        level=level,
        rows=rows,
        labels=len(counts),
        largest=round(counts[-1] / rows, 6),
        rarest=counts[0],
        evenness=round(entropy / log(len(counts)), 6) if len(counts) > 1 else 1.0,
    )


def _next_edge(length: int) -> int:
    return next((edge for edge in _EDGES if edge > length), length + 1)


def _some(*found: Lengths | None) -> tuple[Lengths, ...]:
    return tuple(one for one in found if one is not None)

"""What a report says of the tables themselves, read from a built tree: lengths, balance, overlap, yield."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log
from pathlib import Path

import polars as pl
from pydantic import Field

from builders import files
from builders.built import Built
from builders.errors import StorageError
from builders.evaluation.lengths import Lengths, lengths
from builders.evaluation.overlap import Overlap, overlap
from builders.lock.committed import whole_upstream
from builders.lock.lock import Frozen, Lock, read_lock, work_folder
from builders.spec import ConfigSpec, Ids
from builders.tables import CLUSTERING, SPLITS, Kind, published_path, read_frame

_POSITIVES = {"0": 0, "1": 1, "2": 2, "3–5": 5, "6–10": 10, "11–20": 20}
_MORE_POSITIVES = "21+"


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
        stand_in: Whether something else than all of the real upstreams was built.
    """

    config: str
    splits: dict[str, int] = Field(default_factory=dict)
    passages: int = 0
    positives: dict[str, int] = Field(default_factory=dict)
    mined: dict[str, int] = Field(default_factory=dict)
    lengths: tuple[Lengths, ...] = ()
    overlap: Overlap | None = None
    sets: tuple[SetBalance, ...] = ()
    stand_in: bool = False


def read_figures(
    out: Path, specs: Iterable[ConfigSpec], *, hydrated: Built | None = None, seed: int = 42
) -> tuple[ConfigFigures, ...]:
    """Read the figures of built configs.

    Args:
        out: The folder that was built into.
        specs: The configs.
        hydrated: The texts that a release must not hold: where a folder has those of a config of ids, the
            figures are theirs, and the config need not be built.
        seed: Of the choice of queries and passages whose words are compared.

    Returns:
        One a config, in the order asked for. A table that was not published gives no figure.

    Raises:
        StorageError: A config was not built there, a table cannot be read, or is not the one that was built.
    """
    return tuple(_read(out, spec, hydrated, seed) for spec in specs)


def _read(out: Path, spec: ConfigSpec, hydrated: Built | None, seed: int) -> ConfigFigures:
    if hydrated and isinstance(spec, Ids) and (texts := _hydrated(hydrated.folder, spec.name)):
        return clustering_figures(spec.name, texts).model_copy(update={"stand_in": hydrated.stand_in})
    lock = read_lock(work_folder(out, spec.name) / "lock.json")
    stand_in = not whole_upstream(lock.sources, lock.parameters)
    return _built(spec.name, _Tables(out, lock), seed).model_copy(update={"stand_in": stand_in})


def _built(config: str, tables: _Tables, seed: int) -> ConfigFigures:
    if tables.has(Kind.QUERIES):
        return retrieval_figures(
            config,
            {split: tables.frame(Kind.QUERIES, split) for split in SPLITS if tables.has(Kind.QUERIES, split)},
            tables.all(Kind.QRELS),
            tables.frame(Kind.CORPUS, "corpus"),
            mined=tables.lock.mining.report["by_count"] if tables.lock.mining else {},
            seed=seed,
        )
    if tables.has(Kind.CLUSTERING_IDS):
        sets = tables.frame(Kind.CLUSTERING_IDS, "test").with_columns(level=pl.lit("ids"))
        return ConfigFigures(config=config, sets=_balance(sets))
    return clustering_figures(
        config,
        {variant: tables.frame(kind, "test") for variant, kind in CLUSTERING.items() if tables.has(kind)},
    )


def _hydrated(folder: Path, config: str) -> dict[str, pl.DataFrame]:
    paths = {name: folder / published_path(config, kind, "test") for name, kind in CLUSTERING.items()}
    return {variant: read_frame(path) for variant, path in paths.items() if path.is_file()}


class _Tables:
    """The published tables of a lock, as they lie on disk; each must be the file that was built."""

    def __init__(self, out: Path, lock: Lock) -> None:
        self.lock = lock
        self._out = out
        self._sums = {file.path: file.sha256 for file in lock.files}

    def has(self, kind: Kind, split: str | None = None) -> bool:
        splits = (split,) if split else (*SPLITS, "corpus")
        return any(published_path(self.lock.config, kind, one) in self._sums for one in splits)

    def frame(self, kind: Kind, split: str) -> pl.DataFrame:
        name = published_path(self.lock.config, kind, split)
        path = self._out / self.lock.release / name
        if files.sha256(path) != self._sums[name]:
            hint = f"Run: mteb-de build {self.lock.config} --out {self._out}"
            raise StorageError(f"{path}: not the file that was built", hint=hint)
        return read_frame(path)

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
    if not rows:  # a hydrated set of which no text is left
        return SetBalance(level=level, rows=0, labels=0, largest=0.0, rarest=0, evenness=1.0)
    entropy = -sum(count / rows * log(count / rows) for count in counts)
    return SetBalance(
        level=level,
        rows=rows,
        labels=len(counts),
        largest=round(counts[-1] / rows, 6),
        rarest=counts[0],
        evenness=round(entropy / log(len(counts)), 6) if len(counts) > 1 else 1.0,
    )


def _some(*found: Lengths | None) -> tuple[Lengths, ...]:
    return tuple(one for one in found if one is not None)

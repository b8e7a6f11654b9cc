"""Draw the pairs of an audit: the same tables, seed and sizes give the same sample.

A group of queries that mean the same gives one pair at most, since its pairs stand or fall together. Which
one is chosen first, by the smallest hash; then the chosen are cut into strata. Each gives in proportion to
its size to the power of three quarters (power allocation, Bankier 1988), so that small splits and the highest
negatives are seen often enough to speak for themselves. Within a stratum groups are drawn with a chance in
proportion to their size (Pareto sampling, Rosén 1997), with a hash as the random number, whatever the order
of the rows.
"""

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field

from builders.audit.history import (
    CLEAR,
    Audit,
    Head,
    Item,
    Overlap,
    Sample,
    Stratum,
    Verdict,
    audits_of,
    standing,
)
from builders.built import Built, read_built
from builders.errors import StorageError, UsageError
from builders.lock.beside import read_lines
from builders.lock.lock import Frozen
from builders.prepare.splits import read_splits
from builders.printable import counted
from builders.spec import PAIR, Retrieval
from builders.tables import Kind
from builders.text.merge import DIGITS, digest

RANKS = ("1–5", "6–20", "21+")
_LAST_RANKS = (5, 20)
_BANDS = (0.5, 0.9)
"""Where the bands of deviations end, as shares of all hard negatives: the highest tenth is one of its own."""

Float64s = NDArray[np.float64]
_POWER = 0.75
"""Exponent of the power allocation: 1 would be in proportion, and 0 as many of every stratum."""

_SCALE = {"query_id": pl.String, "mean": pl.Float64, "deviation": pl.Float64}
_AGREE = 2  # auditors who make a pair a control
_PER_STRATUM = 4  # fewer than this in the mean, and a coarser cut is taken
_CUTS = (("split", "band"), ("band",), ())
_UNNAMED = f"s-{'0' * DIGITS}"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a built config, and what an auditor reads of them.

    Attributes:
        build: `Built.rows_id`.
        table: The table of hard negatives that is audited.
        recipe: The recipe that mined it, "v0", and `miner`: its backend; empty where nothing was mined.
        queries: ``query_id``, ``query`` (its text), ``split``, ``group``: those of one mean the same.
        corpus: ``passage_id``, ``title``, ``text``.
        positives: ``query_id``, ``passage_id``, ``split``.
        negatives: ``query_id``, ``passage_id``, ``split``, ``rank`` int32, ``deviations`` float64: its score
            above its query's mean over all passages, in standard deviations, in four digits, ``gap``
            float64: its distance below the guarding positive, in cosine, in six; and ``band`` of `_banded`.
        suspicious: ``query_id``, ``passage_id`` of positives that score near their query's mean, the worst
            first; no rows where the build lists none.
        stand_ins: Why the build may be rehearsed only, or nothing.
    """

    config: str
    build: str
    table: Kind
    recipe: str
    miner: str
    queries: pl.DataFrame
    corpus: pl.DataFrame
    positives: pl.DataFrame
    negatives: pl.DataFrame
    suspicious: pl.DataFrame
    stand_ins: tuple[str, ...]

    def texts(self, sample: Sample) -> Iterator[tuple[Item, dict[str, str]]]:
        """Yield the items with what an auditor reads of them: ``query``, ``title`` and ``text``."""
        ids = [(item.query_id, item.passage_id) for item in sample.items]
        items = pl.DataFrame(ids, schema=dict.fromkeys(PAIR, pl.String), orient="row")
        return zip(sample.items, self.with_texts(items).iter_rows(named=True), strict=True)

    def with_texts(self, pairs: pl.DataFrame) -> pl.DataFrame:
        """Add ``query``, ``title`` and ``text`` to pairs, in their order."""
        queries = self.queries.select("query_id", "query")
        asked = pairs.join(queries, on="query_id", maintain_order="left")
        return asked.join(self.corpus, on="passage_id", maintain_order="left")


def read_pairs(out: Path, spec: Retrieval, table: Kind = Kind.HARD_NEGATIVES) -> Pairs:
    """Read the pairs of a built config, with the hard negatives of one table."""
    built = read_built(out, spec)
    missing = [kind for kind in (Kind.CORPUS, Kind.QUERIES, Kind.QRELS) if not built.splits(kind)]
    if missing:
        raise StorageError(f"{out}: {spec.name} has no {missing[0]} there", hint="Build the config again.")
    mining = built.lock.mining if built.lock else None
    ids = dict.fromkeys(PAIR, pl.String)
    suspicious = built.beside("suspicious_positives", ids)
    return Pairs(
        config=spec.name,
        build=built.rows_id,
        table=table,
        recipe=str(mining.tables[table].recipe["name"]) if mining else "",
        miner=mining.encoder.backend if mining else "",
        queries=built
        .stacked(Kind.QUERIES)
        .select("split", "query_id", query="text")
        .join(_groups(built), on="query_id", how="left", maintain_order="left"),
        corpus=built.stacked(Kind.CORPUS).select("title", "text", "passage_id"),
        positives=built.stacked(Kind.QRELS).select(*PAIR, "split"),
        negatives=_mined(built, table),
        suspicious=pl.DataFrame(schema=ids) if suspicious is None else suspicious,
        stand_ins=built.stand_ins,
    )


def _mined(built: Built, table: Kind) -> pl.DataFrame:
    """Read the hard negatives that are audited; see `Pairs`."""
    mined = built.stacked(table)
    scale = built.beside("scale", _SCALE)
    if scale is None and not mined.is_empty():
        raise StorageError(f"{built.work}: no scale.parquet there", hint="Build the config again.")
    score, guard = (pl.col(name).cast(pl.Float64) for name in ("score", "positive_score"))
    above = (
        pl.when(pl.col("deviation") > 0).then((score - pl.col("mean")) / pl.col("deviation")).otherwise(0.0)
    )
    scaled = mined.join(pl.DataFrame(schema=_SCALE) if scale is None else scale, on="query_id", how="left")
    columns = {"deviations": above.round(4), "gap": (guard - score).round(6)}
    return _banded(scaled.select(*PAIR, "split", "rank", **columns))


def _groups(built: Built) -> pl.DataFrame:
    """Read the ``query_id`` and ``group`` of a build's queries."""
    if built.work is None:
        raise StorageError(f"{built.folder}: texts were hydrated there, and nothing was dealt")
    return read_splits(built.work / "splits.tsv").select("query_id", group="group_hash")


Controls = Mapping[tuple[str, str], Verdict]
"""Pairs whose verdict is known."""


class _Control(Frozen):
    query_id: str = Field(alias="query-id")
    passage_id: str = Field(alias="corpus-id")
    verdict: Verdict
    note: str = ""  # who confirmed it, and why


def known_controls(config: str, path: Path | None, notes: Path) -> Controls:
    """Return the pairs on which earlier auditors agree, and those that a file confirms, which overrules.

    The file, by default ``audits/CONFIG.controls.jsonl`` among the notes, holds one JSON object a line:
    ``query-id``, ``corpus-id``, ``verdict`` and maybe ``note``.

    Raises:
        UsageError: A verdict is neither relevant nor not relevant, or a pair stands there twice.
    """
    default = notes / "audits" / f"{config}.controls.jsonl"
    chosen = path or (default if default.exists() else None)
    controls: dict[tuple[str, str], Verdict] = {}
    for number, control in read_lines(chosen, _Control, hint="Correct the line.") if chosen else ():
        pair = control.query_id, control.passage_id
        if control.verdict not in CLEAR:
            raise UsageError(f"{chosen}, line {number}: a control is either not_relevant or also_relevant")
        if pair in controls:
            raise UsageError(f"{chosen}, line {number}: {' and '.join(pair)} stand in an earlier line")
        controls[pair] = control.verdict
    return {**_agreed(audits_of(notes, config)), **controls}


def _agreed(audits: Iterable[Audit]) -> Controls:
    """Return the pairs on which two or more auditors of all samples agree, and none differs."""
    votes: defaultdict[tuple[str, str], dict[str, Verdict]] = defaultdict(dict)
    for one, verdict in standing(one for _, judgements in audits for one in judgements):
        votes[one.query_id, one.passage_id][one.who] = verdict
    found = {pair: list(by.values()) for pair, by in sorted(votes.items()) if len(by) >= _AGREE}
    return {pair: of[0] for pair, of in found.items() if of.count(of[0]) == len(of) and of[0] in CLEAR}


def random_sample(
    pairs: Pairs,
    negatives: int,
    positives: int,
    seed: int,
    controls: Controls | None = None,
) -> tuple[Sample, list[str]]:
    """Draw pairs by stratum, mix in a tenth as many controls, shuffle them all; remark what is missing."""
    groups = pairs.queries.select("query_id", "group")
    mined, mined_strata = _stratified(
        pairs.negatives.join(groups, on="query_id"), negatives, seed, "negative", 0
    )
    labelled, labelled_strata = _stratified(
        pairs.positives.join(groups, on="query_id"), positives, seed, "positive", len(mined_strata)
    )
    drawn = pl.concat([mined, labelled], how="diagonal")
    drawn, remarks = _with_controls(pairs, drawn, max(negatives, positives) // 10, seed, controls or {})
    shuffled = drawn.with_columns(order=_hashes(drawn, PAIR, f"{seed}:order")).sort("order", *PAIR)
    strata = (*mined_strata, *labelled_strata)
    asked = {
        "hard negatives": (pairs.negatives.height, mined.height, negatives),
        "labelled positives": (pairs.positives.height, labelled.height, positives),
    }
    sample = _sample(pairs, shuffled, mode="random", seed=seed, asked=negatives, strata=strata)
    return sample, [*_shortfall(asked), *remarks]


def suspect_sample(
    pairs: Pairs,
    ranked: pl.DataFrame,
    negatives: int,
    positives: int,
    opinion: str,
    overlap: Overlap | None = None,
) -> tuple[Sample, list[str]]:
    """Take the likeliest false negatives, then the positives that the miner doubts, the worst first.

    The hard negatives of `ranked`, by ``query_id`` and ``passage_id``, begin with the most suspicious;
    `opinion` and `overlap` are those of `Head`.
    """
    mined = ranked.head(negatives).join(pairs.negatives, on=PAIR, how="inner", maintain_order="left")
    doubted = pairs.suspicious.join(pairs.positives, on=PAIR, how="inner", maintain_order="left")
    kinds = {"negative": mined, "positive": doubted.head(positives)}.items()
    drawn = pl.concat([frame.with_columns(kind=pl.lit(kind)) for kind, frame in kinds], how="diagonal")
    asked = {
        "hard negatives": (pairs.negatives.height, mined.height, negatives),
        "suspicious positives": (doubted.height, min(doubted.height, positives), positives),
    }
    sample = _sample(
        pairs, drawn, mode="suspects", seed=0, asked=negatives, strata=(), opinion=opinion, overlap=overlap
    )
    return sample, _shortfall(asked)


def rank_band(rank: int | None) -> str:
    """Return the band of a rank; empty where there is none."""
    return "" if rank is None else RANKS[bisect_left(_LAST_RANKS, rank)]


def _banded(negatives: pl.DataFrame) -> pl.DataFrame:
    """Add ``band`` str to hard negatives, such as "2.95–3.61"; see `_BANDS`."""
    above = pl.col("deviations")
    place = pl.sum_horizontal((above > above.quantile(share, "nearest")).cast(pl.Int8) for share in _BANDS)
    ends = (end.over("place") for end in (above.min(), above.max()))
    banded = negatives.with_columns(place=place).with_columns(
        band=pl.format("{}–{}", *map(_two_digits, ends))
    )
    return banded.drop("place")


def _two_digits(number: pl.Expr) -> pl.Expr:
    units = (number * 100).round().cast(pl.Int64)
    sign = pl.when(units < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    return pl.format("{}{}.{}", sign, units.abs() // 100, (units.abs() % 100).cast(pl.String).str.zfill(2))


def _allocate(sizes: Sequence[int], most: Sequence[int], wanted: int) -> list[int]:
    """Share out a sample: one each, the rest in proportion to powers of the sizes, but never above `most`.

    Source: power allocation, Bankier (1988), with exponent `_POWER`; remainders to the largest fractions.
    """
    more = min(wanted, sum(most)) - len(sizes)
    shares = _capped(more, np.array(sizes, np.float64) ** _POWER, np.array(most, np.float64) - 1)
    given = np.floor(shares)
    by_fraction = np.argsort(given - shares, kind="stable")
    given[by_fraction[: more - int(given.sum())]] += 1
    return [1 + int(count) for count in given]


def _capped(total: int, measures: Float64s, limits: Float64s) -> Float64s:
    """Share out a total in proportion to measures, float64 (n,), but never above the limits."""
    shares, open_ = limits.copy(), limits > 0
    while total < limits.sum():
        left = total - limits[~open_].sum()
        shares[open_] = left * measures[open_] / measures[open_].sum()
        above = open_ & (shares >= limits)
        if not above.any():
            break
        shares[above], open_ = limits[above], open_ & ~above
    return shares


def _stratified(
    population: pl.DataFrame, wanted: int, seed: int, kind: Literal["negative", "positive"], first: int
) -> tuple[pl.DataFrame, list[Stratum]]:
    """Draw pairs of different groups from a population; its strata are numbered from `first`.

    A group's chance follows its share of the pairs and its share of the queries, by equal halves, so that
    both the share of wrong pairs and the mean over queries can be told: its pairs have equal chances.
    """
    if population.is_empty() or wanted == 0:
        return population.clear().with_columns(kind=pl.lit(kind), stratum=pl.lit(first, pl.Int64)), []
    sized = population.with_columns(
        share=1 / pl.len().over("query_id"),
        pairs=pl.len().over("group").cast(pl.Int64),
        queries=pl.col("query_id").n_unique().over("group").cast(pl.Int64),
        order=_hashes(population, PAIR, f"{seed}:{kind}"),
    )
    one_each = sized.sort("order", *PAIR).unique("group", keep="first", maintain_order=True)
    # in whole numbers, whose sum is the same in every order
    pairs, queries = pl.col("pairs"), pl.col("queries")
    one_each = one_each.with_columns(
        measure=pairs * queries.sum() + queries * pairs.sum(),
        draw=_hashes(one_each, ["group"], f"{seed}:{kind}:group"),
    )
    cut = _cut(population, one_each, wanted)
    key = pl.concat_str([pl.col(column) for column in cut] or [pl.lit("")], separator="\t")
    sizes = sized.group_by(key=key).agg(pl.col(cut).first(), size=pl.len())
    cells = sizes.join(one_each.group_by(key=key).agg(most=pl.len()), on="key").sort("key")
    counts = _allocate(cells["size"].to_list(), cells["most"].to_list(), wanted)
    drawn = [
        _drawn(one_each.filter(key == name).with_columns(stratum=pl.lit(place, pl.Int64)), count)
        for place, (name, count) in enumerate(zip(cells["key"], counts, strict=True), first)
    ]
    known = cells.drop("key", "most").with_columns(kind=pl.lit(kind), drawn=pl.Series(counts))
    chosen = pl.concat(drawn).select(*population.columns, "stratum", "weight", "share", kind=pl.lit(kind))
    return chosen, list(map(Stratum.model_validate, known.iter_rows(named=True)))


def _drawn(groups: pl.DataFrame, count: int) -> pl.DataFrame:
    """Draw some of the groups of a stratum by ``measure`` and ``draw``; add ``weight``."""
    chances = _capped(count, groups["measure"].to_numpy().astype(np.float64), np.ones(groups.height))
    numbers = np.array([(int(text, 16) + 0.5) / 16.0**DIGITS for text in groups["draw"]])
    odds = pl.Series(numbers / (1 - numbers) * (1 - chances) / chances)
    weight = (pl.col("pairs") / pl.Series(chances)).round(4)
    return groups.with_columns(odds=odds, weight=weight).sort("odds", "draw").head(count)


def _cut(population: pl.DataFrame, one_each: pl.DataFrame, wanted: int) -> list[str]:
    """Choose the finest strata of which each can give enough pairs, and holds one that may be drawn."""
    for columns in _CUTS:
        known = [column for column in columns if column in population.columns]
        cells = population.select(known).n_unique() if known else 1
        if not known or (wanted >= _PER_STRATUM * cells and one_each.select(known).n_unique() == cells):
            return known
    return []


def _with_controls(
    pairs: Pairs, drawn: pl.DataFrame, wanted: int, seed: int, controls: Controls
) -> tuple[pl.DataFrame, list[str]]:
    """Mix in controls whose pair is in this build and was not drawn; remark how many are missing, and why.

    Relevant ones tell how sensitive an auditor is, others how specific: there are as many of both, if there
    can be.
    """
    columns = dict.fromkeys((*PAIR, "expected"), pl.String)
    rows = [(*pair, verdict.value) for pair, verdict in controls.items()]
    known = (
        pl
        .DataFrame(rows, schema=columns, orient="row")
        .join(pairs.queries.select("query_id", "split"), on="query_id")
        .join(pairs.corpus, on="passage_id", how="semi")
    )
    usable = known.join(drawn, on=PAIR, how="anti")
    # in turn: the first of both kinds, then the second; what one kind lacks the other gives
    chosen = (
        usable
        .with_columns(order=_hashes(usable, PAIR, f"{seed}:control"), kind=pl.lit("control"))
        .sort("order", *PAIR)
        .with_columns(turn=pl.int_range(pl.len()).over("expected"))
        .sort("turn", "order", *PAIR)
        .head(wanted)
        .drop("order", "turn")
        .join(pairs.negatives.select(*PAIR, "rank", "deviations", "gap"), on=PAIR, how="left")
    )
    remarks = []
    if gone := len(rows) - known.height:
        remarks.append(f"{gone:,} of {len(rows):,} controls are not in this build and were left out")
    if wanted and chosen.height < wanted:
        found = counted(chosen.height, "control")
        remarks.append(f"{found}, not {wanted:,}: no more pairs are confirmed by hand")
    for verdict, figure in zip(CLEAR, ("specificity", "sensitivity"), strict=True):
        if chosen.height and verdict.value not in chosen["expected"]:
            remarks.append(f"no control is {verdict.words}: {figure} cannot be told")
    return pl.concat([drawn, chosen], how="diagonal"), remarks


def _shortfall(asked: Mapping[str, tuple[int, int, int]]) -> list[str]:
    """Remark where fewer pairs were taken than asked for: of those there are, those taken, those wanted."""
    remarks = []
    for name, (there, taken, wanted) in asked.items():
        if wanted and not there:
            remarks.append(f"there are no {name}")
        elif taken == there < wanted:
            remarks.append(
                f"asked for {wanted:,} {name}; there are {there:,}, and all of them are in the sample"
            )
        elif taken < wanted:
            each = "one of each group of queries that mean the same"
            remarks.append(f"asked for {wanted:,} {name}; {taken:,} are in the sample, {each}")
    return remarks


def _hashes(rows: pl.DataFrame, columns: Sequence[str], use: str) -> pl.Series:
    """Hash the text in some columns of every row, for one use of a seed."""
    keys = rows.select(pl.concat_str(columns, separator="\t")).to_series().to_list()
    return pl.Series("order", [digest(f"{use}:{key}") for key in keys], dtype=pl.String)


def _sample(
    pairs: Pairs,
    drawn: pl.DataFrame,
    *,
    mode: Literal["random", "suspects"],
    seed: int,
    asked: int,
    strata: tuple[Stratum, ...],
    opinion: str = "",
    overlap: Overlap | None = None,
) -> Sample:
    """Hash what is to be read of every pair, and name the sample after all of it."""
    items = []
    for row in pairs.with_texts(drawn).iter_rows(named=True):
        read = [row[name] for name in (*PAIR, "query", "title", "text")]
        known = {name: row[name] for name in Item.model_fields if row.get(name) is not None}
        known["item"] = f"i-{digest(json.dumps(read, ensure_ascii=True))}"
        items.append(Item.model_validate(known, by_name=True))
    head = Head(
        sample=_UNNAMED,
        config=pairs.config,
        build=pairs.build,
        mode=mode,
        opinion=opinion,
        overlap=overlap,
        table=pairs.table,
        recipe=pairs.recipe,
        stand_in=bool(pairs.stand_ins),
        seed=seed,
        asked=asked,
        strata=strata,
    )
    everything = "".join(value.model_dump_json(by_alias=True) for value in (head, *items))
    return Sample(head=head.model_copy(update={"sample": f"s-{digest(everything)}"}), items=tuple(items))

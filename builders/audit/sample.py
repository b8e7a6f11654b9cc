"""Draw the pairs of an audit: the same tables, seed and sizes give the same sample.

A population is cut into strata and each gives in proportion to the square root of its size (power allocation,
Bankier 1988), so that small splits and the closest negatives are seen often enough to speak for themselves.
Within a stratum the pairs with the smallest hash are drawn, whatever the order of the rows.
"""

import json
import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl
from pydantic import Field

from builders.audit.history import DECIDED, Audit, Head, Item, Sample, Stratum, Verdict, audits_of, standing
from builders.built import read_built
from builders.errors import StorageError, UsageError
from builders.lock.beside import read_lines
from builders.lock.lock import Frozen
from builders.printable import counted
from builders.spec import PAIR, Retrieval
from builders.tables import Kind
from builders.text.merge import DIGITS, digest

RANKS = ("1–5", "6–20", "21+")
_LAST_RANKS = (5, 20)
_CLOSEST = (0.1, 0.5)
"""Where the bands of gaps end, as shares of all hard negatives: the closest tenth is a band of its own."""

_AGREE = 2  # auditors who make a pair a control
_PER_STRATUM = 4  # fewer than this in the mean, and a coarser cut is taken
_CUTS = (("split", "gap_band", "rank_band"), ("split", "gap_band"), ("gap_band",), ())
_UNNAMED = f"s-{'0' * DIGITS}"


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of a built config, and what an auditor reads of them.

    Attributes:
        build: `Built.rows_id`.
        recipe: The recipe that mined, "v0", and `miner`: its backend; empty where nothing was mined.
        queries: ``query_id``, ``query`` (its text), ``split``.
        corpus: ``passage_id``, ``title``, ``text``.
        positives: ``query_id``, ``passage_id``, ``split``.
        negatives: ``query_id``, ``passage_id``, ``split``, ``rank`` int32, ``gap`` float64: how far below the
            guarding positive it scores, in cosine, in six digits; and what `_banded` adds.
        suspicious: ``query_id``, ``passage_id`` of positives that score near their query's mean, the worst
            first; no rows where the build lists none.
        stand_ins: Why the build may be rehearsed only, or nothing.
    """

    config: str
    build: str
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


def read_pairs(out: Path, spec: Retrieval) -> Pairs:
    """Read the pairs of a built config."""
    built = read_built(out, spec)
    missing = [kind for kind in (Kind.CORPUS, Kind.QUERIES, Kind.QRELS) if not built.splits(kind)]
    if missing:
        raise StorageError(f"{out}: {spec.name} has no {missing[0]} there", hint="Build the config again.")
    mining = built.lock.mining if built.lock else None
    gap = pl.col("positive_score").cast(pl.Float64) - pl.col("score").cast(pl.Float64)
    mined = built.stacked(Kind.HARD_NEGATIVES).select(*PAIR, "split", "rank", gap=gap.round(6))
    ids = dict.fromkeys(PAIR, pl.String)
    suspicious = built.beside("suspicious_positives", ids)
    return Pairs(
        config=spec.name,
        build=built.rows_id,
        recipe=str(mining.recipe.get("name", "")) if mining else "",
        miner=mining.encoder.backend if mining else "",
        queries=built.stacked(Kind.QUERIES).select("split", "query_id", query="text"),
        corpus=built.stacked(Kind.CORPUS).select("title", "text", "passage_id"),
        positives=built.stacked(Kind.QRELS).select(*PAIR, "split"),
        negatives=_banded(mined),
        suspicious=pl.DataFrame(schema=ids) if suspicious is None else suspicious,
        stand_ins=built.stand_ins,
    )


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
        if control.verdict not in DECIDED:
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
    return {pair: of[0] for pair, of in found.items() if of.count(of[0]) == len(of) and of[0] in DECIDED}


def random_sample(
    pairs: Pairs,
    negatives: int,
    positives: int,
    seed: int,
    controls: Controls | None = None,
    *,
    mixed: int = 0,
) -> tuple[Sample, list[str]]:
    """Draw pairs by stratum, mix in `mixed` of the controls, shuffle them all; remark what is missing."""
    mined, mined_strata = _stratified(pairs.negatives, negatives, seed, "negative", 0)
    labelled, labelled_strata = _stratified(pairs.positives, positives, seed, "positive", len(mined_strata))
    drawn = pl.concat([mined, labelled], how="diagonal")
    drawn, remarks = _with_controls(pairs, drawn, mixed, seed, controls or {})
    shuffled = drawn.with_columns(order=_hashes(drawn, f"{seed}:order")).sort("order", *PAIR)
    strata = (*mined_strata, *labelled_strata)
    asked = {
        "hard negatives": (pairs.negatives, negatives),
        "labelled positives": (pairs.positives, positives),
    }
    sample = _sample(pairs, shuffled, mode="random", seed=seed, asked=negatives, strata=strata)
    return sample, [*_shortfall(asked), *remarks]


def suspect_sample(
    pairs: Pairs, ranked: pl.DataFrame, negatives: int, positives: int, opinion: str
) -> tuple[Sample, list[str]]:
    """Take the likeliest false negatives, then the positives that the miner doubts, the worst first.

    The hard negatives of `ranked`, by ``query_id`` and ``passage_id``, begin with the most suspicious;
    `opinion` is the name of the judge that ranked them.
    """
    mined = ranked.head(negatives).join(pairs.negatives, on=PAIR, how="inner", maintain_order="left")
    doubted = pairs.suspicious.join(pairs.positives, on=PAIR, how="inner", maintain_order="left")
    kinds = {"negative": mined, "positive": doubted.head(positives)}.items()
    drawn = pl.concat([frame.with_columns(kind=pl.lit(kind)) for kind, frame in kinds], how="diagonal")
    asked = {"hard negatives": (pairs.negatives, negatives), "suspicious positives": (doubted, positives)}
    sample = _sample(pairs, drawn, mode="suspects", seed=0, asked=negatives, strata=(), opinion=opinion)
    return sample, _shortfall(asked)


def rank_band(rank: int | None) -> str:
    """Return the band of a rank; empty where there is none."""
    return "" if rank is None else RANKS[bisect_left(_LAST_RANKS, rank)]


def _banded(negatives: pl.DataFrame) -> pl.DataFrame:
    """Add ``gap_band`` and ``rank_band`` str to hard negatives; see `_CLOSEST` and `RANKS`."""
    gap = pl.col("gap")
    place = pl.sum_horizontal((gap > gap.quantile(share, "nearest")).cast(pl.Int8) for share in _CLOSEST)
    ends = (end.over("place") for end in (gap.min(), gap.max()))
    return (
        negatives
        .with_columns(place=place)
        .with_columns(
            gap_band=pl.format("{}–{}", *map(_four_digits, ends)),
            rank_band=pl.Series(map(rank_band, negatives["rank"].to_list()), dtype=pl.String),
        )
        .drop("place")
    )


def _four_digits(number: pl.Expr) -> pl.Expr:
    units = (number * 10_000).round().cast(pl.Int64)
    sign = pl.when(units < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    whole, rest = units.abs() // 10_000, units.abs() % 10_000
    return pl.format("{}{}.{}", sign, whole, rest.cast(pl.String).str.zfill(4))


def _allocate(sizes: Sequence[int], wanted: int) -> list[int]:
    """Share out a sample: one each, and the rest in proportion to the square roots, but never more than all.

    Source: power allocation with exponent one half, Bankier (1988); remainders to the largest fractions.
    """
    if wanted >= sum(sizes):
        return list(sizes)
    more = wanted - len(sizes)
    exhausted: dict[int, int] = {}
    while True:
        room = more - sum(exhausted.values())
        roots = {place: math.sqrt(size) for place, size in enumerate(sizes) if place not in exhausted}
        shares = {place: room * root / sum(roots.values()) for place, root in roots.items()}
        full = {place: sizes[place] - 1 for place, share in shares.items() if share >= sizes[place] - 1}
        if not full:
            break
        exhausted |= full
    given = exhausted | {place: int(share) for place, share in shares.items()}
    by_fraction = sorted(shares, key=lambda place: (given[place] - shares[place], place))
    for place in by_fraction[: more - sum(given.values())]:
        given[place] += 1
    return [1 + given[place] for place in range(len(sizes))]


def _stratified(
    population: pl.DataFrame, wanted: int, seed: int, kind: Literal["negative", "positive"], first: int
) -> tuple[pl.DataFrame, list[Stratum]]:
    """Draw from a population; its strata are numbered from `first`."""
    if population.is_empty() or wanted == 0:
        return population.clear().with_columns(kind=pl.lit(kind), stratum=pl.lit(first, pl.Int64)), []
    cut = _cut(population, wanted)
    keyed = population.with_columns(
        key=pl.concat_str([pl.col(column) for column in cut] or [pl.lit("")], separator="\t"),
        order=_hashes(population, f"{seed}:{kind}"),
    )
    cells = keyed.group_by("key").agg(pl.col(cut).first(), size=pl.len()).sort("key")
    drawn = pl.Series(_allocate(cells["size"].to_list(), wanted), dtype=pl.Int64)
    cells = cells.with_columns(drawn=drawn, stratum=pl.int_range(first, first + cells.height))
    chosen = (
        keyed
        .join(cells.select("key", "drawn", "stratum"), on="key")
        .sort("stratum", "order", *PAIR)
        .filter(pl.int_range(pl.len()).over("stratum") < pl.col("drawn"))
    )
    known = cells.drop("key", "stratum").rename({"gap_band": "gap", "rank_band": "rank"}, strict=False)
    cut_as = ({"split": "", **cell, "kind": kind} for cell in known.iter_rows(named=True))
    strata = list(map(Stratum.model_validate, cut_as))
    return chosen.drop("key", "order", "drawn").with_columns(kind=pl.lit(kind)), strata


def _cut(population: pl.DataFrame, wanted: int) -> list[str]:
    """Choose the finest strata of which each can give enough pairs."""
    for columns in _CUTS:
        known = [column for column in columns if column in population.columns]
        if not known or wanted >= _PER_STRATUM * population.select(known).n_unique():
            return known
    return []


def _with_controls(
    pairs: Pairs, drawn: pl.DataFrame, wanted: int, seed: int, controls: Controls
) -> tuple[pl.DataFrame, list[str]]:
    """Mix in controls whose pair is in this build and was not drawn; remark how many are missing, and why."""
    columns = dict.fromkeys((*PAIR, "expected"), pl.String)
    rows = [(*pair, verdict.value) for pair, verdict in controls.items()]
    known = (
        pl
        .DataFrame(rows, schema=columns, orient="row")
        .join(pairs.queries.select("query_id", "split"), on="query_id")
        .join(pairs.corpus, on="passage_id", how="semi")
    )
    usable = known.join(drawn, on=PAIR, how="anti")
    chosen = (
        usable
        .with_columns(_hashes(usable, f"{seed}:control"), kind=pl.lit("control"))
        .sort("order", *PAIR)
        .head(wanted)
        .drop("order")
        .join(pairs.negatives.select(*PAIR, "rank", "gap"), on=PAIR, how="left")
    )
    remarks = []
    if gone := len(rows) - known.height:
        remarks.append(f"{gone:,} of {len(rows):,} controls are not in this build and were left out")
    if wanted and chosen.height < wanted:
        found = counted(chosen.height, "control")
        remarks.append(f"{found}, not {wanted:,}: no more pairs are confirmed by hand")
    return pl.concat([drawn, chosen], how="diagonal"), remarks


def _shortfall(asked: Mapping[str, tuple[pl.DataFrame, int]]) -> list[str]:
    """Remark where there are fewer pairs than were asked for."""
    remarks = []
    for name, (population, wanted) in asked.items():
        there = population.height
        if wanted and not there:
            remarks.append(f"there are no {name}")
        elif there < wanted:
            all_of = f"there are {there:,}, and all of them are in the sample"
            remarks.append(f"asked for {wanted:,} {name}; {all_of}")
    return remarks


def _hashes(pairs: pl.DataFrame, use: str) -> pl.Series:
    """Hash every pair for one use of a seed."""
    keys = pairs.select(pl.concat_str(PAIR, separator="\t")).to_series().to_list()
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
) -> Sample:
    """Hash what is to be read of every pair, and name the sample after all of it."""
    items = []
    for row in pairs.with_texts(drawn).iter_rows(named=True):
        read = [row[name] for name in (*PAIR, "query", "title", "text")]
        known = {name: row[name] for name in Item.model_fields if name in row}
        known["item"] = f"i-{digest(json.dumps(read, ensure_ascii=True))}"
        items.append(Item.model_validate(known, by_name=True))
    head = Head(
        sample=_UNNAMED,
        config=pairs.config,
        build=pairs.build,
        mode=mode,
        opinion=opinion,
        recipe=pairs.recipe,
        stand_in=bool(pairs.stand_ins),
        seed=seed,
        asked=asked,
        strata=strata,
    )
    # The name of a sample is for good: it hashes a passage's id under the name that it had at first.
    written = [item.model_dump_json().replace('"passage_id":', '"corpus_id":') for item in items]
    everything = head.model_dump_json() + "".join(written)
    return Sample(head=head.model_copy(update={"sample": f"s-{digest(everything)}"}), items=tuple(items))

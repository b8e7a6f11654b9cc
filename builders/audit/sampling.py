"""Drawing the pairs of an audit. Pure: the same tables, seed and sizes give the same sample.

A population is cut into strata and each gives in proportion to the square root of its size (power allocation,
Bankier 1988), so that small splits and the closest negatives are seen often enough to speak for themselves.
Within a stratum the pairs with the smallest hash are drawn, whatever the order of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import polars as pl

from builders.audit.controls import Control
from builders.audit.model import Head, Item, Sample, Stratum, item_hash
from builders.audit.tree import Tree
from builders.printable import counted
from builders.tables import PAIR
from builders.text.digest import DIGITS, digest

RANKS = {"1–5": 5, "6–20": 20}
DEEPER = "21+"
CLOSEST = (0.1, 0.5)
"""Where the bands of gaps end, as shares of all hard negatives: the closest tenth is a band of its own."""

_PER_STRATUM = 4  # fewer than this in the mean, and a coarser cut is taken
_CUTS = (("split", "gap_band", "rank_band"), ("split", "gap_band"), ("gap_band",), ())
_UNNAMED = f"s-{'0' * DIGITS}"


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many pairs are asked for."""

    negatives: int
    positives: int
    controls: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample, and what is to be said about it: what was asked for and is not there."""

    sample: Sample
    remarks: tuple[str, ...]


def random_sample(tree: Tree, sizes: Sizes, seed: int, controls: Sequence[Control] = ()) -> Drawn:
    """Draw hard negatives and positives by stratum, mix in controls, and shuffle them all.

    Args:
        tree: The built config.
        sizes: How many of each.
        seed: Of the draw and the order.
        controls: Pairs that were confirmed by hand.
    """
    negatives, negative_strata = _stratified(banded(tree.negatives), sizes.negatives, seed, "negative", 0)
    positives, positive_strata = _stratified(
        tree.positives, sizes.positives, seed, "positive", len(negative_strata)
    )
    pairs = pl.concat([negatives, positives], how="diagonal")
    mixed, left_out = _with_controls(tree, pairs, sizes.controls, seed, controls)
    order = _hashes(mixed, f"{seed}:order")
    shuffled = mixed.with_columns(order=order).sort("order", *PAIR)
    head = _head(tree, "random", seed, sizes.negatives, (*negative_strata, *positive_strata))
    remarks = (*_shortfall(tree, sizes), *left_out)
    return Drawn(_sample(head, tree, shuffled), remarks)


def suspect_sample(tree: Tree, ranked: pl.DataFrame, sizes: Sizes, opinion: str) -> Drawn:
    """Take the likeliest false negatives, then the positives that the miner doubts, the worst first.

    Args:
        tree: The built config.
        ranked: ``query-id``, ``corpus-id`` of hard negatives, the most suspicious first.
        sizes: How many of each; no controls are mixed in.
        opinion: Who ranked them.
    """
    negatives = ranked.head(sizes.negatives).join(tree.negatives, on=PAIR, how="inner", maintain_order="left")
    positives = tree.suspicious.join(tree.positives, on=PAIR, how="inner", maintain_order="left")
    pairs = pl.concat(
        [
            negatives.with_columns(kind=pl.lit("negative")),
            positives.head(sizes.positives).with_columns(kind=pl.lit("positive")),
        ],
        how="diagonal",
    )
    head = _head(tree, "suspects", 0, sizes.negatives, ()).model_copy(update={"opinion": opinion})
    return Drawn(_sample(head, tree, pairs), tuple(_shortfall(tree, sizes, suspects=True)))


def banded(negatives: pl.DataFrame) -> pl.DataFrame:
    """Add ``gap_band`` and ``rank_band`` str to hard negatives; see `CLOSEST` and `RANKS`."""
    gap, rank = pl.col("gap"), pl.col("rank")
    edges = [gap.quantile(share, "nearest") for share in CLOSEST]
    place = pl.sum_horizontal((gap > edge).cast(pl.Int8) for edge in edges)
    ends = (end.over("place") for end in (gap.min(), gap.max()))
    band = pl.lit(DEEPER)
    for name, last in reversed(RANKS.items()):
        band = pl.when(rank <= last).then(pl.lit(name)).otherwise(band)
    return (
        negatives
        .with_columns(place=place)
        .with_columns(gap_band=pl.format("{}–{}", *map(_four_digits, ends)), rank_band=band)
        .drop("place")
    )


def _four_digits(number: pl.Expr) -> pl.Expr:
    """Write numbers with four decimals."""
    units = (number * 10_000).round().cast(pl.Int64)
    sign = pl.when(units < 0).then(pl.lit("-")).otherwise(pl.lit(""))
    whole, rest = units.abs() // 10_000, units.abs() % 10_000
    return pl.format("{}{}.{}", sign, whole, rest.cast(pl.String).str.zfill(4))


def allocate(sizes: Sequence[int], wanted: int) -> list[int]:
    """Share out a sample: one each, and the rest in proportion to the square roots, but never more than all.

    Args:
        sizes: Pairs by stratum, each at least 1.
        wanted: Pairs to draw; at least one for each stratum.

    Returns:
        Pairs to draw by stratum; their sum is `wanted`, or all there are.

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
    drawn = allocate(cells["size"].to_list(), wanted)
    cells = cells.with_columns(
        drawn=pl.Series(drawn, dtype=pl.Int64), stratum=pl.int_range(first, first + cells.height)
    )
    chosen = (
        keyed
        .join(cells.select("key", "drawn", "stratum"), on="key")
        .sort("stratum", "order", *PAIR)
        .filter(pl.int_range(pl.len()).over("stratum") < pl.col("drawn"))
    )
    strata = [
        Stratum(
            kind=kind,
            split=cell.get("split", ""),
            gap=cell.get("gap_band", ""),
            rank=cell.get("rank_band", ""),
            size=cell["size"],
            drawn=cell["drawn"],
        )
        for cell in cells.iter_rows(named=True)
    ]
    return chosen.drop("key", "order", "drawn").with_columns(kind=pl.lit(kind)), strata


def _cut(population: pl.DataFrame, wanted: int) -> list[str]:
    """Choose the finest strata of which each can give enough pairs."""
    for columns in _CUTS:
        known = [column for column in columns if column in population.columns]
        if not known or wanted >= _PER_STRATUM * population.select(known).n_unique():
            return known
    return []


def _with_controls(
    tree: Tree, pairs: pl.DataFrame, wanted: int, seed: int, controls: Sequence[Control]
) -> tuple[pl.DataFrame, list[str]]:
    """Mix in controls whose pair is in this build and was not drawn; say how many are missing, and why."""
    columns = {"query-id": pl.String, "corpus-id": pl.String, "expected": pl.String}
    rows = [(control.query_id, control.corpus_id, control.verdict.value) for control in controls]
    known = (
        pl
        .DataFrame(rows, schema=columns, orient="row")
        .join(tree.queries.select("query-id", "split"), on="query-id")
        .join(tree.corpus, on="corpus-id", how="semi")
    )
    usable = known.join(pairs, on=PAIR, how="anti")
    chosen = usable.with_columns(order=_hashes(usable, f"{seed}:control")).sort("order", *PAIR).head(wanted)
    mined = tree.negatives.select(*PAIR, "rank", "gap")
    chosen = chosen.drop("order").join(mined, on=PAIR, how="left").with_columns(kind=pl.lit("control"))
    remarks = []
    if gone := len(rows) - known.height:
        remarks.append(f"{gone:,} of {len(rows):,} controls are not in this build and were left out")
    if wanted and chosen.height < wanted:
        found = counted(chosen.height, "control")
        remarks.append(f"{found}, not {wanted:,}: no more pairs are confirmed by hand")
    return pl.concat([pairs, chosen], how="diagonal"), remarks


def _shortfall(tree: Tree, sizes: Sizes, *, suspects: bool = False) -> Iterator[str]:
    """Say where there are fewer pairs than were asked for."""
    positives = tree.suspicious if suspects else tree.positives
    of_positives = "suspicious positives" if suspects else "labelled positives"
    for there, wanted, name in (
        (tree.negatives.height, sizes.negatives, "hard negatives"),
        (positives.height, sizes.positives, of_positives),
    ):
        if wanted and not there:
            yield f"there are no {name}"
        elif there < wanted:
            yield f"asked for {wanted:,} {name}; there are {there:,}, and all of them are in the sample"


def _hashes(pairs: pl.DataFrame, use: str) -> pl.Series:
    """Hash every pair for one use of a seed."""
    keys = pairs.select(pl.concat_str(PAIR, separator="\t")).to_series().to_list()
    return pl.Series("order", [digest(f"{use}:{key}") for key in keys], dtype=pl.String)


def _head(
    tree: Tree, mode: Literal["random", "suspects"], seed: int, asked: int, strata: Sequence[Stratum]
) -> Head:
    return Head(
        sample=_UNNAMED,
        config=tree.config,
        build=tree.build,
        mode=mode,
        recipe=tree.recipe,
        stand_in=bool(tree.stand_ins),
        seed=seed,
        asked=asked,
        strata=tuple(strata),
    )


def _sample(head: Head, tree: Tree, pairs: pl.DataFrame) -> Sample:
    """Hash what is to be read of every pair, and name the sample after all of it."""
    read = pairs.join(tree.queries.select("query-id", "query"), on="query-id", maintain_order="left").join(
        tree.corpus, on="corpus-id", maintain_order="left"
    )
    fields = [name for name in Item.model_fields if name in read.columns]
    items = tuple(
        Item.model_validate({
            **{name: row[name] for name in (*PAIR, *fields)},
            "item": item_hash(row["query-id"], row["corpus-id"], row["query"], row["title"], row["text"]),
        })
        for row in read.iter_rows(named=True)
    )
    everything = head.model_dump_json() + "".join(item.model_dump_json() for item in items)
    name = f"s-{digest(everything)}"
    return Sample(head=head.model_copy(update={"sample": name}), items=items)

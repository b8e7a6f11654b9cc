"""Sections of a report on the tables themselves: yield, lengths, balance of labels, overlap. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from builders.evaluation.blocks import NOTHING, Block, Plot, Section, decimal, filled, names, table
from builders.evaluation.figures import ConfigFigures, SetBalance
from builders.evaluation.lengths import STEP, Lengths
from builders.evaluation.overlap import Overlap
from builders.evaluation.results import EncoderFacts, Result, by_level
from builders.plots import charts
from builders.printable import percent, share, span
from builders.tables import SPLITS

_NO_CHARACTER = 0.5
"""Where the band of empty texts begins on an axis of ratios."""
_TENTHS = tuple(f"{10 * tenth}–{10 * tenth + 10}" for tenth in range(10))


def evaluated(results: Sequence[Result], figures: Sequence[ConfigFigures]) -> Section:
    """Return what was evaluated: the tables, and the encoders."""
    tables = [
        (
            one.config,
            sum(one.splits.values()) or NOTHING,
            *(one.splits.get(split, NOTHING) for split in SPLITS),
            one.passages or NOTHING,
            len(one.sets) or NOTHING,
        )
        for one in figures
    ]
    encoders = _encoders(results)
    called = names(encoders)
    rows = [
        (called[facts], facts.kind, *(told or NOTHING for told in _said(facts, configs)))
        for facts, configs in encoders.items()
    ]
    header = ("Encoder", "Kind", "Model", "Revision", "Dimensions", "Mined for")
    blocks = (
        Block(
            "Tables",
            _made_of(figures),
            None,
            filled(table(("Config", "Queries", *SPLITS, "Passages", "Sets"), tables)),
        ),
        Block(
            "Encoders",
            "Dense encoders turn texts into vectors, lexical ones rank by words, and rules know no text. One "
            "that mined the hard negatives of a config is never to be the only one there.",
            None,
            filled(table(header, rows)),
        ),
    )
    return Section(
        "What was evaluated",
        "",
        tuple(block for block in blocks if block.table and block.table.rows),
    )


def _made_of(figures: Sequence[ConfigFigures]) -> str:
    """Say which tables tell nothing of the real datasets."""
    stand_ins = [one.config for one in figures if one.stand_in]
    if not stand_ins:
        return ""
    return f"Not built from all of the real upstreams, but from stand-ins or a part: {', '.join(stand_ins)}."


def _said(facts: EncoderFacts, configs: Sequence[str]) -> tuple[str | int, ...]:
    return facts.model, facts.revision, facts.dimensions, ", ".join(configs)


def mining(figures: Sequence[ConfigFigures]) -> Section:
    """Return how many queries got how many hard negatives."""
    mined = [one for one in figures if one.mined]
    most = max((int(number) for one in mined for number in one.mined), default=0)
    numbers = [str(number) for number in range(most + 1)]
    amounts = {one.config: [one.mined.get(number, 0) for number in numbers] for one in mined}
    rows = [
        (config, sum(counts), *counts, share(sum(counts[1:]), sum(counts)))
        for config, counts in amounts.items()
    ]
    told = "; ".join(f"{row[0]}: {row[-1]} of {row[1]:,} queries have at least one" for row in rows)
    block = Block(
        plot=Plot(
            partial(charts.stacked, amounts, numbers, across="queries by number of hard negatives"),
            f"Share of queries by number of hard negatives. {told}.",
        ),
        table=table(("Config", "Queries", *(f"with {number}" for number in numbers), "At least one"), rows),
    )
    return Section(
        "Yield of mining", "Nothing is filled up: a query for which the recipe finds fewer keeps fewer.",
        (block,) if amounts else (),
    )  # fmt: skip


def text_lengths(figures: Sequence[ConfigFigures]) -> Section:
    """Return histograms of text lengths."""
    return Section(
        "Lengths of texts",
        "In characters; of clustering sets, the distinct texts.",
        tuple(_length_block(one) for one in figures if one.lengths),
        legend="Ten steps lead to ten times the length. Whole characters make steps uneven, so equal areas "
        "are equal shares of the texts, and a height is the share of an even step.",
    )


def balance(figures: Sequence[ConfigFigures]) -> Section:
    """Return how evenly labels are spread in clustering sets, and positives over queries."""
    blocks = [
        *(_positives_block(one) for one in figures if one.positives),
        *(_balance_block(one) for one in figures if one.sets),
    ]
    return Section(
        "Balance of labels",
        "Of retrieval, how many positives a query has. Of clustering sets, how frequent labels are.",
        tuple(blocks),
        legend="On the dashed line all labels are equally frequent." if any(o.sets for o in figures) else "",
    )


def word_overlap(figures: Sequence[ConfigFigures]) -> Section:
    """Return how many of a query's words stand in its positive, and in a random passage."""
    return Section(
        "Overlap of queries and corpus",
        "The share of a query's distinct words, in lower case, that stand in one of its positives, and in a "
        "random passage that is none. Where the two lie far apart, word search goes far.",
        tuple(_overlap_block(one.config, one.overlap) for one in figures if one.overlap),
    )


def _encoders(results: Sequence[Result]) -> dict[EncoderFacts, list[str]]:
    """Encoders in the order of the results, each with the configs whose negatives it mined."""
    found: dict[EncoderFacts, list[str]] = {}
    for result in results:
        same: dict[str, object] = {"miner": False} | (
            {"dimensions": 0} if result.encoder.kind == "rule" else {}
        )
        configs = found.setdefault(result.encoder.model_copy(update=same), [])
        if result.encoder.miner and result.config not in configs:
            configs.append(result.config)
    return found


def _length_block(one: ConfigFigures) -> Block:
    panels = {
        f"{of.what} ({of.texts:,})": (
            [*(max(low, _NO_CHARACTER) for low, _, _ in of.bands), of.bands[-1][1] + 1],
            [count / of.texts for _, _, count in of.bands],
        )
        for of in one.lengths
    }
    header = ("Texts", "Number", "Shortest", "Median", "Longest")
    rows = [(of.what, of.texts, of.shortest, of.median, of.longest) for of in one.lengths]
    told = "; ".join(
        f"{of.what}: {of.shortest:,} to {of.longest:,}, median {of.median:,}" for of in one.lengths
    )
    return Block(
        one.config,
        "",
        Plot(
            partial(charts.histograms, panels, step=STEP, across="characters", up="share"),
            f"Lengths of texts in {one.config}. {told}.",
        ),
        table(header, rows),
        ("Every band", table(("Characters", *(of.what for of in one.lengths)), _bands(one.lengths))),
    )


def _bands(lengths: Sequence[Lengths]) -> list[tuple[object, ...]]:
    by_band: dict[tuple[int, int], dict[str, int]] = {}
    for of in lengths:
        for low, high, count in of.bands:
            by_band.setdefault((low, high), {})[of.what] = count
    return [
        (f"{low:,} to {high:,}", *(counts.get(of.what, 0) for of in lengths))
        for (low, high), counts in sorted(by_band.items())
    ]


def _positives_block(one: ConfigFigures) -> Block:
    queries = sum(one.positives.values())
    rows = [(number, count, share(count, queries)) for number, count in one.positives.items()]
    shares = {"queries": [count / queries for count in one.positives.values()]}
    return Block(
        one.config,
        "",
        Plot(
            partial(charts.bars, shares, list(one.positives), across="positives of a query", up="queries"),
            f"Queries of {one.config} by number of positives. "
            + "; ".join(f"{number}: {part}" for number, _, part in rows)
            + ".",
        )
        if len(rows) > 1
        else None,
        table(("Positives", "Queries", "Share"), rows),
    )


def _balance_block(one: ConfigFigures) -> Block:
    groups: dict[str, list[SetBalance]] = {}
    for each in one.sets:
        groups.setdefault(each.level.partition(":")[0], []).append(each)
    groups = {level: groups[level] for level in by_level(groups)}
    most = max(each.labels for each in one.sets)
    panel = charts.Panel(
        "labels in the set",
        {level: [(each.labels, each.largest) for each in group] for level, group in groups.items()},
        curve=[(labels, 1 / labels) for labels in range(2, most + 1)],
    )
    rows = [
        (
            level,
            len(group),
            span([each.rows for each in group]),
            span([each.labels for each in group]),
            decimal(median(each.largest for each in group)),
            span([each.rarest for each in group]),
            decimal(median(each.evenness for each in group)),
        )
        for level, group in groups.items()
    ]
    header = ("Level", "Sets", "Texts", "Labels", "Most frequent", "Texts of the rarest", "Evenness")
    return Block(
        one.config,
        "Shares of the most frequent label and evenness are medians over the sets; evenness is the entropy "
        "of the labels over that of equal shares.",
        Plot(
            partial(charts.scatter, (panel,), up="most frequent label", top=None),
            f"Share of the most frequent label of each set of {one.config} against its number of labels.",
        ),
        table(header, rows),
    )


def _overlap_block(config: str, found: Overlap) -> Block:
    sides = {"in a positive": found.positive_tenths, "in a random passage": found.random_tenths}
    shares = {name: [count / max(1, sum(tenths)) for count in tenths] for name, tenths in sides.items()}
    told = f"on average {percent(found.positive)} stand in a positive, "
    if found.random is None:
        told += "and no passage that was drawn at random is none"
    else:
        told += f"{percent(found.random)} in a random passage"
    which = (
        f"{found.queries:,} queries"
        if found.queries == found.of
        else f"{found.queries:,} of {found.of:,} queries"
    )
    return Block(
        config,
        f"Of the words of {which}, {told}.",
        Plot(
            partial(charts.bars, shares, _TENTHS, across="words of the query, %", up="queries"),
            f"Of a query's words in {config}, {told}.",
        ),
        table(("Words, %", *sides), zip(_TENTHS, *sides.values(), strict=True)),
    )

"""Results and statistics as frames with a column per heading, and as blocks of a report with plots. Pure.

Numbers stay numbers, and a missing value is null: `cells` is how terminal and report print them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
import polars as pl

from builders.evaluation.metrics import differences
from builders.evaluation.pipelines import MTEB
from builders.evaluation.published import Compared
from builders.evaluation.results import (
    SCORES,
    ClusteringResult,
    EncoderFacts,
    Result,
    RetrievalResult,
    Score,
    by_level,
)
from builders.evaluation.statistics import STEP, ConfigStatistics, bands, tenths
from builders.plots import charts
from builders.plots.svg import Figure
from builders.printable import NOTHING, percent, share, shortened, span
from builders.tables import SPLITS

_METRICS = SCORES | {"v_measure": "V-measure"}
_WITH_INTERVAL = ("ndcg_at_10", "mrr_at_10")
_DIAGNOSES = [SCORES[name] for name in ("decided_ndcg_at_10", "graded_ndcg_at_10", "labelled_at_10")]
_VERDICTS = ("differs", "agrees", "not comparable")
_IN_WORDS = 12
"""Scores of a plot that its description gives."""
_NO_CHARACTER = 0.5
"""Where the band of empty texts begins on a logarithmic axis."""
_TENTHS = tuple(f"{10 * tenth}–{10 * tenth + 10}" for tenth in range(10))
_One = TypeVar("_One", RetrievalResult, ClusteringResult)


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a section of a report; without a heading it is the only one.

    Attributes:
        draw: Function that makes the plot; None where there is nothing to draw.
        alt: Description of the plot for a reader who sees no picture.
        more: Longer tables by their summaries, which are folded away.
    """

    frame: pl.DataFrame
    heading: str = ""
    text: str = ""
    draw: Callable[[], Figure] | None = None
    alt: str = ""
    more: Mapping[str, pl.DataFrame] | None = None


def cells(frame: pl.DataFrame) -> list[list[str]]:
    """Return the rows of a frame as they are printed."""
    return [list(map(_cell, row)) for row in frame.iter_rows()]


def names(encoders: Iterable[EncoderFacts]) -> dict[EncoderFacts, str]:
    """Return a short name for each encoder: the last part of a path, and ten digits of a revision.

    Where two would have one name, they keep their full ones, numbered where even those are the same.
    """
    alike = {encoder: _anywhere(encoder) for encoder in encoders}
    found = dict.fromkeys(alike.values())
    shorter = Counter(_short(encoder.name) for encoder in found)
    named: dict[EncoderFacts, str] = {}
    for encoder in found:
        name = _short(encoder.name)
        name = name if shorter[name] == 1 else encoder.name
        same = sum(other == name or other.startswith(f"{name} (") for other in named.values())
        named[encoder] = f"{name} ({same + 1})" if same else name
    return {encoder: named[same] for encoder, same in alike.items()}


def retrieval(results: Sequence[RetrievalResult], *, brief: bool = False) -> pl.DataFrame:
    """Return the scores of searches, a row a result; in `brief` without diagnoses, for a terminal."""
    named = _named(results)
    columns: dict[str, list[object]] = {
        "Config": [result.config for result in results],
        "Split": [result.split for result in results],
        "Encoder": [named[result.encoder] for result in results],
    }
    for name in (name for name in SCORES if any(name in result.scores for result in results)):
        scores = [result.scores.get(name) for result in results]
        columns[SCORES[name]] = [score and score.value for score in scores]
        if name in _WITH_INTERVAL:
            columns[f"{SCORES[name]}, 95\u00a0%"] = [_interval(score) for score in scores]
    if any(result.groups for result in results):
        columns["Groups"] = [len(result.groups) or None for result in results]
        columns["nDCG@10 by group"] = [result.by_group and result.by_group.value for result in results]
        columns["nDCG@10 by group, 95\u00a0%"] = [_interval(result.by_group) for result in results]
    return pl.DataFrame(columns).drop(_DIAGNOSES if brief else [], strict=False)


def apart(results: Sequence[Result]) -> pl.DataFrame:
    """Return how far encoders lie apart on the same queries, a row a pair on a config and split."""
    found = differences(results)
    named = names(encoder for one in found for encoder in (one.first, one.second))
    rows = [
        (one.config, one.split, named[one.first], named[one.second], f"{one.ndcg_at_10.value:+.4f}",
         _interval(one.ndcg_at_10, "+.4f"), one.verdict)
        for one in found
    ]  # fmt: skip
    header = ("Config", "Split", "First", "Second", "nDCG@10, first − second", "95\u00a0%", "Verdict")
    return _frame(header, rows) if rows else pl.DataFrame()


def clustering(results: Sequence[ClusteringResult]) -> pl.DataFrame:
    """Return the scores of clusterings, a row a result, with a column per level."""
    named, levels = _named(results), by_level(level for result in results for level in result.levels)
    rows = [
        (
            result.config, named[result.encoder], result.pipeline, result.v_measure, result.spread,
            *(result.levels[level].mean if level in result.levels else None for level in levels),
        )
        for result in results
    ]  # fmt: skip
    header = ("Config", "Encoder", "Pipeline", "V-measure", "Spread", *(f"{level} sets" for level in levels))
    return _frame(header, rows)


def published(compared: Sequence[Compared]) -> pl.DataFrame:
    """Return our scores beside published ones, a row a published score."""
    header = (
        "Config", "Encoder", "Pipeline", "Metric", "Ours", "Published", "Difference", "Tolerance", "Verdict",
        "Note", "Published for", "Source",
    )  # fmt: skip
    rows = (
        (
            " ".join(filter(None, (one.config, one.split))), one.encoder, one.pipeline or None,
            _METRICS.get(one.metric, one.metric), one.ours, one.published, f"{one.difference:+.4f}",
            one.tolerance, one.verdict, one.why or None, one.model, one.source,
        )
        for one in compared
    )  # fmt: skip
    return _frame(header, rows)


def summary(compared: Sequence[Compared]) -> pl.DataFrame:
    """Return the published score that tells most beside the main score of each result.

    That is one outside its tolerance, else one inside, else one that cannot be compared.
    """
    found: dict[tuple[str, ...], Compared] = {}
    for one in sorted(compared, key=lambda one: _VERDICTS.index(one.verdict)):
        if one.metric in {"ndcg_at_10", "v_measure"}:
            found.setdefault((one.config, one.split, one.encoder, one.pipeline), one)
    shown = set(map(id, found.values()))
    return filled(published([one for one in compared if id(one) in shown]).drop("Published for", "Source"))


def filled(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame without the columns, but the first, in which no row has a value."""
    first, *others = frame.get_columns()
    return pl.DataFrame([first, *(column for column in others if column.null_count() < frame.height)])


def evaluated(results: Sequence[Result], statistics: Sequence[ConfigStatistics]) -> Iterator[Block]:
    """Return the tables that were evaluated, and the encoders."""
    stand_ins = ", ".join(one.config for one in statistics if one.stand_in)
    text = f"Not built from all of the real upstreams, but from stand-ins or a part: {stand_ins}."
    rows = [
        (one.config, sum(one.splits.values()) or None, *map(one.splits.get, SPLITS), one.passages or None,
         one.sets.height or None)
        for one in statistics
    ]  # fmt: skip
    if rows:
        tables = _frame(("Config", "Queries", *SPLITS, "Passages", "Sets"), rows)
        yield Block(filled(tables), "Tables", text if stand_ins else "")
    mined: dict[EncoderFacts, dict[str, None]] = {}
    for result in results:
        configs = mined.setdefault(_anywhere(result.encoder), {})
        configs |= {result.config: None} if result.encoder.miner else {}
    named = names(mined)
    encoders = [
        (named[one], one.kind, one.model or None, one.revision or None, one.dimensions or None,
         ", ".join(configs) or None)
        for one, configs in mined.items()
    ]  # fmt: skip
    if encoders:
        columns = ("Encoder", "Kind", "Model", "Revision", "Dimensions", "Mined for")
        text = (
            "Dense encoders turn texts into vectors, lexical ones rank by words, and rules know no text. One "
            "that mined the hard negatives of a config is never to be the only one there."
        )
        yield Block(filled(_frame(columns, encoders)), "Encoders", text)


def retrieval_scores(results: Sequence[Result], compared: Sequence[Compared]) -> Iterator[Block]:
    """Return the scores of searches, a block a config and split."""
    for where, group in _by_table(results, RetrievalResult):
        named, dots = _named(group), []
        for result in filter(_has_model, group):
            row = named[result.encoder]
            found = {name: result.scores[name] for name in _WITH_INTERVAL if name in result.scores}
            dots += [charts.Dot(row, SCORES[name], s.value, s.low, s.high) for name, s in found.items()]
            others = [one for one in _comparable(result, compared) if one.metric in _WITH_INTERVAL]
            dots += [charts.Dot(row, SCORES[one.metric], one.published, published=True) for one in others]
        yield Block(
            retrieval(group).drop("Config", "Split"),
            where,
            f"{group[0].queries:,} queries in {len(group[0].groups):,} groups, "
            f"{group[0].passages:,} passages.",
            *_dot_plot(dots, f"nDCG@10 and MRR@10 on {where}", "score"),
        )
    if (between := apart(results)).height:
        text = "Over the same queries. Encoders whose interval holds 0 cannot be told apart."
        yield Block(between, "Differences between encoders", text)


def clustering_scores(results: Sequence[Result], compared: Sequence[Compared]) -> Iterator[Block]:
    """Return the scores of clusterings, a block a config."""
    for config, group in _by_table(results, ClusteringResult):
        named, dots = _named(group), []
        several = len({result.pipeline for result in group if _has_model(result)}) > 1
        for result in filter(_has_model, group):
            name, mid, spread = named[result.encoder], result.v_measure, result.spread
            row, series = (result.pipeline, name) if several else (name, "V-measure")
            dots.append(charts.Dot(row, series, mid, max(0.0, mid - spread), min(1.0, mid + spread)))
            others = _comparable(result, compared)
            dots += [charts.Dot(row, series, one.published, published=True) for one in others]
        frame = clustering(group).drop("Config")
        yield Block(
            frame if frame.width > 5 else frame[:, :4],  # a single level has the mean of all sets
            config,
            f"{len(group[0].sets):,} sets.",
            *_dot_plot(dots, f"V-measure on {config}", "V-measure"),
        )


def published_scores(compared: Sequence[Compared]) -> Iterator[Block]:
    """Return every score of ours that has a published one, with the verdict and the source."""
    frame = published(compared)
    if frame.height:
        where = frame.select("Config", "Encoder", "Pipeline", "Metric", "Published for", "Source")
        yield Block(frame.drop("Published for", "Source"), more={"Where they are published": where})


def set_scores(results: Sequence[Result]) -> Iterator[Block]:
    """Return V-measure against the size of a set and its number of labels, of mteb's pipeline if it ran."""
    for config, group in _by_table(filter(_has_model, results), ClusteringResult):
        pipeline = MTEB if any(result.pipeline == MTEB for result in group) else group[0].pipeline
        mine = [result for result in group if result.pipeline == pipeline]
        named = _named(mine)
        sets = {named[one.encoder]: pl.DataFrame([of.model_dump() for of in one.sets]) for one in mine}
        rows = [
            (name, level, of.height, _span(of["rows"]), _span(of["labels"]),
             of["v_measure"].min(), of["v_measure"].mean(), of["v_measure"].max())
            for name, frame in sets.items() for level, of in _leveled(frame).items()
        ]  # fmt: skip
        columns = {"Level": "level", "Texts": "rows", "Labels": "labels", "V-measure": "v_measure"}
        every = pl.concat(
            frame.select(pl.lit(name).alias("Encoder"), **columns) for name, frame in sets.items()
        )
        series = sets if len(sets) > 1 else _leveled(next(iter(sets.values())))
        several = every["Labels"].n_unique() > 1
        axes = {"texts": "rows", "labels": "labels"} if several else {"texts": "rows"}
        panels = [
            charts.Panel(
                f"{what} in the set",
                {name: of.select(column, "v_measure").rows() for name, of in series.items()},
                log=what == "texts",
            )
            for what, column in axes.items()
        ]
        against = " and ".join(f"{what} in each set" for what in axes)
        yield Block(
            _frame(("Encoder", "Level", "Sets", "Texts", "Labels", "Lowest", "Mean", "Highest"), rows),
            config,
            f"Pipeline {pipeline}." + ("" if several else f" Every set has {every['Labels'][0]:,} labels."),
            partial(charts.scatter, panels, up="V-measure"),
            f"V-measure of each set of {config} against the number of {against}.",
            {"Every set": every},
        )


def query_lengths(results: Sequence[Result]) -> Iterator[Block]:
    """Return nDCG@10 against the length of the query."""
    for where, group in _by_table(filter(_has_model, results), RetrievalResult):
        named = _named(group)
        by_name = {named[result.encoder]: result.lengths for result in group if result.lengths}
        points = {
            name: [(sqrt(max(1, one.low) * max(1, one.high)), one.ndcg_at_10) for one in of]
            for name, of in by_name.items()
        }
        rows = [
            (f"{low:,} to {high:,}", queries, *scores)
            for (low, high, queries), *scores in _crossed(
                {(one.low, one.high, one.queries): one.ndcg_at_10 for one in of} for of in by_name.values()
            )
        ]
        panel = charts.Panel("characters of the query", points, log=True)
        draw = partial(charts.scatter, (panel,), up="nDCG@10", lines=True)
        alt = f"nDCG@10 on {where}, against the length of the query."
        if rows:
            frame = _frame(("Characters", "Queries", *points), rows)
            yield Block(frame, where, "", draw if len(rows) > 1 else None, alt)


def mining_yield(statistics: Sequence[ConfigStatistics]) -> Iterator[Block]:
    """Return how many queries got how many hard negatives."""
    mined = {f"{one.config}-{table}": of for one in statistics for table, of in one.mined.items()}
    if not mined:
        return
    numbers = [str(number) for number in range(1 + max(int(most) for of in mined.values() for most in of))]
    amounts = {config: [of.get(number, 0) for number in numbers] for config, of in mined.items()}
    rows = [(config, sum(of), *of, share(sum(of[1:]), sum(of))) for config, of in amounts.items()]
    said = "; ".join(f"{row[0]}: {row[-1]} of {row[1]:,} queries have at least one" for row in rows)
    yield Block(
        _frame(("Config", "Queries", *(f"with {number}" for number in numbers), "At least one"), rows),
        draw=partial(charts.stacked, amounts, numbers, across="queries by number of hard negatives"),
        alt=f"Share of queries by number of hard negatives. {said}.",
    )


def text_lengths(statistics: Sequence[ConfigStatistics]) -> Iterator[Block]:
    """Return histograms of text lengths."""
    for config, found in ((one.config, one.lengths) for one in statistics if one.lengths):
        counted = {what: bands(lengths) for what, lengths in found.items()}
        panels = {
            f"{what} ({len(found[what]):,})": (
                [*(max(low, _NO_CHARACTER) for low, _ in of), max(of)[1] + 1],
                [count / len(found[what]) for count in of.values()],
            )
            for what, of in counted.items()
        }
        rows = [
            (what, len(of), min(of), int(np.quantile(of, 0.5, method="lower")), max(of))
            for what, of in found.items()
        ]
        every = [
            (f"{low:,} to {high:,}", *(count or 0 for count in counts))
            for (low, high), *counts in _crossed(counted.values())
        ]
        said = "; ".join(f"{what}: {low:,} to {high:,}, median {mid:,}" for what, _, low, mid, high in rows)
        yield Block(
            _frame(("Texts", "Number", "Shortest", "Median", "Longest"), rows),
            config,
            "",
            partial(charts.histograms, panels, step=STEP, across="characters", up="share"),
            f"Lengths of texts in {config}. {said}.",
            {"Every band": _frame(("Characters", *found), every)},
        )


def positives(statistics: Sequence[ConfigStatistics]) -> Iterator[Block]:
    """Return how many positives a query has."""
    for one in statistics:
        config, found = one.config, one.positives
        if not found:
            continue
        queries = sum(found.values())
        means = ", ".join(f"{mean:.1f} in {split}" for split, mean in one.mean_positives.items())
        rows = [(number, count, share(count, queries)) for number, count in found.items()]
        shares = {"queries": [count / queries for count in found.values()]}
        said = "; ".join(f"{number}: {part}" for number, _, part in rows)
        draw = partial(charts.bars, shares, list(found), across="positives of a query", up="queries")
        alt = f"Queries of {config} by number of positives. {said}."
        frame = _frame(("Positives", "Queries", "Share"), rows)
        yield Block(frame, config, f"Mean by split: {means}.", draw if len(rows) > 1 else None, alt)


def balance(statistics: Sequence[ConfigStatistics]) -> Iterator[Block]:
    """Return how evenly labels are spread in clustering sets."""
    for config, sets in ((one.config, one.sets) for one in statistics if one.sets.height):
        levels = _leveled(sets)
        panel = charts.Panel(
            "labels in the set",
            {level: of.select("labels", "largest").rows() for level, of in levels.items()},
            curve=[(labels, 1 / labels) for labels in range(2, max(sets["labels"]) + 1)],
        )
        rows = [
            (level, of.height, _span(of["rows"]), _span(of["labels"]), of["largest"].median(),
             _span(of["rarest"]), of["evenness"].median())
            for level, of in levels.items()
        ]  # fmt: skip
        header = ("Level", "Sets", "Texts", "Labels", "Most frequent", "Texts of the rarest", "Evenness")
        yield Block(
            _frame(header, rows),
            config,
            "Shares of the most frequent label and evenness are medians over the sets; evenness is the "
            "entropy of the labels over that of equal shares.",
            partial(charts.scatter, (panel,), up="most frequent label", top=None),
            f"Share of the most frequent label of each set of {config} against its number of labels.",
        )


def word_overlap(statistics: Sequence[ConfigStatistics]) -> Iterator[Block]:
    """Return how many of a query's words stand in its positive, and in a random passage."""
    for config, found in ((one.config, one.overlap) for one in statistics if one.overlap):
        sides = {"in a positive": tenths(found.positive), "in a random passage": tenths(found.random)}
        shares = {name: [count / max(1, sum(of)) for count in of] for name, of in sides.items()}
        other = "and every passage that was drawn at random is one"
        if len(found.random):
            other = f"{percent(fmean(found.random))} in a random passage"
        said = f"on average {percent(fmean(found.positive))} stand in a positive, {other}"
        of = "" if len(found.positive) == found.of else f"of {found.of:,} "
        yield Block(
            _frame(("Words, %", *sides), zip(_TENTHS, *sides.values(), strict=True)),
            config,
            f"Of the words of {len(found.positive):,} {of}queries, {said}.",
            partial(charts.bars, shares, _TENTHS, across="words of the query, %", up="queries"),
            f"Of a query's words in {config}, {said}.",
        )


def _frame(header: Sequence[str], rows: Iterable[Sequence[object]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=list(header), orient="row", infer_schema_length=None)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value + 0.0:.4f}"  # no minus before a zero
    return NOTHING if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _interval(score: Score | None, form: str = ".4f") -> str | None:
    if score is None or score.low is None or score.high is None:
        return None
    return f"{score.low:{form}} to {score.high:{form}}"


def _span(numbers: pl.Series) -> str:
    return span(numbers.to_list())


def _crossed(columns: Iterable[Mapping[Any, Any]]) -> list[tuple[Any, ...]]:
    """Return the sorted keys of all columns, each with its value in every column; None for none."""
    known = list(columns)
    return [(key, *(column.get(key) for column in known)) for key in sorted(set().union(*known))]


def _short(name: str) -> str:
    last = name.rstrip("/").rpartition("/")[2] or name
    return re.sub(r"@([0-9a-f]{10})[0-9a-f]{30}$", r"@\1", last[-200:])


def _anywhere(encoder: EncoderFacts) -> EncoderFacts:
    """Return the facts of an encoder that hold in every config and in every kind of task."""
    dimensions = 0 if encoder.kind == "rule" else encoder.dimensions
    return encoder.model_copy(update={"miner": False, "dimensions": dimensions})


def _named(results: Iterable[Result]) -> dict[EncoderFacts, str]:
    return names(result.encoder for result in results)


def _by_table(results: Iterable[Result], kind: type[_One]) -> Iterable[tuple[str, list[_One]]]:
    """Group results of a kind by table and split, in the order in which the first of each group comes."""
    groups: dict[str, list[_One]] = {}
    for result in results:
        if isinstance(result, kind):
            where = f"{result.config}, split {result.split}" if result.split else result.config
            groups.setdefault(where, []).append(result)
    return groups.items()


def _leveled(sets: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Group sets by their level, from coarse to fine; sets within labels are one level."""
    level = pl.col("level").str.split(":").list.first()
    return {name: sets.filter(level == name) for name in by_level(sets.select(level)["level"])}


def _has_model(result: Result) -> bool:
    return result.encoder.kind != "rule"


def _comparable(result: Result, compared: Sequence[Compared]) -> Iterator[Compared]:
    """Return the published scores beside a result that may be compared with it."""
    mine = (result.config, result.encoder.name, result.split, result.pipeline)
    for one in compared:
        if (one.config, one.encoder, one.split, one.pipeline) == mine and one.verdict != "not comparable":
            yield one


def _dot_plot(values: list[charts.Dot], alt: str, across: str) -> tuple[Callable[[], Figure] | None, str]:
    """Return a plot of scores, and the first of them in words; None without any."""
    said = "; ".join(shortened([f"{dot.row}: {dot.series} {dot.value:.3f}" for dot in values], _IN_WORDS))
    return partial(charts.dots, values, across=across) if values else None, f"{alt}. {said}."

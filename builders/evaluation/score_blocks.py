"""Sections of a report on scores: beside published ones, by clustering set, by length of the query. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from math import sqrt
from operator import attrgetter

from builders.evaluation.blocks import (
    NOTHING,
    Block,
    Plot,
    Section,
    decimal,
    names,
    signed,
    span,
    table,
)
from builders.evaluation.compare import Compared
from builders.evaluation.model import ClusteringResult, Result, RetrievalResult, Score, SetScore
from builders.plots import charts

_METRICS = {
    "ndcg_at_10": "nDCG@10",
    "mrr_at_10": "MRR@10",
    "recall_at_10": "recall@10",
    "recall_at_100": "recall@100",
    "r_precision": "R-precision",
    "core_ndcg_at_10": "core nDCG@10",
    "v_measure": "V-measure",
}
_WITH_INTERVAL = ("ndcg_at_10", "mrr_at_10")
_USUAL = "minibatch-kmeans"


def retrieval_scores(results: Sequence[Result], compared: Sequence[Compared]) -> Section:
    """Return the scores of retrieval: a block a config and split, a row an encoder."""
    found = [result for result in results if isinstance(result, RetrievalResult)]
    return Section(
        "Retrieval scores",
        "Exact search over all passages. A line is the 95 % bootstrap interval over queries, a hollow "
        "diamond a published score, comparable or not. Rules that know no text are in the table only.",
        tuple(
            _retrieval_block(config, split, list(group), compared)
            for (config, split), group in groupby(
                sorted(found, key=attrgetter("config", "split")), attrgetter("config", "split")
            )
        ),
    )


def clustering_scores(results: Sequence[Result], compared: Sequence[Compared]) -> Section:
    """Return the scores of clustering: a block a config, a row an encoder and pipeline."""
    found = [result for result in results if isinstance(result, ClusteringResult)]
    return Section(
        "Clustering scores",
        "The mean V-measure over the sets of a config. A line reaches one standard deviation over the sets "
        "to each side, a hollow diamond is a published score, comparable or not. Rules that know no text are "
        "in the table only.",
        tuple(
            _clustering_block(config, list(group), compared)
            for config, group in groupby(sorted(found, key=attrgetter("config")), attrgetter("config"))
        ),
    )


def published(compared: Sequence[Compared]) -> Section:
    """Return every score of ours that has a published one, with the verdict and the source."""
    rows = [
        (
            " ".join(filter(None, (one.config, one.split))),
            one.encoder,
            one.pipeline or NOTHING,
            _METRICS.get(one.metric, one.metric),
            decimal(one.ours),
            decimal(one.published),
            signed(one.difference),
            decimal(one.tolerance),
            one.verdict,
            one.why or NOTHING,
            one.model,
            one.source,
        )
        for one in compared
    ]
    header = (
        "Config", "Encoder", "Pipeline", "Metric", "Ours", "Published", "Difference", "Tolerance", "Verdict",
        "Because", "Published for", "Source",
    )  # fmt: skip
    return Section(
        "Beside published scores",
        "The tolerance is what another seed or version can explain. A build that is not made from the whole "
        "upstream is not comparable, whatever the difference.",
        (Block(table=table(header, rows)),) if rows else (),
    )


def by_set(results: Sequence[Result]) -> Section:
    """Return V-measure against the size of a set and its number of labels, of the usual pipeline."""
    found = [result for result in results if isinstance(result, ClusteringResult) and _reads(result)]
    return Section(
        "V-measure against set size and number of labels",
        "A point is a clustering set. More labels make V-measure larger by themselves, small sets do too: "
        "compare scores within a level.",
        tuple(
            _set_block(config, list(group))
            for config, group in groupby(sorted(found, key=attrgetter("config")), attrgetter("config"))
        ),
    )


def by_length(results: Sequence[Result]) -> Section:
    """Return nDCG@10 against the length of the query."""
    found = [r for r in results if isinstance(r, RetrievalResult) and r.lengths and _reads(r)]
    return Section(
        "Score against query length",
        "Mean nDCG@10 of the queries of a band of lengths, in characters; a point lies in its band's middle.",
        tuple(
            _length_block(config, split, list(group))
            for (config, split), group in groupby(
                sorted(found, key=attrgetter("config", "split")), attrgetter("config", "split")
            )
        ),
    )


def _reads(result: RetrievalResult | ClusteringResult) -> bool:
    return result.encoder.kind != "rule"


def _retrieval_block(
    config: str, split: str, results: Sequence[RetrievalResult], compared: Sequence[Compared]
) -> Block:
    metrics = [name for name in _METRICS if any(name in result.scores for result in results)]
    called = names(result.encoder for result in results)
    header, rows = ["Encoder"], []
    for name in metrics:
        header += [_METRICS[name], *([f"{_METRICS[name]}, 95\u00a0%"] if name in _WITH_INTERVAL else [])]
    for result in results:
        cells: list[object] = [called[result.encoder]]
        for name in metrics:
            score = result.scores.get(name)
            cells.append(decimal(score.value if score else None))
            if name in _WITH_INTERVAL:
                cells.append(_interval(score))
        rows.append(cells)
    one = results[0]
    return Block(
        f"{config}, split {split}",
        f"{one.queries:,} queries, {one.passages:,} passages.",
        _plot(
            list(_retrieval_dots(results, compared)),
            f"nDCG@10 and MRR@10 on {config}, split {split}",
            "score",
        ),
        table(header, rows),
    )


def _retrieval_dots(results: Sequence[RetrievalResult], compared: Sequence[Compared]) -> Iterator[charts.Dot]:
    called = names(result.encoder for result in results)
    for result in filter(_reads, results):
        row = called[result.encoder]
        for name in _WITH_INTERVAL:
            if score := result.scores.get(name):
                yield charts.Dot(row, _METRICS[name], score.value, score.low, score.high)
        for one in _matching(result, compared):
            if one.metric in _WITH_INTERVAL:
                yield charts.Dot(row, _METRICS[one.metric], one.published, published=True)


def _clustering_block(
    config: str, results: Sequence[ClusteringResult], compared: Sequence[Compared]
) -> Block:
    levels = list(dict.fromkeys(level for result in results for level in result.levels))
    levels = levels if len(levels) > 1 else []
    called = names(result.encoder for result in results)
    rows = []
    for result in results:
        means = [result.levels[level].mean if level in result.levels else None for level in levels]
        name, scores = called[result.encoder], (result.v_measure, result.spread, *means)
        rows.append((name, result.pipeline, *map(decimal, scores)))
    return Block(
        config,
        f"{len(results[0].sets):,} sets.",
        _plot(list(_clustering_dots(results, compared)), f"V-measure on {config}", "V-measure"),
        table(("Encoder", "Pipeline", "V-measure", "Spread", *(f"{level} sets" for level in levels)), rows),
    )


def _clustering_dots(
    results: Sequence[ClusteringResult], compared: Sequence[Compared]
) -> Iterator[charts.Dot]:
    called = names(result.encoder for result in results)
    several = len({result.pipeline for result in results}) > 1
    for result in filter(_reads, results):
        name = called[result.encoder]
        row, series = (result.pipeline, name) if several else (name, "V-measure")
        low, high = max(0.0, result.v_measure - result.spread), min(1.0, result.v_measure + result.spread)
        yield charts.Dot(row, series, result.v_measure, low, high)
        for one in _matching(result, compared):
            yield charts.Dot(row, series, one.published, published=True)


def _matching(result: RetrievalResult | ClusteringResult, compared: Sequence[Compared]) -> Iterator[Compared]:
    for one in compared:
        same = one.config == result.config and one.encoder == result.encoder.name
        if isinstance(result, RetrievalResult):
            same = same and one.split == result.split
        else:
            same = same and one.pipeline == result.pipeline
        if same:
            yield one


def _plot(values: list[charts.Dot], alt: str, across: str) -> Plot | None:
    if not values:
        return None
    told = "; ".join(f"{dot.row}: {dot.series} {dot.value:.3f}" for dot in values[:12])
    return Plot(partial(charts.dots, values, across=across), f"{alt}. {told}.")


def _set_block(config: str, results: Sequence[ClusteringResult]) -> Block:
    pipeline = _USUAL if any(r.pipeline == _USUAL for r in results) else results[0].pipeline
    mine = [result for result in results if result.pipeline == pipeline]
    called = names(result.encoder for result in mine)
    sets = {called[result.encoder]: result.sets for result in mine}
    panels = (
        charts.Panel(
            "texts in the set",
            {name: [(s.rows, s.v_measure) for s in of] for name, of in sets.items()},
            log=True,
        ),
        charts.Panel(
            "labels in the set", {name: [(s.labels, s.v_measure) for s in of] for name, of in sets.items()}
        ),
    )
    rows = [(name, *cells) for name, of in sets.items() for cells in _levels(of)]
    every = [(name, s.level, s.rows, s.labels, decimal(s.v_measure)) for name, of in sets.items() for s in of]
    header = ("Encoder", "Level", "Sets", "Texts", "Labels", "Lowest", "Mean", "Highest")
    alt = f"V-measure of each set of {config} against its size, and against its number of labels"
    return Block(
        config,
        f"Pipeline {pipeline}.",
        Plot(partial(charts.scatter, panels, up="V-measure"), f"{alt}."),
        table(header, rows),
        ("Every set", table(("Encoder", "Level", "Texts", "Labels", "V-measure"), every)),
    )


def _levels(sets: Sequence[SetScore]) -> Iterator[tuple[object, ...]]:
    groups: dict[str, list[SetScore]] = {}
    for one in sets:
        groups.setdefault(one.level.partition(":")[0], []).append(one)
    for level, group in groups.items():
        scores = [one.v_measure for one in group]
        sizes, labels = span([one.rows for one in group]), span([one.labels for one in group])
        ends = (min(scores), sum(scores) / len(scores), max(scores))
        yield (level, len(group), sizes, labels, *map(decimal, ends))


def _length_block(config: str, split: str, results: Sequence[RetrievalResult]) -> Block:
    called = names(result.encoder for result in results)
    points = {
        called[result.encoder]: [
            (sqrt(max(1, band.low) * max(1, band.high)), band.ndcg_at_10) for band in result.lengths
        ]
        for result in results
    }
    by_band: dict[tuple[int, int, int], dict[str, float]] = {}
    for result in results:
        for band in result.lengths:
            scores = by_band.setdefault((band.low, band.high, band.queries), {})
            scores[called[result.encoder]] = band.ndcg_at_10
    rows = [
        (f"{low:,} to {high:,}", queries, *(decimal(scores.get(name)) for name in points))
        for (low, high, queries), scores in sorted(by_band.items())
    ]
    panel = charts.Panel("characters of the query", points, log=True)
    return Block(
        f"{config}, split {split}",
        "",
        Plot(
            partial(charts.scatter, (panel,), up="nDCG@10", lines=True),
            f"nDCG@10 on {config}, split {split}, against the length of the query.",
        )
        if len(rows) > 1
        else None,
        table(("Characters", "Queries", *points), rows),
    )


def _interval(score: Score | None) -> str:
    if score is None or score.low is None or score.high is None:
        return NOTHING
    return f"{score.low:.4f} to {score.high:.4f}"

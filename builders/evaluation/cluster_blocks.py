"""Sections of a report on clustering: the scores, and how they hang on a set's size and labels. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from builders.evaluation.blocks import Block, Plot, Section, decimal, names, table
from builders.evaluation.published import Compared
from builders.evaluation.results import ClusteringResult, Result, SetScore, by_level
from builders.evaluation.score_blocks import comparable, dot_plot, grouped, reads
from builders.plots import charts
from builders.printable import span

_USUAL = "minibatch-kmeans"


def clustering_scores(results: Sequence[Result], compared: Sequence[Compared]) -> Section:
    """Return the scores of clustering: a block a config, a row an encoder and pipeline."""
    found = [result for result in results if isinstance(result, ClusteringResult)]
    return Section(
        "Clustering scores",
        "The mean V-measure over the sets of a config; the spread is the standard deviation over the sets.",
        tuple(
            _clustering_block(config, group, compared)
            for config, group in grouped(found, lambda result: result.config)
        ),
        legend="A line reaches one spread to each side, a hollow diamond is a published score that may be "
        "compared. Rules that know no text, if asked for, are in the table only.",
    )


def by_set(results: Sequence[Result]) -> Section:
    """Return V-measure against the size of a set and its number of labels, of the usual pipeline."""
    found = [result for result in results if isinstance(result, ClusteringResult) and reads(result)]
    return Section(
        "V-measure against set size and number of labels",
        "More labels make V-measure larger by themselves, small sets do too: compare scores within a level.",
        tuple(_set_block(config, group) for config, group in grouped(found, lambda result: result.config)),
        legend="A point is a clustering set.",
    )


def _clustering_block(
    config: str, results: Sequence[ClusteringResult], compared: Sequence[Compared]
) -> Block:
    levels = by_level(level for result in results for level in result.levels)
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
        dot_plot(list(_clustering_dots(results, compared)), f"V-measure on {config}", "V-measure"),
        table(("Encoder", "Pipeline", "V-measure", "Spread", *(f"{level} sets" for level in levels)), rows),
    )


def _clustering_dots(
    results: Sequence[ClusteringResult], compared: Sequence[Compared]
) -> Iterator[charts.Dot]:
    called = names(result.encoder for result in results)
    several = len({result.pipeline for result in filter(reads, results)}) > 1
    for result in filter(reads, results):
        name = called[result.encoder]
        row, series = (result.pipeline, name) if several else (name, "V-measure")
        low, high = max(0.0, result.v_measure - result.spread), min(1.0, result.v_measure + result.spread)
        yield charts.Dot(row, series, result.v_measure, low, high)
        for one in comparable(result, compared):
            yield charts.Dot(row, series, one.published, published=True)


def _set_block(config: str, results: Sequence[ClusteringResult]) -> Block:
    pipeline = _USUAL if any(r.pipeline == _USUAL for r in results) else results[0].pipeline
    mine = [result for result in results if result.pipeline == pipeline]
    called = names(result.encoder for result in mine)
    sets = {called[result.encoder]: result.sets for result in mine}
    labels = sorted({one.labels for of in sets.values() for one in of})
    series = sets if len(sets) > 1 else _by_level(mine[0].sets)
    panels = [_set_panel("texts in the set", series, lambda one: one.rows, log=True)]
    if len(labels) > 1:
        panels.append(_set_panel("labels in the set", series, lambda one: one.labels))
    alike = "" if len(labels) > 1 else f" Every set has {labels[0]:,} labels."
    rows = [(name, *cells) for name, of in sets.items() for cells in _levels(of)]
    every = [(name, s.level, s.rows, s.labels, decimal(s.v_measure)) for name, of in sets.items() for s in of]
    header = ("Encoder", "Level", "Sets", "Texts", "Labels", "Lowest", "Mean", "Highest")
    against = " and ".join(panel.across.replace("in the", "in each") for panel in panels)
    return Block(
        config,
        f"Pipeline {pipeline}.{alike}",
        Plot(
            partial(charts.scatter, panels, up="V-measure"),
            f"V-measure of each set of {config} against the number of {against}.",
        ),
        table(header, rows),
        ("Every set", table(("Encoder", "Level", "Texts", "Labels", "V-measure"), every)),
    )


def _set_panel(
    across: str,
    series: Mapping[str, Sequence[SetScore]],
    place: Callable[[SetScore], int],
    *,
    log: bool = False,
) -> charts.Panel:
    points = {name: [(place(one), one.v_measure) for one in of] for name, of in series.items()}
    return charts.Panel(across, points, log=log)


def _by_level(sets: Sequence[SetScore]) -> dict[str, list[SetScore]]:
    groups: dict[str, list[SetScore]] = {}
    for one in sets:
        groups.setdefault(one.level.partition(":")[0], []).append(one)
    return {level: groups[level] for level in by_level(groups)}


def _levels(sets: Sequence[SetScore]) -> Iterator[tuple[object, ...]]:
    for level, group in _by_level(sets).items():
        scores = [one.v_measure for one in group]
        sizes, labels = span([one.rows for one in group]), span([one.labels for one in group])
        ends = (min(scores), sum(scores) / len(scores), max(scores))
        yield (level, len(group), sizes, labels, *map(decimal, ends))

"""Sections of a report on search: the scores, and how they hang on the length of a query. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import sqrt

from builders.evaluation.blocks import NOTHING, Block, Plot, Section, decimal, names, table
from builders.evaluation.published import Compared
from builders.evaluation.results import Result, RetrievalResult, Score
from builders.evaluation.score_blocks import METRICS, comparable, dot_plot, grouped, reads
from builders.plots import charts

_WITH_INTERVAL = ("ndcg_at_10", "mrr_at_10")


def retrieval_scores(results: Sequence[Result], compared: Sequence[Compared]) -> Section:
    """Return the scores of retrieval: a block a config and split, a row an encoder."""
    found = [result for result in results if isinstance(result, RetrievalResult)]
    return Section(
        "Retrieval scores",
        "Exact search over all passages; intervals are those of a bootstrap over queries.",
        tuple(
            _retrieval_block(config, split, group, compared)
            for (config, split), group in grouped(found, lambda result: (result.config, result.split))
        ),
        legend="A line is the 95 % interval, a hollow diamond a published score that may be compared. Rules "
        "that know no text, if asked for, are in the table only.",
    )


def by_length(results: Sequence[Result]) -> Section:
    """Return nDCG@10 against the length of the query."""
    found = [r for r in results if isinstance(r, RetrievalResult) and r.lengths and reads(r)]
    return Section(
        "Score against query length",
        "Mean nDCG@10 of the queries of a band of lengths, in characters.",
        tuple(
            _length_block(config, split, group)
            for (config, split), group in grouped(found, lambda result: (result.config, result.split))
        ),
        legend="A point lies in its band's middle.",
    )


def _retrieval_block(
    config: str, split: str, results: Sequence[RetrievalResult], compared: Sequence[Compared]
) -> Block:
    metrics = [name for name in METRICS if any(name in result.scores for result in results)]
    called = names(result.encoder for result in results)
    header, rows = ["Encoder"], []
    for name in metrics:
        header += [METRICS[name], *([f"{METRICS[name]}, 95\u00a0%"] if name in _WITH_INTERVAL else [])]
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
        dot_plot(
            list(_retrieval_dots(results, compared)),
            f"nDCG@10 and MRR@10 on {config}, split {split}",
            "score",
        ),
        table(header, rows),
    )


def _retrieval_dots(results: Sequence[RetrievalResult], compared: Sequence[Compared]) -> Iterator[charts.Dot]:
    called = names(result.encoder for result in results)
    for result in filter(reads, results):
        row = called[result.encoder]
        for name in _WITH_INTERVAL:
            if score := result.scores.get(name):
                yield charts.Dot(row, METRICS[name], score.value, score.low, score.high)
        for one in comparable(result, compared):
            if one.metric in _WITH_INTERVAL:
                yield charts.Dot(row, METRICS[one.metric], one.published, published=True)


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

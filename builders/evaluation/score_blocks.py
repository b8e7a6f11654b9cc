"""What sections on scores share: their plots, and the scores that others published. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from builders.evaluation.blocks import NOTHING, Block, Plot, Section, decimal, signed, table
from builders.evaluation.published import Compared
from builders.evaluation.results import SCORES, ClusteringResult, Result, RetrievalResult
from builders.plots import charts

One = TypeVar("One", RetrievalResult, ClusteringResult)
Key = TypeVar("Key", bound=Hashable)
METRICS = SCORES | {"v_measure": "V-measure"}
_TOLD = ("Config", "Encoder", "Pipeline", "Metric")


def published(compared: Sequence[Compared]) -> Section:
    """Return every score of ours that has a published one, with the verdict and the source."""
    rows = [
        (
            *_told(one),
            decimal(one.ours),
            decimal(one.published),
            signed(one.difference),
            decimal(one.tolerance),
            one.verdict,
            one.why or NOTHING,
        )
        for one in compared
    ]
    header = (*_TOLD, "Ours", "Published", "Difference", "Tolerance", "Verdict", "Note")
    sources = ((*_told(one), one.model, one.source) for one in compared)
    return Section(
        "Beside published scores",
        "The tolerance is what other rows of the same sizes, another seed or another version can explain. A "
        "build that is not made from the whole upstream is not comparable, whatever the difference.",
        (
            Block(
                table=table(header, rows),
                more=("Where they are published", table((*_TOLD, "Published for", "Source"), sources)),
            ),
        )
        if rows
        else (),
    )


def _told(one: Compared) -> tuple[str, ...]:
    where = " ".join(filter(None, (one.config, one.split)))
    return where, one.encoder, one.pipeline or NOTHING, METRICS.get(one.metric, one.metric)


def grouped(results: Iterable[One], key: Callable[[One], Key]) -> Iterator[tuple[Key, list[One]]]:
    """Group results, in the order in which the first of each group comes."""
    groups: dict[Key, list[One]] = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    yield from groups.items()


def reads(result: Result) -> bool:
    """Whether an encoder looks at texts; a rule does not."""
    return result.encoder.kind != "rule"


def comparable(
    result: RetrievalResult | ClusteringResult, compared: Sequence[Compared]
) -> Iterator[Compared]:
    """Return the published scores beside a result that may be compared with it."""
    for one in compared:
        same = one.config == result.config and one.encoder == result.encoder.name
        if isinstance(result, RetrievalResult):
            same = same and one.split == result.split
        else:
            same = same and one.pipeline == result.pipeline
        if same and one.verdict != "not comparable":
            yield one


def dot_plot(values: list[charts.Dot], alt: str, across: str) -> Plot | None:
    """Return a plot of scores that says the first of them in words, None without any."""
    if not values:
        return None
    told = "; ".join(f"{dot.row}: {dot.series} {dot.value:.3f}" for dot in values[:12])
    return Plot(partial(charts.dots, values, across=across), f"{alt}. {told}.")

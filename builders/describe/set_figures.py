"""The figures of clustering sets in a card: tables made from locks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from builders.describe.dataset import Dataset
from builders.describe.markdown import Markdown, code, table
from builders.lock.committed import whole_upstream
from builders.lock.lock import ClusteringFigures, SetFigures
from builders.printable import span
from builders.spec import Clustering, TextFigures

_VARIANTS = {"s2s": "titles", "p2p": "titles and texts"}


def sets(dataset: Dataset) -> Markdown:
    """Return the table of sets: each level's number, sizes, labels per set, and texts that repeat."""
    by_level: dict[str, list[SetFigures]] = {}
    variants = [variant for variant in _VARIANTS if variant in _lock(dataset).texts]
    for one in _lock(dataset).sets:
        by_level.setdefault(one.level, []).append(one)
    rows = [
        (
            code(level),
            len(group),
            span([one.rows for one in group]),
            span([one.labels for one in group]),
            *(sum(one.repeated.get(variant, 0) for one in group) for variant in variants),
        )
        for level, group in by_level.items()
    ]
    repeated = [f"Repeated texts, {variant}" for variant in variants]
    return table(("Level", "Sets", "Rows per set", "Labels per set", *repeated), rows)


def texts(dataset: Dataset) -> Markdown:
    """Return the table of distinct texts and their lengths."""
    figures = _figures(dataset)
    rows = [(code(variant), _VARIANTS[variant], *_cells(figures[variant])) for variant in _VARIANTS]
    return table(("Variant", "Sentences are", "Distinct texts", "Shortest", "Mean", "Longest"), rows)


def compared(dataset: Dataset) -> Markdown | None:
    """Return the table that holds the sets against published ones, None where that would mean nothing.

    Only all of the real upstream can agree with what others made of it.
    """
    known = dataset.spec.published if isinstance(dataset.spec, Clustering) else None
    if known is None or not whole_upstream(dataset.lock.sources, dataset.lock.parameters):
        return None
    rows: list[tuple[object, ...]] = [
        ("Documents to draw from", dataset.lock.facts["documents"], known.documents),
        *_sizes(dataset, known.sizes),
    ]
    for variant, there in known.texts.items():
        names = ("distinct texts", "shortest", "mean length", "longest")
        cells = zip(names, _cells(_figures(dataset)[variant]), _cells(there), strict=True)
        rows += [(Markdown(f"{code(variant)} {name}"), here, published) for name, here, published in cells]
    return table(("What", "Here", "Published"), rows)


def _sizes(dataset: Dataset, known: Mapping[str, Sequence[int]]) -> Iterator[tuple[object, ...]]:
    for level, there in known.items():
        here = [one.rows for one in _lock(dataset).sets if one.level == level]
        yield Markdown(f"Rows of all sets of {code(level)}"), sum(here), sum(there)


def _lock(dataset: Dataset) -> ClusteringFigures:
    assert dataset.lock.clustering is not None
    return dataset.lock.clustering


def _figures(dataset: Dataset) -> dict[str, TextFigures]:
    return {
        variant: TextFigures(one.unique, one.shortest, one.characters / max(one.unique, 1), one.longest)
        for variant, one in _lock(dataset).texts.items()
    }


def _cells(figures: TextFigures) -> tuple[object, ...]:
    return figures.unique, figures.shortest, f"{figures.mean:,.2f}", figures.longest

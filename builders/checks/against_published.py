"""Rules that hold a build from the real upstream against the sets that others published."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, gate
from builders.checks.subject import Sets
from builders.spec import PublishedSets, Sampled, TextFigures
from builders.tables import CLUSTERING

_TOLERANCE = 0.02
"""Share by which lengths may differ: texts are normalised here, and rows were drawn without a seed there."""
_UNIQUE = 0.002  # random sets leave out a few documents, and other ones each time
_CHARACTERS = 2

_COMPARE = "Find out what is read otherwise; a waiver says why it is right."

SIZES = gate("published-sizes", "sets of another size than published", _COMPARE)
LABELS = gate("published-labels", "labels that are not published, or are missing", _COMPARE)
LENGTHS = gate("published-lengths", "lengths and numbers of texts far from the published ones", _COMPARE)


def check(subject: Sets) -> Iterator[Finding]:
    """Compare a build of all of the real upstream with published sets; a stand-in has other documents."""
    known = subject.spec.published
    if subject.upstream and known is not None:
        tables = {variant: subject.tables[kind]["test"] for variant, kind in CLUSTERING.items()}
        yield from _sizes(subject, tables["s2s"], known)
        yield from _labels(subject, tables["s2s"], known)
        yield from _lengths(tables, known)


def _sizes(subject: Sets, sets: pl.DataFrame, known: PublishedSets) -> Iterator[Finding]:
    """Sets of random size have the published sizes, in order."""
    counted = sets.group_by("level", maintain_order=True).agg(pl.col("labels").list.len().alias("rows"))
    found = {str(level): tuple(rows) for level, rows in counted.iter_rows()}
    (documents,) = [funnel.out for funnel in subject.funnels if funnel.table == "documents"] or [0]
    wrong = [
        f"{level} {number}: {here} rows, published {there}"
        for level, published in known.sizes.items()
        for number, (here, there) in enumerate(zip(found.get(level, ()), published, strict=False), 1)
        if here != there
    ]
    message = f"{SIZES.meaning}: {len(wrong)} ({documents:,} documents, published {known.documents:,})"
    yield from SIZES.lines(wrong, message=message)


def _labels(subject: Sets, sets: pl.DataFrame, known: PublishedSets) -> Iterator[Finding]:
    """The sets of random size have exactly the published labels."""
    wrong: list[str] = []
    for rule in subject.spec.sets:
        if isinstance(rule, Sampled) and rule.label in known.labels:
            # All documents are in the sets within genres; the largest random set may lack a rare label.
            column = sets.filter(_has_labels_of(subject, rule)).select(pl.col("labels").explode().unique())
            found, published = set(column["labels"].to_list()), known.labels[rule.label]
            wrong += [f"{rule.label}: {label!a} is not published" for label in found - published]
            wrong += [f"{rule.label}: {label!a} is missing" for label in published - found]
    yield from LABELS.lines(sorted(wrong))


def _lengths(tables: dict[str, pl.DataFrame], known: PublishedSets) -> Iterator[Finding]:
    """Numbers and lengths of distinct texts lie close to the published ones."""
    yield from LENGTHS.lines([
        fault
        for variant, sets in tables.items()
        if variant in known.texts
        for fault in _far(variant, _figures(sets), known.texts[variant])
    ])


def _has_labels_of(subject: Sets, rule: Sampled) -> pl.Expr:
    within = any(not isinstance(other, Sampled) and other.label == rule.label for other in subject.spec.sets)
    inside = pl.col("level").str.starts_with("within:") & pl.lit(within)
    return (pl.col("level") == rule.level) | inside


def _figures(sets: pl.DataFrame) -> TextFigures:
    lengths = sets["sentences"].explode().unique().str.len_chars()
    shortest, mean, longest = lengths.min(), lengths.mean(), lengths.max()
    assert isinstance(shortest, int) and isinstance(mean, float) and isinstance(longest, int)
    return TextFigures(len(lengths), shortest, mean, longest)


def _far(variant: str, here: TextFigures, there: TextFigures) -> Iterator[str]:
    pairs = {
        "distinct texts": (here.unique, there.unique, _UNIQUE * there.unique),
        "shortest": (here.shortest, there.shortest, max(_CHARACTERS, _TOLERANCE * there.shortest)),
        "mean": (here.mean, there.mean, _TOLERANCE * there.mean),
        "longest": (here.longest, there.longest, max(_CHARACTERS, _TOLERANCE * there.longest)),
    }
    for name, (found, published, allowed) in pairs.items():
        if abs(found - published) > allowed:
            yield f"{variant} {name}: {found:,.6g}, published {published:,.6g}"

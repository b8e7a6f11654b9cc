"""Rules that hold a build from the real upstream against the sets that others published."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from builders.checks.finding import Finding, gate
from builders.checks.subject import Rule, Sets
from builders.spec import PublishedSets, Sampled, TextFigures
from builders.tables import CLUSTERING, Kind

_TOLERANCE = 0.02
"""Share by which lengths may differ: texts are normalised here, and rows were drawn without a seed there."""
_UNIQUE = 0.002  # random sets leave out a few documents, and other ones each time
_CHARACTERS = 2

_COMPARE = "Find out what is read otherwise; a waiver says why it is right."

SIZES = gate("published-sizes", "sets of another size than published", _COMPARE)
LABELS = gate("published-labels", "labels that are not published, or are missing", _COMPARE)
LENGTHS = gate("published-lengths", "lengths and numbers of texts far from the published ones", _COMPARE)


def sizes(subject: Sets) -> Iterator[Finding]:
    """Sets of random size have the published sizes, in order."""
    known = _known(subject)
    if known is None:
        return
    sets = _table(subject, Kind.CLUSTERING_S2S)
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


def labels(subject: Sets) -> Iterator[Finding]:
    """The sets of random size have exactly the published labels."""
    known = _known(subject)
    if known is None:
        return
    wrong: list[str] = []
    for rule in subject.spec.sets:
        if isinstance(rule, Sampled) and rule.label in known.labels:
            sets = _table(subject, Kind.CLUSTERING_S2S)
            # All documents are in the sets within genres; the largest random set may lack a rare label.
            column = sets.filter(_has_labels_of(subject, rule)).select(pl.col("labels").explode().unique())
            found, published = set(column["labels"].to_list()), known.labels[rule.label]
            wrong += [f"{rule.label}: {label!a} is not published" for label in found - published]
            wrong += [f"{rule.label}: {label!a} is missing" for label in published - found]
    yield from LABELS.lines(sorted(wrong))


def lengths(subject: Sets) -> Iterator[Finding]:
    """Numbers and lengths of distinct texts lie close to the published ones."""
    known = _known(subject)
    if known is None:
        return
    wrong = [
        fault
        for variant, kind in CLUSTERING.items()
        if variant in known.texts
        for fault in _far(variant, _figures(_table(subject, kind)), known.texts[variant])
    ]
    yield from LENGTHS.lines(wrong)


RULES: tuple[Rule, ...] = (sizes, labels, lengths)


def _known(subject: Sets) -> PublishedSets | None:
    """Return what is known, if all of the real upstream was built: a stand-in has other documents."""
    return subject.spec.published if subject.upstream else None


def _table(subject: Sets, kind: Kind) -> pl.DataFrame:
    return subject.tables[kind]["test"]


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

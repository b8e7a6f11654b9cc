"""Rules on clustering sets: their shape, labels and levels, that s2s and p2p agree, and their texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from builders.checks import text
from builders.checks.finding import Finding, error, gate, line, note
from builders.checks.subject import Rule, Sets, numbered
from builders.lock.lock import ClusteringFigures, SetFigures, TextLengths
from builders.spec import Sampled, SetRule, Within
from builders.tables import CLUSTERING, Kind

_DRAW = "The build draws these itself: look at the config's `sets` and `compose`."
_WITHIN = "within:"

UNEVEN = error("set-uneven", "sets with more sentences than labels, or fewer", _DRAW)
EMPTY = error("set-empty", "sets without a sentence", "Build from more documents.")
NULL = error("set-null", "sets with a null sentence or label", _DRAW)
ONE_LABEL = error(
    "set-one-label",
    "sets whose sentences all have one label, so that any clustering is right",
    "Build from more documents, or leave such a set out of the config's `sets`.",
)
LEVELS = error("set-levels", "levels with another number of sets than the config has", _DRAW)
MIXED = error(
    "labels-mixed",
    "labels that stand in sets of different kinds of label, such as genre and topic",
    "Labels of one level must not be labels of another: look at the config's `compose`.",
)
TOO_MANY = error("set-rows", "sets with a number of rows that they cannot have", _DRAW)
MISALIGNED = error(
    "sets-misaligned",
    "rows in which s2s and p2p differ in label or level, or p2p does not begin with s2s",
    "Both variants are filled from one draw: look at what was done to one of them since.",
)
REPEATED = note(
    "set-repeated-text",
    "texts that stand in their set already",
    "Upstreams have such documents, and the published sets kept them.",
)
FIGURES = error(
    "set-figures",
    "figures of the sets in the lock that the tables do not have",
    "Build the config again; nothing in the release folder is edited by hand.",
)
MALFORMED = gate(
    "row-malformed",
    "places of the upstream that could not be read and were passed over",
    "Look at them in dropped.parquet; a waiver says why they may go.",
)


def shape(subject: Sets) -> Iterator[Finding]:
    """A set has as many labels as sentences, and none of them is null."""
    sets = pl.concat(
        numbered(subject, kind).with_columns(kind=pl.lit(str(kind))) for kind in CLUSTERING.values()
    )
    yield from shape_faults(sets, "sentences", "{} set {} ({})", "kind", "set", "level")


def shape_faults(sets: pl.DataFrame, items: str, place: str, *where: str) -> Iterator[Finding]:
    """Find the sets that have more items than labels or fewer, none of either, or a null.

    Args:
        sets: One row per set: a list of items, ``labels``, and the columns of `where`.
        items: The column of items.
        place: A template that names a set by the columns of `where`.
        *where: Those columns.
    """
    nulls = (pl.col(name).list.eval(pl.element().is_null()).list.any() for name in (items, "labels"))
    counted = sets.select(*where, pl.col(items, "labels").list.len(), null=pl.any_horizontal(nulls))
    uneven = counted.filter(pl.col(items) != pl.col("labels"))
    yield from UNEVEN.rows(uneven, line(f"{place}: {{}} {items}, {{}} labels", *where, items, "labels"))
    empty = counted.filter((pl.col(items) == 0) & (pl.col("labels") == 0))
    yield from EMPTY.rows(empty, line(place, *where))
    yield from NULL.rows(counted.filter("null"), line(place, *where))


def _labels(subject: Sets) -> Iterator[Finding]:
    """A set has two labels or more, of its own level's kind; levels have as many sets as the config says."""
    sets = numbered(subject, Kind.CLUSTERING_S2S).with_columns(
        kinds=pl.col("labels").list.n_unique(), only=pl.col("labels").list.first()
    )
    lone = sets.filter(pl.col("kinds") == 1)
    yield from ONE_LABEL.rows(lone, line("set {} ({}): {}", "set", "level", "only"))
    column = _columns(subject.spec.sets)
    known = sets.with_columns(
        column=pl
        .col("level")
        .str.replace("(?s)^within:.*$", _WITHIN)
        .replace_strict(column, default=None, return_dtype=pl.String)
    )
    used = known.select("column", label="labels").explode("label").drop_nulls().unique()
    shared = (
        used
        .group_by("label")
        .agg(pl.col("column").sort().str.join(", "))
        .filter(pl.col("column").str.contains(", ", literal=True))
    )
    yield from MIXED.rows(shared, line("{}: {}", "label", "column"))
    wrong = sorted(_wrong_levels(subject, sets["level"].to_list()))
    yield from LEVELS.lines(wrong)


def _columns(rules: Iterable[SetRule]) -> dict[str, str]:
    """Return the column of labels by level; all levels that begin with "within:" have one."""
    return {rule.level if isinstance(rule, Sampled) else _WITHIN: rule.label for rule in rules}


def _wrong_levels(subject: Sets, levels: list[str]) -> Iterator[str]:
    wanted = {rule.level: rule.count for rule in subject.spec.sets if isinstance(rule, Sampled)}
    within = any(isinstance(rule, Within) for rule in subject.spec.sets)
    found = {level: levels.count(level) for level in levels}
    for level in wanted.keys() | found.keys():
        expected = 1 if within and level.startswith(_WITHIN) else wanted.get(level, 0)
        if found.get(level, 0) != expected:
            yield f"{level!a}: {found.get(level, 0)} sets, {expected} expected"
    if within and not any(level.startswith(_WITHIN) for level in levels):
        yield f"{_WITHIN}…: no set"


def _sizes(subject: Sets) -> Iterator[Finding]:
    """No set has more rows than there are documents, and the sets within values divide them."""
    (documents,) = [funnel.out for funnel in subject.funnels if funnel.table == "documents"] or [0]
    sets = numbered(subject, Kind.CLUSTERING_S2S).select("level", "set", rows=pl.col("labels").list.len())
    large = sets.filter(pl.col("rows") > documents)
    wrong = [
        f"set {number} ({level!a}): {rows} rows, {documents} documents"
        for level, number, rows in large.iter_rows()
    ]
    inside = sets.filter(pl.col("level").str.starts_with(_WITHIN))
    if not inside.is_empty() and inside["rows"].sum() != documents:
        wrong.append(f"{_WITHIN}…: {inside['rows'].sum()} rows in all, {documents} documents")
    yield from TOO_MANY.lines(wrong)


def _agreement(subject: Sets) -> Iterator[Finding]:
    """Row by row, s2s and p2p are the same documents."""
    s2s, p2p = (rows(subject, kind) for kind in CLUSTERING.values())
    both = s2s.join(p2p, on=["set", "row"], how="full", coalesce=True, suffix="_p2p")
    begins = pl.col("sentence_p2p").str.starts_with(pl.col("sentence") + " ")
    same = begins & (pl.col("label") == pl.col("label_p2p")) & (pl.col("level") == pl.col("level_p2p"))
    wrong = both.filter(~same.fill_null(value=False))
    yield from MISALIGNED.rows(
        wrong, line("set {} row {}: {} | {}", "set", "row", "sentence", "sentence_p2p")
    )


def _repetitions(subject: Sets) -> Iterator[Finding]:
    """Count the texts that stand in their set more than once."""
    repeated = {name: _repeated(rows(subject, kind)) for name, kind in CLUSTERING.items()}
    total = sum(frame.height for frame in repeated.values())
    told = ", ".join(f"{frame.height:,} in {name}" for name, frame in repeated.items())
    examples = pl.concat([frame.with_columns(variant=pl.lit(name)) for name, frame in repeated.items()])
    if total:
        message = f"{REPEATED.meaning}: {told}"
        yield from REPEATED.rows(
            examples, line("{} set {}: {}", "variant", "set", "sentence"), message=message
        )


def texts(subject: Sets) -> Iterator[Finding]:
    """Every text and label is there, normalised, and free of what the scrubber replaces."""
    each = _texts(subject)
    yield from text.EMPTY.rows(
        each.filter(pl.col("text").str.strip_chars() == ""), line("{} {} {}", "table", "id", "field")
    )
    yield from text.malformed(each)
    yield from text.unscrubbed(each.filter(pl.col("field") != "label"), subject.spec.personal)


def _recounted(subject: Sets) -> Iterator[Finding]:
    """The lock's figures are those of the tables."""
    if subject.clustering is None:
        yield from FIGURES.lines(["the lock has none"])
        return
    old, new = subject.clustering, figures(subject)
    names = sorted(old.texts.keys() | new.texts.keys())
    wrong = [*other_sets(old, new)]
    if len(old.sets) != len(new.sets):
        wrong.append(f"{len(old.sets)} sets where {len(new.sets)} are found")
    yield from FIGURES.lines(
        wrong + [f"texts of {name}" for name in names if old.texts.get(name) != new.texts.get(name)]
    )


def _malformed(subject: Sets) -> Iterator[Finding]:
    """Count what could not be read; the build went on only because a waiver says so."""
    yield from MALFORMED.counted(sum(funnel.dropped.get("malformed", 0) for funnel in subject.funnels))


RULES: tuple[Rule, ...] = (_labels, _sizes, _agreement, _repetitions, texts, _recounted, _malformed)


def rows(subject: Sets, kind: Kind) -> pl.DataFrame:
    """Return one row per sentence: ``set``, ``row`` (both from 1), ``level``, ``sentence``, ``label``."""
    return (
        numbered(subject, kind)
        .select("set", "level", sentence="sentences", label="labels")
        .explode("sentence", "label")
        .with_columns(row=pl.int_range(1, pl.len() + 1).over("set"))
    )


def figures(subject: Sets) -> ClusteringFigures:
    """Count sets and texts anew from the tables."""
    counted = {name: rows(subject, kind) for name, kind in CLUSTERING.items()}
    repeated = {
        name: dict(_repeated(frame).group_by("set").len().iter_rows()) for name, frame in counted.items()
    }
    sets = numbered(subject, Kind.CLUSTERING_S2S).select(
        "set",
        "level",
        pl.col("labels").list.len().alias("rows"),
        pl.col("labels").list.n_unique().alias("labels"),
    )
    return ClusteringFigures(
        sets=tuple(
            SetFigures(
                level=level,
                rows=size,
                labels=kinds,
                repeated={name: by_set.get(number, 0) for name, by_set in repeated.items()},
            )
            for number, level, size, kinds in sets.iter_rows()
        ),
        texts={name: _lengths(frame["sentence"]) for name, frame in counted.items()},
    )


def _lengths(sentences: pl.Series) -> TextLengths:
    lengths = sentences.unique().str.len_chars()
    least, most = (int(value) if isinstance(value, int) else 0 for value in (lengths.min(), lengths.max()))
    return TextLengths(unique=len(lengths), shortest=least, longest=most, characters=int(lengths.sum()))


def _repeated(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows whose sentence stands in their set before."""
    return frame.filter(~pl.struct("set", "sentence").is_first_distinct())


def _texts(subject: Sets) -> pl.DataFrame:
    """Every distinct text as a row of its own: ``table``, ``split``, ``id``, ``field``, ``text``.

    Of p2p the part after the title is taken: as title and text were scrubbed, each by itself.
    """
    s2s, p2p = (rows(subject, kind) for kind in CLUSTERING.values())
    joined = s2s.join(
        p2p.select("set", "row", p2p="sentence"), on=["set", "row"], maintain_order="left"
    ).with_columns(rest=pl.col("p2p").str.strip_prefix(pl.col("sentence") + " "))
    parts = {"label": ("label", "s2s"), "title": ("sentence", "s2s"), "text": ("rest", "p2p")}
    return pl.concat(
        joined.select(
            table=pl.lit(str(CLUSTERING[variant])),
            split=pl.lit("test"),
            id=pl.format("set {} row {}", "set", "row"),
            field=pl.lit(field),
            text=column,
        ).unique("text", keep="first", maintain_order=True)
        for field, (column, variant) in parts.items()
    )


def other_sets(locked: ClusteringFigures, found: ClusteringFigures) -> Iterator[str]:
    """Yield a line for each set whose figures in the lock are not those of the table."""
    for number, (old, new) in enumerate(zip(locked.sets, found.sets, strict=False), 1):
        if old != new:
            yield f"set {number}: {old} where {new} is found"

"""Rules on clustering sets: shape, labels, levels, agreement of s2s and p2p, texts, and published figures."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain, zip_longest

import polars as pl

from builders.checks import text
from builders.checks.finding import Finding, error, gate, note
from builders.checks.subject import AnySubject, Rule, Sets, Subject
from builders.lock.lock import ClusteringFigures, SetFigures, TextLengths
from builders.spec import Clustering, Ids, PublishedSets, Sampled, TextFigures, Within
from builders.tables import CLUSTERING, Kind

_DRAW = "The build draws these itself: look at the config's `sets` and `compose`."
_WITHIN = "within:"

_UNEVEN = error("set-uneven", "sets with more sentences than labels, or fewer", _DRAW)
_EMPTY = error("set-empty", "sets without a sentence", "Build from more documents.")
_NULL = error("set-null", "sets with a null sentence or label", _DRAW)
ONE_LABEL = error(
    "set-one-label",
    "sets whose sentences all have one label, so that any clustering is right",
    "Build from more documents, or leave such a set out of the config's `sets`.",
)
_LEVELS = error("set-levels", "levels with another number of sets than the config has", _DRAW)
_MIXED = error(
    "labels-mixed",
    "labels that stand in sets of different kinds of label, such as genre and topic",
    "Labels of one level must not be labels of another: look at the config's `compose`.",
)
_TOO_MANY = error("set-rows", "sets with a number of rows that they cannot have", _DRAW)
_MISALIGNED = error(
    "sets-misaligned",
    "rows in which s2s and p2p differ in label or level, or p2p does not begin with s2s",
    "Both variants are filled from one draw: look at what was done to one of them since.",
)
_REPEATED = note(
    "set-repeated-text",
    "texts that stand in their set already",
    "Upstreams have such documents, and the published sets kept them.",
)
_FIGURES = error(
    "set-figures",
    "figures of the sets in the lock that the tables do not have",
    "Build the config again; nothing in the release folder is edited by hand.",
)
_MALFORMED = gate(
    "row-malformed",
    "places of the upstream that could not be read and were passed over",
    "Look at them in dropped.parquet; a waiver says why they may go.",
)


_COMPARE = "Find out what is read otherwise; a waiver says why it is right."
_OTHER_SIZES = gate("published-sizes", "sets of another size than published", _COMPARE)
_OTHER_LABELS = gate("published-labels", "labels that are not published, or are missing", _COMPARE)
_OTHER_LENGTHS = gate("published-lengths", "lengths and numbers of texts far from published ones", _COMPARE)
_TOLERANCE = 0.02
"""Share by which lengths may differ: texts are normalised here, and rows were drawn without a seed there."""
_UNIQUE = 0.002  # random sets leave out a few documents, and other ones each time
_CHARACTERS = 2


def shape(subject: Subject[Clustering | Ids]) -> Iterator[Finding]:
    """Demand as many labels as sentences or ids in a set, at least one, and no null among them."""
    kinds, items, place = tuple(CLUSTERING.values()), "sentences", "{kind} set {set} ({level})"
    if isinstance(subject.spec, Ids):
        kinds, items, place = (Kind.CLUSTERING_IDS,), "ids", "set {set}"
    sets = pl.concat(subject.numbered(kind).with_columns(kind=pl.lit(str(kind))) for kind in kinds)
    sets = sets.rename({"submission_ids": "ids"}, strict=False)
    nulls = (pl.col(name).list.eval(pl.element().is_null()).list.any() for name in (items, "labels"))
    counted = sets.with_columns(pl.col(items, "labels").list.len(), null=pl.any_horizontal(nulls))
    uneven = counted.filter(pl.col(items) != pl.col("labels"))
    yield from _UNEVEN.rows(uneven, f"{place}: {{{items}}} {items}, {{labels}} labels")
    yield from _EMPTY.rows(counted.filter((pl.col(items) == 0) & (pl.col("labels") == 0)), place)
    yield from _NULL.rows(counted.filter("null"), place)


def _labels(subject: Sets) -> Iterator[Finding]:
    """Demand two labels or more in a set, all of its level's kind, and as many sets as the config has."""
    sets = subject.numbered(Kind.CLUSTERING_S2S).with_columns(
        kinds=pl.col("labels").list.n_unique(), only=pl.col("labels").list.first()
    )
    lone = sets.filter(pl.col("kinds") == 1)
    yield from ONE_LABEL.rows(lone, "set {set} ({level}): {only}")
    columns = {rule.level if isinstance(rule, Sampled) else _WITHIN: rule.label for rule in subject.spec.sets}
    level = pl.col("level").str.replace(f"(?s)^{_WITHIN}.*$", _WITHIN)
    column = level.replace_strict(columns, default=None, return_dtype=pl.String)
    used = sets.select(label="labels", column=column).explode("label").drop_nulls().unique()
    shared = used.group_by("label").agg(pl.col("column").sort()).filter(pl.col("column").list.len() > 1)
    shared = shared.with_columns(pl.col("column").list.join(", "))
    yield from _MIXED.rows(shared, "{label}: {column}")
    yield from _LEVELS.lines(sorted(_wrong_levels(subject, Counter(sets["level"]))))


def _wrong_levels(subject: Sets, found: Counter[str]) -> Iterator[str]:
    wanted = {rule.level: rule.count for rule in subject.spec.sets if isinstance(rule, Sampled)}
    within = any(isinstance(rule, Within) for rule in subject.spec.sets)
    for level in wanted.keys() | found.keys():
        expected = 1 if within and level.startswith(_WITHIN) else wanted.get(level, 0)
        if found[level] != expected:
            yield f"{level!a}: {found[level]} sets, {expected} expected"
    if within and not any(level.startswith(_WITHIN) for level in found):
        yield f"{_WITHIN}…: no set"


def _documents(subject: Sets) -> int:
    return next((funnel.out for funnel in subject.funnels if funnel.table == "documents"), 0)


def _sizes(subject: Sets) -> Iterator[Finding]:
    """Demand that documents were read, bound the rows of a set, and are divided by the sets within values."""
    yield from _MALFORMED.counted(sum(funnel.dropped.get("malformed", 0) for funnel in subject.funnels))
    documents = _documents(subject)
    sets = subject.numbered(Kind.CLUSTERING_S2S).select("level", "set", rows=pl.col("labels").list.len())
    wrong = [
        f"set {number} ({level!a}): {rows} rows, {documents} documents"
        for level, number, rows in sets.filter(pl.col("rows") > documents).iter_rows()
    ]
    inside = sets.filter(pl.col("level").str.starts_with(_WITHIN))
    if not inside.is_empty() and inside["rows"].sum() != documents:
        wrong.append(f"{_WITHIN}…: {inside['rows'].sum()} rows in all, {documents} documents")
    yield from _TOO_MANY.lines(wrong)


def _agreement(subject: Sets) -> Iterator[Finding]:
    """Demand the same documents in s2s and p2p, row by row."""
    s2s, p2p = (_rows(subject, kind) for kind in CLUSTERING.values())
    both = s2s.join(p2p, on=["set", "row"], how="full", coalesce=True, suffix="_p2p")
    begins = pl.col("sentence_p2p").str.starts_with(pl.col("sentence") + " ")
    same = begins & (pl.col("label") == pl.col("label_p2p")) & (pl.col("level") == pl.col("level_p2p"))
    wrong = both.filter(~same.fill_null(value=False))
    yield from _MISALIGNED.rows(wrong, "set {set} row {row}: {sentence} | {sentence_p2p}")


def _repetitions(subject: Sets) -> Iterator[Finding]:
    """Count the texts that stand in their set more than once."""
    repeated = {name: _repeated(_rows(subject, kind)) for name, kind in CLUSTERING.items()}
    counts = ", ".join(f"{frame.height:,} in {name}" for name, frame in repeated.items())
    examples = pl.concat([frame.with_columns(variant=pl.lit(name)) for name, frame in repeated.items()])
    message = f"{_REPEATED.meaning}: {counts}"
    yield from _REPEATED.rows(examples, "{variant} set {set}: {sentence}", message=message)


def _values(subject: Sets) -> Iterator[Finding]:
    """Demand texts and labels that are there, normalised, and free of what the scrubber replaces."""
    each = _texts(subject)
    yield from text.EMPTY.rows(each.filter(pl.col("text").str.strip_chars() == ""), "{table} {id} {field}")
    yield from text.malformed(each)
    yield from text.unscrubbed(each.filter(pl.col("field") != "label"), subject.spec.personal)


def recounted(subject: Subject[Clustering | Ids]) -> Iterator[Finding]:
    """Demand that the figures in the lock are those of the tables."""
    if subject.clustering is None:
        yield from _FIGURES.lines(["the lock has none"])
        return
    old, new = subject.clustering, figures(subject)
    pairs = enumerate(zip(old.sets, new.sets, strict=False), 1)
    wrong = [f"set {number}: {was} where {now} is found" for number, (was, now) in pairs if was != now]
    if len(old.sets) != len(new.sets):
        wrong.append(f"{len(old.sets)} sets where {len(new.sets)} are found")
    names = sorted(old.texts.keys() | new.texts.keys())
    wrong += [f"texts of {name}" for name in names if old.texts.get(name) != new.texts.get(name)]
    yield from _FIGURES.lines(wrong)


def _published(subject: Sets) -> Iterator[Finding]:
    """Compare a build of all of the real upstream with published sets; a stand-in has other documents."""
    known = subject.spec.published
    if not subject.upstream or known is None:
        return
    sets = subject.numbered(Kind.CLUSTERING_S2S)
    documents = f"{_documents(subject):,} documents, published {known.documents:,}"
    sizes = dict(sets.group_by("level").agg(pl.col("labels").list.len()).iter_rows())
    wrong = [
        f"{level} {number}: {here} rows, published {there}"
        for level, published in known.sizes.items()
        for number, (here, there) in enumerate(
            zip_longest(sizes.get(level, ()), published, fillvalue="no"), 1
        )
        if here != there
    ]
    yield from _OTHER_SIZES.lines(wrong, message=f"{_OTHER_SIZES.meaning}: {len(wrong)} ({documents})")
    yield from _OTHER_LABELS.lines(sorted(_other_labels(subject.spec, sets, known)))
    here = figures(subject).texts
    lengths = (_far(name, here[name], there) for name, there in known.texts.items())
    yield from _OTHER_LENGTHS.lines(list(chain.from_iterable(lengths)))


def _other_labels(spec: Clustering, sets: pl.DataFrame, known: PublishedSets) -> Iterator[str]:
    """Compare the labels of the sets of random size with the published ones."""
    within = {rule.label for rule in spec.sets if isinstance(rule, Within)}
    for rule in spec.sets:
        if isinstance(rule, Sampled) and rule.label in known.labels:
            # All documents are in the sets within genres; the largest random set may lack a rare label.
            inside = pl.col("level").str.starts_with(_WITHIN) & pl.lit(rule.label in within)
            labels = sets.filter((pl.col("level") == rule.level) | inside)["labels"]
            found, published = set(labels.explode()), known.labels[rule.label]
            yield from (f"{rule.label}: {label!a} is not published" for label in found - published)
            yield from (f"{rule.label}: {label!a} is missing" for label in published - found)


def _far(variant: str, here: TextLengths, there: TextFigures) -> Iterator[str]:
    pairs = {
        "distinct texts": (here.unique, there.unique, _UNIQUE * there.unique),
        "shortest": (here.shortest, there.shortest, max(_CHARACTERS, _TOLERANCE * there.shortest)),
        "mean": (here.mean, there.mean, _TOLERANCE * there.mean),
        "longest": (here.longest, there.longest, max(_CHARACTERS, _TOLERANCE * there.longest)),
    }
    for name, (found, published, allowed) in pairs.items():
        if abs(found - published) > allowed:
            yield f"{variant} {name}: {found:,.6g}, published {published:,.6g}"


RULES: tuple[Rule, ...] = (_labels, _sizes, _agreement, _repetitions, _values, recounted, _published)


def _rows(subject: AnySubject, kind: Kind) -> pl.DataFrame:
    """Return one row per sentence: ``set``, ``row`` (both from 1), ``level``, ``sentence``, ``label``."""
    return (
        subject
        .numbered(kind)
        .select("set", "level", sentence="sentences", label="labels")
        .explode("sentence", "label")
        .with_columns(row=pl.int_range(1, pl.len() + 1).over("set"))
    )


def figures(subject: Subject[Clustering | Ids]) -> ClusteringFigures:
    """Count sets and texts anew from the tables; sets of ids have one level and no texts."""
    if isinstance(subject.spec, Ids):
        (level,) = {rule.level for rule in subject.spec.sets}
        sets = subject.numbered(Kind.CLUSTERING_IDS).with_columns(level=pl.lit(level))
        counted = {}
    else:
        sets = subject.numbered(Kind.CLUSTERING_S2S)
        counted = {name: _rows(subject, kind) for name, kind in CLUSTERING.items()}
    repeats = {name: _repeated(frame).group_by("set").len() for name, frame in counted.items()}
    repeated = {name: dict(frame.iter_rows()) for name, frame in repeats.items()}
    return ClusteringFigures(
        sets=tuple(
            SetFigures(
                level=level,
                rows=len(labels),
                labels=len(set(labels)),
                repeated={name: by_set.get(number, 0) for name, by_set in repeated.items()},
            )
            for number, level, labels in sets.select("set", "level", "labels").iter_rows()
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
    """Return each distinct text as a row: ``table``, ``split``, ``id``, ``field``, ``text``.

    Of p2p the part after the title is taken: as title and text were scrubbed, each by itself.
    """
    s2s, p2p = (_rows(subject, kind) for kind in CLUSTERING.values())
    rest = pl.col("sentence_p2p").str.strip_prefix(pl.col("sentence") + " ")
    joined = s2s.join(p2p, on=["set", "row"], suffix="_p2p", maintain_order="left").with_columns(rest=rest)
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

"""Clustering sets: how many documents each holds, and which. Pure, and independent of the order of its input.

Sizes come from one `random.Random` in the order in which Wehrli et al. 2024 (arXiv 2401.02709) drew them, so
that equal numbers of documents give the published sizes. They shuffled rows without a seed; here a second
seeded generator draws rows from the ordered documents.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import polars as pl

from builders.errors import FindingsError
from builders.lock.lock import ClusteringFigures, SetFigures, TextLengths
from builders.spec import Grouped, Sampled, SetRule, Within

WITHIN = "within:"


@dataclass(frozen=True, slots=True)
class DrawnSet:
    """A clustering set before it has texts.

    Attributes:
        level: As it is published: "coarse", "fine", "within:" and a value.
        label: The column that holds the labels.
        rows: Numbers of its documents, from 0, in the order of the set.
    """

    level: str
    label: str
    rows: tuple[int, ...]


def _set_size(documents: int, smallest: float, sizes: Random) -> int:
    """Return the size of a set: a whole number from `smallest` of all documents to all of them.

    Source: `randint(int(0.1 * N), N)` of the original extraction scripts.
    """
    least = int(smallest * documents)
    if least < 1:
        fault = f"{documents} documents are too few for sets of at least {smallest:.0%}"
        raise FindingsError(fault, hint="Build from more documents.")
    return sizes.randint(least, documents)


def draw(documents: pl.DataFrame, rules: Sequence[SetRule], *, seed: int) -> list[DrawnSet]:
    """Draw the sets of all rules, in their order; equal arguments give equal sets, on any machine.

    `documents` has the columns that the rules name, without nulls. Their order decides which rows are drawn.
    """
    sizes, rows = Random(seed), Random(f"{seed}:rows")
    return [drawn for rule in rules for drawn in _sets(documents, rule, sizes, rows)]


def _sets(documents: pl.DataFrame, rule: SetRule, sizes: Random, rows: Random) -> Iterator[DrawnSet]:
    match rule:
        case Sampled(level=level, label=label, count=count, smallest=smallest):
            for _ in range(count):
                size = _set_size(documents.height, smallest, sizes)
                yield DrawnSet(level, label, tuple(rows.sample(range(documents.height), size)))
        case Within(by=by, label=label):
            numbered = documents.with_row_index("number").group_by(by).agg("number")
            for value, members in numbered.sort(by).select(by, "number").iter_rows():
                yield DrawnSet(f"{WITHIN}{value}", label, tuple(rows.sample(members, len(members))))
        case Grouped():
            yield from _groups(documents[rule.label].to_list(), rule, sizes, rows)


def _groups(labels: Sequence[str], rule: Grouped, sizes: Random, rows: Random) -> Iterator[DrawnSet]:
    """Source: `randint(10, 50)` and a shuffle of all labels, of the original script; sorted at first here."""
    if not labels:
        raise FindingsError("there are no documents to draw sets from", hint="Build from more documents.")
    members: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        members.setdefault(label, []).append(number)
    order = sorted(members)
    for _ in range(rule.count):
        wanted = sizes.randint(rule.fewest, rule.most)
        sizes.shuffle(order)
        chosen = sorted(number for label in order[:wanted] for number in members[label])
        yield DrawnSet(rule.level, rule.label, tuple(rows.sample(chosen, len(chosen))))


def fill(documents: pl.DataFrame, drawn: Sequence[DrawnSet], text: str) -> pl.DataFrame:
    """Return the table of one variant: the drawn sets with the column `text` of their documents.

    Returns:
        ``sentences`` list of str, ``labels`` list of str, ``level`` str: one row per set, in their order.
    """
    filled = [
        documents[list(each.rows)].select(
            pl.col(text).implode().alias("sentences"),
            pl.col(each.label).implode().alias("labels"),
            pl.lit(each.level).alias("level"),
        )
        for each in drawn
    ]
    return pl.concat(filled, rechunk=True)


def provenance(documents: pl.DataFrame, drawn: Sequence[DrawnSet], key: str) -> pl.DataFrame:
    """Return which document, by the column `key` of upstream ids, stands in which row of which set.

    Returns:
        ``table``, ``id`` (the set's number from 1), ``upstream_id``, ``row`` (from 1).
    """
    frames = [
        documents[list(each.rows)].select(
            table=pl.lit("sets"),
            id=pl.lit(str(number)),
            upstream_id=key,
            row=pl.int_range(1, pl.len() + 1, dtype=pl.Int32),
        )
        for number, each in enumerate(drawn, 1)
    ]
    return pl.concat(frames, rechunk=True)


def set_figures(
    documents: pl.DataFrame, drawn: Sequence[DrawnSet], variants: Sequence[str]
) -> ClusteringFigures:
    """Return the sizes of drawn sets, and the lengths of their texts by the columns `variants`."""
    held = documents[_held(drawn)]
    return ClusteringFigures(
        sets=tuple(_set_figures(documents[list(each.rows)], each, variants) for each in drawn),
        texts={variant: _lengths(held[variant]) for variant in variants},
    )


def set_facts(documents: pl.DataFrame, drawn: Sequence[DrawnSet]) -> dict[str, int]:
    """Count documents, the rows of all sets, and labels, for the card."""
    return {
        "documents": documents.height,
        "documents_in_no_set": documents.height - len(_held(drawn)),
        "sentences": sum(len(each.rows) for each in drawn),
        **{f"labels_{each.label}": documents[each.label].n_unique() for each in drawn},
    }


def _held(drawn: Sequence[DrawnSet]) -> list[int]:
    return sorted({row for each in drawn for row in each.rows})


def _set_figures(members: pl.DataFrame, drawn: DrawnSet, variants: Sequence[str]) -> SetFigures:
    return SetFigures(
        level=drawn.level,
        rows=members.height,
        labels=members[drawn.label].n_unique(),
        repeated={variant: members.height - members[variant].n_unique() for variant in variants},
    )


def _lengths(texts: pl.Series) -> TextLengths:
    each = [len(text) for text in set(texts.to_list())]
    return TextLengths(unique=len(each), shortest=min(each), longest=max(each), characters=sum(each))

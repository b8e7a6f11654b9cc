"""A clustering config: sets of documents with their texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import polars as pl

from builders.personal.kinds import PersonalKind
from builders.prepare.sets import SetRule
from builders.sources.model import RecordedFile
from builders.spec.common import Files, Waiver


@dataclass(frozen=True, slots=True)
class Documents:
    """What the `read` of a clustering config returns: every upstream row, also those that no set will hold.

    Attributes:
        rows: ``upstream_id`` str, and the columns that `Clustering.compose` needs, raw.
        malformed: ``id`` str (file and line), ``problem`` str: places that could not be read.
    """

    rows: pl.DataFrame
    malformed: pl.DataFrame


@dataclass(frozen=True, slots=True)
class TextFigures:
    """Lengths of published texts in characters, over the distinct ones: how many, least, mean, most."""

    unique: int
    shortest: int
    mean: float
    longest: int


@dataclass(frozen=True, slots=True)
class PublishedSets:
    """What is known of the sets that others published: a build from the real upstream is held against it.

    Attributes:
        source: Where the figures stand.
        documents: How many documents the sets were drawn from.
        sizes: Sizes of the sets by level, in order.
        labels: Names of the labels by column.
        texts: Figures by variant, "s2s" and "p2p".
    """

    source: str
    documents: int
    sizes: Mapping[str, tuple[int, ...]]
    labels: Mapping[str, frozenset[str]]
    texts: Mapping[str, TextFigures]


@dataclass(frozen=True, slots=True)
class Clustering:
    """A clustering dataset: the same sets of titles (s2s) and of titles with texts (p2p).

    Attributes:
        name: As the file in `builders/configs`.
        release: "tecb-de".
        title: One line for people.
        licence: SPDX-like Hub licence id, lower case.
        languages: ISO 639-3 codes.
        sources: Upstreams, fetched in order.
        read: Fetched files in, `Documents` out. Raises `SourceError`.
        compose: Normalised rows in; ``upstream_id``, ``title``, ``text``, the columns of labels, and
            ``reason`` str out: why a row is left out, null where it is not.
        sets: How sets are drawn, in the order in which they are published.
        personal: The kinds of personal data that are replaced.
        order: Columns by which documents are ordered before rows are drawn.
        published: Figures to compare with, or None.
        waivers: Findings that are accepted.
        notes: Facts about meaning that the card prints as limitations.
    """

    name: str
    release: str
    title: str
    licence: str
    languages: tuple[str, ...]
    sources: tuple[RecordedFile, ...]
    read: Callable[[Files], Documents]
    compose: Callable[[pl.DataFrame], pl.DataFrame]
    sets: tuple[SetRule, ...]
    personal: tuple[PersonalKind, ...]
    order: tuple[str, ...] = ("upstream_id",)
    published: PublishedSets | None = None
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()

"""What a config is, as frozen values that hold plain functions.

A config module ends in ``CONFIG = Retrieval(...)``, ``Clustering(...)`` or ``Ids(...)``, and is found by its
file name. Its functions are pure: the build fetches, and hands them frames.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from builders.personal.kinds import PersonalKind
from builders.sets import Grouped, SetRule
from builders.sources.model import HttpSource, LocalFile, RecordedFile
from builders.sources.reddit.ids import IdsFile

Files = Mapping[str, Sequence[Path]]
"""The fetched files of a config by part: ``{"corpus": [Path(...)], "queries": [...]}``."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a Hub dataset: the files of one config of its README.

    Attributes:
        name: The key under which `Retrieval.read` finds the files.
        configs: Names of README configs; the first that exists is taken.
    """

    name: str
    configs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HubSource:
    """A Hub dataset at a pinned revision (a commit hash, possibly short)."""

    repo: str
    revision: str
    licence: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Records:
    """What `read` returns: upstream rows with upstream ids, raw text.

    Attributes:
        queries: ``upstream_id`` str, ``text`` str or null.
        passages: ``upstream_id`` str and the columns that `Retrieval.compose` needs (all nullable).
        pairs: ``query`` str, ``passage`` str: upstream ids that were observed together.
    """

    queries: pl.DataFrame
    passages: pl.DataFrame
    pairs: pl.DataFrame


@dataclass(frozen=True, slots=True)
class Relations:
    """Which passages are relevant to which query.

    Attributes:
        qrels: ``query-id`` str, ``corpus-id`` str, ``extended`` bool (true: by the config's rule alone,
            not observed with any query of the group), unique pairs.
        undecided: ``query-id`` str, ``corpus-id`` str: neither positive nor negative; kept from mining.
        classes: ``corpus-id`` str, ``class`` str, or None where the config has no such rule: passages that
            share a class with a positive are as good as it, and a recipe with `equivalence` never takes them.
    """

    qrels: pl.DataFrame
    undecided: pl.DataFrame
    classes: pl.DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Recipe:
    """How hard negatives are mined.

    Attributes:
        name: "v0" is the published procedure.
        depth: How many passages of the ranking are looked at; None for all.
        depth_counts: What the depth counts: "all" passages, or "candidates" (positives left out).
        margin: Distance that a candidate's score must keep below the guarding positive's.
        margin_kind: "absolute" in cosine, "relative" as a share of the positive's absolute score, or
            "deviations" as a multiple of the standard deviation of the query's scores over all passages.
        guard: Which positive guards where there are several: the "lowest"- or "highest"-scoring.
        keep: Most negatives per query.
        floor: How many standard deviations above its query's mean a negative must score at least; None for
            no floor. With a floor, suspicious queries get no negatives.
        equivalence: Whether passages that share a class with a positive are never taken.
        suspicious_below: A query whose best positive scores fewer standard deviations above its mean has a
            wrong label or no match: its positives are listed for the audit, whatever the recipe.
    """

    name: str = "v0"
    depth: int | None = 10
    depth_counts: Literal["all", "candidates"] = "all"
    margin: float = 0.05
    margin_kind: Literal["absolute", "relative", "deviations"] = "absolute"
    guard: Literal["lowest", "highest"] = "lowest"
    keep: int = 5
    floor: float | None = None
    equivalence: bool = False
    suspicious_below: float = 2.0


RECIPES: dict[str, Recipe] = {
    "v0": Recipe(),
    "v1": Recipe(
        name="v1",
        depth=None,
        margin=0.5,
        margin_kind="deviations",
        guard="highest",
        floor=1.5,
        equivalence=True,
    ),
}
"""Recipes by name: v0 is the published procedure, v1 the one that notes/recipe-v1.md chose."""


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """The encoder that mines, pinned."""

    model: str
    revision: str
    max_length: int
    query_prefix: str
    passage_prefix: str


@dataclass(frozen=True, slots=True)
class Mining:
    """Encoder and recipe of a config whose hard negatives are published."""

    encoder: EncoderSpec
    recipe: Recipe = field(default_factory=Recipe)


@dataclass(frozen=True, slots=True)
class Waiver:
    """Consent to a finding: it names the code, the reason, and the largest count that is accepted."""

    code: str
    reason: str
    at_most: int


@dataclass(frozen=True, slots=True)
class Audit:
    """How verdicts on a config's pairs are used.

    Attributes:
        auditors: How many must agree before a verdict becomes a decision.
        cross_encoder: The model that gives a second opinion on hard negatives; its prefixes are not used.
            None for one that needs no model.
    """

    auditors: int = 2
    cross_encoder: EncoderSpec | None = None


def identity(text: str) -> str:
    """Return the text itself: the merge and group key of configs whose texts are already canonical."""
    return text


def titled(passages: pl.DataFrame) -> pl.DataFrame:
    """Compose passages whose upstream already has `title` and `text`."""
    return passages.select("upstream_id", pl.col("title").fill_null(""), "text")


def observed(pairs: pl.DataFrame) -> Relations:
    """Take every observed pair as relevant, and nothing else."""
    keys = ["query-id", "corpus-id"]
    qrels = pairs.select(keys).unique().with_columns(extended=pl.lit(value=False))
    return Relations(qrels, pairs.select(keys).clear())


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A retrieval dataset: corpus, queries, qrels and, where `mining` is set, hard negatives.

    Attributes:
        name: As the file in `builders/configs`.
        release: "mteb-de" or "tecb-de".
        title: One line for people.
        licence: SPDX-like Hub licence id, lower case.
        languages: ISO 639-3 codes.
        sources: Pinned upstreams, fetched in order.
        read: Fetched files in, `Records` out. Raises `SourceSchema`.
        ids: "upstream" keeps upstream ids (the smallest where rows merge); "content" derives them.
        compose: Normalised passages in; ``upstream_id``, ``title``, ``text`` and, where `relate` needs one,
            ``core`` out. A null text is dropped for `empty_passage`.
        empty_passage: The reason under which a passage without text is dropped.
        rows: "table": queries and passages are counted apart. "pair": an upstream row is both (a posting),
            and is dropped whole.
        query_key: Displayed query text in, merge key out. Equal keys are one query.
        group_key: Merge key in, group key out. Equal keys never span splits.
        relate: One row per observed pair in (``query-id``, ``corpus-id``, ``group``, ``core``),
            relations out.
        personal: The kinds of personal data that are replaced.
        mining: None where no hard negatives are published.
        waivers: Findings that are accepted.
        notes: Facts about meaning that the card prints as limitations.
        audit: How verdicts of auditors are used.
    """

    name: str
    release: str
    title: str
    licence: str
    languages: tuple[str, ...]
    sources: tuple[HubSource, ...]
    read: Callable[[Files], Records]
    ids: Literal["upstream", "content"]
    personal: tuple[PersonalKind, ...]
    compose: Callable[[pl.DataFrame], pl.DataFrame] = titled
    empty_passage: str = "empty_text"
    rows: Literal["table", "pair"] = "table"
    query_key: Callable[[str], str] = identity
    group_key: Callable[[str], str] = identity
    relate: Callable[[pl.DataFrame], Relations] = observed
    mining: Mining | None = None
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()
    audit: Audit = field(default_factory=Audit)


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


@dataclass(frozen=True, slots=True)
class Ids:
    """A clustering dataset of which ids and labels alone may be published: everyone fetches the texts.

    Attributes:
        name: As the file in `builders/configs`.
        release: "tecb-de".
        title: One line for people.
        licence: SPDX-like Hub licence id, lower case: of the published ids.
        languages: ISO 639-3 codes.
        listed: The upstream's list of ids.
        ledger: What became of each id, and its label: made on this machine by `mteb-de hydrate`.
        read: Fetched files in, the ids out. Raises `SourceError`.
        sets: How sets are drawn.
        clean: Text as its author wrote it in, text without mark-up, links and user names out.
        personal: The kinds of personal data that are replaced in texts on the user's own machine.
        waivers: Findings that are accepted.
        notes: Facts about meaning that the card prints as limitations.
    """

    name: str
    release: str
    title: str
    licence: str
    languages: tuple[str, ...]
    listed: HttpSource
    ledger: LocalFile
    read: Callable[[Files], IdsFile]
    sets: tuple[Grouped, ...]
    clean: Callable[[str], str]
    personal: tuple[PersonalKind, ...]
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[HttpSource | LocalFile, ...]:
        """All sources, fetched in order."""
        return (self.listed, self.ledger)


ConfigSpec = Retrieval | Clustering | Ids
"""What a config module ends in."""


@dataclass(frozen=True, slots=True)
class Release:
    """A dataset repository on the Hub: configs whose licences allow one licence for the whole.

    Attributes:
        name: "mteb-de".
        title: The card's pretty name.
        licence: Licence of the whole.
        admits: Licences of configs that it may contain.
        languages: ISO 639-1 codes for the card.
    """

    name: str
    title: str
    licence: str
    admits: tuple[str, ...]
    languages: tuple[str, ...]


RELEASES: dict[str, Release] = {
    "mteb-de": Release(
        name="mteb-de",
        title="mteb-de: German retrieval with mined hard negatives",
        licence="cc-by-4.0",
        admits=("cc-by-4.0", "cc0-1.0"),
        languages=("de", "en"),
    ),
    "tecb-de": Release(
        name="tecb-de",
        title="tecb-de: German text clustering",
        licence="cc-by-nc-sa-4.0",
        admits=("cc-by-nc-sa-4.0", "cc-by-nc-4.0", "cc-by-4.0", "cc0-1.0"),
        languages=("de",),
    ),
}

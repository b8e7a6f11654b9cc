"""A retrieval config: corpus, queries, qrels, and hard negatives."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from builders.personal.kinds import PersonalKind
from builders.spec.common import Files, Waiver
from builders.spec.recipe import EncoderSpec, Mining


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


def no_rows() -> pl.DataFrame:
    """Return what `Records.nameless` is where every row has an id."""
    return pl.DataFrame(schema={"table": pl.String, "id": pl.String})


@dataclass(frozen=True, slots=True)
class Records:
    """What `read` returns: upstream rows with upstream ids, raw text.

    Attributes:
        queries: ``upstream_id`` str, ``text`` str or null.
        passages: ``upstream_id`` str and the columns that `Retrieval.compose` needs (all nullable).
        pairs: ``query`` str, ``passage`` str: upstream ids that were observed together.
        nameless: ``table`` str ("queries", "passages", "pairs", or "rows" where a row is all three), ``id``
            str (file and row): rows without an id, which are in no other frame.
    """

    queries: pl.DataFrame
    passages: pl.DataFrame
    pairs: pl.DataFrame
    nameless: pl.DataFrame = field(default_factory=no_rows)


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
    """Return the text itself: the merge and relevance key of configs whose texts are already canonical."""
    return text


def plain(text: str) -> str:
    """Return a text's letters and digits, case-folded: the leak key of configs without one of their own.

    The text itself, case-folded, where it has neither.
    """
    folded = unicodedata.normalize("NFKC", text.casefold()).casefold()
    return "".join(character for character in folded if character.isalnum()) or folded


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
        compose: Normalised passages in; ``upstream_id``, ``title``, ``text`` out, and ``core`` where `relate`
            needs one, ``occupation`` where a passage has one. A null text is dropped for `empty_passage`.
        empty_passage: The reason under which a passage without text is dropped.
        rows: "table": queries and passages are counted apart. "pair": an upstream row is both (a posting),
            and is dropped whole.
        query_key: Displayed query text in, merge key out. Equal keys are one query.
        relevance_key: Merge key in, relevance key out. Queries of equal keys are a group.
        leak_key: Relevance key in, leak key out, which is coarser. Equal keys never span splits.
        spelling: What two texts of one leak key may differ in, for the card.
        relate: One row per observed pair in (``query-id``, ``corpus-id``, ``group``, ``core``),
            relations out.
        personal: The kinds of personal data that are replaced.
        titles: Whether the queries are titles of jobs, in which roles, degrees and codes announce nothing
            personal.
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
    relevance_key: Callable[[str], str] = identity
    leak_key: Callable[[str], str] = plain
    spelling: str = "case, spaces and punctuation"
    relate: Callable[[pl.DataFrame], Relations] = observed
    titles: bool = False
    mining: Mining | None = None
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()
    audit: Audit = field(default_factory=Audit)

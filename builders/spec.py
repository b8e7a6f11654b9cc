"""What a config is, as frozen values that hold plain functions.

A config module ends in ``CONFIG = Retrieval(...)``, ``Clustering(...)`` or ``Ids(...)``, and is found by its
file name. Its functions are pure: the build fetches, and hands them frames. A licence is a Hub licence id in
lower case; a source's `name` is the file's name without a folder, and its key in the fetched files.
"""

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal

import polars as pl

SEED = 42
"""Seed of splits, of the drawing of sets and of what evaluation draws."""
PAIR = ["query_id", "passage_id"]
"""The columns that name a pair of a query and a passage, as the package names them."""


class PersonalKind(StrEnum):
    """A kind of personal data, in the order in which overlapping findings are decided.

    A kind's placeholder in a text is its value in capitals, ``<EMAIL>``; both of names: ``<PERSON>``.
    """

    URL = "url"
    EMAIL = "email"
    HANDLE = "handle"
    IP_ADDRESS = "ip_address"
    IBAN = "iban"
    PAYMENT_CARD = "payment_card"
    BANK_ACCOUNT = "bank_account"
    VAT_ID = "vat_id"
    SOCIAL_SECURITY = "social_security"
    HEALTH_INSURANCE = "health_insurance"
    TAX_ID = "tax_id"
    TAX_NUMBER = "tax_number"
    ID_CARD = "id_card"
    BIRTH_DATE = "birth_date"
    PHONE = "phone"
    ADDRESS = "address"
    PLATE = "plate"
    PERSON = "person"
    FULL_NAME = "full_name"

    __hash__ = str.__hash__  # an enum's own is a function of Python's, and kinds are looked up for each span

    @property
    def placeholder(self) -> str:
        """What replaces a span of this kind."""
        return "<PERSON>" if self is PersonalKind.FULL_NAME else f"<{self.value.upper()}>"


ALL_KINDS: tuple[PersonalKind, ...] = tuple(PersonalKind)
"""Every kind, names included: for job titles and posts of private people."""
_NOT_CONTACT = {"ip_address", "birth_date", "address", "plate", "person", "full_name"}
CONTACT: tuple[PersonalKind, ...] = tuple(kind for kind in ALL_KINDS if kind not in _NOT_CONTACT)
"""What reaches a person, and numbers of accounts and documents: for news, blurbs and Wikipedia passages.

Postal addresses, dates and plates are public text there; an IP address reaches nobody.
"""

Files = Mapping[str, Sequence[Path]]
"""The fetched files of a config by part: ``{"corpus": [Path(...)], "queries": [...]}``."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a Hub dataset, under which `Retrieval.read` finds its files.

    Its files are those of the first of `configs` that the README has.
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
class HttpSource:
    """A plain file behind a URL (http or https), pinned by its sha256 and its size in bytes."""

    name: str
    url: str
    sha256: str
    size: int
    licence: str


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A plain file behind a URL whose hash stands in the config's committed lock, not in its spec.

    Without such a lock it is read from stand-ins, or fetched once to be recorded, and never taken unseen.
    """

    name: str
    url: str
    licence: str


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A plain file that lies on this machine: a verb of this command makes it, or a maintainer puts it there.

    Attributes:
        folder: Where it lies, below the folder of the caches.
        hint: How to come by it.
        licence: Empty where it holds facts alone.
        is_stand_in: Whether a file was not made from the real thing; such a file is locked without a
            revision, so that what is built from it can be rehearsed only.
        optional: Whether a build goes on without it.
    """

    name: str
    folder: str
    hint: str
    licence: str = ""
    optional: bool = False
    is_stand_in: Callable[[Path], bool] = lambda _: False


@dataclass(frozen=True, slots=True)
class Waiver:
    """Consent to a finding: it names the code, the reason, and the largest count that is accepted."""

    code: str
    reason: str
    at_most: int


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """The encoder that mines, pinned."""

    model: str
    revision: str
    max_length: int
    query_prefix: str
    passage_prefix: str


@dataclass(frozen=True, slots=True)
class Recipe:
    """How hard negatives are mined.

    Attributes:
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
        per_occupation: Most hard negatives of a query that share an occupation; None for no limit.
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
    per_occupation: int | None = None
    suspicious_below: float = 2.0


_V1 = Recipe(
    name="v1",
    depth=None,
    margin=0.5,
    margin_kind="deviations",
    guard="highest",
    floor=1.5,
    equivalence=True,
    per_occupation=2,
)
RECIPES: dict[str, Recipe] = {
    "v0": Recipe(),
    "v1": _V1,
    "v1_plain": replace(_V1, name="v1_plain", margin=2.0, equivalence=False, per_occupation=None),
}
"""Recipes by name: v0 is the published procedure, v1 the one that notes/recipe-v1.md chose, and v1_plain the
same for configs without classes, where the margin alone keeps hard negatives from what is relevant."""


@dataclass(frozen=True, slots=True)
class Mining:
    """Encoder and recipe of a config whose hard negatives are published: beside them stand those of v0."""

    encoder: EncoderSpec
    recipe: Recipe = RECIPES["v1_plain"]

    @property
    def recipes(self) -> dict[str, Recipe]:
        """The recipe of each table of hard negatives, by what follows the dataset's name in its config."""
        return {"hard_negatives": self.recipe, "hard_negatives_v0": RECIPES["v0"]}


@dataclass(frozen=True, slots=True)
class Release:
    """A dataset repository on the Hub: configs whose licences allow one licence for the whole.

    `admits` are the licences of configs that it may contain, `languages` ISO 639-1 codes.
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


_NAMELESS = {"table": pl.String, "id": pl.String}


@dataclass(frozen=True, slots=True)
class Records:
    """What the `read` of a retrieval config returns: upstream rows with upstream ids, raw text.

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
    nameless: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=_NAMELESS))


@dataclass(frozen=True, slots=True)
class Relations:
    """Which passages are relevant to which query.

    Attributes:
        qrels: ``query_id`` str, ``passage_id`` str, ``extended`` bool (true: by the config's rule alone,
            not observed with any query of the group), unique pairs.
        undecided: ``query_id``, ``passage_id``, ``reason`` str: neither positive nor negative; kept from
            mining; a pair once.
        classes: ``passage_id`` str, ``class`` str, or None where the config has no such rule: passages that
            share a class with a positive are as good as it, and a recipe with `equivalence` never takes them.
        occupations: ``passage_id``, ``occupation`` str, or None where passages have none: what a recipe with
            `per_occupation` limits the hard negatives of a query by.
    """

    qrels: pl.DataFrame
    undecided: pl.DataFrame
    classes: pl.DataFrame | None = None
    occupations: pl.DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """How verdicts on a config's pairs are used: how many auditors must agree before one is a decision."""

    auditors: int = 2


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores that others published of a config's rows, and how far scores of one model may lie apart.

    Attributes:
        tasks: Name of the published task by table, "clustering-s2s"; by "" for retrieval.
        tolerance: Largest difference. In clustering by mteb's k-means it is that of the mean V-measure
            between sets of the same sizes with other rows, clustered with another seed: 3 · √2 times its
            standard deviation, measured by `scripts/bench/tolerance.py` on invented points.
        rows: Questions and passages that were searched; None in clustering.
    """

    tasks: Mapping[str, str]
    tolerance: float
    rows: tuple[int, int] | None = None


def first_reason(rules: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return the name of the first rule that holds in a row; null where none does."""
    return pl.coalesce(pl.when(holds).then(pl.lit(name)) for name, holds in rules.items())


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
    qrels = pairs.select(PAIR).unique().with_columns(extended=pl.lit(value=False))
    return Relations(qrels, pairs.select(*PAIR, reason=pl.lit("")).clear())


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A retrieval dataset: corpus, queries, qrels and, where `mining` is set, hard negatives.

    Attributes:
        name: Name of the file in `builders/configs`.
        release: Key of `RELEASES`.
        title: One line for people.
        languages: ISO 639-3 codes.
        sources: Pinned upstreams, fetched in order.
        read: Fetched files in, `Records` out. Raises `SourceSchema`.
        ids: "upstream" keeps upstream ids (the smallest where rows merge); "content" derives them.
        personal: The kinds of personal data that are replaced.
        compose: Normalised passages in; ``upstream_id``, ``title``, ``text`` out, and ``core`` where `relate`
            needs one, ``occupation`` where a passage has one. A null text is dropped for `empty_passage`.
        rows: "table": queries and passages are counted apart. "pair": a row is both, and is dropped whole.
        query_key: Displayed query text in, merge key out. Equal keys are one query.
        relevance_key: Merge key in, relevance key out. Queries of equal keys are a group.
        leak_key: Relevance key in, leak key out, which is coarser. Equal keys never span splits.
        components: Whether queries that share a positive are dealt together, too; see `splits.assign`.
        spelling: What two texts of one leak key may differ in, for the card.
        relate: One row per observed pair in with ``group`` and ``core``, relations out.
        titles: Whether the queries are titles of jobs, whose roles, degrees and codes announce nobody.
        waivers: Findings that are accepted.
        notes: Facts about meaning that the card prints as limitations.
    """

    name: str
    release: str
    title: str
    licence: str
    languages: tuple[str, ...]
    sources: tuple[HubSource | LocalFile, ...]
    read: Callable[[Files], Records]
    ids: Literal["upstream", "content"]
    personal: tuple[PersonalKind, ...]
    compose: Callable[[pl.DataFrame], pl.DataFrame] = titled
    empty_passage: str = "empty_text"
    rows: Literal["table", "pair"] = "table"
    query_key: Callable[[str], str] = identity
    relevance_key: Callable[[str], str] = identity
    leak_key: Callable[[str], str] = plain
    components: bool = False
    spelling: str = "case, spaces and punctuation"
    relate: Callable[[pl.DataFrame], Relations] = observed
    titles: bool = False
    mining: Mining | None = None
    scored: Scored | None = None
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()
    audit: Audit = field(default_factory=Audit)


@dataclass(frozen=True, slots=True)
class Sampled:
    """Clustering sets of random size, drawn from all documents.

    Attributes:
        level: Level of the published rows, "coarse".
        label: The column that holds the label, as `Clustering.compose` names it.
        smallest: Least share of the documents that a set holds.
    """

    level: str
    label: str
    count: int = 10
    smallest: float = 0.1


@dataclass(frozen=True, slots=True)
class Within:
    """One clustering set of all documents for each value of the column `by`; `label` holds the label.

    The sets' level is "within:" and the value.
    """

    by: str
    label: str


@dataclass(frozen=True, slots=True)
class Grouped:
    """Clustering sets of all documents that have one of some randomly chosen labels.

    A set has `fewest` to `most` labels, or all where there are fewer; `level` is the sets' name in the lock.
    """

    level: str
    label: str
    count: int = 10
    fewest: int = 10
    most: int = 50


SetRule = Sampled | Within | Grouped


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
    """Lengths of distinct published texts in characters: number of texts, least, mean, most."""

    unique: int
    shortest: int
    mean: float
    longest: int


@dataclass(frozen=True, slots=True)
class PublishedSets:
    """Figures of the sets that others published: a build from the real upstream is held against them.

    `sizes` are those of the sets by level, in order, `labels` names by column, `texts` figures by variant.
    """

    source: str
    documents: int
    sizes: Mapping[str, tuple[int, ...]]
    labels: Mapping[str, frozenset[str]]
    texts: Mapping[str, TextFigures]


@dataclass(frozen=True, slots=True)
class Clustering:
    """A clustering dataset: the same sets of titles (s2s) and of titles with texts (p2p).

    Attributes that `Retrieval` has too mean the same.

    Attributes:
        read: Fetched files in, `Documents` out. Raises `SourceError`.
        compose: Normalised rows in; ``upstream_id``, ``title``, ``text``, the columns of labels, and
            ``reason`` str out: why a row is left out, null where it is not.
        sets: How sets are drawn, in the order in which they are published.
        order: Columns by which documents are ordered before rows are drawn.
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
    scored: Scored | None = None
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class IdsFile:
    """A list of ids: each once in the order in which it is first seen, and how many lines name one."""

    ids: tuple[str, ...]
    lines: int

    @property
    def repeated(self) -> int:
        """How many lines name an id that an earlier line has named."""
        return self.lines - len(self.ids)


@dataclass(frozen=True, slots=True)
class Ids:
    """A clustering dataset of which ids and labels alone may be published: everyone fetches the texts.

    Attributes that `Retrieval` has too mean the same; `licence` is that of the published ids.

    Attributes:
        listed: The upstream's list of ids.
        ledger: The status of each id, and its label: made on this machine by `mteb-de hydrate`.
        read: Fetched files in, the ids out. Raises `SourceError`.
        clean: Text as its author wrote it in, text without mark-up, links and user names out.
        personal: The kinds of personal data that are replaced in texts on the user's own machine.
        archives: Names, by their sha256, of dumps that a maintainer knows as archives of Reddit. What any
            other dump gave is a stand-in, and can be rehearsed only.
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
    archives: Mapping[str, str] = field(default_factory=dict)
    scored: Scored | None = None
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[HttpSource | LocalFile, ...]:
        """All sources, fetched in order."""
        return (self.listed, self.ledger)


ConfigSpec = Retrieval | Clustering | Ids
"""What a config module ends in."""

"""The lock of a config: all that determined a build, and its counts; the manifest: the files of a release.

A lock holds no date, path, host or version of the release: building again gives the same lock.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from builders.errors import StorageError
from builders.files import sha256, write_json
from builders.printable import printable

_SCHEMA_VERSION = 3
MANIFEST = "manifest.json"


class Frozen(BaseModel):
    """A value that refuses unknown fields and changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


Document = TypeVar("Document", bound=Frozen)


class SourceFile(Frozen):
    """A fetched file: its path at the upstream, sha256 and size in bytes."""

    part: str
    path: str
    sha256: str
    size: int


class LockedSource(Frozen):
    """An upstream: `revision` as pinned (of a ledger made here its sha256), `resolved` to 40 digits."""

    kind: Literal["hub", "folder", "http"]
    name: str
    revision: str = ""
    resolved: str = ""
    licence: str = ""
    files: tuple[SourceFile, ...]


class Funnel(Frozen):
    """The way of the rows of one table: read = out + undecided + merged + the sum of dropped, by reason.

    `table` is "rows" (upstream rows that are query and passage), "queries", "passages" or "pairs"; in
    `undecided` are pairs that are published as neither positive nor negative.
    """

    table: str
    read: int
    dropped: dict[str, int] = Field(default_factory=dict)
    merged: int = 0
    undecided: int = 0
    out: int


class PublishedFile(Frozen):
    """A published parquet file.

    Attributes:
        config: Name on the Hub, "jobs-qrels".
        arrow_bytes: Bytes of the table in memory, as `dataset_info` counts them.
        content: Hash of the rows, independent of the parquet writer.
        unscored: The same without floats, whose last bits differ between machines; empty without floats.
    """

    config: str
    split: str
    path: str
    rows: int
    size: int
    arrow_bytes: int
    sha256: str
    content: str
    unscored: str = ""


def rows_id(contents: Mapping[str, str]) -> str:
    """Return the hash that names the rows of tables, from the content hash of each by its path."""
    lines = "\n".join(f"{path} {contents[path]}" for path in sorted(contents))
    return hashlib.blake2b(lines.encode()).hexdigest()[:16]


class EncoderIdentity(Frozen):
    """The encoder that mined. A field that is added takes a default, and cached vectors keep their place.

    Attributes:
        tools: Versions of the libraries that decide its vectors; empty where `revision` determines them.
        files: sha256 of weights, tokenizer and configuration by path; empty where `revision` determines them.
        stand_in: Whether another server than the Hub served it.
    """

    backend: str
    model: str
    revision: str
    dimensions: int
    max_length: int
    pooling: str
    query_prefix: str
    passage_prefix: str
    device: str = "cpu"
    tools: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    stand_in: bool = False


class PersonalReport(Frozen):
    """Texts that were scrubbed, those that changed, and replacements by kind and by rule.

    `examples` are by rule the forms of the first replaced values: a letter is an x, a digit is a 0.
    """

    texts: int
    changed: int
    kinds: dict[str, int]
    rules: dict[str, int]
    examples: dict[str, tuple[str, ...]]


def _known_version(version: int) -> int:
    if version != _SCHEMA_VERSION:
        raise ValueError(f"schema version {version}, and this mteb-de knows {_SCHEMA_VERSION}")
    return version


def _holding(**fields: Any) -> AfterValidator:  # noqa: ANN401  types and defaults, as pydantic takes them
    """Return a validator of the fields of an open document that this package reads."""
    model = create_model("Fields", **fields)

    def check(document: dict[str, Any]) -> dict[str, Any]:
        model.model_validate(document, strict=True)
        return document

    return AfterValidator(check)


_Ledger = create_model("_Ledger", origins=(dict[str, int], {}))
_Recipe = Annotated[dict[str, Any], _holding(name=str)]
_Parameters = Annotated[
    dict[str, Any], _holding(limit=(int | None, None), stand_in=(bool, False), ledger=(_Ledger, _Ledger()))
]


Quantiles = dict[str, float | None]
"""Quantiles and mean of numbers by name, in six digits; null where there are no numbers."""


class Yield(Frozen):
    """Queries with any and with the full number of hard negatives, and their shares of all queries."""

    any: int
    full: int
    any_share: float
    full_share: float


class _YieldByPositives(Frozen):
    """Queries with a number of positives, "3-5", by their number of hard negatives."""

    positives: str
    queries: int
    by_count: dict[str, int]


class _FromMean(Frozen):
    """Distances from the query's mean over all passages; `below_mean` counts negatives that are not hard."""

    below_mean: int
    cosine: Quantiles
    deviations: Quantiles


class Variant(Frozen):
    """Queries with any and all hard negatives, and hard negatives, by another guard, depth or margin."""

    guard: str
    depth: int
    margin: float
    any: int
    full: int
    negatives: int


class MiningReport(Frozen):
    """What a recipe kept, what it dropped, and what others would have kept; shares and scores in six digits.

    Attributes:
        suspicious: "queries" whose best positive lies near the mean of their scores, and their "positives".
        by_count: Queries by number of hard negatives.
        looked_at: Passages within the depth, or at the floor and above it where the depth is unbounded.
        dropped: Those of them that are no hard negatives, by reason.
        top_spread: Score of rank 1 less that of rank 10.
        scores: Scores of "guard" and hard "negative", and the "gap" between them.
        best_positive: Distance of the best positive from its query's mean, in standard deviations.
        reuse: "passages" that serve as hard negatives, and how often the busiest ("most") and the "mean" one.
        others_positives: Hard "negatives" that are positives of other queries, and their "share" of all.
        ties: Queries where the id decided at the end of "depth" or of "keep".
        what_if: Other depths and margins, and the other guard, of a recipe of bounded depth.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    queries: int
    queries_without_positives: int
    suspicious: dict[str, int]
    negatives: int
    yield_: Yield = Field(alias="yield")
    by_count: dict[str, int]
    by_positives: tuple[_YieldByPositives, ...]
    looked_at: int
    dropped: dict[str, int]
    top_spread: Quantiles
    scores: dict[str, Quantiles]
    distance_from_mean: _FromMean
    best_positive: Quantiles
    reuse: dict[str, int | float]
    others_positives: dict[str, int | float]
    ties: dict[str, int]
    what_if: tuple[Variant, ...]


class MinedTable(Frozen):
    """The recipe of a table of hard negatives, and the report of its mining."""

    recipe: _Recipe
    report: MiningReport


class LockedMining(Frozen):
    """Encoder of mining, truncated texts by role, "query" and "passage", and the mined tables.

    Attributes:
        tables: By what follows the dataset's name: "hard_negatives", which serves, and "hard_negatives_v0".
    """

    encoder: EncoderIdentity
    truncated: dict[str, int] = Field(default_factory=dict)
    tables: dict[str, MinedTable]

    @property
    def serving(self) -> MinedTable:
        """The table that serves."""
        return self.tables["hard_negatives"]


class SetFigures(Frozen):
    """The level of a clustering set, and its documents, labels, and by variant repeated texts, counted."""

    level: str
    rows: int
    labels: int
    repeated: dict[str, int]


class TextLengths(Frozen):
    """Lengths in characters over the distinct texts of all sets; `characters` is their sum."""

    unique: int
    shortest: int
    longest: int
    characters: int

    @property
    def mean(self) -> float:
        """Their mean, 0 where there is no text."""
        return self.characters / max(self.unique, 1)


class ClusteringFigures(Frozen):
    """The clustering sets in published order, and their texts by variant, "s2s" and "p2p"."""

    sets: tuple[SetFigures, ...]
    texts: dict[str, TextLengths]


class LockedFinding(Frozen):
    """A finding that did not stop the build."""

    code: str
    severity: Literal["error", "gate", "note"]
    count: int
    message: str
    waived: str = ""


class Lock(Frozen):
    """The lock of one config.

    Attributes:
        parameters: The seed, and the options of the build.
        tools: Versions of the libraries that decide bytes.
        splits: Queries by split.
        facts: Counts that the card cites (relations, overlap of positives between splits, …).
        personal: Replacements by table and kind: ``{"queries": {"email": 3}}``.
        decisions: Counts of pairs that decisions of audits changed.
        findings: Gates and notes.
        files: The published files, sorted by path.
    """

    schema_version: Annotated[int, AfterValidator(_known_version)] = _SCHEMA_VERSION
    config: str
    release: str
    licence: str
    sources: tuple[LockedSource, ...]
    parameters: _Parameters
    tools: dict[str, str]
    funnels: tuple[Funnel, ...]
    splits: dict[str, int]
    facts: dict[str, int]
    personal: dict[str, dict[str, int]]
    scrubbed: dict[str, PersonalReport] = Field(default_factory=dict)
    mining: LockedMining | None = None
    clustering: ClusteringFigures | None = None
    decisions: dict[str, int] = Field(default_factory=dict)
    findings: tuple[LockedFinding, ...] = ()
    files: tuple[PublishedFile, ...]

    @property
    def rows_id(self) -> str:
        """The hash that names the rows of all tables, as they were built."""
        return rows_id({file.path: file.content for file in self.files})


def read_lock(path: Path) -> Lock:
    """Read a lock of this schema version."""
    return read_document(path, Lock, "a lock", hint="Build the config.")


def read_document(path: Path, kind: type[Document], what: str, *, hint: str) -> Document:
    """Read a JSON document of ours; `what` names its kind in messages, "a lock".

    Raises:
        StorageError: It is not there, cannot be read, or holds something else.
    """
    try:
        return kind.model_validate_json(path.read_bytes(), strict=True)
    except FileNotFoundError as error:
        raise StorageError(f"{path}: no {what.removeprefix('a ')} there", hint=hint) from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValidationError as error:
        raise StorageError(f"{path}: not {what} ({first_fault(error)})", hint=hint) from error


def first_fault(error: ValidationError) -> str:
    """Return the first fault of a document in a few words, fit to print whatever the document holds."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")  # pydantic's, before words of a validator of ours
    return printable(f"{where}: {message}" if where else message)


class Manifest(Frozen):
    """The files of a release, sorted by path, with the sha256 of each config's lock and the recipes used."""

    schema_version: Literal[1] = 1
    release: str
    locks: dict[str, str]
    recipes: dict[str, dict[str, Any]] = Field(default_factory=dict)
    files: tuple[PublishedFile, ...]


def work_folder(out: Path, config: str) -> Path:
    """Return where a build keeps what is not published."""
    return out / "work" / config


def all_locks(out: Path) -> list[Lock]:
    """Return the locks of all that was built under `out`, sorted by config name."""
    return [read_lock(path) for path in sorted((out / "work").glob("*/lock.json"))]


def locks_of(out: Path, release: str) -> dict[str, Lock]:
    """Return the locks of the built configs of one release, by config name."""
    return {lock.config: lock for lock in all_locks(out) if lock.release == release}


def manifest_of(out: Path, release: str) -> Manifest:
    """Collect the locks under `out` into the manifest of a release."""
    locks = locks_of(out, release)
    return Manifest(
        release=release,
        locks={name: sha256(work_folder(out, name) / "lock.json") for name in locks},
        recipes={
            f"{name}-{table}": mined.recipe
            for name, lock in locks.items()
            if lock.mining
            for table, mined in lock.mining.tables.items()
        },
        files=tuple(sorted((file for lock in locks.values() for file in lock.files), key=lambda f: f.path)),
    )


def write_manifest(out: Path, release: str) -> None:
    """Write the manifest of a release."""
    write_json(out / release / MANIFEST, manifest_of(out, release).model_dump(mode="json"))


def read_manifest(path: Path) -> Manifest:
    """Read a manifest."""
    return read_document(path, Manifest, "a manifest", hint="Build the release's configs.")

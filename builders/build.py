"""The order of the steps: fetch, read, prepare, split, mine, check, write + lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import polars as pl

from builders import checks
from builders.audit.citation import audit_path, read_audit
from builders.audit.decisions import decisions_path, read_decisions
from builders.checks.model import ClusteringSubject, Finding, Severity, Subject
from builders.clustering import cluster, sets_line, write_sets
from builders.documents import limit_documents, prepare_documents
from builders.errors import FindingsError, UsageError
from builders.files import exclusive
from builders.lock.committed import (
    FOLDER,
    committed_lock,
    from_upstream,
    lock_path,
    splits_path,
    whole_upstream,
)
from builders.lock.model import Funnel, Lock, MiningLock
from builders.prepare import Prepared, limit, prepare
from builders.sets import draw
from builders.sources import Fetched, fetch, is_stand_in, verify_against
from builders.spec import RECIPES, Clustering, ConfigSpec, Mining, Retrieval
from builders.splits import assign, read_splits, remembered
from builders.tables import SCHEMAS, SPLITS, Kind, Table
from builders.write import Outcome, write

if TYPE_CHECKING:
    from builders.encoders import Encoded
    from builders.mining import Mined

SEED = 42


class Progress(Protocol):
    """Where a build says what it does."""

    def title(self, text: str) -> None:
        """Tell what the next steps belong to."""

    def step(self, name: str, *lines: str) -> None:
        """Tell that a step is done, and what came of it."""

    def tick(self, name: str, done: int, total: int) -> None:
        """Tell how far a long step is."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to build. What changes a published byte is `encoder`, `recipe`, `limit`, splits and sources alone.

    Attributes:
        out: The folder of releases and work.
        encoder: "e5" is the pinned model, "offline" the small one that needs no download.
        recipe: Name of the recipe that mines; None for the config's.
        offline: Never touch the network.
        sources: Folders or base URLs that stand in for the upstreams.
        limit: Build from this many queries only.
        workers: Encoding processes; None for one per core.
        home: Folder of the caches; None for the default.
        committed: Folder of the committed locks and splits.
        against_lock: Whether sources must be those of the committed lock; false only to replace it.
    """

    out: Path
    encoder: Literal["e5", "offline"] = "e5"
    recipe: str | None = None
    offline: bool = False
    sources: tuple[str, ...] = ()
    limit: int | None = None
    workers: int | None = None
    home: Path | None = None
    committed: Path = FOLDER
    against_lock: bool = True


@dataclass(frozen=True, slots=True)
class Built:
    """A config that was built: its lock, and all findings."""

    lock: Lock
    findings: list[Finding]


def build(spec: ConfigSpec, options: Options, progress: Progress) -> Built:
    """Build a config under `options.out`, and write its lock last.

    Raises:
        SourceError: An upstream is missing, damaged or changed.
        EncoderError: The encoder cannot be loaded, or gave unusable vectors.
        FindingsError: A check found an error; nothing of the release was touched.
        StorageError: The folder cannot be written, or another build holds it.
    """
    with exclusive(options.out):
        fetched, stand_in = _sources(spec, options, progress)
        progress.step("fetch", *(f"{s.name} {s.resolved[:10] or s.kind}" for s in fetched.locks))
        if isinstance(spec, Clustering):
            return _build_sets(spec, options, progress, fetched)
        records = spec.read(fetched.files)
        if options.limit is not None:
            records = limit(records, options.limit, whole=spec.rows == "pair")
        decisions = read_decisions(decisions_path(options.committed, spec.name))
        prepared = prepare(spec, records, decisions)
        progress.step("prepare", *(funnel_line(funnel) for funnel in prepared.funnels))
        if decisions:
            progress.step("decisions", _decisions_line(prepared.decisions))
        committed = _committed_splits(spec, options)
        assignment = assign(prepared.queries.select("_id", "group"), seed=SEED, committed=committed)
        progress.step("split", _sizes_line(assignment))
        mined, mining = None, None
        if spec.mining is not None:
            mined, mining = _mine(spec.mining, options, prepared, progress)
        tables = list(_tables(spec, prepared, assignment, mined.negatives if mined else None))
        subject = Subject(
            spec,
            _by_kind(tables),
            prepared.relations.undecided,
            prepared.funnels,
            mining,
            mined.scale if mined else None,
            prepared.relations.classes,
        )
        findings = checks.apply_waivers(checks.run(subject, committed=committed), spec.waivers)
        _stop_on_errors(spec, findings)
        progress.step("check", *_finding_lines(findings))
        parameters = {
            "seed": SEED,
            "encoder": options.encoder if spec.mining else None,
            "limit": options.limit,
            "stand_in": stand_in,
        }
        outcome = Outcome(
            spec=spec,
            sources=fetched.locks,
            parameters=parameters,
            prepared=prepared,
            assignment=assignment,
            splits=remembered(assignment, committed),
            tables=tuple(tables),
            mining=mining,
            scale=mined.scale if mined else None,
            suspicious=mined.suspicious if mined else None,
            audit=read_audit(audit_path(options.committed, spec.name)),
            findings=findings,
        )
        lock = write(options.out, outcome)
        progress.step("write", f"{len(lock.files)} files, {sum(f.size for f in lock.files):,} bytes")
        return Built(lock, findings)


def _build_sets(spec: Clustering, options: Options, progress: Progress, fetched: Fetched) -> Built:
    """Build a clustering config from its fetched sources."""
    read = spec.read(fetched.files)
    if options.limit is not None:
        read = limit_documents(read, options.limit)
    prepared = prepare_documents(spec, read)
    progress.step("prepare", funnel_line(prepared.funnel))
    clustered = cluster(spec, prepared, draw(prepared.documents, spec.sets, seed=SEED))
    progress.step("draw", sets_line(clustered.figures))
    parameters = {"seed": SEED, "encoder": None, "limit": options.limit, "stand_in": False}
    subject = ClusteringSubject(
        spec,
        _by_kind(list(clustered.tables)),
        (prepared.funnel,),
        clustered.figures,
        upstream=whole_upstream(fetched.locks, parameters),
    )
    findings = checks.apply_waivers(checks.run_clustering(subject), spec.waivers)
    _stop_on_errors(spec, findings)
    progress.step("check", *_finding_lines(findings))
    lock = write_sets(options.out, spec, fetched.locks, parameters, prepared, clustered, findings)
    progress.step("write", f"{len(lock.files)} files, {sum(f.size for f in lock.files):,} bytes")
    return Built(lock, findings)


def _sources(spec: ConfigSpec, options: Options, progress: Progress) -> tuple[Fetched, bool]:
    """Fetch, hold against the committed lock, and say whether a stand-in for the Hub was asked."""
    locked = committed_lock(options.committed, spec.name)
    fetched = fetch(
        spec.sources,
        offline=options.offline,
        sources_from=options.sources,
        root=options.home,
        progress=lambda line: progress.step("fetch", line),
        recorded=locked.sources if locked is not None else (),
        record=not options.against_lock,
    )
    stand_in = is_stand_in() and any(source.kind == "hub" for source in fetched.locks)
    if locked is not None and options.against_lock and from_upstream(fetched.locks, {"stand_in": stand_in}):
        verify_against(fetched.locks, locked.sources)
    return fetched, stand_in


def _committed_splits(spec: Retrieval, options: Options) -> pl.DataFrame | None:
    path = splits_path(options.committed, spec.name)
    if path.exists():
        return read_splits(path)
    if lock_path(options.committed, spec.name).exists():
        raise UsageError(
            f"{path}: a committed lock lies beside it, but the committed splits do not",
            hint="Restore it from version control: dealt anew, queries would change sides.",
        )
    return None


def _mine(
    mining: Mining, options: Options, prepared: Prepared, progress: Progress
) -> tuple[Mined, MiningLock]:
    from builders.encoders import encode_cached, load_encoder
    from builders.mining import blas_kernel, mine, summary_lines
    from builders.text.merge import encoded_text

    vectors = options.home and options.home / "vectors"
    encoder = load_encoder(
        mining.encoder, options.encoder, workers=options.workers, offline=options.offline, root=vectors
    )
    recipe = mining.recipe if options.recipe is None else RECIPES[options.recipe]
    truncated: dict[str, int] = {}

    def encode(role: Literal["query", "passage"], texts: pl.Series) -> Encoded:
        def tick(done: int, total: int) -> None:
            progress.tick(f"encode {role}", done, total)

        result = encode_cached(encoder, texts, role, root=vectors, progress=tick)
        truncated[role] = result.truncated
        counts = f"{result.encoded:,} encoded, {result.cached:,} from the cache"
        if result.truncated:
            counts += f", {result.truncated:,} cut to {encoder.identity.max_length} tokens"
        progress.step(f"encode {role}", counts)
        return result

    mined = mine(
        prepared.queries.select("_id", "text"),
        prepared.corpus,
        prepared.relations.qrels,
        prepared.relations.undecided,
        encode("query", prepared.queries["text"]).vectors,
        encode("passage", encoded_text(prepared.corpus)).vectors,
        recipe,
        classes=prepared.relations.classes,
        progress=lambda done, total: progress.tick("mine", done, total),
    )
    progress.step("mine", *summary_lines(mined.report))
    if warning := blas_kernel().warning:
        progress.step("", warning)
    return mined, MiningLock(
        recipe=asdict(recipe), encoder=encoder.identity, report=mined.report, truncated=truncated
    )


def _tables(
    spec: Retrieval, prepared: Prepared, assignment: pl.DataFrame, negatives: pl.DataFrame | None
) -> Iterator[Table]:
    def table(kind: Kind, split: str, frame: pl.DataFrame) -> Table:
        return Table(spec.name, kind, split, frame.select(SCHEMAS[kind].names))

    qrels = prepared.relations.qrels.with_columns(score=pl.lit(1, dtype=pl.Int32))
    yield table(Kind.CORPUS, "corpus", prepared.corpus)
    for split in SPLITS:
        members = assignment.filter(pl.col("split") == split).select(**{"query-id": "_id"})
        yield table(
            Kind.QUERIES,
            split,
            prepared.queries.join(members, left_on="_id", right_on="query-id", how="semi"),
        )
        yield table(Kind.QRELS, split, qrels.join(members, on="query-id", how="semi"))
        if negatives is not None:
            yield table(Kind.HARD_NEGATIVES, split, negatives.join(members, on="query-id", how="semi"))


def _by_kind(tables: list[Table]) -> dict[Kind, dict[str, pl.DataFrame]]:
    frames: dict[Kind, dict[str, pl.DataFrame]] = {}
    for table in tables:
        frames.setdefault(table.kind, {})[table.split] = table.frame
    return frames


def _stop_on_errors(spec: ConfigSpec, findings: list[Finding]) -> None:
    errors = [finding for finding in findings if finding.severity is Severity.ERROR and not finding.waived]
    if errors:
        lines = (f"{error.code}: {error.message} ({', '.join(error.examples)})" for error in errors)
        raise FindingsError(f"{spec.name}: " + "\n".join(lines), hint=errors[0].hint)


def funnel_line(funnel: Funnel) -> str:
    """Return a funnel as one line: "queries 1,190 read − 9 merged = 1,181"."""
    losses = [f" − {count:,} {reason}" for reason, count in funnel.dropped.items()]
    if funnel.merged:
        losses.append(f" − {funnel.merged:,} merged")
    return f"{funnel.table} {funnel.read:,} read{''.join(losses)} = {funnel.out:,}"


def _decisions_line(counts: dict[str, int]) -> str:
    """Return what decisions did: "3 relevant, 1 excluded (1 unmatched); qrels +7 −0"."""
    return (
        f"{counts['relevant']:,} relevant, {counts['excluded']:,} excluded "
        f"({counts['unmatched']:,} unmatched); qrels +{counts['qrels_added']:,} −{counts['qrels_removed']:,}"
    )


def _sizes_line(assignment: pl.DataFrame) -> str:
    sizes = {split: assignment.filter(pl.col("split") == split).height for split in SPLITS}
    return "  ".join(f"{split} {size:,}" for split, size in sizes.items())


def _finding_lines(findings: list[Finding]) -> list[str]:
    lines = [
        f"{finding.severity} {finding.code}: {finding.message}{' (waived)' if finding.waived else ''}"
        for finding in findings
    ]
    return lines or ["no findings"]

"""The steps of a retrieval config: prepare, split, mine, check, write + lock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Literal

import polars as pl

from builders import checks
from builders.build.options import (
    Built,
    Options,
    by_kind,
    decisions_line,
    finding_lines,
    funnel_line,
    sizes_line,
    stop_on_errors,
    written_line,
)
from builders.build.write import Outcome, write
from builders.errors import UsageError
from builders.lock.committed import committed_lock, lock_path, require_same_model, splits_path
from builders.lock.lock import Lock, LockedMining
from builders.prepare.decisions import decisions_path, read_decisions
from builders.prepare.retrieval import Prepared, limit, prepare
from builders.prepare.splits import assign, read_splits, remembered
from builders.progress import Progress
from builders.sources import Fetched
from builders.spec import RECIPES, SEED, Mining, Retrieval
from builders.tables import SCHEMAS, SPLITS, Kind, Table

if TYPE_CHECKING:
    from builders.encoders import Encoded
    from builders.mining import Mined


def build_pairs(
    spec: Retrieval, options: Options, progress: Progress, fetched: Fetched, *, stand_in: bool
) -> Built:
    """Build a retrieval config from its fetched sources; see `builders.build.order.build`."""
    records = spec.read(fetched.files)
    if options.limit is not None:
        records = limit(records, options.limit, whole=spec.rows == "pair")
    decisions = read_decisions(decisions_path(options.committed, spec.name))
    prepared = prepare(spec, records, decisions)
    progress.step("prepare", *(funnel_line(funnel) for funnel in prepared.funnels))
    if decisions:
        progress.step("decisions", decisions_line(prepared.decisions))
    committed = _committed_splits(spec, options)
    assignment = assign(prepared.queries.select("_id", "group", "leak"), seed=SEED, committed=committed)
    progress.step("split", sizes_line(assignment))
    mined, mining = None, None
    if spec.mining is not None:
        locked = committed_lock(options.committed, spec.name) if options.against_lock else None
        mined, mining = _mine(spec.mining, options, prepared, progress, locked)
    tables = list(_tables(spec, prepared, assignment, mined.negatives if mined else None))
    findings = checks.run(
        checks.Subject(
            spec,
            by_kind(tables),
            prepared.funnels,
            mining=mining,
            decisions=prepared.decisions,
            committed=committed,
            undecided=prepared.relations.undecided,
            scale=mined.scale if mined else None,
            classes=prepared.relations.classes,
            provenance=prepared.provenance,
            scrub_merges=prepared.scrub_merges,
        )
    )
    stop_on_errors(spec, findings)
    progress.step("check", *finding_lines(findings))
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
        findings=findings,
    )
    lock = write(options.out, outcome)
    progress.step("write", written_line(lock))
    return Built(lock, findings)


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
    mining: Mining, options: Options, prepared: Prepared, progress: Progress, locked: Lock | None
) -> tuple[Mined, LockedMining]:
    from builders.encoders import encode_cached, load_encoder
    from builders.mining import mine, summary_lines
    from builders.text.merge import encoded_text

    vectors = options.home and options.home / "vectors"
    encoder = load_encoder(
        mining.encoder, options.encoder, workers=options.workers, offline=options.offline, root=vectors
    )
    require_same_model(encoder.identity, locked)
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

    vectors_of = {
        "query": encode("query", prepared.queries["text"]).vectors,
        "passage": encode("passage", encoded_text(prepared.corpus)).vectors,
    }

    mined = mine(
        prepared.queries.select("_id", "text"),
        prepared.corpus,
        prepared.relations.qrels,
        prepared.relations.undecided,
        vectors_of["query"],
        vectors_of["passage"],
        recipe,
        classes=prepared.relations.classes,
        progress=lambda done, total: progress.tick(f"mine {recipe.name}", done, total),
    )
    progress.step("mine", *summary_lines(mined.report))
    return mined, LockedMining(
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

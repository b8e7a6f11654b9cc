"""The three builds, by kind of config: fetched sources in, a draft out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from builders import checks
from builders.build.draft import Draft, Options, stop_on_errors
from builders.errors import SourceChanged, UsageError
from builders.files import sha256
from builders.lock.committed import committed_lock, lock_path, require_same_model, splits_path
from builders.lock.lock import ClusteringFigures, Funnel, LockedMining, MinedTable
from builders.personal.replacements import people_facts
from builders.prepare.decisions import decisions_path, read_decisions
from builders.prepare.documents import limit_documents, prepare_documents
from builders.prepare.retrieval import Prepared, limit, prepare, retrieval_facts
from builders.prepare.sets import draw, fill, provenance, set_facts, set_figures
from builders.prepare.splits import assign, committed_splits, read_splits, remembered
from builders.progress import Progress
from builders.reddit.dated_ledger import read_statuses
from builders.reddit.sets import id_table, limit_ids, prepare_ids
from builders.sources import Fetched
from builders.spec import SEED, Clustering, Ids, Mining, Retrieval
from builders.tables import CLUSTERING, SPLITS, Kind, Table, rowless

if TYPE_CHECKING:
    from builders.encoders import Encoded
    from builders.mining import Mined


def build_retrieval(spec: Retrieval, fetched: Fetched, options: Options, progress: Progress) -> Draft:
    """Prepare, split and mine a retrieval config; what needs no vectors is checked before mining."""
    records = spec.read(fetched.files)
    if options.limit is not None:
        records = limit(records, options.limit, whole=spec.rows == "pair")
    decisions = read_decisions(decisions_path(options.committed, spec.name))
    prepared = prepare(spec, records, decisions)
    progress.step("prepare", *map(_funnel_line, prepared.funnels))
    if decisions:
        progress.step("decisions", _decisions_line(prepared.decisions))
    committed = _earlier_splits(spec, options)
    if options.splits is not None and committed is not None:
        _refuse_unknown(options.splits, spec, committed, prepared.queries)
    assignment = assign(prepared.queries, components=spec.components, seed=SEED, committed=committed)
    sizes = {split: assignment.filter(pl.col("split") == split).height for split in SPLITS}
    shares = "  ".join(f"{split} {size:,}" for split, size in sizes.items())
    progress.step("split", shares, _origin_line(assignment, committed))
    qrels = prepared.relations.qrels.with_columns(score=pl.lit(1, dtype=pl.Int32))
    draft = Draft(
        spec=spec,
        tables=(
            Table(spec.name, Kind.CORPUS, "corpus", prepared.corpus.select(rowless(Kind.CORPUS).columns)),
            *_by_split(spec, Kind.QUERIES, prepared.queries, assignment),
            *_by_split(spec, Kind.QRELS, qrels, assignment),
        ),
        funnels=prepared.funnels,
        facts=retrieval_facts(prepared, assignment) | people_facts(),
        work={
            "dropped": prepared.dropped,
            "provenance": prepared.provenance,
            "undecided": prepared.relations.undecided,
            "classes": prepared.relations.classes,
            "occupations": prepared.relations.occupations,
            "scrub_merges": prepared.scrub_merges,
        },
        scrubbed=prepared.personal,
        decisions=prepared.decisions,
        committed=committed,
        splits=remembered(assignment, committed),
    )
    if spec.mining is None:
        return draft
    unmined = checks.run(replace(draft, spec=replace(spec, mining=None, waivers=())).subject(upstream=False))
    stop_on_errors(spec, unmined)
    mined, mining = _mine(spec, spec.mining, options, prepared, progress)
    negatives = [
        table
        for kind, of_kind in mined.items()
        for table in _by_split(spec, kind, of_kind.negatives, assignment)
        if kind is Kind.HARD_NEGATIVES or table.frame.height
    ]
    serving = mined[Kind.HARD_NEGATIVES]
    return replace(
        draft,
        tables=(*draft.tables, *negatives),
        work=draft.work | {"scale": serving.scale, "suspicious_positives": serving.suspicious},
        mining=mining,
        unmined=unmined,
    )


def _earlier_splits(spec: Retrieval, options: Options) -> pl.DataFrame | None:
    """Read the assignment that the build starts from: the committed one, or the one that was given."""
    path, given = splits_path(options.committed, spec.name), options.splits
    if (committed := committed_splits(options.committed, spec.name)) is not None:
        if given is not None:
            hint = "Leave --splits out, or name another folder with --locks."
            raise UsageError(
                f"{given}: the splits of {spec.name} are committed already, in {path}", hint=hint
            )
        return committed
    if given is not None:
        return read_splits(given)
    if lock_path(options.committed, spec.name).exists():
        raise UsageError(
            f"{path}: a committed lock lies beside it, but the committed splits do not",
            hint="Restore it from version control: dealt anew, queries would change sides.",
        )
    return None


def _refuse_unknown(path: Path, spec: Retrieval, given: pl.DataFrame, queries: pl.DataFrame) -> None:
    """Refuse splits of something else: all queries would be new, and be dealt as such."""
    if given.join(queries, on="query_id", how="semi").is_empty():
        raise UsageError(f"{path}: holds no query of {spec.name}", hint="Give the splits of the same config.")


def _origin_line(assignment: pl.DataFrame, committed: pl.DataFrame | None) -> str:
    """Return where the splits come from: "1,175 of 1,181 as they were, 6 new"."""
    if committed is None:
        return "no earlier splits were given: all queries were dealt"
    kept = assignment.join(committed, on=["query_id", "split"], how="semi").height
    return f"{kept:,} of {assignment.height:,} as they were, {assignment.height - kept:,} new"


def _by_split(spec: Retrieval, kind: Kind, rows: pl.DataFrame, assignment: pl.DataFrame) -> Iterator[Table]:
    """Part rows by the split of their query."""
    for split in SPLITS:
        members = assignment.filter(pl.col("split") == split)
        frame = rows.join(members, on="query_id", how="semi")
        yield Table(spec.name, kind, split, frame.select(rowless(kind).columns))


def _mine(
    spec: Retrieval, mining: Mining, options: Options, prepared: Prepared, progress: Progress
) -> tuple[dict[Kind, Mined], LockedMining]:
    """Encode once, and mine each table of hard negatives by its recipe."""
    from builders.encoders import encode_cached, load_encoder
    from builders.mining import mine_each, summary_lines
    from builders.text.merge import encoded_text

    vectors = options.home and options.home / "vectors"
    encoder = load_encoder(
        mining.encoder, options.encoder, workers=options.workers, offline=options.offline, root=vectors
    )
    locked = committed_lock(options.committed, spec.name) if options.against_lock else None
    require_same_model(encoder.identity, locked)
    truncated: dict[str, int] = {}

    def encode(role: Literal["query", "passage"], texts: pl.Series) -> Encoded:
        tick = partial(progress.tick, f"encode {role}")
        result = encode_cached(encoder, texts, role, root=vectors, progress=tick)
        truncated[role] = result.truncated
        counts = f"{result.encoded:,} encoded, {result.cached:,} from the cache"
        if result.truncated:
            counts += f", {result.truncated:,} cut to {encoder.identity.max_length} tokens"
        progress.step(f"encode {role}", counts)
        return result

    relations, recipes = prepared.relations, mining.recipes
    found = mine_each(
        prepared.queries.select("query_id", "text"),
        prepared.corpus,
        relations.qrels,
        relations.undecided,
        encode("query", prepared.queries["text"]).vectors,
        encode("passage", encoded_text(prepared.corpus)).vectors,
        list(recipes.values()),
        relations.classes,
        relations.occupations,
        progress=partial(progress.tick, "mine"),
    )
    tables: dict[str, MinedTable] = {}
    for (name, recipe), one in zip(recipes.items(), found, strict=True):
        progress.step(f"mine {recipe.name}", *summary_lines(one.report))
        tables[name] = MinedTable(recipe=asdict(recipe), report=one.report)
    mined = {Kind(name): one for name, one in zip(tables, found, strict=True)}
    return mined, LockedMining(encoder=encoder.identity, truncated=truncated, tables=tables)


def build_clustering(spec: Clustering, fetched: Fetched, options: Options, progress: Progress) -> Draft:
    """Prepare the documents of a clustering config, and draw its sets."""
    read = spec.read(fetched.files)
    if options.limit is not None:
        read = limit_documents(read, options.limit)
    prepared = prepare_documents(spec, read)
    progress.step("prepare", _funnel_line(prepared.funnel))
    documents = prepared.documents
    drawn = draw(documents, spec.sets, seed=SEED)
    figures = set_figures(documents, drawn, tuple(CLUSTERING))
    progress.step("draw", _sets_line(figures))
    return Draft(
        spec=spec,
        tables=tuple(
            Table(spec.name, kind, "test", fill(documents, drawn, variant))
            for variant, kind in CLUSTERING.items()
        ),
        funnels=(prepared.funnel,),
        facts=set_facts(documents, drawn) | people_facts(),
        work={"dropped": prepared.dropped, "provenance": provenance(documents, drawn, "upstream_id")},
        scrubbed=prepared.personal,
        clustering=figures,
    )


def build_ids(spec: Ids, fetched: Fetched, options: Options, progress: Progress) -> Draft:
    """Judge the ids of a config by the ledger, and draw its sets."""
    read = spec.read(fetched.files)
    if options.limit is not None:
        read = limit_ids(read, options.limit)
    prepared = prepare_ids(spec, read, _read_ledger(spec, fetched))
    progress.step("prepare", _funnel_line(prepared.funnel))
    submissions, statuses = prepared.submissions, prepared.statuses
    drawn = draw(submissions, spec.sets, seed=SEED)
    figures = set_figures(submissions, drawn, ())
    progress.step("draw", _sets_line(figures))
    first, last = statuses["checked"].min(), statuses["checked"].max()
    origins, archives = _counts(statuses, "origin"), _counts(statuses, "archive")
    return Draft(
        spec=spec,
        tables=(Table(spec.name, Kind.CLUSTERING_IDS, "test", id_table(submissions, drawn)),),
        funnels=(prepared.funnel,),
        facts=set_facts(submissions, drawn),
        work={
            "dropped": prepared.dropped,
            "provenance": provenance(submissions, drawn, "id"),
            "statuses": statuses,
        },
        parameters={"ledger": {"first": first, "last": last, "origins": origins, "archives": archives}},
        clustering=figures,
    )


def _read_ledger(spec: Ids, fetched: Fetched) -> pl.DataFrame:
    """Read the ledger, and make sure that it is the one whose hash the lock is about to keep."""
    (path,) = fetched.files[spec.ledger.name]
    ledger = read_statuses(path)
    (file,) = next(lock.files for lock in fetched.locks if lock.name == spec.ledger.name)
    if sha256(path) != file.sha256:
        raise SourceChanged(f"{path}: it was written anew while it was read", hint="Build again.")
    return ledger


def _counts(statuses: pl.DataFrame, column: str) -> dict[str, int]:
    """Count the answers by value; those without a value do not count."""
    return dict(statuses.filter(pl.col(column) != "").group_by(column).len().sort(column).iter_rows())


def _funnel_line(funnel: Funnel) -> str:
    """Return a funnel as one line: "pairs 1,190 read − 2 dangling − 9 merged − 30 undecided = 1,149"."""
    others = {"merged": funnel.merged, "undecided": funnel.undecided}
    lost = funnel.dropped | {reason: count for reason, count in others.items() if count}
    losses = "".join(f" − {count:,} {reason}" for reason, count in lost.items())
    return f"{funnel.table} {funnel.read:,} read{losses} = {funnel.out:,}"


def _decisions_line(counts: dict[str, int]) -> str:
    """Return what decisions did: "3 relevant, 1 excluded (1 unmatched); qrels +7 −0"."""
    return (
        f"{counts['relevant']:,} relevant, {counts['excluded']:,} excluded "
        f"({counts['unmatched']:,} unmatched); qrels +{counts['qrels_added']:,} −{counts['qrels_removed']:,}"
    )


def _sets_line(figures: ClusteringFigures) -> str:
    """Return the sets in one line: "10 coarse 232-1,699 rows, 8 within 17-1,044 rows"."""
    sizes: dict[str, list[int]] = {}
    for each in figures.sets:
        sizes.setdefault(each.level.partition(":")[0], []).append(each.rows)
    return ", ".join(f"{len(rows)} {level} {min(rows):,}-{max(rows):,} rows" for level, rows in sizes.items())

"""The order of the steps: fetch, then what the kind of config asks for. Every build writes its lock last."""

from __future__ import annotations

from builders import checks
from builders.checks.model import ClusteringSubject
from builders.clustering import cluster, sets_line, write_sets
from builders.documents import limit_documents, prepare_documents
from builders.files import exclusive
from builders.lock.committed import committed_lock, from_upstream, whole_upstream
from builders.retrieval import build_pairs
from builders.sets import draw
from builders.sources import Fetched, fetch, is_stand_in, verify_against
from builders.spec import Clustering, ConfigSpec
from builders.steps import (
    SEED,
    Built,
    Options,
    Progress,
    by_kind,
    finding_lines,
    funnel_line,
    stop_on_errors,
    written_line,
)

__all__ = ["Built", "Options", "Progress", "build"]


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
        return build_pairs(spec, options, progress, fetched, stand_in=stand_in)


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
        by_kind(list(clustered.tables)),
        (prepared.funnel,),
        clustered.figures,
        upstream=whole_upstream(fetched.locks, parameters),
    )
    findings = checks.apply_waivers(checks.run_clustering(subject), spec.waivers)
    stop_on_errors(spec, findings)
    progress.step("check", *finding_lines(findings))
    lock = write_sets(options.out, spec, fetched.locks, parameters, prepared, clustered, findings)
    progress.step("write", written_line(lock))
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

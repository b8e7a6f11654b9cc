"""The order of the steps: fetch, build, check, write. Every build writes its lock last."""

from typing import Any

from builders import checks
from builders.build.builds import build_clustering, build_ids, build_retrieval
from builders.build.draft import Draft, Options, stop_on_errors
from builders.build.write import write
from builders.errors import Refused, UsageError
from builders.files import exclusive
from builders.hub import is_stand_in
from builders.lock.committed import committed_lock, whole_upstream
from builders.lock.lock import Lock
from builders.progress import Progress
from builders.sources import Fetched, fetch, verify_against
from builders.spec import RELEASES, SEED, Clustering, ConfigSpec, Ids

__all__ = ["Options", "build"]


def build(spec: ConfigSpec, options: Options, progress: Progress) -> Lock:
    """Build a config under `options.out`; write its lock last, and return it.

    Nothing of the release is touched where a check finds an error.
    """
    _require_admitted(spec)
    with exclusive(options.out):
        fetched, stand_in = _sources(spec, options, progress)
        progress.step("fetch", *(f"{s.name} {s.resolved[:10] or s.kind}" for s in fetched.locks))
        draft = _build(spec, fetched, options, progress)
        parameters: dict[str, Any] = {
            "seed": SEED,
            "encoder": options.encoder if draft.mining else None,
            "limit": options.limit,
            "stand_in": stand_in,
            **draft.parameters,
        }
        subject = draft.subject(upstream=whole_upstream(fetched.locks, parameters))
        findings = checks.run(subject, unmined=draft.unmined)
        stop_on_errors(spec, findings)
        waived = {True: " (waived)", False: ""}
        lines = [f"{f.severity} {f.code}: {f.message}{waived[bool(f.waived)]}" for f in findings]
        progress.step("check", *(lines or ["no findings"]))
        lock = write(options.out, draft, fetched.locks, parameters, findings)
        progress.step("write", f"{len(lock.files)} files, {sum(file.size for file in lock.files):,} bytes")
        return lock


def _build(spec: ConfigSpec, fetched: Fetched, options: Options, progress: Progress) -> Draft:
    match spec:
        case Clustering():
            return build_clustering(spec, fetched, options, progress)
        case Ids():
            return build_ids(spec, fetched, options, progress)
        case _:
            return build_retrieval(spec, fetched, options, progress)


def _require_admitted(spec: ConfigSpec) -> None:
    """Refuse, before hours are spent on it, what could never be published."""
    release = RELEASES.get(spec.release)
    if release is None:
        known = ", ".join(sorted(RELEASES))
        raise UsageError(f"{spec.name}: unknown release {spec.release!r}", hint=f"Releases: {known}.")
    if spec.licence not in release.admits:
        raise Refused(
            f"{spec.name}: {release.name} does not admit its licence {spec.licence!r}, only "
            + ", ".join(release.admits),
            hint="Move the config to a release with a licence that allows it.",
        )


def _sources(spec: ConfigSpec, options: Options, progress: Progress) -> tuple[Fetched, bool]:
    """Fetch, compare with the committed lock, and return whether a stand-in for the Hub was asked."""
    locked = committed_lock(options.committed, spec.name)
    fetched = fetch(
        spec.sources,
        offline=options.offline,
        sources_from=options.sources,
        root=options.home,
        progress=None if options.against_lock else lambda line: progress.step("fetch", line),
        recorded=locked.sources if locked is not None else (),
        record=not options.against_lock,
    )
    stand_in = is_stand_in() and any(source.kind == "hub" for source in fetched.locks)
    if locked is not None and options.against_lock and whole_upstream(fetched.locks, {"stand_in": stand_in}):
        verify_against(fetched.locks, locked.sources)
    return fetched, stand_in

"""The order of the steps: fetch, then what the kind of config asks for. Every build writes its lock last."""

from __future__ import annotations

from builders.build.clustering import build_sets
from builders.build.ids import build_ids
from builders.build.options import Built, Options
from builders.build.retrieval import build_pairs
from builders.errors import Refused, UsageError
from builders.files import exclusive
from builders.hub import is_stand_in
from builders.lock.committed import committed_lock, from_upstream
from builders.progress import Progress
from builders.sources import Fetched, fetch, verify_against
from builders.spec import RELEASES, Clustering, ConfigSpec, Ids

__all__ = ["Built", "Options", "Progress", "build"]


def build(spec: ConfigSpec, options: Options, progress: Progress) -> Built:
    """Build a config under `options.out`, and write its lock last.

    Raises:
        UsageError: The config's release does not exist.
        Refused: The release does not admit the config's licence.
        SourceError: An upstream is missing, damaged or changed.
        EncoderError: The encoder cannot be loaded, or gave unusable vectors.
        FindingsError: A check found an error; nothing of the release was touched.
        StorageError: The folder cannot be written, or another build holds it.
    """
    _require_admitted(spec)
    with exclusive(options.out):
        fetched, stand_in = _sources(spec, options, progress)
        progress.step("fetch", *(f"{s.name} {s.resolved[:10] or s.kind}" for s in fetched.locks))
        if isinstance(spec, Clustering):
            return build_sets(spec, options, progress, fetched, stand_in=stand_in)
        if isinstance(spec, Ids):
            return build_ids(spec, options, progress, fetched, stand_in=stand_in)
        return build_pairs(spec, options, progress, fetched, stand_in=stand_in)


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
    """Fetch, hold against the committed lock, and say whether a stand-in for the Hub was asked."""
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
    if locked is not None and options.against_lock and from_upstream(fetched.locks, {"stand_in": stand_in}):
        verify_against(fetched.locks, locked.sources)
    return fetched, stand_in

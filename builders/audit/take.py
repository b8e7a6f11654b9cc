"""Taking verdicts in and bringing the decisions beside a config up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import registry
from builders.audit import store
from builders.audit.tree import Tree, read_tree
from builders.audit.verdicts import Imported, import_verdicts
from builders.lock.committed import FOLDER
from builders.prepare.decisions import (
    decide,
    decisions_path,
    merged,
    of_real_builds,
    read_decisions,
    write_decisions,
)
from builders.spec import Retrieval


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken in of a sample, and what it decided.

    Attributes:
        imported: What the import came to.
        decisions: Decisions of the config now.
        decisions_path: Where they were written; None where they were not.
        remarks: What is to be said of it.
    """

    imported: Imported
    decisions: int
    decisions_path: Path | None
    remarks: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "config": self.imported.sample.head.config,
            "sample": self.imported.sample.head.sample,
            "read": self.imported.read,
            "new": self.imported.new,
            "withdrawn": self.imported.withdrawn,
            "judged": self.imported.judged,
            "auditors": list(self.imported.auditors),
            "history": str(self.imported.path),
            "decisions": self.decisions,
            "decisions_path": None if self.decisions_path is None else str(self.decisions_path),
            "remarks": list(self.remarks),
        }


def take(
    paths: Sequence[Path],
    *,
    dist: Path,
    notes: Path,
    locks: Path | None = None,
    auditor: str = "",
    specs: Mapping[str, Retrieval] | None = None,
) -> list[Taken]:
    """Add the verdicts of files to the history, and decide again.

    Decisions of a build from stand-ins are written only where a folder is named: they must not get beside the
    configs by accident.

    Args:
        paths: Files of the page, or CSVs with verdicts typed in.
        dist: The folder that was audited.
        notes: The folder of notes.
        locks: Folder of committed locks and decisions; None for the one beside the configs.
        auditor: Whose verdicts a CSV holds.
        specs: Configs by name; None for those of the registry that were built under `dist`.

    Raises:
        StorageError: A file cannot be read or written.
        UsageError: A line is not sound; nothing was taken in.
        Refused: Verdicts are of another build; nothing was taken in.
    """
    known = specs if specs is not None else _built(dist)
    trees = {name: read_tree(dist, spec) for name, spec in known.items()}
    builds = {name: tree.build for name, tree in trees.items()}
    for spec in known.values():
        read_decisions(
            decisions_path(locks or FOLDER, spec.name)
        )  # a fault there is told before anything is written
    imported = import_verdicts(paths, out=dist, notes=notes, builds=builds, auditor=auditor)
    return [
        _decided(one, known[one.sample.head.config], trees[one.sample.head.config], notes, locks)
        for one in imported
    ]


def _built(dist: Path) -> dict[str, Retrieval]:
    found = {path.parent.name for path in dist.glob("work/*/lock.json")}
    specs = (registry.load(name) for name in registry.names() if name in found)
    return {spec.name: spec for spec in specs if isinstance(spec, Retrieval)}


def _decided(imported: Imported, spec: Retrieval, tree: Tree, notes: Path, locks: Path | None) -> Taken:
    path = decisions_path(locks or FOLDER, spec.name)
    audits = store.read_history(store.history_folder(notes, spec.name))
    if locks is None and not tree.stand_ins:
        audits = of_real_builds(audits)
    decisions = merged(read_decisions(path), decide(audits, spec.audit.auditors))
    if tree.stand_ins and locks is None:
        remark = f"decisions not written: {tree.stand_ins[0]}; pass --locks FOLDER to try them"
        return Taken(imported, len(decisions), None, (remark,))
    if decisions or path.exists():
        write_decisions(path, decisions)
    return Taken(imported, len(decisions), path if path.exists() else None, ())

"""What a card cites of an audit: ``configs/NAME.audit.json``, written by the report and read by the build."""

from __future__ import annotations

from pathlib import Path

from builders import files
from builders.lock.cited import read_cited
from builders.lock.lock import AuditLock


def audit_path(folder: Path, config: str) -> Path:
    """Return where the latest audit of a config lies, beside its committed lock."""
    return folder / f"{config}.audit.json"


def read_audit(path: Path) -> AuditLock | None:
    """Read an audit; None where there is no file.

    Raises:
        StorageError: It cannot be read, or is no audit.
    """
    return read_cited(path, AuditLock, what="an audit", hint="Run mteb-de audit report again.")


def write_audit(path: Path, audit: AuditLock) -> None:
    """Write an audit; equal audits are equal bytes.

    Raises:
        StorageError: It cannot be written.
    """
    files.write_json(path, audit.model_dump(mode="json"))

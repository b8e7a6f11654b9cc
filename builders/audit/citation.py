"""What a card cites of an audit: ``configs/NAME.audit.json``, written by the report and read by the build."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from builders import files
from builders.audit.lines import told
from builders.errors import StorageError
from builders.lock.model import AuditLock


def audit_path(folder: Path, config: str) -> Path:
    """Return where the latest audit of a config lies, beside its committed lock."""
    return folder / f"{config}.audit.json"


def read_audit(path: Path) -> AuditLock | None:
    """Read an audit; None where there is no file.

    Raises:
        StorageError: It cannot be read, or is no audit.
    """
    if not path.exists():
        return None
    try:
        return AuditLock.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValidationError as error:
        hint = "Run mteb-de audit report again."
        raise StorageError(f"{path}: not an audit ({told(error)})", hint=hint) from error


def write_audit(path: Path, audit: AuditLock) -> None:
    """Write an audit; equal audits are equal bytes.

    Raises:
        StorageError: It cannot be written.
    """
    files.write_json(path, audit.model_dump(mode="json"))

"""Small documents beside a config's lock that a card cites: read by the build, written by other verbs."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from builders.errors import StorageError
from builders.lock.lock import Frozen

_Cited = TypeVar("_Cited", bound=Frozen)


def read_cited(path: Path, model: type[_Cited], *, what: str, hint: str) -> _Cited | None:
    """Read a document; None where there is no file.

    Args:
        path: Where it lies.
        model: What it is.
        what: The same in words, for the error: "an audit".
        hint: What makes it again.

    Raises:
        StorageError: It cannot be read, or is something else.
    """
    if not path.exists():
        return None
    try:
        return model.model_validate_json(path.read_bytes())
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValidationError as error:
        raise StorageError(f"{path}: not {what} ({told(error)})", hint=hint) from error


def told(error: ValidationError) -> str:
    """Say the first fault of a document in a few words."""
    first = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])

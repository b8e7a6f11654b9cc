"""Files of vectors: written once, named after their checksum, safe with several writers."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from builders import files
from builders.encoders.protocol import Role
from builders.encoders.texts import text_key
from builders.errors import StorageError
from builders.lock.lock import EncoderIdentity

_FORMAT = 1  # raise it when the way of cutting texts or the files change
_KEY_SIZE = 32
_DESCRIPTION = "encoder.json"
_log = logging.getLogger(__name__)


def folder_of(identity: EncoderIdentity, root: Path) -> Path:
    """Return the folder for an encoder's vectors: one per identity, whatever of it differs."""
    # without defaults, so that a field added to the identity later moves no vectors
    fields = identity.model_dump(exclude_defaults=True)
    described = files.json_bytes({"format": _FORMAT, "dtype": "float32", "encoder": fields})
    return root / hashlib.sha256(described).hexdigest()[:32]


def describe(folder: Path, identity: EncoderIdentity) -> None:
    """Keep beside vectors whose they are.

    Raises:
        StorageError: The file cannot be written.
    """
    files.write_json(folder / _DESCRIPTION, identity.model_dump())


def described(root: Path) -> list[EncoderIdentity]:
    """Return the encoders that have vectors under `root`; what is no description there is passed over."""
    found = []
    for path in sorted(root.glob(f"*/{_DESCRIPTION}")):
        with contextlib.suppress(OSError, ValidationError):
            identity = EncoderIdentity.model_validate_json(path.read_bytes())
            if folder_of(identity, root) == path.parent:
                found.append(identity)
    return found


def write_shard(
    folder: Path,
    role: Role,
    texts: Sequence[str],
    truncated: NDArray[np.bool_],
    vectors: NDArray[np.float32],
) -> None:
    """Write vectors to a new file, whole or not at all.

    Args:
        folder: Where to.
        role: Of all texts.
        texts: The n texts as they were before truncating.
        truncated: Whether each was cut, shape (n,).
        vectors: float32 of shape (n, d).

    Raises:
        StorageError: The file cannot be written.
    """
    rows = np.empty(len(texts), dtype=_row(vectors.shape[1]))
    rows["key"] = [np.void(text_key(role, text)) for text in texts]
    rows["truncated"] = truncated
    rows["vector"] = vectors
    buffer = io.BytesIO()
    np.save(buffer, rows, allow_pickle=False)
    data = buffer.getvalue()
    files.write_bytes(folder / f"{role}-{hashlib.sha256(data).hexdigest()}.npy", data)


def read_shards(
    folder: Path, role: Role, dimensions: int
) -> Iterator[tuple[list[bytes], NDArray[np.bool_], NDArray[np.float32]]]:
    """Read one file after the other, in the order of their names.

    A file whose checksum is wrong is removed, with a warning in the log.

    Yields:
        Keys of n texts (see `text_key`), whether each was truncated, and float32 of shape (n, d).

    Raises:
        StorageError: A file cannot be read or removed.
    """
    for path in sorted(folder.glob(f"{role}-*.npy")):
        try:
            data = path.read_bytes()
            if path.stem != f"{role}-{hashlib.sha256(data).hexdigest()}":
                _log.warning("%s is damaged and was removed; its texts are encoded again", path)
                path.unlink(missing_ok=True)
                continue
        except FileNotFoundError:  # another process found it damaged
            continue
        except OSError as error:
            raise StorageError(
                f"{path}: cannot be read or removed ({error.strerror or error})",
                hint="The folder is a cache: correct its permissions, or remove it.",
            ) from error
        rows = np.load(io.BytesIO(data), allow_pickle=False).astype(_row(dimensions), copy=False)
        yield rows["key"].tolist(), rows["truncated"], rows["vector"]


def _row(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("key", f"V{_KEY_SIZE}"), ("truncated", "?"), ("vector", "<f4", (dimensions,))])

"""The vector cache: a text is encoded once, and a run that was killed goes on where it was.

Its files are written once, named after their checksum, and safe with several writers.
"""

import contextlib
import hashlib
import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ValidationError

from builders import files
from builders.encoders.protocol import Encoder, Role, excerpt, require_usable, text_key
from builders.errors import EncoderError, StorageError
from builders.home import home
from builders.lock.lock import EncoderIdentity

_FORMAT = 1  # raise it when the way of cutting texts or the files change
_KEY_SIZE = 32
_DESCRIPTION = "encoder.json"
_log = logging.getLogger(__name__)
_SHARD = 512
_NORM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors of texts, and counts of different texts.

    Attributes:
        vectors: float32 (n, d), in the order of the texts; L2-normalised where the encoder's own are.
        encoded: Texts that were encoded now.
        cached: Texts whose vectors were there.
        truncated: Texts that were longer than the encoder takes.
    """

    vectors: NDArray[np.float32]
    encoded: int
    cached: int
    truncated: int


def encode_cached(
    encoder: Encoder,
    texts: pl.Series,
    role: Role,
    *,
    root: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Encoded:
    """Truncate and encode texts, each different one once in the cache's life.

    Where all vectors are there, the encoder is only asked for its identity. Missing texts are encoded in an
    order of their own (length, key), in parts of 512 that are kept at once. What the cache holds changes no
    vector, since an encoder encodes each text for itself. Several processes may run at once.

    Args:
        encoder: One whose vectors need not have norm 1 has an attribute `normalised` that is false.
        texts: n texts without prefix, String, no nulls.
        role: Role of all texts.
        root: Folder of the cache; by default `vectors` in the home of all caches.
        progress: Called with (different texts done, different texts in all).
    """
    values: list[str] = texts.to_list()
    require_usable(values)
    identity = encoder.identity
    normalised = getattr(encoder, "normalised", True)
    folder = _folder_of(identity, root or home() / "vectors")
    slots: dict[bytes, int] = {}
    positions = np.array([slots.setdefault(text_key(role, text), len(slots)) for text in values], np.intp)
    rows = np.unique(positions, return_index=True)[1]

    vectors, known, truncated = _load(folder, role, slots, identity.dimensions)
    cached = int(known.sum())
    keys = list(slots)
    missing = sorted(np.flatnonzero(~known), key=lambda slot: (len(values[rows[slot]]), keys[slot]))
    if missing:
        files.write_json(folder / _DESCRIPTION, identity.model_dump())
    for start in range(0, len(missing), _SHARD):
        if progress:
            progress(cached + start, len(slots))
        part = np.array(missing[start : start + _SHARD])
        originals = [values[row] for row in rows[part]]
        texts_cut = encoder.truncate(originals, role)
        encoded = encoder.encode(texts_cut, role)
        _require_sound(encoded, rows[part], originals, identity.dimensions, normalised=normalised)
        cut = np.array([one != other for one, other in zip(originals, texts_cut, strict=True)])
        _write_shard(folder, role, originals, cut, encoded)
        vectors[part], truncated[part] = encoded, cut
    if progress:
        progress(len(slots), len(slots))

    in_order = len(slots) == len(values)
    return Encoded(
        vectors=vectors if in_order else vectors[positions],
        encoded=len(missing),
        cached=cached,
        truncated=int(truncated.sum()),
    )


def _load(
    folder: Path, role: Role, slots: Mapping[bytes, int], dimensions: int
) -> tuple[NDArray[np.float32], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the vectors that the cache holds, which ones these are, and which texts were truncated."""
    vectors = np.zeros((len(slots), dimensions), np.float32)
    known, truncated = np.zeros((2, len(slots)), np.bool_)
    for shard in _read_shards(folder, role, dimensions):
        wanted = [(row, slots[key]) for row, key in enumerate(shard["key"].tolist()) if key in slots]
        rows, targets = [row for row, _ in wanted], [slot for _, slot in wanted]
        vectors[targets], truncated[targets] = shard["vector"][rows], shard["truncated"][rows]
        known[targets] = True
    return vectors, known, truncated


def _require_sound(
    vectors: NDArray[np.float32],
    rows: NDArray[np.intp],
    texts: Sequence[str],
    dimensions: int,
    *,
    normalised: bool,
) -> None:
    if vectors.shape != (len(texts), dimensions) or vectors.dtype != np.float32:
        raise EncoderError(
            f"the encoder returned {vectors.dtype} of shape {vectors.shape} for {len(texts)} texts; "
            f"it declares float32 with {dimensions} dimensions"
        )
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    sound = np.abs(norms - 1) <= _NORM_TOLERANCE if normalised else np.isfinite(norms) & (norms > 0)
    wrong = np.flatnonzero(~sound)  # NaN is wrong too
    if len(wrong):
        first = int(wrong[0])
        raise EncoderError(
            f"{len(wrong)} of {len(texts)} vectors are not usable; the first is that of text {rows[first]}, "
            f"{excerpt(texts[first])}: its norm is {norms[first]:.6g}{', not 1' if normalised else ''}",
            hint="Nothing of this part was kept. Check the model's weights and its normalising module.",
        )


def _folder_of(identity: EncoderIdentity, root: Path) -> Path:
    """Return the folder for an encoder's vectors: one per identity, whatever of it differs."""
    # without defaults, so that a field added to the identity later moves no vectors
    fields = identity.model_dump(exclude_defaults=True)
    described = files.json_bytes({"format": _FORMAT, "dtype": "float32", "encoder": fields})
    return root / hashlib.sha256(described).hexdigest()[:32]


def described(root: Path) -> list[EncoderIdentity]:
    """Return the encoders that have vectors under `root`; what is no description there is passed over."""
    found = []
    for path in sorted(root.glob(f"*/{_DESCRIPTION}")):
        with contextlib.suppress(OSError, ValidationError):
            identity = EncoderIdentity.model_validate_json(path.read_bytes())
            if _folder_of(identity, root) == path.parent:
                found.append(identity)
    return found


def _write_shard(
    folder: Path,
    role: Role,
    texts: Sequence[str],
    truncated: NDArray[np.bool_],
    vectors: NDArray[np.float32],
) -> None:
    """Write vectors of texts, as they were before truncating, to a new file, whole or not at all."""
    rows = np.empty(len(texts), dtype=_row(vectors.shape[1]))
    rows["key"] = [np.void(text_key(role, text)) for text in texts]
    rows["truncated"] = truncated
    rows["vector"] = vectors
    buffer = io.BytesIO()
    np.save(buffer, rows, allow_pickle=False)
    data = buffer.getvalue()
    files.write_bytes(folder / f"{role}-{hashlib.sha256(data).hexdigest()}.npy", data)


def _read_shards(folder: Path, role: Role, dimensions: int) -> Iterator[NDArray[np.void]]:
    """Yield the rows of each file; a damaged file is removed."""
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
        yield np.load(io.BytesIO(data), allow_pickle=False).astype(_row(dimensions), copy=False)


def _row(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("key", f"V{_KEY_SIZE}"), ("truncated", "?"), ("vector", "<f4", (dimensions,))])

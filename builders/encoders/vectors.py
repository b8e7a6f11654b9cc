"""The vector cache: a text is encoded once, and a run that was killed goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from builders.encoders.protocol import Encoder, Role
from builders.encoders.shards import describe, folder_of, read_shards, write_shard
from builders.encoders.texts import excerpt, require_usable, text_key
from builders.errors import EncoderError
from builders.home import home

_SHARD = 512
_NORM_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Encoded:
    """Vectors, and how they came about.

    Attributes:
        vectors: float32 of shape (n, d), in the order of the texts; L2-normalised, unless the encoder says
            that its own are not.
        encoded: Different texts that were encoded now.
        cached: Different texts whose vectors were there.
        truncated: Different texts that were longer than the encoder takes.
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
        encoder: The encoder. One whose vectors need not have norm 1 has an attribute `normalised` that is
            false.
        texts: n texts without prefix, String, no nulls.
        role: Of all texts.
        root: Folder of the cache; by default `vectors` in the home of all caches.
        progress: Called with (different texts done, different texts in all).

    Returns:
        The vectors and counts.

    Raises:
        EncoderError: A text is not usable, or its vector is not finite, zero or not normalised, or has
            another number of dimensions than the encoder declares.
        StorageError: The cache cannot be read or written.
        RemoteError: The model cannot be fetched.
        SourceMissing: The encoder is offline, and its model is not cached.
    """
    values: list[str] = texts.to_list()
    require_usable(values)
    identity = encoder.identity
    normalised = getattr(encoder, "normalised", True)
    folder = folder_of(identity, root or home() / "vectors")
    slots: dict[bytes, int] = {}
    positions = np.array(
        [slots.setdefault(text_key(role, text), len(slots)) for text in values], dtype=np.intp
    )
    rows = np.unique(positions, return_index=True)[1]

    found = _load(folder, role, slots, identity.dimensions)
    cached = int(found.known.sum())
    keys = list(slots)
    missing = sorted(np.flatnonzero(~found.known), key=lambda slot: (len(values[rows[slot]]), keys[slot]))
    if missing:
        describe(folder, identity)
    for start in range(0, len(missing), _SHARD):
        if progress:
            progress(cached + start, len(slots))
        part = np.array(missing[start : start + _SHARD])
        originals = [values[row] for row in rows[part]]
        texts_cut = encoder.truncate(originals, role)
        vectors = encoder.encode(texts_cut, role)
        _require_sound(vectors, rows[part], originals, identity.dimensions, normalised=normalised)
        cut = np.array([one != other for one, other in zip(originals, texts_cut, strict=True)])
        write_shard(folder, role, originals, cut, vectors)
        found.vectors[part], found.truncated[part] = vectors, cut
    if progress:
        progress(len(slots), len(slots))

    in_order = len(slots) == len(values)
    return Encoded(
        vectors=found.vectors if in_order else found.vectors[positions],
        encoded=len(missing),
        cached=cached,
        truncated=int(found.truncated.sum()),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the cache holds of the wanted texts; rows without `known` are zero."""

    vectors: NDArray[np.float32]
    known: NDArray[np.bool_]
    truncated: NDArray[np.bool_]


def _load(folder: Path, role: Role, slots: Mapping[bytes, int], dimensions: int) -> _Found:
    size = len(slots)
    found = _Found(
        np.zeros((size, dimensions), dtype=np.float32), np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    )
    for keys, cut, vectors in read_shards(folder, role, dimensions):
        wanted = [(row, slots[key]) for row, key in enumerate(keys) if key in slots]
        wanted = [(row, slot) for row, slot in wanted if not found.known[slot]]
        sources, targets = [row for row, _ in wanted], [slot for _, slot in wanted]
        found.vectors[targets], found.truncated[targets] = vectors[sources], cut[sources]
        found.known[targets] = True
    return found


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

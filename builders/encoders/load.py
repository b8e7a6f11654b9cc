"""From a config's pinned encoder to one that encodes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from builders.encoders.protocol import Encoder
from builders.errors import UsageError
from builders.spec import EncoderSpec

Backend = Literal["e5", "offline"]


def load_encoder(
    spec: EncoderSpec,
    backend: Backend,
    *,
    workers: int | None = None,
    offline: bool = False,
    root: Path | None = None,
) -> Encoder:
    """Return the encoder of a config. Nothing is loaded or fetched before it is used.

    Args:
        spec: The pinned encoder.
        backend: "e5" is that model; "offline" stands in for it with a small one that needs no network.
        workers: Threads (e5) or processes (offline); by default one per usable CPU.
        offline: Never touch the network.
        root: Folder of the cached vectors, as for `encode_cached`.

    Raises:
        EncoderError: The stand-in adds other prefixes than the config declares, or takes fewer tokens.
        UsageError: There is no such backend, or fewer than one worker.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"an encoder needs at least one worker, not {workers}")
    if backend == "e5":
        from builders.encoders.e5 import E5

        return E5(spec, threads=workers, offline=offline, root=root)
    if backend == "offline":
        from builders.encoders.offline import offline_for

        return offline_for(spec, workers=workers)
    raise UsageError(f"there is no encoder {backend!r}", hint="Use e5 or offline.")

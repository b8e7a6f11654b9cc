"""Options of a build."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builders.lock.committed import FOLDER


@dataclass(frozen=True, slots=True)
class Options:
    """How to build. What changes a published byte is `encoder`, `recipe`, `limit`, splits and sources alone.

    Attributes:
        encoder: "e5" is the pinned model, "offline" the small one that needs no download.
        recipe: Name of the recipe that mines; None for the config's.
        sources: Folders or base URLs that stand in for the upstreams.
        limit: Build from this many queries, documents or ids only.
        workers: Encoding processes; None for one per core.
        committed: Folder of the committed locks and splits.
        against_lock: Whether sources must be those of the committed lock; false only to replace it.
    """

    out: Path
    encoder: Literal["e5", "offline"] = "e5"
    recipe: str | None = None
    offline: bool = False
    sources: tuple[str, ...] = ()
    limit: int | None = None
    workers: int | None = None
    home: Path | None = None
    committed: Path = FOLDER
    against_lock: bool = True

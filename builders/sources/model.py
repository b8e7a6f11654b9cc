"""What fetching gives: local files, and the facts about them that the lock keeps."""

from __future__ import annotations

from dataclasses import dataclass

from builders.lock.model import SourceLock
from builders.spec import Files


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a config's sources, and the locks of those sources."""

    files: Files
    locks: tuple[SourceLock, ...]

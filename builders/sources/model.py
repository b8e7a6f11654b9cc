"""What fetching takes and gives: plain files as sources, local files, and the facts the lock keeps."""

from __future__ import annotations

from dataclasses import dataclass

from builders.lock.lock import LockedSource
from builders.spec import Files


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a config's sources, and the locks of those sources."""

    files: Files
    locks: tuple[LockedSource, ...]

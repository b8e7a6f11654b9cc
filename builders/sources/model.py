"""What fetching takes and gives: plain files as sources, local files, and the facts the lock keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from builders.lock.model import SourceLock

if TYPE_CHECKING:
    from builders.spec import Files  # a spec names its sources, so the import at run time is the other way


def _never(_: Path) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class HttpSource:
    """A plain file behind a URL, pinned by its hash.

    Attributes:
        name: The file's name, without a folder; also its key in `Fetched.files`.
        url: Where it lies, http or https.
        sha256: Of its bytes, 64 lower-case hex digits.
        size: Its bytes.
        licence: SPDX-like Hub licence id, lower case.
    """

    name: str
    url: str
    sha256: str
    size: int
    licence: str


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A plain file behind a URL whose hash stands in the config's committed lock, not in its spec.

    Without such a lock it is read from stand-ins only, or fetched once to be recorded: a build never takes
    whatever the server sends.

    Attributes:
        name: The file's name, without a folder; also its key in `Fetched.files`.
        url: Where it lies, http or https.
        licence: SPDX-like Hub licence id, lower case.
    """

    name: str
    url: str
    licence: str


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A plain file that a verb of this command makes on this machine: no upstream has it.

    Attributes:
        name: The file's name, without a folder; also its key in `Fetched.files`.
        folder: Where the verb leaves it, below the folder of the caches.
        hint: How to make it.
        licence: SPDX-like Hub licence id, lower case; empty where it holds facts alone.
        is_stand_in: Says whether a file was not made from the real thing; it is locked without a revision, so
            that what is built from it can be rehearsed only.
    """

    name: str
    folder: str
    hint: str
    licence: str = ""
    is_stand_in: Callable[[Path], bool] = _never


@dataclass(frozen=True, slots=True)
class Fetched:
    """The files of a config's sources, and the locks of those sources."""

    files: Files
    locks: tuple[SourceLock, ...]

"""Upstreams that lie in local folders: datasets laid out as on the Hub, and plain files by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from builders.errors import SourceError, SourceMissing
from builders.files import safe_path, sha256
from builders.lock.lock import LockedSource, SourceFile
from builders.sources.readme import LARGEST, README, select

if TYPE_CHECKING:
    from builders.spec import HubSource


def dataset_folder(root: Path, repo: str) -> Path:
    """Return where a Hub dataset lies under `root`, whether it is there or not."""
    return root / "datasets" / safe_path(repo, what="repository", repo=repo)


def fetch_folder(source: HubSource, root: Path) -> tuple[dict[str, list[Path]], LockedSource]:
    """Find the files of a dataset's parts in ``ROOT/datasets/OWNER/NAME``. They are hashed, not copied.

    Args:
        source: The dataset; its pin is not looked at, and the lock has none.
        root: The folder that holds `datasets`.

    Returns:
        The files by part, in the order of the README's patterns, and the source's lock of kind "folder".

    Raises:
        SourceMissing: README, a wanted README config or a file is not there.
        SourceError: The README cannot be read, or names files outside its folder.
        StorageError: A file cannot be read.
    """
    base = dataset_folder(root, source.repo)
    paths = [file.relative_to(base).as_posix() for file in base.rglob("*") if file.is_file()]
    selection = select(source.repo, source.parts, _readme(base), paths)
    files = {part: [base / path for path in paths] for part, paths in selection.items()}
    return files, LockedSource(
        kind="folder",
        name=source.repo,
        licence=source.licence,
        files=tuple(
            SourceFile(part=part, path=path, sha256=sha256(base / path), size=(base / path).stat().st_size)
            for part, paths in selection.items()
            for path in paths
        ),
    )


def _readme(base: Path) -> bytes:
    path = base / README
    try:
        if path.stat().st_size > LARGEST:
            raise SourceError(f"{path} has more than {LARGEST} bytes")
        return path.read_bytes()
    except OSError as error:
        raise SourceMissing(
            f"{path}: cannot be read ({error.strerror or error})",
            hint="The folder needs the dataset's README: its `configs` say which files are which.",
        ) from error

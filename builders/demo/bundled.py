"""The bundled sample: made-up upstreams in the layout of a stand-in, written by scripts/make_sample."""

import datetime
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from builders import files
from builders.sources.repository import dataset_folder
from builders.spec import ConfigSpec, HubSource, LocalFile

DUMP = "RS_sample.zst"
CHECKED = datetime.date(2026, 1, 1)
"""The day of the sample's ledger, which enters its lock."""


def lay_out(folder: Path) -> None:
    """Write the sample into a folder: datasets as `datasets/OWNER/NAME`, plain files by name.

    Raises:
        StorageError: The folder cannot be written.
    """
    for path, file in _entries(resources.files("builders.demo").joinpath("sample"), folder):
        files.write_bytes(path, file.read_bytes())


def _entries(place: Traversable, target: Path) -> Iterator[tuple[Path, Traversable]]:
    for entry in place.iterdir():
        if entry.is_dir():
            yield from _entries(entry, target / entry.name)
        else:
            yield target / entry.name, entry


def lacking(spec: ConfigSpec, folder: Path) -> tuple[str, ...]:
    """Return the sources of a config that the sample under a folder does not hold.

    A file that a verb makes on this machine belongs to no upstream.
    """
    names = []
    for source in spec.sources:
        if isinstance(source, HubSource):
            found, name = dataset_folder(folder, source.repo).is_dir(), source.repo
        else:
            found, name = isinstance(source, LocalFile) or (folder / source.name).is_file(), source.name
        names += [] if found else [name]
    return tuple(names)

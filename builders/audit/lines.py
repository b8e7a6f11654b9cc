"""Reading files of one JSON object a line, so that a bad line can be named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from builders.errors import StorageError, UsageError

_LARGEST = 64 << 20


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines of a file that are not blank, counted from 1.

    Raises:
        StorageError: The file cannot be read.
        UsageError: It is not UTF-8, or larger than any file of ours (64 MB).
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path}: larger than 64 MB; this is no file of an audit")
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: not UTF-8 (byte {error.start})", hint="Take the file as it came."
        ) from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line

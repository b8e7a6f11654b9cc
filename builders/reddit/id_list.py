"""The file of submission ids: `submission_ids.txt`, a line `id`, then one id a line."""

from __future__ import annotations

import re
from pathlib import Path

from builders.errors import SourceMissing, SourceSchema
from builders.reddit.submission import SUBMISSION_ID
from builders.spec import IdsFile
from builders.text_files import text_lines

HEADER = "id"


def read_ids(path: Path) -> list[str]:
    """Return the ids of a file, each once, in the order in which it is first seen; see `read`."""
    return list(read(path).ids)


def read(path: Path) -> IdsFile:
    """Read a file of submission ids.

    Args:
        path: UTF-8 text with or without a byte order mark, LF or CRLF. Its first line is `id`; blank lines
            are passed over.

    Raises:
        SourceMissing: There is no such file.
        SourceSchema: The header is missing, or a line is no id: what a spreadsheet has made a number, an id
            in capitals, with a prefix or with blanks. Nothing is guessed.
    """
    try:
        lines = text_lines(path.read_bytes())
    except FileNotFoundError as error:
        raise SourceMissing(f"{path}: no such file", hint="Name a file of submission ids.") from error
    except OSError as error:
        raise SourceMissing(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        hint = "Save it as plain text in UTF-8, one id a line."
        raise SourceSchema(f"{path}: not UTF-8 text (byte {error.start:,})", hint=hint) from error
    first, header = lines[0] if lines else (1, "")
    if header != HEADER:
        raise SourceSchema(
            f"{path}, line {first}: the header is {header[:40]!r}, not {HEADER!r}",
            hint="The first line names the column, `id`; one id a line follows.",
        )
    for number, line in lines[1:]:
        if not SUBMISSION_ID.fullmatch(line):
            raise SourceSchema(
                f"{path}, line {number}: {line[:40]!r} is not the id of a submission", hint=_why(line)
            )
    found = [line for _, line in lines[1:]]
    return IdsFile(ids=tuple(dict.fromkeys(found)), lines=len(found))


def _why(line: str) -> str:
    if re.fullmatch(r"[0-9]{1,20}[.,]?[0-9]{0,20}[eE][+-]?[0-9]{1,4}", line.strip()[:60]):
        return "A spreadsheet has read the ids as numbers; take the file as it was before."
    if line.startswith("t3_"):
        return "Remove the prefix t3_ from all lines."
    return "An id is 5 to 8 lower-case letters and digits, without blanks, quotes or prefix."

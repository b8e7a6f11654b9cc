"""Write the items of a sample as CSV, for auditors who prefer a spreadsheet, and read it back.

A spreadsheet rewrites what looks like a number, a date or a formula. The ids of samples and items begin with
a letter and a hyphen and stay; every id that comes from elsewhere gets an apostrophe in front.
"""

from __future__ import annotations

import csv
import io
import re
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from builders.audit.history import Judgement, NoVerdict, Sample
from builders.audit.sample import Pairs
from builders.errors import StorageError, UsageError
from builders.lock.lock import first_fault

COLUMNS = ("number", "sample", "item", "query-id", "corpus-id", "query", "title", "text", "verdict", "note")
_FORMULA = re.compile(r"[\s\u200b\ufeff]*[-=+@＝＋－＠]|[ \u00a0\u200b\ufeff]*[\t\r\n]")
_SAMPLE = re.compile(r"(?:s-)?[0-9a-f]{16}")
_SAFE_ID = re.compile(r"[a-z]-[0-9a-f]{16}")
_LARGEST_CELL = 1 << 20
_REWRITTEN = (
    "A spreadsheet may have rewritten an id as a number: copy the column from the CSV that "
    "mteb-de audit sample wrote."
)


def to_csv(sample: Sample, pairs: Pairs) -> bytes:
    """Return the items of a sample as CSV with empty columns ``verdict`` and ``note``.

    UTF-8 with a byte order mark, so that spreadsheets read umlauts. A cell that a spreadsheet would take for
    a formula gets an apostrophe in front.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    rows = zip(sample.items, pairs.texts(sample).iter_rows(named=True), strict=True)
    for number, (item, row) in enumerate(rows, 1):
        ids = (sample.head.sample, item.item, item.query_id, item.passage_id)
        cells = (row["query"], row["title"], row["text"], "", "")
        writer.writerow([number, *map(_guarded, ids), *map(_neutral, cells)])
    return out.getvalue().encode("utf-8-sig", errors="replace")


def _neutral(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def _guarded(name: str) -> str:
    return name if _SAFE_ID.fullmatch(name) else f"'{name}"


def read_csv(path: Path, sample: Sample, auditor: str, at: datetime) -> list[tuple[int, Judgement]]:
    """Read the verdicts that were typed into the CSV of a sample, with line numbers; empty rows are left out.

    "withdrawn" takes an earlier verdict back. A row whose item id was rewritten is known by its pair.

    Args:
        path: The file, comma- or semicolon-separated.
        sample: The sample that it was made from.
        auditor: Name of the auditor.
        at: Time of the verdicts, which a spreadsheet does not keep.

    Raises:
        UsageError: It is no such CSV, a verdict is none of the known ones, a row belongs to no item, or two
            judge one item; the error names file and line.
    """
    by_id = {item.item: item for item in sample.items}
    by_pair = {(item.query_id, item.passage_id): item for item in sample.items}
    judged: dict[str, tuple[int, Judgement]] = {}
    for number, row in _rows(path):
        verdict, note = row["verdict"].strip().casefold().replace(" ", "_"), row["note"].strip()
        if not verdict and not note:
            continue
        cells = {name: _unguarded(row[name]) for name in ("sample", "item", "query-id", "corpus-id")}
        item = by_id.get(cells["item"]) or by_pair.get((cells["query-id"], cells["corpus-id"]))
        if item is None:
            raise UsageError(
                f"{path}, line {number}: neither item {cells['item'][:40]!r} nor the pair "
                f"{cells['query-id'][:40]!r}, {cells['corpus-id'][:40]!r} is in the sample",
                hint=_REWRITTEN,
            )
        if cells["sample"] != sample.head.sample:
            fault = f"{cells['sample'][:40]!r} is another sample than above"
            raise UsageError(f"{path}, line {number}: {fault}", hint=_REWRITTEN)
        if item.item in judged:
            raise UsageError(
                f"{path}, lines {judged[item.item][0]} and {number}: both judge item {item.item}",
                hint="Keep one of the two rows.",
            )
        document = {
            **cells,
            "config": sample.head.config,
            "build": sample.head.build,
            "item": item.item,
            "verdict": verdict or NoVerdict.NOTED,
            "note": note,
            "auditor": auditor,
            "at": at,
        }
        try:
            judged[item.item] = number, Judgement.model_validate(document)
        except ValidationError as error:
            hint = "Correct the cell; the time is that of the file: save it again."
            raise UsageError(f"{path}, line {number}: {first_fault(error)}", hint=hint) from error
    return list(judged.values())


def sample_of(path: Path) -> str:
    """Return the id of the sample that a CSV was made from."""
    for number, row in _rows(path):
        name = _unguarded(row["sample"])
        if not _SAMPLE.fullmatch(name):
            raise UsageError(f"{path}, line {number}: {name[:40]!r} is no id of a sample", hint=_REWRITTEN)
        return name
    raise UsageError(f"{path}: no row", hint="Take the CSV that mteb-de audit sample wrote.")


def _unguarded(cell: str) -> str:
    return cell.strip().removeprefix("'")


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8", hint="Save it as CSV UTF-8.") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    header = text.split("\n", 1)[0]
    delimiter = ";" if header.count(";") > header.count(",") else ","
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, restval="")
        if missing := [name for name in COLUMNS[1:] if name not in (reader.fieldnames or ())]:
            raise UsageError(f"{path}: column {missing[0]!r} is missing", hint="Keep the header as it was.")
        return [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UsageError(f"{path}: not CSV ({error})") from error
    finally:
        csv.field_size_limit(before)

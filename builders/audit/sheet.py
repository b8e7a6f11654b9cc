"""Write the items of a sample as CSV, for auditors who prefer a spreadsheet, and read it back.

A spreadsheet rewrites what looks like a number, a date or a formula. The ids of samples and items begin with
a letter and a hyphen and stay; every id that comes from elsewhere gets an apostrophe in front.
"""

import csv
import io
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from builders.audit.history import Judgement, NoVerdict, Sample, Verdict, auditor_name, find_sample
from builders.audit.sample import Pairs
from builders.errors import StorageError, UsageError
from builders.lock.lock import first_fault

COLUMNS = ("number", "sample", "item", "query-id", "corpus-id", "query", "title", "text", "verdict", "note")
_IDS = ("sample", "item", "query-id", "corpus-id")
_FORMULA = re.compile(r"[\s\u200b\ufeff]*[-=+@＝＋－＠]|[ \u00a0\u200b\ufeff]*[\t\r\n]")
_SAMPLE = re.compile(r"(?:s-)?[0-9a-f]{16}")
_SAFE_ID = re.compile(r"[a-z]-[0-9a-f]{16}")
_WRITTEN = {event.words: event for event in (*Verdict, NoVerdict.WITHDRAWN)}
_LARGEST_CELL = 1 << 20
_REWRITTEN = "A spreadsheet may have made an id a number: copy the column from the CSV that was drawn."


def to_csv(sample: Sample, pairs: Pairs) -> bytes:
    """Return the items of a sample as CSV with empty columns ``verdict`` and ``note``.

    UTF-8 with a byte order mark, so that spreadsheets read umlauts.
    """
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for number, (item, row) in enumerate(pairs.texts(sample), 1):
        ids = (sample.head.sample, item.item, item.query_id, item.passage_id)
        cells = (row["query"], row["title"], row["text"], "", "")
        guarded = (name if _SAFE_ID.fullmatch(name) else f"'{name}" for name in ids)
        writer.writerow([number, *guarded, *map(_neutral, cells)])
    return out.getvalue().encode("utf-8-sig", errors="replace")


def _neutral(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def read_csv(path: Path, folders: Sequence[Path], auditor: str) -> list[tuple[int, Judgement]]:
    """Read the verdicts that were typed into the CSV of a sample, with line numbers; empty rows are left out.

    "withdrawn" takes an earlier verdict back. A row whose item id was rewritten is known by its pair. The
    verdicts bear the time of the file: a spreadsheet keeps no other. The sample lies in one of the folders.

    Raises:
        UsageError: It is no such CSV, a verdict is none of the known ones, a row belongs to no item, or two
            judge one item; the error names file and line.
    """
    try:
        auditor_name(auditor)
    except ValueError as error:
        raise UsageError(f"--auditor: {error}", hint="Pass --auditor NAME.") from error
    rows = _rows(path)
    name = rows[0][1]["sample"]
    if not _SAMPLE.fullmatch(name):
        fault = f"{name[:40]!r} is no id of a sample"
        raise UsageError(f"{path}, line {rows[0][0]}: {fault}", hint=_REWRITTEN)
    sample = find_sample(name, folders)
    at = datetime.fromtimestamp(path.stat().st_mtime_ns // 1_000_000 / 1000, UTC)
    by_id = {item.item: item for item in sample.items}
    by_pair = {(item.query_id, item.passage_id): item for item in sample.items}
    judged: dict[str, tuple[int, Judgement]] = {}
    for number, row in rows:
        if not row["verdict"] and not row["note"]:
            continue
        pair = row["query-id"], row["corpus-id"]
        item = by_id.get(row["item"]) or by_pair.get(pair)
        if item is None:
            ids = [row[column][:40] for column in _IDS[1:]]
            fault = "neither item {!r} nor the pair {!r}, {!r} is in the sample".format(*ids)
            raise UsageError(f"{path}, line {number}: {fault}", hint=_REWRITTEN)
        if row["sample"] != name:
            fault = f"{row['sample'][:40]!r} is another sample than above"
            raise UsageError(f"{path}, line {number}: {fault}", hint=_REWRITTEN)
        if item.item in judged:
            raise UsageError(
                f"{path}, lines {judged[item.item][0]} and {number}: both judge item {item.item}",
                hint="Keep one of the two rows.",
            )
        words = row["verdict"].casefold().replace("_", " ")
        if words and words not in _WRITTEN:
            fault = f"verdict {row['verdict'][:40]!r} is unknown"
            raise UsageError(f"{path}, line {number}: {fault}", hint=f"Write one of: {', '.join(_WRITTEN)}.")
        document = {
            **{column: row[column] for column in ("sample", "query-id", "corpus-id", "note")},
            "config": sample.head.config,
            "build": sample.head.build,
            "item": item.item,
            "verdict": _WRITTEN.get(words, NoVerdict.NOTED),
            "auditor": auditor,
            "at": at,
        }
        try:
            judged[item.item] = number, Judgement.model_validate(document)
        except ValidationError as error:
            hint = "Correct the cell; the time is that of the file: save it again."
            raise UsageError(f"{path}, line {number}: {first_fault(error)}", hint=hint) from error
    return list(judged.values())


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the rows, at least one, with the numbers of their lines; ids are without their apostrophes."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8", hint="Save it as CSV UTF-8.") from error
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    first = text.partition("\n")[0]
    delimiter = ";" if first.count(";") > first.count(",") else ","
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header = next(reader, [])
        if wrong := [name for name in COLUMNS[1:] if header.count(name) != 1]:
            fault = f"column {wrong[0]!r} is {'there twice' if wrong[0] in header else 'missing'}"
            raise UsageError(f"{path}: {fault}", hint="Keep the header as it was.")
        rows = []
        for cells in filter(any, reader):
            if len(cells) < len(header) or any(cells[len(header) :]):
                fault = f"line {reader.line_num}: {len(cells)} cells, and the header has {len(header)}"
                raise UsageError(f"{path}, {fault}", hint="A cell was deleted or added: restore the row.")
            row = dict(zip(header, cells, strict=False))
            rows.append((reader.line_num, {name: row[name].strip() for name in COLUMNS[1:]}))
    except csv.Error as error:
        hint = "A quotation mark may be missing."
        raise UsageError(f"{path}, line {reader.line_num}: not CSV ({error})", hint=hint) from error
    finally:
        csv.field_size_limit(before)
    if not rows:
        raise UsageError(f"{path}: no row", hint="Take the CSV that mteb-de audit sample wrote.")
    for _, row in rows:
        row |= {name: row[name].removeprefix("'") for name in _IDS}
    return rows

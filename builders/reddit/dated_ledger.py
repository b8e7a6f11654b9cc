"""The dated ledger: which submissions there were on a day, under which label, and not a word of them.

It is the pinned source of labels and sets. Each line names where its answer comes from, so that a ledger
which did not come from Reddit, or from archives of it, can never be published.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from pathlib import Path

import polars as pl

from builders.errors import SourceSchema
from builders.files import write_bytes
from builders.reddit.submission import ARCHIVE, SUBMISSION_ID, SUBREDDIT, Status, Submission
from builders.text_files import source_lines

COLUMNS = ("id", "status", "subreddit", "checked", "origin", "archive")
SCHEMA = pl.Schema(dict.fromkeys(COLUMNS, pl.String))


class Origin(StrEnum):
    """Where an answer comes from: Reddit, a known archive of submissions, or what stood in for either."""

    API = "api"
    DUMP = "dump"
    STAND_IN = "stand-in"


_HEADER = "\t".join(COLUMNS)
_EXPECTED = f"The file has the columns {', '.join(COLUMNS)}, separated by tabs, and one submission a line."
_RULES = {
    "not the id of a submission": ("id", rf"\A(?:{SUBMISSION_ID.pattern})\z"),
    "not a status": ("status", rf"\A(?:{'|'.join(Status)})\z"),
    "not the name of a subreddit": ("subreddit", rf"\A(?:{SUBREDDIT.pattern})?\z"),
    "not a date": ("checked", r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"),
    "not an origin": ("origin", rf"\A(?:{'|'.join(Origin)})\z"),
    "not the name of a dump with its sha256": ("archive", rf"\A(?:{ARCHIVE.pattern})?\z"),
}


def statuses(
    entries: Iterable[Submission], *, archives: Collection[str] = (), stand_in: bool = False
) -> pl.DataFrame:
    """Return the dated ledger of submissions, of which each id has one.

    Args:
        entries: What is known of them.
        archives: The sha256 of dumps that are known to be archives of Reddit; any other dump is a stand-in.
        stand_in: Whether they come from a stand-in for Reddit, or are made up.

    Returns:
        `id`, `status`, `subreddit` (empty where it is not known), `checked` (an ISO date: of the answer, or
        the day on which an archive was read), `origin`, `archive` (name and sha256 of a dump): str, by id.
    """
    rows = [
        (one.id, one.status.value, one.subreddit, one.checked.isoformat(), one.origin, one.archive)
        for one in entries
    ]
    told = pl.DataFrame(rows, schema=SCHEMA, orient="row").sort("id")
    made_up = pl.lit(stand_in) | _made_up(archives)
    return told.with_columns(origin=pl.when(made_up).then(pl.lit(Origin.STAND_IN.value)).otherwise("origin"))


def write_statuses(path: Path, frame: pl.DataFrame) -> None:
    """Write the dated ledger atomically; refuse what could not be read again. Equal rows are equal bytes."""
    _refuse_wrong(path, frame.select(COLUMNS).sort("id").with_row_index("number", offset=2))
    text = (
        frame.select(COLUMNS).sort("id").write_csv(separator="\t", quote_style="never", line_terminator="\n")
    )
    write_bytes(path, text.encode())


def read_statuses(path: Path) -> pl.DataFrame:
    """Read a dated ledger, as `statuses` returns it; strictly but for byte order mark, CRLF and blank lines.

    Raises:
        SourceSchema: Its header is another one, a line has other or wrong fields, or an id is there twice.
    """
    absent = "Run `mteb-de hydrate subreddit` first, or name the ledger."
    lines = source_lines(path, absent=absent, form=_EXPECTED)
    first, header = lines[0] if lines else (1, "")
    if header != _HEADER:
        problem = f"not the header of a dated ledger: {header[:60]!r}"
        raise SourceSchema(f"{path}, line {first}: {problem}", hint=_EXPECTED)
    if not path.read_bytes().endswith(b"\n"):
        raise SourceSchema(f"{path}: the last line is cut off", hint="Take the whole file.")
    parts = pl.col("line").str.split("\t")
    frame = pl.DataFrame(lines[1:], schema={"number": pl.UInt32, "line": pl.String}, orient="row")
    _refuse(path, frame.filter(parts.list.len() != len(COLUMNS)), "line", f"not {len(COLUMNS)} fields")
    fields = frame.select(
        "number", *(parts.list.get(i, null_on_oob=True).alias(c) for i, c in enumerate(COLUMNS))
    )
    _refuse_wrong(path, fields)
    return fields.select(COLUMNS).sort("id")


def is_stand_in(path: Path, archives: Collection[str] = ()) -> bool:
    """Say whether an answer comes from a stand-in, also for `archives` of today: it may be rehearsed only."""
    return not read_statuses(path).filter(_made_up(archives)).is_empty()


def _made_up(archives: Collection[str]) -> pl.Expr:
    """Tell answers of a stand-in for Reddit, and of a dump that nobody knows as an archive of it."""
    unknown = ~pl.col("archive").str.split("@").list.last().is_in(list(archives))
    return (pl.col("origin") == Origin.STAND_IN) | ((pl.col("origin") == Origin.DUMP) & unknown)


def _refuse_wrong(path: Path, fields: pl.DataFrame) -> None:
    for problem, (column, pattern) in _RULES.items():
        _refuse(path, fields.filter(~pl.col(column).str.contains(pattern)), column, problem)
    date = pl.col("checked").str.to_date("%Y-%m-%d", strict=False)
    _refuse(path, fields.filter(date.is_null()), "checked", "not a date")
    _refuse(path, fields.filter(~pl.col("id").is_first_distinct()), "id", "stands there twice")


def _refuse(path: Path, wrong: pl.DataFrame, column: str, problem: str) -> None:
    if wrong.height:
        first = wrong.row(0, named=True)
        where = f"{path}, line {first['number']}: {first[column][:40]!r} ({column})"
        raise SourceSchema(f"{where}: {problem}", hint=_EXPECTED)

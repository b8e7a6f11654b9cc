"""Splits: queries are dealt in groups, and groups of one leak key together, so that no split holds a twin.

The committed assignment is an input: what it holds stays. A group is known in it by the first 16 hex digits
of blake2b of its key, so that the file holds no text; `assign` hashes the keys that it is given likewise.
"""

from pathlib import Path

import polars as pl

from builders.errors import StorageError, UsageError
from builders.files import write_bytes
from builders.tables import SPLITS
from builders.text.merge import digest

_HEADER = "query-id\tgroup\tsplit"
_COLUMNS = ("query_id", "group_hash", "split")


def assign(groups: pl.DataFrame, *, seed: int = 42, committed: pl.DataFrame | None = None) -> pl.DataFrame:
    """Deal queries to train, dev and test.

    What has one leak key is ordered by blake2b of ``"{seed}:{smallest id}"`` and dealt whole: to train while
    fewer than 0.8 n queries have been dealt, to dev while fewer than 0.9 n (both rounded down), else to test.
    Committed queries keep their split; a new one joins the split of its group, that of a new group the split
    of its leak key, or train where those span several; only queries of new leak keys are dealt, among
    themselves.

    Args:
        groups: ``query_id`` str, unique; ``group`` str, the group's key; ``leak`` str, equal for queries that
            must not be parted, and so equal within a group.
        seed: Of the order.
        committed: What `read_splits` returned, or None.

    Returns:
        ``query_id``, ``group_hash``, ``split`` str; one row per row of `groups`, sorted by ``query_id``.

    Raises:
        UsageError: An id stands there twice.
    """
    duplicated = groups.filter(pl.col("query_id").is_duplicated())
    if not duplicated.is_empty():
        raise UsageError(f"query {duplicated.item(0, 'query_id')!r} cannot be dealt twice")
    hashes = pl.Series([digest(key) for key in groups.get_column("group").to_list()], dtype=pl.String)
    hashed = groups.select("query_id", hashes.alias("group_hash"), "leak")
    if committed is None:
        return _dealt(hashed, seed).sort("query_id")
    known = hashed.join(committed.select("query_id", "split"), on="query_id", how="left")
    remembered_groups = pl.concat([known.select(_COLUMNS), committed.select(_COLUMNS)])
    placed = _joined(_joined(known, remembered_groups, "group_hash"), None, "leak")
    new = placed.filter(pl.col("split").is_null()).drop("split")
    return pl.concat([placed.drop_nulls("split").select(_COLUMNS), _dealt(new, seed)]).sort("query_id")


def _joined(rows: pl.DataFrame, placed: pl.DataFrame | None, key: str) -> pl.DataFrame:
    """Give rows without a split that of the placed rows of their key, or train where those span several."""
    one = pl.when(pl.col("split").n_unique() == 1).then(pl.col("split").first()).otherwise(pl.lit("train"))
    of_key = (rows if placed is None else placed).drop_nulls("split").group_by(key).agg(one.alias("of_key"))
    return rows.join(of_key, on=key, how="left").with_columns(pl.coalesce("split", "of_key")).drop("of_key")


def remembered(assigned: pl.DataFrame, committed: pl.DataFrame | None) -> pl.DataFrame:
    """Return what to commit: what `assign` returned, and committed queries that are gone from the upstream.

    Those keep their split, so that a query that comes back does not change sides.
    """
    if committed is None:
        return assigned
    gone = committed.join(assigned, on="query_id", how="anti")
    return pl.concat([assigned, gone.select(_COLUMNS)]).sort("query_id")


def read_splits(path: Path) -> pl.DataFrame:
    """Read a committed assignment.

    Args:
        path: Tab-separated, with the header ``query-id``, ``group``, ``split``.

    Returns:
        ``query_id`` str, ``group_hash`` str (16 hex digits), ``split`` str, sorted by ``query_id``.

    Raises:
        StorageError: The file cannot be read.
        UsageError: A line is malformed, or an id stands there twice; it names file and line.
    """
    try:
        header, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _malformed(path, line, f"byte 0x{error.object[error.start]:02x} is not UTF-8") from error
    if header != _HEADER:
        raise _malformed(path, 1, f"expected the header {_HEADER!r}, found {header[:80]!r}")
    fields = pl.col("line").str.split("\t")
    rows = pl.DataFrame({"line": lines}, schema={"line": pl.String}).with_row_index("number", offset=2)
    rows = rows.with_columns(fields.list.get(i, null_on_oob=True).alias(n) for i, n in enumerate(_COLUMNS))
    _refuse(path, rows, fields.list.len() != len(_COLUMNS), "expected three fields")
    _refuse(path, rows, pl.col("query_id") == "", "the query id is empty")
    _refuse(path, rows, ~pl.col("group_hash").str.contains(r"^[0-9a-f]{16}$"), "the group is no hash")
    _refuse(path, rows, ~pl.col("split").is_in(SPLITS), f"the split is none of {', '.join(SPLITS)}")
    _refuse(path, rows, ~pl.col("query_id").is_first_distinct(), "the query id stands there twice")
    return rows.select(_COLUMNS).sort("query_id")


def write_splits(path: Path, frame: pl.DataFrame) -> None:
    """Write an assignment atomically, sorted by id; equal assignments are equal bytes.

    Args:
        path: The file to appear.
        frame: ``query_id``, ``group_hash``, ``split``, as `assign` returns them.

    Raises:
        UsageError: An id holds a tab or a line break.
    """
    unwritable = frame.filter(pl.col("query_id").str.contains(r"[\t\r\n]"))
    if not unwritable.is_empty():
        raise UsageError(f"{path}: the id {unwritable.item(0, 'query_id')!r} holds a tab or a line break")
    lines = frame.sort("query_id").select(pl.concat_str(_COLUMNS, separator="\t")).to_series().to_list()
    write_bytes(path, "".join(f"{line}\n" for line in [_HEADER, *lines]).encode())


def _dealt(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Deal ``query_id``, ``group_hash`` and ``leak``; return the first two and ``split``."""
    sizes = rows.group_by("leak").agg(pl.len().alias("size"), pl.col("query_id").min().alias("smallest"))
    order = [digest(f"{seed}:{smallest}") for smallest in sizes.get_column("smallest").to_list()]
    before = pl.col("size").cum_sum() - pl.col("size")
    split = (
        pl
        .when(before < rows.height * 8 // 10)
        .then(pl.lit("train"))
        .when(before < rows.height * 9 // 10)
        .then(pl.lit("dev"))
        .otherwise(pl.lit("test"))
    )
    ordered = sizes.with_columns(order=pl.Series(order, dtype=pl.String)).sort("order", "smallest")
    return rows.join(ordered.with_columns(split=split), on="leak").select(_COLUMNS)


def _refuse(path: Path, rows: pl.DataFrame, wrong: pl.Expr, problem: str) -> None:
    bad = rows.filter(wrong)
    if not bad.is_empty():
        raise _malformed(path, bad.item(0, "number"), f"{problem} ({bad.item(0, 'line')[:120]!r})")


def _malformed(path: Path, line: int, problem: str) -> UsageError:
    return UsageError(f"{path}, line {line}: {problem}", hint="Restore the committed file.")

"""Splits: queries are dealt in groups, and groups of one leak key or component together.

So no split holds a twin of another's query, and where components are dealt none holds its positives.

The committed assignment is an input: what it holds stays. A group is known in it by the first 16 hex digits
of blake2b of its key, so that the file holds no text; `assign` hashes the keys that it is given likewise.
"""

from pathlib import Path

import polars as pl

from builders.errors import StorageError, UsageError
from builders.files import write_bytes
from builders.lock.committed import splits_path
from builders.prepare.components import is_giant
from builders.tables import SPLITS
from builders.text.merge import DIGITS, digest

_HEADER = "query-id\tgroup\tsplit"
_COLUMNS = ("query_id", "group_hash", "split")
_STRATUM = 10
"""How many components a stratum holds: as few as 0.8/0.1/0.1 allows, so that its components are alike."""


def assign(
    queries: pl.DataFrame, *, components: bool = False, seed: int = 42, committed: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Deal queries to train, dev and test.

    What has one leak key is dealt whole; with `components`, what is one component, unless `is_giant` finds
    one that is too large for it. In a first deal they are ordered by blake2b of ``"{seed}:{smallest id}"``,
    and go to train while fewer than 0.8 n queries have been dealt, to dev while fewer than 0.9 n (both
    rounded down), else to test. With `components` they are first put in strata of ten, by falling numbers of
    positives, and of each ten eight go to train, one to dev, one to test, in the order of their hashes: most
    positives belong to a few large components, which decide how many a query of a split has.

    Committed queries keep their split; a new one joins the split of its group, that of a new group the split
    of its leak key, then of its component, or train where those span several. What touches nothing committed
    goes by its hash, read as a number in [0, 1): below 0.8 to train, below 0.9 to dev, else to test.

    Args:
        queries: ``query_id`` str, unique; ``group`` str, the group's key; ``leak`` str, equal for queries
            that must not be parted, and so equal within a group; with `components` also ``component`` str,
            equal within a leak key, and ``positives`` int, how many passages are relevant to the query.
        components: Whether components are dealt whole.
        seed: Of the hashes.
        committed: What `read_splits` returned, or None for a first deal.

    Returns:
        ``query_id``, ``group_hash``, ``split`` str; one row per row of `queries`, sorted by ``query_id``.

    Raises:
        UsageError: An id stands there twice.
    """
    duplicated = queries.filter(pl.col("query_id").is_duplicated())
    if not duplicated.is_empty():
        raise UsageError(f"query {duplicated.item(0, 'query_id')!r} cannot be dealt twice")
    whole = "component" if components and not is_giant(queries) else "leak"
    hashes = pl.Series([digest(key) for key in queries.get_column("group").to_list()], dtype=pl.String)
    weight = pl.col("positives") if components else pl.lit(1)
    hashed = queries.select("query_id", "leak", group_hash=hashes, whole=whole, weight=weight)
    if committed is None:
        deal = _dealt_in_strata if components else _dealt
        return deal(hashed, seed).sort("query_id")
    known = hashed.join(committed.select("query_id", "split"), on="query_id", how="left")
    remembered_groups = pl.concat([known.select(_COLUMNS), committed.select(_COLUMNS)])
    placed = _joined(known, remembered_groups, "group_hash")
    for key in ("leak", "whole"):
        placed = _joined(placed, placed, key)
    new = placed.filter(pl.col("split").is_null()).drop("split")
    return pl.concat([placed.drop_nulls("split").select(_COLUMNS), _drawn(new, seed)]).sort("query_id")


def _joined(rows: pl.DataFrame, placed: pl.DataFrame, key: str) -> pl.DataFrame:
    """Give rows without a split that of the placed rows of their key, or train where those span several."""
    one = pl.when(pl.col("split").n_unique() == 1).then(pl.col("split").first()).otherwise(pl.lit("train"))
    of_key = placed.drop_nulls("split").group_by(key).agg(one.alias("of_key"))
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


def committed_splits(folder: Path, config: str) -> pl.DataFrame | None:
    """Read the committed assignment of a config; None where there is none yet."""
    path = splits_path(folder, config)
    return read_splits(path) if path.exists() else None


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
    """Deal rows whose ``whole`` is equal together, in the order of their hash, by numbers of queries."""
    ordered = _hashed(rows, seed).sort("hash", "smallest")
    before, n = pl.col("size").cum_sum() - pl.col("size"), rows.height
    return _split(rows, ordered, before < n * 8 // 10, before < n * 9 // 10)


def _dealt_in_strata(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Deal rows whose ``whole`` is equal together, within strata of `_STRATUM` of like weight."""
    heaviest_first = _hashed(rows, seed).sort("weight", "hash", "smallest", descending=[True, False, False])
    stratum = pl.int_range(pl.len()) // _STRATUM
    ordered = heaviest_first.with_columns(stratum=stratum).sort("stratum", "hash", "smallest")
    before, n = pl.int_range(pl.len()).over("stratum"), pl.len().over("stratum")
    return _split(rows, ordered, before < n * 8 // 10, before < n * 9 // 10)


def _drawn(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Send rows whose ``whole`` is equal to the split of their hash, whatever others there are."""
    hashed = _hashed(rows, seed)
    drawn = [int(digits, 16) / 16**DIGITS for digits in hashed["hash"].to_list()]
    numbered = hashed.with_columns(drawn=pl.Series(drawn, dtype=pl.Float64))
    return _split(rows, numbered, pl.col("drawn") < 0.8, pl.col("drawn") < 0.9)


def _hashed(rows: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return each ``whole``, its ``size`` and ``weight``, its ``smallest`` id and the ``hash`` of that id."""
    sizes = rows.group_by("whole").agg(
        pl.len().alias("size"), pl.col("weight").sum(), pl.col("query_id").min().alias("smallest")
    )
    hashes = [digest(f"{seed}:{smallest}") for smallest in sizes["smallest"].to_list()]
    return sizes.with_columns(hash=pl.Series(hashes, dtype=pl.String))


def _split(rows: pl.DataFrame, wholes: pl.DataFrame, in_train: pl.Expr, in_dev: pl.Expr) -> pl.DataFrame:
    """Return ``query_id``, ``group_hash``, ``split`` by the first condition that holds of a row's whole."""
    split = pl.when(in_train).then(pl.lit("train")).when(in_dev).then(pl.lit("dev")).otherwise(pl.lit("test"))
    return rows.join(wholes.select("whole", split=split), on="whole").select(_COLUMNS)


def _refuse(path: Path, rows: pl.DataFrame, wrong: pl.Expr, problem: str) -> None:
    bad = rows.filter(wrong)
    if not bad.is_empty():
        raise _malformed(path, bad.item(0, "number"), f"{problem} ({bad.item(0, 'line')[:120]!r})")


def _malformed(path: Path, line: int, problem: str) -> UsageError:
    return UsageError(f"{path}, line {line}: {problem}", hint="Restore the file as a build wrote it.")

"""Reading upstream rows so that a bad one can be named by file and row."""

import polars as pl

from builders.errors import SourceError, SourceSchema

_HINT = "The pinned upstream holds no such row: compare its revision and files with the config's source."


def with_ids(rows: pl.DataFrame, table: str, *columns: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Part rows of `read_rows` that have all their ids from those that lack one.

    Args:
        rows: Rows of `read_rows`.
        table: What the rows are, "queries".
        columns: Names of the id columns.

    Returns:
        The rows with ids; ``table`` and ``id`` ("data.parquet, row 7") of the others, for `Records`.

    Raises:
        SourceSchema: No row has one.
    """
    lacks = pl.any_horizontal(pl.col(name).is_null() | (pl.col(name) == "") for name in columns)
    whole, lacking = rows.filter(~lacks), rows.filter(lacks)
    if whole.is_empty() and not lacking.is_empty():
        names = " or ".join(map(repr, columns))
        raise SourceSchema(f"{lacking.item(0, 'file')}: no row has an id in column {names}", hint=_HINT)
    place = pl.format("{}, row {}", pl.col("file").str.split("/").list.last(), "row")
    return whole, lacking.select(table=pl.lit(table), id=place)


def refuse_rows(rows: pl.DataFrame, wrong: pl.Expr, problem: str) -> None:
    """Refuse rows of `read_rows` where `wrong` is true of one; the error names file and row of the first.

    Raises:
        SourceError: A row is wrong.
    """
    bad = rows.filter(wrong)
    if bad.is_empty():
        return
    more = f" (and {bad.height - 1} more rows)" if bad.height > 1 else ""
    raise SourceError(f"{bad.item(0, 'file')}, row {bad.item(0, 'row')}: {problem}{more}", hint=_HINT)


def refuse_repeated_ids(rows: pl.DataFrame, column: str) -> None:
    """Refuse rows of `with_ids` where an id stands twice; the error names file, row and column."""
    again = ~pl.col(column).is_first_distinct()
    first = rows.filter(again).head(1)[column].to_list()
    refuse_rows(rows, again, f"column {column!r} holds {first and first[0]!r}, as an earlier row does")

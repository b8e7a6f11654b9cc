"""Reading upstream parquet: only the named columns, and only with the expected types."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builders.errors import SourceError, SourceSchema
from builders.files import readable
from builders.printable import one_line, quoted
from builders.tables import DAMAGE, read_whole

Expected = pa.DataType | tuple[pa.DataType, ...]
_CHANGED = "The upstream's layout is not the one this config reads: compare it with the config's `read`."
_DAMAGED = "Fetch it again: remove the file, then run the command. If it stays so, the upstream is broken."


def read_rows(
    paths: Sequence[Path], columns: Mapping[str, Expected], *, optional: Sequence[str] = ()
) -> pl.DataFrame:
    """Read the named columns of parquet files, one below the other in the order of `paths`.

    Args:
        paths: At least one file.
        columns: Expected Arrow type of each column, or several of which one must fit. `string` stands for
            every width of string, `list` for every width of list; further fields of a struct are left out.
        optional: Those of `columns` that a file may lack; they are null there.

    Returns:
        The columns, and the place of each row: ``row`` uint32, counted from 1 in each file, and ``file`` str.
    """
    frames = [
        _read_one(path, columns, optional)
        .with_row_index("row", offset=1)
        .with_columns(file=pl.lit(str(path)))
        for path in paths
    ]
    return pl.concat(frames, how="vertical_relaxed", rechunk=False)


def first_column(paths: Sequence[Path], names: Sequence[str]) -> str:
    """Return the first of `names` that is a column of every file.

    Raises:
        SourceSchema: None of them is.
    """
    schemas = {path: _schema(path) for path in paths}
    for name in names:
        if all(name in schema.names for schema in schemas.values()):
            return name
    lacking = next((path for path in paths if not set(names) & set(schemas[path].names)), paths[0])
    found = quoted(schemas[lacking].names) or "no column"
    message = f"{lacking}: no column {' or '.join(map(repr, names))}; found {found}"
    raise SourceSchema(message, hint=_CHANGED)


def _read_one(path: Path, columns: Mapping[str, Expected], optional: Sequence[str]) -> pl.DataFrame:
    schema = _schema(path)
    absent = [name for name in columns if name in optional and name not in schema.names]
    there = [name for name in columns if name not in absent]
    wanted = {name: _checked(path, schema, name, columns[name]) for name in there}
    try:
        with pq.ParquetFile(path) as file:
            frame, height = read_whole(file, list(wanted)), file.metadata.num_rows
    except DAMAGE as error:
        raise SourceError(f"{path}: damaged parquet ({one_line(error, 200)})", hint=_DAMAGED) from error
    shapes = {name: _polars_type(dtype) for name, dtype in wanted.items()}
    shapes |= {name: _polars_type(_alternatives(columns[name])[0]) for name in absent}
    nulls = [pl.Series(name, [None]).new_from_index(0, height) for name in absent]
    return frame.hstack(nulls).select(list(columns)).cast(pl.Schema(shapes))


def _schema(path: Path) -> pa.Schema:
    with readable(path, absent="Fetch it again."):
        file = path.open("rb")
    try:
        with file:
            schema = pq.read_schema(file)
        schema.to_string(show_field_metadata=False, show_schema_metadata=False)  # decodes every name
    except DAMAGE as error:
        problem = f"not a whole parquet file ({one_line(error, 200)})"
        raise SourceError(f"{path}: {problem}", hint=_DAMAGED) from error
    return schema


def _checked(path: Path, schema: pa.Schema, name: str, expected: Expected) -> pa.DataType:
    """Return the expected type that the column fits."""
    places = schema.get_all_field_indices(name)
    wanted = " or ".join(map(str, _alternatives(expected)))
    if len(places) != 1:
        problem = "is missing" if not places else f"stands there {len(places)} times"
        found = quoted(schema.names) or "no column"
        message = f"{path}: column {name!r} {problem} (expected {wanted}); found {found}"
        raise SourceSchema(message, hint=_CHANGED)
    held = schema.field(places[0]).type
    for alternative in _alternatives(expected):
        if _fits(held, alternative):
            return alternative
    raise SourceSchema(f"{path}: column {name!r} is {held}, expected {wanted}", hint=_CHANGED)


def _alternatives(expected: Expected) -> tuple[pa.DataType, ...]:
    return expected if isinstance(expected, tuple) else (expected,)


def _fits(found: pa.DataType, expected: pa.DataType) -> bool:
    if _is_string(expected):
        return _is_string(found)
    if isinstance(expected, pa.ListType | pa.LargeListType):
        return isinstance(found, pa.ListType | pa.LargeListType) and _fits(
            found.value_type, expected.value_type
        )
    if isinstance(expected, pa.StructType):
        return isinstance(found, pa.StructType) and all(
            found.get_field_index(field.name) >= 0 and _fits(found.field(field.name).type, field.type)
            for field in expected
        )
    return found == expected


def _is_string(dtype: pa.DataType) -> bool:
    return pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_string_view(dtype)


def _polars_type(dtype: pa.DataType) -> pl.DataType:
    return pl.DataFrame(pa.schema([("column", dtype)]).empty_table()).schema["column"]

"""Which rows differ between two tables, matched by key. Pure: frames in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from builders.lock.lock import Frozen
from builders.printable import printable

KEYS = (("_id",), ("query-id", "corpus-id"))
"""What names a row, in the order in which it is looked for; a table with none is matched by row number."""
EXAMPLES = 5

_LONGEST = 60
_OCCURRENCE = "occurrence"


class RowChanges(Frozen):
    """What a comparison of two tables found.

    Attributes:
        before: Rows of the first.
        after: Rows of the second.
        added: Rows whose key the first has not.
        removed: Rows whose key the second has not.
        changed: Rows of one key with other values in a column that both have.
        columns: Columns added, removed, or of another type.
        examples_added: Keys of at most `EXAMPLES` added rows, the smallest first.
        examples_removed: As above.
        examples_changed: As above, each with the values that differ.
    """

    before: int
    after: int
    added: int
    removed: int
    changed: int
    columns: tuple[str, ...] = ()
    examples_added: tuple[str, ...] = ()
    examples_removed: tuple[str, ...] = ()
    examples_changed: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Whether anything differs but the order of rows and columns."""
        return bool(self.added or self.removed or self.changed or self.columns)

    def summary(self) -> str:
        """Return the counts in one line, "" where nothing differs."""
        counts = {"added": self.added, "removed": self.removed, "changed": self.changed}
        parts = [f"{count:,} rows {name}" for name, count in counts.items() if count]
        return ", ".join([*parts, *self.columns])


def row_changes(before: pl.DataFrame, after: pl.DataFrame) -> RowChanges:
    """Compare two tables row by row.

    Rows are matched by the first of `KEYS` that both have, else by number. Where a key occurs more than once
    its rows are matched in the order of their values. Numbers of different types are compared as numbers; a
    column whose types cannot be compared counts as a change of columns, not of rows.

    Args:
        before: Any columns.
        after: Any columns.
    """
    shared = [name for name in after.columns if name in before.columns]
    key = next((list(key) for key in KEYS if set(key) <= set(shared)), [])
    values = [name for name in shared if name not in key and _comparable(before[name], after[name])]
    old, new = (_matched(frame, key, values) for frame in _alike(before, after, key, values))
    on = [*_names("key", key or [""]), _OCCURRENCE]
    both = new.join(old, on=on, how="full", coalesce=True, nulls_equal=True, suffix=" before").sort(on)
    is_new, is_old = pl.col("there").is_not_null(), pl.col("there before").is_not_null()
    differs = [pl.col(name).ne_missing(pl.col(f"{name} before")) for name in _names("value", values)]
    added, removed = both.filter(~is_old), both.filter(~is_new)
    changed = both.filter(is_new & is_old & pl.any_horizontal(differs or [pl.lit(value=False)]))
    return RowChanges(
        before=before.height,
        after=after.height,
        added=added.height,
        removed=removed.height,
        changed=changed.height,
        columns=tuple(_columns(before.schema, after.schema)),
        examples_added=tuple(_examples(added, key, [])),
        examples_removed=tuple(_examples(removed, key, [])),
        examples_changed=tuple(_examples(changed, key, values)),
    )


def _comparable(before: pl.Series, after: pl.Series) -> bool:
    return before.dtype == after.dtype or (before.dtype.is_numeric() and after.dtype.is_numeric())


def _alike(
    before: pl.DataFrame, after: pl.DataFrame, key: list[str], values: list[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return both with equal types: keys as text, numbers of different types as float64."""
    wide = [name for name in values if before.schema[name] != after.schema[name]]
    casts = [pl.col(key).cast(pl.String), pl.col(wide).cast(pl.Float64)]
    return before.with_columns(casts), after.with_columns(casts)


def _names(role: str, columns: Sequence[str]) -> list[str]:
    """Return names of our own for columns, whose names come from outside and might be any."""
    return [f"{role} {number}" for number, _ in enumerate(columns)]


def _matched(frame: pl.DataFrame, key: list[str], values: list[str]) -> pl.DataFrame:
    """Return keys, occurrence and values under names of our own."""
    keys = [pl.col(name).alias(alias) for name, alias in zip(key, _names("key", key), strict=True)]
    number = [] if key else [pl.int_range(pl.len()).alias("key 0")]
    named = frame.select(
        *keys,
        *number,
        *(pl.col(name).alias(alias) for name, alias in zip(values, _names("value", values), strict=True)),
        there=pl.lit(value=True),
    )
    order = [name for name, dtype in named.schema.items() if not dtype.is_nested()]
    on = _names("key", key or [""])
    occurrence = pl.int_range(pl.len()).over(on).alias(_OCCURRENCE)
    return named.sort(order).with_columns(occurrence)


def _columns(before: pl.Schema, after: pl.Schema) -> Iterator[str]:
    for name in dict.fromkeys([*before, *after]):
        old, new = before.get(name), after.get(name)
        if old != new:
            what = "added" if old is None else "removed" if new is None else f"{old} → {new}"
            yield f"column {_shown(name)}: {what}"


def _examples(rows: pl.DataFrame, key: list[str], values: list[str]) -> Iterator[str]:
    names = _names("value", values)
    for row in rows.head(EXAMPLES).iter_rows(named=True):
        keys = [_shown(row[name]) for name in _names("key", key)] or [f"row {row['key 0'] + 1}"]
        differing = [
            f"{_shown(column)} {_quoted(row[f'{name} before'])} → {_quoted(row[name])}"
            for column, name in zip(values, names, strict=True)
            if row[name] != row[f"{name} before"]
        ]
        yield ": ".join(filter(None, (" ".join(keys), ", ".join(differing))))


def _shown(value: object) -> str:
    return _cut(printable(str(value)))


def _quoted(value: object) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"

"""Arrow columns, scrubbed at any depth: which types hold text, and how arrays are taken apart and made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow as pa

from builders.lock.lock import PersonalReport
from builders.personal.engine import scrub_rows
from builders.personal.json_lines import scrub_lines
from builders.personal.pieces import Done, Task, clean_names, renamed
from builders.personal.report import report, together

_Array: TypeAlias = Any
"""An array of any type: the stubs know no type that nested ones share."""
_Type: TypeAlias = Any
_MAKE: Any = pa
"""Makes nested types and arrays, for the same reason."""
_STRINGS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
_BYTES = (
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_binary_view,
    pa.types.is_fixed_size_binary,
)
_NUMBERS_IN_BYTES = ("arrow.uuid", "arrow.bool8")


def is_text(kind: pa.DataType) -> bool:
    """Say whether values of a type hold strings that can be scrubbed, at any depth."""
    return _is_string(kind) or (_is_nested(kind) and any(map(is_text, _inner(kind))))


def is_unread(kind: pa.DataType) -> bool:
    """Say whether values of a type may hold text that is not looked at: bytes, or a type not known here."""
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name not in _NUMBERS_IN_BYTES and is_unread(kind.storage_type)
    if any(is_bytes(kind) for is_bytes in _BYTES):
        return True
    if _is_nested(kind):
        return any(map(is_unread, _inner(kind)))
    return pa.types.is_nested(kind)


def scrub_batch(batch: pa.RecordBatch, schema: pa.Schema, task: Task) -> Done:
    """Scrub the text columns of a batch.

    Args:
        batch: The rows.
        schema: Its schema, with clean names.
        task: What is done.
    """
    reports: list[PersonalReport] = []
    arrays = []
    for name, column, field in zip(batch.schema.names, batch.columns, schema, strict=True):
        wanted = is_text(field.type) and (not task.columns or name in task.columns)
        arrays.append(_scrubbed(column, field.type, task, reports) if wanted else column.cast(field.type))
    return Done(
        pa.RecordBatch.from_arrays(arrays, schema=schema), batch.num_rows, together(reports), frozenset()
    )


def clean_schema(schema: pa.Schema, task: Task) -> tuple[pa.Schema, list[str], PersonalReport]:
    """Return a schema with clean names and metadata, what of these is no text, and what was replaced."""
    reports: list[PersonalReport] = []
    unread: list[str] = []
    fields = _clean_fields(list(schema), task, reports, unread)
    clean = _MAKE.schema(fields, _clean_metadata(schema.metadata, task, reports, unread))
    return clean, unread, together(reports)


def _is_string(kind: pa.DataType) -> bool:
    return any(is_string(kind) for is_string in _STRINGS)


def _is_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def _is_nested(kind: pa.DataType) -> bool:
    return (
        isinstance(kind, pa.BaseExtensionType)
        or pa.types.is_dictionary(kind)
        or pa.types.is_struct(kind)
        or pa.types.is_map(kind)
        or _is_list(kind)
    )


def _inner(kind: _Type) -> list[pa.DataType]:
    if isinstance(kind, pa.BaseExtensionType):
        return [kind.storage_type]
    if pa.types.is_struct(kind):
        return [field.type for field in kind]
    if pa.types.is_map(kind):
        return [kind.key_type, kind.item_type]
    return [kind.value_type]


def _scrubbed(array: _Array, kind: _Type, task: Task, reports: list[PersonalReport]) -> _Array:
    """Return an array with its strings scrubbed, as the given type: its own, with clean names.

    What stands below a null is carried over only where it may not be null, and scrubbed.
    """
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(
            kind, _scrubbed(array.storage, kind.storage_type, task, reports)
        )
    if pa.types.is_dictionary(kind):
        values = _scrubbed(array.cast(kind.value_type), kind.value_type, task, reports)
        return values.dictionary_encode().cast(kind)
    if pa.types.is_struct(kind):
        # Below a null of the whole, a part that may not be null stands for something: it is scrubbed as well.
        parts = [
            _scrubbed(part if field.nullable else array.field(place), field.type, task, reports)
            for place, (part, field) in enumerate(zip(array.flatten(), kind, strict=True))
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=array.is_null())
    if pa.types.is_map(kind) or _is_list(kind):
        return _scrubbed_list(array.take(pa.array(range(len(array)), pa.int64())), kind, task, reports)
    if not _is_string(kind):
        return array.cast(kind)
    before = array.cast(pa.large_string()).to_pylist()
    after, spans = scrub_rows(before, task.kinds)
    reports.append(report(before, spans))
    return pa.array(after, kind)


def _scrubbed_list(array: _Array, kind: _Type, task: Task, reports: list[PersonalReport]) -> _Array:
    mask = array.is_null()
    if pa.types.is_map(kind):
        keys = _scrubbed(array.keys, kind.key_type, task, reports)
        items = _scrubbed(array.items, kind.item_type, task, reports)
        if _is_string(kind.key_type):
            keys = _MAKE.array(_apart(array, [str(key) for key in keys.to_pylist()]), kind.key_type)
        return _MAKE.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=mask)
    values = _scrubbed(array.values, kind.value_type, task, reports)
    if pa.types.is_fixed_size_list(kind):
        return _MAKE.FixedSizeListArray.from_arrays(values, type=kind, mask=mask)
    lists = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return lists.from_arrays(array.offsets, values, type=kind, mask=mask)


def _apart(array: _Array, after: list[str]) -> list[str]:
    """Keep the keys of each map apart."""
    before = array.keys.to_pylist()
    if before == after:
        return after
    offsets = array.offsets.to_pylist()
    return [name for start, end in pairwise(offsets) for name in renamed(before[start:end], after[start:end])]


def _clean_fields(
    fields: list[pa.Field[Any]], task: Task, reports: list[PersonalReport], unread: list[str]
) -> list[pa.Field[Any]]:
    names, part = clean_names([field.name for field in fields], task)
    reports.append(part)
    return [
        pa.field(
            name,
            _clean_type(field.type, task, reports, unread),
            field.nullable,
            _clean_metadata(field.metadata, task, reports, unread),
        )
        for name, field in zip(names, fields, strict=True)
    ]


def _clean_type(kind: _Type, task: Task, reports: list[PersonalReport], unread: list[str]) -> _Type:
    if pa.types.is_struct(kind):
        return pa.struct(_clean_fields(list(kind), task, reports, unread))
    if pa.types.is_map(kind):
        inner = _clean_fields([kind.key_field, kind.item_field], task, reports, unread)
        return _MAKE.map_(*inner, keys_sorted=kind.keys_sorted)
    if _is_list(kind):
        (field,) = _clean_fields([kind.value_field], task, reports, unread)
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(field, kind.list_size)
        return pa.large_list(field) if pa.types.is_large_list(kind) else pa.list_(field)
    return kind


def _clean_metadata(
    metadata: Mapping[bytes, bytes] | None, task: Task, reports: list[PersonalReport], unread: list[str]
) -> dict[bytes, bytes] | None:
    """Scrub keys and values; of JSON, which readers depend on, the strings alone."""
    if not metadata:
        return None
    clean: dict[bytes, bytes] = {}
    for key, value in metadata.items():
        try:
            names, part = clean_names([key.decode()], task)
            text, other = _clean_text(value, task)
        except UnicodeDecodeError:
            unread.append(f"metadata {key.decode(errors='replace')}")
            clean[key] = value
            continue
        reports += [part, other]
        clean[names[0].encode()] = text
    return clean


def _clean_text(value: bytes, task: Task) -> tuple[bytes, PersonalReport]:
    everything = Task((), task.kinds)
    try:
        is_object = isinstance(json.loads(value), dict)
    except (ValueError, RecursionError):
        is_object = False
    if is_object:
        done = scrub_lines((1, [value]), everything)
        return bytes(done.output), done.report
    rows = [value.decode()]
    after, spans = scrub_rows(rows, task.kinds)
    return (after[0] or "").encode(), report(rows, spans)

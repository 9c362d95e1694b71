"""Columns for which all inspected rows have null, an empty list or an empty object.

The type of such a column is unknown. In new targets it is ``string``, and the field metadata contains a mark. For an
existing table, ``resolved`` applies the type of the table. A run without values in a column therefore does not widen
the column, and is not rejected because of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of
from attrs import field, frozen

from seatunnel_core.errors import RowError
from seatunnel_core.rows.types import is_text

MARK = {b"seatunnel.unknown": b"true"}
"""Field metadata that marks a column, struct field or list element of unknown type."""

EMPTY_OBJECT = "{}"
"""JSON text of an object without fields, which has an unknown type."""


def marked(name: str, kind: pa.DataType = pa.null()) -> pa.Field:  # noqa: B008, types are values
    """Return the field for a column with an inferred type. ``null`` becomes ``string`` with the mark."""
    return pa.field(name, pa.string(), metadata=MARK) if of.is_null(kind) else pa.field(name, kind)


def is_unknown(column: pa.Field) -> bool:
    """Return True if the type of a column is unknown."""
    return of.is_null(column.type) or b"seatunnel.unknown" in (column.metadata or {})


def has_no_value(column: pa.Field) -> bool:
    """Return True if the type of a column, or of all its elements or fields, is unknown because there are no values."""
    if _is_list(column.type):
        return has_no_value(column.type.value_field)
    if of.is_struct(column.type):
        return all(map(has_no_value, column.type))
    return is_unknown(column)


def unmarked(columns: pa.Schema) -> pa.Schema:
    """Return columns without the mark, for files."""
    return pa.schema([_unmarked(column) for column in columns], columns.metadata)


def _unmarked(column: pa.Field) -> pa.Field:
    kept = {key: value for key, value in (column.metadata or {}).items() if key not in MARK}
    found = column.with_metadata(kept) if column.metadata else column
    if of.is_struct(column.type):
        return found.with_type(pa.struct([_unmarked(part) for part in column.type]))
    if of.is_list(column.type):
        return found.with_type(pa.list_(_unmarked(column.type.value_field)))
    return found


@frozen(kw_only=True)
class Resolved:
    """Columns of rows, adapted to a target."""

    columns: pa.Schema = field(repr=False)
    """Columns to write, with the target's types in place of unknown types."""

    without_values: tuple[str, ...] = ()
    """Columns that must not have values, because the target lacks them or Arrow lacks the target's type."""


def resolved(
    columns: pa.Schema,
    table: Mapping[str, pa.DataType | None] | None,
    *,
    grows: bool = False,
    keys: Sequence[str] = (),
) -> Resolved:
    """Resolve the unknown types of rows against a table.

    Args:
        columns: The columns of the rows.
        table: The types of the table by column name in the rows, with ``None`` for a type that Arrow lacks; ``None`` if
            the table does not exist yet.
        grows: True if missing columns are added later: a new table is then created without unknown columns.
        keys: Columns that a new table always has.
    """
    if table is None:
        kept = [each for each in columns if not (grows and has_no_value(each) and each.name not in keys)]
        kept = kept or list(columns)
        absent = {*columns.names} - {column.name for column in kept}
        found = [pa.field(column.name, _type(column, None), column.nullable, column.metadata) for column in kept]
        return Resolved(columns=pa.schema(found), without_values=tuple(sorted(absent)))
    found, absent = [], set()
    for column in columns:
        if has_no_value(column) and table.get(column.name) is None:
            absent.add(column.name)
            if column.name not in table:
                continue
        found.append(column.with_type(_type(column, table.get(column.name))))
    return Resolved(columns=pa.schema(found), without_values=tuple(sorted(absent)))


def _type(column: pa.Field, want: pa.DataType | None) -> pa.DataType:
    """Return the type of a column. If it is unknown, return the wanted type, or else ``string``."""
    kind = column.type
    if is_unknown(column):
        return pa.string() if want is None else want
    if of.is_list(kind):
        if is_unknown(kind.value_field) and want is not None and not _is_list(want):
            return kind
        inner = want.value_type if want is not None and _is_list(want) else None
        return pa.list_(pa.field("item", _type(kind.value_field, inner)))
    if of.is_struct(kind):
        return _struct(kind, want if want is not None and of.is_struct(want) else None)
    return kind


def _struct(kind: pa.DataType, want: pa.DataType | None) -> pa.DataType:
    """Return a struct type with all fields of the wanted type, followed by its other fields."""
    if want is None:
        return pa.struct([pa.field(part.name, _type(part, None)) for part in kind])
    come = {part.name: part for part in kind}
    held = {part.name for part in want}
    parts = [part if part.name not in come else pa.field(part.name, _type(come[part.name], part.type)) for part in want]
    more = [pa.field(part.name, _type(part, None)) for part in kind if part.name not in held and not has_no_value(part)]
    return pa.struct([*parts, *more])


def _is_list(kind: pa.DataType) -> bool:
    return bool(of.is_list(kind) or of.is_large_list(kind) or of.is_fixed_size_list(kind))


def filled(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert values of an unknown type, and cast other values. Raise ``pa.ArrowException`` if a value does not fit."""
    if values.type == kind:
        return values
    if of.is_null(values.type) or (is_text(values.type) and not is_text(kind)):
        return _blank(values, kind)
    if of.is_list(values.type) and _is_list(kind):
        return _elements(values, kind)
    if of.is_struct(values.type) and of.is_struct(kind):
        return _fields(values, kind)
    return values.cast(kind)


def _elements(values: pa.Array, kind: pa.DataType) -> pa.Array:
    lengths = pc.list_value_length(values).fill_null(0)
    ends = pc.cumulative_sum(lengths.cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    inner = filled(pc.list_flatten(values), kind.value_type)
    found = pa.ListArray.from_arrays(offsets, inner, mask=values.is_null())
    return found if found.type == kind else found.cast(kind)


def _blank(values: pa.Array, kind: pa.DataType) -> pa.Array:
    number = first_value(values)
    if number is not None:
        raise pa.ArrowInvalid(f"{values[number]} is no {kind}")
    if not of.is_struct(kind):
        return pa.nulls(len(values), kind)
    parts = [pa.nulls(len(values), part.type) for part in kind]
    return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())


def _fields(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Add fields to structs, and remove fields without values."""
    parts = dict(zip((part.name for part in values.type), values.flatten(), strict=True))
    for name, inner in parts.items():
        if kind.get_field_index(name) < 0 and first_value(inner) is not None:
            raise pa.ArrowInvalid(f"there is no field {name!r}")
    nothing = pa.nulls(len(values))
    arrays = [filled(parts.get(part.name, nothing), part.type) for part in kind]
    return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=values.is_null())


def first_value(values: pa.Array) -> int | None:
    """Return the index of the first value that is not null, an empty object or an empty list, or ``None``."""
    found = min(_with_value(values), default=None)
    return None if found is None else int(found)


def require_no_values(rows: pa.RecordBatch, names: Iterable[str], where: str) -> None:
    """Raise RowError if columns have a value although their type was unknown when the target was prepared."""
    for name in names:
        number = first_value(rows.column(name))
        if number is not None:
            raise RowError(
                f"{where}: column {name!r}, row {number + 1} of a batch: the column has a value, but was empty in "
                "all rows from which the columns were inferred, so its type was unknown when the target was "
                "prepared. Infer from more rows (schema_sample), or declare the column in schema"
            )


def _with_value(values: pa.Array) -> Iterator[int]:
    kind = values.type
    if of.is_null(kind) or values.null_count == len(values):
        return
    if of.is_struct(kind):
        for inner in values.flatten():
            yield from _with_value(inner)
    elif _is_list(kind):
        inner, parents = pc.list_flatten(values), pc.list_parent_indices(values)
        yield from (parents[number].as_py() for number in _with_value(inner))
    else:
        there = values.is_valid()
        if of.is_string(kind):
            there = pc.and_(there, pc.not_equal(values.fill_null(EMPTY_OBJECT), EMPTY_OBJECT))
        number = there.index(True).as_py()
        if number >= 0:
            yield number

"""Immutable copies of a Python program's rows, which are sent to tasks.

Rows are mappings, or tables with the Arrow PyCapsule interface (``__arrow_c_stream__``, ``__arrow_c_array__``), such as
those of pandas, Polars, DuckDB and pyarrow. A type that ``rows/types.py`` lacks is converted to the nearest type that
can represent all its values.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.types as of
from attrs import evolve, field, frozen

from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.rows.python_rows import PythonRows
from seatunnel_core.rows.types import type_name
from seatunnel_core.work.names import repeated

_UNNAMED = re.compile(r"__index_level_\d+__")
"""Name that pandas gives to an index level without a name."""

LARGEST = 2**30
"""Maximum size of the rows in bytes. The rows are sent to every worker."""


@frozen(kw_only=True, slots=False)
class Held:
    """A copy of the rows of an object. Copies with the same rows, batches and types have the same digest."""

    stream: bytes = field(repr=False)
    """The rows as an Arrow stream."""

    digest: str
    rows: int
    columns: pa.Schema = field(repr=False)
    read_once: bool = False
    """True if the rows came from an iterator, which can be read only once."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.stream, self.digest, self.rows)


def _arrived(stream: bytes, digest: str, rows: int) -> Held:
    return Held(stream=stream, digest=digest, rows=rows, columns=pa.ipc.open_stream(stream).schema)


def hold(value: Any) -> Held:
    """Return a copy of the current rows of an object.

    Raises:
        ValueError: The object has no Arrow rows, is larger than ``LARGEST``, or has a column that no sink can write.
    """
    if isinstance(value, Held):
        return value
    table = _table(value)
    if type(value).__module__.startswith("pandas."):
        table = _without_index(table)
    names = table.column_names
    twice = repeated(names)
    if twice or not names:
        raise ValueError(f"expected columns with unique names, found {f'{twice} twice' if twice else 'no column'}")
    if table.nbytes > LARGEST:
        raise ValueError(
            f"the object has {table.nbytes:,} bytes; the maximum is {LARGEST:,}: write it to files, and read the files"
        )
    table = _known_columns(table).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    stream = sink.getvalue().to_pybytes()
    return Held(stream=stream, digest=sha256(stream).hexdigest(), rows=table.num_rows, columns=table.schema)


def hold_rows(rows: Iterable[Any], columns: pa.Schema | None) -> Held:
    """Return a copy of rows that are mappings from column to value. The iterator is consumed.

    Raises:
        RowError: A row does not match ``columns`` or the other rows, the rows are larger than ``LARGEST``, or no sink
            can write a column.
    """
    made = PythonRows(columns)
    batches, size_bytes = [], 0
    for batch in made.batches(rows):
        batches.append(batch)
        size_bytes += batch.nbytes
        if size_bytes > LARGEST:
            raise RowError(
                f"the first {made.count:,} rows have {size_bytes:,} bytes; the maximum is {LARGEST:,}: "
                "write a function with @st.source, which tasks read in pieces"
            )
    found = made.columns
    try:
        table = pa.Table.from_batches([_of_columns(batch, found) for batch in batches], found)
        return evolve(hold(table), read_once=iter(rows) is rows)
    except ValueError as error:
        raise RowError(str(error)) from error


def _of_columns(batch: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """Return a batch with the columns of all rows, in types that can represent all values."""
    there = dict(zip(batch.schema.names, batch.columns, strict=True))
    empty = pa.nulls(batch.num_rows)
    arrays = [_widened(there.get(column.name, empty), column.type) for column in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def _widened(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert values to a wider type, which may have more fields, another field order, or wider numbers."""
    if values.type == kind:
        return values
    if of.is_null(values.type):
        return pa.nulls(len(values), kind)
    if of.is_struct(kind):
        parts = {part.name: values.field(number) for number, part in enumerate(values.type)}
        empty = pa.nulls(len(values))
        arrays = [_widened(parts.get(part.name, empty), part.type) for part in kind]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=values.is_null())
    if of.is_list(kind):
        inner = _widened(values.values, kind.value_type)
        return pa.ListArray.from_arrays(values.offsets, inner, mask=values.is_null())
    return values.cast(kind)


def _table(value: Any) -> pa.Table:
    try:
        if hasattr(value, "__arrow_c_stream__"):
            return pa.RecordBatchReader.from_stream(value).read_all()
        if hasattr(value, "__arrow_c_array__"):
            return pa.Table.from_batches([pa.record_batch(value)])
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(f"cannot read rows of the {type(value).__name__}: {error}") from error
    raise ValueError(
        "expected an object with __arrow_c_stream__ or __arrow_c_array__, such as a pandas or Polars DataFrame "
        f"(possible only in Python code); found a {type(value).__name__}"
    )


def _without_index(table: pa.Table) -> pa.Table:
    """Remove the pandas index from rows. Raise ValueError if it has a name and therefore probably contains data."""
    described = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    index = [
        name for name in described.get("index_columns", ()) if isinstance(name, str) and name in table.column_names
    ]
    named = [name for name in index if not _UNNAMED.fullmatch(name)]
    if named:
        raise ValueError(
            f"the DataFrame has the index {', '.join(named)}, which is not a column: call reset_index() to convert it "
            "to a column, or reset_index(drop=True) to remove it"
        )
    return table.drop_columns(index) if index else table


def _known_columns(table: pa.Table) -> pa.Table:
    arrays, fields = [], []
    for column, array in zip(table.schema, table.columns, strict=True):
        kind = _known(column.type)
        if kind is None:
            raise ValueError(
                f"column {column.name!r} has the type {column.type}, which no sink can write; convert or remove it"
            )
        try:
            arrays.append(_cast(array, kind))
        except (pa.ArrowException, OverflowError) as error:
            raise ValueError(f"column {column.name!r} cannot be converted to {type_name(kind)}: {error}") from error
        fields.append(pa.field(column.name, kind))
    return pa.table(arrays, schema=pa.schema(fields))


def _cast(array: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Cast values with Arrow, or in Python if Arrow cannot. For list views, Arrow's cast returns wrong values."""
    if array.type == kind:
        return array
    if not _has_list_view(array.type):
        with suppress(pa.ArrowNotImplementedError):
            return array.cast(kind)
    return pa.chunked_array([pa.array(chunk.to_pylist(), kind) for chunk in array.chunks], kind)


def _has_list_view(kind: pa.DataType) -> bool:
    if of.is_list_view(kind) or of.is_large_list_view(kind):
        return True
    return any(_has_list_view(kind.field(part).type) for part in range(kind.num_fields))


def _known(kind: pa.DataType) -> pa.DataType | None:
    """Return the type in ``rows/types.py`` that can represent all values of a type; ``None`` if there is none."""
    if of.is_dictionary(kind) or of.is_run_end_encoded(kind):
        return _known(kind.value_type)
    if of.is_struct(kind):
        parts = [(part.name, _known(part.type)) for part in kind]
        return None if any(inner is None for _, inner in parts) else pa.struct(parts)
    if of.is_map(kind):
        key, item = _known(kind.key_type), _known(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if of.is_fixed_size_list(kind) and kind.value_type in _VECTOR_ELEMENTS:
        return pa.list_(kind.value_type, kind.list_size)
    if of.is_nested(kind):
        inner = _known(kind.value_type) if hasattr(kind, "value_type") else None
        return None if inner is None else pa.list_(inner)
    if of.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if of.is_decimal(kind):
        decimal = pa.decimal256 if kind.precision > 38 else pa.decimal128
        return decimal(kind.precision, kind.scale)
    if of.is_fixed_size_binary(kind):
        return pa.binary()
    if of.is_time(kind):
        return pa.time64("us")
    return _OTHERS.get(kind, kind if kind in _KEPT else None)


_VECTOR_ELEMENTS = (pa.float32(), pa.float16(), pa.uint16(), pa.uint8())

_KEPT = frozenset(
    (
        pa.string(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.float32(),
        pa.float64(),
        pa.null(),
        pa.binary(),
        pa.date32(),
    )
)

_OTHERS = {
    **dict.fromkeys((pa.large_string(), pa.string_view()), pa.string()),
    **dict.fromkeys((pa.large_binary(), pa.binary_view()), pa.binary()),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
}

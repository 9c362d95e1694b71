"""Operations on the columns of schemas and batches (select, rename, add, replace), and on absent values."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from seatunnel_core.errors import RowError, TransformError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.rows.types import is_text, type_name


def check_known(transform: str, names: Iterable[str], schema: TableSchema) -> None:
    """Raise TransformError if a name is not a column of the schema."""
    known = set(schema.columns.names)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise TransformError(
            f"{transform}: the table {schema.table} has no column {', '.join(unknown)}; it has "
            f"{', '.join(schema.columns.names)}"
        )


def check_new(transform: str, names: Iterable[str], schema: TableSchema, option: str) -> None:
    """Raise TransformError if a name is already a column of the schema."""
    present = set(schema.columns.names)
    taken = [name for name in names if name in present]
    if taken:
        raise TransformError(
            f"{transform}: the table {schema.table} already has a column {', '.join(taken)}; set another name "
            f"in option '{option}'"
        )


def check_text(transform: str, name: str, schema: TableSchema) -> None:
    """Raise TransformError unless the column exists and is a string column."""
    check_known(transform, (name,), schema)
    kind = schema.columns.field(name).type
    if not is_text(kind):
        raise TransformError(
            f"{transform}: the column {name} of the table {schema.table} is {type_name(kind)}, but only string is "
            "supported; cast the column first, for example with Sql or SparkSql"
        )


def with_columns(schema: TableSchema, columns: pa.Schema) -> TableSchema:
    """Return the schema with other columns. Keys that have lost a column are removed."""
    return with_names(schema, columns, {name: name for name in columns.names})


def with_names(schema: TableSchema, columns: pa.Schema, names: Mapping[str, str]) -> TableSchema:
    """Return the schema with other columns.

    Keys are kept if ``names`` (new names keyed by old names) contains their columns.
    """

    def whole(key: tuple[str, ...]) -> bool:
        return all(name in names for name in key)

    def renamed(key: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names[name] for name in key)

    return evolve(
        schema,
        columns=columns,
        primary_key=renamed(schema.primary_key) if whole(schema.primary_key) else (),
        constraint_keys=tuple(
            evolve(key, columns=renamed(key.columns)) for key in schema.constraint_keys if whole(key.columns)
        ),
    )


def with_outputs(schema: TableSchema, outputs: Iterable[pa.Field]) -> TableSchema:
    """Return the schema with columns that are appended or replace columns with the same name."""
    return evolve(schema, columns=with_fields(schema.columns, outputs))


def with_fields(columns: pa.Schema, outputs: Iterable[pa.Field]) -> pa.Schema:
    """Return the columns with ``outputs`` appended, or replacing columns with the same name."""
    for output in outputs:
        at = columns.get_field_index(output.name)
        columns = columns.append(output) if at < 0 else columns.set(at, output)
    return columns


def put(batch: Batch, outputs: Sequence[pa.Field], values: Iterable[pa.Array]) -> Batch:
    """Return the batch with the values of the columns added by ``with_outputs``."""
    return evolve(batch, rows=put_fields(batch.rows, outputs, values))


def put_fields(rows: pa.RecordBatch, outputs: Sequence[pa.Field], values: Iterable[pa.Array]) -> pa.RecordBatch:
    """Return the rows with the values of the columns added by ``with_fields``."""
    for output, column in zip(outputs, values, strict=True):
        at = rows.schema.get_field_index(output.name)
        rows = rows.append_column(output, column) if at < 0 else rows.set_column(at, output, column)
    return rows


def kept(batch: Batch, mask: pa.BooleanArray) -> Batch:
    """Return the rows for which the mask is true, with their kinds, ``absent`` and ``origins``."""
    kinds = None if batch.kinds is None else batch.kinds.filter(mask)
    absent = each_absent(batch.absent, lambda of: of.filter(mask))
    origins = None if batch.origins is None else batch.origins.filter(mask)
    return evolve(batch, rows=batch.rows.filter(mask), kinds=kinds, absent=absent, origins=origins)


def sliced(batch: Batch, start: int, length: int | None) -> Batch:
    """Return consecutive rows, or all rows from ``start``, with their kinds, ``absent`` and ``origins``."""
    kinds = None if batch.kinds is None else batch.kinds.slice(start, length)
    absent = each_absent(batch.absent, lambda of: of.slice(start, length))
    origins = None if batch.origins is None else batch.origins.slice(start, length)
    return evolve(batch, rows=batch.rows.slice(start, length), kinds=kinds, absent=absent, origins=origins)


def without_bad(batch: Batch, good: pa.BooleanArray) -> Batch:
    """Return the rows for which the mask is true, and count all others as bad rows."""
    return evolve(kept(batch, good), left_out=batch.left_out + good.false_count)


def each_absent(
    masks: Mapping[str, pa.BooleanArray], change: Callable[[pa.BooleanArray], pa.BooleanArray]
) -> dict[str, pa.BooleanArray]:
    """Apply a selection of rows to each mask of absent values."""
    changed = {name: change(mask) for name, mask in masks.items()}
    return {name: mask for name, mask in changed.items() if mask.true_count}


def renamed_absent(batch: Batch, names: Mapping[str, str]) -> dict[str, pa.BooleanArray]:
    """Return the masks of absent values for the remaining columns; ``names`` maps old to new names."""
    return {names[name]: mask for name, mask in batch.absent.items() if name in names}


def require_arrived(batch: Batch, who: str, *, only_new_rows: bool = False) -> None:
    """Raise RowError for an absent value. With ``only_new_rows``, deleted and old rows may have absent values."""
    for name, mask in batch.absent.items():
        if only_new_rows and batch.kinds is not None:
            mask = pc.and_(mask, are_new(batch.kinds))
        if mask.true_count:
            raise RowError(unknown_value(who, name, f"row {mask.index(True).as_py() + 1} of a batch of {batch.table}"))


def are_new(kinds: pa.Int8Array) -> pa.BooleanArray:
    """Return a mask of inserted rows and new rows of updates."""
    return pc.or_(pc.equal(kinds, RowKind.INSERT.value), pc.equal(kinds, RowKind.UPDATE_AFTER.value))


def kinds_and_numbers(batch: Batch, first: int) -> tuple[pa.Array, pa.Array]:
    """Return the kinds (``int8``) of a batch's rows and their numbers (``int64``), which begin with ``first``.

    The arrays are made from bytes: ``pa.array`` converts each Python number, which takes 100 ns per row, and imports
    pandas if it is installed, which takes 0.15 s or more in each worker process.
    """
    rows = batch.rows.num_rows
    kinds = batch.kinds
    if kinds is None:
        kinds = _of_bytes(pa.int8(), bytes([RowKind.INSERT.value]) * rows, rows)
    steps = first.to_bytes(8, sys.byteorder) + (1).to_bytes(8, sys.byteorder) * (rows - 1)
    return kinds, pc.cumulative_sum(_of_bytes(pa.int64(), steps, rows))


def _of_bytes(kind: pa.DataType, values: bytes, length: int) -> pa.Array:
    return pa.Array.from_buffers(kind, length, [None, pa.py_buffer(values)])


def unknown_value(who: str, column: str, row: str) -> str:
    """Return the message about an absent value that is required."""
    return (
        f"{who}: column {column!r}, {row}: the change does not contain the required value of this column. "
        "Configure the database to log whole rows: in PostgreSQL with ALTER TABLE … REPLICA IDENTITY FULL, in "
        "MySQL and MariaDB with SET GLOBAL binlog_row_image = FULL"
    )

"""Flattening of nested rows: objects become columns, and lists become child tables.

A field ``b`` of an object ``a`` is the column ``a__b``. A list ``tags`` of the table ``people`` is the table
``people__tags``, with a row for each element; its columns are the fields of an object, or ``value``. Each row has an
ID, ``_row_id``.
Rows of child tables also have the ID of their parent, ``_parent_id``, and the index in its list, ``_list_index``, from
0.

The ID of a row is a hash of its location. The ID of an element is a hash of its parent's ID, the list and the index.
IDs do not change when rows are divided differently or read again.
"""

import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve, frozen

from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.columns import require_arrived
from seatunnel_core.work.names import repeated

ROW_ID, PARENT_ID, LIST_INDEX, VALUE = "_row_id", "_parent_id", "_list_index", "value"
KEEP, COLUMNS, TABLES = "keep", "columns", "tables"
_BETWEEN = "__"
_ID_BYTES = 12

_Column = tuple[pa.Field, pa.Array]


def row_id(*place: object) -> str:
    """Return the ID of a row from its location, such as a file and a position."""
    text = "\0".join(map(str, place))
    return blake2b(text.encode(errors="surrogateescape"), digest_size=_ID_BYTES).hexdigest()


def has_lists(columns: pa.Schema) -> bool:
    """Return True if rows have lists that would become child tables."""
    return any(_has_list(column.type) for column in columns)


def _has_list(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or (pa.types.is_struct(kind) and any(_has_list(part.type) for part in kind))


def safe(name: str) -> str:
    """Return a name that all databases accept without quotes: ``unitPrice (EUR)`` becomes ``unit_price_eur``.

    Capitalized words are separated by ``_``, letters are lowercased, and each run of characters other than a to z,
    digits and ``_`` becomes one ``_``, which is removed if it is at the end of the name. A leading digit is prefixed
    with ``_``.
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    found = re.sub(r"[^a-z0-9_]+", "_", parted)
    found = found if found.endswith("_") and parted.endswith("_") else found.rstrip("_")
    return f"_{found}" if not found or found[0].isdigit() else found


@frozen(kw_only=True)
class Nesting:
    """Handling of nested objects, nested lists and names in rows."""

    kind: str = KEEP
    """Handling of nested values: ``keep`` keeps them; ``columns`` flattens objects to columns; ``tables`` also converts
    lists to child tables."""

    safe_names: bool = False
    """True if names of columns and child tables are converted by ``safe``."""

    @property
    def identifies(self) -> bool:
        """True if rows with lists get ``_row_id`` as their first column."""
        return self.kind == TABLES

    def identified(self, columns: pa.Schema) -> pa.Schema:
        """Return the columns, preceded by the row ID if needed. Raise ValueError if its name is taken."""
        if not self.identifies or not has_lists(columns):
            return columns
        if ROW_ID in columns.names:
            raise ValueError(
                f"a field is named {ROW_ID}, which is reserved for the id of rows with child tables: "
                "set nesting = columns"
            )
        return pa.schema([pa.field(ROW_ID, pa.string()), *columns])

    def schemas(self, schema: TableSchema) -> tuple[TableSchema, ...]:
        """Return the schemas of a table with nested rows and of its child tables.

        Raise ValueError if two tables or columns would have the same name.
        """
        if self == Nesting():
            return (schema,)
        found: list[TableSchema] = []
        columns = [(column, pa.array([], column.type)) for column in schema.columns]
        for table, rows in self._tables(schema.table, columns):
            _refuse_doubled(table, rows.schema.names)
            keyed = schema if not found else TableSchema(table=table, columns=rows.schema, root=schema.table)
            names = tuple(map(self._name, keyed.primary_key))
            found.append(evolve(keyed, columns=rows.schema, primary_key=names, constraint_keys=()))
        _refuse_doubled("", [each.table for each in found])
        return tuple(found)

    def batches(self, batch: Batch) -> Iterator[Batch]:
        """Yield the rows of a batch and of its child tables, except for empty tables."""
        if self == Nesting():
            yield batch
            return
        if batch.absent:
            require_arrived(batch, "nesting")
        columns = list(zip(batch.rows.schema, batch.rows.columns, strict=True))
        for table, rows in self._tables(batch.table, columns):
            if rows.num_rows:
                is_own = table == batch.table
                kinds, origins = (batch.kinds, batch.origins) if is_own else (None, None)
                yield evolve(batch, table=table, rows=rows, kinds=kinds, origins=origins)

    def _tables(self, table: str, columns: Sequence[_Column]) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield a table, with its key columns first, and then its child tables."""
        flat = [each for column, values in columns for each in self._flattened(column, values)]
        lists = [(column, values) for column, values in flat if self.kind == TABLES and pa.types.is_list(column.type)]
        own = [
            (column, values) for column, values in flat if not (self.kind == TABLES and pa.types.is_list(column.type))
        ]
        rows = pa.RecordBatch.from_arrays([values for _, values in own], schema=pa.schema([each for each, _ in own]))
        yield table, rows
        ids = rows.column(ROW_ID) if lists else None
        for column, values in lists:
            yield from self._tables(f"{table}{_BETWEEN}{column.name}", _child(column.name, values, ids))

    def _flattened(self, column: pa.Field, values: pa.Array) -> Iterator[_Column]:
        if self.kind == KEEP or not pa.types.is_struct(column.type):
            yield column.with_name(self._name(column.name)), values
            return
        for part, inner in zip(column.type, values.flatten(), strict=True):
            yield from self._flattened(part.with_name(f"{column.name}{_BETWEEN}{part.name}"), inner)

    def _name(self, name: str) -> str:
        return safe(name) if self.safe_names else name


def _child(name: str, lists: pa.Array, ids: pa.Array) -> list[_Column]:
    """Return the columns for the list elements of rows with these IDs."""
    values, parents = pc.list_flatten(lists), pc.list_parent_indices(lists).to_numpy()
    places = np.arange(len(parents)) - np.searchsorted(parents, parents)
    parent_ids = ids.take(pa.array(parents))
    own: list[Any] = [row_id(*each) for each in zip(parent_ids.to_pylist(), [name] * len(places), places, strict=True)]
    keys = [
        (pa.field(ROW_ID, pa.string()), pa.array(own, pa.string())),
        (pa.field(PARENT_ID, pa.string()), parent_ids),
        (pa.field(LIST_INDEX, pa.int64()), pa.array(places, pa.int64())),
    ]
    if not pa.types.is_struct(values.type):
        return [*keys, (lists.type.value_field.with_name(VALUE), values)]
    return [*keys, *zip(values.type, values.flatten(), strict=True)]


def _refuse_doubled(table: str, names: Sequence[str]) -> None:
    doubled = repeated(names)
    if doubled:
        what = f"two columns of the table {table}" if table else "two tables"
        raise ValueError(
            f"with these values of nesting and column_names, {what} would be named {doubled[0]!r}; declare the "
            "columns in schema, or set nesting = keep or column_names = written"
        )

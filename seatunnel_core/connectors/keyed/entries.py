"""Conversion of rows to entries of a key-value store: a key, a value and, for hashes, a field."""

from collections.abc import Iterator

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.connectors.keyed.column_template import ColumnTemplate, column_bytes, present_bytes
from seatunnel_core.connectors.messages.encoding import RowFormat

_REMOVED = (int(RowKind.UPDATE_BEFORE), int(RowKind.DELETE))


@frozen
class Entry:
    """A value to write or remove."""

    removed: bool
    key: bytes
    field: bytes
    """Field of a hash; empty for other values."""

    value: bytes


@frozen(kw_only=True)
class Entries:
    """Converter from the rows of a table to entries."""

    key: ColumnTemplate
    value: str | None
    """Column of the value; ``None`` to write the whole row in ``format``."""

    field: str | None
    """Column of the hash field; ``None`` for values without a field."""

    by_column: bool
    """True to write each column as a field of a hash. Null removes the field."""

    format: RowFormat

    def check(self, schema: TableSchema, *, value: str, field: str) -> None:
        """Raise SinkError if a column in the options ``value`` or ``field`` is missing or has a wrong type."""
        require_columns(value, filter(None, [self.value]), schema)
        require_columns(field, filter(None, [self.field]), schema)
        if not self.by_column and not self.value:
            self.format.check(schema)

    def of(self, batch: Batch) -> Iterator[Entry]:
        """Yield the entries of a batch, in order. Raise RowError if a key is null or a value has no string form."""
        keys = self.key.values(batch.rows)
        kinds = [0] * len(keys) if batch.kinds is None else batch.kinds.to_pylist()
        for row, field, value in self._values(batch.rows):
            yield Entry(value is None or kinds[row] in _REMOVED, keys[row], field, value or b"")

    def _values(self, rows: pa.RecordBatch) -> Iterator[tuple[int, bytes, bytes | None]]:
        """Yield row numbers, fields and values. The value is ``None`` for a null column of a hash."""
        if self.by_column:
            columns = [(name.encode(), column_bytes(rows, name)) for name in rows.schema.names]
            yield from ((row, name, values[row]) for row in range(rows.num_rows) for name, values in columns)
            return
        values = column_bytes(rows, self.value) if self.value else self.format.lines(rows)
        fields = present_bytes(rows, self.field) if self.field else [b""] * rows.num_rows
        for row, (field, value) in enumerate(zip(fields, values, strict=True)):
            yield row, field, value or b""

"""Encoding of rows as message values: JSON, text, Avro, and change formats."""

import io
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import ConnectorError, RowError, SinkError
from seatunnel_core.connectors.file.formats.writer import FileStyle
from seatunnel_core.connectors.messages.avro import avro_schema

_ADDED: dict[str, tuple[bytes, bytes]] = {
    "canal_json": (b'{"data":[', b'],"type":"INSERT"}'),
    "debezium_json": (b'{"before":null,"after":', b',"op":"c"}'),
    "maxwell_json": (b'{"data":', b',"type":"insert"}'),
    "ogg_json": (b'{"before":null,"after":', b',"op_type":"I"}'),
}
_TAKEN: dict[str, tuple[bytes, bytes]] = {
    "canal_json": (b'{"data":[', b'],"type":"DELETE"}'),
    "debezium_json": (b'{"before":', b',"after":null,"op":"d"}'),
    "maxwell_json": (b'{"data":', b',"type":"delete"}'),
    "ogg_json": (b'{"before":', b',"after":null,"op_type":"D"}'),
}
"""Prefix and suffix of the row in a message, for inserted and deleted rows. An update is two messages."""


@frozen(kw_only=True)
class RowFormat:
    """Format of message values that contain one row each; picklable."""

    format: str = "json"
    delimiter: str = ","
    null: str = ""

    def check(self, schema: TableSchema) -> None:
        """Raise SinkError unless the format can encode all columns."""
        try:
            if self.format == "avro":
                avro_schema(schema.columns)
            elif self.format == "text":
                FileStyle(format="text").writer.refuse(schema.columns)
        except ConnectorError as error:
            raise SinkError(f"the table {schema.table}: {error}") from None

    def lines(self, rows: pa.RecordBatch) -> list[bytes]:
        """Encode rows of any kind as lines of JSON or text, without line breaks."""
        style = FileStyle(format="json")
        if self.format == "text":
            style = FileStyle(format="text", delimiter=self.delimiter, null=self.null)
        stream = pa.BufferOutputStream()
        writer = style.open(stream, rows.schema)
        writer.write(style.writer.prepared(style, rows))
        writer.close()
        found: list[bytes] = stream.getvalue().to_pybytes().split(b"\n")[:-1]
        assert len(found) == rows.num_rows, "each row must be one line"
        return found

    def values(self, batch: Batch) -> Sequence[bytes]:
        """Return the value for each row, in order. Raise RowError if the format cannot represent a row."""
        if self.format in _ADDED:
            return self._changes(batch)
        self.refuse_kinds(batch, RowKind.UPDATE_BEFORE, RowKind.DELETE)
        if self.format == "avro":
            return self._avro(batch.rows)
        return self.lines(batch.rows)

    def refuse_kinds(self, batch: Batch, *kinds: RowKind) -> None:
        """Raise RowError if a row has a kind that the format cannot represent."""
        if batch.kinds is not None and pc.any(pc.is_in(batch.kinds, pa.array(kinds, pa.int8()))).as_py():
            raise RowError(
                f"table {batch.table}: rows are deleted or updated, which {self.format} cannot represent; set "
                "format = debezium_json or canal_json, or filter the rows with the FilterRowKind transform"
            )

    def _changes(self, batch: Batch) -> Sequence[bytes]:
        rows = self.lines(batch.rows)
        before, behind = _ADDED[self.format]
        if batch.kinds is None:
            return [before + row + behind for row in rows]
        around = (_ADDED[self.format], _TAKEN[self.format])
        gone = (RowKind.UPDATE_BEFORE, RowKind.DELETE)
        sides = [around[kind in gone] for kind in batch.kinds.to_pylist()]
        return [before + row + behind for (before, behind), row in zip(sides, rows, strict=True)]

    def _avro(self, rows: pa.RecordBatch) -> Sequence[bytes]:
        import fastavro

        schema = fastavro.parse_schema(avro_schema(rows.schema))
        found = []
        columns = [_avro_values(*each) for each in zip(rows.schema, rows.columns, strict=True)]
        for values in zip(*columns, strict=True):
            stream = io.BytesIO()
            try:
                fastavro.schemaless_writer(stream, schema, dict(zip(rows.schema.names, values, strict=True)))
            except (ValueError, TypeError, OverflowError) as error:
                raise RowError(f"a row cannot be written as avro: {str(error)[:200]}") from None
            found.append(stream.getvalue())
        return found


def _avro_values(column: pa.Field, values: pa.Array) -> list[Any]:
    try:
        return [_avro_value(value, column.type) for value in values.to_pylist()]
    except ValueError as error:
        raise RowError(f"column {column.name!r}: {error}", column=column.name) from None


def _avro_value(value: Any, kind: pa.DataType) -> Any:
    """Convert the maps in a value to dictionaries at any depth. Arrow returns maps as lists of pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_struct(kind):
        return {part.name: _avro_value(value[part.name], part.type) for part in kind}
    if not pa.types.is_map(kind):
        return [_avro_value(element, kind.value_type) for element in value]
    found = {key: _avro_value(item, kind.item_type) for key, item in value}
    if len(found) < len(value):
        raise ValueError("a map contains a key more than once, which avro does not allow")
    return found

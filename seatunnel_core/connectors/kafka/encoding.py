"""Encode rows as messages: the value in a format, the key, and the partition."""

import io
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from seatunnel_core.config.problem import nearest
from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import ConnectorError, RowError, SinkError
from seatunnel_core.connectors.file.formats.writer import FileStyle
from seatunnel_core.connectors.kafka.avro import avro_schema

Message = tuple[str, int, bytes | None, bytes]
"""Topic, partition (-1: the client chooses), key and value."""

_OVERHEAD = 200
"""Maximum overhead of a batch of one message, in addition to key and value; the brokers' limit applies to the batch."""

_JSON = FileStyle(format="json", delimiter=",")

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
"""Texts around an inserted row, and around a deleted one. An update is two messages, one for the old and one for the
new row.
"""


@frozen(kw_only=True)
class Encoder:
    """Encoder configured by the options of a sink; picklable."""

    topic: str
    """Name of the topic, unless ``topic_column`` is set."""

    topic_column: str | None
    """Column that contains the name of the topic."""

    format: str
    delimiter: str
    null: str
    """Text for null in ``text``."""

    key_columns: tuple[str, ...]
    partition: int | None
    assigned: tuple[str, ...]
    largest: Mapping[str, int] = field(factory=dict)
    """Maximum size of a message in bytes for each known topic; that of ``""`` for all others."""

    partitions: Mapping[str, int] = field(factory=dict)
    """Number of partitions of each known topic."""

    topic_ids: Mapping[str, str] = field(factory=dict)
    """ID of each known topic, ``""`` if the brokers have none."""

    def check(self, schema: TableSchema) -> None:
        """Raise ``SinkError`` unless the columns in options exist and the format can encode all columns."""
        names = schema.columns.names
        for option, column in (
            *(("partition_key_fields", name) for name in self.key_columns),
            *((("topic", self.topic_column),) if self.topic_column is not None else ()),
        ):
            if column not in names:
                meant = nearest(column, names)
                raise SinkError(
                    f"option {option!r}: the table {schema.table} has no column {column!r}; it has {', '.join(names)}"
                    + (f"; did you mean {meant}?" if meant else "")
                )
        if self.topic_column is not None and not pa.types.is_string(schema.columns.field(self.topic_column).type):
            raise SinkError(f"option 'topic': the column {self.topic_column!r} of {schema.table} is not a string")
        try:
            if self.format == "avro":
                avro_schema(schema.columns)
            elif self.format == "text":
                FileStyle(format="text").writer.refuse(schema.columns)
        except ConnectorError as error:
            raise SinkError(f"the table {schema.table}: {error}") from None

    def messages(self, batch: Batch) -> list[Message]:
        """Return the messages of a batch, in order.

        Raises:
            RowError: A row cannot be encoded, or its message is too large.
        """
        rows = batch.rows
        if not rows.num_rows:
            return []
        values = self._values(batch)
        keys: Sequence[bytes | None] = [None] * rows.num_rows
        if self.key_columns:
            keys = lines(_JSON, rows.select(list(self.key_columns)))
        topics = self._topics(batch)
        found = [
            (topic, self._partition(topic, value), key, value)
            for topic, key, value in zip(topics, keys, values, strict=True)
        ]
        self._check_size(batch.table, found)
        return found

    def _topics(self, batch: Batch) -> Sequence[str]:
        if self.topic_column is None:
            return [self.topic] * batch.rows.num_rows
        names = batch.rows.column(self.topic_column)
        if names.null_count:
            raise RowError(f"table {batch.table}: the topic column {self.topic_column!r} is null in a row")
        return names.to_pylist()  # type: ignore[no-any-return]

    def _partition(self, topic: str, value: bytes) -> int:
        if self.partition is not None:
            return self.partition
        if not self.assigned:
            return -1
        for number, text in enumerate(self.assigned):
            if text.encode() in value:
                return number
        left = self.partitions.get(topic, 0) - len(self.assigned)
        if left <= 0:
            raise RowError(
                f"a message contains no text of assign_partitions, and topic {topic} has no remaining partition"
            )
        return zlib.crc32(value) % left + len(self.assigned)

    def _check_size(self, table: str, found: Sequence[Message]) -> None:
        for topic, _, key, value in found:
            size = len(key or b"") + len(value) + _OVERHEAD
            largest = self.largest.get(topic, self.largest.get("", size))
            if size > largest:
                raise RowError(
                    f"table {table}: a row is a message of {size:,} bytes for topic {topic}, which accepts "
                    f"{largest:,}: raise max.message.bytes of the topic and max.request.size in kafka.config"
                )

    # -- values ---------------------------------------------------------------------------------------------------

    def _values(self, batch: Batch) -> Sequence[bytes]:
        if self.format in _ADDED:
            return self._changes(batch)
        old = (RowKind.UPDATE_BEFORE, RowKind.DELETE)
        if batch.kinds is not None and pc.any(pc.is_in(batch.kinds, pa.array(old, pa.int8()))).as_py():
            raise RowError(
                f"table {batch.table}: rows are deleted or updated, which {self.format} cannot represent; set "
                "format = debezium_json or canal_json, or filter the rows with the transform FilterRowKind"
            )
        if self.format == "avro":
            return self._avro(batch.rows)
        if self.format == "text":
            return lines(FileStyle(format="text", delimiter=self.delimiter, null=self.null), batch.rows)
        return lines(_JSON, batch.rows)

    def _changes(self, batch: Batch) -> Sequence[bytes]:
        rows = lines(_JSON, batch.rows)
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
    """Return a value with dicts for maps, at any depth; Arrow returns maps as lists of pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_struct(kind):
        return {part.name: _avro_value(value[part.name], part.type) for part in kind}
    if not pa.types.is_map(kind):
        return [_avro_value(element, kind.value_type) for element in value]
    found = {key: _avro_value(item, kind.item_type) for key, item in value}
    if len(found) < len(value):
        raise ValueError("a map has a key more than once, which avro does not allow")
    return found


def lines(style: FileStyle, rows: pa.RecordBatch) -> list[bytes]:
    """Return the encoded rows; JSON and text have no line break inside a row, so each row is a line."""
    stream = pa.BufferOutputStream()
    writer = style.open(stream, rows.schema)
    writer.write(style.writer.prepared(style, rows))
    writer.close()
    found: list[bytes] = stream.getvalue().to_pybytes().split(b"\n")[:-1]
    assert len(found) == rows.num_rows, "a row is a line"
    return found

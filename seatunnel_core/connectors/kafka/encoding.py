"""Encoding of rows as messages: the formatted value, the key, and the partition."""

import zlib
from collections.abc import Mapping, Sequence

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError, SinkError
from seatunnel_core.connectors.column_options import require_columns
from seatunnel_core.connectors.messages.debezium_envelopes import MESSAGES
from seatunnel_core.connectors.messages.encoding import RowFormat
from seatunnel_core.rows.types import type_name

Message = tuple[str, int, bytes | None, bytes | None]
"""Topic, partition (-1 if the client chooses it), key and value."""

COMPATIBLE = "compatible_debezium_json"
"""Format of rows that already contain messages: see ``messages/debezium_envelopes.py``."""

_MESSAGE_TYPES = dict(zip(MESSAGES.names, MESSAGES.types, strict=True))

_OVERHEAD = 200
"""Maximum size of a single-message batch without the key and value, in bytes. Brokers limit the batch size."""


@frozen(kw_only=True)
class Encoder(RowFormat):
    """Encoder that turns rows into messages according to the options of a sink; picklable."""

    topic: str
    """Name of the topic, unless ``topic_column`` is set."""

    topic_column: str | None
    key_columns: tuple[str, ...]
    partition: int | None
    assigned: tuple[str, ...]
    largest: Mapping[str, int] = field(factory=dict)
    """Maximum message size in bytes, keyed by topic; the key ``""`` stands for all other topics."""

    partitions: Mapping[str, int] = field(factory=dict)
    """Number of partitions by topic."""

    topic_ids: Mapping[str, str] = field(factory=dict)
    """Topic IDs by topic; ``""`` if the brokers have no IDs."""

    def check(self, schema: TableSchema) -> None:
        """Raise SinkError if an option names a missing column, or the format cannot encode a column."""
        require_columns("partition_key_fields", self.key_columns, schema)
        require_columns("topic", (self.topic_column,) if self.topic_column is not None else (), schema)
        if self.topic_column is not None and not pa.types.is_string(schema.columns.field(self.topic_column).type):
            raise SinkError(f"option 'topic': the column {self.topic_column!r} of {schema.table} is not a string")
        if self.format == COMPATIBLE:
            if dict(zip(schema.columns.names, schema.columns.types, strict=True)) != _MESSAGE_TYPES:
                have = ", ".join(f"{column.name} ({type_name(column.type)})" for column in schema.columns)
                raise SinkError(
                    f"option 'format': {COMPATIBLE} requires rows with exactly the string columns topic, key and "
                    f"value, but the rows of {schema.table} have {have}; set format = debezium_json for rows with "
                    "different columns"
                )
            return
        super().check(schema)

    def messages(self, batch: Batch) -> list[Message]:
        """Return the messages of a batch, in order. Raise RowError for an invalid row or an oversized message."""
        rows = batch.rows
        if not rows.num_rows:
            return []
        keys: Sequence[bytes | None] = [None] * rows.num_rows
        values: Sequence[bytes | None]
        if self.format == COMPATIBLE:
            self.refuse_kinds(batch, *(kind for kind in RowKind if kind is not RowKind.INSERT))
            keys, values = (rows.column(name).cast(pa.binary()).to_pylist() for name in ("key", "value"))
        else:
            values = self.values(batch)
        if self.key_columns:
            keys = RowFormat().lines(rows.select(list(self.key_columns)))
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

    def _partition(self, topic: str, value: bytes | None) -> int:
        if self.partition is not None:
            return self.partition
        if not self.assigned:
            return -1
        value = value or b""
        for number, text in enumerate(self.assigned):
            if text.encode() in value:
                return number
        left = self.partitions.get(topic, 0) - len(self.assigned)
        if left <= 0:
            raise RowError(
                f"a message contains none of the strings of assign_partitions, and topic {topic} has no partition "
                "for other messages"
            )
        return zlib.crc32(value) % left + len(self.assigned)

    def _check_size(self, table: str, found: Sequence[Message]) -> None:
        for topic, _, key, value in found:
            size = len(key or b"") + len(value or b"") + _OVERHEAD
            largest = self.largest.get(topic, self.largest.get("", size))
            if size > largest:
                raise RowError(
                    f"table {table}: the message of a row has {size:,} bytes, but topic {topic} accepts at most "
                    f"{largest:,} bytes; increase max.message.bytes of the topic and max.request.size in "
                    "kafka.config"
                )

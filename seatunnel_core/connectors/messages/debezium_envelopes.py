"""Encoding of changed rows as Debezium messages in JSON, for ``format = COMPATIBLE_DEBEZIUM_JSON``.

Each message is a row with the columns of ``MESSAGES``, which the ``Kafka`` sink with the same format sends unchanged.
Values are represented as with Debezium's default settings: bytes and decimals in base64, dates in days, times in
microseconds, and timestamps in milliseconds, microseconds or nanoseconds, depending on the column.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as of
from attrs import frozen

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError
from seatunnel_core.connectors.messages.debezium import UNAVAILABLE, UNAVAILABLE_BYTES
from seatunnel_core.connectors.messages.encoding import RowFormat
from seatunnel_core.rows.columns import unknown_value
from seatunnel_core.rows.types import type_name

__all__ = ["BITS", "LOGICAL", "MESSAGES", "VARIABLE", "DebeziumFormat", "Message", "message_rows"]

MESSAGES = pa.schema([("topic", pa.string()), ("key", pa.string()), ("value", pa.string())])
"""Columns of rows that contain messages. The value of a tombstone is null."""

Message = tuple[str, str | None, str | None]
"""Topic, key and value of a message."""

LOGICAL = b"debezium"
"""Key of the field metadata that contains the name of the logical type."""

BITS, VARIABLE = "io.debezium.data.Bits", "io.debezium.data.VariableScaleDecimal"

_EXACT = Context(prec=80, traps=[Inexact, InvalidOperation])
"""Decimal context for more digits than Python's default, up to the 76 digits of ``decimal256``."""

_CONNECT, _TIME = "org.apache.kafka.connect.data.", "io.debezium.time."
_NUMBERS = {"ts_ms", "server_id", "pos", "row", "thread", "txId", "lsn", "xmin"}
"""Fields of the ``source`` block that are numbers. All other fields are strings."""

_SIMPLE = {
    pa.bool_(): "boolean",
    pa.int8(): "int16",
    pa.int16(): "int16",
    pa.int32(): "int32",
    pa.int64(): "int64",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "bytes",
}
_UNITS = {
    "s": ("Timestamp", "ms"),
    "ms": ("Timestamp", "ms"),
    "us": ("MicroTimestamp", "us"),
    "ns": ("NanoTimestamp", "ns"),
}


@frozen(kw_only=True)
class DebeziumFormat:
    """Format of the messages of a source; picklable."""

    connector: str
    """``mysql``, ``mariadb`` or ``postgresql``."""

    server: str
    """Name of the server, which is the prefix of topic names."""

    key_schemas: bool = True
    """True to include the schema in each key (``key.converter.schemas.enable``)."""

    value_schemas: bool = True
    """True to include the schema in each value (``value.converter.schemas.enable``)."""

    tombstones: bool = False
    """True to send a tombstone, a message without a value, after each deletion, so that Kafka can compact the topic."""

    def check(self, schema: TableSchema) -> None:
        """Raise ``ValueError`` if a column has a type that messages cannot represent."""
        for column in schema.columns:
            _schema_of_column(column)

    def messages(
        self, batch: Batch, schema: TableSchema, source: Sequence[Mapping[str, Any]], *, ts_ms: int, snapshot: bool
    ) -> Batch:
        """Return the messages for rows, in order.

        Args:
            batch: The rows. An update is one message, or a deletion and an insertion if it changes the key.
            schema: The schema of the table.
            source: Origin of each row, as in Debezium's ``source`` block: ``db``, ``schema`` (PostgreSQL), ``table``,
                ``ts_ms`` and the position.
            ts_ms: The current time, in milliseconds.
            snapshot: True for rows of a snapshot.

        Raises:
            RowError: A value of a key or of a new row is absent, and its type has no placeholder.
        """
        made = self.numbered(batch, schema, source, ts_ms=ts_ms, snapshot=snapshot)
        return Batch(table=batch.table, rows=message_rows(message for _, message in made))

    def numbered(
        self, batch: Batch, schema: TableSchema, source: Sequence[Mapping[str, Any]], *, ts_ms: int, snapshot: bool
    ) -> list[tuple[int, Message]]:
        """Return the messages for rows as ``messages`` does, each with the index of its row."""
        return _Envelopes(self, schema, source, ts_ms, snapshot).of(batch)


def message_rows(messages: Iterable[Message]) -> pa.RecordBatch:
    """Return messages as rows."""
    columns = [list(values) for values in zip(*messages, strict=True)] or [[], [], []]
    return pa.RecordBatch.from_arrays([pa.array(each, pa.string()) for each in columns], schema=MESSAGES)


class _Envelopes:
    def __init__(
        self, form: DebeziumFormat, schema: TableSchema, source: Sequence[Mapping[str, Any]], ts_ms: int, snapshot: bool
    ) -> None:
        self._form, self._schema, self._source, self._ts_ms = form, schema, source, ts_ms
        self._snapshot = snapshot
        self._value_schemas: dict[str, str] = {}

    def of(self, batch: Batch) -> list[tuple[int, Message]]:
        kinds = [int(RowKind.INSERT)] * batch.rows.num_rows if batch.kinds is None else batch.kinds.to_pylist()
        old = pa.array([kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE) for kind in kinds], pa.bool_())
        rows = RowFormat().lines(_encoded(batch, old))
        keys = self._keys(batch)
        found: list[tuple[int, Message]] = []
        before: int | None = None
        for at, kind in enumerate(kinds):
            if kind == RowKind.UPDATE_BEFORE:
                before = at
                continue
            if kind == RowKind.DELETE:
                found += self._deleted(at, keys[at], rows)
            elif kind == RowKind.INSERT:
                found.append((at, self._message(at, keys[at], "r" if self._snapshot else "c", None, rows[at])))
            elif before is None or keys[before] == keys[at]:
                old_row = None if before is None else rows[before]
                found.append((at, self._message(at, keys[at], "u", old_row, rows[at])))
            else:
                found += self._deleted(before, keys[before], rows)
                found.append((at, self._message(at, keys[at], "c", None, rows[at])))
            before = None
        if before is not None:
            raise RowError(f"table {batch.table}: the last row of a batch is an old row, but its new row is missing")
        return found

    def _deleted(self, at: int, key: str | None, rows: Sequence[bytes]) -> list[tuple[int, Message]]:
        gone = self._message(at, key, "d", rows[at], None)
        return [(at, gone), (at, (gone[0], key, None))] if self._form.tombstones else [(at, gone)]

    def _message(self, at: int, key: str | None, op: str, before: bytes | None, after: bytes | None) -> Message:
        source = self._source[at]
        topic = ".".join([self._form.server, source.get("schema") or source["db"], source["table"]])
        where = {
            "version": "seatunnel",
            "connector": self._form.connector,
            "name": self._form.server,
            "snapshot": "true" if self._snapshot else "false",
            **source,
        }
        old, new = ("null" if row is None else row.decode() for row in (before, after))
        payload = (
            f'{{"before":{old},"after":{new},"source":{_json(where)},"op":"{op}",'
            f'"ts_ms":{self._ts_ms},"transaction":null}}'
        )
        if not self._form.value_schemas:
            return topic, key, payload
        schema = self._value_schemas.get(topic)
        if schema is None:
            schema = self._value_schemas[topic] = _json(self._envelope(topic, where))
        return topic, key, f'{{"schema":{schema},"payload":{payload}}}'

    def _keys(self, batch: Batch) -> Sequence[str | None]:
        names = list(self._schema.primary_key)
        if not names:
            return [None] * batch.rows.num_rows
        for name in names:
            mask = batch.absent.get(name)
            if mask is not None and mask.true_count:
                row = f"row {mask.index(True).as_py() + 1} of a batch of {batch.table}"
                raise RowError(unknown_value("COMPATIBLE_DEBEZIUM_JSON", name, row), column=name)
        rows = batch.rows.select(names)
        lines = RowFormat().lines(_encoded(Batch(table=batch.table, rows=rows), pa.array([True] * rows.num_rows)))
        if not self._form.key_schemas:
            return [line.decode() for line in lines]
        source = self._source[0] if self._source else {}
        named = ".".join([self._form.server, source.get("schema") or source.get("db", ""), source.get("table", "")])
        schema = _json(_struct(rows.schema, f"{named}.Key", optional=False))
        return [f'{{"schema":{schema},"payload":{line.decode()}}}' for line in lines]

    def _envelope(self, topic: str, where: Mapping[str, Any]) -> dict[str, Any]:
        row = _struct(self._schema.columns, f"{topic}.Value", optional=True)
        old = _struct(self._old_columns(), f"{topic}.Value", optional=True)
        source = {
            "type": "struct",
            "fields": [
                {"type": "int64" if name in _NUMBERS else "string", "optional": True, "field": name} for name in where
            ],
            "optional": False,
            "name": f"io.debezium.connector.{self._form.connector}.Source",
            "field": "source",
        }
        fields = [
            {**old, "field": "before"},
            {**row, "field": "after"},
            source,
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
            {"type": "string", "optional": True, "field": "transaction"},
        ]
        return {"type": "struct", "fields": fields, "optional": False, "name": f"{topic}.Envelope"}

    def _old_columns(self) -> pa.Schema:
        """Return the columns of old rows. PostgreSQL may log only the key."""
        columns = self._schema.columns
        if self._form.connector != "postgresql":
            return columns
        return pa.schema([each.with_nullable(each.name not in self._schema.primary_key) for each in columns])


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# -- schemas ----------------------------------------------------------------------------------------------------------


def _struct(columns: pa.Schema, name: str, *, optional: bool) -> dict[str, Any]:
    fields = [{**_schema_of_column(column), "optional": column.nullable, "field": column.name} for column in columns]
    return {"type": "struct", "fields": fields, "optional": optional, "name": name}


def _logical(column: pa.Field) -> str:
    """Return the name of a column's logical type; ``""`` if the Arrow type determines the representation."""
    name: bytes = (column.metadata or {}).get(LOGICAL, b"")
    return name.decode()


def _schema_of_column(column: pa.Field) -> dict[str, Any]:
    name, found = _logical(column), _schema_of(column.type)
    if name == VARIABLE:
        parts = [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ]
        return {"type": "struct", "fields": parts, "name": name, "version": 1}
    return {**found, "name": name, "version": 1} if name else found


def _schema_of(kind: pa.DataType) -> dict[str, Any]:
    """Return the Kafka Connect schema of a type. Raise ValueError if the type has none."""
    if kind in _SIMPLE:
        return {"type": _SIMPLE[kind]}
    if of.is_decimal(kind):
        parameters = {"scale": str(kind.scale), "connect.decimal.precision": str(kind.precision)}
        return {"type": "bytes", "name": f"{_CONNECT}Decimal", "version": 1, "parameters": parameters}
    if of.is_date(kind):
        return {"type": "int32", "name": f"{_TIME}Date", "version": 1}
    if of.is_time32(kind):
        return {"type": "int32", "name": f"{_TIME}Time", "version": 1}
    if of.is_time(kind):
        return {"type": "int64", "name": f"{_TIME}MicroTime", "version": 1}
    if of.is_timestamp(kind):
        if kind.tz:
            return {"type": "string", "name": f"{_TIME}ZonedTimestamp", "version": 1}
        return {"type": "int64", "name": f"{_TIME}{_UNITS[kind.unit][0]}", "version": 1}
    if of.is_list(kind):
        return {"type": "array", "items": {**_schema_of(kind.value_type), "optional": True}}
    raise ValueError(f"the type {type_name(kind)} cannot be written as COMPATIBLE_DEBEZIUM_JSON")


# -- values -----------------------------------------------------------------------------------------------------------


def _encoded(batch: Batch, old: pa.BooleanArray) -> pa.RecordBatch:
    """Return the rows in Debezium's representation. In ``old`` rows, absent values become null."""
    arrays = []
    for column, values in zip(batch.rows.schema, batch.rows.columns, strict=True):
        found = _LOGICAL_FORMS.get(_logical(column), _forms)(values)
        mask = batch.absent.get(column.name)
        if mask is not None:
            found = _with_placeholders(batch, column, found, pc.and_(mask, pc.invert(old)))
        arrays.append(found)
    return pa.RecordBatch.from_arrays(arrays, names=batch.rows.schema.names)


def _with_placeholders(batch: Batch, column: pa.Field, values: pa.Array, mask: pa.BooleanArray) -> pa.Array:
    if not mask.true_count:
        return values
    if of.is_string(column.type):
        return pc.if_else(mask, UNAVAILABLE, values)
    if of.is_binary(column.type):
        return pc.if_else(mask, pa.scalar(base64.b64decode(UNAVAILABLE_BYTES), pa.binary()), values)
    row = f"row {mask.index(True).as_py() + 1} of a batch of {batch.table}"
    raise RowError(unknown_value("COMPATIBLE_DEBEZIUM_JSON", column.name, row), column=column.name)


def _forms(values: pa.Array) -> pa.Array:
    kind = values.type
    if of.is_decimal(kind):
        return pa.array([None if value is None else _digits(value, kind.scale) for value in values.to_pylist()])
    if of.is_date(kind):
        return values.cast(pa.date32()).cast(pa.int32())
    if of.is_time32(kind):
        return values.cast(pa.time32("ms")).cast(pa.int32())
    if of.is_time(kind):
        return values.cast(pa.time64("us")).cast(pa.int64())
    if of.is_timestamp(kind):
        if kind.tz:
            return pc.strftime(values.cast(pa.timestamp(kind.unit, "UTC")), "%Y-%m-%dT%H:%M:%SZ")
        return values.cast(pa.timestamp(_UNITS[kind.unit][1])).cast(pa.int64())
    if of.is_list(kind):
        inner = _forms(values.flatten())
        sizes = pc.fill_null(pc.list_value_length(values), 0)
        offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(sizes).cast(pa.int32())])
        return pa.ListArray.from_arrays(offsets, inner, mask=values.is_null())
    return values


def _digits(value: Decimal, scale: int) -> str:
    """Encode an unscaled number in base64, in the format of Java's ``BigInteger``."""
    number = int(value.scaleb(scale, _EXACT))
    size = (number + (number < 0)).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


def _variable(values: pa.Array) -> pa.Array:
    found = [None if value is None else _with_scale(value) for value in values.to_pylist()]
    return pa.array(found, pa.struct([("scale", pa.int32()), ("value", pa.string())]))


def _with_scale(value: Decimal) -> dict[str, Any]:
    text = f"{value:f}"
    scale = len(text.partition(".")[2].rstrip("0"))
    return {"scale": scale, "value": _digits(value, scale)}


def _reversed(values: pa.Array) -> pa.Array:
    return pa.array([None if value is None else value[::-1] for value in values.to_pylist()], pa.binary())


_LOGICAL_FORMS = {VARIABLE: _variable, BITS: _reversed}

"""Makes rows of messages: ``json``, ``text`` and ``avro`` have one in each; streams of changes have kinds of rows."""

import decimal
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.json as arrow_json
from attrs import field, frozen

from seatunnel_core.connectors.file.row_batches import Texts
from seatunnel_core.connectors.kafka.avro import avro_schema
from seatunnel_core.connectors.kafka.changes import CHANGES, Changed
from seatunnel_core.connectors.source import ReadContext
from seatunnel_core.errors import RowError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.rows.kind import RowKind
from seatunnel_core.rows.values import plain

CONTENT = pa.schema([pa.field("content", pa.string())])
"""The column of messages whose columns nobody declares."""

_FAST = {pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.timestamp("us")}
"""Types for which Arrow's JSON reader accepts nothing that ``rows.values`` would read differently."""


Rows = Sequence[tuple[RowKind, Mapping[str, Any]]]
"""The rows of one message, with their kinds."""


@frozen(kw_only=True)
class Decoder:
    """Reads the messages of one table."""

    schema: TableSchema
    format: str
    declared: bool
    """Whether the job gives columns."""

    delimiter: str = ","
    table_filter: Mapping[str, str] = field(factory=dict)

    def batches(self, messages: Sequence[Any], context: ReadContext) -> Iterator[Batch]:
        """The rows of messages, in order; bad ones go to ``context.skip``."""
        rows = self._fast(messages) if self.format == "json" and self.declared else None
        if rows is None:
            yield from self._careful(messages, context)
        else:
            yield Batch(table=self.schema.table, rows=rows)

    def _fast(self, messages: Sequence[Any]) -> pa.RecordBatch | None:
        """``None`` when this way cannot read the messages, or would read them differently."""
        columns = self.schema.columns
        if not all(column.type in _FAST and column.nullable for column in columns):
            return None
        values = [message.value() for message in messages]
        if not all(value is not None and value[:1] == b"{" for value in values):
            return None
        text = b"\n".join(values)
        if text.count(b"\n") != len(values) - 1 or b"\r" in text:
            return None
        try:
            found = arrow_json.read_json(
                pa.BufferReader(text),
                arrow_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=columns, newlines_in_values=False, unexpected_field_behavior="ignore"
                ),
            )
        except pa.ArrowInvalid:
            return None
        if found.num_rows != len(values):  # one of them has two rows
            return None
        return found.select(columns.names).cast(columns).combine_chunks().to_batches()[0]

    def _careful(self, messages: Sequence[Any], context: ReadContext) -> Iterator[Batch]:
        decode = self._decode()
        rows: list[dict[str, Any]] = []
        kinds: list[int] = []
        for message in messages:
            try:
                found = self._rows(decode, message)
            except RowError as error:
                context.skip(error)
                continue
            rows += [row for _, row in found]
            kinds += [kind for kind, _ in found]
        if rows:
            arrays = [pa.array([row[column.name] for row in rows], column.type) for column in self.schema.columns]
            yield Batch(
                table=self.schema.table,
                rows=pa.RecordBatch.from_arrays(arrays, schema=self.schema.columns),
                kinds=pa.array(kinds, pa.int8()) if any(kinds) else None,
            )

    def _rows(self, decode: Callable[[bytes], Rows], message: Any) -> list[tuple[int, dict[str, Any]]]:
        value = message.value()
        where = f"topic {message.topic()}, partition {message.partition()}, offset {message.offset()}"
        if value is None:
            if self.format in CHANGES:  # behind each delete, for those who compact the topic
                return []
            raise RowError(f"{where}: the message has a key and no value, and is no row")
        try:
            found = decode(value)
        except (ValueError, TypeError, KeyError, IndexError, EOFError, RecursionError, AttributeError) as error:
            raise RowError(f"{where}: not {self.format}: {_shortened(error)}") from None
        return [(int(kind), self._row(where, values)) for kind, values in found]

    def _row(self, where: str, values: Mapping[str, Any]) -> dict[str, Any]:
        row = {}
        for column in self.schema.columns:
            try:
                value = _value(values.get(column.name), column.type)
            except ValueError as error:
                raise RowError(f"{where}, column {column.name!r}: {error}") from None
            if value is None and not column.nullable:
                raise RowError(f"{where}, column {column.name!r}: is null, and the schema says nullable = false")
            row[column.name] = value
        return row

    def _decode(self) -> Callable[[bytes], Rows]:
        if self.format in CHANGES:
            changed: Changed = CHANGES[self.format]
            return lambda value: changed(_json(value), self.table_filter)
        if not self.declared:
            return lambda value: ((RowKind.INSERT, {"content": value.decode()}),)
        if self.format == "text":
            return self._text
        return self._avro() if self.format == "avro" else _object

    def _text(self, value: bytes) -> Rows:
        """As many fields as there are columns; more are left out, and what is missing is null."""
        fields = value.decode().split(self.delimiter)
        if len(fields) > len(self.schema.columns):
            raise ValueError(f"it has {len(fields)} fields, and the schema {len(self.schema.columns)} columns")
        return ((RowKind.INSERT, dict(zip(self.schema.columns.names, fields, strict=False))),)

    def _avro(self) -> Callable[[bytes], Rows]:
        import fastavro

        schema = fastavro.parse_schema(avro_schema(self.schema.columns))

        def decode(value: bytes) -> Rows:
            stream = io.BytesIO(value)
            found: Any = fastavro.schemaless_reader(stream, schema, None)
            if stream.tell() != len(value):
                registered = " It begins as those of a schema registry do, which are not read here" * (
                    value[:1] == b"\0"
                )
                raise ValueError(f"{len(value) - stream.tell()} bytes are left over.{registered}")
            return ((RowKind.INSERT, found),)

        return decode


def _object(value: bytes) -> Rows:
    return ((RowKind.INSERT, _json(value)),)


def _json(value: bytes) -> Mapping[str, Any]:
    found = json.loads(value, parse_float=decimal.Decimal)
    if not isinstance(found, dict):
        raise ValueError(f"expected an object {{…}}, found {type(found).__name__}")
    return found


_TEXTS = Texts()


def _value(found: Any, kind: pa.DataType) -> Any:
    """As Arrow takes it. An empty text is null, unless it is a text that is wanted."""
    if isinstance(found, str) and not pa.types.is_string(kind):
        return _TEXTS.value(found, kind)
    return plain(found, kind)


def _shortened(error: BaseException) -> str:
    text = str(error) if not isinstance(error, KeyError) else f"{error} is missing"
    return text if len(text) <= 200 else f"{text[:200]}…"

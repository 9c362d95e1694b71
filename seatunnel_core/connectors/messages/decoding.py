"""Decoding of messages to rows: one row for ``json``, ``text`` and ``avro``, rows with kinds for change formats."""

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.batch import Batch, RowKind, TableSchema
from seatunnel_core.connector_api.errors import RowError, UsageError
from seatunnel_core.connector_api.option import Options
from seatunnel_core.connector_api.schema import table_schema, table_without_name
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.file.formats.delimited.delimiter import text_or_pattern
from seatunnel_core.connectors.file.formats.row_batches import Texts
from seatunnel_core.connectors.fitted import UnreadKeys
from seatunnel_core.connectors.messages.avro import avro_schema
from seatunnel_core.connectors.messages.changes import CHANGES, Changed, with_bytes
from seatunnel_core.connectors.messages.debezium import UNKNOWN, schemas_of, typed
from seatunnel_core.rows.native_json import NativeJson, parsed
from seatunnel_core.rows.schema_block import described_table
from seatunnel_core.rows.values import Converter, converter, row_converter

CONTENT = pa.schema([pa.field("content", pa.string())])
"""Columns for messages if no columns are declared."""


def declared_or_content(options: Options, table: str | None = None) -> tuple[TableSchema, bool]:
    """Return the columns declared in the option ``schema``, or else ``CONTENT``, and whether any are declared.

    ``table`` is the default name of the table.
    """
    block = {"table": table or table_without_name(options), **(options["schema"] or {})}
    try:
        declared = table_schema(block)
        return declared or described_table(block, CONTENT), declared is not None
    except ValueError as error:
        raise UsageError(f"option 'schema': {error}") from None


Rows = Sequence[tuple[RowKind, Mapping[str, Any]]]
"""Rows of a message, with their row kinds."""


ROW = "row"
"""Format of messages that contain a row: a mapping from column names to values."""


@frozen
class Message:
    """A source message, for client libraries that have no message class."""

    where: str
    """Location of the message, for errors and notes."""

    value: Any
    """Bytes, ``None``, or a mapping for the format ``ROW``."""


@frozen(kw_only=True)
class Decoder:
    """Decodes the messages of a table."""

    schema: TableSchema
    format: str
    declared: bool
    delimiter: str = ","
    """Delimiter of the format ``text``: a regular expression or a string, as for text files."""

    nulls: tuple[str, ...] = ("",)
    """Strings that mean null in fields of the format ``text``."""

    ragged: bool = True
    """True if a message may have more or fewer fields than columns."""

    table_filter: Mapping[str, str] = field(factory=dict)

    value_of: Callable[[Any], Any] = attrgetter("value")
    """Function that returns the value of a message."""

    place: Callable[[Any], str] = attrgetter("where")
    """Function that returns the location of a message, for errors and notes."""

    def batches(self, messages: Sequence[Any], context: ReadContext) -> Iterator[Batch]:
        """Yield the rows of messages, in order. Messages that cannot be decoded are passed to ``context.skip``."""
        rows = self._fast(messages, context) if self.format == "json" and self.declared else None
        if rows is None:
            yield from self._careful(messages, context)
        else:
            yield Batch(table=self.schema.table, rows=rows)

    def _converter(self, kind: pa.DataType) -> Converter:
        """Return a converter that reads empty strings as null, except in string columns and for bytes in JSON."""
        return converter(kind) if pa.types.is_binary(kind) and self.format != "text" else _TEXTS.converter(kind)

    def _fast(self, messages: Sequence[Any], context: ReadContext) -> pa.RecordBatch | None:
        """Decode messages with Arrow's JSON reader; return ``None`` if it fails or reads them differently."""
        values = [self.value_of(message) for message in messages]
        if not all(values):
            return None
        text = b"\n".join(values)
        if text.count(b"\n") != len(values) - 1:
            return None
        rows = NativeJson(self.schema.columns, self._converter).rows(text)
        if rows is not None:
            UnreadKeys(self.schema.columns, context).see_parsed(rows, text, lambda row: self.place(messages[row]))
        return rows

    def _careful(self, messages: Sequence[Any], context: ReadContext) -> Iterator[Batch]:
        decode, convert = self._decode(), row_converter(self.schema.columns, self._converter)
        is_json = self.declared and (self.format in ("json", ROW) or self.format in CHANGES)
        unread = UnreadKeys(self.schema.columns, context) if is_json else None
        rows: list[dict[str, Any]] = []
        kinds: list[int] = []
        unknown: list[frozenset[str]] = []
        for message in messages:
            try:
                found = self._rows(decode, convert, message, unread)
                self._note_uneven(message, context)
            except RowError as error:
                context.skip(error)
                continue
            rows += [row for _, row, _ in found]
            kinds += [kind for kind, _, _ in found]
            unknown += [names for *_, names in found]
        if rows:
            arrays = [pa.array([row[column.name] for row in rows], column.type) for column in self.schema.columns]
            yield Batch(
                table=self.schema.table,
                rows=pa.RecordBatch.from_arrays(arrays, schema=self.schema.columns),
                kinds=pa.array(kinds, pa.int8()) if any(kinds) else None,
                absent={name: pa.array([name in each for each in unknown]) for name in frozenset().union(*unknown)},
            )

    def _rows(
        self,
        decode: Callable[[Any], Rows],
        convert: Callable[[Mapping[str, Any]], dict[str, Any]],
        message: Any,
        unread: UnreadKeys | None,
    ) -> list[tuple[int, dict[str, Any], frozenset[str]]]:
        """Return the rows of a message, each with its kind and the names of columns without a logged value."""
        value = self.value_of(message)
        where = self.place(message)
        if value is None:
            if self.format in CHANGES:  # A tombstone follows each delete in compacted topics.
                return []
            raise no_value(where)
        try:
            found = decode(value)
        except (ValueError, TypeError, KeyError, IndexError, EOFError, RecursionError, AttributeError) as error:
            raise RowError(f"{where}: invalid {self.format}: {_shortened(error)}") from None
        if unread is not None:
            for _, values in found:
                unread.see(values, lambda: where)
        try:
            if self.format != "debezium_json":
                return [(int(kind), convert(values), _NONE) for kind, values in found]
            unknown = [frozenset(name for name, value in values.items() if value is UNKNOWN) for _, values in found]
            return [
                (int(kind), convert({**values, **dict.fromkeys(names)} if names else values), names)
                for (kind, values), names in zip(found, unknown, strict=True)
            ]
        except ValueError as error:
            raise RowError(f"{where}, {error}") from None

    def _decode(self) -> Callable[[Any], Rows]:
        if self.format in CHANGES:
            return self._changes(CHANGES[self.format])
        if self.format == ROW:
            return lambda row: ((RowKind.INSERT, row),)
        if not self.declared:
            return lambda value: ((RowKind.INSERT, {"content": value.decode()}),)
        if self.format == "text":
            return self._text
        return self._avro() if self.format == "avro" else lambda value: ((RowKind.INSERT, json_object(value)),)

    def _changes(self, changed: Changed) -> Callable[[bytes], Rows]:
        def decode(value: bytes) -> Rows:
            message = json_object(value)
            found = changed(message, self.table_filter)
            if self.format == "debezium_json":
                schemas = schemas_of(message)
                return [(kind, typed(row, self.schema.columns, schemas)) for kind, row in found]
            if self.format == "canal_json":
                return [(kind, with_bytes(row, self.schema.columns, message)) for kind, row in found]
            return found

        return decode

    def _text(self, value: bytes) -> Rows:
        """Split a line into fields. Surplus fields are dropped, and missing fields are null."""
        fields = self._split(value.decode())
        if len(fields) != len(self.schema.columns) and not self.ragged:
            raise ValueError(f"found {len(fields)} fields, expected {len(self.schema.columns)} according to the schema")
        values = (None if each in self.nulls else each for each in fields)
        return ((RowKind.INSERT, dict(zip(self.schema.columns.names, values, strict=False))),)

    def _split(self, value: str) -> Sequence[str]:
        return _splitter(self.delimiter)(value)

    def _note_uneven(self, message: Any, context: ReadContext) -> None:
        columns = len(self.schema.columns)
        if self.format == "text" and self.declared and len(self._split(self.value_of(message).decode())) != columns:
            context.note(
                f"have more or fewer fields than the {columns} columns: missing fields become null, extra fields are "
                "dropped",
                self.place(message),
            )

    def _avro(self) -> Callable[[bytes], Rows]:
        import fastavro

        schema = fastavro.parse_schema(avro_schema(self.schema.columns))

        def decode(value: bytes) -> Rows:
            stream = io.BytesIO(value)
            found: Any = fastavro.schemaless_reader(stream, schema, None)
            if stream.tell() != len(value):
                registered = " It starts like a message of a schema registry, which is not supported" * (
                    value[:1] == b"\0"
                )
                raise ValueError(f"{len(value) - stream.tell()} bytes are left after the record.{registered}")
            return ((RowKind.INSERT, found),)

        return decode


def no_value(where: str) -> RowError:
    """Return the error for a message without a value."""
    return RowError(f"{where}: the message has a key but no value, so it is not a row")


def json_object(value: bytes) -> dict[str, Any]:
    """Parse the JSON object in a message. Raise ValueError for any other content."""
    found = parsed(value)
    if not isinstance(found, dict):
        raise ValueError(f"expected an object {{…}}, found {type(found).__name__}")
    return found


@lru_cache(maxsize=16)
def _splitter(delimiter: str) -> Callable[[str], Sequence[str]]:
    text, pattern = text_or_pattern(delimiter)
    if not pattern:
        return lambda value: value.split(text)
    expression = re.compile(f"({pattern})", re.ASCII)
    return lambda value: expression.split(value)[:: expression.groups + 1]


_TEXTS = Texts()
_NONE: frozenset[str] = frozenset()


def _shortened(error: BaseException) -> str:
    text = str(error) if not isinstance(error, KeyError) else f"{error} is missing"
    return text if len(text) <= 200 else f"{text[:200]}…"

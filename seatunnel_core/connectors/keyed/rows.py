"""Conversion of keys and values to rows: JSON objects, hashes of fields, and values of a single column."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import RowError, UsageError
from seatunnel_core.connector_api.source import ReadContext
from seatunnel_core.connectors.messages.decoding import ROW, Decoder, Message
from seatunnel_core.rows.native_json import parsed


class KeyedRows:
    """Converter from keys and values to the rows of a table."""

    def __init__(
        self,
        schema: TableSchema,
        *,
        declared: bool,
        hashes: bool,
        each_field: bool,
        key: str | None,
        value: str | None,
        option: str,
    ) -> None:
        """Create a converter. Raise UsageError unless the columns exist and differ.

        Args:
            schema: The table.
            declared: True if the job declares its columns.
            hashes: True if values are mappings of fields.
            each_field: True if each field of a mapping becomes a row.
            key: Column for the key, or for the field of a hash; optional.
            value: Column for values that are not JSON objects; optional.
            option: Name of the option for that column.
        """
        names = schema.columns.names
        for name in filter(None, (key, value)):
            if name not in names:
                raise UsageError(f"option 'schema': the column {name!r} is missing; schema has {', '.join(names)}")
        if key and key == value:
            raise UsageError(f"option {option!r}: {value!r} is the key column; choose another column")
        self._schema, self._declared, self._each_field = schema, declared, each_field
        self._key, self._option = key, option
        self._binary = frozenset(each.name for each in schema.columns if pa.types.is_binary(each.type))
        self.uses_value_column = key is not None or value in self._binary
        """True if values that are not objects are stored in the value column."""

        self._value: str | None = names[0] if len(names) == 1 and self._binary else value or None
        self._whole = not (key or hashes or self._value in self._binary)

    def decoder(self, format: str, delimiter: str) -> Decoder:
        """Return the decoder for messages; ``format`` applies to values that are decoded as a whole."""
        return Decoder(
            schema=self._schema,
            format=format if self._whole else ROW,
            declared=self._declared,
            delimiter=delimiter,
        )

    def messages(self, key: bytes, value: Any, context: ReadContext) -> Iterator[Message]:
        """Yield a message for a value, or for each of its fields or elements; pass invalid ones to ``context.skip``.

        ``value`` is bytes, a mapping of fields, a list or a set; ``None`` if the key does not exist.
        """
        for where, name, content in self._parts(key, value):
            try:
                yield Message(where, content if self._whole else self._row(name, content))
            except ValueError as error:
                context.skip(RowError(f"{where}: {error}"))

    def _parts(self, key: bytes, value: Any) -> Iterable[tuple[str, bytes, Any]]:
        """Return the location, the key or field, and the content of each part of a value that becomes a row."""
        where = f"key {shown(key)}"
        if self._each_field:
            return [(f"{where}, field {shown(name)}", name, each) for name, each in sorted(value.items())]
        if isinstance(value, dict | bytes):
            return [(where, key, value)] if value != {} else []
        elements = sorted(value) if isinstance(value, set) else value or ()
        return [(f"{where}, element {number}", key, each) for number, each in enumerate(elements, 1)]

    def _row(self, name: bytes, content: Any) -> dict[str, Any]:
        row = self._of_hash(content) if isinstance(content, Mapping) else self._of_value(content)
        if self._key:
            row[self._key] = self._plain(self._key, name)
        return row

    def _of_hash(self, content: Mapping[bytes, bytes]) -> dict[str, Any]:
        if not self._declared:
            return {"content": json.dumps({k.decode(): v.decode() for k, v in content.items()}, ensure_ascii=False)}
        texts = {field.decode(errors="backslashreplace"): value for field, value in content.items()}
        return {name: self._plain(name, value) for name, value in texts.items()}

    def _of_value(self, content: bytes) -> dict[str, Any]:
        """Return the JSON object in a value. For other values and binary columns, return only the value column."""
        if self._value is None or self._value not in self._binary:
            try:
                row = parsed(content)
            except ValueError:
                row = None
            if isinstance(row, dict):
                return row
            if self._value is None:
                raise ValueError(
                    f"expected an object {{…}}; to read other values, set {self._option} to the column for these values"
                )
        return {self._value: self._plain(self._value, content)}

    def _plain(self, column: str, value: bytes) -> str | bytes:
        """Return bytes for a binary column or a column that is not read, otherwise a string."""
        return value if column in self._binary or column not in self._schema.columns.names else value.decode()


def shown(name: bytes) -> str:
    """Return a key or field in quotes, with invalid UTF-8 escaped."""
    return repr(name.decode(errors="backslashreplace"))

"""Writes ``json``: one object per line."""

import base64
import json
import math
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connectors.file.writer import FileWriter, write_lines


class JsonFileWriter(FileWriter):
    """One object per line. Decimals are numbers with all their digits, dates and times ISO texts, bytes base64."""

    suffix: ClassVar[str] = ".json"

    def write(self, rows: pa.RecordBatch) -> None:
        parts: list[Any] = []
        for column, array in zip(self.columns, rows.columns, strict=True):
            separator = "," if parts else "{"
            parts += [f"{separator}{json.dumps(column.name, ensure_ascii=False)}:", _json_text(array)]
        ends = pa.repeat("}" if parts else "{}", rows.num_rows)
        write_lines(self.stream, [pc.binary_join_element_wise(*parts, ends, "")], "", self.style.line_end)


def json_text(value: Any, kind: pa.DataType) -> str:
    """A value that is not null as JSON, on one line."""
    return _json_value(_plain_value(value, kind))


def _json_text(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        text = array.cast(pa.string())
    elif pa.types.is_floating(kind):
        text = pa.array([None if value is None else _json_value(value) for value in array.to_pylist()], pa.string())
    elif pa.types.is_null(kind):
        text = pa.nulls(len(array), pa.string())
    else:
        text = pa.array([None if value is None else _json_value(value) for value in _plain(array)], pa.string())
    return text.fill_null("null")


def _plain(array: pa.Array) -> list[Any]:
    if not pa.types.is_nested(array.type):
        return list(array.to_pylist())
    return [_plain_value(value, array.type) for value in array.to_pylist()]


def _plain_value(value: Any, kind: pa.DataType) -> Any:
    """A nested value with objects for maps, which Arrow gives as lists of pairs."""
    if value is None or not pa.types.is_nested(kind):
        return value
    if pa.types.is_map(kind):
        return {_key(key): _plain_value(element, kind.item_type) for key, element in value}
    if pa.types.is_struct(kind):
        return {part.name: _plain_value(value[part.name], part.type) for part in kind}
    return [_plain_value(element, kind.value_type) for element in value]


def _key(value: Any) -> str:
    if isinstance(value, str):
        return value
    found = _json_default(value) if isinstance(value, bytes) or hasattr(value, "isoformat") else value
    return found if isinstance(found, str) else json.dumps(found, default=str).strip('"')


def _json_value(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'"{value}"'
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_default)


def _json_default(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return str(value)
